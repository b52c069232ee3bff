#pragma once

#include <cstdint>
#include <vector>

#include "frontend/graph.h"
#include "frontend/passes/links.h"

namespace bf {

// Puts the elements of a value into another order, and with it those of all values that elementwise
// nodes (Relu, Unary, Scale, sums and products of two, reshapes) connect with it: element i becomes
// element moved[i], of a permutation. The operators around them move their rows, columns, sources
// or strides.
//   y = conv x;  z = add y, s;  r = relu z;  t = affine r
//     -> the same nodes, y, s, z, r in the new order: rows of what makes s, columns of t moved
// Returns false, with the graph unchanged, when `value` or one that is connected with it is
// `other`, an input or an output of the graph, or next to an operator that cannot move. Rounding:
// none.
bool reorder_region(Graph& graph, const Links& links, ValueId value, ValueId other,
                    const std::vector<std::int64_t>& moved);

}  // namespace bf
