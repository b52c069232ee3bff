#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// Computes a node from constant inputs, with a bound of what the arithmetic here may lose on top of
// the inputs' own errors. Returns nullopt where there is no bound: for a division by what may be
// zero, for a function at or beyond the end of its domain, and for an inexact input whose error the
// function's slope is not known to bound.
// Throws: BF2005 when a result overflows.
std::optional<Constant> fold_node(const Graph& graph, const Node& node,
                                  const std::vector<const Constant*>& inputs);

// Limits the work of folding constants to a few seconds, and more for models with many weights.
class FoldBudget {
 public:
  // Counts the operations of folding a node of a model with so many stored or literal elements.
  // Throws: BF1028 when they are too many.
  void charge(const Graph& graph, const Node& node, std::int64_t stored);

 private:
  double spent_ = 0;
};

}  // namespace bf_aot
