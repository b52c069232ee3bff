#pragma once

#include "bf/contract/chains.h"
#include "bf/functions/function_lines.h"
#include "bf/functions/function_table.h"

// Floor, ceiling and rounding: staircases with a step of height 1 at J(k), from k - 1 to k, for
// every integer k:  floor: J(k) = k,  ceil: J(k) = k - 1,  round: J(k) = (k - 1/2) step.

namespace bf {

static inline bool is_staircase(const FunctionView& f) {
  return f.form == FunctionViewForm::kFloor || f.form == FunctionViewForm::kCeil ||
         f.form == FunctionViewForm::kRound;
}

static inline double floor_of(double x) {
  if (!(__builtin_fabs(x) < 0x1p52)) return x;  // an integer, inf or NaN
  const double cut = static_cast<double>(static_cast<std::int64_t>(x));
  return cut > x ? cut - 1 : cut;
}

// The leading 26 bits.
static inline double leading_half(double x) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  bits &= ~std::uint64_t{0x7ffffff};
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// The sign of x - n step / 2 for an odd integer n, |n| < 2^52, decided exactly.
//
// Proof. Beyond the bounds of P = n step it is plain. Between them |R| <= 2^-50 |P| for R = 2 x -
// P. n and step are split into 26 leading bits and at most 26 and 27 more, so that all four
// products are exact (and contracting them changes nothing; 2^-500 < step < 2^500 keeps them
// normal). The first difference is exact since its operands are within a factor 2 of each other
// (Sterbenz). The second and the third are multiples of 2^-78 of P's binade and below 2^-24 of it:
// exact. So the last one has R's sign, rounded or not.
static inline double compare_to_half_steps(double x, double n, double step) {
  const double twice = 2 * x;
  if (twice > mul_up(n, step)) return 1;
  if (twice < mul_down(n, step)) return -1;
  const double n_high = leading_half(n);
  const double n_low = n - n_high;
  const double step_high = leading_half(step);
  const double step_low = step - step_high;
  return ((twice - n_high * step_high) - n_high * step_low - n_low * step_high) - n_low * step_low;
}

// x / step to the nearest integer, ties to even. Exact below kManySteps.
static inline double rounded_quotient(double x, double step) {
  const double quotient = x / step;
  if (!(__builtin_fabs(quotient) < kManySteps)) return quotient;
  double n = floor_of(quotient + 0.5);  // right, or next to it
  for (int i = 0; i < 2; ++i) {
    const double above = compare_to_half_steps(x, 2 * n + 1, step);
    const double below = compare_to_half_steps(x, 2 * n - 1, step);
    const bool odd = n != 2 * floor_of(0.5 * n);
    if (above > 0 || (above == 0 && odd)) {
      n += 1;
    } else if (below < 0 || (below == 0 && odd)) {
      n -= 1;
    }
  }
  return n;
}

// f at a double.
static inline double stair_at(const FunctionView& f, double x) {
  if (f.form == FunctionViewForm::kFloor) return floor_of(x);
  if (f.form == FunctionViewForm::kCeil) return -floor_of(-x);
  return rounded_quotient(x, f.step);
}

// Staircases do not decrease.
static inline FunctionRange bound_staircase(const FunctionView& f, double low, double high) {
  FunctionRange range{stair_at(f, low), stair_at(f, high)};
  if (f.form == FunctionViewForm::kRound) {
    // Large quotients are rounded, not integers.
    if (!(__builtin_fabs(range.low) < kManySteps)) range.low = next_down(range.low) - 1;
    if (!(__builtin_fabs(range.high) < kManySteps)) range.high = next_up(range.high) + 1;
  }
  return range;
}

// J(k), rounded down or up.
static inline double jump_down(const FunctionView& f, double k) {
  if (f.form == FunctionViewForm::kFloor) return k;
  if (f.form == FunctionViewForm::kCeil) return k - 1;
  return mul_down(k - 0.5, f.step);
}
static inline double jump_up(const FunctionView& f, double k) {
  if (f.form == FunctionViewForm::kFloor) return k;
  if (f.form == FunctionViewForm::kCeil) return k - 1;
  return mul_up(k - 0.5, f.step);
}

// The line over f (side 1), or over -f (side -1), over [low, high].
//
// Let m and n be the values at the ends, m < n, and s >= 0 the line's slope as a line above or
// below f. f - s x does not increase within a step, so that its supremum is taken at (low, m) or
// right after a jump, (J(k), k) for k = m + 1..n, and its infimum at (high, n) or right before one,
// (J(k), k - 1). J is affine in k, so among the jumps the first or the last one decides. Rounding J
// down for the former and up for the latter is outward. The slope is that of the staircase's hull
// over the middle: along the jumps, flat behind the last one (before the first one, from below), or
// from the end to the jump next to it.
static inline FunctionLine line_over_steps(const FunctionView& f, double low, double high,
                                           double centre, int side) {
  const double m = stair_at(f, low);
  const double n = stair_at(f, high);
  const FunctionRange range = bound_staircase(f, low, high);
  FunctionLine made{0, side > 0 ? range.high : -range.low};
  const bool many = !(__builtin_fabs(m) < kManySteps && __builtin_fabs(n) < kManySteps);
  if (many || !(m < n)) return made;
  const double middle = 0.5 * low + 0.5 * high;
  const double first = side > 0 ? jump_down(f, m + 1) : jump_up(f, m + 1);
  const double last = side > 0 ? jump_down(f, n) : jump_up(f, n);
  if (side > 0 ? middle >= last : middle <= first) return made;
  const double step = f.form == FunctionViewForm::kRound ? f.step : 1;
  double slope = 1 / step;
  if (side > 0 && middle < first) slope = 1 / (first - low);
  if (side < 0 && middle > last) slope = 1 / (high - last);
  const float s = nearest_float(slope);
  if (!(s > 0 && s <= 0x1p100f)) return made;
  const double sd = static_cast<double>(s);
  if (side > 0) {
    const double tops[] = {minus_line(m, sd, low, centre), minus_line(m + 1, sd, first, centre),
                           minus_line(n, sd, last, centre)};
    const double top = tops[0] > tops[1] ? tops[0] : tops[1];
    return {s, top > tops[2] ? top : tops[2]};
  }
  // -f above -s x.
  const double tops[] = {minus_line(-n, -sd, high, centre), minus_line(-m, -sd, first, centre),
                         minus_line(-(n - 1), -sd, last, centre)};
  const double top = tops[0] > tops[1] ? tops[0] : tops[1];
  return {-s, top > tops[2] ? top : tops[2]};
}

}  // namespace bf
