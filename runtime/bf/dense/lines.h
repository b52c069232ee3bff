#pragma once

#include "bf/contract/integers.h"
#include "bf/core/bounds.h"
#include "bf/core/lanes.h"
#include "bf/core/relax.h"
#include "bf/core/vectors.h"
#include "bf/sums/row_slack.h"

// Forward lines, of one box or of kBoxes boxes side by side: element i of box b is element
// i kBoxes + b. Rows of `count` numbers lie `stride` apart, in this order: the coefficients m_1 ..
// m_K of the inputs, the constant m_0, the spread d. What they claim of a tensor v with centre c:
//   |v - c - m_0 - sum_j m_j t_j| <= d    for x_j = centre_j + radius_j t_j, t in [-1, 1]^K.
// Constants pay for roundings: docs/proofs/forward-lines.md. A NaN or an infinity in any row
// ends in a bound that tightens nothing. Rows of a pre-activation hold the computed sum that a
// spread is made of, instead of the spread: LineBounds.

namespace bf {

// ---- a layer over the box

// Lines of z = W x + b: m_ij = w_ij radius_j. weight: [out / panel][in][panel]. spread: of z as
// CentreAffine computes it, the sum of |w_ij| radius_j.
//
// Proof. z - centre = sum_j w*_ij radius_j t_j, but for slack. |w* - w| <= omega |w|, and a product
// rounds by u and 2^-150: together `product` times the exact sum of |w_ij| radius_j, which
// LineBounds.inflate makes of the computed one.
template <int kBoxes>
static inline void start_lines(const float* weight, int in, int out, int panel,
                               std::ptrdiff_t stride, const float* radius, const float* spread,
                               float product, float* lines) {
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
  for (int i = 0; i < out * kBoxes; i += kLanes) {
    store_rows(constant + i, Floats{});
    store_rows(constant + stride + i, Floats(load_rows<Floats>(spread + i) * product));
  }
}

// ---- bounds from lines

struct LineBounds {
  float around;      // times the computed radius: with what is lost, the interval's
  float inflate;     // times the computed spread, alike
  float concretize;  // times the computed sum of |m_j|, which it makes a bound
  double absolute;   // what underflows in a neuron
};

// The losses of every neuron of a box: what its centre may miss, what underflows, and some
// roundings. Where no neuron has a slack of its own, they are those of the layer.
template <int kBoxes>
struct LineLosses {
  float own[kBoxes];
  const double* row;  // null where all are alike
  double absolute;
  LineLosses(const double* slack, const double* rows, double underflow)
      : row(has_open_rows<kBoxes>(slack) ? rows : nullptr), absolute(underflow) {
    for (int b = 0; b < kBoxes; ++b) own[b] = loss(slack[b]);
  }
  float loss(double missed) const { return float_up((missed + absolute) * (1 + 0x1p-20)); }
  // The losses of kLanes numbers, the first of which is element `at`.
  template <int kLanes>
  typename VectorOf<float, kLanes>::type of(int at) const {
    using Floats = typename VectorOf<float, kLanes>::type;
    if (row != nullptr) {
      float each[kLanes];
      for (int l = 0; l < kLanes; ++l) each[l] = loss(row[at + l]);
      return load_rows<Floats>(each);
    }
    if constexpr (kBoxes == 1) return own[0] - Floats{};
    return load_rows<Floats>(own + at % kBoxes);
  }
};

// Bounds of z for the neurons of one vector, or a neuron of several boxes: no NaN in bounds.
template <int kLanes>
struct LineReach {
  typename VectorOf<float, kLanes>::type below, above;  // |z - centre|
  typename VectorOf<float, kLanes>::type sum;           // of |m_j|, j >= 1, as computed
  typename VectorOf<float, kLanes>::type spread;        // d
};

// The smaller of the interval's bound and of the lines', on either side.
//
// Proof. *Interval.* |z - centre| <= (1 + omega) sum |w| r + slack. fl(fl(R around) + own) is at
// least that: a factor 1 + 8u in `around`, and more in `own`, hold its two roundings. Where it is
// not finite, NaN included, nothing is known.
//
// *Lines.* d = fl(fl(sum inflate) + own) has a factor 1 + 8u in `inflate` and more in `own`, so
// that it is at least the exact d, times 1 + 4u. S = sum_j |m_j|: concretize holds what its sum
// loses, and 1 + 8u. Then T = fl(fl(fl(S concretize) + d) + 2^-21 |m_0|) is at least (S + d)(1 +
// 2u) + 2^-22 |m_0|, and fl(T +- m_0) misses T +- m_0 by at most u (T + |m_0|): what comes out is
// at least S + d +- m_0. What underflows is in `own`. Where m_0 is not finite, nothing is known.
template <int kLanes>
BF_LANES LineReach<kLanes> reach_of_neurons(int inputs, std::ptrdiff_t stride,
                                            const LineBounds& bounds,
                                            typename VectorOf<float, kLanes>::type own,
                                            const float* radius, const float* lines) {
  using Floats = typename VectorOf<float, kLanes>::type;
  const Floats unknown = Floats{} + __builtin_inff();
  LineReach<kLanes> made;
  made.sum = Floats{};
  for (int j = 0; j < inputs; ++j, lines += stride)
    made.sum += magnitude<float>(load_rows<Floats>(lines));
  const Floats middle = load_rows<Floats>(lines);
  made.spread = load_rows<Floats>(lines + stride) * bounds.inflate + own;
  const Floats around = load_rows<Floats>(radius) * bounds.around + own;
  const Floats size = magnitude<float>(middle);
  const Floats total = (made.sum * bounds.concretize + made.spread) + size * 0x1p-21f;
  const Floats interval = around <= kMaxFloat ? around : unknown;
  const Floats reach = size <= kMaxFloat ? total : unknown;
  const Floats down = reach - middle, up = reach + middle;
  made.below = down < interval ? down : interval;
  made.above = up < interval ? up : interval;
  return made;
}

// Bounds z of n neurons by their intervals and lines. below may be radius.
template <int kBoxes>
static inline void tighten_lines(int n, int inputs, std::ptrdiff_t stride, const LineBounds& bounds,
                                 const float* radius, const double* slack, const double* row,
                                 const float* lines, float* below, float* above) {
  constexpr int kLanes = lanes_of<float>(kBoxes);
  const LineLosses<kBoxes> losses(slack, row, bounds.absolute);
  for (int i = 0; i < n * kBoxes; i += kLanes) {
    const LineReach<kLanes> z = reach_of_neurons<kLanes>(
        inputs, stride, bounds, losses.template of<kLanes>(i), radius + i, lines + i);
    store_rows(below + i, z.below);
    store_rows(above + i, z.above);
  }
}

// ---- activations

struct LineErrors {
  float gamma;      // times |m_0| of a'
  float gamma_sum;  // times the computed sum of |m_j|, which it makes a bound as well
  float least;      // added where numbers may be subnormal
};

// Neurons whose lines are relaxed together, in passes that do not wait for each other: what must be
// in double has half of the lanes.
constexpr int kLineBlock = 64;
struct LineBlock {
  float middle[kLineBlock];  // centre of z, rounded
  float keeps[kLineBlock];   // 1: c' = c + moves; 0: c' = moves
  float moves[kLineBlock];
};

// The lines of a' over z for the neurons of one vector.
template <int kLanes>
struct LineChoice {
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats slope;   // of both lines over z
  Floats offset;  // of their middle, relative to both centres
  Floats lost;    // their distance from it, and roundings
  Floats radius;  // of a'
  Floats keeps, moves;
};

// a' = relu(z) or z relative to new centres c', in floats: what is rounded is of the size of the
// bounds around them.
//
// Proof. *Ends.* C = `middle` misses c by u |C| (1 + 2u) and 2^-150. z is between c - below and c +
// above, so that above >= -below, and F = |C| + max(below, above) is at least |C - below| and |C +
// above|. So fl(C - below) misses c - below by u |C| + u F, and the last subtraction rounds by u F
// and u margin more, each but for a factor 1 + 2u: less than the margin, fl(2^-22 F + least), which
// is at least 4u F (1 - 3u). low lies below the lower end, high alike above. Where their distance
// is not finite nothing is known. `least` is 2^-100: what is smaller may be rounded to anything.
//
// The margin has the size of what it is for: where it makes an active neuron unstable, or a dead
// one, |c| is of the size of below and above, as it is in every unstable neuron.
//
// *Dead*: a' = 0 and all is 0. *Unknown*: the radius and the spread are infinite, and the centre 0.
//
// *Unstable*: s = fl(high / fl(high - low)) is in [0, 1], as fl(high - low) >= high. relu(z) >= s
// z, and the line s z + t lies above relu on [low, high] where it does at both ends: t >= max(-s
// low, (1 - s) high), whose three roundings 1 + 2^-20 covers. With c' = high / 2, which is exact,
// the radius is that. a' - c' lies in s (z - c) + s c - c' + [0, t]. The constant m'_0 of its
// middle is s m_0 + s c - c' + t / 2, computed with at most five roundings, each by u of a sum of
// some of s |m_0|, s |c|, high / 2 and t / 2; the last one is of m'_0 itself, and in gamma.
// Together at most 2^-21 (s (|m_0| + |c|) + high / 2 + t / 2).
//
// *Active*, or without ReLU: c' = c + shift for any float, rounded by 2^-53 |c'|; m'_0 = fl(m_0 -
// shift), and 2^-51 (|c| + |shift|) is lost. The radius is the larger of above - shift and below +
// shift, and what is lost, times 1 + 2^-21.
//
// Every mask is one comparison: GCC 12 takes masks of masks apart, lane by lane.
template <int kLanes>
BF_LANES LineChoice<kLanes> relax_neurons(bool relu, const LineReach<kLanes>& z,
                                          typename VectorOf<float, kLanes>::type middle,
                                          float least) {
  using Floats = typename VectorOf<float, kLanes>::type;
  const Floats zero = {};
  const Floats one = zero + 1.0f;
  const Floats far = magnitude<float>(middle) + (z.above > z.below ? z.above : z.below);
  const Floats margin = far * 0x1p-22f + least;
  const Floats low = (middle - z.below) - margin;
  const Floats high = (middle + z.above) + margin;
  const Floats width = high - low;
  const auto known = width <= kMaxFloat;
  const Floats nothing = known ? zero : zero + __builtin_inff();
  const Floats bottom = known ? (relu ? low : zero) : -one;  // without ReLU all are active
  const Floats top = known ? high : zero;
  const auto active = bottom >= 0;
  const auto reaches = top > 0;

  const Floats ratio = high / width;
  const Floats steep = reaches ? ratio : zero;
  const Floats at_low = -ratio * low, at_high = (one - ratio) * high;
  const Floats chord = (at_low > at_high ? at_low : at_high) * (0.5f * (1 + 0x1p-20f)) + least;
  const Floats half_gap = reaches ? chord : zero;
  const Floats half = 0.5f * (reaches ? top : zero);
  const Floats bent = steep * middle;
  const Floats rounded = 0x1p-21f * (magnitude<float>(bent) + (half + half_gap)) + half_gap;
  const Floats shift = 0.5f * (z.above - z.below);
  const Floats size = (magnitude<float>(middle) + magnitude<float>(shift)) * 0x1p-51f;
  const Floats right = z.above - shift, left = z.below + shift;
  const Floats side = ((right > left ? right : left) + size) * (1 + 0x1p-21f) + least;

  LineChoice<kLanes> made;
  made.slope = active ? one : steep;
  made.offset = active ? -shift : (bent - half) + half_gap;
  made.lost = (active ? size : rounded) + nothing;
  made.radius = (active ? side : half) + nothing;
  made.keeps = active ? one : zero;
  made.moves = active ? shift : half;
  return made;
}

// The lines of a' for the neurons of one vector, their first row at `lines` and `lines_out`.
//
// Proof. The spread is s d, what is lost besides, and what gamma prices. It is a sum of
// non-negative terms, each rounded at most ten times: 1 + 2^-19.
template <int kLanes>
BF_LANES void scale_lines(const LineReach<kLanes>& z, const LineChoice<kLanes>& a, int inputs,
                          const LineErrors& errors, const float* lines, std::ptrdiff_t stride,
                          float* lines_out, std::ptrdiff_t stride_out) {
  using Floats = typename VectorOf<float, kLanes>::type;
  for (int j = 0; j < inputs; ++j, lines += stride, lines_out += stride_out)
    store_rows(lines_out, Floats(a.slope * load_rows<Floats>(lines)));
  const Floats m = load_rows<Floats>(lines);
  const Floats constant = a.slope * m + a.offset;
  const Floats own = z.spread + errors.gamma_sum * z.sum + 0x1p-21f * magnitude<float>(m);
  const Floats spread = a.slope * own + a.lost + errors.gamma * magnitude<float>(constant);
  store_rows(lines_out, constant);
  store_rows(lines_out + stride_out, Floats(spread * (1 + 0x1p-19f) + errors.least));
}

template <int kLanes>
BF_LANES void round_centres(const double* centre, float* rounded) {
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  store_rows(rounded, narrow_rows<Floats, kLanes>(load_rows<Doubles>(centre)));
}

template <int kLanes>
BF_LANES void move_centres(const double* centre, const LineBlock& block, int place,
                           double* centre_out) {
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  const Doubles c = load_rows<Doubles>(centre);
  const Doubles keeps = convert_rows<Doubles, kLanes>(load_rows<Floats>(block.keeps + place));
  const Doubles moves = convert_rows<Doubles, kLanes>(load_rows<Floats>(block.moves + place));
  store_rows(centre_out, Doubles(keeps > 0 ? c + moves : moves));
}

// Relaxes n neurons. centre_out may be centre, radius_out radius: nothing of neuron j is read once
// these are written.
template <int kBoxes>
static inline void relax_lines(int n, bool relu, int inputs, std::ptrdiff_t stride,
                               const LineBounds& bounds, const LineErrors& errors,
                               const double* centre, const float* radius, const double* slack,
                               const double* row, const float* lines, double* centre_out,
                               float* radius_out, float* lines_out) {
  constexpr int kFloats = kBoxes == 1 ? kVectorBytes / 4 : lanes_of<float>(kBoxes);
  static_assert(kLineBlock % kFloats == 0 && kLineBlock % kBoxes == 0, "bf: whole vectors");
  const int count_all = n * kBoxes;
  const LineLosses<kBoxes> losses(slack, row, bounds.absolute);
  LineBlock block;
  for (int first = 0; first < count_all; first += kLineBlock) {
    const int count = kLineBlock < count_all - first ? kLineBlock : count_all - first;
    const auto pass = [count](auto wide, auto one) {
      int j = 0;
      for (; j + decltype(wide)::value <= count; j += decltype(wide)::value) one(wide, j);
      for (; j < count; ++j) one(Count<1>(), j);
    };
    pass(Count<kNeuronLanes>(), [&](auto lanes, int j) {
      round_centres<decltype(lanes)::value>(centre + first + j, block.middle + j);
    });
    pass(Count<kFloats>(), [&](auto wide, int j) {
      constexpr int kLanes = decltype(wide)::value;
      using Floats = typename VectorOf<float, kLanes>::type;
      const int at = first + j;
      const LineReach<kLanes> z = reach_of_neurons<kLanes>(
          inputs, stride, bounds, losses.template of<kLanes>(at), radius + at, lines + at);
      const LineChoice<kLanes> a =
          relax_neurons<kLanes>(relu, z, load_rows<Floats>(block.middle + j), errors.least);
      store_rows(block.keeps + j, a.keeps);
      store_rows(block.moves + j, a.moves);
      store_rows(radius_out + at, a.radius);
      scale_lines<kLanes>(z, a, inputs, errors, lines + at, stride, lines_out + at, count_all);
    });
    pass(Count<kNeuronLanes>(), [&](auto lanes, int j) {
      move_centres<decltype(lanes)::value>(centre + first + j, block, j, centre_out + first + j);
    });
  }
}

}  // namespace bf
