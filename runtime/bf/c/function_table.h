#pragma once

#include "bf/c/core.h"

// Elementwise functions at a point, by tables: bf/functions/function_table.h and
// bf/functions/function_waves.h in C99, with their proofs.

typedef enum bf_function_form {
  BF_FORM_CELLS,
  BF_FORM_EXPONENTIAL,
  BF_FORM_OCTAVES,
  BF_FORM_MONOMIAL,
  BF_FORM_FLOOR,
  BF_FORM_CEIL,
  BF_FORM_ROUND
} bf_function_form;

typedef enum bf_run_kind {
  BF_RUN_LINE,
  BF_RUN_CONVEX,
  BF_RUN_CONCAVE,
  BF_RUN_MIXED,
  BF_RUN_UNKNOWN
} bf_run_kind;

// A maximal interval over which f is of one kind, in the order of FunctionRun.
typedef struct bf_function_run {
  bf_run_kind kind;
  bool open;
  int cell;
  int cells;
  double start;
  double start_low;
  double start_high;
  double end_low;
  double end_high;
  double slack;
  double intercept;
  double slope;
  double turn_from;
  double turn_to;
  double turn;
} bf_function_run;

// A function's table, in the order of FunctionView.
typedef struct bf_function {
  bf_function_form form;
  int monotone;
  int exponent;
  int degree;
  int cells;
  int runs;
  BF_CONSTANT const double* start;
  BF_CONSTANT const double* coefficient;
  BF_CONSTANT const float* error;
  BF_CONSTANT const float* slope_error;
  BF_CONSTANT const bf_function_run* run;
  double step;
  int first_octave;
  int octaves;
  BF_CONSTANT const double* scale;
  double below_low;
  double below_high;
  double above_low;
  double above_high;
  double least;
  double most;
  bool wave;
  double lowest;
  double highest;
  double slack;
} bf_function;

// Bounds of f at a point: low <= f <= high, |f' - slope| <= slope_error; the cell that said so, or
// -1.
typedef struct bf_function_point {
  double low;
  double high;
  double slope;
  double slope_error;
  int cell;
} bf_function_point;

BF_FUNCTION bf_function_point bf_point(double low, double high, double slope, double slope_error) {
  const bf_function_point made = {low, high, slope, slope_error, -1};
  return made;
}

BF_FUNCTION bf_function_point bf_unknown_point(void) {
  return bf_point(-BF_INFINITY_DOUBLE, BF_INFINITY_DOUBLE, 0.0, BF_INFINITY_DOUBLE);
}

// A point near which f is bounded, but its slope is not.
BF_FUNCTION bf_function_point bf_steep_point(double low, double high, int sign) {
  return bf_point(low, high, (double)sign * DBL_MAX, BF_INFINITY_DOUBLE);
}

// The run that x belongs to: the last that starts before x, or at x unless it is open.
BF_FUNCTION int bf_find_run(BF_CONSTANT const bf_function* f, double x) {
  int first = 0;
  int end = f->runs;
  while (end - first > 1) {
    const int middle = (first + end) / 2;
    BF_CONSTANT const bf_function_run* const run = &f->run[middle];
    if (run->start < x || (bf_is_equal(run->start, x) && !run->open))
      first = middle;
    else
      end = middle;
  }
  return first;
}

// The cell among `count` from `first` on that holds x; the nearest one if none does.
BF_FUNCTION int bf_find_cell(BF_CONSTANT const bf_function* f, int first, int count, double x) {
  int cell = first;
  for (int left = count; left > 1;) {
    const int half = left / 2;
    cell += f->start[cell + half] <= x ? half : 0;
    left -= half;
  }
  return cell;
}

typedef struct bf_cell_value {
  double value;
  double slope;
} bf_cell_value;

BF_FUNCTION BF_CONSTANT const double* bf_cell_coefficients(BF_CONSTANT const bf_function* f,
                                                           int cell) {
  return f->coefficient + (ptrdiff_t)cell * (f->degree + 1);
}

