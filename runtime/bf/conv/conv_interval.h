#pragma once

#include "bf/contract/chains.h"
#include "bf/contract/integers.h"
#include "bf/conv/conv_blocks.h"
#include "bf/conv/conv_outputs.h"
#include "bf/conv/conv_pixels.h"
#include "bf/conv/conv_pooling.h"
#include "bf/core/columns.h"
#include "bf/core/vectors.h"
#include "bf/sums/intervals.h"

// Interval pass through a convolution: sums in float32.
//
// Products go to an accumulator of their own, at most kIntervalChain of them, then to the sum of
// the chains: interval_depth() in contract/chains.h says how many roundings that makes. Which
// products make a chain, and their order, depend on the shape alone: neither on tiles nor on
// vectors. Chains of kIntervalChain input channels follow each other tap by tap, then those of the
// next channels do.

namespace bf {

// The chain that a tap's products go to; of a tap in parts, the first.
static constexpr int chain_of(const ConvShape& shape, int tap) {
  return tap / static_cast<int>(interval_taps(in_group(shape)));
}

struct IntervalOut {
  float *centre, *radius;
  bool own;  // a row of its own, to which nothing is added
};

// Lines of channels that are a multiple of so many floats apart push each other out of caches that
// choose a place by the lower bits of addresses.
constexpr int kCrowded = 512;
constexpr int kMostOfRow = 2048;  // floats on the stack, for each of centres and radii

constexpr bool is_crowded(const ConvShape& shape) {
  return shape.out.channel % kCrowded == 0 && out_group(shape) * shape.out_size[2] <= kMostOfRow;
}

// The convolution with a layout of its own for a row of outputs: pixel by pixel, the channels of a
// group together.
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

// The `Tiles` of conv_outputs() that conv_interval() sums by. Those of crowded images write to a
// row of their own, which then goes to the image channel by channel: each line of it is touched
// once.
template <bool kAdd>
struct IntervalTiles {
  using Number = float;
  using Out = IntervalOut;
  static constexpr int kLanes = kVectorBytes >= 16 ? kVectorBytes / 4 : 1;
  static constexpr int kPixels = kVectorBytes == 64 ? 8 : 4;
  static constexpr int kPixelsOfTwo = kPixels / 2;
  // 32 registers hold one vector of 8 pixels: |w| is made once for 16 products, not for 8.
  static constexpr int kPixelsOfMany = kVectorBytes == 64 ? kPixels : kPixels / 2;

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

