#pragma once

#include <optional>
#include <vector>

#include "frontend/functions/function.h"

namespace bf_aot {

// A part of a function between two of its breaks.
struct Branch {
  bool smooth = false;  // as the formula of its kind says; else the line intercept + slope x
  double intercept = 0, slope = 0;
};

// The breaks of a function, rising, and its branches: one more.
struct Branches {
  std::vector<double> breaks;
  std::vector<Branch> branches;
  // Its values at the breaks, where it jumps there; empty: it is continuous.
  std::vector<double> at;
};

// Nothing for functions that no composite function has: those of restricted domain, of steps
// without end, and those that come near no line.
std::optional<Branches> branches_of(const Function& f);

}  // namespace bf_aot
