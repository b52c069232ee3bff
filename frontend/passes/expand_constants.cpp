#include <utility>
#include <vector>

#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {

void expand_constants(Graph& graph) {
  if (graph.inputs.empty()) return;
  // Literals of nodes that lower_affine left stay, so that these are reported with their constants.
  std::vector<bool> needed(graph.values.size(), false);
  for (const Node& node : graph.nodes)
    if (!is_lowered(graph, node))
      for (ValueId id : node.inputs) needed[index_of(id)] = true;
  for (Node& node : graph.nodes) {
    auto* literal = std::get_if<Literal>(&node.op);
    if (literal == nullptr || needed[index_of(node.output)]) continue;
    SparseAffine constant;
    constant.bias = std::move(literal->value);
    constant.bias.shape = {static_cast<std::int64_t>(constant.bias.data.size())};
    constant.row_start.assign(constant.bias.data.size() + 1, 0);
    constant.value.shape = {0};
    node.op = std::move(constant);
    node.inputs = {graph.inputs[0]};
  }
}

}  // namespace bf_aot
