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

// Loops over the rows r of elements i = 0 .. n - 1. The items of a group deal out both.
#if BF_ITEMS > 1
#define BF_EACH_ROW(i, r, n, rows)                                                     \
  BF_EACH_OF(ptrdiff_t, i##_place, (ptrdiff_t)(n) * (rows))                            \
  for (int i = (int)(i##_place / (rows)), r = (int)(i##_place % (rows)), i##_left = 1; \
       i##_left > 0; --i##_left)
#else
#define BF_EACH_ROW(i, r, n, rows) \
  for (int i = 0; i < (n); ++i)    \
    for (int r = 0; r < (rows); ++r)
#endif

// Outputs and rows whose sums one item makes side by side, in vectors where its compiler has them.
#if BF_ITEMS > 1
#define BF_OUTPUTS_TOGETHER 1
#define BF_ROWS_TOGETHER 1
#elif defined(BF_DEVICE)
#define BF_OUTPUTS_TOGETHER 4
#define BF_ROWS_TOGETHER 8
#else
#define BF_OUTPUTS_TOGETHER 4
#define BF_ROWS_TOGETHER 4
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

// The sums of rows r on, `together` of them, that bf_relax_free_rows() adds.
typedef struct bf_free_sums {
  double of[BF_ROWS_TOGETHER];
} bf_free_sums;

// Passes rows, `together` of `rows`, through neuron j of n.
BF_FUNCTION void bf_relax_free(int together, BF_GLOBAL const float* slopes,
                               BF_GLOBAL const float* offsets, ptrdiff_t n,
                               BF_GLOBAL const float* BF_RESTRICT slope,
                               BF_GLOBAL const float* BF_RESTRICT from,
                               BF_GLOBAL float* BF_RESTRICT to, bf_free_sums* sums) {
  const float upper = slopes[0];
  const float fixed = slopes[n];
  const double offset_upper = (double)offsets[0];
  const double offset_lower = (double)offsets[n];
  const double middle = (double)offsets[2 * n];
  for (int r = 0; r < together; ++r) {
    const float a = from[r];
    const bool negative = a < 0.0f;
    const float lower = a * (fixed < 0.0f ? slope[r] : fixed);
    const float kept = negative ? 0.0f : lower;
    to[r] = negative ? a * upper : lower;
    sums->of[r] += (double)a * (negative ? offset_upper : offset_lower);
    sums->of[r] += (double)kept * middle;
  }
}

// Passes rows through n ReLUs: A over a' becomes A slope over z. offsets: three rows of the table,
// for the products that follow. slope: each in [0, 1].
BF_FUNCTION void bf_relax_free_rows(int rows, int n, BF_GLOBAL const float* slopes,
                                    BF_GLOBAL const float* offsets, BF_GLOBAL const float* slope,
                                    BF_GLOBAL const float* from, BF_GLOBAL float* to,
                                    BF_GLOBAL float* sums) {
  BF_EACH (part, bf_ceil_div(rows, BF_ROWS_TOGETHER)) {
    const int first = part * BF_ROWS_TOGETHER;
    const int together = bf_smaller(rows - first, BF_ROWS_TOGETHER);
    bf_free_sums made = {{0.0}};
    for (int j = 0; j < n; ++j) {
      const ptrdiff_t at = (ptrdiff_t)j * rows + first;
      if (together == BF_ROWS_TOGETHER)
        bf_relax_free(BF_ROWS_TOGETHER, slopes + j, offsets + j, n, slope + at, from + at, to + at,
                      &made);
      else
        bf_relax_free(together, slopes + j, offsets + j, n, slope + at, from + at, to + at, &made);
    }
    for (int r = 0; r < together; ++r)
      sums[first + r] = (float)((double)sums[first + r] + made.of[r]);
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

// The values of one row of one output, whose weights are `panel` apart.
BF_FUNCTION float bf_dense_value(BF_GLOBAL const float* weight, int inputs, int panel,
                                 BF_GLOBAL const float* from, int rows) {
  float sum = 0.0f;
  for (int k = 0; k < inputs; ++k) sum += from[(ptrdiff_t)k * rows] * weight[(ptrdiff_t)k * panel];
  return sum;
}

#if BF_ITEMS > 1

// weight: [out / panel][in][panel].
BF_FUNCTION void bf_dense_values(int rows, BF_GLOBAL const float* weight, int in, int out,
                                 int panel, BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  BF_EACH_ROW (o, r, out, rows) {
    BF_GLOBAL const float* const own = weight + (ptrdiff_t)(o / panel * panel) * in + o % panel;
    to[(ptrdiff_t)o * rows + r] = bf_dense_value(own, in, panel, from + r, rows);
  }
}

#else

// bf_dense_value() of as many rows of an output, and of as many outputs, as are summed side by
// side.
BF_FUNCTION void bf_dense_output(BF_GLOBAL const float* weight, int inputs, int panel,
                                 BF_GLOBAL const float* from, int rows, BF_GLOBAL float* to) {
  float sum[BF_ROWS_TOGETHER] = {0.0f};
  for (int k = 0; k < inputs; ++k, weight += panel, from += rows) {
    BF_UNROLL(BF_ROWS_TOGETHER)
    for (int r = 0; r < BF_ROWS_TOGETHER; ++r) sum[r] += from[r] * weight[0];
  }
  for (int r = 0; r < BF_ROWS_TOGETHER; ++r) to[r] = sum[r];
}

BF_FUNCTION void bf_dense_outputs(BF_GLOBAL const float* weight, int inputs, int panel,
                                  BF_GLOBAL const float* from, int rows, BF_GLOBAL float* to) {
  float sum[BF_OUTPUTS_TOGETHER][BF_ROWS_TOGETHER] = {{0.0f}};
  for (int k = 0; k < inputs; ++k, weight += panel, from += rows) {
    BF_UNROLL(BF_OUTPUTS_TOGETHER)
    for (int o = 0; o < BF_OUTPUTS_TOGETHER; ++o) {
      BF_UNROLL(BF_ROWS_TOGETHER)
      for (int r = 0; r < BF_ROWS_TOGETHER; ++r) sum[o][r] += from[r] * weight[o];
    }
  }
  for (int o = 0; o < BF_OUTPUTS_TOGETHER; ++o)
    for (int r = 0; r < BF_ROWS_TOGETHER; ++r) to[(ptrdiff_t)o * rows + r] = sum[o][r];
}

// The values of a panel's outputs, `out` of them.
BF_FUNCTION void bf_dense_panel(int rows, BF_GLOBAL const float* weight, int in, int out, int panel,
                                BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  const int whole = rows / BF_ROWS_TOGETHER * BF_ROWS_TOGETHER;
  for (int r = 0; r < whole; r += BF_ROWS_TOGETHER) {
    int o = 0;
    for (; o + BF_OUTPUTS_TOGETHER <= out; o += BF_OUTPUTS_TOGETHER)
      bf_dense_outputs(weight + o, in, panel, from + r, rows, to + (ptrdiff_t)o * rows + r);
    for (; o < out; ++o)
      bf_dense_output(weight + o, in, panel, from + r, rows, to + (ptrdiff_t)o * rows + r);
  }
  for (int o = 0; o < out; ++o)
    for (int r = whole; r < rows; ++r)
      to[(ptrdiff_t)o * rows + r] = bf_dense_value(weight + o, in, panel, from + r, rows);
}

BF_FUNCTION void bf_dense_values(int rows, BF_GLOBAL const float* weight, int in, int out,
                                 int panel, BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  for (int begin = 0; begin < out; begin += panel)
    bf_dense_panel(rows, weight + (ptrdiff_t)begin * in, in, bf_smaller(panel, out - begin), panel,
                   from, to + (ptrdiff_t)begin * rows);
}

#endif

// The values of one output, of rows up to `together`.
BF_FUNCTION void bf_conv_output(BF_CONSTANT const bf_conv_shape* shape, const bf_output* output,
                                BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                int together, int rows, bool add, BF_GLOBAL float* to) {
  const ptrdiff_t next = (ptrdiff_t)bf_taps(shape) * bf_out_group(shape);
  float sum[BF_ROWS_TOGETHER] = {0.0f};
  for (bf_product at = bf_next_tap(shape, output->n, output->channel, output->p, 0);
       at.tap < bf_taps(shape);
       at = bf_next_tap(shape, output->n, output->channel, output->p, at.tap + 1))
    for (int i = 0; i < bf_in_group(shape); ++i) {
      const float w = weight[at.weight + i * next];
      BF_GLOBAL const float* const x = from + (at.input + (ptrdiff_t)i * shape->in.channel) * rows;
      if (together == BF_ROWS_TOGETHER) {
        BF_UNROLL(BF_ROWS_TOGETHER)
        for (int r = 0; r < BF_ROWS_TOGETHER; ++r) sum[r] += x[r] * w;
      } else {
        for (int r = 0; r < together; ++r) sum[r] += x[r] * w;
      }
    }
  for (int r = 0; r < together; ++r) to[r] = (add ? to[r] : 0.0f) + sum[r];
}

BF_FUNCTION void bf_conv_values(int rows, BF_CONSTANT const bf_conv_shape* shape,
                                BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                bool add, BF_GLOBAL float* to) {
  BF_EACH_ROW (i, part, bf_outputs(shape), bf_ceil_div(rows, BF_ROWS_TOGETHER)) {
    const bf_output output = bf_output_at(shape, i);
    const int r = part * BF_ROWS_TOGETHER;
    bf_conv_output(shape, &output, weight, from + r, bf_smaller(rows - r, BF_ROWS_TOGETHER), rows,
                   add, to + bf_element(shape->out, output.n, output.channel, output.p) * rows + r);
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

// Moves a choice along the gradient of its row's bound. A gradient that is not finite counts as 0;
// choices stay in [0, 1], the comparisons sending NaN to 0. factor: the ascent's.
BF_FUNCTION void bf_ascend(float factor, float gradient, float from, BF_GLOBAL float* mean,
                           BF_GLOBAL float* square, BF_GLOBAL float* choice) {
  const float most = 0x1p60f;  // its square is a float
  const float g = gradient > -most && gradient < most ? gradient : 0.0f;
  const float m = *mean * BF_ASCENT_MEAN + g * (1.0f - BF_ASCENT_MEAN);
  const float q = *square * BF_ASCENT_SQUARE + g * g * (1.0f - BF_ASCENT_SQUARE);
  *mean = m;
  *square = q;
  const float next = from + factor * m * bf_inverse_root(q + 0x1p-120f);
  const float least = next > 0.0f ? next : 0.0f;
  *choice = least < 1.0f ? least : 1.0f;
}

// bf_step_slopes() of `together` rows of a neuron, whose columns of a table of n begin at slopes.
BF_FUNCTION void bf_step_neuron(int together, BF_GLOBAL const float* slopes, ptrdiff_t n,
                                float factor, BF_GLOBAL const float* BF_RESTRICT coefficients,
                                BF_GLOBAL float* BF_RESTRICT slope,
                                BF_GLOBAL float* BF_RESTRICT mean,
                                BF_GLOBAL float* BF_RESTRICT square,
                                BF_GLOBAL float* BF_RESTRICT values) {
  const float upper = slopes[BF_FREE_UPPER * n];
  const float fixed = slopes[BF_FREE_LOWER * n];
  const float offset_upper = slopes[BF_FREE_OFFSET_UPPER * n];
  const float offset_lower = slopes[BF_FREE_OFFSET_LOWER * n];
  const float middle = slopes[BF_FREE_CENTRE * n];
  const bool is_free = fixed < 0.0f;
  for (int r = 0; r < together; ++r) {
    const float a = coefficients[r];
    const float value = values[r];
    const float s = is_free ? slope[r] : fixed;
    const float z = middle + value;
    values[r] = a < 0.0f ? upper * value + offset_upper : s * z + offset_lower;
    if (is_free) bf_ascend(factor, a > 0.0f ? a * z : 0.0f, s, mean + r, square + r, slope + r);
  }
}

// z of n ReLUs -> a', along the lines that the rows chose, in place; and the slopes' next values.
BF_FUNCTION void bf_step_slopes(int rows, int n, BF_GLOBAL const float* slopes,
                                const bf_slope_ascent* ascent, BF_GLOBAL const float* coefficients,
                                BF_GLOBAL float* slope, BF_GLOBAL float* mean,
                                BF_GLOBAL float* square, BF_GLOBAL float* values) {
  const float factor = ascent->factor;
  BF_EACH_ROW (j, part, n, bf_ceil_div(rows, BF_ROWS_TOGETHER)) {
    const int first = part * BF_ROWS_TOGETHER;
    const int together = bf_smaller(rows - first, BF_ROWS_TOGETHER);
    const ptrdiff_t at = (ptrdiff_t)j * rows + first;
    if (together == BF_ROWS_TOGETHER)
      bf_step_neuron(BF_ROWS_TOGETHER, slopes + j, n, factor, coefficients + at, slope + at,
                     mean + at, square + at, values + at);
    else
      bf_step_neuron(together, slopes + j, n, factor, coefficients + at, slope + at, mean + at,
                     square + at, values + at);
  }
}
