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

// A staircase as one side has it: side 1, over which no value lies, or side -1, under which none
// does. It is the staircase limited to [lowest, highest], plus `shift`.
//
// Proof. No value is above r + slack limited to [lowest, highest], r being the staircase without
// limits, which is r limited to [lowest - slack, highest - slack], plus slack. The other side is
// its mirror image. Integers and their sums are exact.
struct Stair {
  double lowest, highest, shift;
};
static inline Stair stair_of(const FunctionView& f, int side) {
  const double shift = side > 0 ? f.slack : -f.slack;
  return {f.lowest - shift, f.highest - shift, shift};
}

// The staircase without limits at a double.
static inline double step_at(const FunctionView& f, double x) {
  if (f.form == FunctionViewForm::kFloor) return floor_of(x);
  if (f.form == FunctionViewForm::kCeil) return -floor_of(-x);
  return rounded_quotient(x, f.step);
}

// Limits are below kManySteps; NaN stays.
static inline double limited(const Stair& stair, double value) {
  return value < stair.lowest ? stair.lowest : value > stair.highest ? stair.highest : value;
}

// Returns true if the staircase of either side differs between two doubles.
static inline bool has_step(const FunctionView& f, double low, double high) {
  const double m = step_at(f, low);
  const double n = step_at(f, high);
  const Stair above = stair_of(f, 1);
  const Stair below = stair_of(f, -1);
  return limited(above, m) != limited(above, n) || limited(below, m) != limited(below, n);
}

// Staircases do not decrease.
static inline FunctionRange bound_staircase(const FunctionView& f, double low, double high) {
  FunctionRange range{step_at(f, low), step_at(f, high)};
  if (f.form == FunctionViewForm::kRound) {
    // Large quotients are rounded, not integers.
    if (!(__builtin_fabs(range.low) < kManySteps)) range.low = next_down(range.low) - 1;
    if (!(__builtin_fabs(range.high) < kManySteps)) range.high = next_up(range.high) + 1;
  }
  const Stair below = stair_of(f, -1);
  const Stair above = stair_of(f, 1);
  return {limited(below, range.low) + below.shift, limited(above, range.high) + above.shift};
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

// Holds what a line over one side of a staircase on [low, high] has to pass: the values m < n at
// the ends, and the first and the last jump between them, rounded towards the line's side.
struct StairEnds {
  double low, high;
  double m, n;
  double first, last;
  double shift;
  bool bent;  // m < n, and both count steps exactly
};
static inline StairEnds stair_ends(const FunctionView& f, double low, double high, int side) {
  const Stair stair = stair_of(f, side);
  StairEnds ends{
      low,         high, limited(stair, step_at(f, low)), limited(stair, step_at(f, high)), 0, 0,
      stair.shift, false};
  ends.bent =
      __builtin_fabs(ends.m) < kManySteps && __builtin_fabs(ends.n) < kManySteps && ends.m < ends.n;
  if (!ends.bent) return ends;
  ends.first = side > 0 ? jump_down(f, ends.m + 1) : jump_up(f, ends.m + 1);
  ends.last = side > 0 ? jump_down(f, ends.n) : jump_up(f, ends.n);
  return ends;
}

// The lowest line of slope s >= 0 over f (side 1), or of slope -s over -f (side -1).
//
// Proof. f - s x does not increase within a step, so that its supremum is taken at (low, m) or
// right after a jump, (J(k), k) for k = m + 1..n, and its infimum at (high, n) or right before one,
// (J(k), k - 1). J is affine in k, so among the jumps the first or the last one decides. Rounding J
// down for the former and up for the latter is outward. Limits only make the first and the last
// step longer.
static inline FunctionLine stair_line(const StairEnds& ends, double centre, int side, float s) {
  const double sd = static_cast<double>(s);
  const auto higher = [](double a, double b, double c) {
    const double top = a > b ? a : b;
    return top > c ? top : c;
  };
  if (side > 0) {
    const double top = higher(minus_line(ends.m + ends.shift, sd, ends.low, centre),
                              minus_line(ends.m + 1 + ends.shift, sd, ends.first, centre),
                              minus_line(ends.n + ends.shift, sd, ends.last, centre));
    return {s, top};
  }
  const double top = higher(minus_line(-(ends.n + ends.shift), -sd, ends.high, centre),
                            minus_line(-(ends.m + ends.shift), -sd, ends.first, centre),
                            minus_line(-(ends.n - 1 + ends.shift), -sd, ends.last, centre));
  return {-s, top};
}

// The slope of the staircase's hull at a point. From above the hull goes from (low, m) to the first
// jump, along the jumps, and is flat behind the last one; where the first step is longer than the
// others it goes from (low, m) to the last jump at once. From below it is that mirrored.
static inline double stair_slope(const StairEnds& ends, double step, int side, double point) {
  const double rise = ends.n - ends.m;
  if (side > 0) {
    if (point >= ends.last) return 0;
    if (ends.first - ends.low > step) return rise / (ends.last - ends.low);
    return point < ends.first ? 1 / (ends.first - ends.low) : 1 / step;
  }
  if (point <= ends.first) return 0;
  if (ends.high - ends.last > step) return rise / (ends.high - ends.first);
  return point > ends.last ? 1 / (ends.high - ends.last) : 1 / step;
}

// The line over f (side 1), or over -f (side -1), over [low, high]: the one that is best at the
// point that divides the interval as `share` does. `constant` bounds f, or -f.
static inline FunctionLine line_over_steps(const FunctionView& f, const FunctionEnds& ends,
                                           double centre, int side, double constant,
                                           double share = 0.5) {
  const FunctionLine flat{0, constant};
  const StairEnds stair = stair_ends(f, ends.low, ends.high, side);
  if (!stair.bent) return flat;
  const double step = f.form == FunctionViewForm::kRound ? f.step : 1;
  const double point = (1 - share) * ends.low + share * ends.high;
  const float s = nearest_float(stair_slope(stair, step, side, point));
  if (!(s > 0 && s <= kMaxSlope)) return flat;
  return stair_line(stair, centre, side, s);
}

// The lowest line over f (side 1), or over -f (side -1), of this slope, or one of slope 0.
static inline FunctionLine steps_of_slope(const FunctionView& f, const FunctionEnds& ends,
                                          double centre, int side, double constant, float slope) {
  const StairEnds stair = stair_ends(f, ends.low, ends.high, side);
  const float s = side > 0 ? slope : -slope;
  if (!stair.bent || !(s > 0 && s <= kMaxSlope)) return {0, constant};
  return stair_line(stair, centre, side, s);
}

}  // namespace bf
