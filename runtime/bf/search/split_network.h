#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/core/kernel.h"
#include "bf/sums/terms.h"

// The network that nodes of neuron splits are bounded on, as constant data, and products with its
// weights. As in bounds.h: internal linkage, no heap, no state. Proofs:
// docs/proofs/neuron-splits.md.

namespace bf {

struct FunctionView;

// The part that a layer plays.
enum class SplitRole : unsigned char {
  kLinear,    // a = z
  kRelu,      // a = relu(z): split at 0
  kFunction,  // a = f(z): split where f bends, or in the middle
  kFactor,    // a = z, which products read: split in the middle
  kProduct,   // z = x y, a = z: not split itself
};

// Neurons of these roles are curves: lines lie below and above them, on the part of their interval
// that splits leave.
static constexpr bool is_curved(SplitRole role) {
  return role == SplitRole::kFunction || role == SplitRole::kFactor;
}

// Choices of a neuron: of a ReLU its slope, or the multiplier of its split; of a linear one none,
// which has a place.
static constexpr int choices_of(SplitRole role) {
  if (is_curved(role)) return kCurveChoices;
  return role == SplitRole::kProduct ? kProductChoices : 1;
}

// The kind of map by which a layer reads one tensor: z += W a.
enum class SplitMap : unsigned char { kDense, kSparse, kGather, kConv };

struct SplitPart {
  SplitMap map;
  std::int32_t source;  // the layer that makes a; -1: the inputs
  std::int32_t in;
  // Dense: [out / panel][in][panel], the last panel zero-padded. Others: as sums/terms.h has them;
  // of gathers null. The parts of products are gathers.
  const float* weight;
  std::int32_t panel;             // of dense ones
  const std::int32_t* row_start;  // of sparse ones: [out + 1]
  const std::int32_t* column;     // by entry; of gathers by row, -1: nothing; null: the identity
  const ConvShape* shape;         // of convolutions
};

// z = the sum of its parts, + b, or the product of both; then its role says what a is.
struct SplitLayer {
  SplitRole role;
  const FunctionView* function;  // of the role kFunction, else null
  const SplitPart* parts;
  std::int32_t part_count;
  std::int32_t out;
  // Numbers of its first neuron, of that one's first choice, and of its first curve, each counted
  // over all layers.
  std::int32_t first, first_choice, first_curve;
  const double* bias;  // [out / bias_run]; null: 0
  std::int32_t bias_run;
  // The error to the exact z*: |z*_j - z_j| <= weight_error sum_k |w_jk| max |a_k| + bias_error.
  double weight_error, bias_error;
};

static inline double bias_of(const SplitLayer& layer, std::int32_t j) {
  return layer.bias == nullptr ? 0 : layer.bias[j / layer.bias_run];
}

// Lines of a curve on the part [low, high] of its interval: a slope and an offset each, below and
// above, from those that are best at its lower end to those that are best at its upper end.
struct SplitCurve {
  double offset[2][kCurveLines];
  float slope[2][kCurveLines];
  float low, high;
};
static_assert(sizeof(SplitCurve) == kCurveBytes, "bf: the workspace is of another version");

// The routines for functions are in search/split_curves.h, which a network without functions does
// not need.
struct SplitFunctions {
  // Makes the lines on [low, high].
  void (*lines)(const FunctionView& f, float low, float high, SplitCurve& made);
  // Makes all lines the tangent near z: a proposal.
  void (*tangent)(const FunctionView& f, float z, SplitCurve& made);
  // The values on [low, high] lie in [least, most].
  void (*range)(const FunctionView& f, float low, float high, float* least, float* most);
  // A point between low and high where a split gains most; NaN: none, or f is a line there.
  float (*point)(const FunctionView& f, float low, float high);
  // About f(z).
  float (*value)(const FunctionView& f, float z);
};

struct SplitNetwork {
  const SplitLayer* layers;  // in an order in which each reads those before it
  std::int32_t count;        // of layers
  std::int32_t inputs;
  std::int32_t neurons;  // of all layers
  std::int32_t choices;  // of all neurons
  std::int32_t curves;
  bool multiplies;                  // there are products
  const SplitFunctions* functions;  // null: there are none
  std::int32_t widest;              // neurons of a layer
  std::int32_t rows;
  std::int32_t terms;             // most of a clause that are weighed
  const std::int32_t* row_first;  // by head: the number of its first neuron; rows follow each other
  const std::int32_t* row_count;
  double roundings, products;  // see DecidePlan
};

// Curve j of a layer where z is what products read: z itself.
static inline void set_identity(float low, float high, SplitCurve& made) {
  made.low = low;
  made.high = high;
  for (int side = 0; side < 2; ++side)
    for (int k = 0; k < kCurveLines; ++k) {
      made.slope[side][k] = 1;
      made.offset[side][k] = 0;
    }
}

// The element that a product reads of a part.
static inline std::int32_t factor_of(const SplitPart& part, std::int32_t j) {
  return part.column == nullptr ? j : part.column[j];
}

// The neuron that is a row of the specification.
static inline std::int32_t neuron_of_row(const SplitNetwork& network, std::int32_t row) {
  int head = 0;
  for (; row >= network.row_count[head]; ++head) row -= network.row_count[head];
  return network.row_first[head] + row;
}

// Four numbers, which every compiler can add at a time, if need be one after the other.
constexpr int kSplitLanes = 4;
template <class Number>
struct SplitLanes;
template <>
struct SplitLanes<float> {
  using Numbers = float __attribute__((vector_size(16)));
};
template <>
struct SplitLanes<double> {
  using Numbers = double __attribute__((vector_size(32)));
};

// The sum over a panel, in so many partial sums as there are lanes.
template <int kPanel, class Number>
static inline Number panel_product(const float* BF_RESTRICT weight,
                                   const Number* BF_RESTRICT over_z) {
  using Weights = SplitLanes<float>::Numbers;
  using Numbers = typename SplitLanes<Number>::Numbers;
  Numbers sum = {};
  for (int v = 0; v < kPanel; v += kSplitLanes) {
    Weights w;
    Numbers z;
    __builtin_memcpy(&w, weight + v, sizeof w);
    __builtin_memcpy(&z, over_z + v, sizeof z);
    sum += __builtin_convertvector(w, Numbers) * z;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <int kPanel, class Number>
static inline void dense_back_panels(const SplitPart& part, std::int32_t out,
                                     const Number* BF_RESTRICT over_z, Number* BF_RESTRICT over_a) {
  const float* weight = part.weight;
  for (std::int32_t first = 0; first < out; first += kPanel, weight += kPanel * part.in) {
    Number z[kPanel] = {};
    bool any = false;
    for (int v = 0; v < kPanel && first + v < out; ++v) {
      z[v] = over_z[first + v];
      any = any || z[v] != 0;  // NaN too
    }
    if (!any) continue;
    for (std::int32_t k = 0; k < part.in; ++k)
      over_a[k] += panel_product<kPanel>(weight + k * kPanel, z);
  }
}

// visit(j, weight, k) for all products of a part, z_j += weight a_k.
template <class Visit>
static inline void visit_dense(const SplitPart& part, std::int32_t out, const Visit& visit) {
  for (std::int32_t j = 0; j < out; ++j) {
    const float* const weight = part.weight + (j - j % part.panel) * part.in + j % part.panel;
    for (std::int32_t k = 0; k < part.in; ++k) visit(j, weight[k * part.panel], k);
  }
}

// Output channels of a group are neighbours in the weights.
template <class Visit>
static inline void visit_conv(const SplitPart& part, const Visit& visit) {
  const ConvShape& shape = *part.shape;
  const int(&near_size)[3] = shape.transposed ? shape.in_size : shape.out_size;
  const int(&far_size)[3] = shape.transposed ? shape.out_size : shape.in_size;
  const int readers = out_group(shape), read = in_group(shape);
  const std::ptrdiff_t step = shape.out.channel;
  const auto at_pixel = [&](int n, const int(&p)[3]) {
    int t[3], q[3];
    for (t[0] = 0; t[0] < shape.kernel[0]; ++t[0])
      for (t[1] = 0; t[1] < shape.kernel[1]; ++t[1])
        for (t[2] = 0; t[2] < shape.kernel[2]; ++t[2]) {
          bool inside = true;
          for (int d = 0; d < 3; ++d) {
            q[d] = p[d] * shape.stride[d] - shape.pad[d] + t[d] * shape.dilation[d];
            inside = inside && q[d] >= 0 && q[d] < far_size[d];
          }
          if (!inside) continue;
          const int tap = (t[0] * shape.kernel[1] + t[1]) * shape.kernel[2] + t[2];
          for (int c = 0; c < shape.in_channels; ++c) {
            const int first = c / read * readers;
            const float* const weight = part.weight + weight_place(shape, first, c % read, tap);
            const std::ptrdiff_t k = element(shape.in, n, c, shape.transposed ? p : q);
            std::ptrdiff_t j = element(shape.out, n, first, shape.transposed ? q : p);
            for (int o = 0; o < readers; ++o, j += step) visit(j, weight[o], k);
          }
        }
  };
  int p[3];
  for (int n = 0; n < shape.batch; ++n)
    for (p[0] = 0; p[0] < near_size[0]; ++p[0])
      for (p[1] = 0; p[1] < near_size[1]; ++p[1])
        for (p[2] = 0; p[2] < near_size[2]; ++p[2]) at_pixel(n, p);
}

template <class Visit>
static inline void visit_products(const SplitPart& part, std::int32_t out, const Visit& visit) {
  switch (part.map) {
    case SplitMap::kDense:
      return visit_dense(part, out, visit);
    case SplitMap::kConv:
      return visit_conv(part, visit);
    case SplitMap::kSparse:
      for (std::int32_t j = 0; j < out; ++j)
        for (std::int32_t i = part.row_start[j]; i < part.row_start[j + 1]; ++i)
          visit(j, part.weight[i], part.column[i]);
      return;
    case SplitMap::kGather:
      for (std::int32_t j = 0; j < out; ++j) {
        const std::int32_t k = part.column == nullptr ? j : part.column[j];
        if (k >= 0) visit(j, 1.0f, k);
      }
      return;
  }
}

// over_a += W^T over_z. At most four roundings more of each sum than it has products.
template <class Number>
static inline void pass_back(const SplitPart& part, std::int32_t out, const Number* over_z,
                             Number* over_a) {
  const std::int32_t panel = part.map == SplitMap::kDense ? part.panel : 0;
  if (panel == 4) return dense_back_panels<4>(part, out, over_z, over_a);
  if (panel == 8) return dense_back_panels<8>(part, out, over_z, over_a);
  if (panel == 16) return dense_back_panels<16>(part, out, over_z, over_a);
  if (panel == 32) return dense_back_panels<32>(part, out, over_z, over_a);
  visit_products(part, out, [over_z, over_a](auto j, float weight, auto k) {
    over_a[k] += static_cast<Number>(weight) * over_z[j];
  });
}

// z += W a, where a proposal is made: nothing is claimed of it.
static inline void pass_forward(const SplitPart& part, std::int32_t out, const float* BF_RESTRICT a,
                                float* BF_RESTRICT z) {
  if (part.map != SplitMap::kDense)
    return visit_products(part, out,
                          [a, z](auto j, float weight, auto k) { z[j] += weight * a[k]; });
  const float* weight = part.weight;
  for (std::int32_t first = 0; first < out; first += part.panel) {
    const std::int32_t left = out - first;
    const std::int32_t count = left < part.panel ? left : part.panel;
    for (std::int32_t k = 0; k < part.in; ++k, weight += part.panel) {
      const float x = a[k];
      if (x == 0) continue;
      for (std::int32_t v = 0; v < count; ++v) z[first + v] += weight[v] * x;
    }
  }
}

// reach_j += sum_k |w_jk| magnitude_k, in double.
static inline void add_reaches(const SplitPart& part, std::int32_t out, const double* magnitude,
                               double* reach) {
  visit_products(part, out, [magnitude, reach](auto j, float weight, auto k) {
    reach[j] += __builtin_fabs(static_cast<double>(weight)) * magnitude[k];
  });
}

}  // namespace bf
