#pragma once

#include "bf/contract/integers.h"
#include "bf/conv/conv_outputs.h"
#include "bf/core/columns.h"
#include "bf/core/vectors.h"

// Sums of a convolution with pixels in lanes: for outputs of few products, which channels in lanes
// would have to turn into planes, and for few output channels. A row that is read is copied between
// zeros, so that every pixel reads through every tap: a product of 0 leaves a sum as it is.
// Positions that tap and stride make neighbours lie side by side. All products of an output make
// one chain, tap by tap, each with the input channels of the group.
//
// A parameter `Kind` says what is summed:
//   Number          of sums, factors and kept rows: float or double
//   Out             where results go: has `centre` and `radius`
//   kTurning        what turning a vector of sums into planes costs, in products of it
//   put<count>(centre, radius, out): the first `count` lanes of the sums of pixels side by side
// conv_interval.h and conv_forward.h have such.

namespace bf {

// Limits of copies on the stack: weights, for w and |w| each; bytes, for centres and radii each.
constexpr int kMostCopiedWeights = 2048;
constexpr int kMostCopiedBytes = 8192;

// The extents of the walk through outputs with pixels in lanes.
struct PixelLanes {
  int lanes;
  int vectors;   // of a row of outputs
  int together;  // of them, in a tile
  int channels;  // of a tile
  int rows;      // that are kept: what one output reads, and what is between
  int length;    // of a kept row, of one remainder by the stride
};

// bytes: of a number.
constexpr PixelLanes pixel_lanes(const ConvShape& shape, int bytes) {
  constexpr int kSums = kVectorBytes == 64 ? 8 : 4;  // of a tile, for each of centres and radii
  PixelLanes made = {};
  made.lanes = kVectorBytes > bytes ? kVectorBytes / bytes : 1;
  made.vectors = ceil_div(shape.out_size[2], made.lanes);
  made.together = made.vectors % 2 == 0 ? 2 : 1;
  made.channels = kSums / made.together;
  made.rows = (shape.kernel[1] - 1) * shape.dilation[1] + 1;
  made.length = made.vectors * made.lanes +
                ceil_div((shape.kernel[2] - 1) * shape.dilation[2], shape.stride[2]);
  return made;
}

constexpr std::ptrdiff_t kept_row(const ConvShape& shape, const PixelLanes& how) {
  return std::ptrdiff_t{how.length} * shape.stride[2];
}

// The registers of a tile of all output channels of a group, whole ones and parts.
constexpr int channel_vectors(int channels, int lanes) {
  int count = channels / lanes;
  for (int rest = channels % lanes; rest > 0; rest &= rest - 1) ++count;
  return count;
}

// Returns true if pixels go in lanes: that takes fewer vector operations, or there are fewer than
// kFew channels, which have no vectors. Images must be in planes, an output's products one chain.
template <typename Kind>
constexpr bool has_pixel_lanes(const ConvShape& shape, int chain) {
  constexpr int kFew = 4, kBytes = sizeof(typename Kind::Number);
  const PixelLanes how = pixel_lanes(shape, kBytes);
  const int products = in_group(shape) * taps(shape), readers = out_group(shape);
  const bool small = products <= chain && products * readers <= kMostCopiedWeights &&
                     in_group(shape) * how.rows * kept_row(shape, how) * kBytes <= kMostCopiedBytes;
  if (kVectorBytes < 16 || shape.transposed || shape.kernel[0] > 1 || !small) return false;
  const bool planes = shape.out.spatial[2] == 1;
  const std::int64_t by_channels = std::int64_t{channel_vectors(readers, how.lanes)} *
                                   shape.out_size[2] * (products + Kind::kTurning);
  return planes && (readers < kFew || std::int64_t{readers} * how.vectors * products < by_channels);
}

// Rows of a group's inputs between zeros, [row modulo how many][channel][remainder][position].
template <typename Number, const ConvShape& kShape>
struct KeptRows {
  static constexpr PixelLanes kHow = pixel_lanes(kShape, sizeof(Number));
  static constexpr int kStride = kShape.stride[2], kPad = kShape.pad[2];
  alignas(64) Number of[kHow.rows][in_group(kShape)][kStride][kHow.length];

  // True if the row is made of whole vectors of every second position.
  static constexpr bool kPairs =
      sizeof(Number) == sizeof(float) && kStride == 2 && kPad >= 0 && kShape.in.spatial[2] == 1 &&
      kShape.in_size[2] % (2 * kHow.lanes) == 0 && kShape.in_size[2] + kPad <= 2 * kHow.length;

  // in: the row's first pixel of the group's first channel.
  template <typename From>
  __attribute__((always_inline)) void keep(int row, const From* in) {
    for (int i = 0; i < in_group(kShape); ++i, in += kShape.in.channel) {
      if constexpr (kPairs)
        keep_pairs(in, of[row % kHow.rows][i]);
      else
        for (int part = 0; part < kStride; ++part)
          keep_part(in, part, of[row % kHow.rows][i][part]);
    }
  }

