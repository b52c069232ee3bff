#pragma once

#include <cstdint>

#include "aot/reach/monitor/monitor_plan.h"

namespace bf_aot::reach {

// At most so many additions, multiplications, divisions and comparisons of doubles are made in a
// call of the monitor, besides what the verifier of its network makes. They are those of the
// longest path: all tries for ranges of each step, and all symbols in use.
std::uint64_t operations_of(const MonitorPlan& plan);

}  // namespace bf_aot::reach
