#pragma once

#include "bf/c/terms.h"

// The interval pass through sum and max layers in float32: bf/sums/intervals.h in C99. Activations
// are (centre, radius), where the radius also holds gamma |centre|: docs/proofs/interval-pass.md.

// Constants of a layer, in the order of IntervalErrors.
typedef struct bf_interval_errors {
  float inflate;
  float relative;
  float absolute;
} bf_interval_errors;

// The ends of an interval.
typedef struct bf_ends {
  float low;
  float high;
} bf_ends;

BF_FUNCTION void bf_give(bool add, float value, BF_GLOBAL float* to) {
  *to = add ? *to + value : value;
}

BF_FUNCTION void bf_sparse_interval(bool add, int rows, BF_GLOBAL const int32_t* row_start,
                                    BF_GLOBAL const int32_t* column, BF_GLOBAL const float* weight,
                                    BF_GLOBAL const float* centre_in,
                                    BF_GLOBAL const float* radius_in, BF_GLOBAL float* centre_out,
                                    BF_GLOBAL float* radius_out) {
  BF_EACH (i, rows) {
    double centre = 0.0;
    double radius = 0.0;
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double w = (double)weight[k];
      centre += w * (double)centre_in[column[k]];
      radius += bf_magnitude_double(w) * (double)radius_in[column[k]];
    }
    bf_give(add, (float)centre, centre_out + i);
    bf_give(add, (float)radius, radius_out + i);
  }
}

BF_FUNCTION void bf_gather_interval(bool add, int rows, bf_sources source,
                                    BF_GLOBAL const float* centre_in,
                                    BF_GLOBAL const float* radius_in, BF_GLOBAL float* centre_out,
                                    BF_GLOBAL float* radius_out) {
  BF_EACH (i, rows) {
    const int k = bf_source_of(&source, i);
    bf_give(add, k < 0 ? 0.0f : centre_in[k], centre_out + i);
    bf_give(add, k < 0 ? 0.0f : radius_in[k], radius_out + i);
  }
}

// z - S and z + S, where z = sum + bias and S is the spread of the sums.
BF_FUNCTION bf_ends bf_interval_of(float sum, float reach, float bias,
                                   const bf_interval_errors* errors) {
  const float z = sum + bias;
  const float spread =
      bf_magnitude_float(z) * errors->relative + (reach * errors->inflate + errors->absolute);
  const bf_ends made = {z - spread, z + spread};
  return made;
}

// Sums of n neurons -> their activations, in place. bias: null for zeros; `run` neurons side by
// side share each. ReLU hands on what is no number.
BF_FUNCTION void bf_finish_interval(int n, bool relu, BF_GLOBAL const float* bias, int run,
                                    const bf_interval_errors* errors, float gamma,
                                    BF_GLOBAL float* centre, BF_GLOBAL float* radius) {
  BF_EACH (j, n) {
    const float shift = bias == NULL ? 0.0f : bias[j / run];
    bf_ends ends = bf_interval_of(centre[j], radius[j], shift, errors);
    if (relu) {
      ends.low = bf_larger_float(0.0f, ends.low);
      ends.high = bf_larger_float(0.0f, ends.high);
    }
    const float c = 0.5f * (ends.low + ends.high);
    const float width = ends.high - ends.low;
    const float size = relu ? c : bf_magnitude_float(c);
    centre[j] = c;
    radius[j] = width * 0x1.000004p-1f + size * gamma;
  }
}

// Sums of n head neurons -> the caller's bounds.
BF_FUNCTION void bf_write_interval(int n, bool relu, BF_GLOBAL const float* bias, int run,
                                   const bf_interval_errors* errors, BF_GLOBAL const float* centre,
                                   BF_GLOBAL const float* radius, BF_GLOBAL float* lower,
                                   BF_GLOBAL float* upper) {
  BF_EACH (j, n) {
    const float shift = bias == NULL ? 0.0f : bias[j / run];
    const bf_ends ends = bf_interval_of(centre[j], radius[j], shift, errors);
    const float low = ends.low <= ends.high ? ends.low : -BF_INFINITY;
    const float high = ends.high >= low ? ends.high : BF_INFINITY;
    lower[j] = relu && !(low > 0.0f) ? 0.0f : low;
    upper[j] = relu && !(high > 0.0f) ? 0.0f : high;
  }
}

