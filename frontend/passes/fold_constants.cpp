#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/fold_node.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {

void fold_constants(Graph& graph) {
  std::vector<const Constant*> literals = literal_values(graph);
  std::int64_t stored = 0;
  for (const Constant* literal : literals)
    if (literal != nullptr) stored += static_cast<std::int64_t>(literal->data.size());
  FoldBudget budget;
  for (Node& node : graph.nodes) {
    if (std::holds_alternative<Literal>(node.op)) continue;
    std::vector<const Constant*> inputs;
    for (ValueId id : node.inputs) inputs.push_back(literals[index_of(id)]);
    if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) continue;
    budget.charge(graph, node, stored);
    std::optional<Constant> value = fold_node(graph, node, inputs);
    if (!value) continue;
    node.op = Literal{std::move(*value)};
    node.inputs.clear();
    literals[index_of(node.output)] = &std::get<Literal>(node.op).value;
  }
}

}  // namespace bf_aot
