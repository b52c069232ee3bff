#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/graph/origin.h"

namespace bf_aot::artifacts {

// The layers that a node of the file is computed in.
struct NodeLayers {
  enum class Through : std::uint8_t {
    kOrigin,   // layers that came from the node
    kReaders,  // no layer did: the layers of the nodes that read it, as for what became a constant
    kMakers,   // and none of these: those of the nodes that it reads, as for moves before an output
    kNothing,  // and no output depends on it
  };
  std::set<std::size_t> layers;  // places in the list of origins
  Through through = Through::kNothing;
};

std::string_view to_string(NodeLayers::Through through);

// The layers of each node of the file, in the order of `nodes`. origins: of the layers.
std::vector<NodeLayers> layers_of_nodes(const std::vector<OnnxNode>& nodes,
                                        const std::vector<Origin>& origins);

}  // namespace bf_aot::artifacts
