#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Checks IntegerPlan::crown: its lines against the steps of codes, that no sum of rows that go back
// overflows, and, with storage, its room.
void verify_crown(const Plan& plan, bool storage);

}  // namespace bf_aot
