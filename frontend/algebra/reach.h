#pragma once

#include <limits>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// Holds every element of a tensor, for all inputs of the network.
struct Reach {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// The reach of what a node makes, from the reaches of all values before it, by ValueId: nothing is
// known of literals, products, and operators that lower-affine removes.
Reach reach_of_node(const Node& node, const std::vector<Reach>& reaches);

// The reach of each value, by ValueId: by interval arithmetic over whole tensors, rounded outward.
std::vector<Reach> reaches_of(const Graph& graph);

}  // namespace bf_aot
