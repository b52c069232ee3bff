#pragma once

#include <cstddef>
#include <span>

#include "frontend/graph/graph.h"

namespace bf_aot {

// The network of partial derivatives: inputs are those of `graph`, and for each i of `inputs`, in
// order, there is an output of each output's shape with the derivatives by x_i. Elements of all
// input tensors are counted one after the other.
//
// `graph`: as it was imported. Let the result be bounded by [l, u] on a box, finite, and let x and
// x + t e_i lie in it, t >= 0. Then f is defined between them and l t <= f(x + t e_i) - f(x) <= u
// t: see docs/proofs/derivatives.md. Without kinks between both the result is the derivative.
//
// Throws: CompileError BF2120 an operator that jumps or has no derivative here, all of them;
// BF2121 `inputs`: an index that is none, none at all, or too many.
Graph derivative_graph(const Graph& graph, std::span<const std::size_t> inputs);

}  // namespace bf_aot
