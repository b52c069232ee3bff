#pragma once

#include <cstddef>
#include <cstdint>

#include "conv_taps.h"
#include "terms.h"
#include "vectors.h"

// Centres and radii of a convolution's outputs. Lanes are output channels: a register tile is some
// of them for some pixels of a row that read through the same taps, so that every weight that is
// loaded serves all pixels and every input all channels. All sums are in double, in any order: the
// planner counts their terms. Few channels to a group go by rows of pixels: conv_strip().

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
static inline void add_run(const PixelRun& run, double w, double size, const double* c,
                           const float* r, std::ptrdiff_t pixel, double* centre, double* radius) {
  if (run.count <= 0) return;
  c += run.from * pixel;
  r += run.from * pixel;
  centre += run.to;
  radius += run.to;
  const std::ptrdiff_t step = run.from_step * pixel;
  if (step == 1 && run.to_step == 1) {
    for (int k = 0; k < run.count; ++k) {
      centre[k] += w * c[k];
      radius[k] += size * static_cast<double>(r[k]);
    }
  } else {
    for (std::ptrdiff_t k = 0; k < run.count; ++k) {
      centre[k * run.to_step] += w * c[k * step];
      radius[k * run.to_step] += size * static_cast<double>(r[k * step]);
    }
  }
}

// Adds to `centre` and `radius` the sums of the outputs (n, o, p) to (n, o, p + count - 1).
static inline void conv_strip(const ConvShape& shape, const float* weight, const float* residual,
                              const double* centre_in, const float* radius_in, int n, int o,
                              const int (&p)[3], int count, double* centre, double* radius) {
  const int group = in_group(shape);
  int q[3] = {0, 0, 0};
  for (int i = 0; i < group; ++i) {
    std::ptrdiff_t at = weight_place(shape, o, i, 0);
    for (int tz = 0; tz < shape.kernel[0]; ++tz) {
      q[0] = read_by(shape, 0, p[0], tz);
      for (int ty = 0; ty < shape.kernel[1]; ++ty) {
        q[1] = read_by(shape, 1, p[1], ty);
        if (q[0] < 0 || q[1] < 0) {
          at += std::ptrdiff_t{shape.kernel[2]} * out_group(shape);
          continue;
        }
        const std::ptrdiff_t row = element(shape.in, n, o / out_group(shape) * group + i, q);
        for (int tx = 0; tx < shape.kernel[2]; ++tx, at += out_group(shape)) {
          const double narrow = static_cast<double>(weight[at]);
          const double w = residual ? narrow + static_cast<double>(residual[at]) : narrow;
          add_run(pixel_run(shape, tx, p[2], count), w, __builtin_fabs(narrow), centre_in + row,
                  radius_in + row, shape.in.spatial[2], centre, radius);
        }
      }
    }
  }
}

// All outputs of the rows of pixels.
static inline void conv_strips(const ConvShape& shape, const float* weight, const float* residual,
                               const double* centre_in, const float* radius_in, double rounding,
                               double* centre_out, float* radius_out) {
  int p[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (int o = 0; o < shape.out_channels; ++o)
      for (p[0] = 0; p[0] < shape.out_size[0]; ++p[0])
        for (p[1] = 0; p[1] < shape.out_size[1]; ++p[1])
          for (p[2] = 0; p[2] < shape.out_size[2]; p[2] += kStrip) {
            const int left = shape.out_size[2] - p[2];
            const int count = left < kStrip ? left : kStrip;
            double centre[kStrip] = {};
            double radius[kStrip] = {};
            conv_strip(shape, weight, residual, centre_in, radius_in, n, o, p, count, centre,
                       radius);
            const std::ptrdiff_t at = element(shape.out, n, o, p);
            for (int x = 0; x < count; ++x) {
              const std::ptrdiff_t to = at + static_cast<std::ptrdiff_t>(x) * shape.out.spatial[2];
              add_term(centre[x], radius[x], 2, rounding, centre_out + to, radius_out + to);
            }
          }
}

// ---- many

constexpr int kCentreLanes = kVectorBytes >= 16 ? kVectorBytes / 8 : 1;

// kVectors x kLanes output channels of kPixels pixels.
template <int kLanes, int kVectors, int kPixels>
struct CentreTile {
  using Vector = typename VectorOf<double, kLanes>::type;
  Vector centre[kPixels][kVectors], radius[kPixels][kVectors];
};

// What a tile reads: the weights of tap 0 and the first input channel of its first output; the
// image's input at position 0; valid taps.
struct CentreReads {
  const float *weight, *residual;
  const double* centre;
  const float* radius;
  TapRange range[3];
};

template <int kLanes>
static inline typename VectorOf<double, kLanes>::type magnitude_of(
    typename VectorOf<double, kLanes>::type value) {
  if constexpr (kLanes == 1) {
    return __builtin_fabs(value);
  } else {
    typename VectorOf<std::int64_t, kLanes>::type bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fffffffffffffff;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
}

template <bool kResidual, int kLanes, int kVectors, int kPixels>
__attribute__((always_inline)) static inline void centre_product(
    const float* weight, const float* residual, const double* centre, const float* radius,
    std::ptrdiff_t pixel, CentreTile<kLanes, kVectors, kPixels>& tile) {
  using Vector = typename VectorOf<double, kLanes>::type;
  using Floats = typename VectorOf<float, kLanes>::type;
  Vector c[kPixels], r[kPixels];
  BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x) {
    c[x] = centre[x * pixel] - Vector{};
    r[x] = convert_rows<Vector, kLanes>(radius[x * pixel] - Floats{});
  }
  BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
    const Vector narrow = convert_rows<Vector, kLanes>(load_rows<Floats>(weight + v * kLanes));
    const Vector size = magnitude_of<kLanes>(narrow);
    Vector w = narrow;
    if constexpr (kResidual)
      w += convert_rows<Vector, kLanes>(load_rows<Floats>(residual + v * kLanes));
    BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x) {
      tile.centre[x][v] += w * c[x];
      tile.radius[x][v] += size * r[x];
    }
  }
}

