#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"

namespace bf_aot {

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  for (ValueId id : graph.outputs) live[index_of(id)] = true;

  // Backwards, so that every reader is seen before what it reads.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (live[index_of(node->output)])
      for (ValueId id : node->inputs) live[index_of(id)] = true;

  std::erase_if(graph.nodes, [&](const Node& node) { return !live[index_of(node.output)]; });
}

}  // namespace bf_aot
