#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

// Nodes that do not fit stay; check_supported reports them.
bool fits_identity(const Graph& graph, ValueId x) {
  const std::int64_t count = element_count(graph.value(x).shape);
  return fits_dense(count, count);
}

void make_dense(const Graph& graph, Node& node) {
  const std::int64_t rows = element_count(graph.value(node.output).shape);
  if (const auto* scale = std::get_if<Scale>(&node.op)) {
    if (fits_dense(rows, rows)) node.op = dense(*scale);
  } else if (const auto* map = std::get_if<IndexMap>(&node.op)) {
    const std::int64_t columns = element_count(graph.value(node.inputs[0]).shape);
    if (fits_dense(rows, columns)) node.op = dense(*map, columns);
  } else if (const auto* literal = std::get_if<Literal>(&node.op);
             literal != nullptr && is_graph_output(graph, node.output) && !graph.inputs.empty()) {
    const ValueId x = graph.inputs[0];
    const std::int64_t columns = element_count(graph.value(x).shape);
    if (!fits_dense(rows, columns)) return;
    Constant bias = literal->value;
    bias.shape = {rows};
    node.op = Affine{filled({rows, columns}, 0), std::move(bias)};
    node.inputs = {x};
  }
}

Node identity_node(Graph& graph, ValueId x, std::string_view name_suffix, std::string origin) {
  const Shape shape = graph.value(x).shape;
  const std::int64_t count = element_count(shape);
  const ValueId y = graph.add_value(fmt::format("{}{}", graph.value(x).name, name_suffix), shape);
  return {identity_affine(count), {x}, y, std::move(origin)};
}

// Every Relu reads an Affine's result; Relus of one value share the identity.
void insert_before_relus(Graph& graph) {
  std::vector<bool> from_affine(graph.values.size(), false);
  std::map<ValueId, ValueId> copies;
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (std::holds_alternative<Affine>(node.op)) from_affine[index_of(node.output)] = true;
    if (!std::holds_alternative<Relu>(node.op) || from_affine[index_of(node.inputs[0])]) continue;
    const ValueId x = node.inputs[0];
    if (!fits_identity(graph, x)) continue;
    Node relu = node;
    if (!copies.contains(x)) {
      replacements[i].push_back(identity_node(graph, x, "_copy", node.origin));
      copies[x] = replacements[i][0].output;
    }
    relu.inputs = {copies[x]};
    replacements[i].push_back(std::move(relu));
  }
  replace_nodes(graph, std::move(replacements));
}

// An input that is also an output is made anew; its name stays the input's.
void insert_before_outputs(Graph& graph) {
  for (ValueId& output : graph.outputs) {
    if (!is_graph_input(graph, output) || !fits_identity(graph, output)) continue;
    Node node = identity_node(graph, output, "_out", "output");
    output = node.output;
    graph.nodes.push_back(std::move(node));
  }
}

}  // namespace

void insert_identity(Graph& graph) {
  for (Node& node : graph.nodes) make_dense(graph, node);
  insert_before_relus(graph);
  insert_before_outputs(graph);
}

}  // namespace bf
