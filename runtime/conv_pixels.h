#pragma once

#include <cstddef>
#include <cstdint>

#include "columns.h"
#include "conv_taps.h"
#include "vectors.h"

// Interval sums of a convolution with pixels in lanes: for outputs of few products, which channels
// in lanes would have to turn into planes, and for few output channels. A row that is read is
// copied between zeros, so that every pixel reads through every tap: a product of 0 leaves a sum as
// it is. Positions that tap and stride make neighbours lie side by side. All products of an output
// make one chain, tap by tap, each with the input channels of the group.

namespace bf {

constexpr int kMostCopied = 2048;  // floats on the stack, for each of centres, radii and |w|

// How such outputs are gone through.
struct PixelLanes {
  int lanes;
  int vectors;   // of a row of outputs
  int together;  // of them, in a tile
  int channels;  // of a tile
  int rows;      // that are kept: what one output reads, and what is between
  int length;    // of a kept row, of one remainder by the stride
};

constexpr PixelLanes pixel_lanes(const ConvShape& shape) {
  constexpr int kSums = kVectorBytes == 64 ? 8 : 4;  // of a tile, for each of centres and radii
  PixelLanes made = {};
  made.lanes = kVectorBytes / 4;
  made.vectors = ceil_div(shape.out_size[2], made.lanes);
  made.together = made.vectors % 2 == 0 ? 2 : 1;
  made.channels = kSums / made.together;
  made.rows = (shape.kernel[1] - 1) * shape.dilation[1] + 1;
  made.length = made.vectors * made.lanes +
                ceil_div((shape.kernel[2] - 1) * shape.dilation[2], shape.stride[2]);
  return made;
}

constexpr std::ptrdiff_t kept_row(const ConvShape& shape) {
  return std::ptrdiff_t{pixel_lanes(shape).length} * shape.stride[2];
}

// The registers of a tile of all output channels of a group, whole ones and parts.
constexpr int channel_vectors(int channels, int lanes) {
  int count = channels / lanes;
  for (int rest = channels % lanes; rest > 0; rest &= rest - 1) ++count;
  return count;
}

// Whether pixels go in lanes: where that takes fewer vector operations. Channels in lanes cost each
// vector of sums what about kTurning products take, to be turned into planes; fewer than kFew of
// them have no vectors at all. Images must be in planes, an output's products one chain.
constexpr bool has_pixel_lanes(const ConvShape& shape, int chain) {
  constexpr int kTurning = 12, kFew = 4;
  const PixelLanes how = pixel_lanes(shape);
  const int products = in_group(shape) * taps(shape), readers = out_group(shape);
  const bool small = products <= chain && products * readers <= kMostCopied &&
                     in_group(shape) * how.rows * kept_row(shape) <= kMostCopied;
  if (kVectorBytes < 16 || shape.transposed || shape.kernel[0] > 1 || !small) return false;
  const bool planes = shape.out.spatial[2] == 1;
  const std::int64_t by_channels =
      std::int64_t{channel_vectors(readers, how.lanes)} * shape.out_size[2] * (products + kTurning);
  return planes && (readers < kFew || std::int64_t{readers} * how.vectors * products < by_channels);
}

// Rows of a group's inputs between zeros, [row modulo how many][channel][remainder][position].
template <const ConvShape& kShape>
struct KeptRows {
  static constexpr PixelLanes kHow = pixel_lanes(kShape);
  static constexpr int kStride = kShape.stride[2], kPad = kShape.pad[2];
  alignas(64) float of[kHow.rows][in_group(kShape)][kStride][kHow.length];

  // Whether the row is whole vectors of every second position.
  static constexpr bool kPairs = kStride == 2 && kPad >= 0 && kShape.in.spatial[2] == 1 &&
                                 kShape.in_size[2] % (2 * kHow.lanes) == 0 &&
                                 kShape.in_size[2] + kPad <= 2 * kHow.length;

