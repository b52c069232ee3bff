#pragma once

#include "bf/core/rounding.h"

// Exponentials and logarithms in double with proven errors, for layers that are made of both. Other
// functions have tables. Proof: docs/proofs/log-softmax.md, "Exponentials and logarithms".

namespace bf {

// What exp_near() and log_near() may miss, relative to their results.
constexpr double kExponentialError = 0x1p-47;

// The largest |x| of exp_near().
constexpr double kMostExponent = 690;

// e^x up to kExponentialError, |x| <= kMostExponent; e^0 is 1.
static inline double exp_near(double x) {
  constexpr double kPerLog2 = 1.4426950408889634;
  // ln 2 in two parts, the first of 32 bits: its products with k are exact.
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  const int k = static_cast<int>(x * kPerLog2 + (x < 0 ? -0.5 : 0.5));
  const double count = k;
  const double r = (x - count * kHigh) - count * kLow;
  double sum = 1.0 / 6227020800;  // 1 / 13!
  constexpr double kInverse[] = {1.0 / 479001600,
                                 1.0 / 39916800,
                                 1.0 / 3628800,
                                 1.0 / 362880,
                                 1.0 / 40320,
                                 1.0 / 5040,
                                 1.0 / 720,
                                 1.0 / 120,
                                 1.0 / 24,
                                 1.0 / 6,
                                 0.5,
                                 1,
                                 1};
  for (const double inverse : kInverse) sum = sum * r + inverse;
  const std::uint64_t bits = static_cast<std::uint64_t>(k + 1023) << 52;
  double scale;
  __builtin_memcpy(&scale, &bits, sizeof scale);
  return sum * scale;
}

// ln x up to kExponentialError, x > 0 finite and normal; ln 1 is 0.
static inline double log_near(double x) {
  constexpr double kLog2 = 0.6931471805599453, kHalfRoot = 1.4142135623730951;
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffu) | std::uint64_t{1023} << 52;
  double m;
  __builtin_memcpy(&m, &bits, sizeof m);
  if (m > kHalfRoot) {
    m *= 0.5;
    ++exponent;
  }
  const double f = (m - 1) / (m + 1);
  const double s = f * f;
  constexpr double kInverse[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1};
  double sum = 1.0 / 21;
  for (const double inverse : kInverse) sum = sum * s + inverse;
  return exponent * kLog2 + 2 * f * sum;
}

// Bounds of e^x, x <= kMostExponent. Far below zero they are 0 and 2^-990.
static inline double exp_up(double x) {
  if (x < -kMostExponent) return 0x1p-990;
  return x == 0 ? 1 : exp_near(x) * (1 + 2 * kExponentialError);
}
static inline double exp_down(double x) {
  if (x < -kMostExponent) return 0;
  return x == 0 ? 1 : exp_near(x) * (1 - 2 * kExponentialError);
}

// Bounds of ln x, x > 0 finite and normal.
static inline double log_up(double x) {
  const double y = log_near(x);
  return y + __builtin_fabs(y) * (2 * kExponentialError);
}
static inline double log_down(double x) {
  const double y = log_near(x);
  return y - __builtin_fabs(y) * (2 * kExponentialError);
}

}  // namespace bf
