#include "frontend/graph/merge_graphs.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

// Adds a network's values and nodes to the merged one.
class NetworkMerger {
 public:
  NetworkMerger(Graph& merged, NamedGraph& network) : merged_(merged), network_(network) {
    for (Value& value : network.graph.values)
      ids_.push_back(merged.add_value(network.name + "." + value.name, std::move(value.shape)));
  }

  ValueId id(ValueId own) const { return ids_.at(index_of(own)); }

  // The part of the merged input that is read instead of the network's own inputs.
  void read_inputs(ValueId input, std::vector<std::int64_t>::const_iterator source) {
    for (const ValueId own : network_.graph.inputs) {
      const auto count = element_count(merged_.value(id(own)).shape);
      merged_.nodes.push_back({IndexMap{{source, source + count}},
                               {input},
                               id(own),
                               "input '" + merged_.value(id(own)).name + "'"});
      source += count;
    }
  }

  void add_nodes() {
    for (Node& node : network_.graph.nodes) {
      for (ValueId& input : node.inputs) input = id(input);
      node.output = id(node.output);
      // Places in the file, of which there are several.
      node.origin = Origin(network_.name + ": " + node.origin.text);
      merged_.nodes.push_back(std::move(node));
    }
    for (const ValueId own : network_.graph.outputs) merged_.outputs.push_back(id(own));
  }

 private:
  Graph& merged_;
  NamedGraph& network_;
  std::vector<ValueId> ids_;
};

bool same_shapes(const Graph& a, const Graph& b, const std::vector<ValueId>& of_a,
                 const std::vector<ValueId>& of_b) {
  return std::ranges::equal(of_a, of_b, [&](ValueId x, ValueId y) {
    return x == y && a.value(x).shape == b.value(y).shape;
  });
}

}  // namespace

Graph merge_graphs(std::vector<NamedGraph> networks, const std::vector<std::int64_t>& source,
                   std::int64_t input_count) {
  Graph merged;
  merged.networks = static_cast<int>(networks.size());
  if (!source.empty()) merged.inputs = {merged.add_value("inputs", {input_count})};
  auto next = source.begin();
  for (NamedGraph& network : networks) {
    BF_CHECK(network.graph.one_hot.size == 0 && network.graph.networks == 1);
    merged.name += (merged.name.empty() ? "" : "_") + network.name;
    NetworkMerger merger(merged, network);
    if (source.empty()) {
      for (const ValueId own : network.graph.inputs) merged.inputs.push_back(merger.id(own));
    } else {
      merger.read_inputs(merged.inputs[0], next);
      for (const ValueId own : network.graph.inputs)
        next += element_count(merged.value(merger.id(own)).shape);
    }
    merger.add_nodes();
  }
  BF_CHECK(next == source.end());
  verify(merged);
  return merged;
}

bool are_isomorphic(const Graph& a, const Graph& b) {
  return same_shapes(a, b, a.inputs, b.inputs) && same_shapes(a, b, a.outputs, b.outputs) &&
         std::ranges::equal(a.nodes, b.nodes, [&](const Node& x, const Node& y) {
           return x.op.index() == y.op.index() && same_shapes(a, b, x.inputs, y.inputs) &&
                  same_shapes(a, b, {x.output}, {y.output});
         });
}

bool are_equal_networks(const Graph& a, const Graph& b) {
  return are_isomorphic(a, b) && std::ranges::equal(a.nodes, b.nodes, {}, &Node::op, &Node::op);
}

}  // namespace bf_aot
