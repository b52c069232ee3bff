#include "frontend/algebra/conv_algebra.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"

namespace bf_aot {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// The layout that agrees with position(n, c, p) at the origin and its neighbours; strides along
// dimensions of 1 do not matter and are the usual ones.
template <class Position>
ImageLayout fitted_layout(std::int64_t batch, std::int64_t channels, const Extent& size,
                          const Position& position) {
  ImageLayout layout = dense_layout(channels, size);
  layout.offset = position(0, 0, Extent{0, 0, 0});
  if (batch > 1) layout.batch = position(1, 0, Extent{0, 0, 0}) - layout.offset;
  if (channels > 1) layout.channel = position(0, 1, Extent{0, 0, 0}) - layout.offset;
  for (std::size_t d = 0; d < 3; ++d) {
    Extent p = {0, 0, 0};
    p[d] = 1;
    if (size[d] > 1) layout.spatial[d] = position(0, 0, p) - layout.offset;
  }
  return layout;
}

// position(n, c, p) as a layout, when it is one for all elements.
template <class Position>
std::optional<ImageLayout> exact_layout(std::int64_t batch, std::int64_t channels,
                                        const Extent& size, const Position& position) {
  const ImageLayout layout = fitted_layout(batch, channels, size, position);
  bool same = true;
  for_each_element(batch, channels, size, [&](std::int64_t n, std::int64_t c, const Extent& p) {
    same = same && position(n, c, p) == layout.at(n, c, p);
  });
  if (!same) return std::nullopt;
  return layout;
}

// The bias if `offset` (of the output, flat) is one number for each channel; else 0, and the rest.
OffsetConv with_offset(const ConvGeometry& g, Constant weight, Constant offset) {
  if (std::optional<Constant> bias = per_channel(offset, g, true))
    return {{g, std::move(weight), std::move(*bias)}, std::nullopt};
  return {{g, std::move(weight), filled({g.out_channels}, 0)}, std::move(offset)};
}

// The part of an image that a placement fills: some channels, and a box of positions.
struct Filled {
  std::vector<std::int64_t> channels;
  Extent low = {0, 0, 0};
  Extent size = {0, 0, 0};
};

// source[e]: the element of x at element e of conv's input, -1 for a zero.
std::optional<std::vector<std::int64_t>> placement_source(const SparseAffine& placement) {
  if (!is_zero(placement.bias)) return std::nullopt;
  std::vector<std::int64_t> source;
  for (std::size_t row = 0; row < at(placement.rows()); ++row) {
    const std::int64_t first = placement.row_start[row];
    const std::int64_t count = placement.row_start[row + 1] - first;
    if (count > 1) return std::nullopt;
    if (count == 1 && bounded_at(placement.value, at(first)) != Bounded{1, 0}) return std::nullopt;
    source.push_back(count == 0 ? -1 : placement.column[at(first)]);
  }
  return source;
}

// The smallest box that holds all of x's elements.
Filled filled_box(const ConvGeometry& g, const std::vector<std::int64_t>& source) {
  std::vector<bool> channel(at(g.in_channels), false);
  Extent low = g.in_size;
  Extent high = {0, 0, 0};
  for_each_element(g.batch, g.in_channels, g.in_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     if (source[at(g.in.at(n, c, p))] < 0) return;
                     channel[at(c)] = true;
                     for (std::size_t d = 0; d < 3; ++d) {
                       low[d] = std::min(low[d], p[d]);
                       high[d] = std::max(high[d], p[d] + 1);
                     }
                   });
  Filled box;
  for (std::int64_t c = 0; c < g.in_channels; ++c)
    if (channel[at(c)]) box.channels.push_back(c);
  box.low = low;
  for (std::size_t d = 0; d < 3; ++d) box.size[d] = high[d] - low[d];
  return box;
}

