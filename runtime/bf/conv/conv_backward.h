#pragma once

#include "bf/contract/chains.h"
#include "bf/contract/integers.h"
#include "bf/contract/tiles.h"
#include "bf/conv/conv_taps.h"
#include "bf/sums/backward.h"
#include "bf/sums/terms.h"

// Backward rows through a convolution, as a gather: an input's coefficients are the sum over all
// products that read it. Lanes are rows. A register tile is some channels of some pixels of a row
// of the image that the same taps read, one output position after the other: every weight that is
// loaded serves all of its pixels, every coefficient all of its channels. Where a group has one
// channel (depthwise convolutions, average pooling) those of the tile are each of a group of its
// own: they share taps alone, found once for all of them.
//
// docs/proofs/backward-depths.md counts the roundings that a product passes through.

namespace bf {

static constexpr Chain conv_chain(const ConvShape& shape) {
  std::int64_t taps[3] = {};
  for (int d = 0; d < 3; ++d)
    taps[d] = ceil_div(shape.kernel[d], tap_steps(shape, shape.transposed).tap[d]);
  return conv_chain(out_group(shape), taps);
}

template <const ConvShape& kShape>
constexpr Chain kChain = conv_chain(kShape);

template <const ConvShape& kShape>
constexpr Chain conv_chain(FixedShape<kShape>) {
  return kChain<kShape>;
}

// Returns true if each group has one input channel, so that channels of a register tile are groups.
constexpr bool is_depthwise(const ConvShape& shape) {
  return in_group(shape) == 1 && shape.groups > 1;
}

// The channels that the same taps read, in groups or in one.
constexpr int tiled_channels(const ConvShape& shape) {
  return is_depthwise(shape) ? shape.groups : in_group(shape);
}

template <int kRows, bool kWide>
constexpr int kSumVectors = kRows / lanes_of<typename SumOf<kWide>::type>(kRows);

// The channels that conv_row_tile() goes by. Of a shape that the compiler does not know: two.
template <typename Shape>
constexpr int kTiledChannels = 2;
template <const ConvShape& kShape>
constexpr int kTiledChannels<FixedShape<kShape>> = tiled_channels(kShape);
template <typename Shape>
constexpr bool kIsDepthwise = false;
template <const ConvShape& kShape>
constexpr bool kIsDepthwise<FixedShape<kShape>> = is_depthwise(kShape);

// The register tile of portable code, whose compiler alone knows the vectors.
struct PortableTile {
  template <int kRows, bool kWide, typename Shape>
  static constexpr ConvRowTile of = conv_row_tile(kVectorBytes, kSumVectors<kRows, kWide>,
                                                  kTiledChannels<Shape>, kIsDepthwise<Shape>);
};

// The register tile that is planned. No sum depends on it, nor the order of a sum.
template <int kColumns, int kPixels, int kLastColumns>
struct GivenTile {
  template <int kRows, bool kWide, typename Shape>
  static constexpr ConvRowTile of = {kColumns, kPixels, kLastColumns};
};

// Weights as products read them. Where sums are double, numbers of convolutions that are not large
// are converted once, on the stack, for all pixels: processors of Intel convert and spread a number
// where they would multiply. Both are the same numbers.
template <bool kConverted, int kCount>
struct ConvWeights {
  using Weight = float;
  explicit ConvWeights(const float* weight) : from(weight) {}
  const float* from;
};
template <int kCount>
struct ConvWeights<true, kCount> {
  using Weight = double;
  explicit ConvWeights(const float* weight) {
    for (int i = 0; i < kCount; ++i) from[i] = static_cast<double>(weight[i]);
  }
  alignas(64) double from[kCount];
};

constexpr int kMostConverted = 2560;

template <bool kWide, typename Shape>
struct WeightsOf {
  using type = ConvWeights<false, 0>;
};
template <bool kWide, const ConvShape& kShape>
struct WeightsOf<kWide, FixedShape<kShape>> {
  static constexpr int kCount = out_group(kShape) * kShape.in_channels * taps(kShape);
  using type = ConvWeights<kWide && kVectorBytes >= 32 && kCount <= kMostConverted, kCount>;
};

template <int kRows, int kColumns, int kPixels, typename Sum>
struct ConvTile {
  static constexpr int kLanes = lanes_of<Sum>(kRows);
  static constexpr int kVectors = kRows / kLanes;
  using Vector = typename VectorOf<Sum, kLanes>::type;
  Vector sum[kPixels][kColumns][kVectors];

