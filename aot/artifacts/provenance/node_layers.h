#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/graph/origin.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {

// The layers that a node of the file is computed in.
struct NodeLayers {
  enum class Through : std::uint8_t {
    kOrigin,   // layers that came from the node
    kReaders,  // no layer did: the layers of the nodes that read it, as for what became a constant
    kMakers,   // and none of these: those of the nodes that it reads, as for moves before an output
    kNothing,  // and no output depends on it
  };
  std::set<LayerId> layers;
  Through through = Through::kNothing;
};

std::string_view to_string(NodeLayers::Through through);

// The layers of each node of the file, in the order of `nodes`.
std::vector<NodeLayers> layers_of_nodes(const std::vector<OnnxNode>& nodes, const Plan& plan);

}  // namespace bf_aot::artifacts
