#pragma once

#include "bf/c/backward.h"
#include "bf/c/conv.h"

// Backward rows that choose the lower slopes of the ReLUs that they pass: bf/sums/slopes.h in C99,
// with its proofs. What finds good slopes goes by elements of rows, each of which is an item's.

// The rows of a table for rows that choose slopes: SlopeRow in bf/contract/tables.h.
enum {
  BF_FREE_UPPER,
  BF_FREE_LOWER,
  BF_FREE_OFFSET_UPPER,
  BF_FREE_OFFSET_LOWER,
  BF_FREE_CENTRE,
  BF_FREE_WIDE_UPPER,
  BF_FREE_WIDE_LOWER,
  BF_FREE_WIDE_CENTRE
};

// Loops over the rows r of elements i = 0 .. n - 1; and the outputs and rows that are summed side
// by side. The items of a group deal out elements and rows alike.
#if BF_ITEMS > 1
#define BF_EACH_ROW(i, r, n, rows)                                                     \
  BF_EACH_OF(ptrdiff_t, i##_place, (ptrdiff_t)(n) * (rows))                            \
  for (int i = (int)(i##_place / (rows)), r = (int)(i##_place % (rows)), i##_left = 1; \
       i##_left > 0; --i##_left)
#define BF_OUTPUTS_TOGETHER 1
#define BF_ROWS_TOGETHER 1
#else
#define BF_EACH_ROW(i, r, n, rows) \
  for (int i = 0; i < (n); ++i)    \
    for (int r = 0; r < (rows); ++r)
#define BF_OUTPUTS_TOGETHER 4
#if defined(BF_DEVICE)
#define BF_ROWS_TOGETHER 32
#else
#define BF_ROWS_TOGETHER 4
#endif
#endif

// Writes one neuron's three offsets of a table of n neurons, outward: what is lost is paid per
// Lambda of the lower line, and per A.
typedef struct bf_free_offsets {
  double upper;
  double lower;
  double middle;
} bf_free_offsets;

BF_FUNCTION double bf_paid(const bf_relax_errors* errors, double lost, double offset) {
  return (lost + errors->offset * bf_magnitude_double(offset)) * bf_price_factor(errors->offset);
}

BF_FUNCTION void bf_put_free(const bf_relax_errors* errors, const bf_free_offsets* offsets,
                             double line, double kept, double product, ptrdiff_t n,
                             BF_GLOBAL float* to) {
  to[0] = bf_float_up(offsets->upper + bf_paid(errors, line + kept, offsets->upper));
  to[n] = bf_float_down(offsets->lower - bf_paid(errors, kept, offsets->lower));
  to[2 * n] = bf_float_down(offsets->middle - bf_paid(errors, product, offsets->middle));
}

// Neuron j's columns of the table. own: of its row's slack; of, of_radius: the activation's.
BF_FUNCTION void bf_relax_slope(int n, ptrdiff_t j, const bf_neurons_view* z,
                                const bf_relax_errors* errors, double own,
                                BF_GLOBAL const float* table, double of, float of_radius,
                                BF_GLOBAL float* slopes) {
  const ptrdiff_t row = n;
  const double centre = z->centre[j];
  const double low = bf_sub_down(centre, (double)z->below[j]);
  const double high = bf_add_up(centre, (double)z->above[j]);
  const bool finite = low >= -DBL_MAX && high <= DBL_MAX;
  const bool is_free = low < 0.0 && high > 0.0 && finite;
  const double up = (double)table[BF_SLOPE_UPPER * row + j];
  const double down = (double)table[BF_SLOPE_LOWER * row + j];
  const bf_free_offsets offsets = {
      finite ? bf_upper_offset(up, centre, low, high, of) : BF_INFINITY_DOUBLE,
      is_free ? -of : bf_sub_down(down * centre, of), is_free ? centre : 0.0};
  const double spread = (double)z->radius[j] * errors->inflate;
  const double stored = errors->stored * (double)of_radius;
  const double coefficient =
      bf_is_equal(up, down) ? 0.0 : errors->slope * up * bf_reach_of_neuron(z, j);
  const double product = errors->product * spread + own;
  const double wide = errors->wide * spread + own;
  const bool flat = bf_is_zero(up);
  slopes[BF_FREE_UPPER * row + j] = table[BF_SLOPE_UPPER * row + j];
  slopes[BF_FREE_LOWER * row + j] = is_free ? -1.0f : table[BF_SLOPE_LOWER * row + j];
  bf_put_free(errors, &offsets, (flat ? 0.0 : up * product) + coefficient, 0.0, product, row,
              slopes + BF_FREE_OFFSET_UPPER * row + j);
  bf_put_free(errors, &offsets, (flat ? 0.0 : up * wide) + coefficient, stored, wide, row,
              slopes + BF_FREE_WIDE_UPPER * row + j);
}

BF_FUNCTION void bf_relax_slopes(int n, BF_GLOBAL const double* centre,
                                 BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                                 BF_GLOBAL const float* radius, const bf_relax_errors* errors,
                                 BF_GLOBAL const double* row, BF_GLOBAL const float* table,
                                 BF_GLOBAL const double* activation_centre,
                                 BF_GLOBAL const float* activation_radius,
                                 BF_GLOBAL float* slopes) {
  const bf_neurons_view z = {centre, below, above, radius};
  BF_EACH (j, n)
    bf_relax_slope(n, j, &z, errors, row[j], table, activation_centre[j], activation_radius[j],
                   slopes);
}

// Slopes to begin with: those of the relaxation's lower lines.
BF_FUNCTION void bf_start_slopes(int rows, int n, BF_GLOBAL const float* table,
                                 BF_GLOBAL float* slope) {
  BF_EACH_ROW (j, r, n, rows)
    slope[(ptrdiff_t)j * rows + r] = table[BF_SLOPE_LOWER * (ptrdiff_t)n + j];
}

// Passes rows through n ReLUs: A over a' becomes A slope over z. offsets: three rows of the table,
// for the products that follow. slope: each in [0, 1].
BF_FUNCTION void bf_relax_free_rows(int rows, int n, BF_GLOBAL const float* slopes,
                                    BF_GLOBAL const float* offsets, BF_GLOBAL const float* slope,
                                    BF_GLOBAL const float* from, BF_GLOBAL float* to,
                                    BF_GLOBAL float* sums) {
  const ptrdiff_t row = n;
  BF_EACH (r, rows) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
      const ptrdiff_t at = (ptrdiff_t)j * rows + r;
      const float a = from[at];
      const bool negative = a < 0.0f;
      const float fixed = slopes[BF_FREE_LOWER * row + j];
      const float lower = a * (fixed < 0.0f ? slope[at] : fixed);
      const float kept = negative ? 0.0f : lower;
      to[at] = negative ? a * slopes[j] : lower;
      sum += (double)a * (double)(negative ? offsets[j] : offsets[row + j]);
      sum += (double)kept * (double)offsets[2 * row + j];
    }
    sums[r] = (float)((double)sums[r] + sum);
  }
}

// The corner of the box at which each row is least, relative to the centre.
BF_FUNCTION void bf_corner_values(int rows, int n, BF_GLOBAL const float* radius,
                                  BF_GLOBAL const float* coefficients, BF_GLOBAL float* values) {
  BF_EACH_ROW (k, r, n, rows) {
    const ptrdiff_t at = (ptrdiff_t)k * rows + r;
    values[at] = coefficients[at] > 0.0f ? -radius[k] : radius[k];
  }
}

// Sums of outputs side by side, of rows side by side.
typedef struct bf_value_sums {
  float of[BF_OUTPUTS_TOGETHER][BF_ROWS_TOGETHER];
} bf_value_sums;

BF_FUNCTION bf_value_sums bf_no_value_sums(void) {
  bf_value_sums made;
  for (int o = 0; o < BF_OUTPUTS_TOGETHER; ++o)
    for (int r = 0; r < BF_ROWS_TOGETHER; ++r) made.of[o][r] = 0.0f;
  return made;
}

// The weights of as many outputs, one after the other, and the values of inputs; each next input's
// lie so many floats on.
typedef struct bf_value_view {
  BF_GLOBAL const float* weight;
  ptrdiff_t next_weight;
  BF_GLOBAL const float* from;
  ptrdiff_t next_from;
} bf_value_view;

// Adds the products with `inputs` inputs to the sums of some outputs and rows.
BF_FUNCTION bf_value_sums bf_add_values(bf_value_sums sums, const bf_value_view* view, int inputs,
                                        int outputs, int rows) {
  bf_value_sums made = sums;
  BF_GLOBAL const float* weight = view->weight;
  BF_GLOBAL const float* from = view->from;
  for (int k = 0; k < inputs; ++k, weight += view->next_weight, from += view->next_from) {
    BF_UNROLL(BF_OUTPUTS_TOGETHER)
    for (int o = 0; o < outputs; ++o) {
      BF_UNROLL(BF_ROWS_TOGETHER)
      for (int r = 0; r < rows; ++r) made.of[o][r] += from[r] * weight[o];
    }
  }
  return made;
}

// Writes sums; `next`: the floats from an output to the next.
BF_FUNCTION void bf_store_values(const bf_value_sums* sums, int outputs, int rows, ptrdiff_t next,
                                 bool add, BF_GLOBAL float* to) {
  for (int o = 0; o < outputs; ++o)
    for (int r = 0; r < rows; ++r)
      to[o * next + r] = (add ? to[o * next + r] : 0.0f) + sums->of[o][r];
}

// The values of `outputs` outputs side by side, whose numbers compilers know in most calls.
BF_FUNCTION void bf_dense_outputs(const bf_value_view* view, int inputs, int outputs, int together,
                                  int rows, BF_GLOBAL float* to) {
  bf_value_sums sums = bf_no_value_sums();
  if (together == BF_ROWS_TOGETHER)
    sums = bf_add_values(sums, view, inputs, outputs, BF_ROWS_TOGETHER);
  else
    sums = bf_add_values(sums, view, inputs, outputs, together);
  bf_store_values(&sums, outputs, together, rows, false, to);
}

// weight: [out / panel][in][panel].
BF_FUNCTION void bf_dense_values(int rows, BF_GLOBAL const float* weight, int in, int out,
                                 int panel, BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  const int of_panel = bf_ceil_div(panel, BF_OUTPUTS_TOGETHER);
  BF_EACH_ROW (block, part, bf_ceil_div(out, panel) * of_panel,
               bf_ceil_div(rows, BF_ROWS_TOGETHER)) {
    const int begin = block / of_panel * panel;
    const int first = begin + block % of_panel * BF_OUTPUTS_TOGETHER;
    const int end = bf_smaller(bf_smaller(begin + panel, out), first + BF_OUTPUTS_TOGETHER);
    const int r = part * BF_ROWS_TOGETHER;
    const int together = bf_smaller(rows - r, BF_ROWS_TOGETHER);
    const bf_value_view view = {weight + (ptrdiff_t)begin * in + (first - begin), panel, from + r,
                                rows};
    BF_GLOBAL float* const made = to + (ptrdiff_t)first * rows + r;
    if (end - first == BF_OUTPUTS_TOGETHER) {
      bf_dense_outputs(&view, in, BF_OUTPUTS_TOGETHER, together, rows, made);
    } else {
      for (int o = 0; o < end - first; ++o) {
        const bf_value_view one = {view.weight + o, panel, from + r, rows};
        bf_dense_outputs(&one, in, 1, together, rows, made + (ptrdiff_t)o * rows);
      }
    }
  }
}

// Output number i of bf_output_at() alone.
BF_FUNCTION void bf_conv_values(int rows, BF_CONSTANT const bf_conv_shape* shape,
                                BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                bool add, BF_GLOBAL float* to) {
  const int of_rows = bf_ceil_div(rows, BF_ROWS_TOGETHER);
  BF_EACH_ROW (i, part, bf_outputs(shape), of_rows) {
    const bf_output output = bf_output_at(shape, i);
    const int r = part * BF_ROWS_TOGETHER;
    const int together = bf_smaller(rows - r, BF_ROWS_TOGETHER);
    bf_value_sums sums = bf_no_value_sums();
    bf_product at = bf_next_tap(shape, output.n, output.channel, output.p, 0);
    for (; at.tap < bf_taps(shape);
         at = bf_next_tap(shape, output.n, output.channel, output.p, at.tap + 1)) {
      const bf_value_view view = {weight + at.weight,
                                  (ptrdiff_t)bf_taps(shape) * bf_out_group(shape),
                                  from + at.input * rows + r, (ptrdiff_t)shape->in.channel * rows};
      sums = bf_add_values(sums, &view, bf_in_group(shape), 1, together);
    }
    bf_store_values(&sums, 1, together, 0, add,
                    to + bf_element(shape->out, output.n, output.channel, output.p) * rows + r);
  }
}

BF_FUNCTION void bf_sparse_values(int rows, int n, BF_GLOBAL const int32_t* row_start,
                                  BF_GLOBAL const int32_t* column, BF_GLOBAL const float* weight,
                                  BF_GLOBAL const float* from, bool add, BF_GLOBAL float* to) {
  BF_EACH_ROW (i, r, n, rows) {
    const ptrdiff_t at = (ptrdiff_t)i * rows + r;
    float sum = add ? to[at] : 0.0f;
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k)
      sum += weight[k] * from[(ptrdiff_t)column[k] * rows + r];
    to[at] = sum;
  }
}

