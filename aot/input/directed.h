#pragma once

#include <cmath>

#include "frontend/numbers/exact_arithmetic.h"

// Directed rounding: the number on the side of `up` of the exact result that is next to it, or the
// result itself where it is a number. NaN and what overflows stay as they are.

namespace bf_aot::input {

inline double step(double x, bool up) {
  return std::nextafter(x, up ? INFINITY : -INFINITY);
}

inline double sum(double a, double b, bool up) {
  const DoublePair pair = two_sum(a, b);
  if (!std::isfinite(pair.high)) return pair.high;
  return (up ? pair.low > 0 : pair.low < 0) ? step(pair.high, up) : pair.high;
}

// The product a b. Proof: fma gives its error, which is a double where it cannot underflow;
// elsewhere a step is always taken, except from an exact zero.
inline double product(double a, double b, bool up) {
  const double nearest = a * b;
  if (!std::isfinite(nearest)) return nearest;
  if (std::fabs(nearest) < 0x1p-900) return a == 0 || b == 0 ? 0.0 : step(nearest, up);
  const double error = std::fma(a, b, -nearest);
  return (up ? error > 0 : error < 0) ? step(nearest, up) : nearest;
}

// The quotient a / b, with b > 0. Proof: fma gives the residual a - quotient b, which has the sign
// of the error. It is a double where it cannot underflow; elsewhere a step is always taken, except
// from an exact zero.
inline double quotient(double a, double b, bool up) {
  const double nearest = a / b;
  if (!std::isfinite(nearest)) return nearest;
  if (std::fabs(a) < 0x1p-900 || std::fabs(nearest) < 0x1p-900)
    return a == 0 ? nearest : step(nearest, up);
  const double error = std::fma(-nearest, b, a);
  return (up ? error > 0 : error < 0) ? step(nearest, up) : nearest;
}

inline float to_float(double x, bool up) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  if (up ? back < x : back > x) return std::nextafter(nearest, up ? INFINITY : -INFINITY);
  return nearest;
}

}  // namespace bf_aot::input
