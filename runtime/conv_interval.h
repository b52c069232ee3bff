#pragma once

#include <cstddef>
#include <cstdint>

#include "conv_outputs.h"
#include "intervals.h"
#include "vectors.h"

// Interval pass through a convolution: sums in float32.
//
// Roundings of one sum. Products go to an accumulator of their own, at most kIntervalChain of them,
// then to the sum of the chains: a chain is as many taps as fit, each with the input channels of a
// group, or a part of one tap. interval_depth() in the planner counts the same. Which products make
// a chain, and their order, depend on the shape alone: neither on tiles nor on vectors.

namespace bf {

constexpr int kIntervalChain = 64;

// The chain that a tap's products go to; of a tap in parts, the first.
static constexpr int chain_of(const ConvShape& shape, int tap) {
  return in_group(shape) < kIntervalChain ? tap / (kIntervalChain / in_group(shape)) : tap;
}

struct IntervalOut {
  float *centre, *radius;
  bool own;  // a row of its own, to which nothing is added
};

// Lines of channels that are a multiple of so many floats apart push each other out of caches that
// choose a place by the lower bits of addresses.
constexpr int kCrowded = 512;
constexpr int kMostOfRow = 2048;  // floats on the stack, for each of centres and radii

// The same convolution with rows of outputs of their own: pixel by pixel, the channels of a group
// together.
constexpr ConvShape with_rows(ConvShape shape) {
  shape.out.channel = 1;
  shape.out.spatial[2] = out_group(shape);
  return shape;
}
template <const ConvShape& kShape>
constexpr ConvShape kWithRows = with_rows(kShape);

template <const ConvShape& kShape>
static constexpr FixedShape<kWithRows<kShape>> with_rows(FixedShape<kShape>) {
  return {};
}

template <int kLanes>
static inline typename VectorOf<float, kLanes>::type size_of_weights(
    typename VectorOf<float, kLanes>::type value) {
  if constexpr (kLanes == 1) {
    return __builtin_fabsf(value);
  } else {
    typename VectorOf<std::int32_t, kLanes>::type bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fffffff;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
}

using Four = VectorOf<float, 4>::type;

template <int kA, int kB, int kC, int kD>
static inline Four pick(Four a, Four b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kA, kB, kC, kD);
#else
  return __builtin_shuffle(a, b, VectorOf<std::int32_t, 4>::type{kA, kB, kC, kD});
#endif
}

// Writes, or adds, four rows of four numbers as columns: row x, number c goes to to[c column + x].
template <bool kAdd>
__attribute__((always_inline)) static inline void give_columns(const float* from,
                                                               std::ptrdiff_t row, float* to,
                                                               std::ptrdiff_t column) {
  const Four a = load_rows<Four>(from), b = load_rows<Four>(from + row);
  const Four c = load_rows<Four>(from + 2 * row), d = load_rows<Four>(from + 3 * row);
  const Four low = pick<0, 4, 1, 5>(a, b), high = pick<2, 6, 3, 7>(a, b);
  const Four below = pick<0, 4, 1, 5>(c, d), above = pick<2, 6, 3, 7>(c, d);
  const Four columns[4] = {pick<0, 1, 4, 5>(low, below), pick<2, 3, 6, 7>(low, below),
                           pick<0, 1, 4, 5>(high, above), pick<2, 3, 6, 7>(high, above)};
  BF_UNROLL_ROWS for (int k = 0; k < 4; ++k) {
    float* const place = to + k * column;
    store_rows(place, kAdd ? load_rows<Four>(place) + columns[k] : columns[k]);
  }
}

// The same of `pixels` rows of `channels` numbers, whose columns' numbers are `step` apart.
template <bool kAdd>
__attribute__((always_inline)) static inline void give_channels(const float* from, int pixels,
                                                                int channels, float* to,
                                                                std::ptrdiff_t column,
                                                                std::ptrdiff_t step) {
  const int four_pixels = step == 1 ? pixels / 4 * 4 : 0, four_channels = channels / 4 * 4;
  for (int c = 0; c < four_channels; c += 4)
    for (int x = 0; x < four_pixels; x += 4)
      give_columns<kAdd>(from + x * channels + c, channels, to + c * column + x, column);
  for (int x = 0; x < pixels; ++x)
    for (int c = x < four_pixels ? four_channels : 0; c < channels; ++c)
      give<kAdd>(from[x * channels + c], to + c * column + x * step);
}

// What conv_outputs() sums for conv_interval(). Tiles of crowded images write to a row of their
// own, which then goes to the image channel by channel: each line of it is touched once.
template <bool kAdd>
struct IntervalTiles {
  using Number = float;
  using Out = IntervalOut;
  static constexpr int kLanes = kVectorBytes >= 16 ? kVectorBytes / 4 : 1;
  static constexpr int kPixels = kVectorBytes == 64 ? 8 : 4;
  static constexpr int kPixelsOfTwo = kPixels / 2;

