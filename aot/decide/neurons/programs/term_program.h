#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aot/decide/neurons/lanes.h"
#include "aot/decide/neurons/programs/bounded_simplex.h"

namespace bf_aot::decide {

// Multipliers >= 0 of the terms, and of the clause's sum with the weights that its node has.
struct TermMultipliers {
  std::vector<float> terms;
  float clause = 0;
};

// The planes that bound a clause's terms from below in a node, as rows of linear programs over the
// box: a violation needs all of them below 0. Programs propose multipliers; nothing is claimed.
class TermProgram {
 public:
  // Overwrites all lanes.
  TermProgram(const BoxNetwork& network, NodeLanes& lanes, const SplitNode& node);

  // Returns false where no term is affine on the box, so that equal weights are as good, or where
  // programs would be too large.
  bool is_useful() const { return useful_; }

  // The weights for which the least value of the terms' sum is greatest, those that are weighed
  // (LaneNodes) having the sum 1. Nothing where that is not found.
  std::optional<std::vector<float>> best_weights() const;

  // The multipliers for which the least value of `row` plus so many times the terms and the clause
  // is greatest: the least value of row where none is above 0. Nothing where that is not found.
  std::optional<TermMultipliers> best_multipliers(const InputPlane& row) const;

 private:
  void add(const InputPlane& plane);

  const BoxNetwork& network_;
  std::size_t terms_ = 0;
  std::vector<bool> is_weighed_;  // by term
  bool useful_ = false;
  LinearProgram program_;  // the terms' rows, then that of the clause
};

}  // namespace bf_aot::decide
