#pragma once

#include <cstddef>
#include <cstdint>

#include "conv_outputs.h"
#include "intervals.h"
#include "vectors.h"

// Interval pass through a convolution: sums in float32.
//
// Roundings of one sum. Products go to an accumulator of their own, at most kIntervalChain of them,
// then to the sum of the chains: in a tile as many taps as fit, each with the input channels of a
// group, or parts of one tap; in a strip any that follow each other. interval_depth() in the
// planner counts the longer of both.

namespace bf {

constexpr int kIntervalChain = 64;

struct IntervalOut {
  float *centre, *radius;
};

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

// What conv_outputs() sums for conv_interval().
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

  // One row of outputs of the same kind, channel by channel.
  template <int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void put(
      const typename VectorOf<float, kWidth>::type (&sums)[kTogether][kVectors],
      std::ptrdiff_t channel, std::ptrdiff_t pixel, float* to) {
    float rows[kTogether][kVectors * kWidth];
    __builtin_memcpy(rows, sums, sizeof rows);
    for (int l = 0; l < kVectors * kWidth; ++l)
      BF_UNROLL_ROWS for (int x = 0; x < kTogether; ++x)
          give<kAdd>(rows[x][l], to + l * channel + x * pixel);
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
    const int run = group < kIntervalChain ? group : kIntervalChain;
    Sums<kWidth, kVectors, kTogether> total = {}, sums = {};
    int chain = 0;
    tile_products(fixed, reads, [&](std::ptrdiff_t w, std::ptrdiff_t at) {
      for (int first = 0; first < group; first += run) {
        const int end = first + run < group ? first + run : group;
        for (int i = first; i < end; ++i, at += shape.in.channel, w += stride)
          add<kWidth, kVectors, kTogether>(reads.weight + w, reads.centre + at, reads.radius + at,
                                           pixel_in, sums);
        chain += run;
        if (one_chain || chain + run <= kIntervalChain) continue;
        total += sums;
        sums = {};
        chain = 0;
      }
    });
    if (!one_chain) sums += total;
    const std::ptrdiff_t pixel = std::ptrdiff_t{shape.out.spatial[2]} * tap_period(shape, up, 2);
    put<kWidth, kVectors, kTogether>(sums.centre, shape.out.channel, pixel, out.centre);
    put<kWidth, kVectors, kTogether>(sums.radius, shape.out.channel, pixel, out.radius);
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
    strip_taps(shape, n, o, p, count,
               [&](std::ptrdiff_t at, std::ptrdiff_t row, const PixelRun& run) {
                 if (chain++ == kIntervalChain) {
                   end_chain();
                   chain = 1;
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
                                    IntervalOut{centre_out, radius_out});
}

}  // namespace bf
