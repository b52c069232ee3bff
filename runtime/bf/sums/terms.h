#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"

// Forward pass of sum layers: z = b + the sum of linear terms over other tensors. A term is a
// convolution, a sparse matrix or a gather. Tensors are (double centre, float radius), conventions
// and unit roundoffs as in bounds.h.
//
// Centres: each product passes through one rounding (one more where there is a residual), then one
// for every addition after it: those of its own row, and one per term. The planner counts them; see
// CentreSum in the plan. Radii round up here: after all terms
//   radius_out_i >= sum over terms of sum_k |w_ik| radius_in_k, exactly.

#define BF_ROUTINE __attribute__((noinline, unused)) static void

namespace bf {

// Undoes the double roundings of a sum of at most 2^22 terms >= 0 and a few operations more:
// 1 / (1 - n v)^2 < 1 + 2^-30 for n = 2^22 + 8.
constexpr double kSumSlack = 0x1.00000004p0;

// ---- convolutions

// Element (n, c, z, y, x) of an image is at
//   offset + n batch + c channel + z spatial[0] + y spatial[1] + x spatial[2].
struct ImageStrides {
  int offset, batch, channel, spatial[3];
};

// Conv:       out(n, o, p) += weight[o][i][t] in(n, i, p stride - pad + t dilation)
// transposed: out(n, o, q stride - pad + t dilation) += weight[o][i][t] in(n, i, q)
// where the group of o holds i, and positions outside of the image are left out.
struct ConvShape {
  int batch, groups, in_channels, out_channels;
  int in_size[3], out_size[3], kernel[3], stride[3], dilation[3], pad[3];
  bool transposed;
  ImageStrides in, out;
};

constexpr int in_group(const ConvShape& shape) {
  return shape.groups == 1 ? shape.in_channels : shape.in_channels / shape.groups;
}
constexpr int out_group(const ConvShape& shape) {
  return shape.groups == 1 ? shape.out_channels : shape.out_channels / shape.groups;
}
constexpr int taps(const ConvShape& shape) {
  return shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
}
constexpr int elements(int batch, int channels, const int (&size)[3]) {
  return batch * channels * size[0] * size[1] * size[2];
}
constexpr std::ptrdiff_t element(const ImageStrides& image, int n, int c, const int (&p)[3]) {
  return static_cast<std::ptrdiff_t>(image.offset) + static_cast<std::ptrdiff_t>(n) * image.batch +
         static_cast<std::ptrdiff_t>(c) * image.channel +
         static_cast<std::ptrdiff_t>(p[0]) * image.spatial[0] +
         static_cast<std::ptrdiff_t>(p[1]) * image.spatial[1] +
         static_cast<std::ptrdiff_t>(p[2]) * image.spatial[2];
}

// The position that tap t of dimension d pairs with `from`, or -1. up: from the strided side
// (Conv's outputs, a transposed one's inputs), whose images are smaller, to the other.
constexpr int paired(const ConvShape& shape, bool up, int d, int from, int t, int size) {
  const int shift = t * shape.dilation[d] - shape.pad[d];
  const int to = up ? from * shape.stride[d] + shift : from - shift;
  if (up) return to >= 0 && to < size ? to : -1;
  if (shape.stride[d] == 1) return to >= 0 && to < size ? to : -1;
  if (to < 0 || to % shape.stride[d] != 0) return -1;
  return to / shape.stride[d] < size ? to / shape.stride[d] : -1;
}

// The input position that an output reads through tap t, and the output that reads an input.
constexpr int read_by(const ConvShape& shape, int d, int output, int t) {
  return paired(shape, !shape.transposed, d, output, t, shape.in_size[d]);
}
constexpr int reader_of(const ConvShape& shape, int d, int input, int t) {
  return paired(shape, shape.transposed, d, input, t, shape.out_size[d]);
}

// Weights lie as [group][in][tap][out]: neighbours are output channels. That of the output o, of
// the input channel i of its group and of tap t is at
constexpr std::ptrdiff_t weight_place(const ConvShape& shape, int o, int i, int t) {
  const int readers = out_group(shape);
  return ((static_cast<std::ptrdiff_t>(o / readers) * in_group(shape) + i) * taps(shape) + t) *
             readers +
         o % readers;
}

// Element (n, c, z, y, x) of an image that lies pixel by pixel, all channels of each together.
constexpr ImageStrides by_pixels(int channels, const int (&size)[3]) {
  return {0,
          channels * size[0] * size[1] * size[2],
          1,
          {channels * size[1] * size[2], channels * size[2], channels}};
}

// A convolution between such images.
constexpr ConvShape by_pixels(ConvShape shape, bool in, bool out) {
  if (in) shape.in = by_pixels(shape.in_channels, shape.in_size);
  if (out) shape.out = by_pixels(shape.out_channels, shape.out_size);
  return shape;
}

constexpr int ceil_div(int a, int b) {  // b > 0
  return a / b + (a % b > 0 ? 1 : 0);
}

// Positions begin <= p < end of an image, in each dimension; docs/proofs/windows.md.
struct Window {
  int begin[3], end[3];
};

constexpr Window whole(const int (&size)[3]) {
  return {{0, 0, 0}, {size[0], size[1], size[2]}};
}

// Adds to z's centres and radii what one term gives them. `entries`: the products of the sum
// `radius`; one alone is exact in double. `rounding`: kSumSlack, or 1 where no double sum of the
// layer rounds (exact_centre in the plan).
static inline void add_term(double centre, double radius, int entries, double rounding,
                            double* centre_out, float* radius_out) {
  const double before = static_cast<double>(*radius_out);
  const bool exact = entries <= 1 && before == 0;
  *centre_out += centre;
  *radius_out = float_up(exact ? radius : (before + radius) * rounding);
}

// ---- sparse matrices and gathers

// Row i has the entries row_start[i] <= k < row_start[i + 1]: weight[k] at column[k].
BF_ROUTINE sparse_centre(int rows, const std::int32_t* row_start, const std::int32_t* column,
                         const float* weight, const float* residual, const double* centre_in,
                         const float* radius_in, double rounding, double* centre_out,
                         float* radius_out) {
  for (int i = 0; i < rows; ++i) {
    double centre = 0;
    double radius = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double narrow = static_cast<double>(weight[k]);
      const double w = residual ? narrow + static_cast<double>(residual[k]) : narrow;
      centre += w * centre_in[column[k]];
      radius += __builtin_fabs(narrow) * static_cast<double>(radius_in[column[k]]);
    }
    const int entries = row_start[i + 1] - row_start[i];
    if (entries > 0) add_term(centre, radius, entries, rounding, centre_out + i, radius_out + i);
  }
}

