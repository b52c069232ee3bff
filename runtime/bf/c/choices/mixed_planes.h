#pragma once

#include "bf/c/choices/slopes.h"
#include "bf/c/contraction.h"

// Rows that choose planes of the products and lower lines of the maxima that they pass:
// bf/sums/mixed_planes.h in C99, with its proofs.

// Where a layer of products reads its factors.
typedef struct bf_product_shape {
  int batch;
  int m;
  int n;
  int k;
} bf_product_shape;

// Output i's first elements of the factors.
BF_FUNCTION int bf_first_over_x(const bf_product_shape* shape, int i) {
  return i / shape->n * shape->k;
}

BF_FUNCTION int bf_first_over_y(const bf_product_shape* shape, int i) {
  return (i / shape->n / shape->m * shape->n + i % shape->n) * shape->k;
}

// The radius of a factor's element, or 0 where it is not known or the element has the box.
BF_FUNCTION float bf_known_radius(float radius, bool flat) {
  return !flat && radius <= FLT_MAX ? radius : 0.0f;
}

// Returns what output i's offsets pay for slopes of the rows' own.
BF_FUNCTION double bf_price_of_mixture(const bf_product_shape* shape, int i, bool sums,
                                       BF_GLOBAL const float* over_x, BF_GLOBAL const float* over_y,
                                       BF_GLOBAL const float* radii_x,
                                       BF_GLOBAL const float* radii_y,
                                       const bf_plane_errors* errors) {
  const ptrdiff_t of_x = bf_first_over_x(shape, i);
  const ptrdiff_t of_y = bf_first_over_y(shape, i);
  double rest = 0.0;
  double spread = 0.0;
  double reach = 0.0;
  for (int l = 0; l < shape->k; ++l) {
    const double r = (double)radii_x[of_x + l];
    const double s = (double)radii_y[of_y + l];
    rest += r * s;
    spread += bf_magnitude_double((double)over_x[of_y + l]) * r +
              bf_magnitude_double((double)over_y[of_x + l]) * s;
    reach += r + s;
  }
  const double entered = errors->product * (2.0 * rest + 0x1p-22 * (spread + 2.0 * rest));
  const double unpaid = sums ? 2.0 * rest : spread + 4.0 * rest;
  const double chosen = 0x1p-24 * (1.0 + 0x1p-20) * unpaid + 0x1p-149 * reach;
  const double factor =
      bf_price_factor(errors->offset) * (1.0 + bf_missed_of_sums(shape->k)) * BF_DOUBLE_SLACK;
  return (entered + chosen) * factor;
}

// planes: offsets of upper bounds, then of lower ones, the radii of y, those of x.
BF_FUNCTION void bf_mixed_planes(int batch, int m, int n, int k, bool has_box, bool sums,
                                 bf_sources gather_x, bf_sources gather_y,
                                 BF_GLOBAL const float* radius_x, BF_GLOBAL const float* radius_y,
                                 BF_GLOBAL const float* offsets, BF_GLOBAL const float* over_x,
                                 BF_GLOBAL const float* over_y, const bf_plane_errors* errors,
                                 BF_GLOBAL float* planes) {
  const bf_product_shape shape = {batch, m, n, k};
  const int out = batch * m * n;
  BF_GLOBAL float* const radii_y = planes + 2 * (ptrdiff_t)out;
  BF_GLOBAL float* const radii_x = radii_y + (ptrdiff_t)batch * n * k;
  BF_EACH (i, batch * n * k) {
    const bool flat = has_box && bf_is_zero_float(over_x[i]) && bf_is_zero_float(over_y[i]);
    radii_y[i] = bf_known_radius(radius_y[bf_source_of(&gather_y, i)], flat);
  }
  BF_EACH (i, batch * m * k) {
    const bool flat = has_box && bf_is_zero_float(over_x[i]) && bf_is_zero_float(over_y[i]);
    radii_x[i] = bf_known_radius(radius_x[bf_source_of(&gather_x, i)], flat);
  }
  BF_BARRIER;
  BF_EACH (i, out) {
    const double price =
        bf_price_of_mixture(&shape, i, sums, over_x, over_y, radii_x, radii_y, errors);
    planes[i] = bf_float_up(bf_add_up((double)offsets[i], price));
    planes[out + i] = bf_float_down(bf_sub_down((double)offsets[out + i], price));
  }
}

