#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan_fwd.h"

namespace bf_aot::emit {

// Returns, in lines, which arithmetic of the network bounds hold for, and which one they leave out:
// what follows the words "Bounds hold for".
std::vector<std::string> coverage_of(const Plan& plan);

// Returns what bounds say of operators on float16 and bfloat16, in a line; empty for other
// networks.
std::string note_on_types(const Plan& plan);

}  // namespace bf_aot::emit
