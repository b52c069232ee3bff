#pragma once

#include "bf/c/choices/slopes.h"
#include "bf/c/functions.h"

// Backward rows that choose lines of the elementwise functions that they pass:
// bf/functions/mixtures.h in C99, with its proofs.

// A neuron's lines of each side, and the rows of its table: kKnots and KnotRow in
// bf/contract/tables.h.
#define BF_KNOTS 17

enum {
  BF_KNOT_UPPER,
  BF_KNOT_LOWER,
  BF_KNOT_OFFSET_UPPER,
  BF_KNOT_OFFSET_LOWER,
  BF_KNOT_WIDE_UPPER,
  BF_KNOT_WIDE_LOWER,
  BF_KNOT_ROWS
};

#define BF_KNOT_NUMBERS (BF_KNOT_ROWS * BF_KNOTS)

// The point of a line as a share of the interval. Tangents at its ends may be vertical.
BF_FUNCTION double bf_knot_share(int k) {
  if (k == 0) return 0x1p-7;
  return k == BF_KNOTS - 1 ? 1.0 - 0x1p-7 : k * (1.0 / (BF_KNOTS - 1));
}

// KnotSizes: the largest slope and offset of a neuron's lines, and the slope that roundings count
// for.
typedef struct bf_knot_sizes {
  double steep;
  double offset;
  double inexact;
} bf_knot_sizes;

// The lines of one side, relative to the centre of the activation.
typedef struct bf_knot_lines {
  float slope[BF_KNOTS];
  double offset[BF_KNOTS];
} bf_knot_lines;

// A function on an interval, and a side of it, which `constant` bounds.
typedef struct bf_knot_side {
  BF_CONSTANT const bf_function* f;
  const bf_function_ends* ends;
  double centre;
  int side;
  double constant;
} bf_knot_side;

// Writes slopes of lines that are best at one point or another, from one end of the interval to the
// other, the same distance apart in number.
BF_FUNCTION void bf_knot_slopes(const bf_knot_side* g, float* slope) {
  float found[BF_KNOTS];
  for (int k = 0; k < BF_KNOTS; ++k) {
    const double share = bf_knot_share(k);
    found[k] = bf_is_staircase(g->f)
                   ? bf_line_over_steps(g->f, g->ends, g->centre, g->side, g->constant, share).slope
                   : bf_line_over(g->f, g->ends, g->centre, g->side, g->constant, share).slope;
  }
  const float apart = bf_magnitude_float(found[BF_KNOTS - 1] - found[0]) * 0x1p-10f;
  int last = 0;
  for (int k = 1; k < BF_KNOTS; ++k)
    if (bf_magnitude_float(found[k] - found[last]) > apart) {
      ++last;
      found[last] = found[k];
    }
  for (int k = 0; k < BF_KNOTS; ++k) {
    const int place = k * last;
    const int first = place / (BF_KNOTS - 1);
    const float part = (float)(place % (BF_KNOTS - 1)) / (float)(BF_KNOTS - 1);
    const float next = found[first < last ? first + 1 : last];
    slope[k] = found[first] + part * (next - found[first]);
  }
}

// bent: the ends are finite and differ. of: the centre of the activation.
BF_FUNCTION void bf_make_knot_lines(const bf_knot_side* g, bool bent, double of,
                                    bf_knot_lines* made) {
  float slope[BF_KNOTS] = {0.0f};
  const bool moves = bent && bf_magnitude_double(g->constant) <= (double)FLT_MAX;
  if (moves) bf_knot_slopes(g, slope);
  for (int k = 0; k < BF_KNOTS; ++k) {
    bf_function_line line = bf_line(0.0f, g->constant);
    if (moves)
      line = bf_is_staircase(g->f)
                 ? bf_steps_of_slope(g->f, g->ends, g->centre, g->side, g->constant, slope[k])
                 : bf_line_of_slope(g->f, g->ends, g->centre, g->side, slope[k]);
    made->slope[k] = g->side > 0 ? line.slope : -line.slope;
    made->offset[k] =
        g->side > 0 ? bf_exact_sum_up(line.top, -of) : bf_exact_sum_down(-line.top, -of);
  }
}