  // The products of one input channel and pixels kBegin to kEnd - 1; the first one's input is
  // given.
  template <int kBegin, int kEnd, int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void add(const float* weight, const float* centre,
                                                 const float* radius, std::ptrdiff_t pixel,
                                                 Sums<kWidth, kVectors, kTogether>& sums) {
    using Vector = typename VectorOf<float, kWidth>::type;
    Vector w[kVectors], size[kVectors];
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      w[v] = load_once<Vector>(weight + v * kWidth);
      size[v] = magnitude<float>(w[v]);
    }
    BF_UNROLL_ROWS for (int x = kBegin; x < kEnd; ++x) {
      const Vector c = centre[(x - kBegin) * pixel] - Vector{};
      const Vector r = radius[(x - kBegin) * pixel] - Vector{};
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        sums.centre[x][v] += w[v] * c;
        sums.radius[x][v] += size[v] * r;
      }
    }
  }

  // The first kRoom pixels' sums of a tile, to a row or an image where channels are `channel` apart
  // and pixels `pixel`.
  template <int kRoom, int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void put(
      const typename VectorOf<float, kWidth>::type (&sums)[kTogether][kVectors],
      std::ptrdiff_t channel, std::ptrdiff_t pixel, bool own, float* to) {
    if (own) {
      BF_UNROLL_ROWS for (int x = 0; x < kRoom; ++x)
          BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
              store_rows(to + x * pixel + v * kWidth, sums[x][v]);
      return;
    }
    if constexpr (kWidth >= 4)
      if (pixel == 1) return put_columns<0, kRoom, kWidth>(sums, channel, to);
    float rows[kTogether][kVectors * kWidth];
    __builtin_memcpy(rows, sums, sizeof rows);
    give_channels<kAdd>(rows[0], kRoom, kVectors * kWidth, kVectors * kWidth, to, channel, pixel);
  }

  // Writes the sums of a tile from pixel kFirst on to the planes of the image.
  template <int kFirst, int kRoom, int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void put_columns(
      const typename VectorOf<float, kWidth>::type (&sums)[kTogether][kVectors],
      std::ptrdiff_t channel, float* to) {
    using Vector = typename VectorOf<float, kWidth>::type;
    if constexpr (kFirst < kRoom) {
      constexpr int kCount = kRoom - kFirst < 4 ? kRoom - kFirst : 4;
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        Vector rows[4] = {};
        BF_UNROLL_ROWS for (int x = 0; x < kCount; ++x) rows[x] = sums[kFirst + x][v];
        give_columns<kAdd, kCount, kWidth>(rows, to + v * kWidth * channel + kFirst, channel);
      }
      put_columns<kFirst + 4, kRoom, kWidth>(sums, channel, to);
    }
  }

  template <int kWidth, int kVectors, int kTogether, typename Shape, typename Place>
  __attribute__((always_inline)) static void tile(Shape fixed, Place place,
                                                  const TileReads<float>& reads, IntervalOut out) {
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
    for (int first = 0; first < group; first += kIntervalChain) {
      if (first > 0) end_chain();
      const int end = first + kIntervalChain < group ? first + kIntervalChain : group;
      int chain = 0;
      tile_products<kTogether>(
          fixed, place,
          reads, [&](int tap, std::ptrdiff_t at, auto pixels) __attribute__((always_inline)) {
            if (!one_chain && chain_of(shape, tap) != chain) {
              end_chain();
              chain = chain_of(shape, tap);
            }
            std::ptrdiff_t w = std::ptrdiff_t{tap} * out_group(shape) + first * stride;
            at += first * std::ptrdiff_t{shape.in.channel};
            for (int i = first; i < end; ++i, at += shape.in.channel, w += stride)
              add<pixels.begin, pixels.end>(reads.weight + w, reads.centre + at, reads.radius + at,
                                            pixel_in, sums);
          });
    }
    if (!one_chain) sums += total;
    const std::ptrdiff_t pixel = std::ptrdiff_t{shape.out.spatial[2]} * tap_period(shape, up, 2);
    constexpr int kRoom = pixels_in_row<kTogether>(Shape{}, Place{});
    put<kRoom, kWidth>(sums.centre, shape.out.channel, pixel, out.own, out.centre);
    put<kRoom, kWidth>(sums.radius, shape.out.channel, pixel, out.own, out.radius);
  }

  template <typename Make>
  static void row(const ConvShape& shape, Make make, IntervalOut out) {
    if (is_crowded(shape))
      by_rows(shape, make, out);
    else
      make(shape, out);
  }
  template <const ConvShape& kShape, typename Make>
  static void row(FixedShape<kShape> fixed, Make make, IntervalOut out) {
    if constexpr (is_crowded(kShape))
      by_rows(fixed, make, out);
    else
      make(fixed, out);
  }

  template <typename Shape, typename Make>
  static void by_rows(Shape fixed, Make make, IntervalOut out) {
    const ConvShape& shape = fixed;
    alignas(64) float centre[kMostOfRow], radius[kMostOfRow];
    make(with_rows(fixed), IntervalOut{centre, radius, true});
    const auto copy = [&](const float* from, float* to) {
      give_channels<kAdd>(from, shape.out_size[2], out_group(shape), out_group(shape), to,
                          shape.out.channel, shape.out.spatial[2]);
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
    for (int first = 0; first < in_group(shape); first += kIntervalChain) {
      const int end = first + kIntervalChain;
      int chain = 0;
      strip_products(shape, n, o, p, count, first, end < in_group(shape) ? end : in_group(shape),
                     [&](int tap, int, std::ptrdiff_t at, std::ptrdiff_t row, const PixelRun& run) {
                       if (chain_of(shape, tap) != chain) {
                         end_chain();
                         chain = chain_of(shape, tap);
                       }
                       add_run(run, weight[at], __builtin_fabsf(weight[at]), centre_in + row,
                               radius_in + row, shape.in.spatial[2], centre, radius);
                     });
      end_chain();
    }
    const std::ptrdiff_t at = element(shape.out, n, o, p);
    for (int x = 0; x < count; ++x) {
      const auto to = moved(out, at + static_cast<std::ptrdiff_t>(x) * shape.out.spatial[2]);
      give<kAdd>(total_centre[x], to.centre);
      give<kAdd>(total_radius[x], to.radius);
    }
  }
};

