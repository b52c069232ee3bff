#pragma once

#include <vector>

#include "planner/plan.h"

namespace bf {

// Seconds of one call of an entry. neurons: per layer, how many of them backward rows bound; null:
// not known.
double predicted_seconds(const Plan& plan, const Entry& entry, const std::vector<double>* neurons);

// Seconds that a C++ compiler takes for the plan's kernels.
double predicted_compile_seconds(const Plan& plan);

}  // namespace bf
