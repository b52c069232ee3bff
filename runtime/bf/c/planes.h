#pragma once

#include "bf/c/backward.h"

// Layers of two variables and more, products and maxima: bf/sums/planes.h in C99, with its proofs.

// Relative errors of rounding behind a product or a maximum, in the order of PlaneErrors.
typedef struct bf_plane_errors {
  double product;
  double offset;
} bf_plane_errors;

// Writes offsets with the price of `spread`, what the sums' errors multiply.
BF_FUNCTION void bf_put_plane_offsets(double upper, double lower, const bf_plane_errors* errors,
                                      double spread, int n, BF_GLOBAL float* to) {
  const double above = bf_magnitude_double(upper);
  const double below = bf_magnitude_double(lower);
  const double lost = errors->product * spread + errors->offset * (above > below ? above : below);
  bf_put_offsets(upper, lower, lost * bf_price_factor(errors->offset), n, to);
}

// |a - b|, or more.
BF_FUNCTION double bf_distance_up(double a, double b) {
  return bf_larger_double(bf_sub_up(a, b), bf_sub_up(b, a));
}

// A box [low, high] as centre and radius; all reals when it is not finite.
BF_FUNCTION void bf_store_box(double low, double high, BF_GLOBAL double* centre,
                              BF_GLOBAL float* radius) {
  const bool finite = low >= -DBL_MAX && high <= DBL_MAX;
  *centre = finite ? 0.5 * low + 0.5 * high : 0.0;
  const double reach = bf_larger_double(bf_sub_up(high, *centre), bf_sub_up(*centre, low));
  *radius = finite ? bf_float_up(reach) : BF_INFINITY;
}

// The slack of a layer without rounding of its own, which underflow alone may cost something.
BF_FUNCTION void bf_put_plane_slack(int n, double reach, BF_GLOBAL double* slack) {
  slack[BF_CENTRE_SLACK] = 0.0;
  slack[BF_RADIUS_SLACK] = 0.0;
  slack[BF_OPEN_ROWS] = 0.0;
  slack[BF_UNDERFLOW_SLACK] = ((double)n + reach) * (1.0 + 0x1p-20);
}

// A factor of a product, or what it is read from: a centre and a radius.
typedef struct bf_factor {
  double centre;
  float radius;
} bf_factor;

BF_FUNCTION bf_factor bf_factor_of(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                   int k) {
  const bf_factor made = {centre[k], radius[k]};
  return made;
}

// Returns the centre over the radius, in [-1, 1]: 1 or -1 where the box has no 0; 0 for points.
BF_FUNCTION float bf_ratio_of(double centre, float radius) {
  if (!(radius > 0.0f)) return 0.0f;
  const double ratio = centre / (double)radius;
  return ratio < -1.0 ? -1.0f : ratio > 1.0 ? 1.0f : (float)ratio;
}

// Slopes of planes over one factor, and what one of them may miss at most: PlaneSlopes.
typedef struct bf_plane_slopes {
  float middle;
  float upper;
  float lower;
  double missed;
} bf_plane_slopes;

// The slope that a mixture t makes.
BF_FUNCTION float bf_mixed_slope(const bf_factor* other, float t, double* missed) {
  const double more = (double)t * (double)other->radius;
  const float slope = bf_nearest_float(other->centre + more);
  const double apart = bf_larger_double(bf_sub_up(bf_add_up(other->centre, more), (double)slope),
                                        bf_sub_up((double)slope, bf_add_down(other->centre, more)));
  *missed = bf_larger_double(apart, *missed);
  return slope;
}

BF_FUNCTION bf_plane_slopes bf_slopes_of_plane(const bf_factor* other, float above, float below) {
  bf_plane_slopes made;
  made.middle = bf_nearest_float(other->centre);
  made.missed = bf_distance_up(other->centre, (double)made.middle);
  made.upper = bf_mixed_slope(other, above, &made.missed);
  made.lower = bf_mixed_slope(other, below, &made.missed);
  return made;
}

