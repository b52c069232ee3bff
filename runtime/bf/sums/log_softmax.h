#pragma once

#include "bf/core/exponential.h"
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
  // A sum of as many numbers >= 0 misses at most so much, relative to itself.
  double missed() const { return (end - begin + 4) * 0x1p-52; }

  // visit(Count<lanes>, first) for all members, as many side by side as a vector has lanes.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    int k = begin;
    if constexpr (kNeuronLanes > 1)
      for (; k + kNeuronLanes <= end; k += kNeuronLanes) visit(Count<kNeuronLanes>{}, k);
    for (; k < end; ++k) visit(Count<1>{}, k);
  }
};

// Members k .. k + kLanes - 1.
template <int kLanes>
struct SoftmaxMembers {
  using P = Powers<kLanes>;
  using Doubles = typename P::Doubles;
  Doubles middle, reach;

  SoftmaxMembers(const SoftmaxGroup& g, int k) {
    double c[kLanes], r[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      c[l] = g.middle(k + l);
      r[l] = g.reach(k + l);
    }
    middle = load_rows<Doubles>(c);
    reach = load_rows<Doubles>(r);
  }
  // The ends of their intervals, rounded outward, and the lower one inward.
  Doubles low() const { return P::sub_down(middle, reach); }
  Doubles high() const { return P::add_up(middle, reach); }
  Doubles inner_low() const { return P::sub_up(middle, reach); }
};

// The lanes of a vector, one by one: visit(k + lane, number).
template <int kLanes, typename Doubles, typename Visit>
static inline void for_each_lane(int k, Doubles numbers, const Visit& visit) {
  double lane[kLanes];
  store_rows(lane, numbers);
  for (int l = 0; l < kLanes; ++l) visit(k + l, lane[l]);
}

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
    const SoftmaxMembers<1> member(g, k);
    const double low = member.low(), high = member.high();
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
  g.for_each([&](auto lanes, int k) {
    constexpr int kLanes = decltype(lanes)::value;
    using P = Powers<kLanes>;
    const SoftmaxMembers<kLanes> members(g, k);
    for_each_lane<kLanes>(k, P::up(P::sub_up(members.high(), P::all(made.top))),
                          [&](int at, double power) {
                            if (at != made.at_top) made.other_tops += power;
                          });
    for_each_lane<kLanes>(k, P::down(P::sub_down(members.low(), P::all(made.floor))),
                          [&](int at, double power) {
                            if (at != made.at_floor) made.other_floors += power;
                          });
  });
  made.tops = (1 + made.other_tops) * (1 + g.missed());
  made.floors = (1 + made.other_floors) * (1 - g.missed());
  made.other_tops *= 1 + g.missed();
  made.other_floors *= 1 - g.missed();
  return made;
}

// The boxes of z_k for some members k, none of which is at_top or at_floor, but for a member alone.
// z_k grows with x_k and falls with the others. Every difference that stands in two places is
// rounded to the same side in both: t - ln(e^t + s) grows with t.
template <int kLanes>
static inline void log_softmax_boxes(const SoftmaxGroup& g, const EndPowers& powers, int k,
                                     double* low, double* high) {
  using P = Powers<kLanes>;
  using Doubles = typename P::Doubles;
  const SoftmaxMembers<kLanes> x(g, k);
  const Doubles top = P::all(powers.top), floor = P::all(powers.floor);
  const bool at_top = kLanes == 1 && k == powers.at_top;
  const bool at_floor = kLanes == 1 && k == powers.at_floor;

  const Doubles t = P::sub_down(x.low(), top);
  const Doubles above = at_top
                            ? P::all(powers.other_tops)
                            : P::sub_up(P::all(powers.tops), P::down(P::sub_down(x.high(), top)));
  store_rows(low, P::sub_down(t, P::log_up(P::add_up(P::up(t), above))));

  const Doubles u = P::sub_up(x.high(), floor);
  const Doubles rest = at_floor
                           ? P::all(powers.other_floors)
                           : P::sub_down(P::all(powers.floors), P::up(P::sub_up(x.low(), floor)));
  const Doubles below = P::larger(rest, P::all(0));
  const Doubles power = P::down(u <= 0 ? u : -u);
  const Doubles sum =
      u <= 0 ? P::add_down(power, below) : P::add_down(P::all(1), P::mul_down(below, power));
  // The sum is at least 1, or holds the power of the largest lower end, which is.
  const Doubles logarithm = P::log_down(sum > 0.5 ? sum : P::all(1));
  const Doubles most = u <= 0 ? P::sub_up(u, logarithm) : -logarithm;
  store_rows(high, sum > 0.5 && most < 0 ? most : P::all(0));
}