Constant selected_channels(const Conv& conv, const std::vector<std::int64_t>& channels) {
  const ConvGeometry& g = conv.geometry;
  const auto kept = static_cast<std::int64_t>(channels.size());
  ConstantBuilder weight({g.out_channels, kept, g.taps()});
  for (std::int64_t o = 0; o < g.out_channels; ++o)
    for (std::int64_t i = 0; i < kept; ++i)
      for (std::int64_t t = 0; t < g.taps(); ++t)
        weight.set(
            at((o * kept + i) * g.taps() + t),
            bounded_at(conv.weight, at((o * g.in_channels + channels[at(i)]) * g.taps() + t)));
  return std::move(weight).finish("");
}

// The weights of one row, by channel.
struct Weight {
  std::int64_t channel;
  double value, error;
  auto operator<=>(const Weight&) const = default;
};
using Mix = std::vector<Weight>;

// Rows that mix the channels of one pixel each: those of mix k at pixel q are row[k][q].
struct Mixes {
  std::vector<Mix> weights;
  std::vector<std::vector<std::int64_t>> row;
};

// The pixel of each element of the image that a convolution makes, and its channel.
struct Place {
  std::int64_t pixel, channel;
};
std::vector<Place> places(const ConvGeometry& g) {
  std::vector<Place> made(at(g.out_count()));
  const std::int64_t pixels = g.out_count() / g.out_channels;
  std::int64_t count = 0;
  for_each_element(g.batch, g.out_channels, g.out_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     const std::int64_t in_image = pixels / g.batch;
                     made[at(g.out.at(n, c, p))] = {n * in_image + count++ % in_image, c};
                   });
  return made;
}

std::optional<Mixes> find_mixes(const SparseAffine& op, const ConvGeometry& g) {
  const std::int64_t pixels = g.out_count() / g.out_channels;
  const std::int64_t count = op.rows() / pixels;
  if (count == 0 || op.rows() % pixels != 0) return std::nullopt;
  const std::vector<Place> from = places(g);
  std::map<Mix, std::size_t> numbers;
  Mixes made;
  for (std::int64_t row = 0; row < op.rows(); ++row) {
    Mix mix;
    std::int64_t pixel = -1;
    for (std::int64_t k = op.row_start[at(row)]; k < op.row_start[at(row) + 1]; ++k) {
      const Place place = from[at(op.column[at(k)])];
      if (pixel >= 0 && place.pixel != pixel) return std::nullopt;
      pixel = place.pixel;
      const Bounded weight = bounded_at(op.value, at(k));
      mix.push_back({place.channel, weight.value, weight.error});
    }
    if (pixel < 0) return std::nullopt;
    std::ranges::sort(mix);
    const auto [found, added] = numbers.try_emplace(std::move(mix), numbers.size());
    if (added) {
      if (numbers.size() > at(count)) return std::nullopt;
      made.weights.push_back(found->first);
      made.row.emplace_back(at(pixels), -1);
    }
    std::int64_t& place = made.row[found->second][at(pixel)];
    if (place >= 0) return std::nullopt;
    place = row;
  }
  return made;
}

}  // namespace

std::optional<ImageLayout> moved_layout(const ImageLayout& layout, std::int64_t batch,
                                        std::int64_t channels, const Extent& size,
                                        const std::vector<std::int64_t>& moved) {
  return exact_layout(batch, channels, size, [&](std::int64_t n, std::int64_t c, const Extent& p) {
    return moved[at(layout.at(n, c, p))];
  });
}

std::optional<ConvGeometry> moved_geometry(const ConvGeometry& geometry, bool out,
                                           const std::vector<std::int64_t>& moved) {
  ConvGeometry g = geometry;
  Extent& size = out ? g.out_size : g.in_size;
  ImageLayout& layout = out ? g.out : g.in;
  const std::int64_t channels = out ? g.out_channels : g.in_channels;
  Extent end = {0, 0, 0};
  std::int64_t kept = 0;
  for_each_element(g.batch, channels, size, [&](std::int64_t n, std::int64_t c, const Extent& p) {
    if (moved[at(layout.at(n, c, p))] < 0) return;
    ++kept;
    for (std::size_t d = 0; d < 3; ++d) end[d] = std::max(end[d], p[d] + 1);
  });
  if (kept == 0 || kept != g.batch * channels * end[0] * end[1] * end[2]) return std::nullopt;
  std::optional<ImageLayout> found = moved_layout(layout, g.batch, channels, end, moved);
  if (!found) return std::nullopt;
  size = end;
  layout = *found;
  return g;
}

