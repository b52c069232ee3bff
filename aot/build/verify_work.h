#pragma once

#include <cstdint>

#include "frontend/property/property.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::build {

// The work of NAME_verify.
struct VerifyWork {
  std::int64_t bounds = 0;      // calls of NAME_spec_bounds, at most
  std::int64_t operations = 0;  // layer_operations() of these calls, and those of the conditions
};

// Counts for each case the bounds of its box, of its centre, and of the corners that
// bf::choose_point() tries.
VerifyWork verify_work(const Lowered& lowered, const Property& property);

}  // namespace bf_aot::build
