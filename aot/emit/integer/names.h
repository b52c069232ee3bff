#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Names of a plan's constants: a tensor's name and one more word, so that no two are equal.

// The tensor that a step makes; of one that makes outputs "outputs_<first>".
std::string step_name(const IntegerPlan& plan, const IntegerStep& step);

// A table of indices, or what stands for none.
std::string index_argument(const std::string& name, const std::vector<std::int64_t>& indices);
std::string table_argument(const std::string& name, const std::vector<int>& numbers);

}  // namespace bf_aot::emit
