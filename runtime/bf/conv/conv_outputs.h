#pragma once

#include "bf/contract/integers.h"
#include "bf/conv/conv_strips.h"
#include "bf/core/vectors.h"

// The walk of a convolution through its outputs. Lanes are output channels: a register tile is some
// of them for some pixels of a row that read through the same taps, so that every weight that is
// loaded serves all pixels and every input all channels. Few channels to a group go by rows of
// pixels.
//
// A parameter `Tiles` of the walk says what is summed, and how:
//   Number          the type of input centres
//   Out             the places of results: has `centre` and `radius`
//   kLanes, kPixels of the widest tile; kPixelsOfTwo: most pixels of a tile of two vectors;
//   kPixelsOfMany: of a tile where both channels and products are many
//   tile<lanes, vectors, pixels>(shape, place, reads, out)
//   row(shape, make, out): calls make(shape, out) for a row of pixels of one group
//   strip(shape, weight, residual, centre_in, radius_in, n, o, p, count, out): a part of a row of
//                   pixels of one output channel
// conv_forward.h and conv_interval.h define such.

namespace bf {

// The reads of a tile: the weights of tap 0 and the first input channel of its first output; the
// image's input at position 0; valid taps.
template <typename Number>
struct TileReads {
  const float *weight, *residual;
  const Number* centre;
  const float* radius;
  TapRange range[3];
};

template <typename Out>
static inline Out moved(Out out, std::ptrdiff_t by) {
  out.centre += by;
  out.radius += by;
  return out;
}

// The place of a tile in its row. SameTaps: all of its pixels are in the row and read through the
// taps reads.range[2].
struct SameTaps {};

// The place of a tile from pixel kFirst on, for fixed shapes that are not transposed. The row may
// end in the tile, and some pixels may read through fewer taps: the compiler knows which, so that
// nothing is computed for the others.
template <int kFirst>
struct FromPixel {};

template <int kPixels, typename Shape>
static constexpr int pixels_in_row(Shape, SameTaps) {
  return kPixels;
}
template <int kPixels, const ConvShape& kShape, int kFirst>
static constexpr int pixels_in_row(FixedShape<kShape>, FromPixel<kFirst>) {
  constexpr int kLeft = kShape.out_size[2] - kFirst;
  return kLeft < kPixels ? kLeft : kPixels;
}

// Pixels of a tile.
template <int kBegin, int kEnd>
struct Pixels {
  static constexpr int begin = kBegin, end = kEnd;
};

// Calls add(tap, position, pixels) for each tap of a row that some of a tile's pixels read through,
// and the position in the row that the first of these reads.
template <int kPixels, typename Shape, typename Number, typename Add>
__attribute__((always_inline)) static inline void tile_taps(Shape fixed, SameTaps,
                                                            const TileReads<Number>& reads,
                                                            Add add) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, !shape.transposed);
  for (int x = 0; x < reads.range[2].count; ++x)
    add(reads.range[2].first + x * how.tap[2], reads.range[2].position + x * how.position[2],
        Pixels<0, kPixels>{});
}

template <int kPixels, int kTap = 0, const ConvShape& kShape, int kFirst, typename Number,
          typename Add>
__attribute__((always_inline)) static inline void tile_taps(FixedShape<kShape> fixed,
                                                            FromPixel<kFirst> place,
                                                            const TileReads<Number>& reads,
                                                            Add add) {
  if constexpr (kTap < kShape.kernel[2]) {
    constexpr int kStep = kShape.stride[2], kIn = kShape.in_size[2];
    constexpr int kRoom = pixels_in_row<kPixels>(FixedShape<kShape>{}, FromPixel<kFirst>{});
    constexpr int kFrom = kFirst * kStep - kShape.pad[2] + kTap * kShape.dilation[2];
    constexpr int kBegin = kFrom < 0 ? ceil_div(-kFrom, kStep) : 0;
    constexpr int kStop = ceil_div(kIn - kFrom, kStep), kEnd = kStop < kRoom ? kStop : kRoom;
    if constexpr (kBegin < kEnd) add(kTap, kFrom + kBegin * kStep, Pixels<kBegin, kEnd>{});
    tile_taps<kPixels, kTap + 1>(fixed, place, reads, add);
  }
}

