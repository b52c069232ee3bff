#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::cli {

// Tables of README.md: of each entry point that a caller may time, the calls and the turns of
// loops, at most.
std::string work_text(const Plan& plan);

}  // namespace bf_aot::cli