BF_FUNCTION void bf_measure_knots(const bf_knot_lines* lines, bf_knot_sizes* sizes) {
  double steep = 0.0;
  bool equal = true;
  for (int k = 0; k < BF_KNOTS; ++k) {
    steep = bf_larger_double(steep, bf_steepness(lines->slope[k]));
    sizes->offset = bf_larger_double(sizes->offset, bf_offset_size(lines->offset[k]));
    equal = equal && bf_is_equal_float(lines->slope[k], lines->slope[0]);
  }
  const double alone = bf_inexact_steepness(lines->slope[0]);
  sizes->steep = bf_larger_double(sizes->steep, steep);
  sizes->inexact = bf_larger_double(sizes->inexact, equal ? alone : 8.0 * steep);
}

// Writes the lines of neuron j, whose interval is [low, high]. own: of its row's slack; of,
// of_radius: the activation's.
BF_FUNCTION void bf_relax_knots_of(int j, BF_CONSTANT const bf_function* f,
                                   const bf_neurons_view* z, const bf_relax_errors* errors,
                                   double own, double of, float of_radius, BF_GLOBAL float* knots) {
  const double centre = z->centre[j];
  const double low = bf_exact_sum_down(centre, -(double)z->below[j]);
  const double high = bf_exact_sum_up(centre, (double)z->above[j]);
  const bf_function_ends ends = bf_ends_of(f, low, high);
  const bf_range range = bf_bound_over(f, &ends);
  const bool finite = ends.low >= -DBL_MAX && ends.high <= DBL_MAX;
  const bool bent = finite && low < high && ends.low < ends.high;
  const bf_knot_side above = {f, &ends, centre, 1, range.high};
  const bf_knot_side below = {f, &ends, centre, -1, -range.low};
  bf_knot_lines upper;
  bf_knot_lines lower;
  bf_make_knot_lines(&above, bent, of, &upper);
  bf_make_knot_lines(&below, bent, of, &lower);
  bf_knot_sizes sizes = {0.0, 0.0, 0.0};
  bf_measure_knots(&upper, &sizes);
  bf_measure_knots(&lower, &sizes);
  const bool flat = bf_is_zero(sizes.steep);
  const double offset_error = errors->offset + 0x1p-50;
  const double factor = bf_price_factor(offset_error);
  const double steep = flat ? 0.0 : sizes.steep * (1.0 + 0x1p-20) + 0x1p-148;
  const double spread = (double)z->radius[j] * errors->inflate;
  const double product = flat ? 0.0 : steep * (errors->product * spread + own);
  const double wide = flat ? 0.0 : steep * (errors->wide * spread + own);
  const double slope = bf_is_zero(sizes.inexact)
                           ? 0.0
                           : (errors->slope * sizes.inexact + 0x1p-148) * bf_reach_of_neuron(z, j);
  const double common = slope + offset_error * sizes.offset;
  const double stored = errors->stored * (double)of_radius;
  const double price = (product + common) * factor;
  const double wide_price = (wide + common + stored) * factor;
  for (int k = 0; k < BF_KNOTS; ++k) {
    knots[BF_KNOT_UPPER * BF_KNOTS + k] = upper.slope[k];
    knots[BF_KNOT_LOWER * BF_KNOTS + k] = lower.slope[k];
    bf_put_offsets(upper.offset[k], lower.offset[k], price, BF_KNOTS,
                   knots + BF_KNOT_OFFSET_UPPER * BF_KNOTS + k);
    bf_put_offsets(upper.offset[k], lower.offset[k], wide_price, BF_KNOTS,
                   knots + BF_KNOT_WIDE_UPPER * BF_KNOTS + k);
  }
}

