#include "planner/lowering/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/network/own_evaluation.h"
#include "planner/plan/prebuilt.h"
#include "planner/tuning/dealt_tile.h"
#include "planner/tuning/schedule_space.h"
#include "runtime/bf/contract/tiles.h"

namespace bf_aot {
namespace {

constexpr int kForwardVectors = 4;  // accumulator pairs that hide the FMA latency
constexpr int kForwardChunk = 32;   // terms per accumulator: keeps gamma small, costs nothing
constexpr int kBackwardChunk = 64;  // the same for backward products
constexpr int kMostListed = 8;  // columns of a product in float: each keeps a pointer in a register
constexpr int kMostFirstColumns = 12;  // two vectors of sums each
constexpr int kElementBytes = 4;
constexpr int kDeviceVector = 16;  // floats that compilers of devices compute together, if they can
constexpr int kDeviceRows = 2 * kDeviceVector;
constexpr int kDoublesOfProcessor = 8;  // whose sums compilers of devices keep in vectors
constexpr int kFewRegisters = 16;
constexpr int kTilesWithLast = 8;  // of more, a smaller last one is not worth its code
constexpr int kPrefetch = 8192;  // bytes ahead: weights from memory came 3 to 10 % faster on Zen 5

int round_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

int ceil_div(int value, int unit) {
  return (value + unit - 1) / unit;
}

// The words, each after `separator`, that set a kernel apart from others of its kind and extents.
std::string variant(const Kernel& kernel, char separator) {
  std::string text;
  if (kernel.residual) text += separator + std::string("residual");
  if (kernel.head) text += separator + std::string("head");
  if (kernel.wide) text += separator + std::string("wide");
  if (kernel.plain) text += separator + std::string("plain");
  if (kernel.live_out) text += separator + std::string("live");
  if (kernel.live_in) text += separator + std::string("live_in");
  if (kernel.boxes > 1) text += separator + fmt::format("boxes{}", kernel.boxes);
  return text;
}

}  // namespace

LoweringPlanner::LoweringPlanner(Plan& plan) : plan_(plan) {
  const PlannerConfig& config = plan.config;
  const bool vector = uses_vectors(config.lowering) && config.target.vector_bytes > 4;
  lanes_ = vector ? config.target.vector_bytes / kElementBytes : 1;
  for (const LayerId i : plan.layer_ids()) {
    const Layer& layer = plan.layer(i);
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

int LoweringPlanner::panel_of(LayerId layer) const {
  if (plan_.layer(layer).kind != LayerKind::kDense) return 1;
  const int out = plan_.layer(layer).out;
  if (is_of_device()) return std::min(kDeviceVector, out);
  return lanes_ * std::min(kForwardVectors, ceil_div(out, lanes_));
}

// A tile that holds so many rows, if one of any size does.
int LoweringPlanner::padded_rows(int rows, bool wide) const {
  if (is_of_device() && plan_.config.items == 1)
    return round_up(rows, wide ? kDoublesOfProcessor : kDeviceVector);
  return is_prebuilt() ? prebuilt_rows_for(lanes_, wide, rows)
                       : round_up(rows, row_unit(lanes_, wide));
}

int LoweringPlanner::row_tile(int neurons, bool wide, int asked) const {
  if (boxes_ > 1) return 2;  // of one neuron: the boxes fill the lanes
  const int vectors = lanes_ == 1 ? 4 : 2;
  int tile = is_of_device() ? kDeviceRows : lanes_ * vectors;
  if (is_of_device() && plan_.config.items == 1 && wide) tile = kDoublesOfProcessor;
  const int most = is_of_device() ? kDeviceRows : most_rows(lanes_);
  if (asked == 0) asked = plan_.config.row_tile;
  if (asked > 0)
    tile = std::min(is_prebuilt() ? prebuilt_rows_within(lanes_, wide, asked)
                                  : round_up(asked, row_unit(lanes_, wide)),
                    most);
  return std::min(tile, padded_rows(2 * neurons, wide));
}

int LoweringPlanner::last_tile(int neurons, bool all, bool wide, int tile) const {
  const int rows = 2 * neurons;
  if ((lanes_ == 1 && !is_of_device()) || boxes_ > 1 || rows > kTilesWithLast * tile) return 0;
  const int left = all ? rows % tile : tile / 2;
  if (left == 0) return 0;
  const int last = padded_rows(left, wide);
  return last < tile ? last : 0;
}

// Vectors of floats, or of doubles when `wide`, that hold a tile of rows without padding.
void LoweringPlanner::use_row_lanes(Kernel& kernel, int tile, bool wide) const {
  const int rows = tile * boxes_;
  int lanes = wide && lanes_ > 1 ? lanes_ / 2 : lanes_;
  while (rows % lanes != 0) lanes /= 2;
  kernel.rows = tile;
  kernel.schedule.lanes = lanes;
  kernel.schedule.vectors = rows / lanes;
  kernel.schedule.items = plan_.config.items;
}

KernelId LoweringPlanner::intern(Kernel kernel) {
  kernel.boxes = boxes_;
  kernel.rows *= boxes_;
  kernel.code = code_of(kernel.kind);
  const bool routine = kernel.code == KernelCode::kRoutine;
  kernel.strategy = lanes_ == 1 || routine ? Lowering::kGeneric
                    : is_prebuilt()        ? Lowering::kPrebuilt
                                           : Lowering::kVector;
  if (routine)
    kernel.reason = "a routine of the runtime";
  else
    kernel.reason = lanes_ > 1
                        ? fmt::format("{}-byte vectors of {}{}", plan_.config.target.vector_bytes,
                                      plan_.config.target.name,
                                      is_prebuilt() ? ", extents of prebuilt code" : "")
                        : "portable scalar code";
  std::string extents;
  if (kernel.out > 0) extents += fmt::format("/{}x{}", kernel.in, kernel.out);
  if (kernel.out == 0 && kernel.in > 0) extents += fmt::format("/{}", kernel.in);
  if (!kernel.geometry.empty()) extents += "/" + kernel.geometry;
  if (kernel.rows > 0) extents += fmt::format("/rows{}", kernel.rows);
  if (kernel.lines > 0) extents += fmt::format("/lines{}", kernel.lines);
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
  if (kernel.lines > 0) kernel.function += fmt::format("_lines{}", kernel.lines);

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

// A kernel of a dense layer's weights, without a schedule.
Kernel LoweringPlanner::dense(KernelKind kind, LayerId index) const {
  const Layer& layer = plan_.layer(index);
  Kernel kernel;
  kernel.kind = kind;
  kernel.in = layer.in;
  kernel.out = layer.out;
  kernel.panel = panel_of(index);
  return kernel;
}

KernelId LoweringPlanner::bind(KernelKind kind, std::string_view map) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.map = map;
  kernel.in = plan_.input_count;
  kernel.schedule.lanes = lanes_;
  return intern(kernel);
}

// Two levels of accumulators: chains of `chunk` products, then one sum over the chunks.
int LoweringPlanner::forward_chunk(KernelKind kind, LayerId index) const {
  const int in = plan_.layer(index).in;
  if (kind == KernelKind::kEvaluateAffine && plan_.config.semantics == Semantics::kFloat32Exact)
    return evaluation_chunk(in);
  if (kind == KernelKind::kCentreAffine || in <= 2 * kForwardChunk) return in;
  return kForwardChunk;
}

int LoweringPlanner::forward_depth(KernelKind kind, LayerId index) const {
  const int chunk = forward_chunk(kind, index);
  return chunk + ceil_div(plan_.layer(index).in, chunk) + 1;
}

// The number of outputs computed together when lanes are boxes. Each has accumulators of a centre
// and a radius, which hide the latency; panels are whole numbers of them. A single panel takes a
// few more where none are then left over: those few would wait for their sums.
int LoweringPlanner::box_columns(LayerId index) const {
  const int least = plan_.config.target.vector_registers >= 32 ? 8 : 4;
  const int panel = panel_of(index), out = plan_.layer(index).out;
  if (out <= panel)
    for (int columns = least; columns <= least + least / 2; ++columns)
      if (out % columns == 0) return columns;
  return std::min(least, panel);
}

// Returns true if no cache keeps a layer's weights from one call to the next. Weights that come
// from a cache are not prefetched: that costs more than it gains.
bool LoweringPlanner::comes_from_memory(const Layer& layer) const {
  const MachineProfile& profile = profile_of(plan_.config);
  if (boxes_ > 1 || profile.levels.size() < 2) return false;
  const double bytes = static_cast<double>(layer.in) * layer.out * kElementBytes;
  return bytes > profile.levels[profile.levels.size() - 2].bytes;
}

KernelId LoweringPlanner::forward(KernelKind kind, LayerId index, const ForwardKernel& how) {
  const Layer& layer = plan_.layer(index);
  Kernel kernel = dense(kind, index);
  kernel.relu = how.relu;
  kernel.head = how.head;
  kernel.live_in = how.live_in;
  kernel.residual = kind == KernelKind::kCentreAffine && !layer.residual.empty();
  kernel.schedule = {lanes_, kernel.panel / lanes_, 1, forward_chunk(kind, index)};
  if (boxes_ > 1) kernel.schedule = {lanes_, 1, box_columns(index), forward_chunk(kind, index)};
  kernel.schedule.items = plan_.config.items;
  kernel.depth = forward_depth(kind, index);
  // Scalar processors are short of memory; other forward kernels have little code after their sums.
  kernel.rolled = kind == KernelKind::kIntervalAffine && boxes_ == 1 &&
                  plan_.config.target.vector_bytes == kElementBytes && !is_of_device();
  if (comes_from_memory(layer)) kernel.prefetch = kPrefetch;
  return intern(kernel);
}

// Outputs times columns of lines, of which the weights and one vector of lines are loaded once: as
// many accumulators as hide the latency, and no more than fit beside what is loaded.
Schedule LoweringPlanner::lines_schedule(LayerId index) const {
  const int outputs = std::min(kForwardVectors, panel_of(index) / (boxes_ > 1 ? 1 : lanes_));
  const int registers = plan_.config.target.vector_registers;
  const int most = std::max(1, (registers - outputs - 2) / outputs);
  Schedule schedule;
  schedule.lanes = lanes_;
  schedule.vectors = outputs;
  schedule.columns = std::min(most, plan_.input_count + 1);
  schedule.chunk = forward_chunk(KernelKind::kForwardLines, index);
  return schedule;
}

KernelId LoweringPlanner::forward_lines(LayerId index) {
  Kernel kernel = dense(KernelKind::kForwardLines, index);
  kernel.lines = plan_.input_count + 1;
  kernel.schedule = lines_schedule(index);
  kernel.depth = forward_depth(KernelKind::kForwardLines, index);
  return intern(kernel);
}

KernelId LoweringPlanner::relax(LayerId index) {
  const Layer& layer = plan_.layer(index);
  Kernel kernel;
  kernel.kind = KernelKind::kRelax;
  kernel.in = layer.out;
  kernel.relu = layer.relu;
  return intern(kernel);
}

KernelId LoweringPlanner::start_rows(LayerId index, int tile) {
  Kernel kernel = dense(KernelKind::kStartRows, index);
  use_row_lanes(kernel, tile, false);
  return intern(kernel);
}

// The register tile of a product with `in` columns: columns x vectors accumulators, the vectors of
// one coefficient and `others` (a broadcast weight, and what compilers want besides) must fit the
// registers. Of the sizes that fit, the one that leaves the smallest remainder; the larger of
// equals.
int tile_columns(int in, int vectors, int registers, int others, bool listed) {
  const int room = (registers - vectors - others) / vectors;
  const int most = std::max(1, std::min({room, listed ? kMostListed : room, in}));
  int best = most;
  double best_cost = 1e300;
  for (int columns = most; columns >= std::max(1, (most + 1) / 2); --columns) {
    // A tile costs one pass over the coefficients (its loads) besides the multiply-adds.
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
int LoweringPlanner::backward_chunk(LayerId index) const {
  const int panel = panel_of(index);
  const int out = plan_.layer(index).out;
  return std::min(round_up(out, panel), panel * std::max(1, kBackwardChunk / panel));
}

int LoweringPlanner::backward_blocks(LayerId index) const {
  if (plan_.layer(index).kind != LayerKind::kDense) return 1;
  return ceil_div(plan_.layer(index).out, backward_chunk(index));
}

int LoweringPlanner::backward_depth(LayerId index) const {
  return backward_chunk(index) + backward_blocks(index) + 1;
}

KernelId LoweringPlanner::backward(LayerId index, int tile, const RowKernel& how) {
  Kernel kernel = dense(KernelKind::kBackwardAffine, index);
  kernel.wide = how.wide;
  kernel.plain = how.plain;
  kernel.live_out = how.live_out;
  kernel.live_in = how.live_in;
  use_row_lanes(kernel, tile, how.wide);
  // With 16 registers a tile of 6 columns x 2 vectors leaves what a product needs; with four
  // vectors of rows too few columns would be left.
  const int registers = plan_.config.target.vector_registers;
  const bool few = lanes_ > 1 && registers <= kFewRegisters;
  if (few && kernel.schedule.vectors % 4 == 0) kernel.schedule.vectors = 2;
  // Scalar code for a device is for vectors that its compiler finds.
  const int vectors = is_of_device() ? ceil_div(tile, how.wide ? kDeviceVector / 2 : kDeviceVector)
                                     : kernel.schedule.vectors;
  kernel.schedule.columns = tile_columns(kernel.in, vectors, registers, few ? 1 : 3,
                                         how.live_in && lanes_ > 1 && !how.wide);
  kernel.schedule.chunk = backward_chunk(index);
  if (const int items = kernel.schedule.items; items > 1) {
    const DealtTile dealt = dealt_tile(kernel.rows, kernel.in, items);
    kernel.schedule.vectors = dealt.rows;
    kernel.schedule.columns = dealt.columns;
    if (!how.wide)
      kernel.schedule.staged =
          staged_columns(dealt, kernel.rows, kernel.in, kernel.schedule.chunk, items);
  }
  kernel.depth = backward_depth(index);
  return intern(kernel);
}

// Vectors of 512 bits, which are permuted two at a time, and as many registers as hold all columns'
// sums beside a row's weights and the relaxation. None is prebuilt: the layers' extents are
// constants of its template.
bool LoweringPlanner::has_first_link(LayerId below, int tile) const {
  const Layer& layer = plan_.layer(below);
  const bool vectors = lanes_ == bf::kSignedLanes && boxes_ == 1 && !is_prebuilt();
  return vectors && layer.kind == LayerKind::kDense && layer.in <= kMostFirstColumns &&
         (tile == lanes_ || tile == 2 * lanes_);
}

KernelId LoweringPlanner::first_link(LayerId layer, LayerId below, int tile, bool live_out) {
  BF_CHECK(has_first_link(below, tile));
  Kernel kernel = dense(KernelKind::kFirstLink, below);
  kernel.map = fmt::format("from_panel{}", panel_of(layer));
  kernel.live_out = live_out;
  use_row_lanes(kernel, tile, false);
  kernel.schedule.columns = kernel.in;
  kernel.schedule.chunk = backward_chunk(below);
  kernel.depth = backward_depth(below);
  return intern(kernel);
}

KernelId LoweringPlanner::concretize(int tile) {
  Kernel kernel;
  kernel.kind = KernelKind::kConcretize;
  kernel.in = plan_.input_count;
  use_row_lanes(kernel, tile, false);
  kernel.depth = plan_.input_count + 2;
  return intern(kernel);
}

}  // namespace bf_aot
