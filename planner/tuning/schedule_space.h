#pragma once

#include <string>
#include <vector>

#include "planner/plan/kernels.h"

namespace bf_aot {

// Schedules that a kernel may have. `kernel` is as the planner's rules made it: what measurements
// may change is how its loops run, never what it computes, its tables' layout, its lanes or the
// length of its rounding chains.

// Returns true for affine kernels that are printed from loop nests: others have nothing to choose.
bool is_tunable(const Kernel& kernel);

// The reason, for the user, why a schedule may not be used; empty if it may. Any schedule may be
// asked about, also one from a file.
std::string why_illegal(const Kernel& kernel, const Schedule& schedule);

// All legal schedules whose register tile fits the target's registers; the kernel's own first, each
// once, in a fixed order.
std::vector<Schedule> legal_schedules(const Kernel& kernel, const Target& target);

// Accumulators of the register tile, in vectors of the registers' width.
int accumulators(const Kernel& kernel, const Schedule& schedule);

// "12 columns x 2 vectors, chunks of 64, unrolled by 2"
std::string to_text(const Schedule& schedule);

}  // namespace bf_aot
