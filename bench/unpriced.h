#pragma once

#include <string>

#include "aot/loop/print.h"
#include "planner/plan.h"

namespace bf::bench {

// The kernel's function with what soundness costs left out: no prices of roundings, no radii that
// pay for them, no look at overflow. What it computes are no bounds; it is here to be timed.
std::string print_unpriced(const Kernel& kernel, loop::Needs& needs);

// Whether the two differ.
bool has_prices(const Kernel& kernel);

}  // namespace bf::bench
