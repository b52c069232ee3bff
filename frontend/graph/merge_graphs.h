#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

struct NamedGraph {
  std::string name;
  Graph graph;
};

// Networks as they were imported, side by side as one: its outputs are theirs, one after the other,
// and value x of network f is f.x. Element k of their inputs, one after the other, is element
// source_k of the one input "inputs" of `input_count` elements, and behind it of the outputs of
// networks before. With an empty source all inputs stay. Requires: no one-hot inputs.
Graph merge_graphs(std::vector<NamedGraph> networks, const std::vector<std::int64_t>& source,
                   std::int64_t input_count);

// The two networks that merge_graphs() made this graph of, each as a network of all of its inputs;
// none where it made the graph of another number of networks, the networks have different numbers
// of nodes or outputs, or one reads outputs of the other.
std::optional<std::pair<Graph, Graph>> merged_pair(const Graph& merged);

// Adds to `all` what checks of operators and of types read of one network's information.
void join_infos(ModelInfo& all, const ModelInfo& one);

// Returns whether two graphs have the same nodes in the same order, with the same operators,
// between values of the same shapes, whatever their names and constants are.
bool are_isomorphic(const Graph& a, const Graph& b);

// Returns whether they have the same constants and attributes besides.
bool are_equal_networks(const Graph& a, const Graph& b);

}  // namespace bf_aot