  __attribute__((always_inline)) void clear() {
    BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
        BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c)
            BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) sum[x][c][v] = Vector{};
  }

  // Adds a chain and clears it.
  __attribute__((always_inline)) void take(ConvTile& chain) {
    BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
        BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c)
            BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      sum[x][c][v] += chain.sum[x][c][v];
      chain.sum[x][c][v] = Vector{};
    }
  }
};

// Coefficients of an output: a vector of a pixel's rows.
template <typename Tile>
__attribute__((always_inline)) static inline typename Tile::Vector read_rows(const float* a) {
  using Floats = typename VectorOf<float, Tile::kLanes>::type;
  return made_once(convert_rows<typename Tile::Vector, Tile::kLanes>(load_rows<Floats>(a)));
}

// `count` output channels of one tap. weight: of the first; a: coefficients of the first; group:
// from those of one column to those of the next, 0 where all have the same. Of weights and
// coefficients those stay in registers that are fewer.
template <int kRows, int kColumns, int kPixels, typename Weight, typename Sum>
__attribute__((always_inline)) static inline void conv_products(
    const Weight* weight, int column_step, const float* a, std::ptrdiff_t step,
    std::ptrdiff_t group, std::ptrdiff_t pixel_step, int count,
    ConvTile<kRows, kColumns, kPixels, Sum>& tile) {
  using Tile = ConvTile<kRows, kColumns, kPixels, Sum>;
  using Vector = typename Tile::Vector;
  constexpr int kLanes = Tile::kLanes;
  const auto weight_of = [&](int c) __attribute__((always_inline)) {
    return static_cast<Sum>(weight[c * column_step]) - Vector{};
  };
  for (int o = 0; o < count; ++o, ++weight, a += step) {
    if (kColumns < kPixels * Tile::kVectors && group == 0) {
      Vector w[kColumns];
      BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) w[c] = made_once(Vector(weight_of(c)));
      BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
          BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v) {
        const Vector in = read_rows<Tile>(a + x * pixel_step + v * kLanes);
        BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) tile.sum[x][c][v] += in * w[c];
      }
      continue;
    }
    Vector in[kPixels][Tile::kVectors];
    BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) {
      const Vector w = weight_of(c);
      BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
          BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v) {
        if (c == 0 || group != 0)
          in[x][v] = read_rows<Tile>(a + c * group + x * pixel_step + v * kLanes);
        tile.sum[x][c][v] += in[x][v] * w;
      }
    }
  }
}

// The distance from the output at position 0 to that at position p.
static inline std::ptrdiff_t place_of(const ConvShape& shape, const int (&p)[3]) {
  return std::ptrdiff_t{p[0]} * shape.out.spatial[0] + std::ptrdiff_t{p[1]} * shape.out.spatial[1] +
         std::ptrdiff_t{p[2]} * shape.out.spatial[2];
}

// The weights, coefficients and taps that a tile of inputs reads.
template <typename Weight>
struct ConvReads {
  const Weight* weight;  // of tap 0, the first input channel and the group's first output
  const float* a;        // coefficients of the image at position 0
  TapRange range[3];
};

// The sums over all taps that `reads` names, in chains. products(tap, p, sums): adds those of one
// tap, paired with the position p; where a chain does not hold them, part after part, with the
// second function after each.
template <typename Tile, bool kWide, typename Shape, typename Weight, typename Products>
__attribute__((always_inline)) static inline Tile conv_sums(Shape fixed,
                                                            const ConvReads<Weight>& reads,
                                                            const Products& products) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, shape.transposed);
  const int loops = kWide ? 3 : conv_chain(fixed).loops;
  const auto tap_at = [&](int d, int i) { return reads.range[d].first + i * how.tap[d]; };
  const auto position = [&](int d, int i) { return reads.range[d].position + i * how.position[d]; };
  Tile chain, total;
  chain.clear();
  if (loops < 3) total.clear();
  const auto end_part = [&]() __attribute__((always_inline)) {
    if (loops == 0) total.take(chain);
  };
  for (int z = 0; z < reads.range[0].count; ++z) {
    for (int y = 0; y < reads.range[1].count; ++y) {
      const int row = (tap_at(0, z) * shape.kernel[1] + tap_at(1, y)) * shape.kernel[2];
      for (int x = 0; x < reads.range[2].count; ++x) {
        const int p[3] = {position(0, z), position(1, y), position(2, x)};
        products(row + tap_at(2, x), p, loops > 0, chain, end_part);
        if (loops == 1) total.take(chain);
      }
      if (loops == 2) total.take(chain);
    }
  }
  return loops == 3 ? chain : total;
}

