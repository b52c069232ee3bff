#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Checks the exported functions, where the plan lists them: no two of a name, each entry behind
// one, and as much memory as the entries and what runs on top of them take.
void verify_functions(const Plan& plan);

}  // namespace bf_aot
