#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/neurons/split_node.h"
#include "aot/decide/tree/node.h"

namespace bf_aot::decide {

// What the nodes of a clause have in common.
struct NodeShape {
  const std::vector<bool>& is_function;  // by open neuron; the others are ReLUs
  std::size_t functions = 0;             // of them
  std::size_t terms = 0;
  std::size_t products = 0;

  std::size_t open() const { return is_function.size(); }
};

// The state of a node of neuron splits: numbers in four bytes, the lowest first. So many splits and
// ranges; for each split 2 open + positive, its multiplier and its point in eight bytes; for each
// range its neuron and ends; the bound, both gains and `tightened`; the terms' weights; two slopes
// of each function; slopes, and two planes of each product, in a byte each. The root's is empty.
std::vector<std::byte> state_of(const SplitNode& node);

// The node of a state that state_of() made, or that passes node_fault(); not of a root's.
SplitNode read_node(const tree::Node& node, const NodeShape& shape);

// Null, or what keeps a state from being that of a node of this shape. Of what comes from files and
// other processes.
const char* node_fault(const tree::Node& node, const NodeShape& shape);

}  // namespace bf_aot::decide
