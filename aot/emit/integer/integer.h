#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Prints a plan of arithmetic integer, all of which is in Plan::integer.

// The constants that stand before the function: weights, requantizers, tables. marks: with marks of
// aot/emit/text/marks.h, here and below.
std::string emit_integer_constants(const Plan& plan, bool marks);

// Returns true if a step loosens codes.
bool has_loose_codes(const Plan& plan);

// The function `run(lower, upper, out_lower, out_upper, workspace)`: the steps, as calls of
// runtime/bf/integer/. With loose codes it has one more argument, by how many codes.
//
// With a property `codes(lower, upper, workspace)` makes the codes that run() and `rows(lower,
// upper, row_lower, row_upper, workspace)`, which bounds the property's rows, go on with.
std::string emit_integer_run(const Plan& plan, bool marks);

// Weights and slacks of the property's rows, for the namespace of its tables.
std::string emit_row_constants(const Plan& plan);

// Text of method crown: lines beside codes; the function `back` that rows go through; places of a
// row of coefficients, and of the lines of all neurons; a CrownLayer of the runtime.
std::string emit_crown_lines(const Plan& plan);
std::string emit_back(const Plan& plan);
std::string crown_row_places(const Plan& plan);
std::string crown_line_places(const Plan& plan);
std::string crown_layer(const GridCrown& crown, int number, int rows, int columns, int shift);

// The calls alone, one a line, for human readers.
std::string dump_integer_calls(const Plan& plan);

}  // namespace bf_aot::emit
