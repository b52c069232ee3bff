#pragma once

#include <cstdint>

#include "planner/plan/plan.h"

namespace bf_aot {

// Where the coefficients of dead channels become 0: some reader of what a link has relaxed reads
// those of all channels, or does so where many are live.
enum class DeadZeros : std::uint8_t { kNever, kWhereMany, kAlways };
DeadZeros dead_zeros(const Plan& plan, const BackwardRows& step, const BackwardLink& link);

}  // namespace bf_aot
