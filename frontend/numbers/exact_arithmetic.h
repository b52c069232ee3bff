#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

// Double arithmetic that knows what it lost.
//
// All proofs assume IEEE binary64, round to nearest, and no contraction of a * b + c into an FMA
// that is not written as one (bf_frontend is compiled with -ffp-contract=off).
// Overflow is not an error here: it ends as an infinite or NaN value or error, which whoever keeps
// the result must reject (ConstantBuilder does).

#if defined(__FAST_MATH__)
#error "error bounds need IEEE arithmetic: compile without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "error bounds need arithmetic that is rounded to double");

namespace bf_aot {

// A real number r with |r - value| <= error.
struct Bounded {
  double value = 0;
  double error = 0;

  bool operator==(const Bounded&) const = default;
};

// The smallest double above x, for x >= 0; infinity and NaN stay.
inline double next_up(double x) {
  if (!(x < INFINITY)) return x;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x + 0.0) + 1);  // + 0.0: -0 is 0
}

struct DoublePair {
  double high, low;
};

// high + low = a + b exactly, high = round(a + b).
// Knuth's TwoSum; without overflow the error of an addition is a double, whatever the exponents
// (subnormal sums are exact).
inline DoublePair two_sum(double a, double b) {
  const double high = a + b;
  const double b_part = high - a;
  const double a_part = high - b_part;
  return {high, (a - a_part) + (b - b_part)};
}

// >= a + b, for a, b >= 0. Equal where the sum is a double: else at most one step above it.
inline double add_up(double a, double b) {
  const DoublePair sum = two_sum(a, b);
  return sum.low > 0 ? next_up(sum.high) : sum.high;
}

// >= a b, for a, b >= 0. The product rounded to nearest is less than one step below a b.
inline double mul_up(double a, double b) {
  return a == 0 || b == 0 ? 0 : next_up(a * b);
}

// >= a / b, for a >= 0, b > 0.
inline double div_up(double a, double b) {
  return a == 0 ? 0 : next_up(a / b);
}

// A sum of doubles and products of two doubles, with the accuracy of twice the precision
// (compensated as Ogita, Rump and Oishi's Dot2) and a bound of what is lost even then.
//
// Invariant: |exact sum - (high_ + low_)| <= error_. Each two_sum moves the rounding error of high_
// to low_, and that of low_ to error_, which is summed upwards.
class Sum {
 public:
  void add(double x) {
    const DoublePair sum = two_sum(high_, x);
    high_ = sum.high;
    add_low(sum.low);
  }

  // For |p| >= 2^-960 the error of p = round(a b) is the double fma(a, b, -p): it is a multiple of
  // ulp(a) ulp(b) > |a b| 2^-106 >= 2^-1068, so it cannot be lost below 2^-1074, and it is at most
  // ulp(p) / 2, so that it needs no more than 53 bits.
  void add_product(double a, double b) {
    if (a == 0 || b == 0) return;
    const double product = a * b;
    add(product);
    if (std::fabs(product) >= 0x1p-960) {
      add_low(std::fma(a, b, -product));
    } else {
      add_error(small_product_error(a, b, product));
    }
  }

  void add_error(double error) { error_ = add_up(error_, error); }

  void add(const Bounded& x) {
    add(x.value);
    add_error(x.error);
  }

  // |(a + d)(b + e) - a b| <= |a| |e| + |b| |d| + |d| |e|.
  void add_product(const Bounded& a, const Bounded& b) {
    add_product(a.value, b.value);
    if (a.error == 0 && b.error == 0) return;
    add_error(mul_up(std::fabs(a.value), b.error));
    add_error(mul_up(std::fabs(b.value), a.error));
    add_error(mul_up(a.error, b.error));
  }

  Bounded result() const {
    const DoublePair sum = two_sum(high_, low_);
    return {sum.high, add_up(error_, std::fabs(sum.low))};
  }

 private:
  void add_low(double x) {
    if (x == 0) return;
    const DoublePair sum = two_sum(low_, x);
    low_ = sum.high;
    add_error(std::fabs(sum.low));
  }

  static double small_product_error(double a, double b, double product);

  double high_ = 0;
  double low_ = 0;
  double error_ = 0;
};

inline Bounded add(const Bounded& a, const Bounded& b) {
  Sum sum;
  sum.add(a);
  sum.add(b);
  return sum.result();
}

inline Bounded negate(const Bounded& a) {
  return {0 - a.value, a.error};
}

inline Bounded multiply(const Bounded& a, const Bounded& b) {
  Sum sum;
  sum.add_product(a, b);
  return sum.result();
}

// False when b may be zero: there is no bound for a / b.
inline bool can_divide_by(const Bounded& b) {
  return std::fabs(b.value) > b.error;
}

// a / b; can_divide_by(b).
Bounded divide(const Bounded& a, const Bounded& b);

// max(a, 0): its slope is at most 1, so the error does not grow.
Bounded relu(const Bounded& a);

}  // namespace bf_aot
