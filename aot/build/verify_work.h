#pragma once

#include <cstdint>

#include "frontend/property/property.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::build {

// An upper bound of the work of NAME_verify.
struct VerifyWork {
  std::int64_t bounds = 0;      // calls of NAME_spec_bounds
  std::int64_t operations = 0;  // float operations of these calls and of the conditions
};

// Counts for each case the bounds of its box, of its centre, and of the corners that
// bf::choose_point() tries.
VerifyWork verify_work(const Plan& plan, const Property& property);

}  // namespace bf_aot::build
