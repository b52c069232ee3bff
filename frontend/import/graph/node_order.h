#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

struct NodeOrder {
  std::vector<int> order;  // indices of nodes, each after those whose outputs it reads
  std::vector<int> cycle;  // indices along one cycle; empty when there is none
};

// Topological order of all nodes; among those that may come next, the first in the file. Names
// in `known`, and those that no node makes, need not be waited for. Nodes on or behind a cycle are
// not in the order.
NodeOrder order_nodes(const onnx::GraphProto& graph, const std::unordered_set<std::string>& known);

}  // namespace bf_aot