BF_FUNCTION bool bf_slopes_known(const bf_plane_slopes* slopes) {
  return bf_magnitude_float(slopes->middle) <= FLT_MAX &&
         bf_magnitude_float(slopes->upper) <= FLT_MAX &&
         bf_magnitude_float(slopes->lower) <= FLT_MAX;
}

BF_FUNCTION double bf_largest_slope(const bf_plane_slopes* slopes) {
  const double upper = bf_magnitude_double((double)slopes->upper);
  const double lower = bf_magnitude_double((double)slopes->lower);
  return bf_larger_double(bf_magnitude_double((double)slopes->middle),
                          bf_larger_double(upper, lower));
}

// One element's part of a product's table: slopes over both factors, and offsets.
typedef struct bf_product_plane {
  bf_plane_slopes over_x;
  bf_plane_slopes over_y;
  double upper;
  double lower;
} bf_product_plane;

BF_FUNCTION bf_product_plane bf_plane_of_product(const bf_factor* x, const bf_factor* y, double z) {
  const float u = bf_ratio_of(x->centre, x->radius);
  const float v = bf_ratio_of(y->centre, y->radius);
  const float a = bf_magnitude_float(u);
  const float b = bf_magnitude_float(v);
  const bool apart = a >= 1.0f && b >= 1.0f;  // from zero, both
  const float least = a < b ? a : b;
  const float t = apart ? -v : v < 0.0f ? least : -least;
  const bool alike = (u < 0.0f) == (v < 0.0f);
  const float above = apart || !alike ? t : 0.0f;
  const float below = apart || alike ? t : 0.0f;
  bf_product_plane made;
  made.over_x = bf_slopes_of_plane(y, above, below);
  made.over_y = bf_slopes_of_plane(x, -above, below);
  const double r = (double)x->radius;
  const double s = (double)y->radius;
  const double rest = bf_add_up(bf_mul_up(r, s), bf_add_up(bf_mul_up(made.over_x.missed, r),
                                                           bf_mul_up(made.over_y.missed, s)));
  made.upper = bf_add_up(bf_sub_up(bf_mul_up(x->centre, y->centre), z), rest);
  made.lower = bf_sub_down(bf_sub_down(bf_mul_down(x->centre, y->centre), z), rest);
  return made;
}

// The box of x y: extremes are at corners.
BF_FUNCTION void bf_product_box(const bf_factor* x, const bf_factor* y, double* low, double* high) {
  const double xs[2] = {bf_sub_down(x->centre, (double)x->radius),
                        bf_add_up(x->centre, (double)x->radius)};
  const double ys[2] = {bf_sub_down(y->centre, (double)y->radius),
                        bf_add_up(y->centre, (double)y->radius)};
  *low = BF_INFINITY_DOUBLE;
  *high = -BF_INFINITY_DOUBLE;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      const double down = bf_mul_down(xs[i], ys[k]);
      const double up = bf_mul_up(xs[i], ys[k]);
      *low = down < *low ? down : *low;
      *high = up > *high ? up : *high;
    }
}

BF_FUNCTION bf_product_plane bf_flat_plane(double upper, double lower) {
  const bf_plane_slopes flat = {0.0f, 0.0f, 0.0f, 0.0};
  bf_product_plane made;
  made.over_x = flat;
  made.over_y = flat;
  made.upper = upper;
  made.lower = lower;
  return made;
}

