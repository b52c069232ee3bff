#pragma once

#include <cstdint>

#include "planner/plan/plan.h"

namespace bf_aot {

// Says where the coefficients of dead channels must become 0: always if some reader of what a link
// has relaxed reads those of all channels, where many are live if some reader does so then.
enum class DeadZeros : std::uint8_t { kNever, kWhereMany, kAlways };
DeadZeros dead_zeros(const Plan& plan, const BackwardRows& step, const BackwardLink& link);

}  // namespace bf_aot
