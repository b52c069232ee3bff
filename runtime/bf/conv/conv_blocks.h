#pragma once

#include "bf/contract/chains.h"
#include "bf/contract/integers.h"
#include "bf/conv/conv_outputs.h"
#include "bf/core/columns.h"
#include "bf/core/vectors.h"

// Sums of a convolution of many channels, by blocks of neighbouring outputs. The inputs of a block,
// of the channels that one chain of products reads, are copied pixel by pixel, each centre beside
// its radius, with zeros in place of the padding. The weights of a chain and of a panel of output
// channels are copied beside their magnitudes, in the order of the products. A register tile then
// reads both in order, and every weight that comes from memory serves all pixels of the block.
// Outputs whose tap reads the padding alone are left out.
//
// Products go to an accumulator of their own, at most kIntervalChain of them, then to the sum of
// the chains. Chains of the first channels follow each other tap by tap, then those of the next do.
//
// A parameter `Kind` says what is summed:
//   Number      of sums and copies: float or double
//   Out         where results go: has `centre` and `radius`
//   give(centre, radius, pixels, channels, pitch, shape, out): takes the sums of pixels of a row,
//               `pitch` apart, each with those of its channels
// conv_interval.h and conv_forward.h have such.

namespace bf {

template <typename Number>
struct Blocks {
  static constexpr int kBytes = sizeof(Number);
  static constexpr int kLanes = kVectorBytes >= 16 ? kVectorBytes / kBytes : 1;
  static constexpr int kVectors = 2;                // of a register tile
  static constexpr int kPanel = kVectors * kLanes;  // output channels of a tile
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr int kTile = 6;  // pixels: 32 registers hold their sums and what is read
#else
  static constexpr int kTile = 2;
#endif
  static constexpr int kChannels = kIntervalChain * 4 / kBytes;  // input channels of a copy
  // A block has so many outputs at most, and so many numbers of inputs and sums lie on the stack.
  static constexpr int kMostPixels = 64, kMostInputs = 49152 / kBytes, kMostSums = 32768 / kBytes;
  static_assert(2 * kMostPixels * kPanel <= kMostSums);
};

// Outputs of a block, and the inputs that they read, in rows and columns. No rows: there is no
// block that would pay for its copies.
struct ConvBlock {
  int rows, columns, read_rows, read_columns;
};

static constexpr ConvBlock block_of(const ConvShape& shape, int rows, int columns) {
  const auto reads = [&](int d, int outputs) {
    return (outputs - 1) * shape.stride[d] + (shape.kernel[d] - 1) * shape.dilation[d] + 1;
  };
  return {rows, columns, reads(1, rows), reads(2, columns)};
}

// The block for which fewest inputs and panels of weights are copied. Whether there is one does not
// depend on how many rows of outputs there are: a part of an image makes the bits of the whole.
template <typename Number>
static constexpr ConvBlock conv_block(const ConvShape& shape) {
  constexpr int kMostRows = 8, kLeastProducts = 16;
  ConvBlock best = {0, 0, 0, 0};
  if (kVectorBytes < 16 || shape.transposed || out_group(shape) < Blocks<Number>::kLanes ||
      in_group(shape) * taps(shape) < kLeastProducts)
    return best;
  const int channels =
      in_group(shape) < Blocks<Number>::kChannels ? in_group(shape) : Blocks<Number>::kChannels;
  const std::int64_t together = std::int64_t{2} * channels * shape.kernel[0];
  std::int64_t least = 0;
  for (int rows = 1; rows <= kMostRows && rows <= shape.out_size[1]; ++rows) {
    const ConvBlock one = block_of(shape, rows, 1);
    const std::int64_t room = Blocks<Number>::kMostInputs / (together * one.read_rows);
    if (room < one.read_columns) break;
    const std::int64_t fit = (room - one.read_columns) / shape.stride[2] + 1;
    int columns = Blocks<Number>::kMostPixels / rows;
    if (columns > fit) columns = static_cast<int>(fit);
    if (columns > shape.out_size[2]) columns = shape.out_size[2];
    const int across = ceil_div(shape.out_size[2], columns);
    columns = ceil_div(shape.out_size[2], across);
    const ConvBlock made = block_of(shape, rows, columns);
    constexpr int kPanelCost = 24;  // of copying weights, in pixels
    const std::int64_t cost = std::int64_t{ceil_div(shape.out_size[1], rows)} * across *
                              (made.read_rows * made.read_columns + kPanelCost);
    if (best.rows == 0 || cost < least) {
      best = made;
      least = cost;
    }
  }
  return best;
}

// The products of a chain: where their inputs are from the first one of a pixel, and their weights
// from that of channel 0, tap 0.
struct BlockChain {
  int count;
  std::int32_t input[kIntervalChain];
  std::ptrdiff_t weight[kIntervalChain];
};

// A tile adds to the sums of some pixels, and reads from the first input of each. Radii lie
// `radius` behind their centres.
template <typename Number>
struct BlockTile {
  const Number* input[Blocks<Number>::kTile];
  Number* sum[Blocks<Number>::kTile];
  std::ptrdiff_t radius;
};

// Adds a chain of products to the sums of kPixels pixels and kCount vectors of channels. weight:
// the panel's, in the order of the products, those of each followed by their magnitudes. ahead:
// where the weights of the next panel are, which come nearer meanwhile.
template <int kCount, int kPixels, typename Number>
static inline void block_tile(const BlockChain& chain, const Number* weight, const float* ahead,
                              const BlockTile<Number>& tile) {
  constexpr int kLanes = Blocks<Number>::kLanes, kPanel = Blocks<Number>::kPanel;
  constexpr int kLine = 16;  // floats of a line of caches
  using Vector = typename VectorOf<Number, kLanes>::type;
  Vector centre[kPixels][kCount] = {}, radius[kPixels][kCount] = {};
  const Number* input[kPixels];
  BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x) input[x] = tile.input[x];
  for (int k = 0; k < chain.count; ++k, weight += 2 * kPanel) {
    Vector w[kCount], size[kCount];
    BF_UNROLL_ROWS for (int v = 0; v < kCount; ++v) {
      w[v] = load_once<Vector>(weight + v * kLanes);
      size[v] = load_once<Vector>(weight + kPanel + v * kLanes);
    }
    BF_UNROLL_ROWS for (int line = 0; line < kCount * kLanes; line += kLine)
        __builtin_prefetch(ahead + chain.weight[k] + line);
    const std::ptrdiff_t at = chain.input[k];
    BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x) {
      const Vector c = input[x][at] - Vector{}, r = input[x][at + 1] - Vector{};
      BF_UNROLL_ROWS for (int v = 0; v < kCount; ++v) {
        centre[x][v] += w[v] * c;
        radius[x][v] += size[v] * r;
      }
    }
  }
  BF_UNROLL_ROWS for (int x = 0; x < kPixels; ++x) BF_UNROLL_ROWS for (int v = 0; v < kCount; ++v) {
    Number* const to = tile.sum[x] + v * kLanes;
    store_rows(to, load_rows<Vector>(to) + centre[x][v]);
    store_rows(to + tile.radius, load_rows<Vector>(to + tile.radius) + radius[x][v]);
  }
}

