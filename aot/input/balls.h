#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "aot/input/directed.h"

// Balls that decimals and doubles name, in boxes of floats: docs/proofs/balls.md.

namespace bf_aot::input {

// One input of a box around a ball: half its width, and how far its centre may be from the ball's.
struct BallInput {
  double half = 0, off = 0;
};

// Returns true if a ball lies in that of widened inputs: in the metric of those, the ball is at
// most the largest half / widened half, and its centre is off by less than `norms` times the
// largest off / widened half.
inline bool holds_ball(std::span<const BallInput> ball, std::span<const BallInput> widened,
                       double norms) {
  double size = 0, off = 0;
  for (std::size_t k = 0; k < ball.size(); ++k) {
    if (ball[k].half == 0) continue;
    size = std::max(size, ball[k].half / widened[k].half);
    off = std::max(off, (ball[k].off + widened[k].off) / widened[k].half);
  }
  return size + norms * off <= 1 - 0x1p-40;
}

// The largest step between floats of at most twice the magnitude of the larger end: twice what a
// rounding of an end moves it, which leaves more than middle_of() rounds.
inline double step_around(float low, float high) {
  const float largest = 2 * std::max(std::fabs(low), std::fabs(high));
  return static_cast<double>(std::nextafter(largest, INFINITY)) - static_cast<double>(largest);
}

// The centre and half width of ends that are finite, but for a rounding of each.
inline double middle_of(float low, float high) {
  return static_cast<double>(low) / 2 + static_cast<double>(high) / 2;
}
inline double half_width(float low, float high) {
  return static_cast<double>(high) / 2 - static_cast<double>(low) / 2;
}

// Each end of a box was rounded outward by less than a step between floats, which moves the box's
// centre: its ellipsoid (`cross`: its cross-polytope) need not hold that of the box as it was.
// Widens the box until it does: every input by one share of itself, and those whose step is more
// than that by a multiple of their step alone. Ends beyond the floats become infinite. Inputs of
// width 0 are exact and stay.
inline void widen_for_ball(std::span<float> lower, std::span<float> upper, bool cross) {
  const auto inputs = static_cast<double>(lower.size());
  const double norms = cross ? inputs : std::sqrt(inputs) * (1 + 0x1p-50);
  std::vector<BallInput> ball(lower.size()), widened(lower.size());
  double worst = 0, steps = 0, halves = 0;
  for (std::size_t k = 0; k < lower.size(); ++k) {
    if (!(lower[k] < upper[k])) continue;
    ball[k] = {half_width(lower[k], upper[k]), step_around(lower[k], upper[k])};
    worst = std::max(worst, 2 * ball[k].off / ball[k].half);
    steps += 2 * ball[k].off;
    halves += ball[k].half;
  }
  if (halves == 0) return;
  const std::vector<float> low(lower.begin(), lower.end()), high(upper.begin(), upper.end());
  double share = std::min(norms * worst, std::sqrt(norms * steps / halves)) * (1 + 0x1p-30);
  for (int tries = 0; tries < 100; ++tries, share *= 2) {
    bool finite = true;
    for (std::size_t k = 0; k < lower.size(); ++k) {
      if (ball[k].half == 0) continue;
      const double wanted =
          std::max(ball[k].half * (1 + share), 2 * ball[k].off * norms * (1 + share) / share);
      const double by = (wanted - ball[k].half) * (1 + 0x1p-40);
      lower[k] = to_float(sum(static_cast<double>(low[k]), -by, false), false);
      upper[k] = to_float(sum(static_cast<double>(high[k]), by, true), true);
      const double moved = middle_of(lower[k], upper[k]) - middle_of(low[k], high[k]);
      widened[k] = {half_width(lower[k], upper[k]), std::fabs(moved)};
      finite = finite && std::isfinite(lower[k]) && std::isfinite(upper[k]);
    }
    if (!finite || holds_ball(ball, widened, norms)) return;
  }
  std::ranges::fill(lower, -INFINITY);
  std::ranges::fill(upper, INFINITY);
}

}  // namespace bf_aot::input
