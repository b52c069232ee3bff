#pragma once

#include "bf/c/log_softmax.h"

// Products of matrices of two computed tensors, in batches: bf/sums/contraction.h in C99. Proof:
// docs/proofs/contraction.md.

// Numbers of each element of a factor: FactorElement.
typedef struct bf_factor_element {
  double low;
  double high;
  double most;
  double centre;
  double radius;
  double size;
} bf_factor_element;

// The number of doubles of a factor's element: kContractionPanels in bf/contract/tables.h.
#define BF_CONTRACTION_PANELS 6

// bf_end_of_mean() ends then: kMostPasses in bf/sums/means.h.
#define BF_MOST_PASSES 24

// shift: what is taken off it, up to the rounding of the centre.
BF_FUNCTION bf_factor_element bf_element_of_factor(double centre, float radius, double shift) {
  const double r = (double)radius;
  bf_factor_element made = {
      bf_sub_down(centre, r), bf_add_up(centre, r), 0.0, centre - shift, r, 0.0};
  if (!bf_is_zero(shift)) {
    made.low = bf_sub_down(made.low, shift);
    made.high = bf_sub_up(made.high, shift);
  }
  made.most = bf_larger_double(-made.low, made.high);
  const bool has_float = bf_magnitude_float(bf_nearest_float(made.centre)) <= FLT_MAX;
  made.size = has_float ? bf_magnitude_double(made.centre) + 0x1p-120 : BF_INFINITY_DOUBLE;
  return made;
}

// Writes the numbers of an element, `step` apart.
BF_FUNCTION void bf_put_element(const bf_factor_element* element, ptrdiff_t step,
                                BF_GLOBAL double* to) {
  to[0] = element->low;
  to[step] = element->high;
  to[2 * step] = element->most;
  to[3 * step] = element->centre;
  to[4 * step] = element->radius;
  to[5 * step] = element->size;
}

// One output's sums, and what they may miss: ContractedElement.
typedef struct bf_contracted {
  double low;
  double high;
  double most;
  double centre;
  double rest;
  double spread;
} bf_contracted;

BF_FUNCTION double bf_lesser_double(double a, double b) {
  return a < b ? a : b;
}

BF_FUNCTION double bf_missed_of_sums(int k) {
  return (double)(k + 8) * 0x1p-52;
}

BF_FUNCTION double bf_lost_of_sums(double most, int k) {
  return most * bf_missed_of_sums(k) + (double)k * 0x1p-1070;
}

// Adds the ends of one product of elements, of_x and of_y apart, to the sums.
BF_FUNCTION void bf_add_contracted(BF_GLOBAL const double* x, ptrdiff_t of_x,
                                   BF_GLOBAL const double* y, ptrdiff_t of_y, bf_contracted* sums) {
  const double a = x[0] * y[0];
  const double b = x[0] * y[of_y];
  const double c = x[of_x] * y[0];
  const double d = x[of_x] * y[of_y];
  sums->low += bf_lesser_double(bf_lesser_double(a, b), bf_lesser_double(c, d));
  sums->high += bf_larger_double(bf_larger_double(a, b), bf_larger_double(c, d));
}

BF_FUNCTION void bf_add_contracted_plane(BF_GLOBAL const double* x, ptrdiff_t of_x,
                                         BF_GLOBAL const double* y, ptrdiff_t of_y,
                                         bf_contracted* sums) {
  const double radius_y = y[4 * of_y];
  sums->centre += x[3 * of_x] * y[3 * of_y];
  sums->rest += x[4 * of_x] * radius_y;
  sums->spread += x[5 * of_x] * radius_y + x[4 * of_x] * y[5 * of_y];
}

BF_FUNCTION bf_contracted bf_contract(int k, int n, BF_GLOBAL const double* row,
                                      BF_GLOBAL const double* column, bool boxes, bool planes,
                                      ptrdiff_t of_y) {
  bf_contracted sums = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  for (int l = 0; l < k; ++l) {
    BF_GLOBAL const double* const y = column + (ptrdiff_t)l * n;
    if (boxes) bf_add_contracted(row + l, k, y, of_y, &sums);
    sums.most += row[l + 2 * k] * y[2 * of_y];
    if (planes) bf_add_contracted_plane(row + l, k, y, of_y, &sums);
  }
  return sums;
}

