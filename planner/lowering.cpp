#include "planner/lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "frontend/diagnostic.h"
#include "planner/cost_model.h"
#include "planner/linear_terms.h"
#include "planner/tuning/schedule_space.h"

namespace bf {
namespace {

constexpr int kForwardVectors = 4;       // accumulator pairs that hide the FMA latency
constexpr int kForwardChunk = 32;        // terms per accumulator: keeps gamma small, costs nothing
constexpr int kBackwardChunk = 64;       // the same for backward products
constexpr std::int64_t kConvChain = 64;  // products: note [conv depth] in runtime/conv_backward.h
constexpr int kElementBytes = 4;
constexpr int kPrefetch = 8192;  // bytes ahead: weights from memory came 3 to 10 % faster on Zen 5

int round_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

int ceil_div(int value, int unit) {
  return (value + unit - 1) / unit;
}

// What sets a kernel apart from others of its kind and extents, after `separator`.
std::string variant(const Kernel& kernel, char separator) {
  std::string text;
  if (kernel.residual) text += separator + std::string("residual");
  if (kernel.head) text += separator + std::string("head");
  if (kernel.wide) text += separator + std::string("wide");
  if (kernel.plain) text += separator + std::string("plain");
  if (kernel.boxes > 1) text += separator + fmt::format("boxes{}", kernel.boxes);
  return text;
}

}  // namespace

LoweringPlanner::LoweringPlanner(Plan& plan) : plan_(plan) {
  const PlannerConfig& config = plan.config;
  const bool vector = uses_vectors(config.lowering) && config.target.vector_bytes > 4;
  lanes_ = vector ? config.target.vector_bytes / kElementBytes : 1;
  for (int i = 0; i < static_cast<int>(plan.layers.size()); ++i) {
    const Layer& layer = plan.layers[static_cast<std::size_t>(i)];
    const int panel = panel_of(i);
    plan.layouts.push_back({i, panel, 0});
    if (panel > 1)
      plan.rejected.push_back(
          {"layout", fmt::format("{}: row-major", layer.name),
           fmt::format("panels of {} outputs let one load serve the forward lanes and the "
                       "backward broadcasts",
                       panel)});
  }
}

int LoweringPlanner::panel_of(int layer) const {
  if (plan_.layers[static_cast<std::size_t>(layer)].kind != LayerKind::kDense) return 1;
  const int out = plan_.layers[static_cast<std::size_t>(layer)].out;
  return lanes_ * std::min(kForwardVectors, ceil_div(out, lanes_));
}

int LoweringPlanner::row_tile(int neurons, int asked) const {
  if (boxes_ > 1) return 2;  // of one neuron: the boxes fill the lanes
  const int vectors = lanes_ == 1 ? 4 : 2;
  const int unit = std::max(2, lanes_);
  int tile = lanes_ * vectors;
  if (asked == 0) asked = plan_.config.row_tile;
  if (asked > 0) tile = std::min(round_up(asked, unit), 4 * unit);
  return std::min(tile, round_up(2 * neurons, unit));
}

KernelId LoweringPlanner::intern(Kernel kernel) {
  kernel.boxes = boxes_;
  kernel.rows *= boxes_;
  const bool routine = !kernel.reason.empty();
  kernel.strategy = lanes_ > 1 && !routine ? Lowering::kVector : Lowering::kGeneric;
  if (!routine)
    kernel.reason = lanes_ > 1
                        ? fmt::format("{}-byte vectors of {}", plan_.config.target.vector_bytes,
                                      plan_.config.target.name)
                        : "portable scalar code";
  std::string extents;
  if (kernel.out > 0) extents += fmt::format("/{}x{}", kernel.in, kernel.out);
  if (kernel.out == 0 && kernel.in > 0) extents += fmt::format("/{}", kernel.in);
  if (!kernel.geometry.empty()) extents += "/" + kernel.geometry;
  if (kernel.rows > 0) extents += fmt::format("/rows{}", kernel.rows);
  const std::string map = kernel.map.empty() ? "" : "." + kernel.map;
  kernel.key = fmt::format("{}{}{}{}{}/f32/panel{}/lanes{}/{}", to_string(kernel.kind), map,
                           kernel.relu ? ".relu" : "", variant(kernel, '.'), extents, kernel.panel,
                           kernel.schedule.lanes, plan_.config.target.name);
  kernel.function =
      fmt::format("{}{}{}{}", to_string(kernel.kind), kernel.map.empty() ? "" : "_" + kernel.map,
                  kernel.relu ? "_relu" : "", variant(kernel, '_'));
  if (kernel.out > 0) kernel.function += fmt::format("_{}x{}", kernel.in, kernel.out);
  if (kernel.out == 0 && kernel.in > 0) kernel.function += fmt::format("_{}", kernel.in);
  if (!kernel.geometry.empty()) kernel.function += "_" + kernel.geometry;
  if (kernel.rows > 0) kernel.function += fmt::format("_rows{}", kernel.rows);

  std::optional<Rejected> refused;
  if (plan_.config.lowering == Lowering::kTuned) refused = tune(kernel);
  const auto same = std::ranges::find(plan_.kernels, kernel.key, &Kernel::key);
  if (same != plan_.kernels.end()) {
    BF_CHECK(*same == kernel);  // the key names everything that the code depends on
    return static_cast<KernelId>(same - plan_.kernels.begin());
  }
  if (refused) plan_.rejected.push_back(std::move(*refused));
  plan_.kernels.push_back(std::move(kernel));
  return static_cast<KernelId>(plan_.kernels.size()) - 1;
}

// Takes the schedule that measurements found for the kernel's key. kernel.depth stays what the
// rules' schedule has: no tuned schedule sums in longer chains, so that the error terms hold for
// it.
std::optional<Rejected> LoweringPlanner::tune(Kernel& kernel) const {
  if (!is_tunable(kernel)) return std::nullopt;
  const std::vector<TunedSchedule>& known = plan_.config.tuned;
  const auto found = std::ranges::lower_bound(known, kernel.key, {}, &TunedSchedule::key);
  if (found == known.end() || found->key != kernel.key) {
    kernel.reason = fmt::format("the tuning log has no result for it: {}", kernel.reason);
    return std::nullopt;
  }
  const std::string times = fmt::format("{:.4g} us", 1e6 * found->seconds);
  if (found->is_default) {
    kernel.strategy = Lowering::kTuned;
    kernel.reason = fmt::format("tuned: none of {} schedules beat the default, measured {}",
                                found->candidates, times);
    return std::nullopt;
  }
  if (const std::string why = why_illegal(kernel, found->schedule); !why.empty()) {
    kernel.reason = fmt::format("the tuning log's schedule does not fit: {}", kernel.reason);
    return Rejected{"lowering", kernel.key + ": " + to_text(found->schedule), why};
  }
  kernel.schedule = found->schedule;
  kernel.strategy = Lowering::kTuned;
  kernel.reason = fmt::format("tuned: {}, measured {} against {:.4g}", to_text(kernel.schedule),
                              times, 1e6 * found->default_seconds);
  return std::nullopt;
}

KernelId LoweringPlanner::bind(KernelKind kind) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.in = plan_.input_count;
  kernel.schedule.lanes = lanes_;
  return intern(kernel);
}