// block_tile() for `pixels` <= kPixels of them.
template <int kCount, int kPixels, typename Number>
static void any_block_tile(int pixels, const BlockChain& chain, const Number* weight,
                           const float* ahead, const BlockTile<Number>& tile) {
  if constexpr (kPixels > 1)
    if (pixels < kPixels)
      return any_block_tile<kCount, kPixels - 1>(pixels, chain, weight, ahead, tile);
  block_tile<kCount, kPixels>(chain, weight, ahead, tile);
}

// The walk through the blocks of a group of one image.
template <typename Kind>
class BlockWalk {
 public:
  using Number = typename Kind::Number;
  using Out = typename Kind::Out;

  // weight, residual, inputs and outputs: the first ones of the group. residual may be null.
  BlockWalk(const ConvShape& shape, const ConvBlock& block, const float* weight,
            const float* residual, const Number* centre_in, const float* radius_in)
      : shape_(shape),
        block_(block),
        weight_(weight),
        residual_(residual),
        centre_in_(centre_in),
        radius_in_(radius_in) {}

  void outputs(Out out) {
    for (int z = 0; z < shape_.out_size[0]; ++z)
      for (int y = 0; y < shape_.out_size[1]; y += block_.rows)
        for (int x = 0; x < shape_.out_size[2]; x += block_.columns) {
          place(z, y, x);
          const std::ptrdiff_t at = std::ptrdiff_t{z} * shape_.out.spatial[0] +
                                    std::ptrdiff_t{y} * shape_.out.spatial[1] +
                                    std::ptrdiff_t{x} * shape_.out.spatial[2];
          block(moved(out, at));
        }
  }

 private:
  using Sizes = Blocks<Number>;
  static constexpr int kPanel = Sizes::kPanel;
  using Vector = typename VectorOf<Number, Sizes::kLanes>::type;

