#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/lists.h"
#include "bf/conv/conv_backward.h"
#include "bf/sums/live.h"
#include "bf/sums/row_windows.h"

// conv_backward() through live channels alone: docs/proofs/live-pixels.md. All products that an
// input pixel may have are listed once, in the order of conv_backward(); then each register tile,
// of some of its live channels, goes through one list, whatever tap a product is of. For one group,
// or groups of one channel; then all outputs are live.
//
// A chain has as many products as one of docs/proofs/backward-depths.md, the last one what is left:
// there are no more chains than there, and none longer.

namespace bf {

// Numbers that are copied together, whether a list has them or not.
constexpr int kListBlock = kVectorBytes / 4;
static_assert(kListBlock <= kListRoom + 1, "bf: lists have too little room behind them");

// The products of a pixel: where the output's coefficients are, in rows behind the image's first,
// and its weight behind that of tap 0 and the first output.
struct ProductList {
  int count;
  std::int32_t row[kMostProducts + kListBlock];
  std::int32_t weight[kMostProducts + kListBlock];

  // The outputs of one tap. at: the row of channel 0, `step` from one channel to the next.
  __attribute__((always_inline)) void add(const ChannelList& channels, std::int32_t at, int step,
                                          std::int32_t tap) {
    const auto first = static_cast<std::uint32_t>(at), to_next = static_cast<std::uint32_t>(step);
    for (int i = 0; i < channels.count; i += kListBlock)
      for (int k = 0; k < kListBlock; ++k) {  // modulo 2^32: numbers behind the list may be any
        const auto channel = static_cast<std::uint32_t>(channels.channel[i + k]);
        row[count + i + k] = static_cast<std::int32_t>(first + channel * to_next);
        weight[count + i + k] =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(tap) + channel);
      }
    count += channels.count;
  }
  __attribute__((always_inline)) void add(const AllChannels& channels, std::int32_t at, int step,
                                          std::int32_t tap) {
    for (int i = 0; i < channels.count; ++i) {
      row[count + i] = at + (channels.first + i) * step;
      weight[count + i] = tap + channels.first + i;
    }
    count += channels.count;
  }
  // Adds channels of one of the two kinds above, which visit() tells apart before the loop.
  template <typename Channels>
  void add(const Channels& channels, std::int32_t at, int step, std::int32_t tap) {
    channels.visit([&](const auto& known) { add(known, at, step, tap); });
  }
};

// All that the outputs in the ranges give. pixel: number of the batch's first output.
template <typename Shape, typename Sources>
__attribute__((always_inline)) static inline void list_products(Shape fixed,
                                                                const TapRange (&range)[3],
                                                                std::ptrdiff_t pixel,
                                                                Sources sources,
                                                                ProductList& list) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, shape.transposed);
  const int readers = out_group(shape);
  list.count = 0;
  const auto tap_at = [&](int d, int i) { return range[d].first + i * how.tap[d]; };
  const auto position = [&](int d, int i) { return range[d].position + i * how.position[d]; };
  for (int z = 0; z < range[0].count; ++z)
    for (int y = 0; y < range[1].count; ++y) {
      const int tap = (tap_at(0, z) * shape.kernel[1] + tap_at(1, y)) * shape.kernel[2];
      const int line = position(0, z) * shape.out_size[1] + position(1, y);
      const int at = position(0, z) * shape.out.spatial[0] + position(1, y) * shape.out.spatial[1];
      for (int x = 0; x < range[2].count; ++x) {
        const int p = position(2, x);
        list.add(sources.at(pixel + std::ptrdiff_t{line} * shape.out_size[2] + p, readers),
                 at + p * shape.out.spatial[2], shape.out.channel, (tap + tap_at(2, x)) * readers);
      }
    }
}

// The input channels of a tile.
template <int kColumns, typename Weight>
struct LiveColumns {
  const Weight* weight[kColumns];  // of tap 0 and the first output
  std::ptrdiff_t a[kColumns];      // depthwise: coefficients of the channel's own group
};

