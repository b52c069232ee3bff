#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// With config.splits neurons: lets the entry of the specification give the intervals of neurons
// before their ReLUs to NAME_decide, and counts what its proofs pay for
// (docs/proofs/neuron-splits.md). Throws BF2118 for what nodes cannot be bounded on.
void split_neurons(Plan& plan);

}  // namespace bf_aot
