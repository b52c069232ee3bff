#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::artifacts {

// The text of example.c: a monitor that calls the verifier, on a board (board.h) or with an
// operating system.
std::string example_text(const Plan& plan, const std::string& stem);

}  // namespace bf_aot::artifacts
