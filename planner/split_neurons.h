#pragma once

#include <cstddef>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Branch and bound over boxes with more inputs that vary than this hardly ever ends.
constexpr std::size_t kMostBranchedInputs = 16;

// What NAME_decide splits, and why, of a plan whose layers are made: with config.splits auto inputs
// where few of them vary in each box, or neurons cannot be split, else neurons. Without boxes all
// inputs vary.
void choose_splits(Plan& plan, const std::vector<Box>& boxes);

// With config.splits neurons: lets the entry of the specification give the intervals of neurons
// before their ReLUs to NAME_decide, and counts what its proofs pay for
// (docs/proofs/neuron-splits.md). Throws BF2118 for what nodes cannot be bounded on.
void split_neurons(Plan& plan);

}  // namespace bf_aot
