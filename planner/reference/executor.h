#pragma once

#include <vector>

#include "planner/plan.h"

namespace bf::reference {

struct Bounds {
  std::vector<double> lower, upper;  // of the entry's heads, in order
  std::vector<int> unstable;         // per layer with a ReLU, in layer order: unstable neurons
};

// Executes an entry of a plan in double (Eigen), without error terms: the bounds that the method
// gives in exact arithmetic, up to double rounding. Shares no code with generated kernels.
// lower, upper: input_count numbers.
Bounds execute(const Plan& plan, const Entry& entry, const std::vector<double>& lower,
               const std::vector<double>& upper);

}  // namespace bf::reference