// ---- where an input's coefficients go

// Writes coefficients to memory, or adds them to what is there.
template <int kRows>
class StoredRows {
 public:
  static constexpr bool kInOrder = false;

  StoredRows(const ConvShape& shape, bool add, float* coefficients)
      : places_(shape.in), add_(add), at_(coefficients) {}

  // The place of the first input of a row of pixels.
  StoredRows row(int n, int channel, const int (&p)[3]) const {
    StoredRows moved = *this;
    moved.at_ += element(places_, n, channel, p) * kRows;
    return moved;
  }
  StoredRows pixel(std::ptrdiff_t x) const {
    StoredRows moved = *this;
    moved.at_ += x * places_.spatial[2] * kRows;
    return moved;
  }
  void skip_channels(std::ptrdiff_t count) { at_ += count * places_.channel * kRows; }

  // A tile's sums; pixels `step` apart, of the channels channel_of(column).
  template <int kColumns, int kPixels, typename Sum, typename ChannelOf>
  __attribute__((always_inline)) void put(const ConvTile<kRows, kColumns, kPixels, Sum>& sums,
                                          int step, const ChannelOf& channel_of) const {
    BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
        BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c)
            put_column(sums, x, c,
                       at_ + (std::ptrdiff_t{x} * step * places_.spatial[2] +
                              std::ptrdiff_t{channel_of(c)} * places_.channel) *
                                 kRows);
  }

 private:
  template <typename Tile>
  __attribute__((always_inline)) void put_column(const Tile& sums, int x, int c, float* to) const {
    using Floats = typename VectorOf<float, Tile::kLanes>::type;
    using Vector = typename Tile::Vector;
    BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v) {
      float* const at = to + v * Tile::kLanes;
      Vector sum = sums.sum[x][c][v];
      if (add_) sum += convert_rows<Vector, Tile::kLanes>(load_rows<Floats>(at));
      store_rows(at, narrow_rows<Floats, Tile::kLanes>(sum));
    }
  }

  ImageStrides places_;
  bool add_;
  float* at_;
};

// Coefficients A of the box, of which nothing but sum_k |A_k| radius_k is asked for, go nowhere:
// the sum is made of them in registers, one after the other, as they come: of a pixel all channels,
// then of the next one that the same taps read. A chain of at most as many roundings as there are
// elements. What a sum in double would be stored as is rounded to float here, too.
template <int kRows>
class SpreadRows {
 public:
  static constexpr bool kInOrder = true;  // of what it is given

  // radius: at the places that the image has elements at. spread: kRows sums, added to.
  SpreadRows(const ImageStrides& places, const float* radius, float* spread)
      : places_(places), radius_(radius), spread_(spread) {}

  SpreadRows row(int n, int channel, const int (&p)[3]) const {
    SpreadRows moved = *this;
    moved.radius_ += element(places_, n, channel, p);
    return moved;
  }
  SpreadRows pixel(std::ptrdiff_t x) const {
    SpreadRows moved = *this;
    moved.radius_ += x * places_.spatial[2];
    return moved;
  }
  void skip_channels(std::ptrdiff_t count) { radius_ += count * places_.channel; }

  template <int kColumns, int kPixels, typename Sum, typename ChannelOf>
  __attribute__((always_inline)) void put(const ConvTile<kRows, kColumns, kPixels, Sum>& sums,
                                          int step, const ChannelOf& channel_of) const {
    using Tile = ConvTile<kRows, kColumns, kPixels, Sum>;
    using Floats = typename VectorOf<float, Tile::kLanes>::type;
    Floats sum[Tile::kVectors];
    BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v) sum[v] =
        load_rows<Floats>(spread_ + v * Tile::kLanes);
    BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x)
        BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) {
      const Floats r = radius_[std::ptrdiff_t{x} * step * places_.spatial[2] +
                               std::ptrdiff_t{channel_of(c)} * places_.channel] -
                       Floats{};
      BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v) sum[v] +=
          magnitude<float>(narrow_rows<Floats, Tile::kLanes>(sums.sum[x][c][v])) * r;
    }
    BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v)
        store_rows(spread_ + v * Tile::kLanes, sum[v]);
  }

 private:
  ImageStrides places_;
  const float* radius_;
  float* spread_;
};