BF_FUNCTION void bf_gather_values(int rows, int n, bf_sources source, BF_GLOBAL const float* from,
                                  bool add, BF_GLOBAL float* to) {
  BF_EACH_ROW (i, r, n, rows) {
    const ptrdiff_t at = (ptrdiff_t)i * rows + r;
    const int k = bf_source_of(&source, i);
    const float before = add ? to[at] : 0.0f;
    to[at] = k < 0 ? before : before + from[(ptrdiff_t)k * rows + r];
  }
}

// z of n neurons -> a', along the lines of a relaxation table; in place.
BF_FUNCTION void bf_line_values(int rows, int n, BF_GLOBAL const float* table,
                                BF_GLOBAL const float* coefficients, BF_GLOBAL float* values) {
  const ptrdiff_t row = n;
  BF_EACH_ROW (j, r, n, rows) {
    const ptrdiff_t at = (ptrdiff_t)j * rows + r;
    const bool negative = coefficients[at] < 0.0f;
    values[at] = table[(negative ? BF_SLOPE_UPPER : BF_SLOPE_LOWER) * row + j] * values[at] +
                 table[(negative ? BF_OFFSET_UPPER : BF_OFFSET_LOWER) * row + j];
  }
}

// 1 / sqrt(x) for normal x > 0, to about 1e-7.
BF_FUNCTION float bf_inverse_root(float x) {
  float y = bf_float_of_bits(0x5f375a86u - (bf_bits_of_float(x) >> 1));
  for (int i = 0; i < 3; ++i) y = y * (1.5f - 0.5f * x * y * y);
  return y;
}