  // A range of positions.
  struct Range {
    int begin, end;
  };

  void place(int z, int y, int x) {
    first_[0] = z;
    first_[1] = y;
    first_[2] = x;
    const auto left = [](int size, int from, int most) {
      return size - from < most ? size - from : most;
    };
    rows_ = left(shape_.out_size[1], y, block_.rows);
    columns_ = left(shape_.out_size[2], x, block_.columns);
  }

  // The outputs of the block, counted from its first one in dimension d, that read an input through
  // a tap.
  Range readers(int d, int count, int tap) const {
    const int step = shape_.stride[d];
    const int from = first_[d] * step + tap * shape_.dilation[d] - shape_.pad[d];
    const int begin = from < 0 ? ceil_div(-from, step) : 0;
    const int end = from < shape_.in_size[d] ? ceil_div(shape_.in_size[d] - from, step) : 0;
    return {begin, end < count ? end : count};
  }

  void block(Out out) {
    const int group = in_group(shape_), channels = out_group(shape_), pixels = rows_ * columns_;
    radius_ = std::ptrdiff_t{pixels} * kPanel;
    const int together = static_cast<int>(Sizes::kMostSums / (2 * radius_)) * kPanel;
    for (int o = 0; o < channels; o += together) {
      const int some = channels - o < together ? channels - o : together;
      for (std::ptrdiff_t i = 0; i < ceil_div(some, kPanel) * 2 * radius_; ++i) sums_[i] = 0;
      for (int first = 0; first < group; first += Sizes::kChannels) {
        const int part = group - first < Sizes::kChannels ? group - first : Sizes::kChannels;
        if (o == 0 || group > Sizes::kChannels) copy_inputs(first, part);
        chains(o, some, first, part);
      }
      give(some, moved(out, std::ptrdiff_t{o} * shape_.out.channel));
    }
  }

  // Copies what the block reads of `count` channels.
  void copy_inputs(int first, int count) {
    pitch_ = 2 * count;
    const int from_row = first_[1] * shape_.stride[1] - shape_.pad[1];
    const int from_column = first_[2] * shape_.stride[2] - shape_.pad[2];
    const int rows = block_of(shape_, rows_, columns_).read_rows;
    const Range inside = {from_column < 0 ? -from_column : 0,
                          shape_.in_size[2] - from_column < block_.read_columns
                              ? shape_.in_size[2] - from_column
                              : block_.read_columns};
    for (int tap = 0; tap < shape_.kernel[0]; ++tap) {
      const int z = read_by(shape_, 0, first_[0], tap);
      for (int row = 0; row < rows; ++row) {
        const int y = from_row + row;
        Number* const to =
            inputs_ + std::ptrdiff_t{tap * block_.read_rows + row} * block_.read_columns * pitch_;
        const bool read = z >= 0 && y >= 0 && y < shape_.in_size[1] && inside.begin < inside.end;
        const Range held = read ? inside : Range{0, 0};
        clear(to, 0, held.begin);
        clear(to, held.end, block_.read_columns);
        if (!read) continue;
        const std::ptrdiff_t at = std::ptrdiff_t{first} * shape_.in.channel +
                                  std::ptrdiff_t{z} * shape_.in.spatial[0] +
                                  std::ptrdiff_t{y} * shape_.in.spatial[1] +
                                  std::ptrdiff_t{from_column + held.begin} * shape_.in.spatial[2];
        copy_row(centre_in_ + at, radius_in_ + at, held.end - held.begin, count,
                 to + std::ptrdiff_t{held.begin} * pitch_);
      }
    }
  }

  void clear(Number* row, int begin, int end) const {
    for (std::ptrdiff_t i = std::ptrdiff_t{begin} * pitch_; i < std::ptrdiff_t{end} * pitch_; ++i)
      row[i] = 0;
  }

  // Pixels of a row, side by side: each centre beside its radius.
  void copy_row(const Number* centre, const float* radius, int pixels, int channels,
                Number* to) const {
    const std::ptrdiff_t channel = shape_.in.channel, step = shape_.in.spatial[2];
    int i = 0;
    if constexpr (sizeof(Number) == sizeof(float))
      for (; step == 1 && i + 2 <= channels; i += 2, centre += 2 * channel, radius += 2 * channel)
        copy_two(centre, radius, pixels, to + 2 * i);
    for (; i < channels; ++i, centre += channel, radius += channel)
      for (int x = 0; x < pixels; ++x) {
        to[std::ptrdiff_t{x} * pitch_ + 2 * i] = centre[x * step];
        to[std::ptrdiff_t{x} * pitch_ + 2 * i + 1] = static_cast<Number>(radius[x * step]);
      }
  }

