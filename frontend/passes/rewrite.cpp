#include "frontend/passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/shapes.h"

namespace bf {
namespace {

bool contains(const std::vector<ValueId>& ids, ValueId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Whether every reader of `from` can as well read `to`, of as many elements.
bool readers_accept(const Graph& graph, ValueId from, ValueId to) {
  if (graph.value(from).shape == graph.value(to).shape) return true;
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return contains(node.inputs, from) && !works_on_flattened(graph, node);
  });
}

void redirect_readers(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
}

}  // namespace

std::vector<const Constant*> literal_values(const Graph& graph) {
  std::vector<const Constant*> literals(graph.values.size(), nullptr);
  for (const Node& node : graph.nodes)
    if (const auto* literal = std::get_if<Literal>(&node.op))
      literals[index_of(node.output)] = &literal->value;
  return literals;
}

bool is_graph_input(const Graph& graph, ValueId id) {
  return contains(graph.inputs, id);
}
bool is_graph_output(const Graph& graph, ValueId id) {
  return contains(graph.outputs, id);
}

bool bypass(Graph& graph, std::size_t index) {
  const ValueId x = graph.nodes[index].inputs.at(0);
  const ValueId y = graph.nodes[index].output;
  BF_CHECK(element_count(graph.value(x).shape) == element_count(graph.value(y).shape));
  if (!is_graph_output(graph, y)) {
    if (!readers_accept(graph, y, x)) return false;
    redirect_readers(graph, y, x);
  } else {
    const int maker = producers(graph)[index_of(x)];
    if (maker < 0 || is_graph_output(graph, x) || !readers_accept(graph, x, y)) return false;
    Node& producer = graph.nodes[static_cast<std::size_t>(maker)];
    if (graph.value(x).shape != graph.value(y).shape && !works_on_flattened(graph, producer))
      return false;
    producer.output = y;
    redirect_readers(graph, x, y);
  }
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

void replace_nodes(Graph& graph, std::vector<std::vector<Node>> replacements) {
  BF_CHECK(replacements.size() == graph.nodes.size());
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (replacements[i].empty()) replacements[i].push_back(std::move(graph.nodes[i]));
    std::move(replacements[i].begin(), replacements[i].end(), std::back_inserter(nodes));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace bf
