#pragma once

#include <cstdint>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// Bounds of a plan of arithmetic integer by what its steps define: sums of any size, and codes by
// counting steps, not by the arithmetic that the verifier has. The oracle of the tests.
struct CodeBounds {
  std::vector<std::vector<int>> lower, upper;  // of each tensor
};
CodeBounds bound_codes(const Plan& plan, const std::vector<float>& lower,
                       const std::vector<float>& upper);

// The outputs' bounds that follow from these codes.
struct FloatBounds {
  std::vector<float> lower, upper;
};
FloatBounds output_bounds(const Plan& plan, const CodeBounds& codes);

// Bounds of the rows of IntegerPlan::property, slack included.
struct RowBounds {
  std::vector<std::int64_t> lower, upper;
};
RowBounds property_bounds(const Plan& plan, const CodeBounds& codes);

}  // namespace bf_aot
