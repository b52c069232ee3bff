#pragma once

#include "bf/contract/integers.h"
#include "bf/conv/conv_blocks.h"
#include "bf/conv/conv_outputs.h"
#include "bf/conv/conv_pixels.h"
#include "bf/core/vectors.h"
#include "bf/sums/terms.h"

// Double centres and float radii of a convolution's outputs. All sums are in double, in any order:
// the planner counts their terms.

namespace bf {

struct CentreOut {
  double* centre;
  float* radius;
  double rounding;  // see add_term()
};

// Adds kLanes radii as add_term() does. Sums of radii are >= 0 or NaN, and such numbers have the
// order of their bits: float_up() is one more than the nearest float where that is too small, and
// infinite for NaN.
template <int kLanes>
__attribute__((always_inline)) static inline typename VectorOf<float, kLanes>::type added_radii(
    typename VectorOf<float, kLanes>::type before, typename VectorOf<double, kLanes>::type radius,
    double rounding) {
  using Doubles = typename VectorOf<double, kLanes>::type;
  using Floats = typename VectorOf<float, kLanes>::type;
  using Bits = typename VectorOf<std::int32_t, kLanes>::type;
  const Doubles sum = (__builtin_convertvector(before, Doubles) + radius) * rounding;
  const Floats nearest = nearest_floats<Floats>(sum);
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
  return up;
}

// add_term() for kLanes outputs, `step` apart.
template <int kLanes>
__attribute__((always_inline)) static inline void add_terms(
    typename VectorOf<double, kLanes>::type centre, typename VectorOf<double, kLanes>::type radius,
    std::ptrdiff_t step, CentreOut out) {
  if constexpr (kLanes == 1) {
    add_term(centre, radius, 2, out.rounding, out.centre, out.radius);
  } else {
    typename VectorOf<float, kLanes>::type before = {};
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) before[l] = out.radius[l * step];
    const auto up = added_radii<kLanes>(before, radius, out.rounding);
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      out.centre[l * step] += centre[l];
      out.radius[l * step] = up[l];
    }
  }
}

// The `Tiles` of conv_outputs() that conv_centre() sums by.
template <bool kResidual>
struct CentreTiles {
  using Number = double;
  using Out = CentreOut;
  static constexpr int kLanes = kVectorBytes >= 16 ? kVectorBytes / 8 : 1;
  static constexpr int kPixels = kVectorBytes == 64 ? 8 : 2;
  static constexpr int kPixelsOfTwo = 4, kPixelsOfMany = kPixels / 2;

  // kVectors x kLanes output channels of kPixels pixels.
  template <int kWidth, int kVectors, int kTogether>
  struct Sums {
    typename VectorOf<double, kWidth>::type centre[kTogether][kVectors],
        radius[kTogether][kVectors];
  };

