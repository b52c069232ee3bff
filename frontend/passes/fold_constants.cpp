#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/fold_node.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf_aot {

void fold_constants(Graph& graph) {
  std::vector<const Constant*> literals = literal_values(graph);
  for (Node& node : graph.nodes) {
    if (std::holds_alternative<Literal>(node.op)) continue;
    std::vector<const Constant*> inputs;
    for (ValueId id : node.inputs) inputs.push_back(literals[index_of(id)]);
    if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) continue;
    std::optional<Constant> value = fold_node(graph, node, inputs);
    if (!value) continue;
    node.op = Literal{std::move(*value)};
    node.inputs.clear();
    literals[index_of(node.output)] = &std::get<Literal>(node.op).value;
  }
}

}  // namespace bf_aot
