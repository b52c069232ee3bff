#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "aot/input/directed.h"

// Balls that decimals and doubles name, in boxes of floats: docs/proofs/balls.md.

namespace bf_aot::input {

// Each end of a box was rounded outward by less than a step between floats, which moves the box's
// centre: its ellipsoid (`cross`: its cross-polytope) need not hold that of the box as it was.
// Widens the box until it does. Ends beyond the floats become infinite. Inputs of width 0 are exact
// and stay.
inline void widen_for_ball(std::span<float> lower, std::span<float> upper, bool cross) {
  // The largest step between floats of at most twice the magnitude of the larger end.
  const auto step_at = [](float low, float high) {
    const float largest = 2 * std::max(std::fabs(low), std::fabs(high));
    return static_cast<double>(std::nextafter(largest, INFINITY)) - static_cast<double>(largest);
  };
  const auto half_width = [](float low, float high) {
    return (static_cast<double>(high) - static_cast<double>(low)) / 2;
  };
  const auto inputs = static_cast<double>(lower.size());
  const double norms = cross ? inputs : std::sqrt(inputs) * (1 + 0x1p-50);
  double share = 0;
  for (std::size_t k = 0; k < lower.size(); ++k)
    if (lower[k] < upper[k])
      share = std::max(share, step_at(lower[k], upper[k]) / half_width(lower[k], upper[k]));
  const double more = 2 * norms * share * (1 + 0x1p-40);
  for (std::size_t k = 0; k < lower.size(); ++k) {
    if (!(lower[k] < upper[k])) continue;
    const double by = more * half_width(lower[k], upper[k]);
    lower[k] = to_float(sum(static_cast<double>(lower[k]), -by, false), false);
    upper[k] = to_float(sum(static_cast<double>(upper[k]), by, true), true);
  }
}

}  // namespace bf_aot::input