  // The products of one input channel and pixels kBegin to kEnd - 1; the first one's input is
  // given.
  template <int kBegin, int kEnd, int kWidth, int kVectors, int kTogether>
  __attribute__((always_inline)) static void add(const float* weight, const float* residual,
                                                 const double* centre, const float* radius,
                                                 std::ptrdiff_t pixel,
                                                 Sums<kWidth, kVectors, kTogether>& sums) {
    using Vector = typename VectorOf<double, kWidth>::type;
    using Floats = typename VectorOf<float, kWidth>::type;
    centre = pinned(centre);
    radius = pinned(radius);
    Vector c[kTogether], r[kTogether];
    BF_UNROLL_ROWS for (int x = kBegin; x < kEnd; ++x) {
      c[x] = centre[(x - kBegin) * pixel] - Vector{};
      r[x] = convert_rows<Vector, kWidth>(radius[(x - kBegin) * pixel] - Floats{});
    }
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      const Vector narrow = convert_rows<Vector, kWidth>(load_rows<Floats>(weight + v * kWidth));
      const Vector size = magnitude<double>(narrow);
      Vector w = narrow;
      if constexpr (kResidual)
        w += convert_rows<Vector, kWidth>(load_rows<Floats>(residual + v * kWidth));
      BF_UNROLL_ROWS for (int x = kBegin; x < kEnd; ++x) {
        sums.centre[x][v] += w * c[x];
        sums.radius[x][v] += size * r[x];
      }
    }
  }

  template <int kWidth, int kVectors, int kTogether, typename Shape, typename Place>
  __attribute__((always_inline)) static void tile(Shape fixed, Place place,
                                                  const TileReads<double>& reads, CentreOut out) {
    const ConvShape& shape = fixed;
    const bool up = !shape.transposed;
    const int group = in_group(shape);
    const std::ptrdiff_t stride = std::ptrdiff_t{taps(shape)} * out_group(shape);
    const std::ptrdiff_t pixel_in = std::ptrdiff_t{shape.in.spatial[2]} * tap_shift(shape, up, 2);
    Sums<kWidth, kVectors, kTogether> sums = {};
    tile_products<kTogether>(
        fixed, place,
        reads, [&](int tap, std::ptrdiff_t at, auto pixels) __attribute__((always_inline)) {
          std::ptrdiff_t w = std::ptrdiff_t{tap} * out_group(shape);
          for (int i = 0; i < group; ++i, at += shape.in.channel, w += stride)
            add<pixels.begin, pixels.end>(reads.weight + w,
                                          kResidual ? reads.residual + w : nullptr,
                                          reads.centre + at, reads.radius + at, pixel_in, sums);
        });
    const std::ptrdiff_t pixel = std::ptrdiff_t{shape.out.spatial[2]} * tap_period(shape, up, 2);
    constexpr int kRoom = pixels_in_row<kTogether>(Shape{}, Place{});
    BF_UNROLL_ROWS for (int x = 0; x < kRoom; ++x) BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
        add_terms<kWidth>(sums.centre[x][v], sums.radius[x][v], shape.out.channel,
                          moved(out, x * pixel + std::ptrdiff_t{v * kWidth} * shape.out.channel));
  }

  template <typename Shape, typename Make>
  static void row(Shape fixed, Make make, CentreOut out) {
    make(fixed, out);
  }

  static void strip(const ConvShape& shape, const float* weight, const float* residual,
                    const double* centre_in, const float* radius_in, int n, int o,
                    const int (&p)[3], int count, CentreOut out) {
    double centre[kStrip] = {};
    double radius[kStrip] = {};
    strip_products(shape, n, o, p, count, 0, in_group(shape),
                   [&](int, int, std::ptrdiff_t at, std::ptrdiff_t row, const PixelRun& run) {
                     const double narrow = static_cast<double>(weight[at]);
                     const double w =
                         residual ? narrow + static_cast<double>(residual[at]) : narrow;
                     add_run(run, w, __builtin_fabs(narrow), centre_in + row, radius_in + row,
                             shape.in.spatial[2], centre, radius);
                   });
    const std::ptrdiff_t at = element(shape.out, n, o, p);
    for (int x = 0; x < count; ++x) {
      const auto to = moved(out, at + static_cast<std::ptrdiff_t>(x) * shape.out.spatial[2]);
      add_term(centre[x], radius[x], 2, out.rounding, to.centre, to.radius);
    }
  }
};

// The `Kind` of PixelTiles that conv_centre() sums by.
struct CentrePixels {
  using Number = double;
  using Out = CentreOut;
  static constexpr int kTurning = 40;

  // add_term() for kCount outputs side by side.
  template <int kCount, typename Vector>
  __attribute__((always_inline)) static void put(Vector centre, Vector radius, CentreOut out) {
    put_lanes<0, kCount, sizeof(Vector) / sizeof(double)>(&centre, &radius, out);
  }