// A column of y, of means: what is taken off its elements, and their ends.
typedef struct bf_column {
  double shift;
  double low;
  double high;
} bf_column;

// The mean of the centres of `count` elements is the shift, where their distances from it are less
// than those from 0, together.
BF_FUNCTION bf_column bf_convex_column(const bf_sources* source, int first, int count,
                                       BF_GLOBAL const double* centre,
                                       BF_GLOBAL const float* radius) {
  bf_column made = {0.0, BF_INFINITY_DOUBLE, -BF_INFINITY_DOUBLE};
  double sum = 0.0;
  double from_zero = 0.0;
  double from_mean = 0.0;
  for (int l = 0; l < count; ++l) {
    const int at = bf_source_of(source, first + l);
    const double r = (double)radius[at];
    made.low = bf_lesser_double(bf_sub_down(centre[at], r), made.low);
    made.high = bf_larger_double(bf_add_up(centre[at], r), made.high);
    sum += centre[at];
    from_zero += bf_magnitude_double(centre[at]);
  }
  const double mean = sum / (double)count;
  for (int l = 0; l < count; ++l)
    from_mean += bf_magnitude_double(centre[bf_source_of(source, first + l)] - mean);
  if (from_mean < from_zero) made.shift = mean;
  return made;
}

// The box of z, or all reals where some end is not finite.
BF_FUNCTION void bf_store_contracted(const bf_contracted* e, int k, BF_GLOBAL double* centre,
                                     BF_GLOBAL float* radius) {
  const double lost = bf_lost_of_sums(e->most, k);
  const bool finite = e->most <= DBL_MAX;
  const double low = finite ? bf_sub_down(e->low, lost) : -BF_INFINITY_DOUBLE;
  const double high = finite ? bf_add_up(e->high, lost) : BF_INFINITY_DOUBLE;
  bf_store_box(low, high, centre, radius);
}

// Offsets of z's planes, with what they pay per |A|.
BF_FUNCTION void bf_put_contracted(const bf_contracted* e, int k, double shift, double z,
                                   float radius, const bf_plane_errors* errors, int n,
                                   BF_GLOBAL float* offsets) {
  const double missed = bf_missed_of_sums(k);
  const double rounded = 0x1p-24 * (1.0 + 0x1p-20) * (2.0 * e->spread + 2.0 * e->rest);
  const double lost = e->most * missed + (e->rest + rounded) * (1.0 + missed) + 0x1p-1000;
  const bool known = e->most <= DBL_MAX && radius <= FLT_MAX && e->spread <= DBL_MAX;
  const bool plain = bf_is_zero(shift);
  const double above = plain ? e->centre : bf_add_up(e->centre, shift);
  const double below = plain ? e->centre : bf_add_down(e->centre, shift);
  const double upper = known ? bf_add_up(bf_sub_up(above, z), lost) : BF_INFINITY_DOUBLE;
  const double lower = known ? bf_sub_down(bf_sub_down(below, z), lost) : -BF_INFINITY_DOUBLE;
  const double spread = (e->spread + e->rest) * (1.0 + missed + 0x1p-22) + (double)radius;
  bf_put_plane_offsets(upper, lower, errors, spread, n, offsets);
}

// A centre as a slope; 0 where no float is near it.
BF_FUNCTION float bf_slope_of(double centre) {
  const float slope = bf_nearest_float(centre);
  return bf_magnitude_float(slope) <= FLT_MAX ? slope : 0.0f;
}

// A factor of a contraction: where it is read, its slopes in the middle and its FactorTable of
// `count` elements in the table, or null.
typedef struct bf_contraction_factor {
  bf_sources source;
  BF_GLOBAL const double* centre;
  BF_GLOBAL const float* radius;
  BF_GLOBAL float* slopes;
  BF_GLOBAL float* table;
  ptrdiff_t count;
} bf_contraction_factor;

