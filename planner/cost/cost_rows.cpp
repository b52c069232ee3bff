#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"
#include "planner/cost/cost_terms.h"
#include "planner/cost/window_shares.h"
#include "planner/entries/live_pixels.h"
#include "planner/network/linear_terms.h"
#include "runtime/bf/contract/chains.h"

// Backward rows: per tile a start, a call or two per link, and a bound per row.

namespace bf_aot {
namespace {

constexpr int kPage = 4096;
constexpr double kWays = 16;  // lines of one place in a cache

// Bytes of a tile's coefficients over `n` elements.
double tile_bytes(const BackwardRows& step, double n) {
  return 4.0 * step.tile * n;
}

}  // namespace

void StepCoster::visit(const BackwardRows& step, const StepActivity& activity) {
  const double neurons = activity.neurons;
  const Layer& region = layer(step.layer);
  Work list;
  list.items = region.out;
  add(step.unstable_only && region.function ? Family::kListBent : Family::kListRows, "list_rows",
      -1, 1, list);
  also_branches(1, surprises(activity.changes, region.out));
  if (neurons <= 0) return;
  const double pairs = step.tile / 2.0;
  const double left = std::fmod(neurons, pairs);
  if (step.last.empty() || left == 0 || 2 * left > step.last.front().tile)
    return pass_back(step, divided_up(neurons, pairs), neurons);
  if (neurons > pairs) pass_back(step, std::floor(neurons / pairs), neurons - left);
  pass_back(step.last.front(), 1, left);
}

// `once`: tiles, of so many neurons together.
void StepCoster::pass_back(const BackwardRows& step, double once, double neurons) {
  const Layer& region = layer(step.layer);
  const double tiles = once * std::max(1, step.iterations);
  shares_ = window_shares(plan_, step);
  rows_set_ = tile_bytes(step, share(-1) * plan_.input_count + region.out);
  for (const BackwardLink& link : step.links)
    rows_set_ +=
        bytes_of_layer(link.layer) + tile_bytes(step, share(link.layer) * layer(link.layer).out);

  if (region.kind == LayerKind::kDense && !starts_in_first_link(step)) {
    Work start;
    const double listed = step.live_in == BufferId::kNone ? 1 : live_share(region.input);
    start.items = listed * region.in * step.tile;
    start.bytes = 4 * start.items;
    add(Family::kStartRows, kernel(step.start).function, step.start, tiles, start, lanes_,
        rows_set_);
  }
  for (const BackwardOut& out : step.starts) start_term(step, out, tiles);
  for (const BackwardLink& link : step.links) {
    for (const RepeatedStep& repeated : link.remake) repeat(repeated, tiles);
    if (link.ball.reach != BufferId::kNone) ball_gain(step, link, tiles);
    if (layer(link.layer).kind == LayerKind::kDense)
      dense_link(step, link, tiles);
    else
      sum_link(step, link, tiles);
  }
  if (step.iterations > 0) choose_slopes(step, once);
  Work end;
  end.float32 = 2.0 * share(-1) * plan_.input_count * step.tile;
  end.slots32 = 0;
  end.items = share(-1) * plan_.input_count * row_vectors(step.tile);
  if (step.input_coefficients != BufferId::kNone)
    add(Family::kConcretize, kernel(step.concretize).function, step.concretize, tiles, end);
  Work tighten;
  tighten.items = std::min(neurons / once, step.tile / 2.0);
  add(Family::kTighten, "tighten_rows", -1, tiles, tighten);
  // About half of the neurons get a tighter bound, so that these branches are not predictable.
  also_branches(tiles, surprises(tighten.items, neurons));
}

// Some 20 operations for each of 16 multipliers, at neurons of unknown sign.
void StepCoster::ball_gain(const BackwardRows& step, const BackwardLink& link, double tiles) {
  Work work;
  work.float32 = 16 * 20.0 * kUnstableShare * layer(link.layer).out * step.tile;
  work.items = layer(link.layer).out;
  add(Family::kTighten, "ball_gain", -1, tiles, work, lanes_, rows_set_);
}

// Between two backward passes each row's point goes forward through the same maps, and the slopes
// at its ReLUs take a step.
void StepCoster::choose_slopes(const BackwardRows& step, double tiles) {
  Work walk;
  walk.float32 = 0;
  for (const BackwardLink& link : step.links) {
    const Layer& region = layer(link.layer);
    double products = region.out;
    if (region.kind == LayerKind::kDense) products = 1.0 * region.in * region.out;
    for (const Term& term : region.terms)
      products += static_cast<double>(term_products(region.out, term));
    walk.float32 += 2 * products * step.tile;
    walk.bytes += bytes_of_layer(link.layer) + 2 * tile_bytes(step, region.out);
    walk.items += region.out * row_vectors(step.tile);
  }
  add(Family::kSlopes, "choose_slopes", -1, tiles * (step.iterations - 1), walk, lanes_, rows_set_);
}

// A forward step of every tile.
void StepCoster::repeat(const RepeatedStep& step, double tiles) {
  StepCost rows = std::move(made_);
  made_ = {};
  const auto* const relaxed = std::get_if<Relax>(&step);
  StepActivity activity;
  if (relaxed != nullptr) {
    const double share = kUnstableShare * layer(relaxed->layer).out;
    activity = {share, 1.25 * share, share};
  }
  std::visit([&](const auto& x) { visit(x, activity); }, step);
  for (TaskPart& part : made_.parts) {
    const auto same = std::ranges::find_if(rows.parts, [&](const TaskPart& other) {
      return other.name == part.name && other.kernel == part.kernel;
    });
    part.calls *= tiles;
    part.flops *= tiles;
    part.bytes *= tiles;
    part.seconds *= tiles;
    if (same == rows.parts.end()) {
      rows.parts.push_back(std::move(part));
      continue;
    }
    same->calls += part.calls;
    same->flops += part.flops;
    same->bytes += part.bytes;
    same->seconds += part.seconds;
  }
  rows.total += {made_.total.flops * tiles, made_.total.bytes * tiles, made_.total.seconds * tiles,
                 made_.total.wide * tiles, made_.total.waiting * tiles};
  made_ = std::move(rows);
}

void StepCoster::start_term(const BackwardRows& step, const BackwardOut& out, double tiles) {
  const Layer& region = layer(step.layer);
  const Term& term = region.term(out.term);
  const Kernel& code = kernel(out.kernel);
  const double pairs = step.tile / 2.0;
  Work work;
  work.items = pairs;
  Family family = Family::kGatherStart;
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    const ConvGeometry& g = conv->geometry;
    family = Family::kConvStart;
    work.items = pairs * static_cast<double>(g.in_group() * g.taps());
  } else if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
    family = Family::kSparseStart;
    work.items = pairs * static_cast<double>(sparse->column.size()) / region.out;
  }
  add(family, code.function, out.kernel, tiles, work, lanes_, rows_set_);
  if (!out.add) clear(step, share(term.input) * term.in, tiles);
}

