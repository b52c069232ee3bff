#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// The part of verify() that looks at cached entries and the context: places that never overlap,
// equal in all entries; parts of an entry that pass on nothing outside of the context, and
// overwrite nothing that an earlier part made.
void verify_cache(const Plan& plan);

}  // namespace bf_aot
