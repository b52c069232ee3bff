#pragma once

#include "bf/functions/exponential.h"
#include "bf/sums/planes.h"

// z_k = x_k - L, where L = ln sum_j e^x_j over the group of x_k: boxes with a fixed number of
// exponentials for each element, linear bounds of L that all elements of its group share, and the
// backward step through them. Proof: docs/proofs/log-softmax.md. Conventions as in planes.h.

namespace bf {

// A group's members begin .. end - 1, of which member k is x_{column_k}.
struct SoftmaxGroup {
  const std::int32_t* column;
  int begin, end;
  const double* centre;
  const float* radius;

  double middle(int k) const { return centre[column[k]]; }
  double reach(int k) const { return static_cast<double>(radius[column[k]]); }
  // The ends of its interval, rounded outward, and the same rounded inward.
  double low(int k) const { return sub_down(middle(k), reach(k)); }
  double high(int k) const { return add_up(middle(k), reach(k)); }
  double inner_low(int k) const { return sub_up(middle(k), reach(k)); }
  double inner_high(int k) const { return add_down(middle(k), reach(k)); }
  // What a sum of as many numbers >= 0 may miss, relative to itself.
  double missed() const { return (end - begin + 4) * 0x1p-52; }
};

// Sums of powers at the ends of the members: relative to the largest upper end `top` from above,
// and to the largest lower end `floor` from below. The sum of all but one is a difference, which
// cancels little unless that one is the largest: this sum is kept.
struct EndPowers {
  double top, floor;
  int at_top, at_floor;
  double tops, other_tops;
  double floors, other_floors;
  bool finite;
};

static inline EndPowers end_powers(const SoftmaxGroup& g) {
  EndPowers made = {};
  made.top = made.floor = -__builtin_inf();
  made.at_top = made.at_floor = g.begin;
  made.finite = true;
  for (int k = g.begin; k < g.end; ++k) {
    const double low = g.low(k), high = g.high(k);
    made.finite = made.finite && low >= -__DBL_MAX__ && high <= __DBL_MAX__;
    if (high > made.top) {
      made.top = high;
      made.at_top = k;
    }
    if (low > made.floor) {
      made.floor = low;
      made.at_floor = k;
    }
  }
  if (!made.finite) return made;
  for (int k = g.begin; k < g.end; ++k) {
    if (k != made.at_top) made.other_tops += exp_up(sub_up(g.high(k), made.top));
    if (k != made.at_floor) made.other_floors += exp_down(sub_down(g.low(k), made.floor));
  }
  made.tops = (1 + made.other_tops) * (1 + g.missed());
  made.floors = (1 + made.other_floors) * (1 - g.missed());
  made.other_tops *= 1 + g.missed();
  made.other_floors *= 1 - g.missed();
  return made;
}

// The box of z_k, which grows with x_k and falls with the others. Every difference that stands in
// two places is rounded to the same side in both: t - ln(e^t + s) grows with t.
static inline void log_softmax_box(const SoftmaxGroup& g, const EndPowers& powers, int k,
                                   double* low, double* high) {
  if (g.end - g.begin == 1) {
    *low = *high = 0;
    return;
  }
  const double t = sub_down(g.low(k), powers.top);
  const double above = k == powers.at_top
                           ? powers.other_tops
                           : sub_up(powers.tops, exp_down(sub_down(g.high(k), powers.top)));
  *low = sub_down(t, log_up(add_up(exp_up(t), above)));
  const double u = sub_up(g.high(k), powers.floor);
  const double rest = k == powers.at_floor
                          ? powers.other_floors
                          : sub_down(powers.floors, exp_up(sub_up(g.low(k), powers.floor)));
  const double below = rest > 0 ? rest : 0;
  const double sum =
      u <= 0 ? add_down(exp_down(u), below) : add_down(1, mul_down(below, exp_down(-u)));
  // The sum is at least 1, or holds the power of the largest lower end, which is.
  const double logarithm = sum > 0.5 ? log_down(sum) : -__builtin_inf();
  const double most = u <= 0 ? sub_up(u, logarithm) : -logarithm;
  *high = most < 0 ? most : 0;
}

// A plane's value at the group's centre: L <= value + sum_j slope_j (x_j - c_j), or >=.
//
// below: with p the softmax of the centre, L >= L(c) + sum p_j (x_j - c_j), as L is convex.
// Returns a value for these slopes, which it writes.
static inline double plane_below(const SoftmaxGroup& g, float* slope) {
  double largest = g.middle(g.begin);
  for (int k = g.begin; k < g.end; ++k) largest = g.middle(k) > largest ? g.middle(k) : largest;
  const auto power = [&](int k) {
    const double t = g.middle(k) - largest;
    return t < -kMostExponent ? 0x1p-990 : exp_near(t);
  };
  double sum = 0;
  for (int k = g.begin; k < g.end; ++k) sum += power(k);
  const double missed = 2 * kExponentialError + g.missed();
  double lost = 0;
  for (int k = g.begin; k < g.end; ++k) {
    const double p = power(k) / sum;
    slope[k] = nearest_float(p);
    lost +=
        (distance_up(p, static_cast<double>(slope[k])) + (2 * missed * p + 0x1p-52)) * g.reach(k);
  }
  return sub_down(add_down(largest, log_down(sum * (1 - 2 * missed))), lost * (1 + g.missed()));
}

// A sum over members of lines above e^y that are s_j y + offset_j on |y| <= reach_j, where s_j is
// slope_j times `at`: with S that sum, ln S <= ln at + S / at - 1.
struct Chords {
  double at = 0, offsets = 0;

