#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "frontend/diagnostic.h"
#include "planner/lowering/lowering.h"
#include "planner/network/linear_terms.h"
#include "runtime/bf/contract/chains.h"
#include "runtime/bf/contract/tiles.h"

// Routines of the runtime: which one, and how long its chains of roundings are.

namespace bf_aot {
namespace {

struct MapName {
  std::string_view operator()(const ConvMap&) const { return "conv"; }
  std::string_view operator()(const SparseMap&) const { return "sparse"; }
  std::string_view operator()(const GatherMap&) const { return "gather"; }
};

// "16x8x8_32x4x4_k3x3_s2x2_p1x1", without leading dimensions of size 1; an identifier's end.
std::string geometry_text(const ConvGeometry& g) {
  std::size_t first = 0;
  while (first < 2 && g.in_size[first] == 1 && g.out_size[first] == 1 && g.kernel[first] == 1)
    ++first;
  const auto sizes = [&](const Extent& extent) {
    return fmt::format(
        "{}", fmt::join(extent.begin() + static_cast<std::ptrdiff_t>(first), extent.end(), "x"));
  };
  std::string text =
      fmt::format("{}x{}_{}x{}_k{}_s{}", g.in_channels, sizes(g.in_size), g.out_channels,
                  sizes(g.out_size), sizes(g.kernel), sizes(g.stride));
  if (g.pad != Extent{0, 0, 0}) text += "_p" + sizes(g.pad);
  if (g.dilation != Extent{1, 1, 1}) text += "_d" + sizes(g.dilation);
  if (g.groups > 1) text += fmt::format("_g{}", g.groups);
  if (g.batch > 1) text += fmt::format("_b{}", g.batch);
  if (g.transposed) text += "_t";
  return text;
}

// A kernel whose code is in the runtime's headers.
Kernel routine(KernelKind kind, int in, int out = 0) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.in = in;
  kernel.out = out;
  return kernel;
}

}  // namespace

KernelId LoweringPlanner::term(KernelKind kind, LayerId index, int number, int tile, bool wide) {
  const Layer& layer = plan_.layer(index);
  const Term& term = layer.term(number);
  Kernel kernel = routine(kind, term.in, layer.out);
  kernel.map = std::visit(MapName{}, term.map);
  kernel.panel = 1;
  kernel.residual = kind == KernelKind::kTermCentre && !term.residual.empty();
  kernel.wide =
      wide && kind == KernelKind::kTermBackward && std::holds_alternative<ConvMap>(term.map);
  if (tile > 0) use_row_lanes(kernel, tile, kernel.wide);
  if (const auto* const conv = std::get_if<ConvMap>(&term.map);
      conv != nullptr && kind == KernelKind::kTermBackward) {
    kernel.geometry = geometry_text(conv->geometry);
    kernel.channels = static_cast<int>(tiled_channels(conv->geometry));
    if (lanes_ > 1) use_conv_tile(kernel, kernel.channels > conv->geometry.in_group());
  }
  return intern(kernel);
}

void LoweringPlanner::use_conv_tile(Kernel& kernel, bool depthwise) const {
  Schedule& schedule = kernel.schedule;
  const int vector_bytes = plan_.config.target.vector_bytes;
  if (is_prebuilt()) {
    const bf::ConvRowTile tile = bf::prebuilt_row_tile(vector_bytes, schedule.vectors);
    schedule.columns = tile.columns;
    schedule.pixels = tile.pixels;
    schedule.last_columns = tile.last_columns;
    return;
  }
  const bf::ConvRowTile tile =
      bf::conv_row_tile(vector_bytes, schedule.vectors, kernel.channels, depthwise);
  schedule.columns = std::min(tile.columns, kernel.channels);
  schedule.pixels = tile.pixels;
  schedule.last_columns = std::min(tile.last_columns, kernel.channels);
}

KernelId LoweringPlanner::relax_rows(LayerId index, int tile, bool wide) {
  const Layer& layer = plan_.layer(index);
  Kernel kernel = routine(KernelKind::kRelaxRows, layer.out);
  kernel.map = layer.is_affine() ? "" : to_string(layer.kind);
  kernel.wide = wide;
  use_row_lanes(kernel, tile, false);
  return intern(kernel);
}

