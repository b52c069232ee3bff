#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/lists.h"
#include "bf/core/columns.h"
#include "bf/core/vectors.h"
#include "bf/sums/terms.h"

// Interval pass through sum and max layers, in float32. Activations are (centre, radius), where the
// radius also holds gamma |centre| for the summation errors of whoever reads them:
// docs/proofs/interval-pass.md. For a sum layer every term makes, or with kAdd adds to,
//   centre_out_i = fl(sum_k w_ik centre_in_k),  radius_out_i = fl(sum_k |w_ik| radius_in_k),
// in which no product meets more roundings than the planner counts; then finish_interval() or
// write_interval() makes activations or bounds of them.

namespace bf {

// Sums in double, rounded once. Rows, entries: as sparse_centre().
template <bool kAdd>
BF_ROUTINE sparse_interval(int rows, const std::int32_t* row_start, const std::int32_t* column,
                           const float* weight, const float* centre_in, const float* radius_in,
                           float* centre_out, float* radius_out) {
  for (int i = 0; i < rows; ++i) {
    double centre = 0;
    double radius = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double w = static_cast<double>(weight[k]);
      centre += w * static_cast<double>(centre_in[column[k]]);
      radius += __builtin_fabs(w) * static_cast<double>(radius_in[column[k]]);
    }
    give<kAdd>(static_cast<float>(centre), centre_out + i);
    give<kAdd>(static_cast<float>(radius), radius_out + i);
  }
}

// Sources: as gather_centre().
template <bool kAdd, typename Sources>
BF_ROUTINE gather_interval(int rows, Sources source, const float* BF_RESTRICT centre_in,
                           const float* BF_RESTRICT radius_in, float* BF_RESTRICT centre_out,
                           float* BF_RESTRICT radius_out) {
  for (int i = 0; i < rows; ++i) {
    const int k = source_of(source, i);
    give<kAdd>(k < 0 ? 0 : centre_in[k], centre_out + i);
    give<kAdd>(k < 0 ? 0 : radius_in[k], radius_out + i);
  }
}

// Constants of a layer; see IntervalSum and IntervalMax in the plan.
struct IntervalErrors {
  float inflate;   // factor on the computed radius
  float relative;  // times |z|: the roundings here; of a maximum, those of its readers as well
  float absolute;  // bias error and underflow
};

// The interval of one neuron, or of as many as a vector has lanes.
template <typename Floats>
struct Interval {
  Floats low, high;
};

// The distance from a centre to the farther end.
template <typename Floats>
static inline Floats distance_to_ends(Floats low, Floats high, Floats centre) {
  const Floats right = high - centre, left = centre - low;
  return right > left ? right : left;
}

// z - S and z + S, where z = m + b and S is the spread of the sums m and R. Nothing is known where
// S is NaN or infinite, as it is where z is: then an end is NaN, or both are infinite.
template <typename Floats>
__attribute__((always_inline)) static inline Interval<Floats> interval_of(
    Floats sum, Floats reach, Floats bias, const IntervalErrors& errors) {
  const Floats z = sum + bias;
  const Floats spread =
      magnitude<float>(z) * errors.relative + (reach * errors.inflate + errors.absolute);
  return {z - spread, z + spread};
}

// Calls each(first, Count<so many>) for n neurons, a vector of them after the other, then one by
// one.
template <typename Each>
static inline void for_neurons(int n, Each each) {
  constexpr int kLanes = kVectorBytes / 4;
  int j = 0;
  for (; j + kLanes <= n; j += kLanes) each(j, Count<kLanes>{});
  if constexpr (kLanes > 1)
    for (; j < n; ++j) each(j, Count<1>{});
}

