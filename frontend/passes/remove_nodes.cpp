#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

// Simplifies a Relu of a Relu, and a sum or a product of a value with itself.
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

// Equal for equal constants, and seldom for others: many nodes may read one value.
std::size_t fingerprint(const Constant& constant) {
  constexpr std::size_t kLooked = 256;
  std::size_t hash = constant.data.size();
  for (std::size_t i = 0; i < constant.data.size(); i += 1 + constant.data.size() / kLooked)
    hash = hash * 31 + std::hash<double>()(constant.data[i]);
  return hash;
}

std::size_t fingerprint(const Op& op) {
  if (const auto* literal = std::get_if<Literal>(&op)) return fingerprint(literal->value);
  if (const auto* affine = std::get_if<Affine>(&op)) return fingerprint(affine->weight);
  if (const auto* scale = std::get_if<Scale>(&op)) return fingerprint(scale->factor);
  if (const auto* conv = std::get_if<Conv>(&op)) return fingerprint(conv->weight);
  if (const auto* sparse = std::get_if<SparseAffine>(&op)) return fingerprint(sparse->value);
  if (const auto* map = std::get_if<IndexMap>(&op))
    return std::accumulate(
        map->source.begin(), map->source.end(), std::size_t{0},
        [](std::size_t hash, std::int64_t i) { return hash * 31 + static_cast<std::size_t>(i); });
  return 0;
}

// Shape and element count matter to those that do not work on flattened tensors. Constants that are
// not exact may have equal doubles and equal error bounds, and still stand for different numbers.
bool same_result(const Graph& graph, const Node& a, const Node& b) {
  const auto* const unary = std::get_if<Unary>(&a.op);
  if (unary != nullptr && unary->function.slack != 0) return false;  // each has its own value
  return a.op == b.op && has_exact_constants(a.op) &&
         graph.value(a.output).shape == graph.value(b.output).shape;
}

}  // namespace

// Nodes come in topological order, so that a node's operands are replaced before it is compared.
void remove_duplicates(Graph& graph) {
  std::vector<ValueId> instead(graph.values.size());
  for (std::size_t i = 0; i < instead.size(); ++i) instead[i] = static_cast<ValueId>(i);
  std::vector<const Node*> relu_of(graph.values.size(), nullptr);
  using Key = std::tuple<std::size_t, std::vector<ValueId>, std::size_t>;
  std::map<Key, std::vector<Node*>> known;
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) id = instead[index_of(id)];
    simplify(graph, node, relu_of);
    if (std::holds_alternative<Relu>(node.op)) relu_of[index_of(node.output)] = &node;
    std::vector<Node*>& candidates = known[{node.op.index(), node.inputs, fingerprint(node.op)}];
    const auto first = std::find_if(candidates.begin(), candidates.end(), [&](const Node* other) {
      return same_result(graph, *other, node);
    });
    if (first == candidates.end()) {
      candidates.push_back(&node);
      continue;
    }
    instead[index_of(node.output)] = (*first)->output;
    (*first)->origin = join_origins((*first)->origin, node.origin);
  }
  remove_dead_nodes(graph);
}

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
