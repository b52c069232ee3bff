#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// <stem>.cpp of a plan of arithmetic integer: no operation on floats, nor a function of a library
// that has one.
std::string emit_integer_source(const Plan& plan, const std::string& stem);

}  // namespace bf_aot::emit