// Takes rows to one factor as bf_contraction_backward() does, whose slopes these mix with the other
// factor's radii. share: of z.
BF_FUNCTION void bf_mixed_planes_backward(int rows, int batch, int m, int n, int k, bool first,
                                          bf_sources source, BF_GLOBAL const float* slopes,
                                          BF_GLOBAL const float* radii,
                                          BF_GLOBAL const float* share, int in,
                                          BF_GLOBAL const float* from, bool add,
                                          BF_GLOBAL float* to) {
  bf_begin_rows(add, rows, in, to);
  const ptrdiff_t of_row = first ? n : 1;
  const ptrdiff_t of_other = first ? 1 : m;
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < m; ++i)
      for (int l = 0; l < k; ++l) {
        const int own = (b * m + i) * k + l;
        const ptrdiff_t element = bf_source_of(&source, own);
        BF_EACH (r, rows) {
          float sum = 0.0f;
          for (int j = 0; j < n; ++j) {
            const ptrdiff_t at = ((ptrdiff_t)b * m * n + i * of_row + j * of_other) * rows + r;
            const ptrdiff_t other = ((ptrdiff_t)b * n + j) * k + l;
            const float a = from[at];
            const float t = share[at] * 2.0f - 1.0f;
            sum += a * (slopes[other] + (!first && a < 0.0f ? -t : t) * radii[other]);
          }
          to[element * rows + r] += sum;
        }
      }
}

// The values of z at the rows' points, on the planes that the rows chose, and the shares' next
// values.
BF_FUNCTION void bf_step_planes(int rows, int batch, int m, int n, int k, bf_sources gather_x,
                                bf_sources gather_y, BF_GLOBAL const float* over_x,
                                BF_GLOBAL const float* over_y, BF_GLOBAL const float* planes,
                                const bf_slope_ascent* ascent, BF_GLOBAL const float* x,
                                BF_GLOBAL const float* y, BF_GLOBAL const float* coefficients,
                                BF_GLOBAL float* share, BF_GLOBAL float* mean,
                                BF_GLOBAL float* square, BF_GLOBAL float* values) {
  const bf_product_shape shape = {batch, m, n, k};
  const float factor = ascent->factor;
  const int out = batch * m * n;
  BF_GLOBAL const float* const radii_y = planes + 2 * (ptrdiff_t)out;
  BF_GLOBAL const float* const radii_x = radii_y + (ptrdiff_t)batch * n * k;
  BF_EACH_ROW (i, r, out, rows) {
    const int of_x = bf_first_over_x(&shape, i);
    const int of_y = bf_first_over_y(&shape, i);
    float made = 0.0f;
    float by_x = 0.0f;
    float by_y = 0.0f;
    for (int l = 0; l < k; ++l) {
      const float dx = x[(ptrdiff_t)bf_source_of(&gather_x, of_x + l) * rows + r];
      const float dy = y[(ptrdiff_t)bf_source_of(&gather_y, of_y + l) * rows + r];
      made += dx * over_x[of_y + l] + dy * over_y[of_x + l];
      by_x += dx * radii_y[of_y + l];
      by_y += dy * radii_x[of_x + l];
    }
    const ptrdiff_t at = (ptrdiff_t)i * rows + r;
    const float a = coefficients[at];
    const float chosen = share[at];
    const float apart = a < 0.0f ? by_x - by_y : by_x + by_y;
    values[at] = made + (chosen * 2.0f - 1.0f) * apart + (a < 0.0f ? planes[i] : planes[out + i]);
    bf_ascend(factor, a * apart, chosen, mean + at, square + at, share + at);
  }
}

// Offsets of the candidates as lower bounds, one float each; -infinity where nothing is known.
BF_FUNCTION void bf_mixed_maxima(int n, BF_GLOBAL const int32_t* row_start,
                                 BF_GLOBAL const int32_t* column, BF_GLOBAL const double* centre_in,
                                 BF_GLOBAL const float* radius_in,
                                 BF_GLOBAL const double* centre_out,
                                 BF_GLOBAL const float* radius_out, const bf_plane_errors* errors,
                                 BF_GLOBAL float* candidates) {
  const double offset = errors->offset + bf_missed_of_sums((int)row_start[n]);
  BF_EACH (i, n)
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double lower = bf_sub_down(centre_in[column[k]], centre_out[i]);
      const double spread = (double)radius_in[column[k]] + (double)radius_out[i];
      const double lost = errors->product * spread + offset * bf_magnitude_double(lower);
      const float made = bf_float_down(lower - lost * bf_price_factor(offset));
      candidates[k] = made >= -FLT_MAX ? made : -BF_INFINITY;
    }
}

// Returns what is left of `rest` >= 0 when a share is taken, such that rest less it is a float.
BF_FUNCTION float bf_left_of(float rest, float share) {
  const float larger = share >= 0.5f ? share : 1.0f - share;
  const float part = bf_nearest_float((double)rest * (double)larger);
  return share >= 0.5f ? rest - part : part;
}

// A group of a max layer: its candidates, of which one is chosen and others have shares, with their
// offsets, and the upper line.
typedef struct bf_candidates {
  BF_GLOBAL const int32_t* column;
  BF_GLOBAL const float* offset;
  int32_t begin;
  int32_t end;
  int32_t choice;
  float upper;
  float lower;  // offset of the chosen one
  float kept;   // slope of the upper line: 1 or 0
} bf_candidates;