  // copy_row() for two channels of pixels that lie side by side.
  void copy_two(const float* centre, const float* radius, int pixels, float* to) const {
    using Four = VectorOf<float, 4>::type;
    constexpr ListLanes<4>::type lanes = {};
    const std::ptrdiff_t channel = shape_.in.channel;
    int x = 0;
    for (; x + 4 <= pixels; x += 4, to += std::ptrdiff_t{4} * pitch_) {
      const Four c[2] = {load_rows<Four>(centre + x), load_rows<Four>(centre + channel + x)};
      const Four r[2] = {load_rows<Four>(radius + x), load_rows<Four>(radius + channel + x)};
      const Four low[2] = {pick<0, 4, 1, 5>(c[0], r[0], lanes),
                           pick<0, 4, 1, 5>(c[1], r[1], lanes)};
      const Four high[2] = {pick<2, 6, 3, 7>(c[0], r[0], lanes),
                            pick<2, 6, 3, 7>(c[1], r[1], lanes)};
      store_rows(to, pick<0, 1, 4, 5>(low[0], low[1], lanes));
      store_rows(to + pitch_, pick<2, 3, 6, 7>(low[0], low[1], lanes));
      store_rows(to + std::ptrdiff_t{2} * pitch_, pick<0, 1, 4, 5>(high[0], high[1], lanes));
      store_rows(to + std::ptrdiff_t{3} * pitch_, pick<2, 3, 6, 7>(high[0], high[1], lanes));
    }
    for (; x < pixels; ++x, to += pitch_)
      for (int k = 0; k < 2; ++k) {
        to[2 * k] = centre[k * channel + x];
        to[2 * k + 1] = radius[k * channel + x];
      }
  }

  // All chains of `count` input channels, for `channels` output channels from o on.
  void chains(int o, int channels, int first, int count) {
    const int all = taps(shape_);
    const auto together = static_cast<int>(interval_taps(in_group(shape_)));
    for (int tap = 0; tap < all; tap += together) {
      const int some = all - tap < together ? all - tap : together;
      list_products(tap, some, first, count);
      list_pixels(tap, some);
      if (listed_ == 0) continue;
      for (int panel = 0; panel < channels; panel += kPanel) {
        const int left = channels - panel;
        const float* const from = weight_ + o + panel;
        Number* const to = sums_ + panel / kPanel * 2 * radius_;
        copy_weights(o + panel, left);
        const float* const ahead = left > kPanel ? from + kPanel : from;
        if (left > Sizes::kLanes)
          tiles<2>(ahead, to);
        else
          tiles<1>(ahead, to);
      }
    }
  }

  void list_products(int tap, int taps_of_chain, int first, int count) {
    const std::ptrdiff_t channel = std::ptrdiff_t{taps(shape_)} * out_group(shape_);
    std::int32_t* input = chain_.input;
    std::ptrdiff_t* weight = chain_.weight;
    for (int t = tap; t < tap + taps_of_chain; ++t) {
      const int z = t / (shape_.kernel[1] * shape_.kernel[2]);
      const int y = t / shape_.kernel[2] % shape_.kernel[1], x = t % shape_.kernel[2];
      const int row = z * block_.read_rows + y * shape_.dilation[1];
      std::int32_t at = (row * block_.read_columns + x * shape_.dilation[2]) * pitch_;
      std::ptrdiff_t from = weight_place(shape_, 0, first, t);
      for (int i = 0; i < count; ++i, at += 2, from += channel) {
        *input++ = at;
        *weight++ = from;
      }
    }
    chain_.count = taps_of_chain * count;
  }

  // The pixels of the block that read through the tap; all of them where a chain has several taps.
  void list_pixels(int tap, int taps_of_chain) {
    Range rows = {0, rows_}, columns = {0, columns_};
    listed_ = 0;
    if (taps_of_chain == 1) {
      const int plane = shape_.kernel[1] * shape_.kernel[2];
      if (read_by(shape_, 0, first_[0], tap / plane) < 0) return;
      rows = readers(1, rows_, tap % plane / shape_.kernel[2]);
      columns = readers(2, columns_, tap % shape_.kernel[2]);
    }
    for (int y = rows.begin; y < rows.end; ++y)
      for (int x = columns.begin; x < columns.end; ++x, ++listed_) {
        const int row = y * shape_.stride[1] * block_.read_columns;
        input_[listed_] = inputs_ + std::ptrdiff_t{row + x * shape_.stride[2]} * pitch_;
        sum_[listed_] = (y * columns_ + x) * kPanel;
      }
  }

