#pragma once

#include <cstdint>

#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// What the verdict on a property takes, at most.
struct VerifyWork {
  std::int64_t bounds = 0;      // calls of NAME_spec_bounds
  std::int64_t operations = 0;  // float operations, of all of them and of the conditions
};

// Of NAME_verify: of each case the box, its centre, and the corners that are tried
// (bf::choose_point).
VerifyWork verify_work(const Plan& plan, const Property& property);

}  // namespace bf_aot
