#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Sets exact_centre of the layers whose double centres are exact for every box:
//   copies: each output is one input times 1 or -1, or a constant;
//   sums on a grid: inputs, weights and biases are multiples of powers of two, so that every
//   partial sum is a multiple of 2^e and below 2^(e + 49). Integers made by rounding and step
//   functions and clipped to a range are such inputs: quantised and binarised networks have no
//   rounding at all.
// Centres lie half way between two grid points: one more bit.
void find_exact_centres(Plan& plan);

}  // namespace bf_aot