// Writes element i of a product's table. flat: the box itself is as tight as the plane.
BF_FUNCTION void bf_put_product(int n, int i, const bf_factor* x, const bf_factor* y, double low,
                                double high, double most, const bf_plane_errors* errors,
                                double centre, float radius, BF_GLOBAL float* table) {
  bf_product_plane plane = bf_plane_of_product(x, y, centre);
  const bool flat = most > 0.0 && !(plane.upper - plane.lower < high - low);
  if (flat) plane = bf_flat_plane(bf_sub_up(high, centre), bf_sub_down(low, centre));
  if (!(radius <= FLT_MAX && bf_slopes_known(&plane.over_x) && bf_slopes_known(&plane.over_y)))
    plane = bf_flat_plane(BF_INFINITY_DOUBLE, -BF_INFINITY_DOUBLE);
  const double spread_x = bf_largest_slope(&plane.over_x) * (double)x->radius;
  const double spread_y = bf_largest_slope(&plane.over_y) * (double)y->radius;
  const double spread = (flat ? 0.0 : spread_x + spread_y) + (double)radius;
  const ptrdiff_t row = n;
  table[i] = plane.over_x.middle;
  table[row + i] = plane.over_y.middle;
  table[2 * row + i] = plane.over_x.upper;
  table[3 * row + i] = plane.over_x.lower;
  table[4 * row + i] = plane.over_y.upper;
  table[5 * row + i] = plane.over_y.lower;
  bf_put_plane_offsets(plane.upper, plane.lower, errors, spread, n, table + 6 * row + i);
}

// z_i = x y. table: ProductRows, or null for boxes alone, which leaves the slack. most: |z| is at
// most so much; 0 where nothing is known.
BF_FUNCTION void bf_relax_product(int n, bf_sources gather_x, bf_sources gather_y,
                                  BF_GLOBAL const double* centre_x, BF_GLOBAL const float* radius_x,
                                  BF_GLOBAL const double* centre_y, BF_GLOBAL const float* radius_y,
                                  double most, const bf_plane_errors* errors,
                                  BF_GLOBAL double* slack, BF_GLOBAL float* table,
                                  BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  BF_ONCE if (table != NULL) {
    double reach = 0.0;
    for (int i = 0; i < n; ++i)
      reach += (double)radius_x[bf_source_of(&gather_x, i)] +
               (double)radius_y[bf_source_of(&gather_y, i)];
    bf_put_plane_slack(n, reach, slack);
  }
  BF_EACH (i, n) {
    const bf_factor x = bf_factor_of(centre_x, radius_x, bf_source_of(&gather_x, i));
    const bf_factor y = bf_factor_of(centre_y, radius_y, bf_source_of(&gather_y, i));
    double low;
    double high;
    bf_product_box(&x, &y, &low, &high);
    if (most > 0.0) {
      low = low > -most ? low : -most;
      high = high < most ? high : most;
    }
    bf_store_box(low, high, centre_out + i, radius_out + i);
    if (table == NULL) continue;
    bf_put_product(n, i, &x, &y, low, high, most, errors, centre_out[i], radius_out[i], table);
  }
}

// The rows' sums at products. offsets: those of upper bounds, then those of lower ones.
BF_FUNCTION void bf_product_rows(int rows, int n, BF_GLOBAL const float* offsets,
                                 BF_GLOBAL const float* coefficients, BF_GLOBAL float* sums) {
  BF_EACH (r, rows) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
      const float a = coefficients[(ptrdiff_t)i * rows + r];
      sum += (double)a * (double)(a < 0.0f ? offsets[i] : offsets[n + i]);
    }
    sums[r] = (float)((double)sums[r] + sum);
  }
}

// One factor's coefficients: those of z times its slopes, above and then below.
BF_FUNCTION void bf_product_backward(int rows, int n, bf_sources source,
                                     BF_GLOBAL const float* slopes, int in,
                                     BF_GLOBAL const float* from, bool add, BF_GLOBAL float* to) {
  bf_begin_rows(add, rows, in, to);
  for (int i = 0; i < n; ++i) {
    BF_GLOBAL float* const into = to + (ptrdiff_t)bf_source_of(&source, i) * rows;
    BF_EACH (r, rows) {
      const float a = from[(ptrdiff_t)i * rows + r];
      into[r] += a * (a < 0.0f ? slopes[i] : slopes[n + i]);
    }
  }
}

