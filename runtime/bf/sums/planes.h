#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/core/lanes.h"
#include "bf/core/relax.h"
#include "bf/sums/backward.h"
#include "bf/sums/terms.h"

// Layers of two variables and more: products z_i = x y and maxima z_i = max of x over a group.
// Boxes, linear bounds relative to the centres that pay for the roundings, and the backward step
// through them. Conventions as in bounds.h and backward.h.

namespace bf {

// Relative errors of rounding behind a product or a maximum; see RelaxProduct in the plan.
struct PlaneErrors {
  double product;  // of the float sums that A or A slope enters, their own rounding included
  double offset;   // of the sum of A offset
};

// put_offsets() of bounds.h with the price of `spread`, what the sums' errors multiply.
static inline void put_offsets(double upper, double lower, const PlaneErrors& errors, double spread,
                               int n, float* to) {
  const double above = __builtin_fabs(upper), below = __builtin_fabs(lower);
  const double lost = errors.product * spread + errors.offset * (above > below ? above : below);
  put_offsets(upper, lower, lost * price_factor(errors.offset), n, to);
}

// |a - b|, or more.
static inline double distance_up(double a, double b) {
  const double right = sub_up(a, b);
  const double left = sub_up(b, a);
  return right > left ? right : left;
}

// A box [low, high] as centre and radius; all reals when it is not finite.
static inline void store_box(double low, double high, double* centre, float* radius) {
  const bool finite = low >= -__DBL_MAX__ && high <= __DBL_MAX__;
  *centre = finite ? 0.5 * low + 0.5 * high : 0;
  const double right = sub_up(high, *centre);
  const double left = sub_up(*centre, low);
  *radius = finite ? float_up(right > left ? right : left) : __builtin_inff();
}

// ---- products

// Returns the centre over the radius, in [-1, 1]: 1 or -1 where the box has no 0; 0 for points.
static inline float ratio_of(double centre, float radius) {
  if (!(radius > 0)) return 0;
  const double ratio = centre / static_cast<double>(radius);
  return ratio < -1 ? -1.0f : ratio > 1 ? 1.0f : static_cast<float>(ratio);
}

// Which mixture of McCormick's two planes is taken on either side, both in [-1, 1].
struct PlaneMixture {
  float upper, lower;
};

// u, v: the ratios of x and y. The slopes over y and x are nearest to zero for t = -u and t = -v
// below, and for u and -v above. All t between make planes that reach the box of x y. Where neither
// factor's box holds zero, -v is taken, else what is nearest to zero.
static inline PlaneMixture mixture_of(float u, float v) {
  const float a = __builtin_fabsf(u), b = __builtin_fabsf(v);
  if (a >= 1 && b >= 1) return {-v, -v};
  const float least = a < b ? a : b;
  const float t = v < 0 ? least : -least;
  if ((u < 0) == (v < 0)) return {0, t};
  return {t, 0};
}

// Slopes of planes over one factor, and what one of them may miss at most.
struct PlaneSlopes {
  float middle, upper, lower;
  double missed;

  // centre, radius: of the other factor; the slopes are centre + t radius.
  PlaneSlopes(double centre, float radius, float above, float below)
      : middle(nearest_float(centre)), missed(distance_up(centre, static_cast<double>(middle))) {
    upper = mixed(centre, radius, above);
    lower = mixed(centre, radius, below);
  }
  bool known() const {
    return __builtin_fabsf(middle) <= kMaxFloat && __builtin_fabsf(upper) <= kMaxFloat &&
           __builtin_fabsf(lower) <= kMaxFloat;
  }
  double largest() const {
    const float a = __builtin_fabsf(middle), b = __builtin_fabsf(upper), c = __builtin_fabsf(lower);
    return static_cast<double>(a > b ? (a > c ? a : c) : (b > c ? b : c));
  }