// Puts element `place` of a factor.
BF_FUNCTION void bf_put_factor(const bf_contraction_factor* factor, int place, double shift,
                               ptrdiff_t step, BF_GLOBAL double* to) {
  const int g = bf_source_of(&factor->source, place);
  const bf_factor_element element =
      bf_element_of_factor(factor->centre[g], factor->radius[g], shift);
  bf_put_element(&element, step, to);
  const float radius = factor->radius[g];
  if (factor->slopes != NULL) {
    const float known = radius <= FLT_MAX ? radius : 0.0f;
    const float half = 0.5f * bf_ratio_of(element.centre, known);
    factor->slopes[place] = bf_slope_of(element.centre);
    factor->table[place] = bf_slope_of(element.centre - (double)known * (double)half);
    factor->table[factor->count + place] = known;
    factor->table[2 * factor->count + place] = half;
  }
}

// The radii of the factors' elements, times as many outputs as read each.
BF_FUNCTION double bf_contraction_reach(int batch, int m, int n, int k,
                                        const bf_contraction_factor* x,
                                        const bf_contraction_factor* y) {
  double reach = 0.0;
  for (int b = 0; b < batch; ++b) {
    for (int i = b * n * k; i < (b + 1) * n * k; ++i)
      reach += (double)m * (double)y->radius[bf_source_of(&y->source, i)];
    for (int i = b * m * k; i < (b + 1) * m * k; ++i)
      reach += (double)n * (double)x->radius[bf_source_of(&x->source, i)];
  }
  return reach;
}

// A row's weights up to a common factor.
typedef struct bf_weights {
  BF_GLOBAL double* low;
  BF_GLOBAL double* high;
} bf_weights;

// The scores that x is the softmax of, and of each element of x, its score; -1: it is 0.
typedef struct bf_scores {
  BF_GLOBAL const int32_t* score;
  BF_GLOBAL const double* centre;
  BF_GLOBAL const float* radius;
} bf_scores;

// The end of a mean above, or below it, at most `hull`: find_quotients() in bf/sums/means.h. from:
// where Newton's method begins; becomes where it ends.
BF_FUNCTION double bf_end_of_mean(int k, bool upper, const bf_weights* weights,
                                  BF_GLOBAL const double* ends, ptrdiff_t step,
                                  BF_GLOBAL double* from, double hull) {
  const double outward = upper ? 1.0 : -1.0;
  double shift = *from;
  double bound = hull;
  bool passed = false;
  bool moves = true;
  for (int pass = 1; moves && pass <= BF_MOST_PASSES; ++pass) {
    double sum = 0.0;
    double most = 0.0;
    double weight = 0.0;
    for (int l = 0; l < k; ++l) {
      const double far = ends[l * step] - shift;
      const double w = (upper ? far > 0.0 : far < 0.0) ? weights->high[l] : weights->low[l];
      const double part = far * w;
      sum += part;
      most += part < 0.0 ? -part : part;
      weight += w;
    }
    const double behind = -outward * sum;
    const double lost = bf_lost_of_sums(most, k);
    const double margin = lost + weight * (bf_magnitude_double(shift) * 0x1p-51);
    const double next = shift + outward * ((4.0 * margin - behind) / weight);
    const bool known = most <= DBL_MAX;
    const bool passes = known && behind >= lost;
    if (passes) bound = shift;
    const bool ends_here = passes && (passed || behind <= 16.0 * margin);
    passed = passed || passes;
    moves = known && !ends_here && (next < shift || next > shift);
    if (moves) shift = next;
  }
  *from = shift;
  return upper ? bf_lesser_double(bound, hull) : bf_larger_double(bound, hull);
}

// Puts the ends of batch entry b's columns, and where Newton's method begins.
BF_FUNCTION void bf_put_ends(int b, int n, int k, const bf_contraction_factor* y,
                             BF_GLOBAL const bf_column* hulls, BF_GLOBAL double* low) {
  BF_GLOBAL double* const high = low + (ptrdiff_t)k * n;
  BF_GLOBAL double* const below = high + (ptrdiff_t)k * n;
  BF_GLOBAL double* const above = below + (ptrdiff_t)k * n;
  BF_EACH (j, n) {
    for (int l = 0; l < k; ++l) {
      const int g = bf_source_of(&y->source, (b * n + j) * k + l);
      low[(ptrdiff_t)l * n + j] = bf_sub_down(y->centre[g], (double)y->radius[g]);
      high[(ptrdiff_t)l * n + j] = bf_add_up(y->centre[g], (double)y->radius[g]);
    }
    below[j] = 0.5 * hulls[j].low + 0.5 * hulls[j].high;
    above[j] = below[j];
  }
}

