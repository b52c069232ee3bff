#include <numeric>
#include <utility>
#include <vector>

#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {

void join_inputs(Graph& graph) {
  if (!graph.input_parts.empty() || graph.inputs.empty()) return;
  std::int64_t total = 0;
  for (ValueId id : graph.inputs) {
    graph.input_parts.push_back(graph.value(id));
    total += element_count(graph.value(id).shape);
  }
  if (graph.inputs.size() == 1) return;
  const ValueId joined = graph.add_value("inputs", {total});
  std::vector<Node> nodes;
  std::int64_t start = 0;
  for (ValueId id : graph.inputs) {
    IndexMap map;
    map.source.resize(static_cast<std::size_t>(element_count(graph.value(id).shape)));
    std::iota(map.source.begin(), map.source.end(), start);
    start += static_cast<std::int64_t>(map.source.size());
    nodes.push_back({std::move(map), {joined}, id, "input '" + graph.value(id).name + "'"});
  }
  std::move(graph.nodes.begin(), graph.nodes.end(), std::back_inserter(nodes));
  graph.nodes = std::move(nodes);
  graph.inputs = {joined};
}

}  // namespace bf_aot
