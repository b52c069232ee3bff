#include "aot/artifacts/provenance/node_layers.h"

#include <cstddef>

namespace bf_aot::artifacts {

std::string_view to_string(NodeLayers::Through through) {
  switch (through) {
    case NodeLayers::Through::kOrigin:
      return "origin";
    case NodeLayers::Through::kReaders:
      return "readers";
    case NodeLayers::Through::kMakers:
      return "makers";
    case NodeLayers::Through::kNothing:
      break;
  }
  return "nothing";
}

namespace {

using Through = NodeLayers::Through;

std::size_t place(std::int32_t node) {
  return static_cast<std::size_t>(node);
}

std::vector<NodeLayers> by_origin(std::size_t nodes, const std::vector<Origin>& origins) {
  std::vector<NodeLayers> found(nodes);
  for (std::size_t layer = 0; layer < origins.size(); ++layer)
    for (const std::int32_t node : origins[layer].nodes) {
      found.at(place(node)).layers.insert(layer);
      found.at(place(node)).through = Through::kOrigin;
    }
  return found;
}

// The nodes in an order in which each comes after all that read it.
std::vector<std::size_t> readers_first(const std::vector<OnnxNode>& nodes) {
  std::vector<int> readers(nodes.size(), 0);
  for (const OnnxNode& node : nodes)
    for (const std::int32_t maker : node.makers) ++readers.at(place(maker));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (readers[i] == 0) order.push_back(i);
  for (std::size_t next = 0; next < order.size(); ++next)
    for (const std::int32_t maker : nodes[order[next]].makers)
      if (--readers[place(maker)] == 0) order.push_back(place(maker));
  return order;
}

void take(const NodeLayers& from, Through through, NodeLayers& to) {
  if (from.layers.empty() || (to.through != Through::kNothing && to.through != through)) return;
  to.layers.insert(from.layers.begin(), from.layers.end());
  to.through = through;
}

}  // namespace

std::vector<NodeLayers> layers_of_nodes(const std::vector<OnnxNode>& nodes,
                                        const std::vector<Origin>& origins) {
  std::vector<NodeLayers> found = by_origin(nodes.size(), origins);
  const std::vector<std::size_t> order = readers_first(nodes);
  std::vector<bool> counts(nodes.size(), false);  // an output depends on it
  for (const std::size_t reader : order) {
    counts[reader] = counts[reader] || nodes[reader].is_output;
    for (const std::int32_t maker : nodes[reader].makers) {
      counts[place(maker)] = counts[place(maker)] || counts[reader];
      take(found[reader], Through::kReaders, found[place(maker)]);
    }
  }
  for (auto node = order.rbegin(); node != order.rend(); ++node)
    if (counts[*node])
      for (const std::int32_t maker : nodes[*node].makers)
        take(found[place(maker)], Through::kMakers, found[*node]);
  return found;
}

}  // namespace bf_aot::artifacts