  // The weights of the chain for a panel from output channel o on, or for a part of one, filled
  // with zeros: those that centres have, then the magnitudes that radii have.
  void copy_weights(int o, int left) {
    using Floats = typename VectorOf<float, Sizes::kLanes>::type;
    float some[kPanel] = {}, rest[kPanel] = {};
    Number* to = panel_;
    for (int k = 0; k < chain_.count; ++k, to += 2 * kPanel) {
      const float* row = weight_ + o + chain_.weight[k];
      const float* residual = residual_ != nullptr ? residual_ + o + chain_.weight[k] : nullptr;
      if (left < kPanel) {
        for (int j = 0; j < left; ++j) some[j] = row[j];
        row = some;
        if (residual != nullptr) {
          for (int j = 0; j < left; ++j) rest[j] = residual[j];
          residual = rest;
        }
      }
      BF_UNROLL_ROWS for (int v = 0; v < kPanel; v += Sizes::kLanes) {
        const Vector narrow = convert_rows<Vector, Sizes::kLanes>(load_rows<Floats>(row + v));
        Vector w = narrow;
        if (residual != nullptr)
          w += convert_rows<Vector, Sizes::kLanes>(load_rows<Floats>(residual + v));
        store_rows(to + v, w);
        store_rows(to + kPanel + v, magnitude<Number>(narrow));
      }
    }
  }

  // The chain, for all listed pixels, in tiles of about equal size.
  template <int kCount>
  void tiles(const float* ahead, Number* sums) {
    const int count = ceil_div(listed_, Sizes::kTile);
    for (int t = 0, pixel = 0; t < count; ++t) {
      const int end = static_cast<int>(std::int64_t{listed_} * (t + 1) / count);
      BlockTile<Number> tile;
      tile.radius = radius_;
      const int size = end - pixel;
      for (int x = 0; x < size; ++x, ++pixel) {
        tile.input[x] = input_[pixel];
        tile.sum[x] = sums + sum_[pixel];
      }
      any_block_tile<kCount, Sizes::kTile>(size, chain_, panel_, ahead, tile);
    }
  }

  // Gives the sums of the block's outputs away.
  void give(int channels, Out out) const {
    for (int panel = 0; panel < channels; panel += kPanel) {
      const int some = channels - panel < kPanel ? channels - panel : kPanel;
      for (int y = 0; y < rows_; ++y) {
        const std::ptrdiff_t at =
            std::ptrdiff_t{panel} * shape_.out.channel + std::ptrdiff_t{y} * shape_.out.spatial[1];
        const Number* const from = sums_ + panel / kPanel * 2 * radius_ + y * columns_ * kPanel;
        Kind::give(from, from + radius_, columns_, some, kPanel, shape_, moved(out, at));
      }
    }
  }

  const ConvShape& shape_;
  const ConvBlock block_;
  const float *const weight_, *const residual_;
  const Number* const centre_in_;
  const float* const radius_in_;
  int first_[3] = {}, rows_ = 0, columns_ = 0;  // of the block's outputs
  int pitch_ = 0;                               // of a pixel in inputs_
  std::ptrdiff_t radius_ = 0;                   // how far radii are behind centres in sums_
  BlockChain chain_;
  int listed_ = 0;
  const Number* input_[Sizes::kMostPixels];
  int sum_[Sizes::kMostPixels];
  alignas(64) Number inputs_[Sizes::kMostInputs];
  alignas(64) Number sums_[Sizes::kMostSums];
  alignas(64) Number panel_[kIntervalChain * 2 * kPanel];
};

// The sums of a convolution that has a conv_block(). weight, residual: weight_place(); residual may
// be null.
template <typename Kind>
BF_ROUTINE block_outputs(const ConvShape& shape, const ConvBlock& block, const float* weight,
                         const float* residual, const typename Kind::Number* centre_in,
                         const float* radius_in, typename Kind::Out out) {
  const int origin[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (int g = 0; g < shape.groups; ++g) {
      const std::ptrdiff_t in = element(shape.in, n, g * in_group(shape), origin);
      const std::ptrdiff_t at = weight_place(shape, g * out_group(shape), 0, 0);
      BlockWalk<Kind> walk(shape, block, weight + at, residual ? residual + at : nullptr,
                           centre_in + in, radius_in + in);
      walk.outputs(moved(out, element(shape.out, n, g * out_group(shape), origin)));
    }
}

}  // namespace bf