  // Lanes kFrom to kEnd - 1 of vectors in memory, in pieces of registers.
  template <int kFrom, int kEnd, int kPiece>
  __attribute__((always_inline)) static void put_lanes(const void* centre, const void* radius,
                                                       CentreOut out) {
    if constexpr (kFrom + kPiece <= kEnd) {
      using Doubles = typename VectorOf<double, kPiece>::type;
      using Floats = typename VectorOf<float, kPiece>::type;
      const auto load = [](const void* from) __attribute__((always_inline)) {
        return load_rows<Doubles>(static_cast<const double*>(from) + kFrom);
      };
      double* const centre_out = out.centre + kFrom;
      float* const radius_out = out.radius + kFrom;
      if constexpr (kPiece == 1) {
        add_term(load(centre), load(radius), 2, out.rounding, centre_out, radius_out);
      } else {
        const Floats before = load_rows<Floats>(radius_out);
        store_rows(centre_out, load_rows<Doubles>(centre_out) + load(centre));
        store_rows(radius_out, added_radii<kPiece>(before, load(radius), out.rounding));
      }
      put_lanes<kFrom + kPiece, kEnd, kPiece>(centre, radius, out);
    } else if constexpr (kFrom < kEnd) {
      put_lanes<kFrom, kEnd, kPiece / 2>(centre, radius, out);
    }
  }
};

static constexpr bool has_centre_pixels(const ConvShape& shape) {
  return has_pixel_lanes<CentrePixels>(shape, 1 << 30);  // in chains of any length
}

template <typename Shape>
constexpr bool kHasCentrePixels = false;
template <const ConvShape& kShape>
constexpr bool kHasCentrePixels<FixedShape<kShape>> = has_centre_pixels(kShape);

// The `Kind` of BlockWalk that conv_centre() sums by.
struct CentreBlocks {
  using Number = double;
  using Out = CentreOut;

  static void give(const double* centre, const double* radius, int pixels, int channels, int pitch,
                   const ConvShape& shape, Out out) {
    constexpr int kLanes = Blocks<double>::kLanes;
    using Vector = VectorOf<double, kLanes>::type;
    for (int x = 0; x < pixels; ++x, centre += pitch, radius += pitch) {
      const auto at = [&](int c) {
        return moved(
            out, std::ptrdiff_t{x} * shape.out.spatial[2] + std::ptrdiff_t{c} * shape.out.channel);
      };
      int c = 0;
      for (; c + kLanes <= channels; c += kLanes)
        add_terms<kLanes>(load_rows<Vector>(centre + c), load_rows<Vector>(radius + c),
                          shape.out.channel, at(c));
      for (; c < channels; ++c) add_terms<1>(centre[c], radius[c], 0, at(c));
    }
  }
};

// The blocks that conv_centre() sums by. Shapes that code of their own sums with pixels in lanes
// have none, so that all code makes the same bits.
static constexpr ConvBlock centre_block(const ConvShape& shape) {
  return has_centre_pixels(shape) ? ConvBlock{0, 0, 0, 0} : conv_block<double>(shape);
}

template <typename Shape>
static inline ConvBlock block_of_centres(Shape shape) {
  return centre_block(shape);
}
template <const ConvShape& kShape>
static inline ConvBlock block_of_centres(FixedShape<kShape>) {
  constexpr ConvBlock kBlock = centre_block(kShape);
  return kBlock;
}

template <const ConvShape& kShape>
static inline void centre_pixels(FixedShape<kShape>, const float* weight, const float* residual,
                                 const double* centre_in, const float* radius_in, CentreOut out) {
  PixelTiles<CentrePixels, kShape>::outputs(weight, residual, centre_in, radius_in, out);
}

// Adds what a convolution makes of its input. weight, residual: weight_place(); residual may be
// null. Shape: ConvShape or FixedShape.
template <typename Shape>
BF_ROUTINE conv_centre(Shape fixed, const float* weight, const float* residual,
                       const double* centre_in, const float* radius_in, double rounding,
                       double* centre_out, float* radius_out) {
  const CentreOut out = {centre_out, radius_out, rounding};
  if constexpr (kHasCentrePixels<Shape>)
    return centre_pixels(fixed, weight, residual, centre_in, radius_in, out);
  const ConvBlock block = block_of_centres(fixed);
  if (block.rows > 0)
    block_outputs<CentreBlocks>(fixed, block, weight, residual, centre_in, radius_in, out);
  else if (residual != nullptr)
    conv_outputs<CentreTiles<true>>(fixed, weight, residual, centre_in, radius_in, out);
  else
    conv_outputs<CentreTiles<false>>(fixed, weight, nullptr, centre_in, radius_in, out);
}

}  // namespace bf
