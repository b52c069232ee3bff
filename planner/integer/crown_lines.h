#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Makes IntegerPlan::crown of a plan of dense layers, one after the other. Steps are made, places
// are not.
// Throws: CompileError BF2113 where a step is none of that, or a row needs more than 64 bits.
void make_crown(Plan& plan);

// Bytes of the room of a plan with crown: two rows of coefficients, and the lines of all neurons.
std::int64_t crown_room_bytes(const IntegerPlan& plan);

}  // namespace bf_aot
