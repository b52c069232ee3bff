#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/neurons/split_node.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/property/methods.h"
#include "aot/decide/search/split_search.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

class BoxNetwork;
class NeuronPlanes;
class NodeDevice;
struct FlatNetwork;
struct FlatShape;

// Returns a device that proposes for nodes, which the first call begins to open; null while it is
// not ready. Throws what opening it threw. Several threads may call it.
using AskNodeDevice = std::function<std::shared_ptr<NodeDevice>()>;

// The conditions that every violation of a clause of the tables satisfies.
std::vector<ClauseTerm> terms_of(const VerdictTables& tables, std::uint32_t clause);

// Splits neurons: a ReLU's argument at zero, a function's at a point. Root k is clause k of the
// cases' tables. See docs/proofs/neuron-splits.md.
class NeuronSearch final : public SplitSearch {
 public:
  // The neurons of the verifier's plan can be split; where they lie is what it has left, or asked
  // of it. Both must outlive this. ask_device: called when there are many nodes to bound, which
  // this processor does until a device is ready; null: there is none.
  NeuronSearch(const DecisionVerifier& verifier, const Cases& cases, std::size_t threads,
               AskNodeDevice ask_device = nullptr);
  ~NeuronSearch() override;

  DecisionPhase phase() const override { return DecisionPhase::kNeurons; }
  SearchTotals totals() const override;
  std::optional<SplitRule> rule() const override;
  std::optional<HeldOut> held_out(double seconds) override;
  // Makes the networks of all cases, since nodes number the neurons that are open on their case's
  // box.
  std::string identity() override;
  const char* fault_of(const tree::Node& node) override;

 private:
  class Worker;

  std::unique_ptr<tree::TreeWorker> make_worker(std::size_t thread) override;
  std::unique_ptr<tree::TreeWorker> make_breadth_worker() override;
  std::size_t case_of(std::uint32_t root) const override;
  bool prepare(std::uint32_t root) override;

  std::vector<engine::Ranges> ranges_on(std::size_t index, const input::FloatBox& box) const;
  std::shared_ptr<const FlatNetwork> flat() const;

  const DecisionVerifier& verifier_;
  const Plan& plan_;
  const std::unique_ptr<const SplitNetworkPlan> planned_;
  // The case that `network_` was made for, so that it is made anew only when the case changes.
  std::size_t network_case_;
  std::shared_ptr<const BoxNetwork> network_;
  std::shared_ptr<NeuronPlanes> planes_;  // of `network_`; null: its neurons are not clipped
  mutable std::atomic<std::uint64_t> of_clauses_ = 0, of_gains_ = 0;  // nodes, by their rule
  mutable std::atomic<std::uint64_t> on_device_ = 0;                  // of all
  const AskNodeDevice ask_device_;
  // Sizes of `network_` for devices; null: they do not bound its nodes, or there is none.
  std::unique_ptr<const FlatShape> flat_shape_;
  mutable std::mutex flattening_;
  mutable std::shared_ptr<const FlatNetwork> flat_;  // null: no device that it fits was ready yet
};

}  // namespace bf_aot::decide
