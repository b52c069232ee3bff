#pragma once

#include <cstdint>
#include <vector>

#include "planner/plan/integer.h"

namespace bf_aot {

// Operations of a step on integers, at most, for both bounds: products, sums, shifts, comparisons,
// and codes that are read from a table. As the loops of runtime/bf/integer/ have them; that a
// counter is raised does not count.
std::int64_t most_operations(const IntegerPlan& plan, const IntegerStep& step);

// Operations of the rows of the plan's property, for both bounds.
std::int64_t row_operations(const IntegerPlan& plan);

// A routine that a step calls, "bf::integer::dense", and how often.
struct StepCalls {
  const char* function;
  std::int64_t count;
};
std::vector<StepCalls> calls_of(const IntegerPlan& plan, const IntegerStep& step);

}  // namespace bf_aot
