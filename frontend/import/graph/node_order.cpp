#include "frontend/import/graph/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "frontend/import/file/names.h"

namespace bf_aot {
namespace {

// Finds for each node the nodes whose outputs it reads; if a name has several makers, the first.
std::vector<std::vector<int>> find_sources(const onnx::GraphProto& graph,
                                           const std::unordered_set<std::string>& known) {
  std::unordered_map<std::string, int> maker;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& output : graph.node(i).output())
      if (!output.empty() && !known.contains(output)) maker.emplace(output, i);
  std::vector<std::vector<int>> sources(static_cast<std::size_t>(graph.node_size()));
  for (int i = 0; i < graph.node_size(); ++i)
    for_each_read(graph.node(i), [&](const std::string& input) {
      if (const auto found = maker.find(input); found != maker.end())
        sources[static_cast<std::size_t>(i)].push_back(found->second);
    });
  return sources;
}

// Every node that is not sorted waits for another that is not; following them ends in a cycle.
std::vector<int> find_cycle(const std::vector<std::vector<int>>& sources,
                            const std::vector<int>& waits) {
  const auto waiting = [&](int i) { return waits[static_cast<std::size_t>(i)] > 0; };
  std::vector<int> path;
  std::vector<int> position(sources.size(), -1);
  int at = static_cast<int>(
      std::find_if(waits.begin(), waits.end(), [](int count) { return count > 0; }) -
      waits.begin());
  while (position[static_cast<std::size_t>(at)] < 0) {
    position[static_cast<std::size_t>(at)] = static_cast<int>(path.size());
    path.push_back(at);
    const std::vector<int>& from = sources[static_cast<std::size_t>(at)];
    at = *std::find_if(from.begin(), from.end(), waiting);
  }
  path.erase(path.begin(), path.begin() + position[static_cast<std::size_t>(at)]);
  std::reverse(path.begin(), path.end());  // in the direction of the data
  return path;
}

}  // namespace

NodeOrder order_nodes(const onnx::GraphProto& graph, const std::unordered_set<std::string>& known) {
  const std::vector<std::vector<int>> sources = find_sources(graph, known);
  std::vector<std::vector<int>> readers(sources.size());
  std::vector<int> waits(sources.size(), 0);  // sources that are not sorted yet
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (int source : sources[i])
      readers[static_cast<std::size_t>(source)].push_back(static_cast<int>(i));
    waits[i] = static_cast<int>(sources[i].size());
    if (waits[i] == 0) ready.push(static_cast<int>(i));
  }
  NodeOrder result;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    result.order.push_back(next);
    for (int reader : readers[static_cast<std::size_t>(next)])
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  if (result.order.size() < sources.size()) result.cycle = find_cycle(sources, waits);
  return result;
}

}  // namespace bf_aot