// for_neurons() with each(first, Count<so many>, their biases). bias: null for zeros; `run` neurons
// side by side share each, as those of a channel, and divide n.
template <typename Each>
__attribute__((always_inline)) static inline void for_biases(int n, const float* bias, int run,
                                                             Each each) {
  if (bias == nullptr || run == 1)
    return for_neurons(
        n, [&](int j, auto lanes) __attribute__((always_inline)) {
          using Floats = typename VectorOf<float, decltype(lanes)::value>::type;
          each(j, lanes, bias ? load_rows<Floats>(bias + j) : Floats{});
        });
  for (int first = 0; first < n; first += run, ++bias) {
    const float shared = *bias;
    for_neurons(
        run, [&](int j, auto lanes) __attribute__((always_inline)) {
          using Floats = typename VectorOf<float, decltype(lanes)::value>::type;
          each(first + j, lanes, Floats(shared - Floats{}));
        });
  }
}

template <typename Floats>
__attribute__((always_inline)) static inline Interval<Floats> interval_at(
    int j, Floats bias, const IntervalErrors& errors, const float* centre, const float* radius) {
  return interval_of(load_rows<Floats>(centre + j), load_rows<Floats>(radius + j), bias, errors);
}

// Sums of n neurons -> their activations, in place. bias, run: for_biases(). gamma: of the readers,
// and the rounding of the centre. ReLU hands on what is no number: then the radius is none.
static inline void finish_interval(int n, bool relu, const float* bias, int run,
                                   const IntervalErrors& errors, float gamma,
                                   float* BF_RESTRICT centre, float* BF_RESTRICT radius) {
  for_biases(
      n, bias, run, [&](int j, auto lanes, auto shift) __attribute__((always_inline)) {
        using Floats = typename VectorOf<float, decltype(lanes)::value>::type;
        auto [low, high] = interval_at<Floats>(j, shift, errors, centre, radius);
        if (relu) {
          low = Floats{} > low ? Floats{} : low;
          high = Floats{} > high ? Floats{} : high;
        }
        const Floats c = 0.5f * (low + high), width = high - low;
        const Floats size = relu ? c : magnitude<float>(c);
        store_rows(centre + j, c);
        store_rows(radius + j, Floats(width * 0x1.000004p-1f + size * gamma));
      });
}

// The ends of a maximum: the largest of its candidates' ends, and the sum of their distances, which
// is no finite float if one of them is none. Comparisons drop what is no number; sums keep it.
struct MaxEnds {
  float low = -kMaxFloat, high = -kMaxFloat, spread = 0;

  void take(float below, float above, float distance) {
    low = below > low ? below : low;
    high = above > high ? above : high;
    spread += distance;
  }
  void give(float* low_out, float* high_out) const {
    *low_out = low;
    *high_out = spread <= kMaxFloat ? high : __builtin_inff();
  }
};

// Ends of n maxima -> their activations, in place. Proof: docs/proofs/interval-pass.md.
static inline void finish_max(int n, const IntervalErrors& errors, float* BF_RESTRICT centre,
                              float* BF_RESTRICT radius) {
  for_neurons(
      n, [&](int j, auto lanes) __attribute__((always_inline)) {
        using Floats = typename VectorOf<float, decltype(lanes)::value>::type;
        const Floats low = load_rows<Floats>(centre + j), high = load_rows<Floats>(radius + j);
        const auto finite = high <= kMaxFloat;
        const Floats c = finite ? 0.5f * low + 0.5f * high : Floats{};
        const Floats distance = distance_to_ends(low, high, c);
        const Floats reach =
            distance * errors.inflate + (magnitude<float>(c) * errors.relative + errors.absolute);
        store_rows(centre + j, c);
        store_rows(radius + j, finite ? reach : __builtin_inff() - Floats{});
      });
}

// z_i = the largest a_k, k = column[row_start[i]] to column[row_start[i + 1] - 1]; no row is empty.
BF_ROUTINE max_interval(int rows, const std::int32_t* row_start, const std::int32_t* column,
                        const float* BF_RESTRICT centre_in, const float* BF_RESTRICT radius_in,
                        const IntervalErrors& errors, float* BF_RESTRICT centre_out,
                        float* BF_RESTRICT radius_out) {
  for (int i = 0; i < rows; ++i) {
    MaxEnds ends;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
      const float c = centre_in[column[k]], r = radius_in[column[k]];
      ends.take(c - r, c + r, (c + r) - (c - r));
    }
    ends.give(centre_out + i, radius_out + i);
  }
  finish_max(rows, errors, centre_out, radius_out);
}