// True if register tiles of several pixels have all channels that the same taps read, so that
// elements come in an order that does not depend on the tile.
template <int kRows, bool kWide, typename Tile, typename Shape>
constexpr bool kHasAllChannels = false;
template <int kRows, bool kWide, typename Tile, const ConvShape& kShape>
constexpr bool kHasAllChannels<kRows, kWide, Tile, FixedShape<kShape>> =
    is_tile_width(tiled_channels(kShape)) &&
    tiled_channels(kShape) <= Tile::template of<kRows, kWide, FixedShape<kShape>>.columns;

// The first of the pixels of a row from `begin` on that a lane of them has, one in `step`: whatever
// the window, lanes have the same pixels.
constexpr int first_of_lane(int begin, int step, int lane) {
  return begin + (lane - begin % step + step) % step;
}

// ---- tiles

template <int kRows, int kColumns, int kPixels, bool kWide, typename Shape, typename Weight,
          typename Target>
__attribute__((always_inline)) static inline void conv_tile(Shape fixed,
                                                            const ConvReads<Weight>& reads,
                                                            const Target& to, int step) {
  using Tile = ConvTile<kRows, kColumns, kPixels, typename SumOf<kWide>::type>;
  const ConvShape& shape = fixed;
  const int readers = out_group(shape), column_step = taps(shape) * readers;
  const std::ptrdiff_t reader = std::ptrdiff_t{shape.out.channel} * kRows;
  const std::ptrdiff_t group = is_depthwise(shape) ? readers * reader : 0;
  const std::ptrdiff_t pixel_step =
      std::ptrdiff_t{shape.out.spatial[2]} * kRows * tap_shift(shape, shape.transposed, 2);
  const Tile sums = conv_sums<Tile, kWide>(
      fixed, reads,
      [&](int tap, const int(&p)[3], bool whole, Tile& chain, const auto& end_part)
          __attribute__((always_inline)) {
            const Weight* const w = reads.weight + tap * readers;
            const float* const from = reads.a + place_of(shape, p) * kRows;
            for (int o = 0, some; o < readers; o += some) {
              some = chain_part(whole, readers - o);
              conv_products(w + o, column_step, from + o * reader, reader, group, pixel_step, some,
                            chain);
              end_part();
            }
          });
  to.put(sums, step, [](int c) { return c; });
}

// All channels that the same taps read, at one pixel or some, `step` apart.
template <int kRows, bool kWide, typename Tile, int kPixels, typename Shape, typename Weight,
          typename Target>
__attribute__((always_inline)) static inline void conv_channels(Shape fixed,
                                                                ConvReads<Weight> reads, Target to,
                                                                int step) {
  constexpr ConvRowTile kTile = Tile::template of<kRows, kWide, Shape>;
  constexpr int kMost = kPixels == kTile.pixels ? kTile.columns : kTile.last_columns;
  const ConvShape& shape = fixed;
  int left = tiled_channels(shape);
  const auto some = [&](auto width) __attribute__((always_inline)) {
    constexpr int kColumns = decltype(width)::value;
    for (; left >= kColumns; left -= kColumns) {
      conv_tile<kRows, kColumns, kPixels, kWide>(fixed, reads, to, step);
      reads.weight += kColumns * taps(shape) * out_group(shape);
      if (is_depthwise(shape))
        reads.a += std::ptrdiff_t{kColumns} * out_group(shape) * shape.out.channel * kRows;
      to.skip_channels(kColumns);
    }
  };
  if constexpr (kMost >= 12) some(Count<12>{});
  if constexpr (kMost >= 10) some(Count<10>{});
  if constexpr (kMost >= 8) some(Count<8>{});
  if constexpr (kMost >= 6) some(Count<6>{});
  if constexpr (kMost >= 4) some(Count<4>{});
  if constexpr (kMost >= 3) some(Count<3>{});
  if constexpr (kMost >= 2) some(Count<2>{});
  some(Count<1>{});
}

// A row of pixels of one image and group. Pixels a stride apart are read by the same taps, but for
// borders; `pixels` of them go together.
template <int kRows, bool kWide, typename Tile, int kPixels, typename Shape, typename Weight,
          typename Target>
