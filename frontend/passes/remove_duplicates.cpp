#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

// What a node of two equal operands, or of a Relu of a Relu, is instead.
void simplify(const Graph& graph, Node& node, const std::vector<const Node*>& relu_of) {
  if (std::holds_alternative<Relu>(node.op)) {
    if (const Node* inner = relu_of[index_of(node.inputs[0])]) node.inputs = inner->inputs;
    return;
  }
  const auto* binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr || node.inputs[0] != node.inputs[1]) return;
  if (!works_on_flattened(graph, node)) return;
  const Shape shape = graph.value(node.output).shape;
  if (binary->kind == Binary::Kind::kAdd) {
    node.op = Scale{filled(shape, 2), filled(shape, 0)};
  } else if (binary->kind == Binary::Kind::kMul) {
    node.op = Unary{{FunctionKind::kPower, 2, 0}};
  } else {
    return;
  }
  node.inputs.pop_back();
}

// Shape and element count matter to those that do not work on flattened tensors.
bool same_result(const Graph& graph, const Node& a, const Node& b) {
  return a.op == b.op && graph.value(a.output).shape == graph.value(b.output).shape;
}

}  // namespace

// In topological order: the operands of a node are replaced before it is compared.
void remove_duplicates(Graph& graph) {
  std::vector<ValueId> instead(graph.values.size());
  for (std::size_t i = 0; i < instead.size(); ++i) instead[i] = static_cast<ValueId>(i);
  std::vector<const Node*> relu_of(graph.values.size(), nullptr);
  std::map<std::pair<std::size_t, std::vector<ValueId>>, std::vector<const Node*>> known;
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) id = instead[index_of(id)];
    simplify(graph, node, relu_of);
    if (std::holds_alternative<Relu>(node.op)) relu_of[index_of(node.output)] = &node;
    std::vector<const Node*>& candidates = known[{node.op.index(), node.inputs}];
    const auto first = std::find_if(candidates.begin(), candidates.end(), [&](const Node* other) {
      return same_result(graph, *other, node);
    });
    if (first != candidates.end())
      instead[index_of(node.output)] = (*first)->output;
    else
      candidates.push_back(&node);
  }
  remove_dead_nodes(graph);
}

}  // namespace bf
