#pragma once

#include "bf/core/rounding.h"

// Ranges of real numbers, for the tubes of closed loops. Proof: docs/proofs/closed-loops.md. A
// compiler may fuse products into sums everywhere in this folder: where a proof needs it, it says
// so.

namespace bf::loops {

#define BF_MEMBER __attribute__((always_inline)) inline

static inline double lesser(double a, double b) {
  return b < a ? b : a;
}
static inline double larger(double a, double b) {
  return a < b ? b : a;
}
static inline double size_of(double x) {
  return __builtin_fabs(x);
}
static inline bool is_number(double x) {
  return x == x;
}
static inline bool is_finite(double x) {
  return size_of(x) <= 0x1.fffffffffffffp+1023;
}

// The real numbers from low to high. Every operation encloses all exact results: each end is
// rounded to nearest and moved one double outward. What is undefined somewhere, and NaN, gives
// everything.
struct Range {
  double low = 0, high = 0;

  BF_MEMBER friend bool operator==(const Range& a, const Range& b) {
    return a.low == b.low && a.high == b.high;
  }
  BF_MEMBER bool contains(double x) const { return low <= x && x <= high; }
  BF_MEMBER bool contains(const Range& other) const {
    return low <= other.low && other.high <= high;
  }
  BF_MEMBER bool is_finite() const { return loops::is_finite(low) && loops::is_finite(high); }
  // A double in it, near its middle where it is finite.
  BF_MEMBER double middle() const {
    const double between = low / 2 + high / 2;
    return between < low ? low : high < between ? high : between;
  }
};

static constexpr Range kEverything = {-__builtin_inf(), __builtin_inf()};

// Ends as they were rounded to nearest. Nothing is claimed from NaN.
static inline Range outward(double low, double high) {
  if (!(low <= high)) return kEverything;
  return {next_down(low), next_up(high)};
}

// The numbers within `error` of a value.
static inline Range range_about(double value, double error) {
  return error == 0 ? Range{value, value} : outward(value - error, value + error);
}

static inline Range operator-(const Range& a) {
  return {-a.high, -a.low};
}
// A sum of doubles is rounded to 0 only where it is 0: such an end stays, and with it what is known
// of signs. No end is a product that a compiler could fuse with the sum.
static inline Range operator+(const Range& a, const Range& b) {
  const double low = a.low + b.low, high = a.high + b.high;
  if (!(low <= high)) return kEverything;
  return {low == 0 ? 0 : next_down(low), high == 0 ? 0 : next_up(high)};
}
static inline Range operator-(const Range& a, const Range& b) {
  return a + -b;
}

// Encloses numbers between the least and the largest of four, of which NaN claims nothing.
static inline bool ends_of(const double (&four)[4], Range& ends) {
  ends = {four[0], four[0]};
  for (const double each : four) {
    if (!is_number(each)) return false;
    ends = {lesser(ends.low, each), larger(ends.high, each)};
  }
  return true;
}

static inline Range operator*(const Range& a, const Range& b) {
  Range ends;
  if (!ends_of({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}, ends))
    return kEverything;
  if (ends.low == 0 && ends.high == 0 &&
      ((a.low == 0 && a.high == 0) || (b.low == 0 && b.high == 0)))
    return {0, 0};
  return outward(ends.low, ends.high);
}

static inline Range operator/(const Range& a, const Range& b) {
  if (b.low <= 0 && b.high >= 0) return kEverything;
  Range ends;
  if (!ends_of({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high}, ends))
    return kEverything;
  return a.low == 0 && a.high == 0 ? Range{0, 0} : outward(ends.low, ends.high);
}

static inline Range hull(const Range& a, const Range& b) {
  return {lesser(a.low, b.low), larger(a.high, b.high)};
}
// Requires that some number lies in both.
static inline Range meet(const Range& a, const Range& b) {
  return {larger(a.low, b.low), lesser(a.high, b.high)};
}

// >= |x| for all x of the range.
static inline double magnitude(const Range& a) {
  return larger(size_of(a.low), size_of(a.high));
}
// >= the distance of any two of its numbers.
static inline double width(const Range& a) {
  return next_up(a.high - a.low);
}

static inline Range square(const Range& a) {
  const double most = magnitude(a);
  const double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
  if (!is_number(most)) return kEverything;
  const double low = least * least;
  return {low == 0 ? 0 : next_down(low), most == 0 ? 0 : next_up(most * most)};
}

// x^n, 1 <= n <= 64.
static inline Range power(const Range& x, int n) {
  if (n == 1) return x;
  const Range half = square(power(x, n / 2));
  return n % 2 == 0 ? half : x * half;
}

static inline Range larger(const Range& a, const Range& b) {
  return {larger(a.low, b.low), larger(a.high, b.high)};
}

}  // namespace bf::loops