// Puts row i's weights: the powers of its scores' ends, outward, relative to the largest lower end.
// Returns false where a power is too large, for all items alike.
BF_FUNCTION bool bf_put_weights(int i, int k, const bf_contraction_factor* x, const bf_scores* s,
                                const bf_weights* to) {
  double floor = -BF_INFINITY_DOUBLE;
  bool known = true;
  for (int l = 0; l < k; ++l) {
    const int at = (int)s->score[bf_source_of(&x->source, i * k + l)];
    if (at < 0) continue;
    floor = bf_larger_double(bf_sub_down(s->centre[at], (double)s->radius[at]), floor);
  }
  if (!(floor >= -DBL_MAX)) return false;
  for (int l = 0; l < k; ++l) {
    const int at = (int)s->score[bf_source_of(&x->source, i * k + l)];
    if (at < 0) continue;
    const double most = bf_add_up(s->centre[at], (double)s->radius[at]);
    known = known && bf_sub_up(most, floor) <= BF_MOST_EXPONENT;
  }
  if (!known) return false;
  BF_EACH (l, k) {
    const int at = (int)s->score[bf_source_of(&x->source, i * k + l)];
    double least = -BF_INFINITY_DOUBLE;
    double most = -BF_INFINITY_DOUBLE;
    if (at >= 0) {
      least = bf_sub_down(s->centre[at], (double)s->radius[at]);
      most = bf_add_up(s->centre[at], (double)s->radius[at]);
    }
    to->low[l] = bf_e_down(bf_sub_down(least, floor));
    to->high[l] = most >= -DBL_MAX ? bf_e_up(bf_sub_up(most, floor)) : 0.0;
  }
  return true;
}

// The boxes of the means of batch entry b, whose columns have hulls.
BF_FUNCTION void bf_bound_means(int b, int m, int n, int k, const bf_contraction_factor* x,
                                const bf_contraction_factor* y, const bf_scores* scores,
                                BF_GLOBAL const bf_column* hulls, BF_GLOBAL double* scratch,
                                BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  const ptrdiff_t of_y = (ptrdiff_t)k * n;
  BF_GLOBAL double* const row = scratch + BF_CONTRACTION_PANELS * of_y;
  const bf_weights weights = {row, row + k};
  bf_put_ends(b, n, k, y, hulls, scratch);
  for (int i = b * m; i < (b + 1) * m; ++i) {
    const bool known = bf_put_weights(i, k, x, scores, &weights);
    BF_BARRIER;
    BF_EACH (j, n) {
      double low = hulls[j].low;
      double high = hulls[j].high;
      if (known) {
        low = bf_end_of_mean(k, false, &weights, scratch + j, n, scratch + 2 * of_y + j, low);
        high =
            bf_end_of_mean(k, true, &weights, scratch + of_y + j, n, scratch + 3 * of_y + j, high);
      }
      bf_store_box(low, high, centre_out + i * n + j, radius_out + i * n + j);
    }
    BF_BARRIER;
  }
}

// The elements of batch entry b's columns of y; of_columns: those of means.
BF_FUNCTION void bf_put_columns(int b, int n, int k, bool convex, const bf_contraction_factor* y,
                                BF_GLOBAL double* columns, BF_GLOBAL const bf_column* of_columns) {
  const ptrdiff_t of_y = (ptrdiff_t)k * n;
  BF_EACH (j, n)
    for (int l = 0; l < k; ++l)
      bf_put_factor(y, (b * n + j) * k + l, convex ? of_columns[j].shift : 0.0, of_y,
                    columns + (ptrdiff_t)l * n + j);
}

