#pragma once

#include "bf/c/function_lines.h"

// Floor, ceiling and rounding: bf/functions/function_steps.h in C99, with its proofs.

// Steps are counted exactly below: kManySteps in bf/contract/chains.h.
#define BF_MANY_STEPS 0x1p50

BF_FUNCTION bool bf_is_staircase(BF_CONSTANT const bf_function* f) {
  return f->form == BF_FORM_FLOOR || f->form == BF_FORM_CEIL || f->form == BF_FORM_ROUND;
}

BF_FUNCTION double bf_floor_of(double x) {
  if (!(bf_magnitude_double(x) < 0x1p52)) return x;
  const double cut = (double)(int64_t)x;
  return cut > x ? cut - 1.0 : cut;
}

// The leading 26 bits.
BF_FUNCTION double bf_leading_half(double x) {
  return bf_of_bits(bf_bits_of(x) & 0xfffffffff8000000u);
}

// The sign of x - n step / 2 for an odd integer n, |n| < 2^52, decided exactly.
BF_FUNCTION double bf_compare_to_half_steps(double x, double n, double step) {
  const double twice = 2.0 * x;
  if (twice > bf_mul_up(n, step)) return 1.0;
  if (twice < bf_mul_down(n, step)) return -1.0;
  const double n_high = bf_leading_half(n);
  const double n_low = n - n_high;
  const double step_high = bf_leading_half(step);
  const double step_low = step - step_high;
  return ((twice - n_high * step_high) - n_high * step_low - n_low * step_high) - n_low * step_low;
}

// x / step to the nearest integer, ties to even. Exact below BF_MANY_STEPS.
BF_FUNCTION double bf_rounded_quotient(double x, double step) {
  const double quotient = x / step;
  if (!(bf_magnitude_double(quotient) < BF_MANY_STEPS)) return quotient;
  double n = bf_floor_of(quotient + 0.5);
  for (int i = 0; i < 2; ++i) {
    const double above = bf_compare_to_half_steps(x, 2.0 * n + 1.0, step);
    const double below = bf_compare_to_half_steps(x, 2.0 * n - 1.0, step);
    const bool odd = !bf_is_equal(n, 2.0 * bf_floor_of(0.5 * n));
    if (above > 0.0 || (bf_is_zero(above) && odd)) {
      n += 1.0;
    } else if (below < 0.0 || (bf_is_zero(below) && odd)) {
      n -= 1.0;
    }
  }
  return n;
}

// A staircase as one side has it: limited to [lowest, highest], plus `shift`.
typedef struct bf_stair {
  double lowest;
  double highest;
  double shift;
} bf_stair;

BF_FUNCTION bf_stair bf_stair_of(BF_CONSTANT const bf_function* f, int side) {
  const double shift = side > 0 ? f->slack : -f->slack;
  const bf_stair made = {f->lowest - shift, f->highest - shift, shift};
  return made;
}

// The staircase without limits at a double.
BF_FUNCTION double bf_step_at(BF_CONSTANT const bf_function* f, double x) {
  if (f->form == BF_FORM_FLOOR) return bf_floor_of(x);
  if (f->form == BF_FORM_CEIL) return -bf_floor_of(-x);
  return bf_rounded_quotient(x, f->step);
}

BF_FUNCTION double bf_limited(const bf_stair* stair, double value) {
  if (value < stair->lowest) return stair->lowest;
  return value > stair->highest ? stair->highest : value;
}

// Returns true if the staircase of either side differs between two doubles.
BF_FUNCTION bool bf_has_step(BF_CONSTANT const bf_function* f, double low, double high) {
  const double m = bf_step_at(f, low);
  const double n = bf_step_at(f, high);
  const bf_stair above = bf_stair_of(f, 1);
  const bf_stair below = bf_stair_of(f, -1);
  return !bf_is_equal(bf_limited(&above, m), bf_limited(&above, n)) ||
         !bf_is_equal(bf_limited(&below, m), bf_limited(&below, n));
}

BF_FUNCTION bf_range bf_bound_staircase(BF_CONSTANT const bf_function* f, double low, double high) {
  bf_range range = {bf_step_at(f, low), bf_step_at(f, high)};
  if (f->form == BF_FORM_ROUND) {
    if (!(bf_magnitude_double(range.low) < BF_MANY_STEPS))
      range.low = bf_next_down(range.low) - 1.0;
    if (!(bf_magnitude_double(range.high) < BF_MANY_STEPS))
      range.high = bf_next_up(range.high) + 1.0;
  }
  const bf_stair below = bf_stair_of(f, -1);
  const bf_stair above = bf_stair_of(f, 1);
  range.low = bf_limited(&below, range.low) + below.shift;
  range.high = bf_limited(&above, range.high) + above.shift;
  return range;
}