// The ends of a maximum: the largest of its candidates' ends, and the sum of their distances, which
// is no finite float if one of them is none.
typedef struct bf_max_ends {
  float low;
  float high;
  float spread;
} bf_max_ends;

BF_FUNCTION bf_max_ends bf_no_ends(void) {
  const bf_max_ends made = {-FLT_MAX, -FLT_MAX, 0.0f};
  return made;
}

BF_FUNCTION void bf_take_ends(float low, float high, float spread, bf_max_ends* ends) {
  ends->low = low > ends->low ? low : ends->low;
  ends->high = high > ends->high ? high : ends->high;
  ends->spread += spread;
}

BF_FUNCTION void bf_take_candidate(float centre, float radius, bf_max_ends* ends) {
  const float below = centre - radius;
  const float above = centre + radius;
  bf_take_ends(below, above, above - below, ends);
}

BF_FUNCTION void bf_give_ends(const bf_max_ends* ends, BF_GLOBAL float* low,
                              BF_GLOBAL float* high) {
  *low = ends->low;
  *high = ends->spread <= FLT_MAX ? ends->high : BF_INFINITY;
}

// Ends of n maxima -> their activations, in place, by the items that made them.
BF_FUNCTION void bf_finish_max(int n, const bf_interval_errors* errors, BF_GLOBAL float* centre,
                               BF_GLOBAL float* radius) {
  BF_EACH (j, n) {
    const float low = centre[j];
    const float high = radius[j];
    const bool finite = high <= FLT_MAX;
    const float c = finite ? 0.5f * low + 0.5f * high : 0.0f;
    const float distance = bf_larger_float(high - c, c - low);
    const float reach =
        distance * errors->inflate + (bf_magnitude_float(c) * errors->relative + errors->absolute);
    centre[j] = c;
    radius[j] = finite ? reach : BF_INFINITY;
  }
}

// z_i = the largest a_k, k = column[row_start[i]] to column[row_start[i + 1] - 1].
BF_FUNCTION void bf_max_interval(int rows, BF_GLOBAL const int32_t* row_start,
                                 BF_GLOBAL const int32_t* column, BF_GLOBAL const float* centre_in,
                                 BF_GLOBAL const float* radius_in, const bf_interval_errors* errors,
                                 BF_GLOBAL float* centre_out, BF_GLOBAL float* radius_out) {
  BF_EACH (i, rows) {
    bf_max_ends ends = bf_no_ends();
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k)
      bf_take_candidate(centre_in[column[k]], radius_in[column[k]], &ends);
    bf_give_ends(&ends, centre_out + i, radius_out + i);
  }
  bf_finish_max(rows, errors, centre_out, radius_out);
}

// Groups of equal form, in the order of MaxGroups.
typedef struct bf_max_groups {
  int first;
  int count[4];
  int stride[4];
  int taps[4];
  int tap_stride[4];
} bf_max_groups;

// The most candidates side by side: kMaxLine in bf/contract/lists.h.
#define BF_MAX_LINE 256

// The ends of the candidates of one group at the last tap's place p, over all other taps.
BF_FUNCTION bf_max_ends bf_column_ends(BF_CONSTANT const bf_max_groups* groups,
                                       BF_GLOBAL const float* centre, BF_GLOBAL const float* radius,
                                       int p) {
  bf_max_ends ends = bf_no_ends();
  for (int a = 0; a < groups->taps[0]; ++a)
    for (int b = 0; b < groups->taps[1]; ++b)
      for (int c = 0; c < groups->taps[2]; ++c) {
        const int at =
            a * groups->tap_stride[0] + b * groups->tap_stride[1] + c * groups->tap_stride[2] + p;
        bf_take_candidate(centre[at], radius[at], &ends);
      }
  return ends;
}