// Bounds of one group: GroupBox.
typedef struct bf_group {
  double low;
  double high;
  double others;
  int32_t choice;
} bf_group;

BF_FUNCTION bf_group bf_group_box(BF_GLOBAL const int32_t* column, int32_t begin, int32_t end,
                                  BF_GLOBAL const double* centre, BF_GLOBAL const float* radius) {
  bf_group made = {-BF_INFINITY_DOUBLE, -BF_INFINITY_DOUBLE, -BF_INFINITY_DOUBLE, column[begin]};
  double largest = -BF_INFINITY_DOUBLE;
  for (int32_t k = begin; k < end; ++k) {
    const double r = (double)radius[column[k]];
    const double low = bf_sub_down(centre[column[k]], r);
    const double high = bf_add_up(centre[column[k]], r);
    const bool better =
        k == begin || low > made.low || (bf_is_equal(low, made.low) && high > largest);
    made.high = high > made.high ? high : made.high;
    if (k != begin) made.others = bf_larger_double(better ? largest : high, made.others);
    if (!better) continue;
    made.low = low;
    largest = high;
    made.choice = column[k];
  }
  return made;
}

// z_i = the largest x of a group; no group is empty. table: MaxRows, and the choices; or null for
// boxes alone.
BF_FUNCTION void bf_relax_max(int rows, BF_GLOBAL const int32_t* row_start,
                              BF_GLOBAL const int32_t* column, BF_GLOBAL const double* centre_in,
                              BF_GLOBAL const float* radius_in, const bf_plane_errors* errors,
                              BF_GLOBAL double* slack, BF_GLOBAL float* table,
                              BF_GLOBAL int32_t* choice, BF_GLOBAL double* centre_out,
                              BF_GLOBAL float* radius_out) {
  BF_EACH (i, rows) {
    const bf_group box = bf_group_box(column, row_start[i], row_start[i + 1], centre_in, radius_in);
    const double chosen = centre_in[box.choice];
    const bool exact = box.others <= box.low;
    if (exact) {
      centre_out[i] = chosen;
      radius_out[i] = radius_in[box.choice];
    } else {
      bf_store_box(box.low, box.high, centre_out + i, radius_out + i);
    }
    if (table == NULL) continue;
    const double upper = exact ? 0.0 : bf_sub_up(box.high, centre_out[i]);
    const double lower = exact ? 0.0 : bf_sub_down(chosen, centre_out[i]);
    const double spread = (double)radius_in[box.choice] + (double)radius_out[i];
    bf_put_plane_offsets(upper, lower, errors, spread, rows, table + i);
    table[2 * (ptrdiff_t)rows + i] = exact ? 0.0f : 1.0f;
    choice[i] = box.choice;
  }
  BF_BARRIER;
  BF_ONCE if (table != NULL) {
    double reach = 0.0;
    for (int i = 0; i < rows; ++i) reach += (double)radius_in[choice[i]];
    bf_put_plane_slack(rows, reach, slack);
  }
}

// Adds to the rows' sums, and makes their coefficients over x or, with `add`, adds to them.
BF_FUNCTION void bf_max_backward(int rows, int n, BF_GLOBAL const float* table,
                                 BF_GLOBAL const int32_t* choice, int in,
                                 BF_GLOBAL const float* from, bool add, BF_GLOBAL float* to,
                                 BF_GLOBAL float* sums) {
  bf_begin_rows(add, rows, in, to);
  for (int i = 0; i < n; ++i) {
    const float kept = bf_is_zero_float(table[2 * (ptrdiff_t)n + i]) ? 1.0f : 0.0f;
    BF_EACH (r, rows) {
      const float a = from[(ptrdiff_t)i * rows + r];
      to[(ptrdiff_t)choice[i] * rows + r] += a * (a < 0.0f ? kept : 1.0f);
    }
  }
  bf_product_rows(rows, n, table, from, sums);
}