  // kVectors x kWidth output channels of kTogether pixels.
  template <int kWidth, int kVectors, int kTogether>
  struct Sums {
    typename VectorOf<float, kWidth>::type centre[kTogether][kVectors], radius[kTogether][kVectors];

    __attribute__((always_inline)) void operator+=(const Sums& other) {
      BF_UNROLL_ROWS for (int x = 0; x < kTogether; ++x)
          BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        centre[x][v] += other.centre[x][v];
        radius[x][v] += other.radius[x][v];
      }
    }
  };

  template <int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void add(const float* weight, const float* centre,
                                                 const float* radius, std::ptrdiff_t pixel,
                                                 Sums<kWidth, kVectors, kTogether>& sums) {
    using Vector = typename VectorOf<float, kWidth>::type;
    Vector w[kVectors], size[kVectors];
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      w[v] = load_rows<Vector>(weight + v * kWidth);
      size[v] = size_of_weights<kWidth>(w[v]);
    }
    BF_UNROLL_ROWS for (int x = 0; x < kTogether; ++x) {
      const Vector c = centre[x * pixel] - Vector{};
      const Vector r = radius[x * pixel] - Vector{};
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        sums.centre[x][v] += w[v] * c;
        sums.radius[x][v] += size[v] * r;
      }
    }
  }

  // Sums of a tile, to a row or an image where channels are `channel` apart and pixels `pixel`.
  template <int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void put(
      const typename VectorOf<float, kWidth>::type (&sums)[kTogether][kVectors],
      std::ptrdiff_t channel, std::ptrdiff_t pixel, bool own, float* to) {
    if (own) {
      BF_UNROLL_ROWS for (int x = 0; x < kTogether; ++x)
          BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
              store_rows(to + x * pixel + v * kWidth, sums[x][v]);
      return;
    }
    float rows[kTogether][kVectors * kWidth];
    __builtin_memcpy(rows, sums, sizeof rows);
    give_channels<kAdd>(rows[0], kTogether, kVectors * kWidth, to, channel, pixel);
  }

  template <int kWidth, int kVectors, int kTogether, typename Shape>
  __attribute__((always_inline)) static void tile(Shape fixed, const TileReads<float>& reads,
                                                  IntervalOut out) {
    const ConvShape& shape = fixed;
    const bool up = !shape.transposed;
    const int group = in_group(shape);
    const std::ptrdiff_t stride = std::ptrdiff_t{taps(shape)} * out_group(shape);
    const std::ptrdiff_t pixel_in = std::ptrdiff_t{shape.in.spatial[2]} * tap_shift(shape, up, 2);
    const bool one_chain = group * taps(shape) <= kIntervalChain;
    Sums<kWidth, kVectors, kTogether> total = {}, sums = {};
    const auto end_chain = [&]() __attribute__((always_inline)) {
      total += sums;
      sums = {};
    };
    int chain = 0;
    tile_products(fixed, reads, [&](int tap, std::ptrdiff_t at) {
      if (!one_chain && chain_of(shape, tap) != chain) {
        end_chain();
        chain = chain_of(shape, tap);
      }
      std::ptrdiff_t w = std::ptrdiff_t{tap} * out_group(shape);
      for (int first = 0; first < group; first += kIntervalChain) {
        if (first > 0) end_chain();
        const int end = first + kIntervalChain < group ? first + kIntervalChain : group;
        for (int i = first; i < end; ++i, at += shape.in.channel, w += stride)
          add<kWidth, kVectors, kTogether>(reads.weight + w, reads.centre + at, reads.radius + at,
                                           pixel_in, sums);
      }
    });
    if (!one_chain) sums += total;
    const std::ptrdiff_t pixel = std::ptrdiff_t{shape.out.spatial[2]} * tap_period(shape, up, 2);
    put<kWidth, kVectors, kTogether>(sums.centre, shape.out.channel, pixel, out.own, out.centre);
    put<kWidth, kVectors, kTogether>(sums.radius, shape.out.channel, pixel, out.own, out.radius);
  }

  template <typename Shape, typename Make>
  static void row(Shape fixed, Make make, IntervalOut out) {
    const ConvShape& shape = fixed;
    if (shape.out.channel % kCrowded != 0 || out_group(shape) * shape.out_size[2] > kMostOfRow)
      return make(fixed, out);
    alignas(64) float centre[kMostOfRow], radius[kMostOfRow];
    make(with_rows(fixed), IntervalOut{centre, radius, true});
    const auto copy = [&](const float* from, float* to) {
      give_channels<kAdd>(from, shape.out_size[2], out_group(shape), to, shape.out.channel,
                          shape.out.spatial[2]);
    };
    copy(centre, out.centre);
    copy(radius, out.radius);
  }

  static void strip(const ConvShape& shape, const float* weight, const float*,
                    const float* centre_in, const float* radius_in, int n, int o, const int (&p)[3],
                    int count, IntervalOut out) {
    float total_centre[kStrip] = {}, total_radius[kStrip] = {};
    float centre[kStrip] = {}, radius[kStrip] = {};
    const auto end_chain = [&] {
      for (int x = 0; x < kStrip; ++x) {
        total_centre[x] += centre[x];
        total_radius[x] += radius[x];
        centre[x] = radius[x] = 0;
      }
    };
    int chain = 0;
    strip_products(shape, n, o, p, count,
                   [&](int tap, int i, std::ptrdiff_t at, std::ptrdiff_t row, const PixelRun& run) {
                     if (chain_of(shape, tap) != chain || (i > 0 && i % kIntervalChain == 0)) {
                       end_chain();
                       chain = chain_of(shape, tap);
                     }
                     add_run(run, weight[at], __builtin_fabsf(weight[at]), centre_in + row,
                             radius_in + row, shape.in.spatial[2], centre, radius);
                   });
    end_chain();
    const std::ptrdiff_t at = element(shape.out, n, o, p);
    for (int x = 0; x < count; ++x) {
      const auto to = moved(out, at + static_cast<std::ptrdiff_t>(x) * shape.out.spatial[2]);
      give<kAdd>(total_centre[x], to.centre);
      give<kAdd>(total_radius[x], to.radius);
    }
  }
};

// The sums of a convolution. weight: weight_place(). Shape: ConvShape or FixedShape.
template <bool kAdd, typename Shape>
BF_ROUTINE conv_interval(Shape fixed, const float* weight, const float* centre_in,
                         const float* radius_in, float* centre_out, float* radius_out) {
  conv_outputs<IntervalTiles<kAdd>>(fixed, weight, nullptr, centre_in, radius_in,
                                    IntervalOut{centre_out, radius_out, false});
}

}  // namespace bf