// SlopeAscent: how far the next step along a gradient goes.
typedef struct bf_slope_ascent {
  float rate;
  float mean_power;
  float square_power;
  float factor;
} bf_slope_ascent;

#define BF_ASCENT_MEAN 0.9f
#define BF_ASCENT_SQUARE 0.999f
#define BF_ASCENT_DECAY 0.98f

BF_FUNCTION bf_slope_ascent bf_begin_ascent(void) {
  const bf_slope_ascent made = {0.1f / BF_ASCENT_DECAY, 1.0f, 1.0f, 0.0f};
  return made;
}

BF_FUNCTION void bf_next_step(bf_slope_ascent* ascent) {
  ascent->rate *= BF_ASCENT_DECAY;
  ascent->mean_power *= BF_ASCENT_MEAN;
  ascent->square_power *= BF_ASCENT_SQUARE;
  const float rest = 1.0f - ascent->square_power;
  ascent->factor = ascent->rate * rest * bf_inverse_root(rest) / (1.0f - ascent->mean_power);
}

BF_FUNCTION void bf_clear_moments(int rows, int n, BF_GLOBAL float* mean, BF_GLOBAL float* square) {
  bf_clear_rows(rows, n, mean);
  bf_clear_rows(rows, n, square);
}

// Where choices of an element lie, with their moments: at `at` of each array.
typedef struct bf_choices {
  BF_GLOBAL float* choice;
  BF_GLOBAL float* mean;
  BF_GLOBAL float* square;
} bf_choices;

