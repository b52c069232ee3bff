#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/functions/functions.h"
#include "bf/sums/backward.h"
#include "bf/sums/slopes.h"

// Backward rows that choose lines of the elementwise functions that they pass, each row its own:
// docs/proofs/optimised-slopes.md. A neuron has kKnots lines over and under its function, of
// slopes that are the best at one point of its interval or another. A row's choice is a share in
// [0, 1]: a mixture of the two lines next to it. Mixtures of bounds are bounds, so that nothing
// that finds shares needs a proof.
//
// Shares, values and coefficients are [element][kRows] floats; values are relative to the centres.

namespace bf {

constexpr int kKnotNumbers = kKnotRows * kKnots;  // floats of a neuron

// The point of a line as a share of the interval. Tangents at its ends may be vertical.
static inline double knot_share(int k) {
  if (k == 0) return 0x1p-7;
  return k == kKnots - 1 ? 1 - 0x1p-7 : k * (1.0 / (kKnots - 1));
}

// The largest magnitudes of slopes and offsets of a neuron's lines, and the slope that roundings
// count for, which is 0 where none happens.
struct KnotSizes {
  double steep = 0, offset = 0, inexact = 0;
};

// The lines of one side, relative to the centre of the activation.
struct KnotLines {
  float slope[kKnots];
  double offset[kKnots];
};

// Slopes of the lines that are best at one point or another, from one end of the interval to the
// other, the same distance apart in number. Where the hull of g is straight, many points have one
// line, which counts once: else a row's bound would not change with its share there.
static inline void knot_slopes(const FunctionView& f, const FunctionEnds& ends, double centre,
                               int side, double constant, float* slope) {
  float found[kKnots];
  for (int k = 0; k < kKnots; ++k)
    found[k] = is_staircase(f)
                   ? line_over_steps(f, ends, centre, side, constant, knot_share(k)).slope
                   : line_over(f, ends, centre, side, constant, knot_share(k)).slope;
  const float apart = __builtin_fabsf(found[kKnots - 1] - found[0]) * 0x1p-10f;
  int last = 0;
  for (int k = 1; k < kKnots; ++k)
    if (__builtin_fabsf(found[k] - found[last]) > apart) found[++last] = found[k];
  for (int k = 0; k < kKnots; ++k) {
    const int place = k * last, first = place / (kKnots - 1);
    const float part = static_cast<float>(place % (kKnots - 1)) / static_cast<float>(kKnots - 1);
    const float next = found[first < last ? first + 1 : last];
    slope[k] = found[first] + part * (next - found[first]);
  }
}

// bent: the ends are finite and differ. constant: a bound on the side.
static inline KnotLines knot_lines(const FunctionView& f, const FunctionEnds& ends, bool bent,
                                   double centre, int side, double constant,
                                   double activation_centre) {
  float slope[kKnots] = {};
  const bool moves = bent && __builtin_fabs(constant) <= static_cast<double>(kMaxFloat);
  if (moves) knot_slopes(f, ends, centre, side, constant, slope);
  KnotLines made;
  for (int k = 0; k < kKnots; ++k) {
    FunctionLine line{0, constant};
    if (moves)
      line = is_staircase(f) ? steps_of_slope(f, ends, centre, side, constant, slope[k])
                             : line_of_slope(f, ends, centre, side, slope[k]);
    made.slope[k] = side > 0 ? line.slope : -line.slope;
    made.offset[k] = side > 0 ? exact_sum_up(line.top, -activation_centre)
                              : exact_sum_down(-line.top, -activation_centre);
  }
  return made;
}

static inline double larger_of(double a, double b) {
  return a > b ? a : b;
}

// A mixture's slope is computed in float32 by three operations, and multiplied by A in a fourth:
// the errors are at most 2u, 2u, u and u of the largest slope, and 8u pay for their products, too.
// Equal slopes are mixed without an error.
static inline void measure_knots(const KnotLines& lines, KnotSizes* sizes) {
  double steep = 0;
  bool equal = true;
  for (int k = 0; k < kKnots; ++k) {
    steep = larger_of(steep, steepness(lines.slope[k]));
    sizes->offset = larger_of(sizes->offset, offset_size(lines.offset[k]));
    equal = equal && lines.slope[k] == lines.slope[0];
  }
  const double alone = multiplies_exactly(lines.slope[0]) ? 0 : steep;
  sizes->steep = larger_of(sizes->steep, steep);
  sizes->inexact = larger_of(sizes->inexact, equal ? alone : 8 * steep);
}

// One function's part of a table for rows that mix lines: n times kKnotRows rows of kKnots floats.
//
// Proof. Let s0, s1 be the slopes and o0, o1 the offsets, as they are stored, of two lines of one
// side, and p a float in [0, 1]. For the lower side and A >= 0, f(z) - centre' is at least
//   (1 - p) (s0 (z - centre) + o0) + p (s1 (z - centre) + o1).
// relax_mixtures() takes for its slope and its offset floats and doubles that roundings have moved.
// Offsets lie outward by a price, the same for all lines of a neuron, so that mixtures pay it
// whole: what relax() charges for the largest slope; 8u of the largest slope times the reach,
// where slopes differ, and 2^-148 for products that underflow there; 2^-50 of the largest offset,
// as an offset is mixed by three operations in double and multiplied by A in a fourth, which errs
// by at most 6 * 2^-53 of it. Slopes that are mixed exceed the largest by less than 2^-20 of it and
// 2^-148.
static inline void relax_knots(int n, const FunctionView& f, const double* centre,
                               const float* below, const float* above, const float* radius,
                               const RelaxErrors& errors, const double* row,
                               const double* activation_centre, const float* activation_radius,
                               float* knots) {
  const double offset_error = errors.offset + 0x1p-50;
  const double factor = price_factor(offset_error);
  for (int j = 0; j < n; ++j, knots += kKnotNumbers) {
    const double low = exact_sum_down(centre[j], -static_cast<double>(below[j]));
    const double high = exact_sum_up(centre[j], static_cast<double>(above[j]));
    const FunctionEnds ends = ends_of(f, low, high);
    const FunctionRange range = bound_over(f, ends);
    const bool finite = ends.low >= -__DBL_MAX__ && ends.high <= __DBL_MAX__;
    const bool bent = finite && low < high && ends.low < ends.high;
    const KnotLines upper =
        knot_lines(f, ends, bent, centre[j], 1, range.high, activation_centre[j]);
    const KnotLines lower =
        knot_lines(f, ends, bent, centre[j], -1, -range.low, activation_centre[j]);
    KnotSizes sizes;
    measure_knots(upper, &sizes);
    measure_knots(lower, &sizes);
    const double b = __builtin_fabs(static_cast<double>(below[j]));
    const double a = __builtin_fabs(static_cast<double>(above[j]));
    const double reach = b > a ? b : a;
    const double steep = sizes.steep == 0 ? 0 : sizes.steep * (1 + 0x1p-20) + 0x1p-148;
    const double spread = static_cast<double>(radius[j]) * errors.inflate;
    const double own = row[j];
    const double product = steep == 0 ? 0 : steep * (errors.product * spread + own);
    const double wide = steep == 0 ? 0 : steep * (errors.wide * spread + own);
    const double slope = sizes.inexact == 0 ? 0 : (errors.slope * sizes.inexact + 0x1p-148) * reach;
    const double common = slope + offset_error * sizes.offset;
    const double stored = errors.stored * static_cast<double>(activation_radius[j]);
    const double price = (product + common) * factor;
    const double wide_price = (wide + common + stored) * factor;
    for (int k = 0; k < kKnots; ++k) {
      knots[kKnotUpper * kKnots + k] = upper.slope[k];
      knots[kKnotLower * kKnots + k] = lower.slope[k];
      put_offsets(upper.offset[k], lower.offset[k], price, kKnots,
                  knots + kKnotOffsetUpper * kKnots + k);
      put_offsets(upper.offset[k], lower.offset[k], wide_price, kKnots,
                  knots + kKnotWideUpper * kKnots + k);
    }
  }
}

// The two lines next to each row's share, on the side of its coefficient, and the place between.
template <int kRows>
struct RowKnots {
  float slope[2][kRows], offset[2][kRows], part[kRows];
};

// offsets: kKnotOffsetUpper or kKnotWideUpper.
template <int kRows>
static inline RowKnots<kRows> knots_at(const float* knots, int offsets, const float* share,
                                       const float* coefficients) {
  constexpr int kLast = kKnots - 2;
  RowKnots<kRows> made;
  for (int r = 0; r < kRows; ++r) {
    const float place = share[r] * static_cast<float>(kKnots - 1);
    const int k = !(place > 0)                        ? 0
                  : place < static_cast<float>(kLast) ? static_cast<int>(place)
                                                      : kLast;
    const float part = place - static_cast<float>(k);
    made.part[r] = part < 1 ? part : 1;
    const int side = coefficients[r] < 0 ? 0 : 1;
    const float* const slope = knots + (kKnotUpper + side) * kKnots + k;
    const float* const offset = knots + (offsets + side) * kKnots + k;
    made.slope[0][r] = slope[0];
    made.slope[1][r] = slope[1];
    made.offset[0][r] = offset[0];
    made.offset[1][r] = offset[1];
  }
  return made;
}

// Shares to begin with: the lines in the middle.
template <int kRows>
BF_ROUTINE start_shares(int n, float* BF_RESTRICT share) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{n} * kRows; ++i) share[i] = 0.5f;
}

