#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Prints a plan of arithmetic integer, all of which is in Plan::integer.

// The constants that stand before the function: weights, requantizers, tables.
std::string emit_integer_constants(const Plan& plan);

// Returns true if a step loosens codes.
bool has_loose_codes(const Plan& plan);

// The function `run(lower, upper, out_lower, out_upper, workspace)`: the steps, as calls of
// runtime/bf/integer/. With loose codes it has one more argument, by how many codes.
std::string emit_integer_run(const Plan& plan);

// The calls alone, one a line, for human readers.
std::string dump_integer_calls(const Plan& plan);

}  // namespace bf_aot::emit
