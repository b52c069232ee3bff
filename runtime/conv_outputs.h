#pragma once

#include <cstddef>

#include "conv_taps.h"
#include "vectors.h"

// How a convolution goes through its outputs. Lanes are output channels: a register tile is some of
// them for some pixels of a row that read through the same taps, so that every weight that is
// loaded serves all pixels and every input all channels. Few channels to a group go by rows of
// pixels.
//
// What is summed, and how, is a parameter `Tiles` of the walk:
//   Number          what input centres are
//   Out             where results go: has `centre` and `radius`
//   kLanes, kPixels of the widest tile; kPixelsOfTwo: most pixels of a tile of two vectors
//   tile<lanes, vectors, pixels>(shape, reads, out)
//   row(shape, make, out): calls make(shape, out) for a row of pixels of one group
//   strip(shape, weight, residual, centre_in, radius_in, n, o, p, count, out): a part of a row of
//                   pixels of one output channel
// conv_forward.h and conv_interval.h have such.

namespace bf {

// ---- few channels to a group

constexpr int kStrip = 32;  // outputs of a row of pixels that are summed together

// The pixels of a row that tap t pairs: input from + k from_step with output to + k to_step, k <
// count; outputs from `first`, at most `most` of them.
struct PixelRun {
  int from, to, from_step, to_step, count;
};

static inline PixelRun pixel_run(const ConvShape& shape, int t, int first, int most) {
  // Position s of the strided side pairs with s step + shift of the other, which is in [far, end).
  const int step = shape.stride[2];
  const int shift = t * shape.dilation[2] - shape.pad[2];
  const bool up = !shape.transposed;
  const int near = up ? first : 0, near_end = up ? first + most : shape.in_size[2];
  const int far = up ? 0 : first, far_end = up ? shape.in_size[2] : first + most;
  int s = ceil_div(far - shift, step);
  int end = ceil_div(far_end - shift, step);
  s = s < near ? near : s;
  end = end > near_end ? near_end : end;
  const int other = s * step + shift;
  return {up ? other : s, (up ? s : other) - first, up ? step : 1, up ? 1 : step, end - s};
}

// centre and radius: sums of the run's outputs. c, r: the row's first pixel, `pixel` apart.
template <typename Number>
static inline void add_run(const PixelRun& run, Number w, Number size, const Number* c,
                           const float* r, std::ptrdiff_t pixel, Number* centre, Number* radius) {
  if (run.count <= 0) return;
  c += run.from * pixel;
  r += run.from * pixel;
  centre += run.to;
  radius += run.to;
  const std::ptrdiff_t step = run.from_step * pixel;
  if (step == 1 && run.to_step == 1) {
    for (int k = 0; k < run.count; ++k) {
      centre[k] += w * c[k];
      radius[k] += size * static_cast<Number>(r[k]);
    }
  } else {
    for (std::ptrdiff_t k = 0; k < run.count; ++k) {
      centre[k * run.to_step] += w * c[k * step];
      radius[k * run.to_step] += size * static_cast<Number>(r[k * step]);
    }
  }
}

// Every product of the outputs (n, o, p) to (n, o, p + count - 1), tap by tap, each with the input
// channels of the group: visit(tap, i, place of the weight, the channel's first pixel in the row
// that is read, run).
template <typename Visit>
static inline void strip_products(const ConvShape& shape, int n, int o, const int (&p)[3],
                                  int count, Visit visit) {
  const int group = in_group(shape), first = o / out_group(shape) * group;
  int q[3] = {0, 0, 0}, tap = 0;
  for (int tz = 0; tz < shape.kernel[0]; ++tz) {
    q[0] = read_by(shape, 0, p[0], tz);
    for (int ty = 0; ty < shape.kernel[1]; ++ty) {
      q[1] = read_by(shape, 1, p[1], ty);
      if (q[0] < 0 || q[1] < 0) {
        tap += shape.kernel[2];
        continue;
      }
      for (int tx = 0; tx < shape.kernel[2]; ++tx, ++tap) {
        const PixelRun run = pixel_run(shape, tx, p[2], count);
        for (int i = 0; i < group; ++i)
          visit(tap, i, weight_place(shape, o, i, tap), element(shape.in, n, first + i, q), run);
      }
    }
  }
}

// All outputs, in strips.
template <typename Tiles>
static inline void conv_strips(const ConvShape& shape, const float* weight, const float* residual,
                               const typename Tiles::Number* centre_in, const float* radius_in,
                               typename Tiles::Out out) {
  int p[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (int o = 0; o < shape.out_channels; ++o)
      for (p[0] = 0; p[0] < shape.out_size[0]; ++p[0])
        for (p[1] = 0; p[1] < shape.out_size[1]; ++p[1])
          for (p[2] = 0; p[2] < shape.out_size[2]; p[2] += kStrip) {
            const int left = shape.out_size[2] - p[2];
            Tiles::strip(shape, weight, residual, centre_in, radius_in, n, o, p,
                         left < kStrip ? left : kStrip, out);
          }
}

// ---- many

// What a tile reads: the weights of tap 0 and the first input channel of its first output; the
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

// Calls add(tap, input) for each tap of a tile, in rising order: the place of the first input
// channel's input, relative to what `reads` says.
template <typename Shape, typename Number, typename Add>
__attribute__((always_inline)) static inline void tile_products(Shape fixed,
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
    for (int y = 0; y < reads.range[1].count; ++y)
      for (int x = 0; x < reads.range[2].count; ++x) {
        const int tap =
            (tap_at(0, z) * shape.kernel[1] + tap_at(1, y)) * shape.kernel[2] + tap_at(2, x);
        add(tap, place_at(0, z) + place_at(1, y) + place_at(2, x));
      }
}

// All output channels of a group, at kPixels pixels.
template <typename Tiles, int kPixels, typename Shape>
static inline void output_channels(Shape fixed, TileReads<typename Tiles::Number> reads,
                                   typename Tiles::Out out) {
  const ConvShape& shape = fixed;
  int left = out_group(shape);
  const auto some = [&](auto lanes, auto vectors) __attribute__((always_inline)) {
    constexpr int kLanes = decltype(lanes)::value, kVectors = decltype(vectors)::value;
    for (; left >= kLanes * kVectors; left -= kLanes * kVectors) {
      Tiles::template tile<kLanes, kVectors, kPixels>(fixed, reads, out);
      reads.weight += kLanes * kVectors;
      if (reads.residual != nullptr) reads.residual += kLanes * kVectors;
      out = moved(out, std::ptrdiff_t{kLanes * kVectors} * shape.out.channel);
    }
  };
  constexpr int kMost = Tiles::kLanes;
  if constexpr (kPixels <= Tiles::kPixelsOfTwo) some(Count<kMost>{}, Count<2>{});
  some(Count<kMost>{}, Count<1>{});
  if constexpr (kMost > 8) some(Count<8>{}, Count<1>{});
  if constexpr (kMost > 4) some(Count<4>{}, Count<1>{});
  if constexpr (kMost > 2) some(Count<2>{}, Count<1>{});
  if constexpr (kMost > 1) some(Count<1>{}, Count<1>{});
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
  output_channels<Tiles, kPixels>(fixed, reads, out);
  return kPixels;
}

// A row of pixels of one image and group.
template <typename Tiles, int kPixels, typename Shape>
static inline void output_row(Shape fixed, const TileReads<typename Tiles::Number>& reads,
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

// All outputs of a convolution. weight, residual: weight_place(); residual may be null. Shape:
// ConvShape or FixedShape.
template <typename Tiles, typename Shape>
static inline void conv_outputs(Shape fixed, const float* weight, const float* residual,
                                const typename Tiles::Number* centre_in, const float* radius_in,
                                typename Tiles::Out out) {
  const ConvShape& shape = fixed;
  constexpr int kFew = 4;    // channels that make no vector
  constexpr int kMany = 64;  // products: two vectors of channels, else more pixels
  if constexpr (kVectorBytes == 4)
    return conv_strips<Tiles>(shape, weight, residual, centre_in, radius_in, out);
  if (out_group(shape) < kFew)
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
              output_row<Tiles, Tiles::kPixels / 2>(kind, reads, where);
            else
              output_row<Tiles, Tiles::kPixels>(kind, reads, where);
          };
          Tiles::row(fixed, make, to);
        }
    }
}

}  // namespace bf
