#pragma once

#include <gmpxx.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/config.h"

// The ball of a norm in a case's box, where a property is about it: docs/proofs/balls.md.

namespace bf_aot::decide {

// Returns whether a point lies in the ball of the case's exact box, proven; false may mean that
// roundings leave it open. x: in the exact box.
bool lies_in_ball(const PropertyCase& one, Norm norm, const std::vector<mpq_class>& x);

// Moves a point of a box towards its centre until it lies in the ball, but for roundings. at(i):
// element i, by reference; lower, upper: the box's ends. Leaves points of boxes alone.
template <class Ends, class At>
void move_into_ball(Norm norm, const Ends& lower, const Ends& upper, const At& at) {
  constexpr double kInside = 1 - 0x1p-20;
  if (norm == Norm::kLargest) return;
  const auto middle = [&](std::size_t i) {
    return static_cast<double>(lower[i]) / 2 + static_cast<double>(upper[i]) / 2;
  };
  double sum = 0;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (!(lower[i] < upper[i])) continue;
    const double half = static_cast<double>(upper[i]) / 2 - static_cast<double>(lower[i]) / 2;
    const double part = std::fabs((static_cast<double>(at(i)) - middle(i)) / half);
    sum += norm == Norm::kEuclid ? part * part : part;
  }
  const double distance = norm == Norm::kEuclid ? std::sqrt(sum) : sum;
  if (!(distance > kInside)) return;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    auto& x = at(i);
    const double moved = middle(i) + (static_cast<double>(x) - middle(i)) * (kInside / distance);
    if (lower[i] < upper[i]) x = static_cast<std::remove_reference_t<decltype(x)>>(moved);
  }
}

}  // namespace bf_aot::decide
