#pragma once

#include <cstdint>

#include "frontend/graph/graph.h"

namespace bf_aot {

// The network behind lines in some parameters, whose numbers are inputs:
//   x_i = offsets_i + sum_j slopes_(j, i) parameters_j
// for the elements x_i of all inputs of `graph`, one after the other. The inputs of the result are
// "parameters" [k], "slopes" [k, n] and "offsets" [n], in this order: in a box in which slopes are
// points, a product of a slope and a parameter is bounded exactly. Runs on imported graphs before
// the pipeline.
// Rounding: none.
Graph behind_lines(const Graph& graph, std::int64_t parameters);

}  // namespace bf_aot