  static float slope_of(double low, double high, double reach, double at) {
    const double slope = (reach > 0 ? (high - low) / (2 * reach) : high) / at;
    return nearest_float(slope < 0 ? 0 : slope > 1 ? 1 : slope);
  }
  // low, high: bounds of e^y at both ends from above; reach: bounds of |y| there.
  void add(double low, double high, double reach_down, double reach_up, float slope) {
    const double s = static_cast<double>(slope);
    const double right = sub_up(high, mul_down(mul_down(s, at), reach_down));
    const double left = add_up(low, mul_up(mul_up(s, at), reach_up));
    offsets += right > left ? right : left;
  }
  // ln S - sum slope_j y_j.
  double value(double missed) const {
    return add_up(log_up(at), sub_up(div_up(offsets * (1 + missed), at), 1));
  }
};

// above: e^(x_j - top) lies below its chord, and so does L below a plane.
// Where one member is far above the others, those of e^(x_j - x_p) lie lower, with p that member:
// L = x_p + ln(1 + sum over others of e^(x_j - x_p)). The plane that is lower at the centre is
// taken. Returns its value; `scratch` has room for the slopes of both.
static inline double plane_above(const SoftmaxGroup& g, const EndPowers& powers, float* slope,
                                 float* scratch) {
  constexpr double kFarthest = 300;  // of exponents that are taken apart
  int p = g.begin;
  for (int k = g.begin; k < g.end; ++k) p = g.middle(k) > g.middle(p) ? k : p;
  const double to_low = sub_up(powers.top, g.low(p));
  const double to_high = sub_up(powers.top, g.inner_high(p));
  const bool turns = to_low <= kFarthest;
  const double of_low = turns ? exp_up(to_low) : 1, of_high = turns ? exp_up(to_high) : 1;
  Chords plain, turned;
  for (int k = g.begin; k < g.end; ++k) {
    const double high = exp_up(sub_up(g.high(k), powers.top));
    const double low = exp_up(sub_up(g.inner_low(k), powers.top));
    plain.at += 0.5 * (low + high);
    turned.at += k == p ? 1 : 0.5 * (low * of_high + high * of_low);
  }
  double taken = 0;  // by the others' slopes
  for (int k = g.begin; k < g.end; ++k) {
    const double high = exp_up(sub_up(g.high(k), powers.top));
    const double low = exp_up(sub_up(g.inner_low(k), powers.top));
    const double reach = g.reach(k);
    slope[k] = Chords::slope_of(low, high, reach, plain.at);
    plain.add(low, high, reach, reach, slope[k]);
    if (k == p) continue;
    const double far_low = mul_up(low, of_high), far_high = mul_up(high, of_low);
    scratch[k] = Chords::slope_of(far_low, far_high, reach + g.reach(p), turned.at);
    turned.add(far_low, far_high, add_down(reach, g.reach(p)), add_up(reach, g.reach(p)),
               scratch[k]);
    taken += static_cast<double>(scratch[k]);
  }
  turned.offsets += 1;
  scratch[p] = nearest_float(1 - taken);
  const double lost =
      (distance_up(1 - taken, static_cast<double>(scratch[p])) + (taken + 1) * g.missed()) *
      g.reach(p);
  const double value = add_up(powers.top, plain.value(g.missed()));
  const double other = add_up(add_up(g.middle(p), turned.value(g.missed())), lost * (1 + 0x1p-50));
  if (!turns || !(other < value)) return value;
  for (int k = g.begin; k < g.end; ++k) slope[k] = scratch[k];
  return other;
}

// The lines of a group's members, and their offsets with what they pay, per |A|:
//   product: A and the group's sums of A times slopes, rounded and added to what else reads x,
//            times the radii of x; and A itself, which a wide link rounded to float32, times the
//            radius of z;
//   offset:  the sum of A offset.
static inline void log_softmax_lines(const SoftmaxGroup& g, const EndPowers& powers, int n,
                                     const PlaneErrors& errors, const double* centre_out,
                                     const float* radius_out, float* table) {
  const bool one = g.end - g.begin == 1;
  float* const above = table + kAboveSlope * std::ptrdiff_t{n};
  float* const below = table + kBelowSlope * std::ptrdiff_t{n};
  float* const offsets = table + kLogSoftmaxUpper * std::ptrdiff_t{n};
  double least = 0, most = 0;
  if (one) {
    above[g.begin] = below[g.begin] = 1;
  } else if (powers.finite) {
    least = plane_below(g, below);
    most = plane_above(g, powers, above, offsets);
  }
  const bool known = powers.finite && least >= -__DBL_MAX__ && most <= __DBL_MAX__;
  double shared = 0;
  for (int k = g.begin; k < g.end; ++k) {
    if (!known) above[k] = below[k] = 0;
    shared += static_cast<double>(above[k] > below[k] ? above[k] : below[k]) * g.reach(k);
  }
  for (int k = g.begin; k < g.end; ++k) {
    const double infinity = __builtin_inf();
    const double x = g.middle(k), z = centre_out[k];
    const double upper = !known ? infinity : one ? 0 : sub_up(sub_up(x, least), z);
    const double lower = !known ? -infinity : one ? 0 : sub_down(sub_down(x, most), z);
    const double spread = g.reach(k) + shared + static_cast<double>(radius_out[k]);
    put_offsets(upper, lower, errors, spread * (1 + g.missed()), n, offsets + k);
  }
}

// Groups g < groups have the members row_start[g] <= k < row_start[g + 1], n together; no group is
// empty, and no two members of one are the same element. table: the LogSoftmaxRows, each of n
// floats, or null for boxes alone, and slack is not touched.
BF_ROUTINE relax_log_softmax(int groups, int n, const std::int32_t* row_start,
                             const std::int32_t* column, const double* centre_in,
                             const float* radius_in, const PlaneErrors& errors, double* slack,
                             float* table, double* centre_out, float* radius_out) {
  double reach = 0;
  for (int i = 0; i < groups; ++i) {
    const SoftmaxGroup g = {column, row_start[i], row_start[i + 1], centre_in, radius_in};
    const EndPowers powers = end_powers(g);
    for (int k = g.begin; k < g.end; ++k) {
      double low = -__builtin_inf(), high = 0;
      if (powers.finite) log_softmax_box(g, powers, k, &low, &high);
      store_box(low, high, centre_out + k, radius_out + k);
      reach += g.reach(k);
    }
    if (table != nullptr) log_softmax_lines(g, powers, n, errors, centre_out, radius_out, table);
  }
  if (table == nullptr) return;
  slack[kCentreSlack] = slack[kRadiusSlack] = slack[kOpenRows] = 0;
  slack[kUnderflowSlack] = (static_cast<double>(n) + reach) * (1 + 0x1p-20);
}

// Adds to the rows' sums, and makes their coefficients over x or, with `add`, adds to them: A_k
// less the slopes above times the sum of the group's A > 0 and those below times that of A < 0.
template <int kRows>
BF_ROUTINE log_softmax_backward(int groups, int n, const std::int32_t* row_start,
                                const std::int32_t* column, const float* table, int in,
                                const float* BF_RESTRICT coefficients_in, bool add,
                                float* BF_RESTRICT coefficients_out, float* BF_RESTRICT sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  using Doubles = typename Sums::Doubles;
  constexpr int kLanes = Sums::kLanes;
  const std::ptrdiff_t next = n;
  Sums made;
  if (!add) clear_rows<kRows>(in, coefficients_out);
  for (int i = 0; i < groups; ++i) {
    Doubles positive[Sums::kVectors] = {}, negative[Sums::kVectors] = {};
    for (std::ptrdiff_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const Floats upper = Sums::all(table[kLogSoftmaxUpper * next + k]);
      const Floats lower = Sums::all(table[kLogSoftmaxLower * next + k]);
      const float* const row = coefficients_in + k * kRows;
      BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
        const Floats a = load_rows<Floats>(row + v * kLanes);
        made.add(v, a, upper, lower);
        positive[v] += convert_rows<Doubles, kLanes>(a < Floats{} ? Floats{} : a);
        negative[v] += convert_rows<Doubles, kLanes>(a < Floats{} ? a : Floats{});
      }
    }
    for (std::ptrdiff_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double above = static_cast<double>(table[kAboveSlope * next + k]);
      const double below = static_cast<double>(table[kBelowSlope * next + k]);
      const float* const row = coefficients_in + k * kRows;
      float* const to = coefficients_out + std::ptrdiff_t{column[k]} * kRows;
      BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
        const Doubles a = convert_rows<Doubles, kLanes>(load_rows<Floats>(row + v * kLanes));
        const Doubles left = a - (positive[v] * above + negative[v] * below);
        const Floats before = load_rows<Floats>(to + v * kLanes);
        store_rows(to + v * kLanes, before + narrow_rows<Floats, kLanes>(left));
      }
    }
  }
  made.store(sums);
}

