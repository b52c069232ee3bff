#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Text of a plan of arithmetic integer; all of it is what Plan::integer says.

// Weights, requantizers, tables: what stands before the function.
std::string emit_integer_constants(const Plan& plan);

// `run(lower, upper, out_lower, out_upper, workspace)`: the steps, as calls of runtime/bf/integer/.
std::string emit_integer_run(const Plan& plan);

// The calls alone, one a line, for people.
std::string dump_integer_calls(const Plan& plan);

}  // namespace bf_aot::emit
