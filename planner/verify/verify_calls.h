#pragma once

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot {

// Aborts unless each call of a routine in an entry's program fits the routine's signature: as many
// arguments, each of its kind, buffers of its element type and large enough from the place on, and
// read and written only as access_of() says of the step that the call comes from.
void verify_calls(const Plan& plan, const Entry& entry, const calls::Program& program);

}  // namespace bf_aot
