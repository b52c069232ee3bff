#pragma once

#include "bf/loops/range.h"

// sin, cos and e^x of doubles with proven errors, and of ranges. All sums and products are rounded
// to nearest, one after the other; where a compiler fuses a product into a sum, one rounding less
// is made.

namespace bf::loops {

// For |x| <= kMostWave: |computed - exact| <= kWaveError.
//
// Let k be the integer next to 2 x / pi, and P1 + P2 + P3 = pi / 2 - 1.1e-37 with P1 and P2 of 33
// bits. k < 2^16, so that k P1 and k P2 are exact, as is x - k P1 (both are within a factor 2, or k
// is 0). The two subtractions that follow round numbers below 0.8, and k P3 < 2^-52: so |r - (x - k
// pi / 2)| < 2^-52, and |r| < 0.7855. Taylor's polynomials of degree 17 and 16 are off by less than
// 2^-58. What their evaluation rounds is less than 4 times 2^-53: the last sum has a result of at
// most 1, and what it adds to r, or to 1, is below 0.31 and off by less than 4 times 2^-53 of that.
static constexpr double kMostWave = 1e5;
static constexpr double kWaveError = 0x1p-50;

// For |x| <= kMostPower: |computed - e^x| <= kPowerError e^x.
//
// k is the integer next to x / ln 2, L1 + L2 = ln 2 - 1.2e-26 with L1 of 32 bits: r = x - k L1 - k
// L2 is off by less than 2^-53, and |r| < 0.3467. The polynomial of degree 14 is off by less than
// 2^-62 and rounds less than 4 times 2^-53 of its value; the scaling by 2^k is exact.
static constexpr double kMostPower = 700;
static constexpr double kPowerError = 0x1p-49;

// The integer next to x, |x| < 2^51.
static inline double nearest_integer(double x) {
  return (x + 0x1.8p52) - 0x1.8p52;
}

struct Reduced {
  double r;
  int quarter;
};

static inline Reduced reduced(double x) {
  const double k = nearest_integer(x * 0x1.45f306dc9c883p-1);
  const double r =
      ((x - k * 0x1.921fb54400000p+0) - k * 0x1.0b4611a600000p-34) - k * 0x1.3198a2e037073p-69;
  return {r, static_cast<int>(k) & 3};
}

// (-1)^i / (2 i + 1)! and (-1)^i / (2 i)! for i = 1 .. 8, to nearest.
static constexpr double kOdd[] = {
    -0x1.5555555555555p-3,  0x1.1111111111111p-7,  -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,
    -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33, -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49};
static constexpr double kEven[] = {
    -0x1.0000000000000p-1,  0x1.5555555555555p-5,  -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16,
    -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29, -0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45};

// 1 / i! for i = 1 .. 14, to nearest.
static constexpr double kInverses[] = {
    0x1.0000000000000p+0,  0x1.0000000000000p-1,  0x1.5555555555555p-3,  0x1.5555555555555p-5,
    0x1.1111111111111p-7,  0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
    0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
    0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37};

// sum of factors_(i - 1) s^i.
static inline double polynomial(const double (&factors)[8], double s) {
  double sum = 0;
  for (int i = 7; i >= 0; --i) sum = sum * s + factors[i];
  return sum * s;
}

static inline double sine_of(double r) {
  return r + r * polynomial(kOdd, r * r);
}

static inline double cosine_of(double r) {
  return 1 + polynomial(kEven, r * r);
}

static inline double wave_at(const Reduced& x, int shift) {
  const int quarter = (x.quarter + shift) & 3;
  const double value = quarter % 2 == 0 ? sine_of(x.r) : cosine_of(x.r);
  return quarter < 2 ? value : -value;
}

static inline double sine(double x) {
  return wave_at(reduced(x), 0);
}

static inline double cosine(double x) {
  return wave_at(reduced(x), 1);
}

// 2^k, -1022 <= k <= 1023.
static inline double power_of_two(int k) {
  const auto bits = static_cast<std::uint64_t>(k + 1023) << 52;
  double made;
  __builtin_memcpy(&made, &bits, sizeof made);
  return made;
}

static inline double power_of_e(double x) {
  const double k = nearest_integer(x * 0x1.71547652b82fep+0);
  const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  double sum = kInverses[13];
  for (int i = 12; i >= 0; --i) sum = sum * r + kInverses[i];
  return (1 + sum * r) * power_of_two(static_cast<int>(k));
}

static constexpr double kPi = 3.14159265358979323846;
static constexpr double kMostTurns = 0x1p30;

// Returns whether an integer of the same parity as `parity` may lie in x / pi + shift. The quotient
// of a double below 2^32 by the double next to pi is off by less than 2^-19 turns, for which the
// range is made longer: a turn too many only makes the result wider.
static inline bool has_turn(const Range& x, double shift, int parity) {
  constexpr double kMiss = 0x1p-18;
  const double from = (x.low / kPi + shift - kMiss - parity) / 2;
  const double to = (x.high / kPi + shift + kMiss - parity) / 2;
  auto last = static_cast<std::int64_t>(to);
  if (static_cast<double>(last) > to) --last;  // the largest integer up to `to`
  return static_cast<double>(last) >= from;
}

// Adds the largest and the least value to a range that holds the values of sin or cos at both ends
// of x. sin has its largest value at (2 k + 1/2) pi and its least at (2 k - 1/2) pi; cos at 2 k pi
// and (2 k + 1) pi: shift is -1/2 and 0. Requires: magnitude(x) < kMostTurns.
static inline Range with_turns(Range made, const Range& x, double shift) {
  if (has_turn(x, shift, 0)) made.high = 1;
  if (has_turn(x, shift, 1)) made.low = -1;
  return made;
}

static constexpr double kShiftOfSine = -0.5, kShiftOfCosine = 0;

// sin or cos, magnitude(x) <= kMostWave.
static inline Range wave(double (*at)(double), const Range& x, double shift) {
  const double low = at(x.low), high = x.low == x.high ? low : at(x.high);
  const Range made = outward(lesser(low, high) - kWaveError, larger(low, high) + kWaveError);
  return with_turns(meet(made, {-1, 1}), x, shift);
}

// e^x, magnitude(x) <= kMostPower.
static inline Range exponential(const Range& x) {
  const double low = power_of_e(x.low), high = x.low == x.high ? low : power_of_e(x.high);
  return outward(low * (1 - 2 * kPowerError), high * (1 + 2 * kPowerError));
}

}  // namespace bf::loops