// Passes rows through n functions: A over a' becomes A slope over z. share: each in [0, 1].
template <int kRows>
BF_ROUTINE relax_mixtures(int n, const float* knots, int offsets, const float* BF_RESTRICT share,
                          const float* BF_RESTRICT from, float* BF_RESTRICT to, float* sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  using Doubles = typename Sums::Doubles;
  constexpr int kLanes = Sums::kLanes;
  const auto widen = [](const float* x) {
    return convert_rows<Doubles, kLanes>(load_rows<Floats>(x));
  };
  Sums made;
  for (int j = 0; j < n; ++j) {
    const std::ptrdiff_t row = std::ptrdiff_t{j} * kRows;
    const RowKnots<kRows> at =
        knots_at<kRows>(knots + std::ptrdiff_t{j} * kKnotNumbers, offsets, share + row, from + row);
    BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
      const int lane = v * kLanes;
      const Floats first = load_rows<Floats>(at.slope[0] + lane);
      const Floats second = load_rows<Floats>(at.slope[1] + lane);
      const Floats slope = first + load_rows<Floats>(at.part + lane) * (second - first);
      store_rows(to + row + lane, load_rows<Floats>(from + row + lane) * slope);
      const Doubles nearer = widen(at.offset[0] + lane);
      const Doubles offset = nearer + widen(at.part + lane) * (widen(at.offset[1] + lane) - nearer);
      made.offset[v] += widen(from + row + lane) * offset;
    }
  }
  made.store(sums);
}