  // in: the row's first pixel of the group's first channel.
  __attribute__((always_inline)) void keep(int row, const float* in) {
    for (int i = 0; i < in_group(kShape); ++i, in += kShape.in.channel) {
      if constexpr (kPairs)
        keep_pairs(in, of[row % kHow.rows][i]);
      else
        for (int part = 0; part < kStride; ++part)
          keep_part(in, part, of[row % kHow.rows][i][part]);
    }
  }

  __attribute__((always_inline)) static void keep_part(const float* in, int part, float* to) {
    const int begin = kPad > part ? ceil_div(kPad - part, kStride) : 0;
    const int stop = ceil_div(kShape.in_size[2] + kPad - part, kStride);
    const int end = stop < kHow.length ? stop : kHow.length;
    for (int x = begin; x < end; ++x)
      to[x] = in[std::ptrdiff_t{x * kStride + part - kPad} * kShape.in.spatial[2]];
  }

  __attribute__((always_inline)) static void keep_pairs(const float* in,
                                                        float (&to)[kStride][kHow.length]) {
    using Vector = typename VectorOf<float, kHow.lanes>::type;
    constexpr typename ListLanes<kHow.lanes>::type lanes = {};
    for (int x = 0; x < kShape.in_size[2]; x += 2 * kHow.lanes) {
      const int at = x + kPad;
      const Vector a = load_rows<Vector>(in + x), b = load_rows<Vector>(in + x + kHow.lanes);
      store_rows(to[at % 2] + at / 2, every_second<0>(a, b, lanes));
      store_rows(to[(at + 1) % 2] + (at + 1) / 2, every_second<1>(a, b, lanes));
    }
  }

  // What output 0 of a row reads through a tap.
  __attribute__((always_inline)) const float* at(int row, int i, int tap) const {
    const int position = tap * kShape.dilation[2];
    return of[row % kHow.rows][i][position % kStride] + position / kStride;
  }
};

template <bool kAdd, const ConvShape& kShape>
struct PixelTiles {
  static constexpr PixelLanes kHow = pixel_lanes(kShape);
  static constexpr int kVectors = kHow.together;
  using Vector = typename VectorOf<float, kHow.lanes>::type;
  using Rows = KeptRows<kShape>;