// The ends of every two neighbours, then of theirs, until one is left.
BF_FUNCTION bf_max_ends bf_join_ends(bf_max_ends* ends, int count) {
  for (int half = count / 2; half > 0; half /= 2)
    for (int p = 0; p < half; ++p) {
      const bf_max_ends a = ends[2 * p];
      const bf_max_ends b = ends[2 * p + 1];
      ends[p].low = bf_larger_float(a.low, b.low);
      ends[p].high = bf_larger_float(a.high, b.high);
      ends[p].spread = a.spread + b.spread;
    }
  return ends[0];
}

// The ends of the group whose first candidate is given.
BF_FUNCTION bf_max_ends bf_group_ends(BF_CONSTANT const bf_max_groups* groups,
                                      BF_GLOBAL const float* centre,
                                      BF_GLOBAL const float* radius) {
  const int last = groups->taps[3];
  bf_max_ends columns[BF_MAX_LINE];
  for (int p = 0; p < last; ++p) columns[p] = bf_column_ends(groups, centre, radius, p);
  if (groups->stride[3] == last && ((unsigned)last & ((unsigned)last - 1u)) == 0u)
    return bf_join_ends(columns, last);
  bf_max_ends ends = bf_no_ends();
  for (int p = 0; p < last; ++p)
    bf_take_ends(columns[p].low, columns[p].high, columns[p].spread, &ends);
  return ends;
}

BF_FUNCTION void bf_max_interval_groups(BF_CONSTANT const bf_max_groups* groups,
                                        BF_GLOBAL const float* centre_in,
                                        BF_GLOBAL const float* radius_in,
                                        const bf_interval_errors* errors,
                                        BF_GLOBAL float* centre_out, BF_GLOBAL float* radius_out) {
  const int count = groups->count[0] * groups->count[1] * groups->count[2] * groups->count[3];
  BF_EACH (i, count) {
    int at = groups->first;
    int left = i;
    for (int d = 3; d >= 0; --d) {
      at += left % groups->count[d] * groups->stride[d];
      left /= groups->count[d];
    }
    const bf_max_ends ends = bf_group_ends(groups, centre_in + at, radius_in + at);
    bf_give_ends(&ends, centre_out + i, radius_out + i);
  }
  bf_finish_max(count, errors, centre_out, radius_out);
}

// z_i = x_{gather_x_i} y_{gather_y_i}, i < n. relative: what a product's spread may miss of itself.
BF_FUNCTION void bf_product_interval(int n, bf_sources gather_x, bf_sources gather_y,
                                     BF_GLOBAL const float* centre_x,
                                     BF_GLOBAL const float* radius_x,
                                     BF_GLOBAL const float* centre_y,
                                     BF_GLOBAL const float* radius_y, float relative, float gamma,
                                     BF_GLOBAL float* centre_out, BF_GLOBAL float* radius_out) {
  BF_EACH (i, n) {
    const int g = bf_source_of(&gather_x, i);
    const int h = bf_source_of(&gather_y, i);
    const float r = radius_x[g] + 0x1p-148f;
    const float s = radius_y[h] + 0x1p-148f;
    const float along_x = r * centre_y[h];
    const float along_y = s * centre_x[g];
    const float both = r * s;
    const float same = bf_magnitude_float(along_x + along_y);
    const float opposite = bf_magnitude_float(along_x - along_y);
    const float up = same + both > opposite - both ? same + both : opposite - both;
    const float down = opposite + both > same - both ? opposite + both : same - both;
    const float centre = centre_x[g] * centre_y[h] + 0.5f * (up - down);
    const float size = bf_magnitude_float(centre_x[g] * centre_y[h]);
    const float spread = bf_magnitude_float(along_x) + bf_magnitude_float(along_y) + both;
    centre_out[i] = centre;
    radius_out[i] = 0.5f * (up + down) + (spread * relative + size * 0x1p-22f) +
                    (bf_magnitude_float(centre) * gamma + 0x1p-100f);
  }
}