// score, scratch, table: as of relax_contraction() in C++.
BF_FUNCTION void bf_relax_contraction(
    int batch, int m, int n, int k, bf_sources gather_x, bf_sources gather_y,
    BF_GLOBAL const double* centre_x, BF_GLOBAL const float* radius_x,
    BF_GLOBAL const double* centre_y, BF_GLOBAL const float* radius_y,
    BF_GLOBAL const int32_t* score, BF_GLOBAL const double* centre_s,
    BF_GLOBAL const float* radius_s, const bf_plane_errors* errors, BF_GLOBAL double* scratch,
    BF_GLOBAL double* slack, BF_GLOBAL float* table, BF_GLOBAL double* centre_out,
    BF_GLOBAL float* radius_out) {
  const int out = batch * m * n;
  const ptrdiff_t of_y = (ptrdiff_t)k * n;
  BF_GLOBAL double* const row = scratch + BF_CONTRACTION_PANELS * of_y;
  BF_GLOBAL bf_column* const of_columns =
      (BF_GLOBAL bf_column*)(BF_GLOBAL void*)(row + BF_CONTRACTION_PANELS * (ptrdiff_t)k);
  const bool planes = table != NULL;
  const bool convex = score != NULL;
  const bf_scores scores = {score, centre_s, radius_s};
  bf_contraction_factor x;
  bf_contraction_factor y;
  x.source = gather_x;
  x.centre = centre_x;
  x.radius = radius_x;
  x.slopes = planes ? table + 2 * (ptrdiff_t)out : NULL;
  x.count = (ptrdiff_t)batch * m * k;
  y.source = gather_y;
  y.centre = centre_y;
  y.radius = radius_y;
  y.slopes = planes ? x.slopes + x.count : NULL;
  y.count = (ptrdiff_t)batch * n * k;
  x.table = planes ? y.slopes + y.count : NULL;
  y.table = planes ? x.table + 3 * x.count : NULL;
  BF_ONCE if (planes) {
    bf_put_plane_slack(out, 3.0 * bf_contraction_reach(batch, m, n, k, &x, &y), slack);
  }
  const int sums = planes || !convex ? m : 0;  // rows of them
  for (int b = 0; b < batch; ++b) {
    if (convex) {
      BF_EACH (j, n)
        of_columns[j] = bf_convex_column(&gather_y, (b * n + j) * k, k, centre_y, radius_y);
      bf_bound_means(b, m, n, k, &x, &y, &scores, of_columns, scratch, centre_out, radius_out);
    }
    if (sums > 0) bf_put_columns(b, n, k, convex, &y, scratch, of_columns);
    for (int i = 0; i < sums; ++i) {
      BF_EACH (l, k) bf_put_factor(&x, (b * m + i) * k + l, 0.0, k, row + l);
      BF_BARRIER;
      BF_EACH (j, n) {
        const int at = (b * m + i) * n + j;
        const bf_contracted made = bf_contract(k, n, row, scratch + j, !convex, planes, of_y);
        if (!convex) bf_store_contracted(&made, k, centre_out + at, radius_out + at);
        if (planes)
          bf_put_contracted(&made, k, convex ? of_columns[j].shift : 0.0, centre_out[at],
                            radius_out[at], errors, out, table + at);
      }
      BF_BARRIER;
    }
  }
}

// One factor's coefficients: those of z times the other factor's slopes, less half ratios of the
// factor's own times sums of the other's radii. The factor has m rows and
// the other one n, in each batch entry; coefficients of z are [m][n] if it is the `first`, else
// [n][m].
BF_FUNCTION void bf_contraction_backward(int rows, int batch, int m, int n, int k, bool first,
                                         bf_sources source, BF_GLOBAL const float* slopes,
                                         BF_GLOBAL const float* radii,
                                         BF_GLOBAL const float* halves, int in,
                                         BF_GLOBAL const float* from, bool add,
                                         BF_GLOBAL float* to) {
  bf_begin_rows(add, rows, in, to);
  const ptrdiff_t of_row = first ? n : 1;
  const ptrdiff_t of_other = first ? 1 : m;
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < m; ++i)
      for (int l = 0; l < k; ++l) {
        const ptrdiff_t own = ((ptrdiff_t)b * m + i) * k + l;
        const ptrdiff_t element = bf_source_of(&source, (int)own);
        BF_EACH (r, rows) {
          float sum = 0.0f;
          float bend = 0.0f;
          for (int j = 0; j < n; ++j) {
            const ptrdiff_t at = (ptrdiff_t)b * m * n + i * of_row + j * of_other;
            const ptrdiff_t other = ((ptrdiff_t)b * n + j) * k + l;
            const float a = from[at * rows + r];
            sum += a * slopes[other];
            bend += (a < 0.0f ? -a : a) * radii[other];
          }
          to[element * rows + r] += sum - bend * halves[own];
        }
      }
}