  // kChannels output channels, those of `weight` on, at a tile's pixels of a row, from `first` on.
  // range: the taps by which the row reads other rows.
  template <int kChannels>
  __attribute__((always_inline)) static void tile(const float* weight, const float* size,
                                                  const Rows& centre, const Rows& radius,
                                                  const TapRange& range, int first,
                                                  float* centre_out, float* radius_out) {
    constexpr std::ptrdiff_t kInput = std::ptrdiff_t{taps(kShape)} * out_group(kShape);
    Vector c[kChannels][kVectors] = {}, r[kChannels][kVectors] = {};
    for (int y = 0; y < range.count; ++y)
      for (int x = 0; x < kShape.kernel[2]; ++x) {
        const int row = range.position + y * kShape.dilation[1];
        std::ptrdiff_t w =
            std::ptrdiff_t{(range.first + y) * kShape.kernel[2] + x} * out_group(kShape);
        for (int i = 0; i < in_group(kShape); ++i, w += kInput) {
          const float* const from = centre.at(row, i, x) + first;
          const float* const spread = radius.at(row, i, x) + first;
          Vector centres[kVectors], radii[kVectors];
          BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
            centres[v] = load_once<Vector>(from + v * kHow.lanes);
            radii[v] = load_once<Vector>(spread + v * kHow.lanes);
          }
          BF_UNROLL_ROWS for (int o = 0; o < kChannels; ++o)
              BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
            c[o][v] += weight[w + o] * centres[v];
            r[o][v] += size[w + o] * radii[v];
          }
        }
      }
    const auto give_all = [&](auto count, int v) __attribute__((always_inline)) {
      BF_UNROLL_ROWS for (int o = 0; o < kChannels; ++o) {
        const std::ptrdiff_t at = std::ptrdiff_t{o} * kShape.out.channel + v * kHow.lanes;
        put_lanes<kAdd, 0, decltype(count)::value>(&c[o][v], centre_out + at);
        put_lanes<kAdd, 0, decltype(count)::value>(&r[o][v], radius_out + at);
      }
    };
    constexpr int kRest = kShape.out_size[2] - (kHow.vectors - 1) * kHow.lanes;  // of the last
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      if (first + (v + 1) * kHow.lanes <= kShape.out_size[2])
        give_all(Count<kHow.lanes>{}, v);
      else
        give_all(Count<kRest>{}, v);
    }
  }

  // A row of outputs of a group.
  static void row(const float* weight, const float* size, const Rows& centre, const Rows& radius,
                  const TapRange& range, float* centre_out, float* radius_out) {
    constexpr int kChannels = kHow.channels, kLeft = out_group(kShape) % kChannels;
    for (int first = 0; first < kShape.out_size[2]; first += kVectors * kHow.lanes) {
      const auto some = [&](int o, auto channels) __attribute__((always_inline)) {
        const std::ptrdiff_t at = std::ptrdiff_t{o} * kShape.out.channel + first;
        tile<decltype(channels)::value>(weight + o, size + o, centre, radius, range, first,
                                        centre_out + at, radius_out + at);
      };
      for (int o = 0; o + kChannels <= out_group(kShape); o += kChannels)
        some(o, Count<kChannels>{});
      if constexpr (kLeft > 0) some(out_group(kShape) - kLeft, Count<kLeft>{});
    }
  }

  static void outputs(const float* weight, const float* centre_in, const float* radius_in,
                      float* centre_out, float* radius_out) {
    constexpr ConvShape kOf = kShape;
    constexpr int kOrigin[3] = {0, 0, 0};
    for (int n = 0; n < kOf.batch; ++n)
      for (int g = 0; g < kOf.groups; ++g) {
        const std::ptrdiff_t in = element(kOf.in, n, g * in_group(kOf), kOrigin);
        const std::ptrdiff_t out = element(kOf.out, n, g * out_group(kOf), kOrigin);
        group(weight + weight_place(kOf, g * out_group(kOf), 0, 0), centre_in + in, radius_in + in,
              centre_out + out, radius_out + out);
      }
  }

  // All outputs of a group of one image.
  static void group(const float* weight, const float* centre_in, const float* radius_in,
                    float* centre_out, float* radius_out) {
    constexpr int kWeights = in_group(kShape) * taps(kShape) * out_group(kShape);
    constexpr ConvShape kOf = kShape;
    constexpr TapSteps kSteps = tap_steps(kOf, true);
    alignas(64) float size[kWeights];
    for (int k = 0; k < kWeights; ++k) size[k] = __builtin_fabsf(weight[k]);
    Rows centre = {}, radius = {};
    for (int z = 0; z < kShape.out_size[0]; ++z) {
      const TapRange plane = clip(kSteps, whole(kOf.in_size), 0, all_taps(kOf, kSteps, true, 0, z));
      int kept = 0;
      for (int y = 0; y < kShape.out_size[1]; ++y) {
        TapRange range = clip(kSteps, whole(kOf.in_size), 1, all_taps(kOf, kSteps, true, 1, y));
        if (plane.count == 0) range.count = 0;
        const int end =
            range.count > 0 ? range.position + (range.count - 1) * kShape.dilation[1] + 1 : 0;
        const int oldest = end - kHow.rows;
        for (kept = kept < oldest ? oldest : kept; kept < end; ++kept) {
          const std::ptrdiff_t at = std::ptrdiff_t{plane.position} * kShape.in.spatial[0] +
                                    std::ptrdiff_t{kept} * kShape.in.spatial[1];
          centre.keep(kept, centre_in + at);
          radius.keep(kept, radius_in + at);
        }
        const std::ptrdiff_t at =
            std::ptrdiff_t{z} * kShape.out.spatial[0] + std::ptrdiff_t{y} * kShape.out.spatial[1];
        row(weight, size, centre, radius, range, centre_out + at, radius_out + at);
      }
    }
  }
};

}  // namespace bf