// The polynomial and its derivative, by Horner's rule.
BF_FUNCTION bf_cell_value bf_polynomial_at(BF_CONSTANT const bf_function* f, int cell, double x) {
  BF_CONSTANT const double* const c = bf_cell_coefficients(f, cell);
  const double t = x - f->start[cell];
  bf_cell_value made = {c[f->degree], 0.0};
  for (int k = f->degree - 1; k >= 0; --k) {
    made.slope = made.slope * t + made.value;
    made.value = made.value * t + c[k];
  }
  return made;
}

BF_FUNCTION bf_function_point bf_cell_point(BF_CONSTANT const bf_function* f, int cell, double x) {
  const bf_cell_value at = bf_polynomial_at(f, cell, x);
  const double error = (double)f->error[cell];
  const bf_function_point made = {bf_sub_down(at.value, error), bf_add_up(at.value, error),
                                  at.slope, (double)f->slope_error[cell], cell};
  return made;
}

// intercept + slope x within slack. Slopes 0, 1 and -1 multiply exactly.
BF_FUNCTION bf_function_point bf_line_point(BF_CONSTANT const bf_function_run* run, double x) {
  double low = run->intercept;
  double high = run->intercept;
  if (!bf_is_zero(run->slope)) {
    if (!(x >= -DBL_MAX && x <= DBL_MAX)) return bf_unknown_point();
    const bool same = bf_is_equal(run->slope, 1.0);
    const bool exact = same || bf_is_equal(run->slope, -1.0);
    const double moved = same ? x : -x;
    low = bf_exact_sum_down(low, exact ? moved : bf_mul_down(run->slope, x));
    high = bf_exact_sum_up(high, exact ? moved : bf_mul_up(run->slope, x));
  }
  if (!bf_is_zero(run->slack)) {
    low = bf_exact_sum_down(low, -run->slack);
    high = bf_exact_sum_up(high, run->slack);
  }
  return bf_point(low, high, run->slope, 0.0);
}

// 2^k, -1022 <= k <= 1023.
BF_FUNCTION double bf_two_to(int k) {
  const int exponent = k + 1023;
  return bf_of_bits((uint64_t)exponent << 52);
}

// e^x = 2^k e^r, r = x - k ln 2.
BF_FUNCTION bf_function_point bf_exponential_point(BF_CONSTANT const bf_function* f, double x) {
  if (!(x < 709.0))
    return bf_point(x >= 709.0 ? 0x1p1000 : 0.0, BF_INFINITY_DOUBLE, 0.0, BF_INFINITY_DOUBLE);
  if (!(x > -690.0)) return bf_point(0.0, 0x1p-995, 0.0, 0x1p-995);
  const double nearest = x * 0x1.71547652b82fep0 + (x < 0.0 ? -0.5 : 0.5);
  const int k = (int)nearest;
  const double whole = (double)k;
  const double r = (x - whole * 0x1.62e42fefa38p-1) - whole * 0x1.ef35793c7673p-45;
  const bf_function_point reduced = bf_cell_point(f, bf_find_cell(f, 0, f->cells, r), r);
  const double scale = bf_two_to(k);
  const double low = reduced.low * scale;
  const double high = reduced.high * scale;
  return bf_point(low, high, low, bf_sub_up(high, low));
}

// f(0), as its limit from the right, and between 0 and the first octave.
BF_FUNCTION bf_function_point bf_below_octaves(BF_CONSTANT const bf_function* f, double x) {
  const bool grows = bf_is_zero(f->below_low) && f->scale != NULL;
  const double high = grows && bf_is_zero(x) ? 0.0 : f->below_high;
  const bool flat = grows && f->run[f->runs - 1].kind == BF_RUN_CONVEX;
  if (!flat) return bf_steep_point(f->below_low, high, f->monotone);
  return bf_point(f->below_low, high, 0.0, bf_is_zero(x) ? 0.0 : BF_INFINITY_DOUBLE);
}

