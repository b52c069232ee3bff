#pragma once

#include <string>

#include "aot/emit/loop/print/print.h"
#include "planner/plan/plan.h"

namespace bf_aot::bench {

// The kernel's function with what soundness costs left out: no radii that pay for roundings, no
// look at overflow. What it computes are no bounds; it is here to be timed.
std::string print_unpriced(const Kernel& kernel, loop::Needs& needs);

// Whether the two differ. Those of backward kernels do not: offsets pay, which relax() makes.
bool has_prices(const Kernel& kernel);

}  // namespace bf_aot::bench
