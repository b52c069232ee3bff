#pragma once

#include <span>

#include "planner/plan/plan.h"
#include "planner/reference/estimate.h"

namespace bf_aot {

// Seconds of one call of an entry, by what runs of it on boxes found; empty: nothing is known.
double predicted_seconds(const Plan& plan, const Entry& entry,
                         std::span<const reference::Estimator::Result> runs);

// Seconds that a C++ compiler takes for the plan's kernels.
double predicted_compile_seconds(const Plan& plan);

}  // namespace bf_aot