// Two levels of accumulators: chains of `chunk` products, then one sum over the chunks.
int LoweringPlanner::forward_chunk(KernelKind kind, int index) const {
  const int in = plan_.layers[static_cast<std::size_t>(index)].in;
  if (kind == KernelKind::kCentreAffine || in <= 2 * kForwardChunk) return in;
  return kForwardChunk;
}

int LoweringPlanner::forward_depth(KernelKind kind, int index) const {
  const int chunk = forward_chunk(kind, index);
  return chunk + ceil_div(plan_.layers[static_cast<std::size_t>(index)].in, chunk) + 1;
}

// Outputs computed together, when lanes are boxes: accumulators of a centre and a radius each,
// which hide the latency; panels are whole numbers of them.
int LoweringPlanner::box_columns(int index) const {
  const int most = plan_.config.target.vector_registers >= 32 ? 8 : 4;
  return std::min(most, panel_of(index));
}

// Whether no cache keeps a layer's weights from one call to the next. From a cache, asking ahead
// costs more than it gains.
bool LoweringPlanner::comes_from_memory(const Layer& layer) const {
  const MachineProfile& profile = profile_of(plan_.config);
  if (boxes_ > 1 || profile.levels.size() < 2) return false;
  const double bytes = static_cast<double>(layer.in) * layer.out * kElementBytes;
  return bytes > profile.levels[profile.levels.size() - 2].bytes;
}

