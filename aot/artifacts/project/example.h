#pragma once

#include <string>

#include "aot/emit/text/fill_in.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {

// example.c: a monitor that calls the verifier, on a board (board.h) or with an operating system.
// names: @name@, @NAME@ of the verifier, and @stem@ of its files.
std::string example_text(const Plan& plan, const emit::Arguments& names);

}  // namespace bf_aot::artifacts
