#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// The part of verify() that looks at a plan of arithmetic integer: steps read what was made, every
// sum fits, all arithmetic has the codes that its steps define for every sum that occurs, buffers
// live as long as their codes are read, and every output is bounded once.
void verify_integer(const Plan& plan, PlanStage stage);

}  // namespace bf_aot