// add_term() for kLanes outputs, `step` apart. Sums of radii are >= 0 or NaN, whose bits in order
// are the numbers in order: float_up() is one more than the nearest float where that is too small,
// and infinite for NaN.
template <int kLanes>
__attribute__((always_inline)) static inline void add_terms(
    typename VectorOf<double, kLanes>::type centre, typename VectorOf<double, kLanes>::type radius,
    double rounding, std::ptrdiff_t step, double* centre_out, float* radius_out) {
  if constexpr (kLanes == 1) {
    add_term(centre, radius, 2, rounding, centre_out, radius_out);
  } else {
    using Doubles = typename VectorOf<double, kLanes>::type;
    using Floats = typename VectorOf<float, kLanes>::type;
    using Bits = typename VectorOf<std::int32_t, kLanes>::type;
    Floats before = {};
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) before[l] = radius_out[l * step];
    const Doubles sum = (__builtin_convertvector(before, Doubles) + radius) * rounding;
    const Floats nearest = __builtin_convertvector(sum, Floats);
    // Masks are 0 or -1.
    const auto below = __builtin_convertvector(nearest, Doubles) < sum;
    const auto no_number = sum != sum;
    Bits bits;
    __builtin_memcpy(&bits, &nearest, sizeof bits);
    bits -= __builtin_convertvector(below, Bits);
    const Bits infinite = Bits{} + 0x7f800000;
    bits = __builtin_convertvector(no_number, Bits) ? infinite : bits;
    Floats up;
    __builtin_memcpy(&up, &bits, sizeof up);
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      centre_out[l * step] += centre[l];
      radius_out[l * step] = up[l];
    }
  }
}

// A tile's sums, added to outputs.
template <bool kResidual, int kLanes, int kVectors, int kPixels, typename Shape>
__attribute__((always_inline)) static inline void centre_tile(Shape fixed, const CentreReads& reads,
                                                              double rounding, double* centre_out,
                                                              float* radius_out) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, !shape.transposed);
  const int group = in_group(shape), readers = out_group(shape), tap_count = taps(shape);
  const std::ptrdiff_t pixel_in =
      std::ptrdiff_t{shape.in.spatial[2]} * tap_shift(shape, !shape.transposed, 2);
  CentreTile<kLanes, kVectors, kPixels> tile = {};
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
        std::ptrdiff_t at = place_at(0, z) + place_at(1, y) + place_at(2, x);
        std::ptrdiff_t w = std::ptrdiff_t{tap} * readers;
        for (int i = 0; i < group; ++i, at += shape.in.channel, w += tap_count * readers)
          centre_product<kResidual, kLanes, kVectors, kPixels>(
              reads.weight + w, kResidual ? reads.residual + w : nullptr, reads.centre + at,
              reads.radius + at, pixel_in, tile);
      }
  const std::ptrdiff_t pixel =
      std::ptrdiff_t{shape.out.spatial[2]} * tap_period(shape, !shape.transposed, 2);
  BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
    const std::ptrdiff_t to = x * pixel + std::ptrdiff_t{v * kLanes} * shape.out.channel;
    add_terms<kLanes>(tile.centre[x][v], tile.radius[x][v], rounding, shape.out.channel,
                      centre_out + to, radius_out + to);
  }
}

// All output channels of a group, at kPixels pixels.
template <bool kResidual, int kPixels, typename Shape>
static inline void centre_channels(Shape fixed, CentreReads reads, double rounding,
                                   double* centre_out, float* radius_out) {
  const ConvShape& shape = fixed;
  int left = out_group(shape);
  const auto some = [&](auto lanes, auto vectors) __attribute__((always_inline)) {
    constexpr int kLanes = decltype(lanes)::value, kVectors = decltype(vectors)::value;
    for (; left >= kLanes * kVectors; left -= kLanes * kVectors) {
      centre_tile<kResidual, kLanes, kVectors, kPixels>(fixed, reads, rounding, centre_out,
                                                        radius_out);
      reads.weight += kLanes * kVectors;
      if constexpr (kResidual) reads.residual += kLanes * kVectors;
      centre_out += std::ptrdiff_t{kLanes * kVectors} * shape.out.channel;
      radius_out += std::ptrdiff_t{kLanes * kVectors} * shape.out.channel;
    }
  };
  if constexpr (kPixels <= 4) some(Count<kCentreLanes>{}, Count<2>{});
  some(Count<kCentreLanes>{}, Count<1>{});
  if constexpr (kCentreLanes > 4) some(Count<4>{}, Count<1>{});
  if constexpr (kCentreLanes > 2) some(Count<2>{}, Count<1>{});
  if constexpr (kCentreLanes > 1) some(Count<1>{}, Count<1>{});
}

