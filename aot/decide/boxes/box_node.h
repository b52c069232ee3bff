#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/tree/node.h"
#include "frontend/property/verdict_tables.h"

namespace bf_aot::decide {

// The state of a node that is a box within the case of its root: the lower ends, then the upper,
// each a float32 number in four bytes, the lowest byte first.
std::vector<std::byte> box_state(std::size_t inputs, const float* lower, const float* upper);

// Writes the ends of a node's box to [inputs] numbers each. The state must have been made by
// box_state(), or have passed box_fault().
void read_box(const tree::Node& node, std::size_t inputs, float* lower, float* upper);

// The states of the boxes of all cases, which are the roots.
std::vector<std::vector<std::byte>> case_states(const FloatBoxes& boxes, std::size_t inputs);

// Null when the node is a box of one of the cases, else the reason for a message: "a box of another
// size", "a box beyond its case". For nodes from files and other processes.
const char* box_fault(const tree::Node& node, const FloatBoxes& boxes, std::size_t inputs);

}  // namespace bf_aot::decide
