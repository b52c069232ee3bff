#pragma once

#include <cstdint>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// The nodes that softmax_as_pairs() made of each softmax of three elements or more:
//   1 / (1 + sum_j e^(x_j - x_i)), limited to [0, 1].
// Implementations do not compute it so. The error of what they compute is therefore bounded as a
// whole, as an error of the last node's result.
struct Softmaxes {
  std::vector<bool> inside;         // by node: of one, but not its last
  std::vector<std::int64_t> terms;  // by node: the elements of a group, of its last; else 0
};
Softmaxes find_softmaxes(const Graph& graph);

// Bounds of what evaluation in float32 makes of s: |s' - s| <= relative s + absolute.
struct SoftmaxError {
  double relative = 0, absolute = 0;
};
SoftmaxError softmax_in_float32(std::int64_t terms, double libm_ulps);

}  // namespace bf_aot
