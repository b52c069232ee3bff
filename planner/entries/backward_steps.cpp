#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/diagnostic.h"
#include "planner/entries/entry_builder.h"
#include "planner/entries/row_images.h"

// Backward rows over the graph of tensors. Proof of every constant: docs/proofs/backward-pass.md.

namespace bf_aot {
namespace {

constexpr int kWideLinks = 3;  // heads behind as many links sum in double

// A thousand layers whose rows all go back to the box. Work and memory grow with the links, which
// are as many as the square of the layers.
constexpr std::int64_t kMostLinks = std::int64_t{1} << 19;

}  // namespace

// Each tensor's coefficients have a buffer of their own, from the first layer that writes them to
// the link of the layer that makes the tensor. Storage lets them share bytes.
class BackwardSteps::CoefficientSlots {
 public:
  CoefficientSlots(BackwardSteps& builder, std::string name, int tile)
      : builder_(builder), name_(std::move(name)), tile_(tile) {}

  bool holds(LayerId tensor) const { return of_tensor_.contains(tensor); }

  BufferId of(LayerId tensor) const { return of_tensor_.at(tensor); }

  BufferId acquire(LayerId tensor) { return of_tensor_[tensor] = scratch(tensor); }

  // Coefficients that are never stored.
  void pass_by(LayerId tensor) { of_tensor_[tensor] = BufferId::kNone; }

  void release(LayerId tensor) { of_tensor_.erase(tensor); }

  // Coefficients over a tensor that are added to those that it has.
  BufferId scratch(LayerId tensor) {
    const std::string over = tensor < 0 ? "box" : builder_.layer(tensor).name;
    return builder_.buffer(fmt::format("{}_over_{}", name_, over), Element::kFloat32,
                           std::int64_t{builder_.elements(tensor)} * tile_);
  }

