#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// The text of <stem>.cpp for a plan of arithmetic integer. It has no operation on floats, and calls
// no function of a library that has one.
std::string emit_integer_source(const Plan& plan, const std::string& stem);

}  // namespace bf_aot::emit
