#pragma once

#include <string_view>

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

// The map of kernels that bind boxes with the ends that reads_near_ends() asks for.
inline constexpr std::string_view kNearEnds = "near";

// Returns whether a function that has no value at 0, or on one side of it, reads the network's
// inputs as they are. Then the end of a box that is nearer to 0 is exact, else the other one.
bool reads_near_ends(const Plan& plan);

}  // namespace bf_aot