double StepCoster::share(LayerId tensor) const {
  const auto found = shares_.find(tensor);
  return found == shares_.end() ? 1 : found->second;
}

// Half of the stable neurons are assumed to be positive.
double StepCoster::live_pixels(const BackwardRows& step, LayerId tensor) const {
  const auto link = std::ranges::find(step.links, tensor, &BackwardLink::layer);
  if (link == step.links.end() || link->live == BufferId::kNone) return 1;
  const std::optional<LayerId> chooser = chooser_of(plan_, tensor);
  const double read = chooser ? std::min(1.0, 1.0 * layer(*chooser).out / layer(tensor).out) : 1;
  return read * (1 - (1 - kUnstableShare) / 2);
}

// The work of clearing a result that a routine adds to.
void StepCoster::clear(const BackwardRows& step, double elements, double tiles) {
  Work work;
  work.items = elements * row_vectors(step.tile);
  also(Family::kClear, tiles, work);
}

void StepCoster::dense_link(const BackwardRows& step, const BackwardLink& link, double tiles) {
  const Kernel& code = kernel(link.kernel);
  const int lanes = code.schedule.lanes;
  const double vectors = 1.0 * code.rows / lanes;
  const double out = code.out * (code.live_out ? live_share(link.layer) : 1);
  double in = code.in;
  if (code.live_in) {  // whole register tiles
    const double tile = std::max(1, code.schedule.columns);
    in = std::min(in, divided_up(in * live_share(layer(link.layer).input), tile) * tile);
  }
  const double blocks = divided_up(out, std::max(1, code.schedule.chunk));
  Work relaxation;
  relaxation.items = out * row_vectors(code.rows);
  relaxation.float32 = 5.0 * out * code.rows;
  relaxation.slots32 = 0;

  // Full register tiles, then what is left: fewer accumulators than hide the latency, or fewer
  // products than loads. A load, of a vector of coefficients or of a weight for all lanes, takes
  // 1.3 times as long as a product: measured on Zen 5 on tiles of one vector, which do 71 % of the
  // peak where those of two do 96 %.
  constexpr double kLoad = 1.3;
  const int columns = std::max(1, code.schedule.columns);
  const double full = std::floor(in / columns);
  const double rest = in - full * columns;
  const auto tile_slots = [&](double width) {
    const double loads = lanes > 1 ? kLoad * (width + vectors) : 0;
    return width > 0 ? std::max({width * vectors, 1.0 * profile_.chains, loads}) : 0;
  };
  const double slots = 2.0 * out * (full * tile_slots(columns) + tile_slots(rest));
  Work product;
  const double flops = 2.0 * in * out * code.rows;
  if (code.wide) {
    product.float64 = flops;
    product.slots64 = slots * lanes;
  } else {
    product.float32 = flops;
    product.slots32 = slots * lanes;
  }
  product.bytes = bytes_of_layer(link.layer) * out / code.out * in / code.in +
                  tile_bytes(step, in) + tile_bytes(step, out);
  product.items = blocks * in * row_vectors(code.rows);
  add(code.wide ? Family::kBackwardWide : Family::kBackwardAffine, code.function, link.kernel,
      tiles, product, code.wide && lanes > 1 ? 2 * lanes : lanes, rows_set_);
  also(Family::kRelaxation, tiles, relaxation);
  if (starts_in_first_link(step) && &link == &step.links.front()) {
    Work chosen;  // where each row's weights are in the vectors that are permuted
    chosen.items = step.tile;
    also(Family::kStartRows, tiles, chosen);
  }
  if (link.sum == BufferId::kNone) return;
  Work sum;
  sum.items = layer(link.layer).in * row_vectors(step.tile);
  add(Family::kAddRows, "add_rows", -1, tiles, sum);
}

