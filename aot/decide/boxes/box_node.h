#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/tree/node.h"
#include "frontend/property/verdict_tables.h"

namespace bf_aot::decide {

// The state of a node that is a box of the case that its root is: the lower ends, then the upper,
// each a float32 number in four bytes, the lowest first.
std::vector<std::byte> box_state(std::size_t inputs, const float* lower, const float* upper);

// Writes the ends of such a box; the state must have been made by box_state, or pass check_box.
void read_box(const tree::Node& node, std::size_t inputs, float* lower, float* upper);

// The states of all cases' boxes.
std::vector<std::vector<std::byte>> case_states(const FloatBoxes& boxes, std::size_t inputs);

// Null, or what keeps the node from being a box of the cases: "a box of another size",
// "a box beyond its case". Of what comes from files and other processes.
const char* box_fault(const tree::Node& node, const FloatBoxes& boxes, std::size_t inputs);

}  // namespace bf_aot::decide
