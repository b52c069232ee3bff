#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Makes plan.split_weights, when the configuration asks for decisions: for each input the sum of
// its column in |W_L| .. |W_2| |W_1|, what its change could at most add to the rows of the
// specification if every neuron passed it on. Branch and bound splits the input whose weight times
// width is largest: docs/proofs/branch-and-bound.md. The greatest weight is 1. No bound
// depends on them.
void weigh_splits(Plan& plan);

}  // namespace bf_aot
