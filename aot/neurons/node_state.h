#pragma once

#include <cstddef>
#include <vector>

#include "aot/neurons/lanes.h"
#include "aot/tree/node.h"

namespace bf_aot::cli {

// The state of a node of neuron splits: numbers in four bytes, the lowest first. So many splits,
// for each 2 open + positive and its multiplier; the terms' weights; slopes in a byte each. The
// root's is empty.
std::vector<std::byte> state_of(const SplitNode& node);

// The node of a state that state_of() made, or that passes node_fault(); not of a root's.
SplitNode read_node(const tree::Node& node, std::size_t open, std::size_t terms);

// Null, or what keeps a state from being that of a node of so many open neurons and terms. Of what
// comes from files and other processes.
const char* node_fault(const tree::Node& node, std::size_t open, std::size_t terms);

}  // namespace bf_aot::cli