// One function's part of a table for rows that mix lines: n times BF_KNOT_NUMBERS floats.
BF_FUNCTION void bf_relax_knots(int n, BF_CONSTANT const bf_function* f,
                                BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                BF_GLOBAL const float* above, BF_GLOBAL const float* radius,
                                const bf_relax_errors* errors, BF_GLOBAL const double* row,
                                BF_GLOBAL const double* activation_centre,
                                BF_GLOBAL const float* activation_radius, BF_GLOBAL float* knots) {
  const bf_neurons_view z = {centre, below, above, radius};
  BF_EACH (j, n)
    bf_relax_knots_of(j, f, &z, errors, row[j], activation_centre[j], activation_radius[j],
                      knots + (ptrdiff_t)j * BF_KNOT_NUMBERS);
}

// The two lines next to a row's share, on the side of its coefficient, and the place between.
typedef struct bf_row_knots {
  float slope[2];
  float offset[2];
  float part;
} bf_row_knots;

// knots: the neuron's; offsets: BF_KNOT_OFFSET_UPPER or BF_KNOT_WIDE_UPPER.
BF_FUNCTION bf_row_knots bf_knots_at(BF_GLOBAL const float* knots, int offsets, float share,
                                     float coefficient) {
  const int last = BF_KNOTS - 2;
  const float place = share * (float)(BF_KNOTS - 1);
  const int side = coefficient < 0.0f ? 0 : 1;
  int k = last;
  if (!(place > 0.0f))
    k = 0;
  else if (place < (float)last)
    k = (int)place;
  const float part = place - (float)k;
  BF_GLOBAL const float* const slope = knots + (BF_KNOT_UPPER + side) * BF_KNOTS + k;
  BF_GLOBAL const float* const offset = knots + (offsets + side) * BF_KNOTS + k;
  const bf_row_knots made = {
      {slope[0], slope[1]}, {offset[0], offset[1]}, part < 1.0f ? part : 1.0f};
  return made;
}

// Shares to begin with: the lines in the middle.
BF_FUNCTION void bf_start_shares(int rows, int n, BF_GLOBAL float* share) {
  BF_EACH_OF(ptrdiff_t, i, (ptrdiff_t)n * rows) share[i] = 0.5f;
}

// Passes rows through n functions: A over a' becomes A slope over z. share: each in [0, 1].
BF_FUNCTION void bf_relax_mixtures(int rows, int n, BF_GLOBAL const float* knots, int offsets,
                                   BF_GLOBAL const float* share, BF_GLOBAL const float* from,
                                   BF_GLOBAL float* to, BF_GLOBAL float* sums) {
  BF_EACH (r, rows) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
      const ptrdiff_t at = (ptrdiff_t)j * rows + r;
      const bf_row_knots lines =
          bf_knots_at(knots + (ptrdiff_t)j * BF_KNOT_NUMBERS, offsets, share[at], from[at]);
      const double nearer = (double)lines.offset[0];
      const double offset = nearer + (double)lines.part * ((double)lines.offset[1] - nearer);
      to[at] = from[at] * (lines.slope[0] + lines.part * (lines.slope[1] - lines.slope[0]));
      sum += (double)from[at] * offset;
    }
    sums[r] = (float)((double)sums[r] + sum);
  }
}

// z of n functions -> a', along the mixtures that the rows chose, in place; and the shares' next
// values.
BF_FUNCTION void bf_step_shares(int rows, int n, BF_GLOBAL const float* knots,
                                const bf_slope_ascent* ascent, BF_GLOBAL const float* coefficients,
                                BF_GLOBAL float* share, BF_GLOBAL float* mean,
                                BF_GLOBAL float* square, BF_GLOBAL float* values) {
  const float factor = ascent->factor;
  BF_EACH_ROW (j, r, n, rows) {
    const ptrdiff_t at = (ptrdiff_t)j * rows + r;
    const bf_row_knots lines = bf_knots_at(knots + (ptrdiff_t)j * BF_KNOT_NUMBERS,
                                           BF_KNOT_OFFSET_UPPER, share[at], coefficients[at]);
    const float z = values[at];
    const float first = lines.slope[0] * z + lines.offset[0];
    const float apart = lines.slope[1] * z + lines.offset[1] - first;
    values[at] = first + lines.part * apart;
    bf_ascend(factor, coefficients[at] * apart, share[at], mean + at, square + at, share + at);
  }
}
