#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Lets the backward rows of the specification give their coefficients over the inputs to the
// caller, when the configuration asks for decisions: they say what is split
// (docs/proofs/branch-and-bound.md). In the entry that NAME_decide calls; where slopes are
// optimised, of the rows before. Not of rows with windows or of several workers, and not when they
// are more than a mebibyte for all boxes of a call.
void keep_coefficients(Plan& plan);

// Return true if backward rows, of some entry, give coefficients to the caller.
bool keeps_coefficients(const Entry& entry);
bool keeps_coefficients(const Plan& plan);

}  // namespace bf_aot
