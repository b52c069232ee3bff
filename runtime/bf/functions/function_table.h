#pragma once

#include "bf/contract/integers.h"
#include "bf/core/rounding.h"

// Elementwise functions at run time: tables of polynomials, made and proven at compile time, and
// their evaluation at a point. Nothing here calls a mathematical library.
//
// What the tables say is proven by interval arithmetic in the compiler; what is done with them is
// proven here and in functions.h.

namespace bf {

enum class FunctionViewForm : std::uint8_t {
  kCells,        // polynomials over cells of the real line
  kExponential,  // x = k ln 2 + r: 2^k p(r), p over cells
  kOctaves,      // x = 2^k m, 1 <= m < 2: scale_k p(m) + k step, p over cells
  kMonomial,     // x^exponent, exponent a nonzero integer
  kFloor,
  kCeil,
  kRound,  // x / step to the nearest integer, ties to even
};

enum class FunctionRunKind : std::uint8_t {
  kLine,     // intercept + slope x, within `slack`; intercept alone when slope = 0
  kConvex,   // f is continuous and f'' >= 0
  kConcave,  // f is continuous and f'' <= 0
  kMixed,    // f lies within `slack` of each of its chords
  kUnknown,  // f lies between start_low and start_high, the same as end_low and end_high
};

// A maximal interval over which f is of one kind. It reaches to the start of the next one.
struct FunctionRun {
  FunctionRunKind kind;
  bool open;                     // its start belongs to the run before it
  int cell;                      // its first cell, in a table of form kCells
  int cells;                     // and their number
  double start;                  // -inf in the first
  double start_low, start_high;  // bounds of f, as continued from inside the run
  double end_low, end_high;
  double slack;
  double intercept, slope;
  // kConvex, kConcave: f is monotone up to the first and from the second on, and everywhere where
  // the first is inf. `turn` bounds f on the run, from below if it is convex, else from above.
  double turn_from = __builtin_inf(), turn_to = -__builtin_inf(), turn = 0;
};

// Cell i is [start_i, start_{i + 1}] and has f = sum_k coefficient_ik (x - start_i)^k, when that is
// evaluated in double by Horner's rule, up to error_i, and f' up to slope_error_i. Over the reduced
// argument r or m in the forms that have one.
struct FunctionView {
  FunctionViewForm form;
  int monotone;  // 1: f never decreases, -1: never increases, over its domain
  int exponent;
  int degree;
  int cells;
  int runs;
  const double* start;
  const double* coefficient;  // [cells][degree + 1]
  const float* error;
  const float* slope_error;
  const FunctionRun* run;
  double step;
  int first_octave, octaves;
  const double* scale;           // [octaves]; null: 1
  double below_low, below_high;  // bounds of f between 0 and the first octave
  double above_low, above_high;  // and above the last
  // The exact argument lies between these, whatever its bounds say.
  double least = -__builtin_inf(), most = __builtin_inf();
  bool wave = false;  // f has the period 2 pi; the last run is a tail, and so is the first
  // kRound: the value is any integer within `slack` of the rounded quotient, limited to [lowest,
  // highest].
  double lowest = -__builtin_inf(), highest = __builtin_inf();
  double slack = 0;
};

// Bounds of f at a point: low <= f <= high, |f' - slope| <= slope_error.
struct FunctionPoint {
  double low, high;
  double slope, slope_error;
  int cell = -1;  // the cell that said so, in a table of form kCells
};

static inline FunctionPoint unknown_point() {
  return {-__builtin_inf(), __builtin_inf(), 0, __builtin_inf()};
}

// A point in whose neighbourhood f is bounded, but its slope is not, or is not known: it only says
// where slopes lead, as no slope is steeper.
static inline FunctionPoint steep_point(double low, double high, int sign) {
  return {low, high, sign * __DBL_MAX__, __builtin_inf()};
}

// The run that x belongs to: the last that starts before x, or at x unless it is open.
static inline int find_run(const FunctionView& f, double x) {
  int first = 0;
  int end = f.runs;
  while (end - first > 1) {
    const int middle = (first + end) / 2;
    const FunctionRun& run = f.run[middle];
    // There are no branches here, since nothing predicts them.
    const bool inside = (run.start < x) | ((run.start == x) & !run.open);
    first = inside ? middle : first;
    end = inside ? end : middle;
  }
  return first;
}

// The cell among `count` from `first` on that holds x; the nearest one if none does.
static inline int find_cell(const FunctionView& f, int first, int count, double x) {
  while (count > 1) {
    const int half = count / 2;
    first += f.start[first + half] <= x ? half : 0;
    count -= half;
  }
  return first;
}

struct CellValue {
  double value, slope;
};

// The polynomial and its derivative, by Horner's rule. The cell's errors hold all roundings.
static inline CellValue polynomial_at(const FunctionView& f, int cell, double x) {
  const double* c = f.coefficient + static_cast<std::ptrdiff_t>(cell) * (f.degree + 1);
  const double t = x - f.start[cell];
  double value = c[f.degree];
  double slope = 0;
  for (int k = f.degree - 1; k >= 0; --k) {
    slope = slope * t + value;
    value = value * t + c[k];
  }
  return {value, slope};
}

static inline FunctionPoint cell_point(const FunctionView& f, int cell, double x) {
  const CellValue at = polynomial_at(f, cell, x);
  const double error = static_cast<double>(f.error[cell]);
  return {sub_down(at.value, error), add_up(at.value, error), at.slope,
          static_cast<double>(f.slope_error[cell]), cell};
}

// intercept + slope x within slack. Slopes 0, 1 and -1 multiply exactly.
static inline FunctionPoint line_point(const FunctionRun& run, double x) {
  double low = run.intercept;
  double high = run.intercept;
  if (run.slope != 0) {
    if (!(x >= -__DBL_MAX__ && x <= __DBL_MAX__)) return unknown_point();
    const bool exact = run.slope == 1 || run.slope == -1;
    const double moved = run.slope == 1 ? x : -x;
    low = exact_sum_down(low, exact ? moved : mul_down(run.slope, x));
    high = exact_sum_up(high, exact ? moved : mul_up(run.slope, x));
  }
  if (run.slack != 0) {
    low = exact_sum_down(low, -run.slack);
    high = exact_sum_up(high, run.slack);
  }
  return {low, high, run.slope, 0};
}

// 2^k, -1022 <= k <= 1023.
static inline double two_to(int k) {
  const std::uint64_t bits = static_cast<std::uint64_t>(k + 1023) << 52;
  double made;
  __builtin_memcpy(&made, &bits, sizeof made);
  return made;
}

// e^x = 2^k e^r, r = x - k ln 2.
//
// Proof. ln 2 = high + low up to 2^-98. high has 42 bits and k at most 10, so k high is exact. For
// k = 0 nothing is subtracted; else |x| > 0.34, so that x and k high are multiples of 2^-54 and
// their difference, below 1/2, is exact. k low < 2^-34 and the last difference are off by less than
// 2^-54 together, and so is r; e^r then by 2^-53 relatively, which the errors hold (2^-50). |r| <
// 0.3472 is inside the cells. k is in [-996, 1023] and p(r) > 0.7: the products with 2^k are exact.
static inline FunctionPoint exponential_point(const FunctionView& f, double x) {
  if (!(x < 709)) return {x >= 709 ? 0x1p1000 : 0, __builtin_inf(), 0, __builtin_inf()};
  if (!(x > -690)) return {0, 0x1p-995, 0, 0x1p-995};
  const int k = static_cast<int>(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
  const double whole = static_cast<double>(k);
  const double r = (x - whole * 0x1.62e42fefa38p-1) - whole * 0x1.ef35793c7673p-45;
  const FunctionPoint reduced = cell_point(f, find_cell(f, 0, f.cells, r), r);
  const double scale = two_to(k);
  const double low = reduced.low * scale;
  const double high = reduced.high * scale;
  return {low, high, low, sub_up(high, low)};
}

// f(0), as its limit from the right, and between 0 and the first octave. A logarithm has no lower
// bound there, and a power with a negative exponent no upper one.
static inline FunctionPoint below_octaves(const FunctionView& f, double x) {
  const bool grows = f.below_low == 0 && f.scale != nullptr;  // a power with a positive exponent
  const double high = grows && x == 0 ? 0 : f.below_high;
  const bool flat = grows && f.run[f.runs - 1].kind == FunctionRunKind::kConvex;
  if (!flat) return steep_point(f.below_low, high, f.monotone);
  return {f.below_low, high, 0, x == 0 ? 0 : __builtin_inf()};
}

// Proof of the rounding: value = scale p + k step takes a rounding each in scale, in step, in both
// products and in the sum; 2^-50 (|scale p| + |k step|) covers them eight times over.
static inline FunctionPoint octave_point(const FunctionView& f, double x) {
  if (!(x >= 0)) return unknown_point();
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const int k = x == 0 ? -1023 : static_cast<int>(bits >> 52) - 1023;
  const int octave = k - f.first_octave;
  if (octave < 0) return below_octaves(f, x);
  if (octave >= f.octaves) return {f.above_low, f.above_high, 0, __builtin_inf()};
  bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
  double m;
  __builtin_memcpy(&m, &bits, sizeof m);
  const int cell = find_cell(f, 0, f.cells, m);
  const CellValue at = polynomial_at(f, cell, m);
  const double scale = f.scale == nullptr ? 1 : f.scale[octave];
  const double scaled = scale * at.value;
  const double shift = static_cast<double>(k) * f.step;
  const double error = scale * static_cast<double>(f.error[cell]) * (1 + 0x1p-40) +
                       0x1p-50 * (__builtin_fabs(scaled) + __builtin_fabs(shift)) + 0x1p-1000;
  const double value = scaled + shift;
  const double slope_scale = scale * two_to(-k);
  const double slope = slope_scale * at.slope;
  const double slope_error =
      slope_scale * static_cast<double>(f.slope_error[cell]) * (1 + 0x1p-40) +
      0x1p-50 * __builtin_fabs(slope) + 0x1p-1000;
  return {sub_down(value, error), add_up(value, error), slope, slope_error};
}

// x^n for n > 0, x >= 0: directed products of non-negative numbers are monotone in each factor.
static inline double power_up(double x, int n) {
  double made = x;
  for (int i = 1; i < n; ++i) made = mul_up(made, x);
  return made;
}
static inline double power_down(double x, int n) {
  double made = x;
  for (int i = 1; i < n; ++i) {
    made = mul_down(made, x);
    made = made > 0 ? made : 0;
  }
  return made;
}

// The limit of a power at its pole, from the side of the run.
static inline FunctionPoint pole_point(const FunctionView& f, int run) {
  const FunctionRunKind kind = f.run[run].kind;
  if (kind == FunctionRunKind::kUnknown) return unknown_point();
  const double limit = kind == FunctionRunKind::kConcave ? -__builtin_inf() : __builtin_inf();
  const bool falls = run > 0 || kind == FunctionRunKind::kConcave;
  return steep_point(limit, limit, falls ? -1 : 1);
}

// The slope n x^(n - 1) is off by at most 33 roundings, unless products leave the normal range:
// then nothing is said of it.
static inline FunctionPoint monomial_point(const FunctionView& f, int run, double x) {
  const int n = f.exponent;
  const double size = __builtin_fabs(x);
  const bool negative = x < 0 && n % 2 != 0;
  if (n < 0 && x == 0) return pole_point(f, run);
  const int count = n < 0 ? -n : n;
  double low = power_down(size, count);
  double high = power_up(size, count);
  double slope = 1;
  if (n > 0) {
    for (int i = 1; i < count; ++i) slope *= size;
    slope *= static_cast<double>(n);
  } else {
    for (int i = 0; i <= count; ++i) slope *= size;
    slope = static_cast<double>(n) / slope;
    const double inverse = div_up(1, low);
    low = div_down(1, high);
    low = low > 0 ? low : 0;
    high = inverse;
  }
  const double steep = __builtin_fabs(slope);
  const bool normal = (steep > 0x1p-900 && steep < 0x1p900) || n == 2 || (size == 0 && n > 0);
  const double slope_error = normal ? steep * 0x1p-46 : __builtin_inf();
  // The derivative is odd when n is even.
  if (x < 0 && n % 2 == 0) slope = -slope;
  if (negative) return {-high, -low, slope, slope_error};
  return {low, high, slope, slope_error};
}

// f at x, which lies in run `run` or at one of its ends.
static inline FunctionPoint function_point(const FunctionView& f, int run, double x) {
  switch (f.form) {
    case FunctionViewForm::kExponential:
      if (f.run[run].kind == FunctionRunKind::kLine) return line_point(f.run[run], x);
      return exponential_point(f, x);
    case FunctionViewForm::kOctaves:
      return octave_point(f, x);
    case FunctionViewForm::kMonomial:
      return monomial_point(f, run, x);
    default:
      break;
  }
  const FunctionRun& at = f.run[run];
  if (at.kind == FunctionRunKind::kLine) return line_point(at, x);
  if (f.cells == 0 || at.cells == 0) return {at.start_low, at.start_high, 0, __builtin_inf()};
  return cell_point(f, find_cell(f, at.cell, at.cells, x), x);
}

}  // namespace bf