  template <typename From>
  __attribute__((always_inline)) static void keep_part(const From* in, int part, Number* to) {
    const int begin = kPad > part ? ceil_div(kPad - part, kStride) : 0;
    const int stop = ceil_div(kShape.in_size[2] + kPad - part, kStride);
    const int end = stop < kHow.length ? stop : kHow.length;
    for (int x = begin; x < end; ++x)
      to[x] =
          static_cast<Number>(in[std::ptrdiff_t{x * kStride + part - kPad} * kShape.in.spatial[2]]);
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

  // The element that output 0 of a row reads through a tap; output x reads the one x behind it.
  __attribute__((always_inline)) const Number* at(int row, int i, int tap) const {
    const int position = tap * kShape.dilation[2];
    return of[row % kHow.rows][i][position % kStride] + position / kStride;
  }
};

template <typename Kind, const ConvShape& kShape>
struct PixelTiles {
  using Number = typename Kind::Number;
  using Out = typename Kind::Out;
  static constexpr PixelLanes kHow = pixel_lanes(kShape, sizeof(Number));
  static constexpr int kVectors = kHow.together;
  using Vector = typename VectorOf<Number, kHow.lanes>::type;
  using Rows = KeptRows<Number, kShape>;

  // The reads of a row of outputs: the weights of a group with their magnitudes, and the rows that
  // it reads by the taps `range`.
  struct Reads {
    const Number *weight, *size;
    const Rows &centre, &radius;
    TapRange range;
  };

  // kChannels output channels, from that of weights `o` on, at a tile's pixels from `first` on.
  template <int kChannels>
  __attribute__((always_inline)) static void tile(const Reads& reads, int o, int first, Out out) {
    constexpr std::ptrdiff_t kInput = std::ptrdiff_t{taps(kShape)} * out_group(kShape);
    const Number *const weight = reads.weight + o, *const size = reads.size + o;
    Vector c[kChannels][kVectors] = {}, r[kChannels][kVectors] = {};
    for (int y = 0; y < reads.range.count; ++y)
      for (int x = 0; x < kShape.kernel[2]; ++x) {
        const int row = reads.range.position + y * kShape.dilation[1];
        std::ptrdiff_t w =
            std::ptrdiff_t{(reads.range.first + y) * kShape.kernel[2] + x} * out_group(kShape);
        for (int i = 0; i < in_group(kShape); ++i, w += kInput) {
          const Number* const from = reads.centre.at(row, i, x) + first;
          const Number* const spread = reads.radius.at(row, i, x) + first;
          Vector centres[kVectors], radii[kVectors];
          BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
            centres[v] = load_once<Vector>(from + v * kHow.lanes);
            radii[v] = load_once<Vector>(spread + v * kHow.lanes);
          }
          BF_UNROLL_ROWS for (int k = 0; k < kChannels; ++k)
              BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
            c[k][v] += weight[w + k] * centres[v];
            r[k][v] += size[w + k] * radii[v];
          }
        }
      }
    const auto put_all = [&](auto count, int v) __attribute__((always_inline)) {
      BF_UNROLL_ROWS for (int k = 0; k < kChannels; ++k) Kind::template put<decltype(count)::value>(
          c[k][v], r[k][v], moved(out, std::ptrdiff_t{k} * kShape.out.channel + v * kHow.lanes));
    };
    constexpr int kRest = kShape.out_size[2] - (kHow.vectors - 1) * kHow.lanes;  // of the last
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      if (first + (v + 1) * kHow.lanes <= kShape.out_size[2])
        put_all(Count<kHow.lanes>{}, v);
      else
        put_all(Count<kRest>{}, v);
    }
  }

  // A row of outputs of a group.
  static void row(const Reads& reads, Out out) {
    constexpr int kChannels = kHow.channels, kLeft = out_group(kShape) % kChannels;
    for (int first = 0; first < kShape.out_size[2]; first += kVectors * kHow.lanes) {
      const auto some = [&](int o, auto channels) __attribute__((always_inline)) {
        tile<decltype(channels)::value>(reads, o, first,
                                        moved(out, std::ptrdiff_t{o} * kShape.out.channel + first));
      };
      for (int o = 0; o + kChannels <= out_group(kShape); o += kChannels)
        some(o, Count<kChannels>{});
      if constexpr (kLeft > 0) some(out_group(kShape) - kLeft, Count<kLeft>{});
    }
  }

  // weight, residual: weight_place(); residual may be null.
  template <typename Centre>
  static void outputs(const float* weight, const float* residual, const Centre* centre_in,
                      const float* radius_in, Out out) {
    constexpr ConvShape kOf = kShape;
    constexpr int kOrigin[3] = {0, 0, 0};
    for (int n = 0; n < kOf.batch; ++n)
      for (int g = 0; g < kOf.groups; ++g) {
        const std::ptrdiff_t in = element(kOf.in, n, g * in_group(kOf), kOrigin);
        const std::ptrdiff_t at = weight_place(kOf, g * out_group(kOf), 0, 0);
        group(weight + at, residual ? residual + at : nullptr, centre_in + in, radius_in + in,
              moved(out, element(kOf.out, n, g * out_group(kOf), kOrigin)));
      }
  }

  // All outputs of a group of one image.
  template <typename Centre>
  static void group(const float* weight, const float* residual, const Centre* centre_in,
                    const float* radius_in, Out out) {
    constexpr int kWeights = in_group(kShape) * taps(kShape) * out_group(kShape);
    constexpr ConvShape kOf = kShape;
    constexpr TapSteps kSteps = tap_steps(kOf, true);
    alignas(64) Number exact[kWeights], size[kWeights];
    for (int k = 0; k < kWeights; ++k) {
      exact[k] = static_cast<Number>(weight[k]);
      size[k] = magnitude<Number>(exact[k]);
    }
    if (residual != nullptr)
      for (int k = 0; k < kWeights; ++k) exact[k] += static_cast<Number>(residual[k]);
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
        row({exact, size, centre, radius, range}, moved(out, at));
      }
    }
  }
};

}  // namespace bf