// y_i = x_{source_i}, or 0 where source_i is -1. `Sources` says where: a table (null for the
// identity) or Strided.
static inline int source_of(const std::int32_t* source, int i) {
  return source ? source[i] : i;
}

static inline int source_of(std::nullptr_t, int i) {
  return i;
}

// Element i of a view: with the digits of i in base (.., kCount1, kCount2, kCount3), the last one
// the fastest, x at kOffset + the sum of digits times strides. Counts are constants: the divisions
// are products.
template <int kOffset, int kStride0, int kCount1, int kStride1, int kCount2, int kStride2,
          int kCount3, int kStride3>
struct Strided {};

template <int kOffset, int kStride0, int kCount1, int kStride1, int kCount2, int kStride2,
          int kCount3, int kStride3>
static inline int source_of(
    Strided<kOffset, kStride0, kCount1, kStride1, kCount2, kStride2, kCount3, kStride3>, int i) {
  const int third = i / kCount3, second = third / kCount2;
  return kOffset + i % kCount3 * kStride3 + third % kCount2 * kStride2 +
         second % kCount1 * kStride1 + second / kCount1 * kStride0;
}

template <typename Sources>
BF_ROUTINE gather_centre(int rows, Sources source, const double* centre_in, const float* radius_in,
                         double rounding, double* centre_out, float* radius_out) {
  for (int i = 0; i < rows; ++i) {
    const int k = source_of(source, i);
    if (k < 0) continue;
    add_term(centre_in[k], static_cast<double>(radius_in[k]), 1, rounding, centre_out + i,
             radius_out + i);
  }
}

// ---- sums

// bias: null for zeros. run: neurons side by side that share each, as those of a channel; divides
// n. Note [copies of constants] in vectors.h.
static inline void start_sum(const double* bias, int n, int run, double* BF_RESTRICT centre_out,
                             float* BF_RESTRICT radius_out) {
  for (int i = 0; i < n; ++i) radius_out[i] = 0;
  if (bias == nullptr) {
    for (int i = 0; i < n; ++i) centre_out[i] = 0;
    return;
  }
  bias = pinned(bias);
  if (run == 1) {
    for (int i = 0; i < n; ++i) centre_out[i] = bias[i];
    return;
  }
  for (int first = 0; first < n; first += run, ++bias)
    for (int i = first; i < first + run; ++i) centre_out[i] = *bias;
}

// Bounds what the centre of a sum layer may miss; see centre_slack in bounds.h, which does the same
// for one dense term:
//   |z - (centre + sum over terms of w* (a - c))| <= relative (sum over terms of row_norm max|c|
//                                                              + bias_norm) + absolute
// Proof: every product and every addition errs by v of at most sum |w c| + |b|, and `relative`
// counts them; kDoubleSlack covers the roundings here. A centre overflows only where row_norm
// max|c| or bias_norm does, so that the slack is infinite as well.
static inline void clear_slack(double* slack) {
  for (int i = 0; i < kSlack; ++i) slack[i] = 0;
}

static inline void add_centre_slack(const double* centre, const float* radius, int n,
                                    double row_norm, double* slack) {
  double of_term[kSlack];
  centre_slack(centre, radius, n, 1, row_norm, 0, 0, of_term);
  slack[kCentreSlack] += of_term[kCentreSlack];
  slack[kRadiusSlack] += of_term[kRadiusSlack];
}

static inline void finish_slack(double relative, double bias_norm, double absolute, double* slack) {
  slack[kCentreSlack] = (relative * (slack[kCentreSlack] + bias_norm) + absolute) * kDoubleSlack;
  slack[kRadiusSlack] *= 1 + 0x1p-20;
}

// ---- values without backward rows

// Values of a head at a point, whose centres they are. A value, not a bound: rounded to nearest.
static inline void write_values(int n, bool relu, const double* centre, float* y) {
  for (int j = 0; j < n; ++j) {
    const float value = static_cast<float>(centre[j]);
    y[j] = relu && value < 0 ? 0.0f : value;
  }
}

}  // namespace bf
