#pragma once

#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// The network's outputs for one point, in double arithmetic: each operator as ONNX defines it, sums
// in index order, every operation rounded to nearest. For tests and samples, not for bounds.
// `inputs` and the result hold one flattened tensor per graph input and output.
std::vector<std::vector<double>> evaluate(const Graph& graph,
                                          const std::vector<std::vector<double>>& inputs);

}  // namespace bf_aot