// Products first <= i < end of the list.
template <int kRows, int kColumns, typename Weight, typename Sum>
__attribute__((always_inline)) static inline void live_products(
    const LiveColumns<kColumns, Weight>& columns, bool depthwise, const float* a,
    const ProductList& list, int first, int end, ConvTile<kRows, kColumns, 1, Sum>& tile) {
  using Tile = ConvTile<kRows, kColumns, 1, Sum>;
  using Vector = typename Tile::Vector;
  constexpr int kLanes = Tile::kLanes;
  for (int i = first; i < end; ++i) {
    const float* const from = a + std::ptrdiff_t{list.row[i]} * kRows;
    const std::ptrdiff_t at = list.weight[i];
    Vector in[Tile::kVectors];
    BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) {
      const Vector w = static_cast<Sum>(columns.weight[c][at]) - Vector{};
      BF_UNROLL_ROWS for (int v = 0; v < Tile::kVectors; ++v) {
        if (c == 0 || depthwise)
          in[v] = made_once(
              convert_rows<Vector, kLanes>(load_rows<typename VectorOf<float, kLanes>::type>(
                  from + (depthwise ? columns.a[c] : 0) + v * kLanes)));
        tile.sum[0][c][v] += in[v] * w;
      }
    }
  }
}

template <int kRows, int kColumns, bool kWide, typename Shape, typename Weight, typename Targets,
          typename Target>
__attribute__((always_inline)) static inline void live_tile(Shape fixed, const Weight* weight,
                                                            const float* a, const ProductList& list,
                                                            const Targets& channels,
                                                            const Target& to) {
  using Tile = ConvTile<kRows, kColumns, 1, typename SumOf<kWide>::type>;
  const ConvShape& shape = fixed;
  const int readers = out_group(shape), most = conv_chain(fixed).products;
  const bool depthwise = is_depthwise(shape);
  LiveColumns<kColumns, Weight> columns = {};
  BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) {
    columns.weight[c] = weight + std::ptrdiff_t{channels[c]} * taps(shape) * readers;
    columns.a[c] = std::ptrdiff_t{channels[c]} * readers * shape.out.channel * kRows;
  }
  Tile sums;
  sums.clear();
  if (kWide || taps(shape) * readers <= most) {
    live_products(columns, depthwise, a, list, 0, list.count, sums);
  } else {
    Tile chain;
    chain.clear();
    for (int first = 0; first < list.count; first += most) {
      const int end = list.count - first < most ? list.count : first + most;
      live_products(columns, depthwise, a, list, first, end, chain);
      sums.take(chain);
    }
  }
  to.put(sums, 1, [&](int c) { return channels[c]; });
}

// Calls run(Count<n>) for 1 <= n <= kMost.
template <int kMost, typename Run>
__attribute__((always_inline)) static inline void with_count(int n, const Run& run) {
  if constexpr (kMost == 1) {
    run(Count<1>{});
  } else {
    if (n == kMost) return run(Count<kMost>{});
    with_count<kMost - 1>(n, run);
  }
}

// All live channels of a pixel, in tiles that differ by one channel at most.
template <int kRows, bool kWide, typename Tile, typename Shape, typename Weight, typename Targets,
          typename Target>
__attribute__((always_inline)) static inline void live_pixel(Shape fixed, const Weight* weight,
                                                             const float* a,
                                                             const ProductList& list,
                                                             const Targets& channels,
                                                             const Target& to) {
  constexpr int kMost = Tile::template of<kRows, kWide, Shape>.last_columns;
  for (int done = 0; done < channels.count;) {
    const int left = channels.count - done;
    const int some = ceil_div(left, ceil_div(left, kMost));
    with_count<kMost>(
        some, [&](auto width) __attribute__((always_inline)) {
          live_tile<kRows, decltype(width)::value, kWide>(fixed, weight, a, list,
                                                          channels.part(done, some), to);
        });
    done += some;
  }
}

// Returns true if there are so few input channels that one pixel at a time, which leaves most of a
// register tile empty, takes longer than several pixels with all outputs, where more than half of
// these are live. Coefficients of dead outputs are then read, and must be 0.
template <typename Targets>
constexpr bool takes_all(const Targets& targets, const ConvShape& shape) {
  return !targets.listed() && shape.in_channels < most_tile_columns(kVectorBytes);
}