// Calls add(tap, input, pixels) for each tap of a tile, in rising order, with the pixels that read
// through it: the place of the first one's input of the first channel, relative to what `reads`
// says.
template <int kPixels, typename Shape, typename Place, typename Number, typename Add>
__attribute__((always_inline)) static inline void tile_products(Shape fixed, Place place,
                                                                const TileReads<Number>& reads,
                                                                Add add) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, !shape.transposed);
  const auto tap_at = [&](int d, int i) { return reads.range[d].first + i * how.tap[d]; };
  const auto place_at = [&](int d, int i) {
    const int p = reads.range[d].position + i * how.position[d];
    return std::ptrdiff_t{p} * shape.in.spatial[d];
  };
  for (int z = 0; z < reads.range[0].count; ++z)
    for (int y = 0; y < reads.range[1].count; ++y) {
      const int row = (tap_at(0, z) * shape.kernel[1] + tap_at(1, y)) * shape.kernel[2];
      const std::ptrdiff_t at = place_at(0, z) + place_at(1, y);
      tile_taps<kPixels>(
          fixed, place,
          reads, [&](int x, int position, auto pixels) __attribute__((always_inline)) {
            add(row + x, at + std::ptrdiff_t{position} * shape.in.spatial[2], pixels);
          });
    }
}

// Returns false if a group is known to have fewer than `lanes` channels beside a multiple of
// `wider`. With wider = 0 all of its channels count.
static constexpr bool may_have_channels(const ConvShape*, int, int) {
  return true;
}
template <const ConvShape& kShape>
static constexpr bool may_have_channels(FixedShape<kShape>*, int lanes, int wider) {
  return (wider > 0 ? out_group(kShape) % wider : out_group(kShape)) >= lanes;
}

// All output channels of a group, at kPixels pixels.
template <typename Tiles, int kPixels, typename Shape, typename Place>
static inline void output_channels(Shape fixed, Place place,
                                   TileReads<typename Tiles::Number> reads,
                                   typename Tiles::Out out) {
  const ConvShape& shape = fixed;
  int left = out_group(shape);
  const auto some = [&](auto lanes, auto vectors) __attribute__((always_inline)) {
    constexpr int kLanes = decltype(lanes)::value, kVectors = decltype(vectors)::value;
    for (; left >= kLanes * kVectors; left -= kLanes * kVectors) {
      Tiles::template tile<kLanes, kVectors, kPixels>(fixed, place, reads, out);
      reads.weight += kLanes * kVectors;
      if (reads.residual != nullptr) reads.residual += kLanes * kVectors;
      out = moved(out, std::ptrdiff_t{kLanes * kVectors} * shape.out.channel);
    }
  };
  constexpr int kMost = Tiles::kLanes;
  constexpr auto has = [](int lanes, int wider) {
    return may_have_channels(static_cast<Shape*>(nullptr), lanes, wider);
  };
  if constexpr (kPixels <= Tiles::kPixelsOfTwo && has(2 * kMost, 0))
    some(Count<kMost>{}, Count<2>{});
  if constexpr (has(kMost, 0)) some(Count<kMost>{}, Count<1>{});
  if constexpr (kMost > 8 && has(8, 16)) some(Count<8>{}, Count<1>{});
  if constexpr (kMost > 4 && has(4, 8)) some(Count<4>{}, Count<1>{});
  if constexpr (kMost > 2 && has(2, 4)) some(Count<2>{}, Count<1>{});
  if constexpr (kMost > 1 && has(1, 2)) some(Count<1>{}, Count<1>{});
}

// The most pixels of {8, 4, 2, 1}, at most kPixels, that have the same taps; returns how many.
template <typename Tiles, int kPixels, typename Shape>
static inline int output_pixels(Shape fixed, const TapSteps& how, TapRange taps, int room,
                                TileReads<typename Tiles::Number> reads, typename Tiles::Out out) {
  const ConvShape& shape = fixed;
  const Window window = whole(shape.in_size);
  if constexpr (kPixels > 1)
    if (kPixels > room || !have_same_taps(shape, how, !shape.transposed, window, taps, kPixels))
      return output_pixels<Tiles, kPixels / 2>(fixed, how, taps, room, reads, out);
  reads.range[2] = clip(how, window, 2, taps);
  output_channels<Tiles, kPixels>(fixed, SameTaps{}, reads, out);
  return kPixels;
}

// A row of pixels of one image and group, in tiles whose pixels have the same taps.
template <typename Tiles, int kPixels, typename Shape>
static inline void tiles_of_same_taps(Shape fixed, const TileReads<typename Tiles::Number>& reads,
                                      typename Tiles::Out out) {
  const ConvShape& shape = fixed;
  const bool up = !shape.transposed;
  const TapSteps how = steps(fixed, up);
  const int step = tap_period(shape, up, 2);
  for (int lane = 0; lane < step; ++lane) {
    TapRange taps = all_taps(shape, how, up, 2, lane);
    for (int x = lane; x < shape.out_size[2];) {
      const int room = (shape.out_size[2] - 1 - x) / step + 1;
      const int done = output_pixels<Tiles, kPixels>(
          fixed, how, taps, room, reads, moved(out, std::ptrdiff_t{x} * shape.out.spatial[2]));
      x += done * step;
      taps.position += done * tap_shift(shape, up, 2);
    }
  }
}