// z of n functions -> a', along the mixtures that the rows chose, in place; and the shares' next
// values. Between two lines a row's bound changes by A times the lines' difference at z.
template <int kRows>
BF_ROUTINE step_shares(int n, const float* knots, const SlopeAscent& ascent,
                       const float* BF_RESTRICT coefficients, float* BF_RESTRICT share,
                       float* BF_RESTRICT mean, float* BF_RESTRICT square,
                       float* BF_RESTRICT values) {
  constexpr int kLanes = lanes_of<float>(kRows);
  using Floats = typename VectorOf<float, kLanes>::type;
  using Ints = typename VectorOf<std::int32_t, kLanes>::type;
  for (int j = 0; j < n; ++j) {
    const std::ptrdiff_t row = std::ptrdiff_t{j} * kRows;
    const RowKnots<kRows> lines =
        knots_at<kRows>(knots + std::ptrdiff_t{j} * kKnotNumbers, kKnotOffsetUpper, share + row,
                        coefficients + row);
    for (int v = 0; v < kRows / kLanes; ++v) {
      const std::ptrdiff_t at = row + v * kLanes;
      const auto of = [&](const float* x) { return load_rows<Floats>(x + v * kLanes); };
      const Floats z = load_rows<Floats>(values + at);
      const Floats first = of(lines.slope[0]) * z + of(lines.offset[0]);
      const Floats apart = of(lines.slope[1]) * z + of(lines.offset[1]) - first;
      store_rows(values + at, first + of(lines.part) * apart);
      ascend<Floats, Ints>(ascent, load_rows<Floats>(coefficients + at) * apart,
                           load_rows<Floats>(share + at), mean + at, square + at, share + at);
    }
  }
}

}  // namespace bf