 private:
  // Products of floats are exact in double.
  float mixed(double centre, float radius, float t) {
    const double more = static_cast<double>(t) * static_cast<double>(radius);
    const float slope = nearest_float(centre + more);
    const double right = sub_up(add_up(centre, more), static_cast<double>(slope));
    const double left = sub_up(static_cast<double>(slope), add_down(centre, more));
    const double apart = right > left ? right : left;
    missed = apart > missed ? apart : missed;
    return slope;
  }
};

// One element's part of a product's table.
struct ProductPlane {
  PlaneSlopes over_x, over_y;
  double upper, lower;  // offsets
};

// The planes follow from, with dx = x - x_c, dy = y - y_c, |dx| <= r_x, |dy| <= r_y, any s_x, s_y,
//   x y - z_c = s_x dx + s_y dy + (x_c y_c - z_c) + [(y_c - s_x) dx + (x_c - s_y) dy + dx dy],
// and McCormick's (mixed_planes.h): for t in [-1, 1] dx dy >= t (r_y dx + r_x dy) - r_x r_y, so
// that below the bracket is at least -|y_c + t r_y - s_x| r_x - |x_c + t r_x - s_y| r_y - r_x r_y,
// and above with -t over y at most as much. The slopes in the middle, t = 0, pay no more.
static inline ProductPlane product_plane(double x, float radius_x, double y, float radius_y,
                                         double z) {
  const PlaneMixture t = mixture_of(ratio_of(x, radius_x), ratio_of(y, radius_y));
  ProductPlane made = {PlaneSlopes(y, radius_y, t.upper, t.lower),
                       PlaneSlopes(x, radius_x, -t.upper, t.lower), 0, 0};
  const double r = static_cast<double>(radius_x);
  const double s = static_cast<double>(radius_y);
  const double rest =
      add_up(mul_up(r, s), add_up(mul_up(made.over_x.missed, r), mul_up(made.over_y.missed, s)));
  made.upper = add_up(sub_up(mul_up(x, y), z), rest);
  made.lower = sub_down(sub_down(mul_down(x, y), z), rest);
  return made;
}

static inline ProductPlane flat_plane(double upper, double lower) {
  return {PlaneSlopes(0, 0, 0, 0), PlaneSlopes(0, 0, 0, 0), upper, lower};
}

// The box of x y: extremes are at corners.
static inline void product_box(double x, float radius_x, double y, float radius_y, double* low,
                               double* high) {
  const double xs[2] = {sub_down(x, static_cast<double>(radius_x)),
                        add_up(x, static_cast<double>(radius_x))};
  const double ys[2] = {sub_down(y, static_cast<double>(radius_y)),
                        add_up(y, static_cast<double>(radius_y))};
  *low = __builtin_inf();
  *high = -__builtin_inf();
  for (const double a : xs)
    for (const double b : ys) {
      const double down = mul_down(a, b);
      const double up = mul_up(a, b);
      *low = down < *low ? down : *low;
      *high = up > *high ? up : *high;
    }
}

// z_i = x_{gather_x_i} y_{gather_y_i}, i < n; gathers as source_of() takes them. table: the
// ProductRows, each of n floats, or null for boxes alone; then slack is not touched.
//
// Offsets pay a price (price_factor() in bounds.h), which covers, per |A_i|:
//   product: A s_x and A s_y, rounded and added to what else reads x and y, times r_x and r_y, with
//            the largest of each factor's slopes; and A itself, which a wide link rounded to
//            float32, times the radius of z;
//   offset:  the float sum of A offset.
// A box that is not finite gets infinite offsets: rows that meet them claim nothing. most: |z| is
// at most so much; 0 where nothing is known.
template <typename SourcesX, typename SourcesY>
BF_ROUTINE relax_product(int n, SourcesX gather_x, SourcesY gather_y, const double* centre_x,
                         const float* radius_x, const double* centre_y, const float* radius_y,
                         double most, const PlaneErrors& errors, double* slack, float* table,
                         double* centre_out, float* radius_out) {
  double reach = 0;
  for (int i = 0; i < n; ++i) {
    const int g = source_of(gather_x, i);
    const int h = source_of(gather_y, i);
    double low, high;
    product_box(centre_x[g], radius_x[g], centre_y[h], radius_y[h], &low, &high);
    if (most > 0) {
      low = low > -most ? low : -most;
      high = high < most ? high : most;
    }
    store_box(low, high, centre_out + i, radius_out + i);
    if (table == nullptr) continue;
    ProductPlane plane =
        product_plane(centre_x[g], radius_x[g], centre_y[h], radius_y[h], centre_out[i]);
    // The box itself, where the plane is no tighter: products whose box is known otherwise.
    const bool flat = most > 0 && !(plane.upper - plane.lower < high - low);
    if (flat) plane = flat_plane(sub_up(high, centre_out[i]), sub_down(low, centre_out[i]));
    if (!(radius_out[i] <= kMaxFloat && plane.over_x.known() && plane.over_y.known()))
      plane = flat_plane(__builtin_inf(), -__builtin_inf());
    const double spread_x = plane.over_x.largest() * static_cast<double>(radius_x[g]);
    const double spread_y = plane.over_y.largest() * static_cast<double>(radius_y[h]);
    const double spread = (flat ? 0 : spread_x + spread_y) + static_cast<double>(radius_out[i]);
    table[kSlopeX * n + i] = plane.over_x.middle;
    table[kSlopeY * n + i] = plane.over_y.middle;
    table[kUpperSlopeX * n + i] = plane.over_x.upper;
    table[kLowerSlopeX * n + i] = plane.over_x.lower;
    table[kUpperSlopeY * n + i] = plane.over_y.upper;
    table[kLowerSlopeY * n + i] = plane.over_y.lower;
    put_offsets(plane.upper, plane.lower, errors, spread, n, table + kProductUpper * n + i);
    reach += static_cast<double>(radius_x[g]) + static_cast<double>(radius_y[h]);
  }
  if (table == nullptr) return;
  slack[kCentreSlack] = slack[kRadiusSlack] = slack[kOpenRows] = 0;
  slack[kUnderflowSlack] = (static_cast<double>(n) + reach) * (1 + 0x1p-20);
}

// The rows' sums at products; the coefficients are left for product_backward(). offsets: those of
// upper bounds, then those of lower ones.
template <int kRows>
BF_ROUTINE product_rows(int n, const float* offsets, const float* BF_RESTRICT coefficients,
                        float* BF_RESTRICT sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  Sums made;
  for (int i = 0; i < n; ++i) {
    const Floats upper = Sums::all(offsets[i]);
    const Floats lower = Sums::all(offsets[n + i]);
    const float* const row = coefficients + std::ptrdiff_t{i} * kRows;
    BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v)
        made.add(v, load_rows<Floats>(row + v * Sums::kLanes), upper, lower);
  }
  made.store(sums);
}

