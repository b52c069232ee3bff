#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "aot/decide/property/cases.h"
#include "aot/decide/search/split_search.h"
#include "aot/engine/verifier/verifier.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

class BoxNetwork;

// Splits neurons: a ReLU's argument at zero, a function's at a point. Root k is clause k of the
// cases' tables. See docs/proofs/neuron-splits.md.
class NeuronSearch final : public SplitSearch {
 public:
  // The verifier is the plan's, whose neurons can be split; where neurons lie is asked of its
  // spec_bounds. All must outlive this.
  NeuronSearch(const engine::HostVerifier& verifier, const Plan& plan, const Cases& cases,
               std::size_t threads);
  ~NeuronSearch() override;

  DecisionPhase phase() const override { return DecisionPhase::kNeurons; }
  // Makes the networks of all cases, since nodes number the neurons that are open on their case's
  // box.
  std::string identity() override;
  const char* fault_of(const tree::Node& node) override;

 private:
  class Worker;

  std::unique_ptr<tree::TreeWorker> make_worker(std::size_t thread) override;
  std::size_t case_of(std::uint32_t root) const override;
  bool prepare(std::uint32_t root) override;

  const engine::HostVerifier& verifier_;
  const Plan& plan_;
  const std::unique_ptr<const SplitNetworkPlan> planned_;
  // The case that `network_` was made for, so that it is made anew only when the case changes.
  std::size_t network_case_;
  std::shared_ptr<const BoxNetwork> network_;
};

}  // namespace bf_aot::decide