KernelId LoweringPlanner::forward(KernelKind kind, int index, bool relu, bool head) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  Kernel kernel;
  kernel.kind = kind;
  kernel.in = layer.in;
  kernel.out = layer.out;
  kernel.panel = panel_of(index);
  kernel.relu = relu;
  kernel.head = head;
  kernel.residual = kind == KernelKind::kCentreAffine && !layer.residual.empty();
  kernel.schedule = {lanes_, kernel.panel / lanes_, 1, forward_chunk(kind, index)};
  if (boxes_ > 1) kernel.schedule = {lanes_, 1, box_columns(index), forward_chunk(kind, index)};
  kernel.depth = forward_depth(kind, index);
  if (comes_from_memory(layer)) kernel.prefetch = kPrefetch;
  return intern(kernel);
}

KernelId LoweringPlanner::relax(int index) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  Kernel kernel;
  kernel.kind = KernelKind::kRelax;
  kernel.in = layer.out;
  kernel.relu = layer.relu;
  return intern(kernel);
}

KernelId LoweringPlanner::start_rows(int index, int tile) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  Kernel kernel;
  kernel.kind = KernelKind::kStartRows;
  kernel.in = layer.in;
  kernel.out = layer.out;
  kernel.rows = tile;
  kernel.panel = panel_of(index);
  kernel.schedule.lanes = lanes_;
  kernel.schedule.vectors = tile * boxes_ / lanes_;
  return intern(kernel);
}

// The register tile of a product with `in` columns: columns x vectors accumulators, the vectors of
// one coefficient and a broadcast weight must fit the registers. Of the sizes that fit, the one
// that leaves the smallest remainder; the larger of equals.
int tile_columns(int in, int vectors, int registers) {
  const int most = std::max(1, std::min({(registers - vectors - 3) / vectors, 16, in}));
  int best = most;
  double best_cost = 1e300;
  for (int columns = most; columns >= std::max(1, (most + 1) / 2); --columns) {
    // Per tile: one pass over the coefficients (its loads) besides the multiply-adds.
    const int tiles = ceil_div(in, columns);
    const double cost = in * vectors + tiles * 0.5 * vectors + (in % columns != 0 ? vectors : 0);
    if (cost < best_cost) {
      best_cost = cost;
      best = columns;
    }
  }
  return best;
}

// The panel of the weight table where it is wide enough; several narrow panels otherwise, so that
// the outer sums are few.
int LoweringPlanner::backward_chunk(int index) const {
  const int panel = panel_of(index);
  const int out = plan_.layers[static_cast<std::size_t>(index)].out;
  return std::min(round_up(out, panel), panel * std::max(1, kBackwardChunk / panel));
}

int LoweringPlanner::backward_blocks(int index) const {
  if (plan_.layers[static_cast<std::size_t>(index)].kind != LayerKind::kDense) return 1;
  return ceil_div(plan_.layers[static_cast<std::size_t>(index)].out, backward_chunk(index));
}

int LoweringPlanner::backward_depth(int index) const {
  return backward_chunk(index) + backward_blocks(index) + 1;
}