// table, choice: as bf_relax_max() makes them.
BF_FUNCTION bf_candidates bf_candidates_of(int n, int i, BF_GLOBAL const int32_t* row_start,
                                           BF_GLOBAL const int32_t* column,
                                           BF_GLOBAL const float* table,
                                           BF_GLOBAL const int32_t* choice,
                                           BF_GLOBAL const float* candidates) {
  const ptrdiff_t row = n;
  const float kept = bf_is_zero_float(table[2 * row + i]) ? 1.0f : 0.0f;
  const bf_candidates made = {column,    candidates, row_start[i],   row_start[i + 1],
                              choice[i], table[i],   table[row + i], kept};
  return made;
}

// Returns whether candidate k has a share.
BF_FUNCTION bool bf_has_share(const bf_candidates* group, int32_t k) {
  return group->column[k] != group->choice && group->offset[k] >= -FLT_MAX;
}

// The offset of the chosen one where rows have parts of their own.
BF_FUNCTION float bf_offset_of_choice(const bf_candidates* group) {
  float made = group->lower;
  for (int32_t k = group->begin; k < group->end; ++k)
    if (group->column[k] == group->choice) made = group->offset[k];
  return made;
}

// Takes row r with coefficient a through a maximum. Returns its sum, `sum` before.
BF_FUNCTION double bf_take_maximum(int rows, int r, const bf_candidates* group, float a,
                                   BF_GLOBAL const float* share, BF_GLOBAL float* to, double sum) {
  const bool negative = a < 0.0f;
  float rest = negative ? 0.0f : a;
  for (int32_t k = group->begin; k < group->end; ++k) {
    if (!bf_has_share(group, k)) continue;
    const float left = bf_left_of(rest, share[(ptrdiff_t)k * rows + r]);
    const float part = rest - left;
    to[(ptrdiff_t)group->column[k] * rows + r] += part;
    sum += (double)part * (double)group->offset[k];
    rest = left;
  }
  to[(ptrdiff_t)group->choice * rows + r] += negative ? a * group->kept : rest;
  const float own = negative ? a : rest;
  return sum + (double)own * (double)(own < 0.0f ? group->upper : bf_offset_of_choice(group));
}

// Takes rows through maxima as bf_max_backward() does, with parts of their own. candidates: those
// of bf_mixed_maxima().
BF_FUNCTION void bf_mixed_maxima_backward(
    int rows, int n, BF_GLOBAL const int32_t* row_start, BF_GLOBAL const int32_t* column,
    BF_GLOBAL const float* table, BF_GLOBAL const int32_t* choice,
    BF_GLOBAL const float* candidates, BF_GLOBAL const float* share, int in,
    BF_GLOBAL const float* from, bool add, BF_GLOBAL float* to, BF_GLOBAL float* sums) {
  bf_begin_rows(add, rows, in, to);
  BF_EACH (r, rows) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
      const bf_candidates group =
          bf_candidates_of(n, i, row_start, column, table, choice, candidates);
      sum = bf_take_maximum(rows, r, &group, from[(ptrdiff_t)i * rows + r], share, to, sum);
    }
    sums[r] = (float)((double)sums[r] + sum);
  }
}

// The values of z at the rows' points, and the shares' next values.
BF_FUNCTION void bf_step_maxima(int rows, int n, BF_GLOBAL const int32_t* row_start,
                                BF_GLOBAL const int32_t* column, BF_GLOBAL const float* table,
                                BF_GLOBAL const int32_t* choice, BF_GLOBAL const float* candidates,
                                const bf_slope_ascent* ascent, BF_GLOBAL const float* from,
                                BF_GLOBAL const float* coefficients, BF_GLOBAL float* share,
                                BF_GLOBAL float* mean, BF_GLOBAL float* square,
                                BF_GLOBAL float* values) {
  const float factor = ascent->factor;
  BF_EACH_ROW (i, r, n, rows) {
    const bf_candidates group =
        bf_candidates_of(n, i, row_start, column, table, choice, candidates);
    const ptrdiff_t row = (ptrdiff_t)i * rows + r;
    const float a = coefficients[row];
    const float x = from[(ptrdiff_t)group.choice * rows + r];
    float later = x + group.lower;
    for (int32_t k = group.end - 1; k >= group.begin; --k) {
      if (!bf_has_share(&group, k)) continue;
      const ptrdiff_t at = (ptrdiff_t)k * rows + r;
      const float apart = from[(ptrdiff_t)column[k] * rows + r] + candidates[k] - later;
      const float chosen = share[at];
      bf_ascend(factor, a > 0.0f ? a * apart : 0.0f, chosen, mean + at, square + at, share + at);
      later += chosen * apart;
    }
    values[row] = a < 0.0f ? group.kept * x + group.upper : later;
  }
}
