#pragma once

#include <vector>

#include "planner/plan.h"

namespace bf {

// Places an entry's buffers of scope RUN in its arena. Reads the entry's steps and the buffers'
// element and count; fills their bytes, first, last and offset, and the entry's storage totals.
//
// Two buffers share bytes only when no step lies in both lifetimes. All offsets and sizes are
// multiples of `align`. Several greedy orders are tried; when none of them reaches the lower bound,
// an exact search, then a climb. Both are bounded by steps, not by time, and their random choices
// are fixed: the result depends on the entry alone. `rejected` gets one line per strategy that was
// not taken.
void plan_storage(Entry& entry, int align, std::vector<Rejected>& rejected);

}  // namespace bf
