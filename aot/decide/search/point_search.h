#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "aot/decide/property/methods.h"
#include "aot/decide/search/search.h"
#include "aot/decide/search/violation.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"

namespace bf_aot::decide {

// Looks for points that violate open cases, by threads with a verifier each. It proves no case.
class PointSearch final : public Search {
 public:
  // whole: the property of all inputs, of which `fixed` (or null) are left out of verifiers. Both
  // must outlive this.
  PointSearch(const Property& whole, const FixedInputs* fixed, std::size_t jobs)
      : whole_(whole), fixed_(fixed), jobs_(jobs) {}

  // Points are evaluated by this verifier from now on, which must outlive its use; null: by none.
  void use(const DecisionVerifier* verifier);

  DecisionPhase phase() const override { return DecisionPhase::kPoints; }
  // The first turn is one thread's, so that what is easily found is the same on every run, and
  // tries a few points in any case.
  std::optional<Witness> run(Cases& cases, const SearchBudget& budget,
                             const SearchCalls& calls) override;
  bool is_over() const override { return false; }  // there is always another point
  SearchTotals totals() const override { return {0, 0, 0, seconds_}; }
  bool has_run() const { return searches_ > 0; }

 private:
  // A verifier and gradients for one thread. The first one takes the decision's verifier.
  struct Searcher {
    std::unique_ptr<const engine::HostVerifier> host;
    std::unique_ptr<RowGradients> gradients;
  };

  void add_searcher();
  std::size_t workers() const;
  std::int64_t elements() const;
  Evaluation evaluation(const engine::HostVerifier& host) const;

  const Property& whole_;
  const FixedInputs* const fixed_;
  const std::size_t jobs_;
  const DecisionVerifier* made_ = nullptr;
  std::vector<Searcher> searchers_;  // by thread, on the plan of made_
  unsigned searches_ = 0;
  double seconds_ = 0;
};

}  // namespace bf_aot::decide
