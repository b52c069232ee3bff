#pragma once

#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/passes/rewrite/links.h"

// Helpers that several passes share to rewrite a graph.

namespace bf_aot {

// The constant of each value that a Literal makes, else null; indexed by ValueId. Points into the
// graph's nodes.
std::vector<const Constant*> literal_values(const Graph& graph);

bool is_graph_input(const Graph& graph, ValueId id);
bool is_graph_output(const Graph& graph, ValueId id);

// Makes node number `index`, whose output is element by element its only input, disappear: its
// readers read its input, or its input is made under its name when it is a graph output. Returns
// false, with the graph unchanged, when neither keeps the graph's inputs, outputs and shapes.
bool bypass(Graph& graph, Links& links, std::size_t index);

// Replaces each node number i by replacements[i], when that is not empty.
void replace_nodes(Graph& graph, std::vector<std::vector<Node>> replacements);

}  // namespace bf_aot