 private:
  BackwardSteps& builder_;
  std::string name_;
  int tile_;
  std::map<LayerId, BufferId> of_tensor_;
};

// The layers that a layer's bounds depend on, itself left out.
PerLayer<bool> BackwardSteps::cone_of(LayerId index) const {
  PerLayer<bool> cone(plan_.layers.size(), false);
  cone[index] = true;
  for (const LayerId i : layer_range(0, index.next()).reversed()) {
    if (!cone[i]) continue;
    for (const LayerId input : inputs_of(layer(i)))
      if (input >= 0) cone[input] = true;
  }
  cone[index] = false;
  return cone;
}

// Links on the longest way from a layer to the box.
int BackwardSteps::longest_path(LayerId index) const {
  PerLayer<int> length(plan_.layers.size(), 0);
  for (const LayerId i : layer_range(0, index.next()))
    for (const LayerId input : inputs_of(layer(i)))
      if (input >= 0) length[i] = std::max(length[i], length[input] + 1);
  return length[index];
}

std::vector<BackwardOut> BackwardSteps::outs(LayerId index, CoefficientSlots& slots) {
  std::vector<BackwardOut> made;
  const Layer& region = layer(index);
  for (int t = 0; t < static_cast<int>(region.terms.size()); ++t) {
    const LayerId input = region.term(t).input;
    BackwardOut out;
    out.term = t;
    out.add = slots.holds(input);
    out.coefficients = out.add ? slots.of(input) : slots.acquire(input);
    made.push_back(out);
  }
  return made;
}

bool BackwardSteps::can_start_in_first_link(LayerId index, const BackwardRows& step) const {
  const Layer& region = layer(index);
  return region.kind == LayerKind::kDense && region.input >= 0 && !step.wide &&
         step.iterations == 0 && !gains_in_ball(region.input) &&
         lowering_.has_first_link(region.input, step.tile);
}

// The lines of ReLUs alone have gaps that gains are known of.
bool BackwardSteps::gains_in_ball(LayerId index) const {
  return relaxed_[index].reach != BufferId::kNone && layer(index).relu;
}

// Rows of the target's own weights.
void BackwardSteps::start(LayerId index, BackwardRows& step, CoefficientSlots& slots) {
  if (can_start_in_first_link(index, step))
    slots.pass_by(layer(index).input);
  else if (layer(index).kind == LayerKind::kDense)
    step.coefficients = slots.acquire(layer(index).input);
  else
    step.starts = outs(index, slots);
}

BackwardLink BackwardSteps::link(LayerId index, CoefficientSlots& slots) {
  const Layer& region = layer(index);
  const Relaxed& state = relaxed_[index];
  BackwardLink made;
  made.layer = index;
  made.table = state.table;
  made.slack = state.slack;
  made.choice = state.choice;
  made.coefficients_in = slots.of(index);
  if (gains_in_ball(index)) made.ball = {state.reach, state.centre, state.below, state.above};
  if (region.kind != LayerKind::kDense) {
    made.outs = outs(index, slots);
  } else if (slots.holds(region.input)) {
    made.sum = slots.of(region.input);
    made.coefficients_out = slots.scratch(region.input);
  } else {
    made.coefficients_out = slots.acquire(region.input);
  }
  slots.release(index);
  return made;
}

// Factor on the computed end of rows over the input's set, which pays for its roundings. For other
// sets than the box: docs/proofs/balls.md.
double BackwardSteps::concretize_inflate(bool wide) const {
  if (plan_.one_hot.size > 0) return 1;  // one_hot_slack pays
  const double inputs = plan_.input_count;
  // A sum of |A_k| r_k is at most so many times the dual norm of (A_k r_k).
  const double norms = config_.norm == Norm::kLargest  ? 1
                       : config_.norm == Norm::kEuclid ? std::sqrt(inputs) * (1 + 0x1p-50)
                                                       : inputs;
  const double chain = config_.norm == Norm::kLargest  ? inflate_float(plan_.input_count + 2) - 1
                       : config_.norm == Norm::kEuclid ? inflate_float(plan_.input_count + 8) - 1
                                                       : inflate_float(4) - 1;
  const double centre = config_.norm == Norm::kLargest ? 0 : 0x1p-22 * norms;
  const double stored = wide ? 2 * kUnitFloat * norms : 0;
  return (1 + drop(ErrorTerm::kConcretize, chain)) * (1 + drop(ErrorTerm::kConcretize, centre)) *
         (1 + drop(ErrorTerm::kCoefficient, stored));
}

// What the computed end of rows over one-hot inputs may miss, times sum_k |A_k| r_k:
// docs/proofs/one-hot.md.
double BackwardSteps::one_hot_slack(bool wide) const {
  if (plan_.one_hot.size == 0) return 0;
  const double ends = 0x1p-22 + (plan_.input_count + 16.0) * 0x1p-50;
  return drop(ErrorTerm::kConcretize, ends) +
         drop(ErrorTerm::kCoefficient, wide ? 2 * kUnitFloat : 0);
}

void BackwardSteps::add_row_errors(LayerId index, BackwardRows& step) {
  const Layer& region = layer(index);
  step.concretize_inflate = concretize_inflate(step.wide);
  step.one_hot_slack = one_hot_slack(step.wide);
  step.underflow = drop(ErrorTerm::kUnderflow, 0x1p-147);
  step.weight_relative = drop(ErrorTerm::kWeightRounding, region.errors.weight_relative);
  // The rows' own weights are rounded when other readers' coefficients are added to them: once for
  // each, relative to |W| radius.
  int adds = 0;
  for (const LayerId input : inputs_of(region)) adds = std::max(adds, readers(input) - 1);
  step.weight_relative += drop(ErrorTerm::kProduct, gamma_float(adds));
  step.inflate = radius_inflate(index);
}

bool BackwardSteps::tightens_hidden() const {
  const Method method = plan_.method_of(entry_);
  if (method != Method::kAuto) return method == Method::kCrown || method == Method::kAlphaCrown;
  for (const LayerId i : plan_.layer_ids())
    if (!is_head(i) && choice(i).domain != Domain::kInterval) return true;
  return false;
}

// Buffers and constants of rows, before where they go.
BackwardRows BackwardSteps::begin_rows(LayerId index, const Relaxed& state,
                                       const std::string& name) {
  const Layer& region = layer(index);
  BackwardRows step;
  step.layer = index;
  const DomainChoice& chosen = choice(index);
  step.unstable_only = chosen.unstable_only;
  // Only heads of deep networks pay for sums in double: their bounds show the roundings, which grow
  // with every link. Those of hidden layers do not show, nor those beside the wide intervals of
  // crown-ibp. Measured: docs/proofs/schedules.md.
  step.wide = is_head(index) && tightens_hidden() && longest_path(index) >= kWideLinks &&
              config_.target.hardware_double();
  step.tile = lowering_.row_tile(region.out, step.wide, chosen.row_tile);
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.row_slack = state.row_slack;
  step.radius = state.radius;
  step.input_radius = box_.radius;
  const int pairs = step.tile / 2;
  step.neurons = buffer(name + "_rows", Element::kInt32, (region.out + pairs - 1) / pairs * pairs);
  step.sums = buffer(name + "_sums", Element::kFloat32, std::int64_t{2} * step.tile);
  return step;
}

// Coefficients from the rows' layer through all links to the box.
void BackwardSteps::pass_back(LayerId index, BackwardRows& step, CoefficientSlots& slots) {
  start(index, step, slots);
  const PerLayer<bool> cone = cone_of(index);
  for (const LayerId i : layer_range(0, index).reversed())
    if (cone[i]) step.links.push_back(link(i, slots));
  const auto gains = [](const BackwardLink& link) { return link.ball.reach != BufferId::kNone; };
  if (step.iterations > 0)
    for (BackwardLink& link : step.links) link.ball = {};
  if (std::ranges::any_of(step.links, gains))
    step.gain = buffer(layer(index).name + "_gain", Element::kFloat32, step.tile);
  use_lists(step);
  BF_CHECK(slots.holds(kNetworkInput));
  step.input_coefficients = slots.of(kNetworkInput);
  choose_kernels(step);
}

// The box' coefficients need no memory where one convolution makes all of them, of a window, and
// the rows' sums alone read them.
void BackwardSteps::fuse_spread(BackwardRows& step) {
  if (find_image(step, kNetworkInput) == nullptr) return;
  if (step.input_coefficients != static_cast<BufferId>(entry_.buffers.size() - 1)) return;
  std::vector<std::pair<const Layer*, BackwardOut*>> readers;
  const auto find = [&](const Layer& region, std::vector<BackwardOut>& outs) {
    for (BackwardOut& out : outs)
      if (region.term(out.term).input < 0) readers.emplace_back(&region, &out);
  };
  find(layer(step.layer), step.starts);
  if (!readers.empty()) return;
  for (BackwardLink& link : step.links) find(layer(link.layer), link.outs);
  if (readers.size() != 1) return;
  const auto& [region, out] = readers.front();
  const Term& term = region->term(out->term);
  if (region->kind != LayerKind::kSum || !std::holds_alternative<ConvMap>(term.map)) return;
  out->spread = true;
  out->coefficients = step.input_coefficients = BufferId::kNone;
  buffer_names_.erase(entry_.buffers.back().name);
  entry_.buffers.pop_back();
}

// Links between dense layers leave out what lists leave out. Rows that choose slopes read all
// coefficients, and a first link that starts the rows makes all.
void BackwardSteps::use_lists(BackwardRows& step) {
  if (step.iterations > 0) return;
  const auto columns = [&](LayerId index) {  // whose link leaves them out
    const LayerId input = layer(index).kind == LayerKind::kDense ? layer(index).input : -1;
    return input >= 0 && layer(input).kind == LayerKind::kDense ? live(input) : BufferId::kNone;
  };
  if (step.coefficients != BufferId::kNone) step.live_in = columns(step.layer);
  for (BackwardLink& link : step.links) {
    if (layer(link.layer).kind == LayerKind::kDense) link.live_out = live(link.layer);
    if (link.coefficients_in != BufferId::kNone) link.live_in = columns(link.layer);
  }
}

// Chooses the kernels that carry one tile of rows.
void BackwardSteps::choose_kernels(BackwardRows& step) {
  const auto choose = [&](KernelKind kind, LayerId index, std::vector<BackwardOut>& outs) {
    for (BackwardOut& out : outs)
      out.kernel = lowering_.term(kind, index, out.term, step.tile, step.wide);
  };
  const bool in_first_link = starts_in_first_link(step);
  if (in_first_link)
    step.start = lowering_.first_link(step.layer, step.links.front().layer, step.tile,
                                      step.links.front().live_out != BufferId::kNone);
  else if (layer(step.layer).kind == LayerKind::kDense)
    step.start = lowering_.start_rows(step.layer, step.tile);
  choose(KernelKind::kTermStart, step.layer, step.starts);
  for (BackwardLink& link : step.links) {
    choose(KernelKind::kTermBackward, link.layer, link.outs);
    const Layer& region = layer(link.layer);
    if (step.iterations > 0) continue;  // choose_slopes() chooses
    link.kernel = in_first_link && &link == &step.links.front() ? step.start
                  : region.kind == LayerKind::kDense
                      ? lowering_.backward(link.layer, step.tile,
                                           {.wide = step.wide,
                                            .live_out = link.live_out != BufferId::kNone,
                                            .live_in = link.live_in != BufferId::kNone})
                      : lowering_.relax_rows(link.layer, step.tile, step.wide);
  }
  step.concretize = lowering_.concretize(step.tile);
}

// Code for fewer rows, where a smaller tile in the end saves work. Not where each tile makes tables
// anew: that is what counts there.
void BackwardSteps::end_smaller(BackwardRows& step) {
  for (const BackwardLink& link : step.links)
    if (!link.remake.empty()) return;
  const int tile =
      lowering_.last_tile(layer(step.layer).out, !step.unstable_only, step.wide, step.tile);
  if (tile == 0) return;
  BackwardRows last = step;
  last.tile = tile;
  choose_kernels(last);
  step.last = {std::move(last)};
}

// Throws: BF2108.
void BackwardSteps::check_links() const {
  std::int64_t links = 0;
  for (const LayerId i : plan_.layer_ids()) {
    const Domain domain = choice(i).domain;
    if (!is_needed(i) || (domain != Domain::kBackward && domain != Domain::kOptimised)) continue;
    links += std::ranges::count(cone_of(i), true);
    if (links > kMostLinks)
      fail(
          "BF2108", layer(i).origin,
          fmt::format("backward rows up to this layer pass more than {} layers in all", kMostLinks),
          "--method crown-ibp starts rows at the outputs alone, ibp has none");
  }
}

void BackwardSteps::tighten(LayerId index, const Relaxed& state) {
  const std::string& name = layer(index).name;
  BackwardRows step = begin_rows(index, state, name);
  CoefficientSlots slots(*this, name, step.tile);
  pass_back(index, step, slots);
  // Balls and one-hot inputs have no windows: they end in sums of their own.
  if (plan_.is_of_boxes()) step.images = row_images(plan_, step);
  fuse_spread(step);
  remake_tables(name, step);
  add_row_errors(index, step);
  end_smaller(step);
  entry_.steps.push_back(std::move(step));
}

// ---- rows that choose slopes: docs/proofs/optimised-slopes.md

// Passes the rows of tighten() again, with slopes of their own. Each tensor keeps its coefficients,
// which the gradient of the slopes needs.
void BackwardSteps::tighten_optimised(LayerId index, const Relaxed& state) {
  const std::string name = layer(index).name + "_free";
  BackwardRows step = begin_rows(index, state, name);
  step.iterations = config_.iterations;
  CoefficientSlots slots(*this, name, step.tile);
  pass_back(index, step, slots);
  choose_slopes(name, step);
  if (step.iterations > 1) walk_forward(name, step);
  add_row_errors(index, step);
  entry_.steps.push_back(std::move(step));
}

}  // namespace bf_aot