// Moves a choice along the gradient of its row's bound. A gradient that is not finite counts as 0;
// choices stay in [0, 1], the comparisons sending NaN to 0.
BF_FUNCTION void bf_ascend(const bf_slope_ascent* ascent, float gradient, float from,
                           const bf_choices* to, ptrdiff_t at) {
  const float most = 0x1p60f;  // its square is a float
  const bool counts = gradient > -most && gradient < most;
  const float g = counts ? gradient : 0.0f;
  const float m = to->mean[at] * BF_ASCENT_MEAN + g * (1.0f - BF_ASCENT_MEAN);
  const float q = to->square[at] * BF_ASCENT_SQUARE + g * g * (1.0f - BF_ASCENT_SQUARE);
  to->mean[at] = m;
  to->square[at] = q;
  const float next = from + ascent->factor * m * bf_inverse_root(q + 0x1p-120f);
  const float least = next > 0.0f ? next : 0.0f;
  to->choice[at] = least < 1.0f ? least : 1.0f;
}

// z of n ReLUs -> a', along the lines that the rows chose, in place; and the slopes' next values.
BF_FUNCTION void bf_step_slopes(int rows, int n, BF_GLOBAL const float* slopes,
                                const bf_slope_ascent* ascent, BF_GLOBAL const float* coefficients,
                                BF_GLOBAL float* slope, BF_GLOBAL float* mean,
                                BF_GLOBAL float* square, BF_GLOBAL float* values) {
  const bf_choices choices = {slope, mean, square};
  const ptrdiff_t row = n;
  BF_EACH_ROW (j, r, n, rows) {
    const ptrdiff_t at = (ptrdiff_t)j * rows + r;
    const float a = coefficients[at];
    const float value = values[at];
    const float fixed = slopes[BF_FREE_LOWER * row + j];
    const bool is_free = fixed < 0.0f;
    const float s = is_free ? slope[at] : fixed;
    const float z = slopes[BF_FREE_CENTRE * row + j] + value;
    values[at] =
        a < 0.0f ? slopes[BF_FREE_UPPER * row + j] * value + slopes[BF_FREE_OFFSET_UPPER * row + j]
                 : s * z + slopes[BF_FREE_OFFSET_LOWER * row + j];
    if (is_free) bf_ascend(ascent, a > 0.0f ? a * z : 0.0f, s, &choices, at);
  }
}
