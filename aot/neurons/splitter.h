#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "aot/neurons/lanes.h"

namespace bf_aot::cli {

// What became of a node: exactly one of these.
struct SplitResult {
  bool closed = false;                                    // proven: no violation in it
  std::optional<std::pair<SplitNode, SplitNode>> halves;  // which cover it; first, what is less
  // Otherwise every neuron is split, and its bound is not proven.
  std::optional<std::vector<float>> point;  // where float32 violates the clause; not proven
};

// How a node is bounded and split.
struct SplitSettings {
  int root_steps = 50, node_steps = 3;
  int by_gain = 5, by_gap = 1;  // candidates that are looked at, by either measure
};

// Bounds and splits nodes of one clause. A node's result depends on the node alone. Not for several
// threads: each has its own, of one network.
class NodeSplitter {
 public:
  NodeSplitter(const SplitNetwork& network, std::vector<SplitTerm> terms,
               const SplitSettings& settings = {});

  // The whole box.
  const SplitNode& root() const { return root_; }

  const std::vector<SplitTerm>& terms() const { return terms_; }

  // At most kLanes nodes, whose choices become those that were found.
  void expand(std::span<SplitNode> nodes, std::vector<SplitResult>& results);

 private:
  struct Candidate {
    std::size_t lane;  // of the node
    NeuronSplit split;
    float worse = 0, better = 0;  // bounds of both halves
    bool positive_first = false;
  };

  std::vector<std::size_t> choose_candidates(std::size_t lane) const;
  void decide_leaf(const SplitNode& leaf, SplitResult& result);
  void look_ahead(std::span<const SplitNode> nodes, std::vector<Candidate>& candidates);

  SplitNode make_root();  // and the scales

  const SplitNetwork& network_;
  const std::vector<SplitTerm> terms_;
  const SplitSettings settings_;
  NodeLanes lanes_;
  const SplitNode root_;
};

}  // namespace bf_aot::cli
