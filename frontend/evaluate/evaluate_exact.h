#pragma once

#include <gmpxx.h>

#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// The network's outputs for one point, without any rounding but that of smooth functions (see
// function_exact.h). All constants must be exact
// (Constant::is_exact); divisors must not be zero.
std::vector<std::vector<mpq_class>> evaluate_exact(
    const Graph& graph, const std::vector<std::vector<mpq_class>>& inputs);

// Evaluates at a point given in double, whose elements are taken as exact.
std::vector<std::vector<mpq_class>> evaluate_exact(const Graph& graph,
                                                   const std::vector<std::vector<double>>& inputs);

}  // namespace bf_aot
