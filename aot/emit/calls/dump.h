#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::calls {

// Prints the call programs of all entries: a call a line with its arguments, loops indented.
std::string dump_calls(const Plan& plan);

}  // namespace bf_aot::calls
