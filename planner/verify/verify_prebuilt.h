#pragma once

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot {

// Aborts unless every call in an entry's program is one that code is built for: the constants of a
// routine's template and a kernel's rows and boxes are in the sets of planner/plan/prebuilt.h, a
// convolution's tile is bf::prebuilt_row_tile().
void verify_prebuilt(const Plan& plan, const calls::Program& program);

}  // namespace bf_aot
