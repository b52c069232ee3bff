#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/property/methods.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/split_search.h"
#include "frontend/graph/graph.h"
#include "frontend/property/property.h"

// Properties of networks that read token ids: docs/proofs/one-hot.md.

namespace bf_aot::decide {

// A property whose inputs X are token ids, as one of the one-hot inputs that a network reads.
struct OneHotProperty {
  Property property;
  OneHot one_hot;
  std::vector<bool> is_empty;  // by case: no id may stand at some position

  // The one-hot inputs of a text, which has an id for each position; none where the network has no
  // such id there.
  std::optional<std::vector<double>> inputs_of(const std::vector<double>& ids) const;
};

// Throws: BF3408 where the property is about other numbers of positions or outputs.
OneHotProperty property_of_one_hot(const Property& of_ids, const Graph& graph);

// The method by which sets of ids are bounded.
DecisionMethod token_method(const DecisionSettings& settings);

// Proves that a text violates the property; none where that fails. check: of `tokens.property`. The
// witness has the ids.
std::optional<Witness> violation_of_text(const OneHotProperty& tokens, const WitnessCheck& check,
                                         std::size_t property_case, const std::vector<double>& ids);

// Halves the sets of ids that stand at a position, down to one id at each: complete, where the
// network can be evaluated in rational arithmetic, or where no output is as near to its limit as
// rounding. Root k is case k. Proposals are texts.
class TokenSearch final : public SplitSearch {
 public:
  // Returns whether a text is proven not to violate a case. May be called by any thread.
  using Refutes = std::function<bool(std::size_t property_case, const std::vector<double>& ids)>;

  // The verifier is one by token_method(), whose calls share the threads of the pool: a root keeps
  // all of them busy. The thread that calls run() uses it; each of at most threads - 1 others uses
  // a twin of it. All arguments must outlive this.
  TokenSearch(const DecisionVerifier& verifier, const OneHotProperty& tokens, const Cases& cases,
              Refutes refutes, std::size_t threads);
  ~TokenSearch() override;

  DecisionPhase phase() const override { return DecisionPhase::kTokens; }
  std::optional<SplitRule> rule() const override { return SplitRule::kTokens; }
  std::string identity() override;
  const char* fault_of(const tree::Node& node) override;

 private:
  class Worker;

  std::unique_ptr<tree::TreeWorker> make_worker(std::size_t thread) override;
  std::size_t case_of(std::uint32_t root) const override { return root; }
  bool prepare(std::uint32_t) override { return true; }

  const DecisionVerifier& verifier_;
  const OneHotProperty& tokens_;
  const Refutes refutes_;
};

}  // namespace bf_aot::decide
