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

// What is known of z, and where the box of a' goes: one number for each neuron of each box.
struct LineNeurons {
  const double* centre;
  const float *below, *above;
  double* centre_out;
  float* radius_out;
};

struct LineErrors {
  float gamma;      // times |m_0| of a'
  float gamma_sum;  // times the computed sum of |m_j|, which it makes a bound as well
  float least;      // added where numbers may be subnormal
};

// Neurons whose lines are relaxed together, in passes that do not wait for each other: what must be
// in double has half of the lanes.
constexpr int kLineBlock = 64;
struct LineBlock {
  float bottom[kLineBlock], middle[kLineBlock], top[kLineBlock];  // ends and centre of z, rounded
  float keeps[kLineBlock];  // 1: c' = c + moves; 0: c' = moves
  float moves[kLineBlock];
  float slope[kLineBlock];   // of both lines over z
  float offset[kLineBlock];  // of the middle, relative to both centres
  float lost[kLineBlock];    // distance of the lines from their middle, and roundings
};

// a' = relu(z) or z for the neurons of one vector, relative to new centres c', in floats: what is
// rounded is of the size of the bounds around them. The ends are of doubles, to nearest.
//
// Proof. *Ends.* bottom = L = float(c - below) misses the lower end by u (1 + 2^-27) |L| and
// 2^-150, so that low = L - (2^-22 |L| + least) lies below it; high alike above. Where their
// distance is not finite nothing is known. `least` is 2^-100: what is smaller may be rounded to
// anything.
//
// *Dead*: a' = 0 and all is 0. *Unknown*: the radius and the spread are infinite, and the centre 0.
//
// *Unstable*: s = fl(high / fl(high - low)) is in [0, 1], as fl(high - low) >= high. relu(z) >= s
// z, and the line s z + t lies above relu on [low, high] where it does at both ends: t >= max(-s
// low, (1 - s) high), whose two roundings 1 + 2^-20 covers. With c' = high / 2, which is exact, the
// radius is that. a' - c' lies in s (z - c) + s c - c' + [0, t]. The constant m'_0 of its middle is
// s m_0 + s c - c' + t / 2, computed with at most five roundings, each by u of a sum of some of
// s |m_0|, s |c|, high and t; the last one is of m'_0 itself, and in gamma. Together at most
// 2^-21 (s (|m_0| + |c|) + high + t).
//
// *Active*, or without ReLU: c' = c + shift for any float, rounded by 2^-53 |c'|; m'_0 = fl(m_0 -
// shift), and 2^-51 (|c| + |shift|) is lost. The radius is the larger of above - shift and below +
// shift, and what is lost, times 1 + 2^-21.
template <int kLanes>
BF_LANES void relax_line_neurons(bool relu, const LineNeurons& neurons, int at, float least,
                                 LineBlock& block, int place) {
  using Floats = typename VectorOf<float, kLanes>::type;
  const Floats zero = {};
  const Floats one = zero + 1.0f;
  const Floats bottom = load_rows<Floats>(block.bottom + place);
  const Floats top = load_rows<Floats>(block.top + place);
  const Floats lowest = bottom - (magnitude<float>(bottom) * 0x1p-22f + least);
  const Floats highest = top + (magnitude<float>(top) * 0x1p-22f + least);
  const auto known = highest - lowest <= kMaxFloat;
  const Floats nothing = known ? zero : zero + __builtin_inff();
  const Floats high = known ? highest : zero;
  const Floats low = relu ? (known ? lowest : zero) : zero;  // without ReLU all are active
  const Floats down = known ? load_rows<Floats>(neurons.below + at) : zero;
  const Floats up = known ? load_rows<Floats>(neurons.above + at) : zero;
  const Floats middle = known ? load_rows<Floats>(block.middle + place) : zero;
  const auto active = low >= 0;
  const auto reaches = high > 0;

  const Floats slope = active ? one : (reaches ? high / (high - low) : zero);
  const Floats at_low = -slope * low, at_high = (one - slope) * high;
  const Floats chord = (at_low > at_high ? at_low : at_high) * (1 + 0x1p-20f) + least;
  const Floats gap = active ? zero : (reaches ? chord : zero);
  const Floats half = active ? zero : (reaches ? 0.5f * high : zero);
  const Floats shift = active ? 0.5f * (up - down) : zero;
  const Floats bent = active ? zero : slope * middle;
  const Floats size = (magnitude<float>(middle) + magnitude<float>(shift)) * 0x1p-51f;
  const Floats right = up - shift, left = down + shift;
  const Floats side = ((right > left ? right : left) + size) * (1 + 0x1p-21f) + least;
  const Floats rounded = 0x1p-21f * (magnitude<float>(bent) + 2.0f * half + gap);
  store_rows(block.keeps + place, Floats(known ? (active ? one : zero) : zero));
  store_rows(block.moves + place, Floats(active ? shift : half));
  store_rows(block.slope + place, slope);
  store_rows(block.offset + place, Floats((bent - half) + (0.5f * gap - shift)));
  store_rows(block.lost + place, Floats(0.5f * gap + (active ? size : rounded) + nothing));
  store_rows(neurons.radius_out + at, Floats((active ? side : half) + nothing));
}