// Where the step to k is, rounded down or up.
BF_FUNCTION double bf_jump(BF_CONSTANT const bf_function* f, double k, bool up) {
  if (f->form == BF_FORM_FLOOR) return k;
  if (f->form == BF_FORM_CEIL) return k - 1.0;
  return up ? bf_mul_up(k - 0.5, f->step) : bf_mul_down(k - 0.5, f->step);
}

// StairEnds: a line over one side of a staircase on [low, high] has to pass these.
typedef struct bf_stair_ends {
  double low;
  double high;
  double m;
  double n;
  double first;
  double last;
  double shift;
  bool bent;
} bf_stair_ends;

BF_FUNCTION bf_stair_ends bf_ends_of_stair(BF_CONSTANT const bf_function* f, double low,
                                           double high, int side) {
  const bf_stair stair = bf_stair_of(f, side);
  bf_stair_ends ends = {low,
                        high,
                        bf_limited(&stair, bf_step_at(f, low)),
                        bf_limited(&stair, bf_step_at(f, high)),
                        0.0,
                        0.0,
                        stair.shift,
                        false};
  ends.bent = bf_magnitude_double(ends.m) < BF_MANY_STEPS &&
              bf_magnitude_double(ends.n) < BF_MANY_STEPS && ends.m < ends.n;
  if (!ends.bent) return ends;
  ends.first = bf_jump(f, ends.m + 1.0, side <= 0);
  ends.last = bf_jump(f, ends.n, side <= 0);
  return ends;
}

BF_FUNCTION double bf_highest_of(double a, double b, double c) {
  const double top = a > b ? a : b;
  return top > c ? top : c;
}

// The lowest line of slope s >= 0 over f (side 1), or of slope -s over -f (side -1).
BF_FUNCTION bf_function_line bf_stair_line(const bf_stair_ends* ends, double centre, int side,
                                           float s) {
  const double sd = (double)s;
  const double shift = ends->shift;
  if (side > 0)
    return bf_line(s, bf_highest_of(bf_minus_line(ends->m + shift, sd, ends->low, centre),
                                    bf_minus_line(ends->m + 1.0 + shift, sd, ends->first, centre),
                                    bf_minus_line(ends->n + shift, sd, ends->last, centre)));
  return bf_line(-s,
                 bf_highest_of(bf_minus_line(-(ends->n + shift), -sd, ends->high, centre),
                               bf_minus_line(-(ends->m + shift), -sd, ends->first, centre),
                               bf_minus_line(-(ends->n - 1.0 + shift), -sd, ends->last, centre)));
}

// The slope of the staircase's hull at a point.
BF_FUNCTION double bf_stair_slope(const bf_stair_ends* ends, double step, int side, double point) {
  const double rise = ends->n - ends->m;
  if (side > 0) {
    if (point >= ends->last) return 0.0;
    if (ends->first - ends->low > step) return rise / (ends->last - ends->low);
    return point < ends->first ? 1.0 / (ends->first - ends->low) : 1.0 / step;
  }
  if (point <= ends->first) return 0.0;
  if (ends->high - ends->last > step) return rise / (ends->high - ends->first);
  return point > ends->last ? 1.0 / (ends->high - ends->last) : 1.0 / step;
}

// The line over f (side 1), or over -f (side -1), over [low, high] that is best at the point that
// divides it as `share` does.
BF_FUNCTION bf_function_line bf_line_over_steps(BF_CONSTANT const bf_function* f,
                                                const bf_function_ends* ends, double centre,
                                                int side, double constant, double share) {
  const bf_stair_ends stair = bf_ends_of_stair(f, ends->low, ends->high, side);
  if (!stair.bent) return bf_line(0.0f, constant);
  const double step = f->form == BF_FORM_ROUND ? f->step : 1.0;
  const double point = (1.0 - share) * ends->low + share * ends->high;
  const float s = bf_nearest_float(bf_stair_slope(&stair, step, side, point));
  if (!(s > 0.0f && s <= BF_MAX_SLOPE)) return bf_line(0.0f, constant);
  return bf_stair_line(&stair, centre, side, s);
}

// The lowest line over f (side 1), or over -f (side -1), of this slope, or one of slope 0.
BF_FUNCTION bf_function_line bf_steps_of_slope(BF_CONSTANT const bf_function* f,
                                               const bf_function_ends* ends, double centre,
                                               int side, double constant, float slope) {
  const bf_stair_ends stair = bf_ends_of_stair(f, ends->low, ends->high, side);
  const float s = side > 0 ? slope : -slope;
  if (!stair.bent || !(s > 0.0f && s <= BF_MAX_SLOPE)) return bf_line(0.0f, constant);
  return bf_stair_line(&stair, centre, side, s);
}
