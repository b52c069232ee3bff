#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/functions/function.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot::reach {

// The real numbers from low to high. Every operation encloses all exact results: each end is
// rounded to nearest and moved one double outward. What is undefined somewhere, and NaN, gives
// everything.
struct Range {
  double low = 0, high = 0;

  bool operator==(const Range&) const = default;
  bool contains(double x) const { return low <= x && x <= high; }
  bool contains(const Range& other) const { return low <= other.low && other.high <= high; }
  bool is_finite() const { return std::isfinite(low) && std::isfinite(high); }
  // A double in it, near its middle where it is finite.
  double middle() const { return std::clamp(low / 2 + high / 2, low, high); }
};

inline constexpr Range kEverything = {-std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::infinity()};

// Ends as they were rounded to nearest. Nothing is claimed from NaN.
inline Range outward(double low, double high) {
  if (!(low <= high)) return kEverything;
  return {bf::next_down(low), bf::next_up(high)};
}

inline Range range_of(const Bounded& x) {
  return x.error == 0 ? Range{x.value, x.value} : outward(x.value - x.error, x.value + x.error);
}

inline Range operator-(const Range& a) {
  return {-a.high, -a.low};
}
// A sum of doubles is rounded to 0 only where it is 0: such an end stays, and with it what is known
// of signs.
inline Range operator+(const Range& a, const Range& b) {
  const double low = a.low + b.low, high = a.high + b.high;
  if (!(low <= high)) return kEverything;
  return {low == 0 ? 0 : bf::next_down(low), high == 0 ? 0 : bf::next_up(high)};
}
inline Range operator-(const Range& a, const Range& b) {
  return a + -b;
}
Range operator*(const Range& a, const Range& b);
Range operator/(const Range& a, const Range& b);
Range square(const Range& a);

inline Range hull(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}
// Requires that some number lies in both.
inline Range meet(const Range& a, const Range& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

// >= |x| for all x of the range.
inline double magnitude(const Range& a) {
  return std::max(std::fabs(a.low), std::fabs(a.high));
}
// >= the distance of any two of its numbers.
inline double width(const Range& a) {
  return bf::next_up(a.high - a.low);
}

// All values of an elementwise function on x; everything where x leaves its domain.
Range apply(const Function& f, const Range& x);

// Arithmetic of Range for scalar programs.
struct RangeArithmetic {
  static Range constant(const Bounded& x) { return range_of(x); }
  static Range add(const Range& a, const Range& b) { return a + b; }
  static Range subtract(const Range& a, const Range& b) { return a - b; }
  static Range multiply(const Range& a, const Range& b) { return a * b; }
  static Range square(const Range& a) { return reach::square(a); }
  static Range divide(const Range& a, const Range& b) { return a / b; }
  static Range relu(const Range& a) { return {std::max(a.low, 0.0), std::max(a.high, 0.0)}; }
  static Range larger(const Range& a, const Range& b) {
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  static Range apply(const Function& f, const Range& x) { return reach::apply(f, x); }
  static Range times(const Range& a, double exact) { return a * Range{exact, exact}; }
  static Range over(const Range& a, double exact) { return a / Range{exact, exact}; }
};

}  // namespace bf_aot::reach
