#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aot/decide/neurons/lane_nodes.h"

namespace bf_aot::decide {

// The steps of nodes' ascents, see NodeSplitter::ascend().
struct AscentSteps {
  int steps = 0, more_steps = 0, most_steps = 0;
  float little_more = 0;
};

// The sizes of a network on a box as devices read it.
struct FlatShape {
  std::size_t byte_count = 0;
  // Numbers of float32 of a group of kLanes nodes on the device.
  std::size_t ranges = 0, gains = 0;
  std::size_t inputs = 0, neurons = 0, widest = 0, open = 0;

  std::size_t choices(std::size_t terms) const { return at_lanes(open + terms); }
  std::size_t arena(std::size_t items) const;
};

// The network itself, see bf/c/nodes/network.h.
struct FlatNetwork : FlatShape {
  std::vector<std::byte> bytes;
};

// Counts, and copies nothing. Returns nothing where devices do not bound its nodes: where there are
// functions, products or a ball, or more numbers than their integers count.
std::optional<FlatShape> flat_shape(const BoxNetwork& network);
// Requires flat_shape(network).
FlatNetwork flat_network(const BoxNetwork& network);

// The nodes' clause as devices read it.
std::vector<std::byte> flat_clause(const LaneNodes& nodes, const AscentSteps& steps);

}  // namespace bf_aot::decide