void StepCoster::sum_link(const BackwardRows& step, const BackwardLink& link, double tiles) {
  const Layer& region = layer(link.layer);
  const Kernel& code = kernel(link.kernel);
  Work relaxation;
  const double passed = share(link.layer) * live_pixels(step, link.layer) * region.out;
  relaxation.items = passed * row_vectors(step.tile);
  relaxation.bytes = 2 * tile_bytes(step, passed);
  if (region.kind != LayerKind::kMax && region.kind != LayerKind::kLogSoftmax)
    add(region.is_affine() ? Family::kRelaxRows : Family::kProductRows, code.function, link.kernel,
        tiles, relaxation, lanes_, rows_set_);
  for (const BackwardOut& out : link.outs) term_back(step, link.layer, out, tiles);
}

// Products pair outputs in the window of the layer with inputs in that of the tensor.
void StepCoster::conv_back(const BackwardRows& step, LayerId index, const BackwardOut& target,
                           double tiles) {
  const Layer& region = layer(index);
  const Term& term = region.term(target.term);
  const ConvGeometry& g = std::get<ConvMap>(term.map).geometry;
  const Kernel& code = kernel(target.kernel);
  const ConvWork runs = conv_work(g);
  const double live_out = target.live ? live_pixels(step, index) : 1;
  const double live_in = target.live ? live_pixels(step, term.input) : 1;
  const double of_out = share(index) * live_out, of_in = share(term.input) * live_in;
  const double channels = std::max(1.0, live_in * static_cast<double>(tiled_channels(g)));
  const double readers = static_cast<double>(g.out_channels / g.groups);
  const double vectors = row_vectors(step.tile);
  const double sums = code.schedule.vectors;
  const bool portable = code.schedule.pixels == 0;
  const double most = portable      ? 1
                      : target.live ? code.schedule.last_columns
                                    : code.schedule.columns;
  const double pixels = portable || target.live ? 1 : code.schedule.pixels;
  const double blocks = std::floor(channels / most), rest = std::fmod(channels, most);
  Work work;
  const int stored = target.spread ? 0 : target.add ? 2 : 1;
  work.bytes = tile_bytes(step, of_out * region.out) + stored * tile_bytes(step, of_in * term.in);
  const double flops = 2 * runs.products * step.tile * of_out * live_in;
  (code.wide ? work.float64 : work.float32) = flops;
  // Half of the latency (in the logarithm) is hidden by work on the next tile.
  const auto time_of = [&](double columns) {
    const double count = columns * sums * pixels;
    return columns * sums * std::sqrt(std::max(1.0, profile_.chains / std::max(1.0, count)));
  };
  const double slots = blocks * time_of(most) + time_of(rest);
  (code.wide ? work.slots64 : work.slots32) = flops * slots / (channels * sums);
  // Channels that lie a multiple of a page apart fall into the same few lines of the first cache:
  // every block reads the coefficients of all its products from further away. Coefficients of
  // tensors with windows lie pixel by pixel.
  const double tilings = blocks + (rest > 0 ? 1 : 0);
  if (shares_.count(index) == 0 && readers > kWays && 4 * step.tile * g.out.channel % kPage == 0)
    work.bytes = std::max(work.bytes, flops / 2 * 4 / channels * tilings);
  work.groups = static_cast<double>(g.batch * g.in_channels) / channels * tilings / pixels *
                runs.taps * of_out * (code.wide ? 1 : divided_up(readers, bf::kConvChain));
  work.items = of_in * term.in * vectors;
  add(code.wide ? Family::kConvWide : Family::kConvBackward, code.function, target.kernel, tiles,
      work, lanes_, rows_set_);
}