// Groups of equal form: candidate t of group i is at first + the digits of i in base `count` times
// `stride` + those of t in base `taps` times `tap_stride`, the last digit the fastest. The last
// taps are neighbours, or one.
struct MaxGroups {
  int first, count[4], stride[4];
  int taps[4], tap_stride[4];
};

// Neighbouring groups that go together.
constexpr int line_groups(const MaxGroups& groups) {
  const int fit = (kMaxLine - groups.taps[3]) / groups.stride[3] + 1;
  return fit < groups.count[3] ? fit : groups.count[3];
}

// The ends of kCount neighbours of kWidth numbers each. A power of two: of every two neighbours,
// then of theirs. No end is NaN here; a spread that is none, or infinite, stays so in any order of
// sums.
template <int kCount, int kWidth, int kLength>
__attribute__((always_inline)) static inline void join_ends(const float (&low)[kLength],
                                                            const float (&high)[kLength],
                                                            const float (&spread)[kLength],
                                                            float* BF_RESTRICT low_out,
                                                            float* BF_RESTRICT high_out) {
  static_assert(kLength == kCount * kWidth, "bf: groups side by side");
  if constexpr (kWidth == 1) {
    for (int x = 0; x < kCount; ++x) {
      low_out[x] = low[x];
      high_out[x] = spread[x] <= kMaxFloat ? high[x] : __builtin_inff();
    }
  } else {
    constexpr int kHalf = kLength / 2;
    float lows[kHalf], highs[kHalf], spreads[kHalf];
    for (int p = 0; p < kHalf; ++p) {
      lows[p] = low[2 * p] > low[2 * p + 1] ? low[2 * p] : low[2 * p + 1];
      highs[p] = high[2 * p] > high[2 * p + 1] ? high[2 * p] : high[2 * p + 1];
      spreads[p] = spread[2 * p] + spread[2 * p + 1];
    }
    join_ends<kCount, kWidth / 2>(lows, highs, spreads, low_out, high_out);
  }
}

// The ends over all taps but the last, then those of each group.
template <const MaxGroups& kGroups, int kCount>
static inline void max_line(const float* BF_RESTRICT centre, const float* BF_RESTRICT radius,
                            float* BF_RESTRICT low_out, float* BF_RESTRICT high_out) {
  constexpr int kStep = kGroups.stride[3], kLast = kGroups.taps[3];
  constexpr int kLength = (kCount - 1) * kStep + kLast;
  float low[kLength], high[kLength], spread[kLength];
  for (int p = 0; p < kLength; ++p) {
    low[p] = high[p] = -kMaxFloat;
    spread[p] = 0;
  }
  for (int a = 0; a < kGroups.taps[0]; ++a)
    for (int b = 0; b < kGroups.taps[1]; ++b)
      for (int c = 0; c < kGroups.taps[2]; ++c) {
        const int at =
            a * kGroups.tap_stride[0] + b * kGroups.tap_stride[1] + c * kGroups.tap_stride[2];
        for (int p = 0; p < kLength; ++p) {
          const float below = centre[at + p] - radius[at + p];
          const float above = centre[at + p] + radius[at + p];
          low[p] = below > low[p] ? below : low[p];
          high[p] = above > high[p] ? above : high[p];
          spread[p] += above - below;
        }
      }
  if constexpr (kStep == kLast && (kLast & (kLast - 1)) == 0) {
    join_ends<kCount, kLast>(low, high, spread, low_out, high_out);
  } else {
    for (int x = 0; x < kCount; ++x) {
      MaxEnds ends;
      for (int p = x * kStep; p < x * kStep + kLast; ++p) ends.take(low[p], high[p], spread[p]);
      ends.give(low_out + x, high_out + x);
    }
  }
}

