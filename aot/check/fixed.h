#pragma once

#include "aot/check/exact.h"

// Numbers with 80 binary places, and bounds of functions of them, by integers alone. The proofs are
// in docs/proofs/certificates.md.

namespace bf_check {

constexpr unsigned kPlaces = 80;
constexpr i128 kOne = static_cast<i128>(1) << kPlaces;

// floor(a b 2^-shift), and floor(a 2^shift / b) for b > 0; 2 <= shift < 128, |a|, |b| < 2^127.
// Throw NotProven: a result of 2^126 or more.
i128 product(i128 a, i128 b, unsigned shift = kPlaces);
i128 quotient(i128 a, i128 b, unsigned shift = kPlaces);

// Throws NotProven where |x| >= 2^126, that is, 2^46.
i128 in_fixed(i128 x);

// A number's bounds, in 2^-80.
struct Range {
  i128 low = 0, high = 0;

  bool operator==(const Range& other) const { return low == other.low && high == other.high; }
};

Range fixed(const Rat& x);
Range operator-(const Range& x);
Range operator+(const Range& x, const Range& y);
inline Range operator-(const Range& x, const Range& y) {
  return x + -y;
}
Range operator*(const Range& x, const Range& y);
Range hull(const Range& x, const Range& y);
Range squared(const Range& x);  // of one number in x

// Bounds of functions at one number in 2^-80. Throw NotProven: there is no value, or it is too
// large.
Range reciprocal(i128 x);
Range exponential(i128 x);
Range square_root(i128 x);
Range error_function(i128 x);
Range sigmoid(i128 x);

// Finer bounds, in 2^-112: of log x, atan x, and sin(x + quarters pi / 2) for |x| <= 2^14.
constexpr unsigned kFine = 112;
Range logarithm(i128 x);
Range arctangent(i128 x);
Range sine(i128 x, i64 quarters);
Range narrowed(const Range& fine);  // bounds in 2^-80

// e^x for |x| <= 64 lies between low and high times 2^(power - 112).
struct Power {
  i128 low, high;
  int power;
};
Power power_of_e(i128 x);

// Bounds on an interval: of sin(x + quarters pi / 2), e^(-x^2) 2 / sqrt(pi), and 1 / x.
Range sine(const Range& x, i64 quarters);
Range bell(const Range& x);
Range reciprocal(const Range& x);

}  // namespace bf_check