BF_FUNCTION bf_function_point bf_octave_point(BF_CONSTANT const bf_function* f, double x) {
  if (!(x >= 0.0)) return bf_unknown_point();
  const uint64_t bits = bf_bits_of(x);
  const int k = bf_is_zero(x) ? -1023 : (int)(bits >> 52) - 1023;
  const int octave = k - f->first_octave;
  if (octave < 0) return bf_below_octaves(f, x);
  if (octave >= f->octaves) return bf_point(f->above_low, f->above_high, 0.0, BF_INFINITY_DOUBLE);
  const double m = bf_of_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  const int cell = bf_find_cell(f, 0, f->cells, m);
  const bf_cell_value at = bf_polynomial_at(f, cell, m);
  const double scale = f->scale == NULL ? 1.0 : f->scale[octave];
  const double scaled = scale * at.value;
  const double shift = (double)k * f->step;
  const double error = scale * (double)f->error[cell] * (1.0 + 0x1p-40) +
                       0x1p-50 * (bf_magnitude_double(scaled) + bf_magnitude_double(shift)) +
                       0x1p-1000;
  const double value = scaled + shift;
  const double slope_scale = scale * bf_two_to(-k);
  const double slope = slope_scale * at.slope;
  const double slope_error = slope_scale * (double)f->slope_error[cell] * (1.0 + 0x1p-40) +
                             0x1p-50 * bf_magnitude_double(slope) + 0x1p-1000;
  return bf_point(bf_sub_down(value, error), bf_add_up(value, error), slope, slope_error);
}

// x^n for n > 0, x >= 0.
BF_FUNCTION double bf_power_up(double x, int n) {
  double made = x;
  for (int i = 1; i < n; ++i) made = bf_mul_up(made, x);
  return made;
}

BF_FUNCTION double bf_power_down(double x, int n) {
  double made = x;
  for (int i = 1; i < n; ++i) {
    made = bf_mul_down(made, x);
    made = made > 0.0 ? made : 0.0;
  }
  return made;
}

// The limit of a power at its pole, from the side of the run.
BF_FUNCTION bf_function_point bf_pole_point(BF_CONSTANT const bf_function* f, int run) {
  const bf_run_kind kind = f->run[run].kind;
  if (kind == BF_RUN_UNKNOWN) return bf_unknown_point();
  const double limit = kind == BF_RUN_CONCAVE ? -BF_INFINITY_DOUBLE : BF_INFINITY_DOUBLE;
  const bool falls = run > 0 || kind == BF_RUN_CONCAVE;
  return bf_steep_point(limit, limit, falls ? -1 : 1);
}

// n size^(n - 1), for sizes >= 0 and n of either sign; off by at most 33 roundings.
BF_FUNCTION double bf_monomial_slope(int n, double size) {
  double slope = 1.0;
  if (n > 0) {
    for (int i = 1; i < n; ++i) slope *= size;
    return slope * (double)n;
  }
  for (int i = 0; i <= -n; ++i) slope *= size;
  return (double)n / slope;
}

BF_FUNCTION bf_function_point bf_monomial_point(BF_CONSTANT const bf_function* f, int run,
                                                double x) {
  const int n = f->exponent;
  const double size = bf_magnitude_double(x);
  if (n < 0 && bf_is_zero(x)) return bf_pole_point(f, run);
  const int count = n < 0 ? -n : n;
  double low = bf_power_down(size, count);
  double high = bf_power_up(size, count);
  if (n < 0) {
    const double inverse = bf_div_up(1.0, low);
    low = bf_div_down(1.0, high);
    low = low > 0.0 ? low : 0.0;
    high = inverse;
  }
  const double slope = bf_monomial_slope(n, size);
  const double steep = bf_magnitude_double(slope);
  const bool normal =
      (steep > 0x1p-900 && steep < 0x1p900) || n == 2 || (bf_is_zero(size) && n > 0);
  const double slope_error = normal ? steep * 0x1p-46 : BF_INFINITY_DOUBLE;
  if (x < 0.0 && n % 2 != 0) return bf_point(-high, -low, slope, slope_error);
  return bf_point(low, high, x < 0.0 ? -slope : slope, slope_error);
}

