#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "aot/decide/neurons/clauses/conflict_search.h"
#include "aot/decide/neurons/clauses/propagation.h"
#include "aot/decide/neurons/clip.h"
#include "aot/decide/neurons/device/node_device.h"
#include "aot/decide/neurons/lanes.h"
#include "aot/decide/neurons/tighten.h"

namespace bf_aot::decide {

// The result for a node: it is closed, or it has halves. Neither: every neuron is split, and the
// bound is not proven.
struct SplitResult {
  bool closed = false;  // proven: no violation in it
  // Nodes that cover this one; the one with the lower bound first.
  std::optional<std::pair<SplitNode, SplitNode>> halves;
  std::optional<std::vector<float>> point;  // a point where float32 violates the clause; not proven
};

// Limits of the work on a node.
struct SplitSettings {
  int root_steps = 50, node_steps = 3;
  int most_steps = 200;  // about, for nodes that better choices may prove, and splits hardly would
  int by_gain = 5, by_gap = 1;  // candidates to split that are looked at, by either measure
  TightenSettings tighten = {32, 3};
  // Settings for the root of networks with functions, whose slopes the ranges of the box were made
  // without optimising.
  TightenSettings first_tighten = {512, 10, true};
  std::size_t clipped = 64;  // neurons that are clipped in a node, those that lose most
  // Contradictions that are learned from in a node whose ReLUs encode clauses; where sums are not
  // exact, in the root, for a point.
  std::size_t most_conflicts = 2000, first_conflicts = 64;
  // Steps beyond the usual ones after which progress is judged: whether it would reach 0 in the
  // steps that are left; and times what a bound lacks, which lines lose at most that lack choices.
  int more_steps = 20;
  float little_more = 1.5F;
  std::uint32_t tighten_levels = 6;  // ranges are tightened at least once in as many levels
};

// Bounds and splits nodes of one clause. A node's result depends on the node alone. Not for several
// threads: each has its own splitter of a common network.
class NodeSplitter {
 public:
  // workers: of engine::pool(), that share the work on the first node. planes: of the network;
  // null: neurons are not clipped. device: of the network, which proposes for many nodes; null:
  // lanes propose for all. With one a node's halves may depend on how many nodes go together.
  NodeSplitter(const BoxNetwork& network, std::vector<ClauseTerm> terms,
               const SplitSettings& settings = {}, std::size_t workers = 1,
               NeuronPlanes* planes = nullptr, std::unique_ptr<DeviceNodes> device = nullptr);

  // The node that is the whole box.
  const SplitNode& root() const { return root_; }

  const std::vector<ClauseTerm>& terms() const { return terms_; }

  // Whether signs that conditions imply are propagated.
  bool propagates() const { return propagation_.has_value(); }

  // The open neuron of a node by which its bound may lose most, with its range there, and how much;
  // none where no neuron is open. Overwrites all lanes.
  struct Influence {
    std::size_t open = 0;
    double lower = 0, upper = 0, loss = 0;
  };
  std::optional<Influence> most_influential(const SplitNode& node);

  // Called between passes through the network, each of which may take long: what it throws leaves
  // expand(), whose nodes and results then are of no use.
  std::function<void()> pause = [] {};

  // How many nodes should be expanded in a call.
  std::size_t together() const;
  // How many were bounded on the device.
  std::uint64_t device_nodes() const { return device_nodes_; }

  // Expands nodes, whose choices become those that were found. Throws: BF3344 where the device
  // fails.
  void expand(std::span<SplitNode> nodes, std::vector<SplitResult>& results);

 private:
  struct Candidate {
    std::size_t lane = 0;  // where the node is loaded
    NeuronSplit split;
    double low = 0, high = 0;     // the neuron's range
    float worse = 0, better = 0;  // bounds of both halves
    bool positive_first = false;
  };

  SplitNode make_root();  // sets the scales, too
  void find_clauses();
  void choose_weights(SplitNode& node);
  void load_all(std::span<const SplitNode> nodes);
  void ascend(std::span<SplitNode> nodes, std::vector<bool> done, std::span<SplitResult> results);
  bool lacks_choices(const SplitNode& node, std::size_t lane) const;
  bool pays_to_tighten(const SplitNode& node) const;
  TightenSettings tighten_settings(const SplitNode& node) const;
  void tighten(std::span<SplitNode> nodes, std::span<SplitResult> results);
  bool tighten(SplitNode& node);
  void clip(std::span<SplitNode> nodes, std::span<SplitResult> results);
  std::vector<std::uint32_t> clipped_neurons(
      const std::function<float(std::size_t open)>& gain_of) const;
  bool is_nearly_affine(const SplitNode& node, std::size_t lane) const;
  std::vector<std::size_t> choose_candidates(std::size_t lane) const;
  std::vector<Candidate> candidates_of(const std::vector<std::size_t>& lanes) const;
  void look_ahead(std::span<const SplitNode> nodes, std::vector<Candidate>& candidates);
  void learn(const SplitNode& node, SplitResult& result);
  void expand_clauses(std::span<SplitNode> nodes, std::span<SplitResult> results);
  void expand_lanes(std::span<SplitNode> nodes, std::span<SplitResult> results);
  bool goes_to_device(std::size_t nodes) const;
  void expand_on_device(std::span<SplitNode> nodes, std::span<SplitResult> results);
  void prove_group(std::size_t group, std::span<SplitNode> nodes, std::span<SplitResult> results);
  void split_on_device(std::span<const SplitNode> nodes, std::span<const std::byte> clause,
                       std::span<SplitResult> results);
  void load_members(std::span<const SplitNode> nodes, std::span<const std::size_t> members);
  void split_group(std::size_t group, std::span<const SplitNode> nodes,
                   std::span<const std::size_t> members, std::span<SplitResult> results,
                   std::size_t& points);
  std::vector<Candidate> device_candidates(std::size_t group, std::size_t lane) const;
  void split(const SplitNode& node, const std::vector<Candidate>& candidates, std::size_t lane,
             SplitResult& result);
  SplitNode half_of(const SplitNode& node, const Candidate& candidate, bool positive) const;
  void decide_leaf(const SplitNode& leaf, SplitResult& result);

  const BoxNetwork& network_;
  const std::vector<ClauseTerm> terms_;
  const SplitSettings settings_;
  const std::size_t workers_;
  NeuronPlanes* const planes_;
  const std::unique_ptr<DeviceNodes> device_;
  std::uint64_t device_nodes_ = 0;
  NodeLanes lanes_;
  const SplitNode root_;
  // Where ReLUs encode clauses, so that conditions decide many of their signs.
  std::optional<Propagation> propagation_;
  std::optional<ConflictSearch> conflicts_;
  bool is_exact_ = false;  // the sums that are propagated
};

}  // namespace bf_aot::decide
