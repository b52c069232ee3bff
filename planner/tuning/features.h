#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "planner/plan/kernels.h"

namespace bf_aot {

// The features by which a cost model sees a kernel with a schedule: numbers of the loops, by name.
constexpr std::size_t kFeatures = 20;
using Features = std::array<double, kFeatures>;

extern const std::array<std::string_view, kFeatures> kFeatureNames;

Features features_of(const Kernel& kernel, const Schedule& schedule, const Target& target);

// Predicted time of a schedule in units that only compare schedules of one kernel: multiply-adds at
// one per step, with what loads, short chains of accumulators, spilled registers, remainders and
// the trips between chunks add. For choices before anything is measured.
double analytic_cost(const Kernel& kernel, const Schedule& schedule, const Target& target);

}  // namespace bf_aot
