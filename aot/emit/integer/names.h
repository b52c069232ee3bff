#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Names of a plan's constants. Each is a tensor's name and one more word, so that no two are equal.

// The name of the tensor that a step makes; "outputs_<first>" for a step that makes outputs.
std::string step_name(const IntegerPlan& plan, const IntegerStep& step);

// The argument for a table: its name, or the expression that stands for an empty one.
std::string index_argument(const std::string& name, const std::vector<std::int64_t>& indices);
std::string table_argument(const std::string& name, const std::vector<int>& numbers);

}  // namespace bf_aot::emit