// The `Kind` of BlockWalk that conv_interval() sums by.
template <bool kAdd>
struct IntervalBlocks {
  using Number = float;
  using Out = IntervalOut;

  static void give(const float* centre, const float* radius, int pixels, int channels, int pitch,
                   const ConvShape& shape, Out out) {
    const auto write = [&](const float* from, float* to) {
      give_channels<kAdd>(from, pixels, channels, pitch, to, shape.out.channel,
                          shape.out.spatial[2]);
    };
    write(centre, out.centre);
    write(radius, out.radius);
  }
};

// The `Kind` of PixelTiles that conv_interval() sums by.
template <bool kAdd>
struct IntervalPixels {
  using Number = float;
  using Out = IntervalOut;
  static constexpr int kTurning = 12;

  template <int kCount, typename Vector>
  __attribute__((always_inline)) static void put(Vector centre, Vector radius, IntervalOut out) {
    put_lanes<kAdd, 0, kCount>(&centre, out.centre);
    put_lanes<kAdd, 0, kCount>(&radius, out.radius);
  }
};

template <bool kAdd, typename Shape>
static inline void tiled_sums(Shape fixed, const float* weight, const float* centre_in,
                              const float* radius_in, float* centre_out, float* radius_out) {
  conv_outputs<IntervalTiles<kAdd>>(fixed, weight, nullptr, centre_in, radius_in,
                                    IntervalOut{centre_out, radius_out, false});
}

template <bool kAdd, typename Shape>
static inline void interval_sums(Shape shape, const float* weight, const float* centre_in,
                                 const float* radius_in, float* centre_out, float* radius_out) {
  const ConvBlock block = conv_block<float>(shape);
  if (has_pooled_windows(shape, kIntervalChain))
    pool_outputs<kAdd>(shape, weight, centre_in, radius_in, centre_out, radius_out);
  else if (block.rows > 0)
    block_outputs<IntervalBlocks<kAdd>>(shape, block, weight, nullptr, centre_in, radius_in,
                                        IntervalOut{centre_out, radius_out, false});
  else
    tiled_sums<kAdd>(shape, weight, centre_in, radius_in, centre_out, radius_out);
}

template <bool kAdd, const ConvShape& kShape>
static inline void interval_sums(FixedShape<kShape> fixed, const float* weight,
                                 const float* centre_in, const float* radius_in, float* centre_out,
                                 float* radius_out) {
  if constexpr (has_pooled_windows(kShape, kIntervalChain))
    PoolingTiles<kAdd, kShape>::outputs(weight, centre_in, radius_in, centre_out, radius_out);
  else if constexpr (has_pixel_lanes<IntervalPixels<kAdd>>(kShape, kIntervalChain))
    PixelTiles<IntervalPixels<kAdd>, kShape>::outputs(weight, nullptr, centre_in, radius_in,
                                                      IntervalOut{centre_out, radius_out, false});
  else if constexpr (conv_block<float>(kShape).rows > 0)
    block_outputs<IntervalBlocks<kAdd>>(kShape, conv_block<float>(kShape), weight, nullptr,
                                        centre_in, radius_in,
                                        IntervalOut{centre_out, radius_out, false});
  else
    tiled_sums<kAdd>(fixed, weight, centre_in, radius_in, centre_out, radius_out);
}

// The sums of a convolution. weight: weight_place(). Shape: ConvShape or FixedShape.
template <bool kAdd, typename Shape>
BF_ROUTINE conv_interval(Shape fixed, const float* weight, const float* centre_in,
                         const float* radius_in, float* centre_out, float* radius_out) {
  interval_sums<kAdd>(fixed, weight, centre_in, radius_in, centre_out, radius_out);
}

}  // namespace bf