std::optional<OffsetConv> compose(const Scale& outer, const Conv& inner, std::string_view where) {
  const ConvGeometry& g = inner.geometry;
  const std::optional<Constant> factor = per_channel(outer.factor, g, true);
  if (!factor) return std::nullopt;
  ConstantBuilder weight(inner.weight.shape);
  const std::int64_t per_out = g.in_group() * g.taps();
  for (std::int64_t i = 0; i < g.out_channels * per_out; ++i)
    weight.set(at(i),
               multiply(bounded_at(*factor, at(i / per_out)), bounded_at(inner.weight, at(i))));
  ConstantBuilder offset({g.out_count()});
  for_each_element(g.batch, g.out_channels, g.out_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     const std::size_t i = at(g.out.at(n, c, p));
                     Sum sum;
                     sum.add_product(bounded_at(*factor, at(c)), bounded_at(inner.bias, at(c)));
                     sum.add(bounded_at(outer.offset, i));
                     offset.set(i, sum.result());
                   });
  return with_offset(g, std::move(weight).finish(where), std::move(offset).finish(where));
}

namespace {

// The bias that offsets of the input make, which are the same at all positions of a channel. Every
// position must have one tap, within the image: nullopt elsewhere.
std::optional<Constant> bias_of_offsets(const Conv& conv, const Constant& offset,
                                        std::string_view where) {
  const ConvGeometry& g = conv.geometry;
  if (g.taps() != 1 || g.transposed || g.pad != Extent{0, 0, 0}) return std::nullopt;
  // Padding at the end is what the size of the output says.
  for (std::size_t d = 0; d < 3; ++d)
    if ((g.out_size[d] - 1) * g.stride[d] >= g.in_size[d]) return std::nullopt;
  const std::optional<Constant> channels = per_channel(offset, g, false);
  if (!channels) return std::nullopt;
  ConstantBuilder bias(conv.bias.shape);
  for (std::int64_t o = 0; o < g.out_channels; ++o) {
    Sum sum;
    for (std::int64_t i = 0; i < g.in_group(); ++i)
      sum.add_product(bounded_at(conv.weight, at(o * g.in_group() + i)),
                      bounded_at(*channels, at(o / g.out_group() * g.in_group() + i)));
    sum.add(bounded_at(conv.bias, at(o)));
    bias.set(at(o), sum.result());
  }
  return std::move(bias).finish(where);
}

}  // namespace

std::optional<OffsetConv> compose(const Conv& outer, const Scale& inner, std::string_view where) {
  const ConvGeometry& g = outer.geometry;
  const std::optional<Constant> factor = per_channel(inner.factor, g, false);
  if (!factor) return std::nullopt;
  ConstantBuilder weight(outer.weight.shape);
  for (std::int64_t o = 0; o < g.out_channels; ++o)
    for (std::int64_t i = 0; i < g.in_group(); ++i)
      for (std::int64_t t = 0; t < g.taps(); ++t) {
        const std::size_t w = at((o * g.in_group() + i) * g.taps() + t);
        const std::int64_t channel = o / g.out_group() * g.in_group() + i;
        weight.set(w, multiply(bounded_at(*factor, at(channel)), bounded_at(outer.weight, w)));
      }
  Constant scaled = std::move(weight).finish(where);
  if (is_zero(inner.offset)) return OffsetConv{{g, std::move(scaled), outer.bias}, std::nullopt};
  if (std::optional<Constant> bias = bias_of_offsets(outer, inner.offset, where))
    return OffsetConv{{g, std::move(scaled), *std::move(bias)}, std::nullopt};
  std::vector<Sum> sums(at(g.out_count()));
  for_each_product(g, [&](std::int64_t out, std::int64_t w, std::int64_t in) {
    sums[at(out)].add_product(bounded_at(outer.weight, at(w)), bounded_at(inner.offset, at(in)));
  });
  ConstantBuilder offset({g.out_count()});
  for_each_element(g.batch, g.out_channels, g.out_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     const std::size_t i = at(g.out.at(n, c, p));
                     sums[i].add(bounded_at(outer.bias, at(c)));
                     offset.set(i, sums[i].result());
                   });
  return with_offset(g, std::move(scaled), std::move(offset).finish(where));
}

