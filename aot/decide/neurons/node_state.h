#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/neurons/split_node.h"
#include "aot/decide/tree/node.h"

namespace bf_aot::decide {

// The counts that all nodes of a clause have in common.
struct NodeShape {
  const std::vector<bool>& is_function;  // by open neuron; the others are ReLUs
  std::size_t functions = 0;             // how many open neurons are functions
  std::size_t terms = 0;
  std::size_t products = 0;

  std::size_t open() const { return is_function.size(); }
};

// The state of a node of neuron splits, in numbers of four bytes, the lowest first: the counts of
// splits and ranges; for each split 2 open + positive, its multiplier and its point in eight bytes;
// for each range its neuron and ends; the bound, both gains and `tightened`; the terms' weights;
// two slopes of each function; then in a byte each the slopes, and two planes of each product. The
// root's state is empty.
std::vector<std::byte> state_of(const SplitNode& node);

// The node of a state that state_of() made, or that has passed node_fault(); not of a root, whose
// state is empty.
SplitNode read_node(const tree::Node& node, const NodeShape& shape);

// The bound that a node's state holds, its parent's; minus infinity for a root, which has none.
float bound_of(const tree::Node& node);

// Null when the state is that of a node of this shape, else the reason for a message. For nodes
// from files and other processes.
const char* node_fault(const tree::Node& node, const NodeShape& shape);

}  // namespace bf_aot::decide