KernelId LoweringPlanner::relax_free_rows(LayerId index, int tile, bool wide) {
  const Layer& layer = plan_.layer(index);
  return rows_routine(KernelKind::kRelaxRows, layer.function ? "shares" : "slopes", layer.out, 0,
                      tile, wide);
}

KernelId LoweringPlanner::forward_rows(LayerId index, int number, int tile) {
  const Layer& layer = plan_.layer(index);
  if (number < 0)
    return rows_routine(KernelKind::kForwardRows, "dense", layer.in, layer.out, tile, false);
  const Term& term = layer.term(number);
  return rows_routine(KernelKind::kForwardRows, std::string(std::visit(MapName{}, term.map)),
                      term.in, layer.out, tile, false);
}

// The routine after a layer's forward products: it steps chosen slopes or shares, or applies the
// lines of the layer's table, its planes or its choices.
KernelId LoweringPlanner::step_slopes(LayerId index, int tile, bool chosen) {
  const Layer& layer = plan_.layer(index);
  const std::string_view map = !layer.is_affine()         ? to_string(layer.kind)
                               : chosen && layer.function ? "shares"
                               : chosen                   ? ""
                                                          : "lines";
  return rows_routine(KernelKind::kStepSlopes, std::string(map), layer.out, 0, tile, false);
}

KernelId LoweringPlanner::rows_routine(KernelKind kind, const std::string& map, int in, int out,
                                       int tile, bool wide) {
  Kernel kernel = routine(kind, in, out);
  kernel.map = map;
  kernel.wide = wide;
  kernel.panel = 1;
  use_row_lanes(kernel, tile, false);
  return intern(kernel);
}

KernelId LoweringPlanner::start_lines(LayerId index) {
  const Layer& layer = plan_.layer(index);
  Kernel kernel = routine(KernelKind::kStartLines, layer.in, layer.out);
  kernel.lines = plan_.input_count + 1;
  kernel.panel = panel_of(index);
  return intern(kernel);
}

KernelId LoweringPlanner::relax_lines(LayerId index) {
  const Layer& layer = plan_.layer(index);
  Kernel kernel = routine(KernelKind::kRelaxLines, layer.out);
  kernel.relu = layer.relu;
  kernel.lines = plan_.input_count + 1;
  return intern(kernel);
}

KernelId LoweringPlanner::nonlinear(KernelKind kind, LayerId index) {
  const Layer& layer = plan_.layer(index);
  return intern(routine(kind, layer.terms.front().in, layer.out));
}

namespace {

int checked_depth(std::int64_t depth) {
  BF_CHECK(depth < std::int64_t{1} << 22);
  return static_cast<int>(depth);
}

// The taps that read one input, in each dimension, are at most so many.
int conv_depth(const ConvGeometry& g) {
  std::int64_t taps[3];
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t step = g.transposed ? 1 : g.stride[d] / std::gcd(g.stride[d], g.dilation[d]);
    taps[d] = (g.kernel[d] + step - 1) / step;
  }
  return checked_depth(bf::conv_depth(g.out_group(), taps));
}

}  // namespace

// Sparse rows are summed in double and rounded once: gamma_double(n) + u <= gamma_float(2) for n <
// 2^28. Then one addition for each term.
int LoweringPlanner::interval_depth(const Layer& layer) {
  int depth = 0;
  for (const Term& term : layer.terms) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    BF_CHECK(term.row_entries < 1 << 28);
    depth = std::max(depth, conv != nullptr ? checked_depth(bf::interval_depth(
                                                  conv->geometry.in_group(), conv->geometry.taps()))
                                            : 2);
  }
  return depth + static_cast<int>(layer.terms.size());
}

int LoweringPlanner::term_depth(const Term& term, int readers) {
  const int adds = readers - 1;
  if (const auto* const conv = std::get_if<ConvMap>(&term.map))
    return conv_depth(conv->geometry) + adds;
  return term.column_entries + 1 + adds;
}

}  // namespace bf_aot
