#pragma once

#include <cstddef>
#include <cstdint>

#include "columns.h"
#include "terms.h"
#include "vectors.h"

// Interval pass through sum and max layers, in float32. Activations are (centre, radius), where the
// radius also holds gamma |centre| for the summation errors of whoever reads them: note [interval
// pass] in DESIGN.md. For a sum layer every term makes, or with kAdd adds to,
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

struct Interval {
  float low, high;
};

// The interval of z = m + b, or of relu(z), from the sums m and R. What is not finite knows
// nothing: all numbers; so does a NaN.
static inline Interval interval_of(float sum, float reach, double bias, bool relu,
                                   const IntervalErrors& errors) {
  constexpr float kInfinity = __builtin_inff();
  const float z = sum + static_cast<float>(bias);
  const float size = __builtin_fabsf(z);
  const float spread = reach * errors.inflate + (size * errors.relative + errors.absolute);
  const bool finite = (spread <= kMaxFloat) & (size <= kMaxFloat);
  const float below = z - spread, above = z + spread;
  float low = finite ? below : -kInfinity;
  float high = finite ? above : kInfinity;
  if (relu) {
    low = low > 0 ? low : 0;
    high = high > 0 ? high : 0;
  }
  return {low, high};
}

// Sums of n neurons -> their activations, in place. bias: null for zeros. gamma: of the readers.
// Any float serves as the new centre; the radius is measured from it.
static inline void finish_interval(int n, bool relu, const double* bias,
                                   const IntervalErrors& errors, float gamma,
                                   float* BF_RESTRICT centre, float* BF_RESTRICT radius) {
  for (int j = 0; j < n; ++j) {
    const Interval z = interval_of(centre[j], radius[j], bias ? bias[j] : 0, relu, errors);
    const float c = 0.5f * z.low + 0.5f * z.high;
    const float right = z.high - c, left = c - z.low;
    const float distance = right > left ? right : left;
    centre[j] = c;
    radius[j] = distance * 0x1.000004p0f + __builtin_fabsf(c) * gamma;
  }
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

// Ends of n maxima -> their activations, in place. Proof: note [interval pass] in DESIGN.md.
static inline void finish_max(int n, const IntervalErrors& errors, float* BF_RESTRICT centre,
                              float* BF_RESTRICT radius) {
  for (int j = 0; j < n; ++j) {
    const float low = centre[j], high = radius[j];
    const bool finite = high <= kMaxFloat;
    const float c = finite ? 0.5f * low + 0.5f * high : 0;
    const float right = high - c, left = c - low;
    const float distance = right > left ? right : left;
    centre[j] = c;
    radius[j] = finite ? distance * errors.inflate +
                             (__builtin_fabsf(c) * errors.relative + errors.absolute)
                       : __builtin_inff();
  }
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

// Neighbouring groups that go together: they read one line of so many elements, at most, for each
// of the other taps.
constexpr int kMaxLine = 256;

constexpr int line_groups(const MaxGroups& groups) {
  const int fit = (kMaxLine - groups.taps[3]) / groups.stride[3] + 1;
  return fit < groups.count[3] ? fit : groups.count[3];
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
  for (int x = 0; x < kCount; ++x) {
    MaxEnds ends;
    for (int p = x * kStep; p < x * kStep + kLast; ++p) ends.take(low[p], high[p], spread[p]);
    ends.give(low_out + x, high_out + x);
  }
}

// The same maxima of groups that have such a form.
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

// Sums of n head neurons -> the caller's bounds.
static inline void write_interval(int n, bool relu, const double* bias,
                                  const IntervalErrors& errors, const float* centre,
                                  const float* radius, float* BF_RESTRICT lower,
                                  float* BF_RESTRICT upper) {
  for (int j = 0; j < n; ++j) {
    const Interval z = interval_of(centre[j], radius[j], bias ? bias[j] : 0, relu, errors);
    lower[j] = z.low;
    upper[j] = z.high;
  }
}

}  // namespace bf
