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

// Asks the row of function_facts.cpp. Has nothing for functions that no composite function has:
// those of restricted domain, of steps without end, and those that come near no line.
std::optional<Branches> branches_of(const Function& f);

// The column of function_facts.cpp.
namespace branches {

std::optional<Branches> none(const Function& f);
std::optional<Branches> smooth(const Function& f);  // one branch
std::optional<Branches> leaky_relu(const Function& f);
std::optional<Branches> abs(const Function& f);
std::optional<Branches> clip(const Function& f);
std::optional<Branches> thresholded_relu(const Function& f);
std::optional<Branches> shrink(const Function& f);
std::optional<Branches> sign(const Function& f);
std::optional<Branches> step(const Function& f);
std::optional<Branches> step_at(const Function& f);
std::optional<Branches> is_zero(const Function& f);
std::optional<Branches> elu(const Function& f);
std::optional<Branches> celu(const Function& f);
std::optional<Branches> selu(const Function& f);
std::optional<Branches> hard_swish(const Function& f);

}  // namespace branches
}  // namespace bf_aot
