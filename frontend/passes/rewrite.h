#pragma once

#include <vector>

#include "frontend/graph.h"

// What several passes need to rewrite a graph.

namespace bf {

// The constant of each value that a Literal makes, else null; indexed by ValueId. Points into the
// graph's nodes.
std::vector<const Constant*> literal_values(const Graph& graph);

bool is_graph_input(const Graph& graph, ValueId id);
bool is_graph_output(const Graph& graph, ValueId id);

// Makes node number `index`, whose output is element by element its only input, disappear: its
// readers read its input, or its input is made under its name when it is a graph output. Returns
// false, with the graph unchanged, when neither keeps the graph's inputs, outputs and shapes.
bool bypass(Graph& graph, std::size_t index);

// Replaces each node number i by replacements[i], when that is not empty.
void replace_nodes(Graph& graph, std::vector<std::vector<Node>> replacements);

// Runs `rewrite_one`, which makes at most one rewrite and returns whether it did, until it returns
// false; drops dead nodes before each call, so that use counts are those of live readers.
template <class Function>
void rewrite_until_stable(Graph& graph, Function rewrite_one);

}  // namespace bf

#include "frontend/passes/passes.h"

template <class Function>
void bf::rewrite_until_stable(Graph& graph, Function rewrite_one) {
  do remove_dead_nodes(graph);
  while (rewrite_one(graph));
}