// conv_gather() through lists.
template <int kRows, bool kWide, typename Tile, typename Shape, typename Sources, typename Targets,
          typename Target>
__attribute__((always_inline)) static inline void live_gather(Shape fixed, const float* weight,
                                                              const float* coefficients_in,
                                                              Sources sources, const Window& from,
                                                              const Target& target, Targets targets,
                                                              const Window& to) {
  const ConvShape& shape = fixed;
  const TapSteps how = steps(fixed, shape.transposed);
  const int step = tap_period(shape, shape.transposed, 2);
  const int origin[3] = {0, 0, 0};
  using Weights = typename WeightsOf<kWide, Shape>::type;
  const Weights weights(weight);
  ProductList list;
  for (int n = 0; n < shape.batch; ++n)
    for (int z = to.begin[0]; z < to.end[0]; ++z)
      for (int y = to.begin[1]; y < to.end[1]; ++y) {
        const int row[3] = {z, y, 0};
        const float* const a = coefficients_in + element(shape.out, n, 0, origin) * kRows;
        const Target out = target.row(n, 0, row);
        const std::ptrdiff_t first =
            ((std::ptrdiff_t{n} * shape.in_size[0] + z) * shape.in_size[1] + y) * shape.in_size[2];
        TapRange range[3] = {clip(how, from, 0, all_taps(shape, how, shape.transposed, 0, z)),
                             clip(how, from, 1, all_taps(shape, how, shape.transposed, 1, y)),
                             {}};
        for (int lane = 0; lane < step; ++lane) {
          int x = first_of_lane(to.begin[2], step, lane);
          TapRange taps = all_taps(shape, how, shape.transposed, 2, x);
          for (; x < to.end[2]; x += step) {
            const auto channels = targets.at(first + x, shape.in_channels);
            if (channels.count > 0) {
              range[2] = clip(how, from, 2, taps);
              list_products(fixed, range, std::ptrdiff_t{n} * elements(1, 1, shape.out_size),
                            sources, list);
              live_pixel<kRows, kWide, Tile>(fixed, weights.from, a, list, channels, out.pixel(x));
            }
            taps.position += tap_shift(shape, shape.transposed, 2);
          }
        }
      }
}

// Sources, of the outputs, and targets, of the inputs: AllLive or LivePixels. Other arguments as of
// conv_backward(), which is called where no list pays.
template <int kRows, bool kWide, typename Tile = PortableTile, typename Shape, typename Sources,
          typename Targets>
BF_ROUTINE conv_backward_live(Shape fixed, const float* weight,
                              const float* BF_RESTRICT coefficients_in, Sources sources,
                              const Window& from, bool add, float* BF_RESTRICT coefficients_out,
                              Targets targets, const Window& to) {
  const bool dense = takes_all(targets, fixed) ? sources.many() : sources.all() && targets.all();
  if (dense)
    return conv_backward<kRows, kWide, Tile>(fixed, weight, coefficients_in, from, add,
                                             coefficients_out, to);
  live_gather<kRows, kWide, Tile>(fixed, weight, coefficients_in, sources, from,
                                  StoredRows<kRows>(fixed, add, coefficients_out), targets, to);
}

// conv_spread() through lists of the outputs; its inputs, the box, have none.
template <int kRows, bool kWide, typename Tile = PortableTile, typename Shape, typename Sources>
BF_ROUTINE conv_spread_live(Shape fixed, const float* weight,
                            const float* BF_RESTRICT coefficients_in, Sources sources,
                            const Window& from, const ImageStrides& at,
                            const float* BF_RESTRICT radius, float* BF_RESTRICT spread,
                            const Window& to) {
  if (takes_all(AllLive{}, fixed) ? sources.many() : sources.all())
    return conv_spread<kRows, kWide, Tile>(fixed, weight, coefficients_in, from, at, radius, spread,
                                           to);
  clear_rows<kRows>(1, spread);
  live_gather<kRows, kWide, Tile>(fixed, weight, coefficients_in, sources, from,
                                  SpreadRows<kRows>(at, radius, spread), AllLive{}, to);
}

}  // namespace bf