void StepCoster::term_back(const BackwardRows& step, LayerId index, const BackwardOut& target,
                           double tiles) {
  const Layer& region = layer(index);
  const Term& term = region.term(target.term);
  if (std::holds_alternative<ConvMap>(term.map) && region.kind == LayerKind::kSum)
    return conv_back(step, index, target, tiles);
  const Kernel& code = kernel(target.kernel);
  const double vectors = row_vectors(step.tile);
  Work work;
  work.bytes = tile_bytes(step, share(index) * region.out) +
               (target.add ? 2 : 1) * tile_bytes(step, share(term.input) * term.in);
  Family family = Family::kGatherBackward;
  double entries = share(index) * region.out;
  if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
    family = Family::kSparseBackward;
    entries = static_cast<double>(sparse->column.size());
  }
  if (region.kind == LayerKind::kProduct) family = Family::kProductBackward;
  if (region.kind == LayerKind::kContraction) {  // products as of a dense layer
    family = Family::kProductBackward;
    entries = static_cast<double>(term.in);
    work.float32 = 2.0 * static_cast<double>(region.contraction.products()) * step.tile;
    work.slots32 = work.float32;
  }
  if (region.kind == LayerKind::kMax) {
    family = Family::kMaxBackward;
    entries = region.out;
  }
  if (region.kind == LayerKind::kLogSoftmax) {  // two passes
    family = Family::kMaxBackward;
    entries = 2.0 * region.out;
  }
  work.items = entries * vectors;
  work.groups = entries;
  add(family, code.function, target.kernel, tiles, work, lanes_, rows_set_);
  if (!target.add) clear(step, share(term.input) * term.in, tiles);
}

}  // namespace bf_aot
