#pragma once

// Ends of backward rows over the ellipsoid and the cross-polytope in a box: docs/proofs/balls.md.

#include <cstddef>
#include <cstdint>

#include "bf/core/rounding.h"
#include "bf/core/vectors.h"
#include "bf/sums/terms.h"

namespace bf {

// Returns at least (1 - 2^-51) sqrt(x), and hardly more, for a normal float x > 0; x itself where
// it is infinite or NaN. In exact arithmetic a step of Newton ends at the root or above it,
// wherever it begins: (y + x / y) / 2 >= sqrt(x) for all y > 0. Of the last step's roundings two
// make the result smaller, by 2^-53 each. So neither a library nor an instruction for roots is
// needed.
static inline double root_above(float x) {
  if (!(x <= 0x1.fffffep127f)) return static_cast<double>(x);
  // The exponent halved: off by 6 % at most, and by 2^-36 after three steps.
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  bits = (bits >> 1) + 0x1fc00000u;
  float first;
  __builtin_memcpy(&first, &bits, sizeof first);
  const double value = static_cast<double>(x);
  double y = static_cast<double>(first);
  for (int step = 0; step < 3; ++step) y = 0.5 * (y + value / y);
  return y;
}

// A radius of a ball, not below the normal range: there a centre may miss the box's by half of it.
static inline float ball_radius(float radius) {
  return radius > 0 && radius < 0x1p-126f ? 0x1p-126f : radius;
}

// spread_r = sqrt(sum_k (A_kr radius_k)^2), rounded up from a sum that begins with a little more
// than what products may lose to underflow. A sum that is infinite or NaN stays so.
template <int kRows>
BF_ROUTINE concretize_euclid(const float* coefficients, const float* radius, int inputs,
                             float* spread) {
  constexpr int kLanes = lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats sum[kVectors];
  const float lost = static_cast<float>(inputs) * 0x1p-120f;
  BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) sum[v] = lost - Floats{};
  for (std::ptrdiff_t k = 0; k < inputs; ++k) {
    const Floats r = ball_radius(radius[k]) - Floats{};
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      const Floats part = load_rows<Floats>(coefficients + k * kRows + v * kLanes) * r;
      sum[v] += part * part;
    }
  }
  BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) store_rows(spread + v * kLanes, sum[v]);
  for (int r = 0; r < kRows; ++r) spread[r] = float_up(root_above(spread[r]));
}

// spread_r = the largest |A_kr| radius_k; NaN where one of them is infinite or NaN.
template <int kRows>
BF_ROUTINE concretize_sum(const float* coefficients, const float* radius, int inputs,
                          float* spread) {
  constexpr int kLanes = lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats largest[kVectors] = {}, finite[kVectors] = {};
  for (std::ptrdiff_t k = 0; k < inputs; ++k) {
    const Floats r = ball_radius(radius[k]) - Floats{};
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      const Floats a = load_rows<Floats>(coefficients + k * kRows + v * kLanes);
      const Floats part = (a < Floats{} ? -a : a) * r;
      largest[v] = part > largest[v] ? part : largest[v];
      finite[v] += part * 0.0f;  // comparisons lose NaN
    }
  }
  BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
      store_rows(spread + v * kLanes, largest[v] + finite[v]);
}

}  // namespace bf