// One factor's coefficients: those of z times its slopes, added where the factor is read from.
// slopes: of the planes above, then of those below, n each.
template <int kRows, typename Sources>
BF_ROUTINE product_backward(int n, Sources source, const float* slopes, int in,
                            const float* BF_RESTRICT coefficients_in, bool add,
                            float* BF_RESTRICT coefficients_out) {
  if (!add) clear_rows<kRows>(in, coefficients_out);
  for (int i = 0; i < n; ++i) {
    const float upper = slopes[i], lower = slopes[n + i];
    const float* const a = coefficients_in + std::ptrdiff_t{i} * kRows;
    float* const to = coefficients_out + std::ptrdiff_t{source_of(source, i)} * kRows;
    for (int r = 0; r < kRows; ++r) to[r] += a[r] * (a[r] < 0 ? upper : lower);
  }
}

// ---- maxima

// Bounds of one group: [low, high] holds its maximum, `choice` has the largest lower bound, and
// nothing else in it reaches above `others`.
struct GroupBox {
  double low, high, others;
  int choice;
};

static inline GroupBox group_box(const std::int32_t* column, int begin, int end,
                                 const double* centre, const float* radius) {
  GroupBox made = {-__builtin_inf(), -__builtin_inf(), -__builtin_inf(), column[begin]};
  double largest = -__builtin_inf();  // upper bound of the choice
  for (int k = begin; k < end; ++k) {
    const double r = static_cast<double>(radius[column[k]]);
    const double low = sub_down(centre[column[k]], r);
    const double high = add_up(centre[column[k]], r);
    made.high = high > made.high ? high : made.high;
    const bool better = k == begin || low > made.low || (low == made.low && high > largest);
    const double other = k == begin ? made.others : better ? largest : high;
    made.others = other > made.others ? other : made.others;
    if (!better) continue;
    made.low = low;
    largest = high;
    made.choice = column[k];
  }
  return made;
}

// group_box() of kLanes groups of as many candidates, one in each lane; false where some end is no
// number. Branches on data that follows no order took longer than all arithmetic.
//
// Ends are rounded outward once, the largest: x -> sub_down(x, 0) and x -> add_up(x, 0) grow with
// x, so that the largest of rounded sums is the rounded largest sum, and who has it is the same but
// for ties that rounding makes, of which any may be chosen.
template <int kLanes>
static inline bool group_boxes(const std::int32_t* row_start, const std::int32_t* column,
                               const double* centre, const float* radius,
                               GroupBox (&made)[kLanes]) {
  using L = Lanes<kLanes>;
  using Doubles = typename L::Doubles;
  using Longs = typename L::Longs;
  const double infinity = __builtin_inf();
  Doubles best = L::all(-infinity), largest = best, others = best, highest = best;
  Longs choice = {}, bad = {};
  const int count = row_start[1] - row_start[0];
  for (int k = 0; k < count; ++k) {
    double c[kLanes];
    float r[kLanes];
    std::int64_t at[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      at[l] = column[row_start[l] + k];
      c[l] = centre[at[l]];
      r[l] = radius[at[l]];
    }
    const Doubles middle = load_rows<Doubles>(c), reach = L::wide(r);
    const Doubles low = middle - reach, high = middle + reach;
    const Longs candidate = load_rows<Longs>(at);
    const Longs better =
        (low > best) | ((low == best) & (high > largest)) | Longs(k == 0 ? Longs{} - 1 : Longs{});
    const Doubles other = k == 0 ? others : better ? largest : high;
    bad |= (low != low) | (high != high);
    others = L::larger(others, other);
    highest = L::larger(highest, high);
    best = better ? low : best;
    largest = better ? high : largest;
    choice = better ? candidate : choice;
  }
  if (L::any(bad)) return false;
  for (int l = 0; l < kLanes; ++l)
    made[l] = {sub_down(best[l], 0.0), add_up(highest[l], 0.0),
               count > 1 ? add_up(others[l], 0.0) : -infinity, static_cast<int>(choice[l])};
  return true;
}

