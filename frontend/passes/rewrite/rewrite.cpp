#include "frontend/passes/rewrite/rewrite.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/shapes.h"

namespace bf_aot {
namespace {

bool contains(const std::vector<ValueId>& ids, ValueId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Returns true if every reader of `from` can as well read `to`, which has as many elements.
bool readers_accept(const Graph& graph, const Links& links, ValueId from, ValueId to) {
  if (graph.value(from).shape == graph.value(to).shape) return true;
  const std::vector<std::size_t>& readers = links.readers(from);
  return std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
    return works_on_flattened(graph, graph.nodes[reader]);
  });
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

bool bypass(Graph& graph, Links& links, std::size_t index) {
  const ValueId x = graph.nodes[index].inputs.at(0);
  const ValueId y = graph.nodes[index].output;
  BF_CHECK(element_count(graph.value(x).shape) == element_count(graph.value(y).shape));
  if (!links.is_output(y)) {
    if (!readers_accept(graph, links, y, x)) return false;
    links.redirect(graph, y, x);
    return true;
  }
  if (links.maker(x) < 0 || links.is_output(x) || !readers_accept(graph, links, x, y)) return false;
  const auto maker = static_cast<std::size_t>(links.maker(x));
  if (graph.value(x).shape != graph.value(y).shape &&
      !works_on_flattened(graph, graph.nodes[maker]))
    return false;
  links.take_output(graph, maker, index);
  links.redirect(graph, x, y);
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

}  // namespace bf_aot
