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

// The reach of each value, by ValueId: by interval arithmetic over whole tensors, rounded outward.
std::vector<Reach> reaches_of(const Graph& graph);

}  // namespace bf_aot
