#pragma once

#include <cstddef>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Branch and bound over boxes with more inputs that vary than this hardly ever ends.
constexpr std::size_t kMostBranchedInputs = 16;

// Chooses what NAME_decide splits, and states why, in a plan whose layers are made. config.splits
// auto chooses inputs where at most kMostBranchedInputs of them vary in each box, or where neurons
// cannot be split; else neurons. Without boxes all inputs count as varying.
void choose_splits(Plan& plan, const std::vector<Box>& boxes);

// With config.splits neurons, lets the entry of the specification give the intervals of neurons
// before their ReLUs to NAME_decide, and counts the roundings that its proofs pay for
// (docs/proofs/neuron-splits.md). Throws BF2118 for networks on which splits cannot be bounded.
void split_neurons(Plan& plan);

}  // namespace bf_aot