KernelId LoweringPlanner::backward(int index, int tile, bool wide, bool plain) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  Kernel kernel;
  kernel.kind = KernelKind::kBackwardAffine;
  kernel.in = layer.in;
  kernel.out = layer.out;
  kernel.rows = tile;
  kernel.panel = panel_of(index);
  kernel.wide = wide;
  kernel.plain = plain;
  const int vectors = tile * boxes_ / lanes_;
  // A double vector holds half as many rows.
  const int product_vectors = wide && lanes_ > 1 ? 2 * vectors : vectors;
  kernel.schedule = {lanes_, vectors,
                     tile_columns(layer.in, product_vectors, plan_.config.target.vector_registers),
                     backward_chunk(index)};
  kernel.depth = backward_depth(index);
  return intern(kernel);
}

KernelId LoweringPlanner::concretize(int tile) {
  Kernel kernel;
  kernel.kind = KernelKind::kConcretize;
  kernel.in = plan_.input_count;
  kernel.rows = tile;
  kernel.schedule.lanes = lanes_;
  kernel.schedule.vectors = tile * boxes_ / lanes_;
  kernel.depth = plan_.input_count + 2;
  return intern(kernel);
}

namespace {

struct MapName {
  std::string_view operator()(const ConvMap&) const { return "conv"; }
  std::string_view operator()(const SparseMap&) const { return "sparse"; }
  std::string_view operator()(const GatherMap&) const { return "gather"; }
};

}  // namespace

namespace {

// Most channels of a register tile of runtime/conv_backward.h.
constexpr std::int64_t kTileChannels = 12;

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

}  // namespace

KernelId LoweringPlanner::term(KernelKind kind, int index, int number, int tile, bool wide) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  const Term& term = layer.terms.at(static_cast<std::size_t>(number));
  Kernel kernel;
  kernel.kind = kind;
  kernel.map = std::visit(MapName{}, term.map);
  kernel.in = term.in;
  kernel.out = layer.out;
  kernel.rows = tile;
  kernel.panel = 1;
  kernel.residual = kind == KernelKind::kTermCentre && !term.residual.empty();
  kernel.wide =
      wide && kind == KernelKind::kTermBackward && std::holds_alternative<ConvMap>(term.map);
  kernel.schedule.lanes = tile == 0 ? 1 : lanes_;
  kernel.schedule.vectors = tile == 0 ? 1 : tile / lanes_;
  if (const auto* const conv = std::get_if<ConvMap>(&term.map);
      conv != nullptr && kind == KernelKind::kTermBackward) {
    kernel.geometry = geometry_text(conv->geometry);
    kernel.schedule.columns =
        static_cast<int>(std::min(tiled_channels(conv->geometry), kTileChannels));
  }
  kernel.reason = "a routine of the runtime";
  return intern(kernel);
}

KernelId LoweringPlanner::relax_rows(int index, int tile, bool wide) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  Kernel kernel;
  kernel.kind = KernelKind::kRelaxRows;
  kernel.map = layer.kind == LayerKind::kProduct ? "product"
               : layer.kind == LayerKind::kMax   ? "max"
                                                 : "";
  kernel.in = layer.out;
  kernel.rows = tile;
  kernel.wide = wide;
  kernel.schedule.lanes = lanes_;
  kernel.schedule.vectors = tile / lanes_;
  kernel.reason = "a routine of the runtime";
  return intern(kernel);
}

KernelId LoweringPlanner::relax_free_rows(int index, int tile, bool wide) {
  return rows_routine(KernelKind::kRelaxRows, "slopes",
                      plan_.layers[static_cast<std::size_t>(index)].out, 0, tile, wide);
}

KernelId LoweringPlanner::forward_rows(int index, int number, int tile) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  if (number < 0)
    return rows_routine(KernelKind::kForwardRows, "dense", layer.in, layer.out, tile, false);
  const Term& term = layer.terms.at(static_cast<std::size_t>(number));
  return rows_routine(KernelKind::kForwardRows, std::string(std::visit(MapName{}, term.map)),
                      term.in, layer.out, tile, false);
}

