#include "frontend/graph/merge_graphs.h"

#include <algorithm>
#include <optional>
#include <span>
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

  // Makes the network's inputs of elements of tensors that are known, one after the other.
  void read_inputs(const std::vector<ValueId>& known,
                   std::vector<std::int64_t>::const_iterator source) {
    for (const ValueId own : network_.graph.inputs) {
      const auto count = element_count(merged_.value(id(own)).shape);
      read_input(id(own), known, {source, source + count});
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
  // One tensor is read as it is. Of several the sum is taken, each of which has zeros where the
  // elements are others'.
  void read_input(ValueId input, const std::vector<ValueId>& known,
                  const std::vector<std::int64_t>& source) {
    const Origin origin("input '" + merged_.value(input).name + "'");
    const auto rows = static_cast<std::int64_t>(source.size());
    std::vector<Node> parts;
    std::int64_t first = 0;
    for (const ValueId tensor : known) {
      const std::int64_t end = first + element_count(merged_.value(tensor).shape);
      SparseAffine part;
      part.row_start = {0};
      for (const std::int64_t i : source) {
        if (first <= i && i < end) part.column.push_back(i - first);
        part.row_start.push_back(static_cast<std::int64_t>(part.column.size()));
      }
      first = end;
      const std::size_t count = part.column.size();
      if (count == source.size()) {
        merged_.nodes.push_back({IndexMap{std::move(part.column)}, {tensor}, input, origin});
        return;
      }
      part.value = {{static_cast<std::int64_t>(count)}, std::vector<double>(count, 1), {}};
      part.bias = {{rows}, std::vector<double>(source.size()), {}};
      if (count > 0) parts.push_back({std::move(part), {tensor}, input, origin});
    }
    add_parts(input, std::move(parts));
  }

  void add_parts(ValueId input, std::vector<Node> parts) {
    BF_CHECK(parts.size() > 1);
    const Shape shape = merged_.value(input).shape;
    const std::string name = merged_.value(input).name + "_part";
    std::optional<ValueId> sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].output = merged_.add_value(name, shape);
      merged_.nodes.push_back(parts[i]);
      if (sum) {
        const ValueId next = i + 1 == parts.size() ? input : merged_.add_value(name, shape);
        merged_.nodes.push_back(
            {Binary{Binary::Kind::kAdd}, {*sum, parts[i].output}, next, parts[i].origin});
        sum = next;
      } else {
        sum = parts[i].output;
      }
    }
  }

  Graph& merged_;
  NamedGraph& network_;
  std::vector<ValueId> ids_;
};

// The network that nodes and outputs of a graph are by themselves, or none where they read what
// other nodes make.
std::optional<Graph> network_of(const Graph& graph, std::span<const Node> nodes,
                                std::span<const ValueId> outputs) {
  Graph made;
  made.name = graph.name;
  std::vector<std::optional<ValueId>> ids(graph.values.size());
  const auto add = [&](ValueId id) {
    ids[index_of(id)] = made.add_value(graph.value(id).name, graph.value(id).shape);
    return *ids[index_of(id)];
  };
  for (const ValueId id : graph.inputs) made.inputs.push_back(add(id));
  for (const Node& node : nodes) {
    Node copy = node;
    for (ValueId& input : copy.inputs) {
      if (!ids[index_of(input)]) return std::nullopt;
      input = *ids[index_of(input)];
    }
    copy.output = add(node.output);
    made.nodes.push_back(std::move(copy));
  }
  for (const ValueId id : outputs) {
    if (!ids[index_of(id)]) return std::nullopt;
    made.outputs.push_back(*ids[index_of(id)]);
  }
  return made;
}

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
      std::vector<ValueId> known = merged.inputs;
      known.insert(known.end(), merged.outputs.begin(), merged.outputs.end());
      merger.read_inputs(known, next);
      for (const ValueId own : network.graph.inputs)
        next += element_count(merged.value(merger.id(own)).shape);
    }
    merger.add_nodes();
  }
  BF_CHECK(next == source.end());
  verify(merged);
  return merged;
}

std::optional<std::pair<Graph, Graph>> merged_pair(const Graph& merged) {
  const std::size_t nodes = merged.nodes.size(), outputs = merged.outputs.size();
  if (merged.networks != 2 || nodes % 2 != 0 || outputs % 2 != 0) return std::nullopt;
  const std::span all(merged.nodes);
  const std::span out(merged.outputs);
  auto first = network_of(merged, all.first(nodes / 2), out.first(outputs / 2));
  auto second = network_of(merged, all.last(nodes / 2), out.last(outputs / 2));
  if (!first || !second) return std::nullopt;
  return std::pair(std::move(*first), std::move(*second));
}

void join_infos(ModelInfo& all, const ModelInfo& one) {
  all.file_name += (all.file_name.empty() ? "" : ", ") + one.file_name;
  all.sha256 += one.sha256;
  all.producer = one.producer;
  all.ir_version = std::max(all.ir_version, one.ir_version);
  all.opset = std::max(all.opset, one.opset);
  all.operators.insert(one.operators.begin(), one.operators.end());
  all.narrow = all.narrow || one.narrow;
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