// Returns true if the pixels from tile * pixels on are in the row and read through all taps. The
// shape is not transposed.
static constexpr bool is_whole(const ConvShape& shape, int pixels, int tile) {
  const int first = tile * pixels, last = first + pixels - 1;
  const int reach = (shape.kernel[2] - 1) * shape.dilation[2] - shape.pad[2];
  return last < shape.out_size[2] && first * shape.stride[2] >= shape.pad[2] &&
         last * shape.stride[2] + reach < shape.in_size[2];
}

// Returns true if all tiles of a row are whole but for, perhaps, the first and the last.
static constexpr bool has_whole_middle(const ConvShape& shape, int pixels) {
  const int last = ceil_div(shape.out_size[2], pixels) - 1;
  return !shape.transposed &&
         (last < 2 || (is_whole(shape, pixels, 1) && is_whole(shape, pixels, last - 1)));
}

// A row of pixels of one image and group.
template <typename Tiles, int kPixels>
static inline void output_row(const ConvShape& shape,
                              const TileReads<typename Tiles::Number>& reads,
                              typename Tiles::Out out) {
  tiles_of_same_taps<Tiles, kPixels>(shape, reads, out);
}

// Few tiles where the shape is fixed: those at the ends of the row are as wide as others.
template <typename Tiles, int kPixels, const ConvShape& kShape>
static inline void output_row(FixedShape<kShape> fixed, TileReads<typename Tiles::Number> reads,
                              typename Tiles::Out out) {
  if constexpr (has_whole_middle(kShape, kPixels)) {
    constexpr int kLast = ceil_div(kShape.out_size[2], kPixels) - 1;
    constexpr bool kFirstWhole = is_whole(kShape, kPixels, 0);
    constexpr bool kLastWhole = is_whole(kShape, kPixels, kLast);
    constexpr std::ptrdiff_t kStep = std::ptrdiff_t{kPixels} * kShape.out.spatial[2];
    if constexpr (!kFirstWhole) output_channels<Tiles, kPixels>(fixed, FromPixel<0>{}, reads, out);
    for (int tile = kFirstWhole ? 0 : 1; tile < kLast + (kLastWhole ? 1 : 0); ++tile) {
      reads.range[2] = all_taps(kShape, steps(fixed, true), true, 2, tile * kPixels);
      output_channels<Tiles, kPixels>(fixed, SameTaps{}, reads, moved(out, tile * kStep));
    }
    if constexpr (kLast > 0 && !kLastWhole)
      output_channels<Tiles, kPixels>(fixed, FromPixel<kLast * kPixels>{}, reads,
                                      moved(out, kLast * kStep));
  } else {
    tiles_of_same_taps<Tiles, kPixels>(fixed, reads, out);
  }
}

// All outputs of a convolution. weight, residual: weight_place(); residual may be null. Shape:
// ConvShape or FixedShape.
template <typename Tiles, typename Shape>
static inline void conv_outputs(Shape fixed, const float* weight, const float* residual,
                                const typename Tiles::Number* centre_in, const float* radius_in,
                                typename Tiles::Out out) {
  const ConvShape& shape = fixed;
  constexpr int kMany = 64;  // products: two vectors of channels, else more pixels
  if constexpr (kVectorBytes == 4)
    return conv_strips<Tiles>(shape, weight, residual, centre_in, radius_in, out);
  if (out_group(shape) < kFewChannels)
    return conv_strips<Tiles>(shape, weight, residual, centre_in, radius_in, out);
  const bool up = !shape.transposed;
  const TapSteps how = steps(fixed, up);
  const Window window = whole(shape.in_size);
  const int origin[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (int g = 0; g < shape.groups; ++g) {
      const std::ptrdiff_t at = weight_place(shape, g * out_group(shape), 0, 0);
      const std::ptrdiff_t in = element(shape.in, n, g * in_group(shape), origin);
      for (int z = 0; z < shape.out_size[0]; ++z)
        for (int y = 0; y < shape.out_size[1]; ++y) {
          const TileReads<typename Tiles::Number> reads = {
              weight + at,
              residual ? residual + at : nullptr,
              centre_in + in,
              radius_in + in,
              {clip(how, window, 0, all_taps(shape, how, up, 0, z)),
               clip(how, window, 1, all_taps(shape, how, up, 1, y)),
               {}}};
          const int row[3] = {z, y, 0};
          const auto to = moved(out, element(shape.out, n, g * out_group(shape), row));
          const auto make = [&](auto kind, typename Tiles::Out where) {
            if (out_group(shape) >= 2 * Tiles::kLanes && in_group(shape) * taps(shape) >= kMany)
              output_row<Tiles, Tiles::kPixelsOfMany>(kind, reads, where);
            else
              output_row<Tiles, Tiles::kPixels>(kind, reads, where);
          };
          Tiles::row(fixed, make, to);
        }
    }
}

}  // namespace bf
