#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/limit.h"

// Entries that can stop ask this between their steps. Functions have internal linkage, no heap and
// no state, as in bounds.h.

namespace bf {

struct Meter {
  bf_limit limit;
  std::uint64_t spent;
};

// Null is no limit.
static inline Meter meter_of(const bf_limit* limit) {
  const bf_limit none = {0, nullptr, nullptr};
  return {limit != nullptr ? *limit : none, 0};
}

// Takes so many operations of the limit. False, and nothing is taken, where fewer are left or the
// caller stops.
static inline bool may_spend(Meter& meter, std::uint64_t operations) {
  const bf_limit& limit = meter.limit;
  if (limit.operations != 0 && operations > limit.operations - meter.spent) return false;
  if (limit.stop != nullptr && limit.stop(limit.data) != 0) return false;
  meter.spent += operations;
  return true;
}

static inline void copy_bounds(const float* lower, const float* upper, std::size_t count,
                               float* out_lower, float* out_upper) {
  for (std::size_t i = 0; i < count; ++i) {
    out_lower[i] = lower[i];
    out_upper[i] = upper[i];
  }
}

}  // namespace bf
