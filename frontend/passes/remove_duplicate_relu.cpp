#include <vector>

#include "frontend/passes/passes.h"

namespace bf {

// In topological order, so that a chain of any length reads what its first Relu reads.
void remove_duplicate_relu(Graph& graph) {
  std::vector<const Node*> relu_of(graph.values.size(), nullptr);
  for (Node& node : graph.nodes) {
    if (!std::holds_alternative<Relu>(node.op)) continue;
    if (const Node* inner = relu_of[index_of(node.inputs[0])]) node.inputs = inner->inputs;
    relu_of[index_of(node.output)] = &node;
  }
  remove_dead_nodes(graph);
}

}  // namespace bf