// The boxes of a group's z.
static inline void log_softmax_group(const SoftmaxGroup& g, const EndPowers& powers, double* centre,
                                     float* radius) {
  const auto store = [&](int k, double low, double high) {
    store_box(low, high, centre + k, radius + k);
  };
  if (!powers.finite || g.end - g.begin == 1) {
    for (int k = g.begin; k < g.end; ++k) store(k, powers.finite ? 0 : -__builtin_inf(), 0);
    return;
  }
  g.for_each([&](auto lanes, int k) {
    constexpr int kLanes = decltype(lanes)::value;
    double low[kLanes], high[kLanes];
    log_softmax_boxes<kLanes>(g, powers, k, low, high);
    for (int l = 0; l < kLanes; ++l) store(k + l, low[l], high[l]);
  });
  const int apart[] = {powers.at_top, powers.at_floor};
  for (const int k : apart) {
    double low, high;
    log_softmax_boxes<1>(g, powers, k, &low, &high);
    store(k, low, high);
  }
}

// A plane's value at the group's centre: L <= value + sum_j slope_j (x_j - c_j), or >=.
//
// below: with p the softmax of the centre, L >= L(c) + sum p_j (x_j - c_j), as L is convex.
// Returns a value for these slopes, which it writes.
static inline double plane_below(const SoftmaxGroup& g, float* slope) {
  double largest = g.middle(g.begin);
  for (int k = g.begin; k < g.end; ++k) largest = g.middle(k) > largest ? g.middle(k) : largest;
  const auto for_each_power = [&](const auto& visit) {
    g.for_each([&](auto lanes, int k) {
      constexpr int kLanes = decltype(lanes)::value;
      using P = Powers<kLanes>;
      const auto t = SoftmaxMembers<kLanes>(g, k).middle - largest;
      for_each_lane<kLanes>(k, P::near(P::larger(t, P::all(-kMostExponent))), visit);
    });
  };
  double sum = 0;
  for_each_power([&](int, double power) { sum += power; });
  const double missed = 2 * kExponentialError + g.missed();
  // For p also: the rounding of an exponent of at most 690 moves it, and powers below that are cut.
  const double missed_p = 2 * missed + 0x1p-42;
  double lost = 0;
  for_each_power([&](int k, double power) {
    const double p = power / sum;
    slope[k] = nearest_float(p);
    lost +=
        (distance_up(p, static_cast<double>(slope[k])) + (missed_p * p + 0x1p-980)) * g.reach(k);
  });
  const double logarithm = Powers<1>::log_down(sum * (1 - 2 * missed));
  return sub_down(add_down(largest, logarithm), lost * (1 + g.missed()));
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
    return add_up(Powers<1>::log_up(at), sub_up(div_up(offsets * (1 + missed), at), 1));
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
  const double to_low = sub_up(powers.top, sub_down(g.middle(p), g.reach(p)));
  const double to_high = sub_up(powers.top, add_down(g.middle(p), g.reach(p)));
  const bool turns = to_low <= kFarthest;
  const double of_low = turns ? Powers<1>::up(to_low) : 1;
  const double of_high = turns ? Powers<1>::up(to_high) : 1;
  const auto for_each_end = [&](const auto& visit) {  // visit(k, powers of the ends)
    g.for_each([&](auto lanes, int k) {
      constexpr int kLanes = decltype(lanes)::value;
      using P = Powers<kLanes>;
      const SoftmaxMembers<kLanes> members(g, k);
      double low[kLanes], high[kLanes];
      store_rows(high, P::up(P::sub_up(members.high(), P::all(powers.top))));
      store_rows(low, P::up(P::sub_up(members.inner_low(), P::all(powers.top))));
      for (int l = 0; l < kLanes; ++l) visit(k + l, low[l], high[l]);
    });
  };
  Chords plain, turned;
  for_each_end([&](int k, double low, double high) {
    plain.at += 0.5 * (low + high);
    turned.at += k == p ? 1 : 0.5 * (low * of_high + high * of_low);
  });
  double taken = 0;  // by the others' slopes
  for_each_end([&](int k, double low, double high) {
    const double reach = g.reach(k);
    slope[k] = Chords::slope_of(low, high, reach, plain.at);
    plain.add(low, high, reach, reach, slope[k]);
    if (k == p) return;
    const double far_low = mul_up(low, of_high), far_high = mul_up(high, of_low);
    scratch[k] = Chords::slope_of(far_low, far_high, reach + g.reach(p), turned.at);
    turned.add(far_low, far_high, add_down(reach, g.reach(p)), add_up(reach, g.reach(p)),
               scratch[k]);
    taken += static_cast<double>(scratch[k]);
  });
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
    log_softmax_group(g, powers, centre_out, radius_out);
    for (int k = g.begin; k < g.end; ++k) reach += g.reach(k);
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