// The boxes of groups from i on, at most kMost of them; returns how many.
template <int kMost>
static inline int next_groups(int rows, int i, const std::int32_t* row_start,
                              const std::int32_t* column, const double* centre, const float* radius,
                              GroupBox (&made)[kMost]) {
  if constexpr (kMost > 1) {
    bool alike = i + kMost <= rows;
    for (int l = 1; alike && l < kMost; ++l)
      alike = row_start[i + l + 1] - row_start[i + l] == row_start[i + 1] - row_start[i];
    if (alike && group_boxes<kMost>(row_start + i, column, centre, radius, made)) return kMost;
  }
  made[0] = group_box(column, row_start[i], row_start[i + 1], centre, radius);
  return 1;
}

// z_i = the largest x over row_start[i] <= k < row_start[i + 1] of column[k]; no row is empty.
// table: the MaxRows, each of `rows` floats, and the choices; or null for boxes alone, and slack is
// not touched.
//
// With the chosen candidate x_k, z >= x_k always; z = x_k where no other reaches above the largest
// lower bound, which is x_k's; else z <= the largest upper bound. Prices as in relax_product: A
// enters sums, times the radius of x_k; A itself was rounded, times the radius of z.
BF_ROUTINE relax_max(int rows, const std::int32_t* row_start, const std::int32_t* column,
                     const double* centre_in, const float* radius_in, const PlaneErrors& errors,
                     double* slack, float* table, std::int32_t* choice, double* centre_out,
                     float* radius_out) {
  double reach = 0;
  GroupBox boxes[kNeuronLanes];
  int from = 0, made = 0;  // groups whose boxes are made
  for (int i = 0; i < rows; ++i) {
    if (i == from + made) {
      from = i;
      made = next_groups(rows, i, row_start, column, centre_in, radius_in, boxes);
    }
    const GroupBox box = boxes[i - from];
    const double chosen = centre_in[box.choice];
    const bool exact = box.others <= box.low;
    if (exact) {
      centre_out[i] = chosen;
      radius_out[i] = radius_in[box.choice];
    } else {
      store_box(box.low, box.high, centre_out + i, radius_out + i);
    }
    if (table == nullptr) continue;
    const double upper = exact ? 0.0 : sub_up(box.high, centre_out[i]);
    const double lower = exact ? 0.0 : sub_down(chosen, centre_out[i]);
    const double spread =
        static_cast<double>(radius_in[box.choice]) + static_cast<double>(radius_out[i]);
    put_offsets(upper, lower, errors, spread, rows, table + kMaxUpper * rows + i);
    table[kMaxConstant * rows + i] = exact ? 0.0f : 1.0f;
    choice[i] = box.choice;
    reach += static_cast<double>(radius_in[box.choice]);
  }
  if (table == nullptr) return;
  slack[kCentreSlack] = slack[kRadiusSlack] = slack[kOpenRows] = 0;
  slack[kUnderflowSlack] = (static_cast<double>(rows) + reach) * (1 + 0x1p-20);
}

// Adds to the rows' sums, and makes their coefficients over x or, with `add`, adds to them.
template <int kRows>
BF_ROUTINE max_backward(int rows, const float* table, const std::int32_t* choice, int in,
                        const float* BF_RESTRICT coefficients_in, bool add,
                        float* BF_RESTRICT coefficients_out, float* BF_RESTRICT sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  Sums made;
  if (!add) clear_rows<kRows>(in, coefficients_out);
  for (int i = 0; i < rows; ++i) {
    const Floats upper = Sums::all(table[kMaxUpper * rows + i]);
    const Floats lower = Sums::all(table[kMaxLower * rows + i]);
    const Floats one = Sums::all(1.0f);
    const Floats kept =
        Sums::all(table[kMaxConstant * rows + i] != 0 ? 0.0f : 1.0f);  // of negative ones
    const float* const row = coefficients_in + std::ptrdiff_t{i} * kRows;
    float* const to = coefficients_out + std::ptrdiff_t{choice[i]} * kRows;
    BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
      const Floats a = load_rows<Floats>(row + v * Sums::kLanes);
      const Floats before = load_rows<Floats>(to + v * Sums::kLanes);
      store_rows(to + v * Sums::kLanes, before + a * (a < Floats{} ? kept : one));
      made.add(v, a, upper, lower);
    }
  }
  made.store(sums);
}

}  // namespace bf
