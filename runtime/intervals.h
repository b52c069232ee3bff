#pragma once

#include <cstddef>
#include <cstdint>

#include "columns.h"
#include "terms.h"
#include "vectors.h"

// Interval pass through sum layers, in float32. Activations are (centre, radius), where the radius
// also holds gamma |centre| for the summation errors of whoever reads them: note [interval pass] in
// DESIGN.md. For a layer every term makes, or with kAdd adds to,
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

// Constants of a layer; see IntervalSum in the plan.
struct IntervalErrors {
  float inflate;   // factor on the computed radius
  float relative;  // times |z|: the roundings here
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