// What follows a layer's products: chosen slopes, or the lines of its table, planes or choices.
KernelId LoweringPlanner::step_slopes(int index, int tile, bool chosen) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  const char* map = layer.kind == LayerKind::kProduct ? "product"
                    : layer.kind == LayerKind::kMax   ? "max"
                    : chosen                          ? ""
                                                      : "lines";
  return rows_routine(KernelKind::kStepSlopes, map, layer.out, 0, tile, false);
}

KernelId LoweringPlanner::rows_routine(KernelKind kind, const std::string& map, int in, int out,
                                       int tile, bool wide) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.map = map;
  kernel.in = in;
  kernel.out = out;
  kernel.rows = tile;
  kernel.wide = wide;
  kernel.panel = 1;
  kernel.schedule.lanes = lanes_;
  kernel.schedule.vectors = tile / lanes_;
  kernel.reason = "a routine of the runtime";
  return intern(kernel);
}

KernelId LoweringPlanner::relax_nonlinear(int index) {
  const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
  Kernel kernel;
  kernel.kind =
      layer.kind == LayerKind::kProduct ? KernelKind::kRelaxProduct : KernelKind::kRelaxMax;
  kernel.in = layer.terms.front().in;
  kernel.out = layer.out;
  kernel.reason = "a routine of the runtime";
  return intern(kernel);
}

namespace {

// Roundings of one sum of runtime/conv_backward.h: those of the longest chain of products, then one
// addition for each chain.
int conv_depth(const ConvGeometry& g) {
  std::int64_t chain = std::min(g.out_group(), kConvChain);
  std::int64_t chains = (g.out_group() + kConvChain - 1) / kConvChain;
  for (std::size_t d = 3; d-- > 0;) {
    const std::int64_t step = g.transposed ? 1 : g.stride[d] / std::gcd(g.stride[d], g.dilation[d]);
    const std::int64_t taps = (g.kernel[d] + step - 1) / step;
    if (chains == 1 && chain * taps <= kConvChain)
      chain *= taps;
    else
      chains *= taps;
  }
  const std::int64_t depth = chain + chains + 1;
  BF_CHECK(depth < std::int64_t{1} << 22);
  return static_cast<int>(depth);
}

}  // namespace

namespace {

// Of one sum of runtime/conv_interval.h: a chain is as many taps as fit, or a part of one.
int conv_interval_depth(const ConvGeometry& g) {
  const std::int64_t group = g.in_group();
  const std::int64_t taps = std::max<std::int64_t>(1, kConvChain / group);  // in a chain
  const std::int64_t parts = (group + kConvChain - 1) / kConvChain;         // of a tap
  const std::int64_t chain = std::min(group, kConvChain) * std::min(taps, g.taps());
  const std::int64_t depth = chain + (g.taps() + taps - 1) / taps * parts + 1;
  BF_CHECK(depth < std::int64_t{1} << 22);
  return static_cast<int>(depth);
}

}  // namespace

// Sparse rows are summed in double and rounded once: gamma_double(n) + u <= gamma_float(2) for n <
// 2^28. Then one addition for each term.
int LoweringPlanner::interval_depth(const Layer& layer) {
  int depth = 0;
  for (const Term& term : layer.terms) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    BF_CHECK(term.row_entries < 1 << 28);
    depth = std::max(depth, conv != nullptr ? conv_interval_depth(conv->geometry) : 2);
  }
  return depth + static_cast<int>(layer.terms.size());
}

int LoweringPlanner::term_depth(const Term& term, int readers) {
  const int adds = readers - 1;
  if (const auto* const conv = std::get_if<ConvMap>(&term.map))
    return conv_depth(conv->geometry) + adds;
  return term.column_entries + 1 + adds;
}

}  // namespace bf