// The intervals of maxima whose groups have the form MaxGroups, a constant.
template <const MaxGroups& kGroups>
BF_ROUTINE max_interval(const float* BF_RESTRICT centre_in, const float* BF_RESTRICT radius_in,
                        const IntervalErrors& errors, float* BF_RESTRICT centre_out,
                        float* BF_RESTRICT radius_out) {
  constexpr int kTogether = line_groups(kGroups), kRest = kGroups.count[3] % kTogether;
  int made = 0;
  for (int a = 0; a < kGroups.count[0]; ++a)
    for (int b = 0; b < kGroups.count[1]; ++b)
      for (int c = 0; c < kGroups.count[2]; ++c) {
        int at =
            kGroups.first + a * kGroups.stride[0] + b * kGroups.stride[1] + c * kGroups.stride[2];
        for (int x = 0; x < kGroups.count[3] / kTogether; ++x) {
          max_line<kGroups, kTogether>(centre_in + at, radius_in + at, centre_out + made,
                                       radius_out + made);
          at += kTogether * kGroups.stride[3];
          made += kTogether;
        }
        if constexpr (kRest > 0)
          max_line<kGroups, kRest>(centre_in + at, radius_in + at, centre_out + made,
                                   radius_out + made);
        made += kRest;
      }
  finish_max(made, errors, centre_out, radius_out);
}

// Sums of n neurons -> bounds: the caller's of a head, or in place for a function.
static inline void write_interval(int n, bool relu, const float* bias, int run,
                                  const IntervalErrors& errors, const float* centre,
                                  const float* radius, float* lower, float* upper) {
  for_biases(
      n, bias, run, [&](int j, auto lanes, auto shift) __attribute__((always_inline)) {
        using Floats = typename VectorOf<float, decltype(lanes)::value>::type;
        auto [low, high] = interval_at<Floats>(j, shift, errors, centre, radius);
        const Floats infinity = __builtin_inff() - Floats{};
        low = low <= high ? low : -infinity;  // one of them is NaN, or both are known
        high = high >= low ? high : infinity;
        if (relu) {
          low = low > 0 ? low : Floats{};
          high = high > 0 ? high : Floats{};
        }
        store_rows(lower + j, low);
        store_rows(upper + j, high);
      });
}

// z_i = x_{gather_x_i} y_{gather_y_i}, i < n. relative: what a product's spread may miss of itself.
// gamma: of the readers, and the rounding of the centre. Proof: docs/proofs/interval-pass.md.
template <typename SourcesX, typename SourcesY>
BF_ROUTINE product_interval(int n, SourcesX gather_x, SourcesY gather_y, const float* centre_x,
                            const float* radius_x, const float* centre_y, const float* radius_y,
                            float relative, float gamma, float* BF_RESTRICT centre_out,
                            float* BF_RESTRICT radius_out) {
  for (int i = 0; i < n; ++i) {
    const int g = source_of(gather_x, i), h = source_of(gather_y, i);
    const float r = radius_x[g] + 0x1p-148f, s = radius_y[h] + 0x1p-148f;
    const float along_x = r * centre_y[h], along_y = s * centre_x[g], both = r * s;
    const float same = __builtin_fabsf(along_x + along_y);
    const float opposite = __builtin_fabsf(along_x - along_y);
    const float up = same + both > opposite - both ? same + both : opposite - both;
    const float down = opposite + both > same - both ? opposite + both : same - both;
    const float centre = centre_x[g] * centre_y[h] + 0.5f * (up - down);
    const float size = __builtin_fabsf(centre_x[g] * centre_y[h]);
    const float spread = __builtin_fabsf(along_x) + __builtin_fabsf(along_y) + both;
    centre_out[i] = centre;
    radius_out[i] = 0.5f * (up + down) + (spread * relative + size * 0x1p-22f) +
                    (__builtin_fabsf(centre) * gamma + 0x1p-100f);
  }
}

}  // namespace bf