static inline void conv_row(Shape fixed, ConvReads<Weight> reads, const Window& from,
                            const Window& window, const Target& to) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, shape.transposed);
  const int step = tap_period(shape, shape.transposed, 2);
  for (int lane = 0; lane < step; ++lane) {
    int x = first_of_lane(window.begin[2], step, lane);
    TapRange taps = all_taps(shape, how, shape.transposed, 2, x);
    while (x < window.end[2]) {
      reads.range[2] = clip(how, from, 2, taps);
      int done = 1;
      if constexpr (kPixels > 1)
        if (x + (kPixels - 1) * step < window.end[2] &&
            have_same_taps(shape, how, shape.transposed, from, taps, kPixels))
          done = kPixels;
      if (done == kPixels)
        conv_channels<kRows, kWide, Tile, kPixels>(fixed, reads, to.pixel(x), step);
      else
        conv_channels<kRows, kWide, Tile, 1>(fixed, reads, to.pixel(x), 1);
      x += done * step;
      taps.position += done * tap_shift(shape, shape.transposed, 2);
    }
  }
}

// W^T coefficients_in, for the inputs in the window `to`, which `target` takes.
template <int kRows, bool kWide, typename Tile, typename Shape, typename Target>
__attribute__((always_inline)) static inline void conv_gather(Shape fixed, const float* weight,
                                                              const float* coefficients_in,
                                                              const Window& from,
                                                              const Target& target,
                                                              const Window& to) {
  constexpr bool kAnyTile = !Target::kInOrder || kHasAllChannels<kRows, kWide, Tile, Shape>;
  constexpr int kPixels = kAnyTile ? Tile::template of<kRows, kWide, Shape>.pixels : 1;
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, shape.transposed);
  const int group = in_group(shape), readers = out_group(shape);
  using Weights = typename WeightsOf<kWide, Shape>::type;
  const Weights weights(weight);
  for (int n = 0; n < shape.batch; ++n)
    for (int z = to.begin[0]; z < to.end[0]; ++z)
      for (int y = to.begin[1]; y < to.end[1]; ++y)
        for (int g = 0; g < shape.groups; g += is_depthwise(shape) ? shape.groups : 1) {
          const int origin[3] = {0, 0, 0}, row[3] = {z, y, 0};
          const ConvReads<typename Weights::Weight> reads = {
              weights.from + std::ptrdiff_t{g} * readers * group * taps(shape),
              coefficients_in + element(shape.out, n, g * readers, origin) * kRows,
              {clip(how, from, 0, all_taps(shape, how, shape.transposed, 0, z)),
               clip(how, from, 1, all_taps(shape, how, shape.transposed, 1, y)),
               {}}};
          conv_row<kRows, kWide, Tile, kPixels>(fixed, reads, from, to,
                                                target.row(n, g * group, row));
        }
}

// coefficients_out (=, or += when `add`) W^T coefficients_in, for the inputs in the window `to`.
// What is outside of the window `from` of outputs counts as zero. Shape: ConvShape or FixedShape;
// Tile: PortableTile or GivenTile.
template <int kRows, bool kWide, typename Tile = PortableTile, typename Shape>
BF_ROUTINE conv_backward(Shape fixed, const float* weight, const float* BF_RESTRICT coefficients_in,
                         const Window& from, bool add, float* BF_RESTRICT coefficients_out,
                         const Window& to) {
  conv_gather<kRows, kWide, Tile>(fixed, weight, coefficients_in, from,
                                  StoredRows<kRows>(fixed, add, coefficients_out), to);
}

// spread_r = sum_k |(W^T coefficients_in)_kr| radius_k over the inputs in the window `to`, whose
// radii are at the places `at`.
template <int kRows, bool kWide, typename Tile = PortableTile, typename Shape>
BF_ROUTINE conv_spread(Shape fixed, const float* weight, const float* BF_RESTRICT coefficients_in,
                       const Window& from, const ImageStrides& at, const float* BF_RESTRICT radius,
                       float* BF_RESTRICT spread, const Window& to) {
  clear_rows<kRows>(1, spread);
  conv_gather<kRows, kWide, Tile>(fixed, weight, coefficients_in, from,
                                  SpreadRows<kRows>(at, radius, spread), to);
}

}  // namespace bf
