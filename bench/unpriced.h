#pragma once

#include <string>

#include "aot/emit/loop/print/print.h"
#include "planner/plan/plan.h"

namespace bf_aot::bench {

// Prints the kernel's function without what soundness costs: no radii that pay for roundings, no
// look at overflow. Its results are no bounds; it is there to be timed.
std::string print_unpriced(const Kernel& kernel, loop::Needs& needs);

// Returns whether the kernel and its unpriced form differ. Backward kernels do not: their roundings
// are paid for by offsets, which relax() makes.
bool has_prices(const Kernel& kernel);

}  // namespace bf_aot::bench
