#pragma once

#include <cstddef>

#include "bounds.h"
#include "lanes.h"
#include "relax.h"
#include "vectors.h"

// Forward lines, of one box or of kBoxes boxes side by side: element i of box b is element
// i kBoxes + b. Rows of `count` numbers lie `stride` apart, in this order: the coefficients m_1 ..
// m_K of the inputs, the constant m_0, the spread d. What they claim of a tensor v with centre c:
//   |v - c - m_0 - sum_j m_j t_j| <= d    for x_j = centre_j + radius_j t_j, t in [-1, 1]^K.
// Constants pay for roundings: note [forward lines] in DESIGN.md. A NaN or an infinity in any row
// ends in a bound that tightens nothing.

namespace bf {

// ---- a layer over the box

// Lines of z = W x + b: m_ij = w_ij radius_j. weight: [out / panel][in][panel]. slack: [0] of
// CentreAffine, of each box; below: the interval's, which is at least sum_j |w_ij| radius_j.
//
// Proof. z - centre = sum_j w*_ij radius_j t_j, but for slack. |w* - w| <= omega |w|, a product
// rounds by u and 2^-150: `product` below + slack + `absolute` holds all of them, times what the
// three roundings of the spread may lose.
template <int kBoxes>
static inline void start_lines(const float* weight, int in, int out, int panel,
                               std::ptrdiff_t stride, const float* radius, const double* slack,
                               const float* below, float product, double absolute, float* lines) {
  float own[kBoxes];
  for (int b = 0; b < kBoxes; ++b) own[b] = float_up((slack[b] + absolute) * (1 + 0x1p-20));
  constexpr int kLanes = lanes_of<float>(kBoxes);
  using Floats = typename VectorOf<float, kLanes>::type;
  for (int first = 0; first < out; first += panel) {
    const int count = panel < out - first ? panel : out - first;
    const float* w = weight + static_cast<std::ptrdiff_t>(first) * in;
    for (int j = 0; j < in; ++j, w += panel)
      for (int i = 0; i < count; ++i)
        for (int v = 0; v < kBoxes; v += kLanes)
          store_rows(lines + j * stride + (first + i) * kBoxes + v,
                     Floats(w[i] * load_rows<Floats>(radius + j * kBoxes + v)));
  }
  float* const constant = lines + in * stride;
  for (int i = 0; i < out; ++i)
    for (int v = 0; v < kBoxes; v += kLanes) {
      const int at = i * kBoxes + v;
      store_rows(constant + at, Floats{});
      store_rows(constant + stride + at,
                 Floats(load_rows<Floats>(below + at) * product + load_rows<Floats>(own + v)));
    }
}

// ---- bounds from lines

// Neurons, or boxes of one, in lanes: the sum of |m_j|, j >= 1.
template <int kLanes>
BF_LANES typename VectorOf<float, kLanes>::type sum_of_lines(int inputs, std::ptrdiff_t stride,
                                                             const float* lines) {
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats sum = {};
  for (int j = 0; j < inputs; ++j, lines += stride)
    sum += magnitude<float>(load_rows<Floats>(lines));
  return sum;
}

// The spread is made of the kernel's sum and `own`; bounds that it improves are replaced.
//
// Proof. The spread d' = fl(fl(sum inflate) + own) has a factor 1 + 8u in `inflate` and more in
// `own`, so that it is at least the exact d, times 1 + 4u. S = sum_j |m_j|: concretize holds what
// its sum loses, and 1 + 8u. Then T = fl(fl(fl(S concretize) + d') + 2^-21 |m_0|) is at least
// (S + d)(1 + 2u) + 2^-22 |m_0|, and fl(T +- m_0) misses T +- m_0 by at most u (T + |m_0|): what
// comes out is at least S + d +- m_0. What underflows is in `own`. Where m_0 is infinite, nothing
// is known.
template <int kLanes>
BF_LANES void tighten_neurons(int inputs, std::ptrdiff_t stride, float inflate,
                              typename VectorOf<float, kLanes>::type own, float concretize,
                              float* lines, float* below, float* above) {
  using Floats = typename VectorOf<float, kLanes>::type;
  const Floats reach = sum_of_lines<kLanes>(inputs, stride, lines);
  const Floats middle = load_rows<Floats>(lines + inputs * stride);
  float* const spread = lines + (inputs + 1) * stride;
  const Floats lost = load_rows<Floats>(spread) * inflate + own;
  store_rows(spread, lost);
  const Floats size = magnitude<float>(middle);
  const Floats total = (reach * concretize + lost) + size * 0x1p-21f;
  const Floats down = total - middle, up = total + middle;
  const Floats b = load_rows<Floats>(below), a = load_rows<Floats>(above);
  const auto known = size <= kMaxFloat;
  store_rows(below, Floats((known & (down < b)) ? down : b));
  store_rows(above, Floats((known & (up < a)) ? up : a));
}

template <int kBoxes>
static inline void tighten_lines(int n, int inputs, std::ptrdiff_t stride, float inflate,
                                 double absolute, float concretize, const double* slack,
                                 float* lines, float* below, float* above) {
  float own[kBoxes];
  for (int b = 0; b < kBoxes; ++b) own[b] = float_up((slack[b] + absolute) * (1 + 0x1p-20));
  if constexpr (kBoxes == 1) {
    constexpr int kLanes = kVectorBytes / 4;
    using Floats = typename VectorOf<float, kLanes>::type;
    int i = 0;
    for (; i + kLanes <= n; i += kLanes)
      tighten_neurons<kLanes>(inputs, stride, inflate, own[0] - Floats{}, concretize, lines + i,
                              below + i, above + i);
    for (; i < n; ++i)
      tighten_neurons<1>(inputs, stride, inflate, own[0], concretize, lines + i, below + i,
                         above + i);
  } else {
    constexpr int kLanes = lanes_of<float>(kBoxes);
    using Floats = typename VectorOf<float, kLanes>::type;
    for (int v = 0; v < kBoxes; v += kLanes)
      for (int i = v; i < n * kBoxes; i += kBoxes)
        tighten_neurons<kLanes>(inputs, stride, inflate, load_rows<Floats>(own + v), concretize,
                                lines + i, below + i, above + i);
  }
}

// ---- activations

// Lines of z, where those of a' go, and what is known of z, from one neuron on.
struct LineNeurons {
  int inputs;
  const double* centre;
  const float *below, *above;
  const float* lines;
  std::ptrdiff_t stride;
  double* centre_out;
  float* radius_out;
  float* lines_out;
  std::ptrdiff_t stride_out;
};

struct LineErrors {
  float gamma;      // times |m_0| of a'
  float gamma_sum;  // times the computed sum of |m_j|, which it makes a bound as well
  float least;      // added where numbers may be subnormal
};

// a' = relu(z) or z for the neurons of one vector, relative to new centres c'. All in floats but
// for the centres: what is rounded is of the size of the bounds around them.
//
// Proof. *Ends.* L = float(c - below) misses the lower end by u (1 + 2^-27) |L| and 2^-150, so that
// low = L - (2^-22 |L| + least) lies below it; high alike above. Where their distance is not finite
// nothing is known. `least` is 2^-100: what is smaller may be rounded to anything.
//
// *Dead*: a' = 0 and all is 0, but for `least`. *Unknown*: the radius and the spread are infinite,
// and the centre 0.
//
// *Unstable*: s = fl(high / fl(high - low)) is in [0, 1], as fl(high - low) >= high. relu(z) >= s
// z, and the line s z + t lies above relu on [low, high] where it does at both ends: t >= max(-s
// low, (1 - s) high), whose two roundings 1 + 2^-20 covers. With c' = high / 2, which is exact, the
// radius is that. a' - c' lies in s (z - c) + s c - c' + [0, t]. The constant m'_0 of its middle is
// s m_0 + s c - c' + t / 2, computed with at most five roundings, each by u of a sum of some of
// s |m_0|, s |c|, high and t; the last one is of m'_0 itself, and in gamma. Together at most
// `lost` = 2^-21 (s (|m_0| + |c|) + high + t).
//
// *Active*, or without ReLU: c' = c + shift for any float, rounded by 2^-53 |c'|; m'_0 = fl(m_0 -
// shift). `lost` = 2^-51 |c'|. The radius is the larger of above - shift and below + shift, and
// `lost`, times 1 + 2^-21.
//
// *Spread*: s d + t / 2 + lost, and what gamma prices. A sum of non-negative terms, each rounded at
// most ten times: 1 + 2^-19.
template <int kLanes>
BF_LANES void relax_line_neurons(bool relu, const LineNeurons& at, const LineErrors& errors) {
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  const auto wide = [](Floats x) { return convert_rows<Doubles, kLanes>(x); };
  const auto narrow = [](Doubles x) { return narrow_rows<Floats, kLanes>(x); };
  const Floats zero = {};
  const Floats one = zero + 1.0f;
  const Doubles c = load_rows<Doubles>(at.centre);
  const Floats below = load_rows<Floats>(at.below), above = load_rows<Floats>(at.above);
  const Floats bottom = narrow(Doubles(c - wide(below)));
  const Floats top = narrow(Doubles(c + wide(above)));
  const Floats lowest = bottom - (magnitude<float>(bottom) * 0x1p-22f + errors.least);
  const Floats highest = top + (magnitude<float>(top) * 0x1p-22f + errors.least);
  const auto known = highest - lowest <= kMaxFloat;
  const Floats high = known ? highest : zero;
  const Floats low = relu ? (known ? lowest : zero) : zero;  // without ReLU all are active
  const Floats down = known ? below : zero, up = known ? above : zero;
  const auto active = low >= 0;
  const auto reaches = high > 0;

  const Floats slope = active ? one : (reaches ? high / (high - low) : zero);
  const Floats at_low = -slope * low, at_high = (one - slope) * high;
  const Floats chord = (at_low > at_high ? at_low : at_high) * (1 + 0x1p-20f) + errors.least;
  const Floats gap = active ? zero : (reaches ? chord : zero);
  const Floats half = active ? zero : (reaches ? 0.5f * high : zero);
  const Floats shift = active ? 0.5f * (up - down) : zero;
  const Floats keeps = known ? (active ? one : zero) : zero;
  const Doubles moved = c + wide(shift);
  const Doubles centre = wide(keeps) > 0 ? moved : wide(half);
  const Floats size = magnitude<float>(narrow(centre)) * 0x1p-51f;
  const Floats right = up - shift, left = down + shift;
  const Floats side = ((right > left ? right : left) + size) * (1 + 0x1p-21f) + errors.least;
  const Floats nothing = known ? zero : zero + __builtin_inff();
  const Floats radius = (active ? side : half) + nothing;

  Floats sum = zero;
  const float* from = at.lines;
  float* to = at.lines_out;
  for (int j = 0; j < at.inputs; ++j, from += at.stride, to += at.stride_out) {
    const Floats m = load_rows<Floats>(from);
    sum += magnitude<float>(m);
    store_rows(to, Floats(slope * m));
  }
  const Floats m = load_rows<Floats>(from);
  const Floats d = load_rows<Floats>(from + at.stride);
  const Floats middle = active ? zero : narrow(c);
  const Floats offset = (slope * middle - half) + (0.5f * gap - shift);
  const Floats constant = slope * m + offset;
  const Floats rounded =
      0x1p-21f * (slope * (magnitude<float>(m) + magnitude<float>(middle)) + 2.0f * half + gap);
  const Floats lost = active ? size : rounded;
  const Floats spread = (slope * (d + errors.gamma_sum * sum) + 0.5f * gap +
                         errors.gamma * magnitude<float>(constant) + lost) *
                            (1 + 0x1p-19f) +
                        (nothing + errors.least);
  store_rows(to, constant);
  store_rows(to + at.stride_out, spread);
  store_rows(at.centre_out, centre);
  store_rows(at.radius_out, radius);
}

// Of n neurons; those of several boxes are so many more. centre_out may be centre, radius_out below
// or above: nothing of neuron j is read once these are written.
static inline void relax_lines(int n, bool relu, int inputs, std::ptrdiff_t stride,
                               const double* centre, const float* below, const float* above,
                               const float* lines, const LineErrors& errors, double* centre_out,
                               float* radius_out, float* lines_out) {
  const auto neurons = [&](int j) {
    return LineNeurons{inputs, centre + j,     below + j,      above + j,     lines + j,
                       stride, centre_out + j, radius_out + j, lines_out + j, n};
  };
  int j = 0;
  for (; j + kNeuronLanes <= n; j += kNeuronLanes)
    relax_line_neurons<kNeuronLanes>(relu, neurons(j), errors);
  for (; j < n; ++j) relax_line_neurons<1>(relu, neurons(j), errors);
}

}  // namespace bf