// The values of the layer at the rows' points, on the planes of its table; see slopes.h.
template <int kRows>
BF_ROUTINE log_softmax_values(int groups, int n, const std::int32_t* row_start,
                              const std::int32_t* column, const float* table,
                              const float* BF_RESTRICT from, const float* BF_RESTRICT coefficients,
                              float* BF_RESTRICT values) {
  const std::ptrdiff_t next = n;
  for (int i = 0; i < groups; ++i) {
    float above[kRows] = {}, below[kRows] = {};
    for (std::ptrdiff_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const float* const x = from + std::ptrdiff_t{column[k]} * kRows;
      for (int r = 0; r < kRows; ++r) {
        above[r] += table[kAboveSlope * next + k] * x[r];
        below[r] += table[kBelowSlope * next + k] * x[r];
      }
    }
    for (std::ptrdiff_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const float* const x = from + std::ptrdiff_t{column[k]} * kRows;
      for (int r = 0; r < kRows; ++r) {
        const std::ptrdiff_t at = k * kRows + r;
        values[at] = coefficients[at] < 0 ? x[r] - below[r] + table[kLogSoftmaxUpper * next + k]
                                          : x[r] - above[r] + table[kLogSoftmaxLower * next + k];
      }
    }
  }
}

}  // namespace bf