// f at x, which lies in run `run` or at one of its ends.
BF_FUNCTION bf_function_point bf_function_at(BF_CONSTANT const bf_function* f, int run, double x) {
  BF_CONSTANT const bf_function_run* const at = &f->run[run];
  switch (f->form) {
    case BF_FORM_EXPONENTIAL:
      return at->kind == BF_RUN_LINE ? bf_line_point(at, x) : bf_exponential_point(f, x);
    case BF_FORM_OCTAVES:
      return bf_octave_point(f, x);
    case BF_FORM_MONOMIAL:
      return bf_monomial_point(f, run, x);
    case BF_FORM_CELLS:
    case BF_FORM_FLOOR:
    case BF_FORM_CEIL:
    case BF_FORM_ROUND:
    default:
      break;
  }
  if (at->kind == BF_RUN_LINE) return bf_line_point(at, x);
  if (f->cells == 0 || at->cells == 0)
    return bf_point(at->start_low, at->start_high, 0.0, BF_INFINITY_DOUBLE);
  return bf_cell_point(f, bf_find_cell(f, at->cell, at->cells, x), x);
}

// Wider intervals, a few periods, are not reduced.
#define BF_WIDEST_WAVE 40.0

#define BF_ANGLE_ERROR 0x1p-49

BF_TABLE uint32_t bf_bits_of_turns[38] = {
    0x00000000u, 0x00000000u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u,
    0x4f10e410u, 0x7f9458eau, 0xf7aef158u, 0x6dc91b8eu, 0x909374b8u, 0x01924bbau, 0x82746487u,
    0x3f877ac7u, 0x2c4a69cfu, 0xba208d7du, 0x4baed121u, 0x3a671c09u, 0xad17df90u, 0x4e64758eu,
    0x60d4ce7du, 0x272117e2u, 0xef7e4a0eu, 0xc7fe25ffu, 0xf7816603u, 0xfbcbc462u, 0xd6829b47u,
    0xdb4d9fb3u, 0xc9f2c26du, 0xd3d18fd9u, 0xa797fa8bu, 0x5d49eeb1u, 0xfaf97c5eu, 0xcf41ce7du,
    0xe294a4bau, 0x9afed7ecu, 0x47e35742u};

// 32 bits of 1 / (2 pi) in binary, from bit `first` on; 64 zeros are before the point.
BF_FUNCTION uint32_t bf_turn_bits(int first) {
  const int word = first / 32;
  const unsigned shift = 32u - (unsigned)first % 32u;
  const uint64_t both = ((uint64_t)bf_bits_of_turns[word] << 32) | bf_bits_of_turns[word + 1];
  const uint64_t made = (both >> shift) & 0xffffffffu;
  return (uint32_t)made;
}

// 2^64 times the fractional part of m 2^e / (2 pi), rounded down to an integer or the one below.
BF_FUNCTION uint64_t bf_fraction_of_turns(uint64_t m, int e) {
  const uint64_t half = 0xffffffffu;
  const uint64_t m_low = m & half;
  const uint64_t m_high = m >> 32;
  uint64_t carry = 0u;
  uint64_t before = 0u;
  uint64_t made = 0u;
  for (int i = 3; i >= 0; --i) {
    const uint64_t word = bf_turn_bits(e + 64 + 32 * i);
    const uint64_t first = m_low * word;
    const uint64_t second = m_high * before;
    const uint64_t sum = carry + (first & half) + (second & half);
    made = (made >> 32) | (sum << 32);
    carry = (sum >> 32) + (first >> 32) + (second >> 32);
    before = word;
  }
  return made;
}

// x - 2 pi n for an integer n, up to BF_ANGLE_ERROR. x is finite, |x| >= 1.
BF_FUNCTION double bf_wave_angle(double x) {
  const uint64_t bits = bf_bits_of(x);
  const uint64_t exponent = (bits >> 52) & 0x7ffu;
  const int e = (int)exponent - 1075;
  const uint64_t m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  const uint64_t fraction = bf_fraction_of_turns(m, e);
  const bool over_half = (fraction >> 63) != 0u;
  const uint64_t size = over_half ? ~fraction + 1u : fraction;
  const double angle = (double)size * (0x1.921fb54442d18p+2 * 0x1p-64);
  return (x < 0.0) == over_half ? angle : -angle;
}
