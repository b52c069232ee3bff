#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Names of a plan's constants. Each is a tensor's name and one more word, so that no two are equal.

// The name of the tensor that a step makes; "outputs_<first>" for a step that makes outputs.
std::string step_name(const IntegerPlan& plan, const IntegerStep& step);

}  // namespace bf_aot::emit
