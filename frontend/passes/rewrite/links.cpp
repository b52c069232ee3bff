#include "frontend/passes/rewrite/links.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {

Links::Links(const Graph& graph)
    : makers_(producers(graph)),
      readers_(graph.values.size()),
      output_(graph.values.size(), false),
      dead_(graph.nodes.size(), false) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (ValueId id : graph.nodes[i].inputs) readers_[index_of(id)].push_back(i);
  for (ValueId id : graph.outputs) output_[index_of(id)] = true;
}

// The node reads nothing any more; makers whose results nobody reads then die, too.
void Links::unlink(const Graph& graph, std::size_t node) {
  std::vector<std::size_t> dying = {node};
  while (!dying.empty()) {
    const std::size_t current = dying.back();
    dying.pop_back();
    for (ValueId id : graph.nodes[current].inputs) {
      std::vector<std::size_t>& readers = readers_[index_of(id)];
      const auto found = std::find(readers.begin(), readers.end(), current);
      if (found == readers.end()) continue;
      readers.erase(found);
      if (!readers.empty() || is_output(id) || maker(id) < 0) continue;
      const auto maker_index = static_cast<std::size_t>(maker(id));
      if (dead_[maker_index]) continue;
      dead_[maker_index] = true;
      dying.push_back(maker_index);
    }
  }
}

void Links::rewire(Graph& graph, std::size_t node, std::vector<ValueId> inputs) {
  // First, so that what old and new inputs share does not die.
  for (ValueId id : inputs) readers_[index_of(id)].push_back(node);
  unlink(graph, node);
  graph.nodes[node].inputs = std::move(inputs);
}

void Links::redirect(Graph& graph, ValueId from, ValueId to) {
  const std::vector<std::size_t> readers = this->readers(from);
  for (std::size_t reader : readers) {
    std::vector<ValueId> inputs = graph.nodes[reader].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
    if (inputs != graph.nodes[reader].inputs) rewire(graph, reader, std::move(inputs));
  }
}

void Links::take_output(Graph& graph, std::size_t inner, std::size_t outer) {
  const ValueId x = graph.nodes[inner].output;
  const ValueId y = graph.nodes[outer].output;
  BF_CHECK(graph.nodes[outer].inputs == std::vector<ValueId>{x});
  std::erase(readers_[index_of(x)], outer);
  dead_[outer] = true;
  graph.nodes[inner].output = y;
  // The identity left here keeps the order of nodes; the next remove_dead_nodes drops it.
  graph.nodes[outer] = {IndexMap{}, {y}, x, {}};
  std::swap(makers_[index_of(x)], makers_[index_of(y)]);
}

}  // namespace bf_aot
