#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// Puts the steps of cached entries into parts, see plan_cache.h: orders them, sets shared_steps and
// kept_steps, and makes the buffers that go from one part to another EPOCH. A buffer of that scope
// has the same name in all entries exactly when it is made by shared steps.
void split_into_parts(const Plan& plan, std::vector<Entry>& entries);

// Gives a buffer that an entry keeps for itself a name of its own.
void rename_own(Entry& entry, Buffer& buffer);

}  // namespace bf_aot