std::optional<Conv> absorb_placement(const Conv& outer, const SparseAffine& inner,
                                     std::int64_t in_count) {
  const ConvGeometry& g = outer.geometry;
  const std::optional<std::vector<std::int64_t>> source = placement_source(inner);
  if (!source) return std::nullopt;
  const Filled box = filled_box(g, *source);
  const auto channels = static_cast<std::int64_t>(box.channels.size());
  if (channels == 0 || (channels != g.in_channels && g.groups != 1)) return std::nullopt;
  // The near side of a transposed convolution has no room for positions before the first.
  if (g.transposed && box.low != Extent{0, 0, 0}) return std::nullopt;
  ConvGeometry result = g;
  result.in_channels = channels;
  result.in_size = box.size;
  for (std::size_t d = 0; d < 3; ++d) result.pad[d] += box.low[d];
  if (result.in_count() != in_count) return std::nullopt;
  // Zeros in the box have the position -1, which no layout with all others has.
  std::optional<ImageLayout> layout = exact_layout(
      g.batch, channels, box.size, [&](std::int64_t n, std::int64_t c, const Extent& p) {
        Extent q = p;
        for (std::size_t d = 0; d < 3; ++d) q[d] += box.low[d];
        return (*source)[at(g.in.at(n, box.channels[at(c)], q))];
      });
  if (!layout) return std::nullopt;
  // A permutation of x has as many elements as x, each of them once.
  std::vector<bool> seen(at(in_count), false);
  bool once = true;
  for_each_element(g.batch, channels, box.size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     const std::int64_t i = layout->at(n, c, p);
                     once = once && i >= 0 && i < in_count && !seen[at(i)];
                     if (once) seen[at(i)] = true;
                   });
  if (!once) return std::nullopt;
  result.in = *layout;
  return Conv{result,
              channels == g.in_channels ? outer.weight : selected_channels(outer, box.channels),
              outer.bias};
}

std::optional<Conv> compose(const SparseAffine& outer, const Conv& inner, std::string_view where) {
  ConvGeometry g = inner.geometry;
  if (g.groups != 1) return std::nullopt;
  const std::optional<Mixes> mixes = find_mixes(outer, g);
  if (!mixes) return std::nullopt;
  const auto count = static_cast<std::int64_t>(mixes->weights.size());
  const std::int64_t in_image = g.out_size[0] * g.out_size[1] * g.out_size[2];
  const std::optional<ImageLayout> layout = exact_layout(
      g.batch, count, g.out_size, [&](std::int64_t n, std::int64_t k, const Extent& p) {
        const std::int64_t pixel = (p[0] * g.out_size[1] + p[1]) * g.out_size[2] + p[2];
        return mixes->row[at(k)][at(n * in_image + pixel)];
      });
  if (!layout) return std::nullopt;

  const std::int64_t taps = g.in_channels * g.taps();
  ConstantBuilder weight({count, g.in_channels, g.taps()}), bias({count});
  for (std::int64_t k = 0; k < count; ++k) {
    const Mix& mix = mixes->weights[at(k)];
    for (std::int64_t i = 0; i < taps; ++i) {
      Sum sum;
      for (const Weight& w : mix)
        sum.add_product({w.value, w.error}, bounded_at(inner.weight, at(w.channel * taps + i)));
      weight.set(at(k * taps + i), sum.result());
    }
    const Bounded own = bounded_at(outer.bias, at(mixes->row[at(k)][0]));
    for (const std::int64_t row : mixes->row[at(k)])
      if (bounded_at(outer.bias, at(row)) != own) return std::nullopt;
    Sum sum;
    sum.add(own);
    for (const Weight& w : mix)
      sum.add_product({w.value, w.error}, bounded_at(inner.bias, at(w.channel)));
    bias.set(at(k), sum.result());
  }
  g.out_channels = count;
  g.out = *layout;
  return Conv{g, std::move(weight).finish(where), std::move(bias).finish(where)};
}

}  // namespace bf_aot