// The most pixels of {8, 4, 2, 1}, at most kPixels, that have the same taps; returns how many.
template <bool kResidual, int kPixels, typename Shape>
static inline int centre_pixels(Shape fixed, const TapSteps& how, TapRange taps, int room,
                                CentreReads reads, double rounding, double* centre_out,
                                float* radius_out) {
  const ConvShape& shape = fixed;
  const Window window = whole(shape.in_size);
  if constexpr (kPixels > 1)
    if (kPixels > room || !have_same_taps(shape, how, !shape.transposed, window, taps, kPixels))
      return centre_pixels<kResidual, kPixels / 2>(fixed, how, taps, room, reads, rounding,
                                                   centre_out, radius_out);
  reads.range[2] = clip(how, window, 2, taps);
  centre_channels<kResidual, kPixels>(fixed, reads, rounding, centre_out, radius_out);
  return kPixels;
}

// A row of pixels of one image and group.
template <bool kResidual, int kPixels, typename Shape>
static inline void centre_row(Shape fixed, const CentreReads& reads, double rounding,
                              double* centre_out, float* radius_out) {
  const ConvShape& shape = fixed;
  const bool up = !shape.transposed;
  const TapSteps how = steps(fixed, up);
  const int step = tap_period(shape, up, 2);
  for (int lane = 0; lane < step; ++lane) {
    TapRange taps = all_taps(shape, how, up, 2, lane);
    for (int x = lane; x < shape.out_size[2];) {
      const int room = (shape.out_size[2] - 1 - x) / step + 1;
      const std::ptrdiff_t to = std::ptrdiff_t{x} * shape.out.spatial[2];
      const int done = centre_pixels<kResidual, kPixels>(fixed, how, taps, room, reads, rounding,
                                                         centre_out + to, radius_out + to);
      x += done * step;
      taps.position += done * tap_shift(shape, up, 2);
    }
  }
}

// Adds what a convolution makes of its input. weight, residual: weight_place(); residual may be
// null. Shape: ConvShape or FixedShape.
template <typename Shape>
BF_ROUTINE conv_centre(Shape fixed, const float* weight, const float* residual,
                       const double* centre_in, const float* radius_in, double rounding,
                       double* centre_out, float* radius_out) {
  const ConvShape& shape = fixed;
  if constexpr (kVectorBytes == 4)
    return conv_strips(shape, weight, residual, centre_in, radius_in, rounding, centre_out,
                       radius_out);
  constexpr int kPixels = kVectorBytes == 64 ? 8 : 2;
  constexpr int kFew = 4;    // channels that make no vector
  constexpr int kMany = 64;  // products: two vectors of channels, else more pixels
  if (out_group(shape) < kFew)
    return conv_strips(shape, weight, residual, centre_in, radius_in, rounding, centre_out,
                       radius_out);
  const bool up = !shape.transposed;
  const TapSteps how = steps(fixed, up);
  const Window window = whole(shape.in_size);
  const int origin[3] = {0, 0, 0};
  const auto rows = [&](auto pixels, const CentreReads& reads, std::ptrdiff_t to) {
    constexpr int kTogether = decltype(pixels)::value;
    if (residual != nullptr)
      centre_row<true, kTogether>(fixed, reads, rounding, centre_out + to, radius_out + to);
    else
      centre_row<false, kTogether>(fixed, reads, rounding, centre_out + to, radius_out + to);
  };
  for (int n = 0; n < shape.batch; ++n)
    for (int g = 0; g < shape.groups; ++g) {
      const std::ptrdiff_t at = weight_place(shape, g * out_group(shape), 0, 0);
      const std::ptrdiff_t in = element(shape.in, n, g * in_group(shape), origin);
      for (int z = 0; z < shape.out_size[0]; ++z)
        for (int y = 0; y < shape.out_size[1]; ++y) {
          const CentreReads reads = {weight + at,
                                     residual ? residual + at : nullptr,
                                     centre_in + in,
                                     radius_in + in,
                                     {clip(how, window, 0, all_taps(shape, how, up, 0, z)),
                                      clip(how, window, 1, all_taps(shape, how, up, 1, y)),
                                      {}}};
          const int row[3] = {z, y, 0};
          const std::ptrdiff_t to = element(shape.out, n, g * out_group(shape), row);
          if (out_group(shape) >= 2 * kCentreLanes && in_group(shape) * taps(shape) >= kMany)
            rows(Count<kPixels / 2>{}, reads, to);
          else
            rows(Count<kPixels>{}, reads, to);
        }
    }
}

}  // namespace bf