template <int kLanes>
BF_LANES void ends_of_neurons(const LineNeurons& neurons, int at, LineBlock& block, int place) {
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  const Doubles c = load_rows<Doubles>(neurons.centre + at);
  const Doubles below = convert_rows<Doubles, kLanes>(load_rows<Floats>(neurons.below + at));
  const Doubles above = convert_rows<Doubles, kLanes>(load_rows<Floats>(neurons.above + at));
  store_rows(block.bottom + place, narrow_rows<Floats, kLanes>(Doubles(c - below)));
  store_rows(block.middle + place, narrow_rows<Floats, kLanes>(c));
  store_rows(block.top + place, narrow_rows<Floats, kLanes>(Doubles(c + above)));
}

template <int kLanes>
BF_LANES void move_centres(const LineNeurons& neurons, int at, const LineBlock& block, int place) {
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  const Doubles c = load_rows<Doubles>(neurons.centre + at);
  const Doubles keeps = convert_rows<Doubles, kLanes>(load_rows<Floats>(block.keeps + place));
  const Doubles moves = convert_rows<Doubles, kLanes>(load_rows<Floats>(block.moves + place));
  store_rows(neurons.centre_out + at, Doubles(keeps > 0 ? c + moves : moves));
}

// The lines of a' for the neurons of one vector, their first row at `lines` and `lines_out`.
//
// Proof. The spread is s d, what is lost besides, and what gamma prices. It is a sum of
// non-negative terms, each rounded at most ten times: 1 + 2^-19.
template <int kLanes>
BF_LANES void scale_lines(const LineBlock& block, int place, int inputs, const LineErrors& errors,
                          const float* lines, std::ptrdiff_t stride, float* lines_out,
                          std::ptrdiff_t stride_out) {
  using Floats = typename VectorOf<float, kLanes>::type;
  const Floats slope = load_rows<Floats>(block.slope + place);
  Floats sum = {};
  for (int j = 0; j < inputs; ++j, lines += stride, lines_out += stride_out) {
    const Floats m = load_rows<Floats>(lines);
    sum += magnitude<float>(m);
    store_rows(lines_out, Floats(slope * m));
  }
  const Floats m = load_rows<Floats>(lines);
  const Floats d = load_rows<Floats>(lines + stride);
  const Floats constant = slope * m + load_rows<Floats>(block.offset + place);
  const Floats spread = slope * (d + errors.gamma_sum * sum + 0x1p-21f * magnitude<float>(m)) +
                        load_rows<Floats>(block.lost + place) +
                        errors.gamma * magnitude<float>(constant);
  store_rows(lines_out, constant);
  store_rows(lines_out + stride_out, Floats(spread * (1 + 0x1p-19f) + errors.least));
}

// Of n neurons; those of several boxes are so many more. centre_out may be centre, radius_out below
// or above: nothing of neuron j is read once these are written.
static inline void relax_lines(int n, bool relu, int inputs, std::ptrdiff_t stride,
                               const double* centre, const float* below, const float* above,
                               const float* lines, const LineErrors& errors, double* centre_out,
                               float* radius_out, float* lines_out) {
  constexpr int kFloats = kVectorBytes / 4;
  static_assert(kLineBlock % kFloats == 0, "bf: whole vectors of lines");
  const LineNeurons neurons = {centre, below, above, centre_out, radius_out};
  LineBlock block;
  for (int first = 0; first < n;
       first += kLineBlock, lines += kLineBlock, lines_out += kLineBlock) {
    const int count = kLineBlock < n - first ? kLineBlock : n - first;
    const auto pass = [count](auto wide, auto one) {
      int j = 0;
      for (; j + decltype(wide)::value <= count; j += decltype(wide)::value) one(wide, j);
      for (; j < count; ++j) one(Count<1>(), j);
    };
    pass(Count<kNeuronLanes>(), [&](auto lanes, int j) {
      ends_of_neurons<decltype(lanes)::value>(neurons, first + j, block, j);
    });
    pass(Count<kFloats>(), [&](auto lanes, int j) {
      relax_line_neurons<decltype(lanes)::value>(relu, neurons, first + j, errors.least, block, j);
    });
    pass(Count<kNeuronLanes>(), [&](auto lanes, int j) {
      move_centres<decltype(lanes)::value>(neurons, first + j, block, j);
    });
    pass(Count<kFloats>(), [&](auto lanes, int j) {
      scale_lines<decltype(lanes)::value>(block, j, inputs, errors, lines + j, stride,
                                          lines_out + j, n);
    });
  }
}

}  // namespace bf
