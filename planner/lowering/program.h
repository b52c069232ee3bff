#pragma once

#include <set>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::calls {

// The call program of an entry of the plan.
Program program_of(const Plan& plan, const Entry& entry);

// The programs of all entries, in their order.
std::vector<Program> programs_of(const Plan& plan);

// The kernels that programs call.
std::set<KernelId> kernels_of(const std::vector<Program>& programs);

}  // namespace bf_aot::calls
