#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/diagnostic.h"
#include "planner/entry_builder.h"
#include "planner/row_images.h"

// Backward rows over the graph of tensors. Proof of every constant: note [backward pass] in
// DESIGN.md.

namespace bf {
namespace {

constexpr double kUnitFloat = 0x1p-24;
constexpr int kWideLinks = 3;  // heads behind as many links sum in double

}  // namespace

// Each tensor's coefficients have a buffer of their own, from the first layer that writes them to
// the link of the layer that makes the tensor. Storage lets them share bytes.
class EntryBuilder::CoefficientSlots {
 public:
  CoefficientSlots(EntryBuilder& builder, std::string name, int tile)
      : builder_(builder), name_(std::move(name)), tile_(tile) {}

  bool holds(int tensor) const { return of_tensor_.contains(tensor); }

  BufferId of(int tensor) const { return of_tensor_.at(tensor); }

  BufferId acquire(int tensor) { return of_tensor_[tensor] = scratch(tensor); }

  void release(int tensor) { of_tensor_.erase(tensor); }

  // Coefficients over a tensor that are added to those that it has.
  BufferId scratch(int tensor) {
    const std::string over = tensor < 0 ? "box" : builder_.layer(tensor).name;
    return builder_.buffer(fmt::format("{}_over_{}", name_, over), Element::kFloat32,
                           std::int64_t{builder_.elements(tensor)} * tile_);
  }

 private:
  EntryBuilder& builder_;
  std::string name_;
  int tile_;
  std::map<int, BufferId> of_tensor_;
};

// Values of tensors while they are walked through. Buffers are as large as the largest tensor that
// they hold in turn.
class EntryBuilder::ValueSlots {
 public:
  ValueSlots(EntryBuilder& builder, std::string name, int tile)
      : builder_(builder), name_(std::move(name)), tile_(tile) {}

  // A buffer that is not in use.
  BufferId acquire(int tensor) {
    const std::size_t slot = take(builder_.elements(tensor));
    of_tensor_[tensor] = slot;
    return slots_[slot].id;
  }

  void release(int tensor) {
    slots_[of_tensor_.at(tensor)].busy = false;
    of_tensor_.erase(tensor);
  }

 private:
  struct Slot {
    BufferId id;
    bool busy = false;
  };

  std::int64_t& count_of(const Slot& slot) {
    return builder_.entry_.buffers[static_cast<std::size_t>(slot.id)].count;
  }

  // The free buffer that must grow least; of those that need not grow the smallest.
  std::size_t take(int elements) {
    const std::int64_t wanted = std::int64_t{elements} * tile_;
    std::size_t best = slots_.size();
    const auto cost = [&](std::size_t i) {
      const std::int64_t count = count_of(slots_[i]);
      return std::pair(std::max<std::int64_t>(0, wanted - count), count);
    };
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (!slots_[i].busy && (best == slots_.size() || cost(i) < cost(best))) best = i;
    if (best == slots_.size()) {
      const std::string suffix = best == 0 ? "" : fmt::format("_{}", best + 1);
      slots_.push_back({builder_.buffer(name_ + suffix, Element::kFloat32, wanted)});
    }
    slots_[best].busy = true;
    count_of(slots_[best]) = std::max(count_of(slots_[best]), wanted);
    return best;
  }

  EntryBuilder& builder_;
  std::string name_;
  int tile_;
  std::vector<Slot> slots_;
  std::map<int, std::size_t> of_tensor_;
};

// The layers that a layer's bounds depend on, itself left out.
std::vector<bool> EntryBuilder::cone_of(int index) const {
  std::vector<bool> cone(plan_.layers.size(), false);
  cone[static_cast<std::size_t>(index)] = true;
  for (int i = index; i >= 0; --i) {
    if (!cone[static_cast<std::size_t>(i)]) continue;
    for (const int input : inputs_of(layer(i)))
      if (input >= 0) cone[static_cast<std::size_t>(input)] = true;
  }
  cone[static_cast<std::size_t>(index)] = false;
  return cone;
}

// Links on the longest way from a layer to the box.
int EntryBuilder::longest_path(int index) const {
  std::vector<int> length(static_cast<std::size_t>(index) + 1, 0);
  for (int i = 0; i <= index; ++i)
    for (const int input : inputs_of(layer(i)))
      if (input >= 0)
        length[static_cast<std::size_t>(i)] = std::max(length[static_cast<std::size_t>(i)],
                                                       length[static_cast<std::size_t>(input)] + 1);
  return length.back();
}

std::vector<BackwardOut> EntryBuilder::outs(KernelKind kind, int index, const BackwardRows& step,
                                            CoefficientSlots& slots) {
  std::vector<BackwardOut> made;
  const Layer& region = layer(index);
  for (int t = 0; t < static_cast<int>(region.terms.size()); ++t) {
    const int input = region.terms[static_cast<std::size_t>(t)].input;
    BackwardOut out;
    out.term = t;
    out.add = slots.holds(input);
    out.coefficients = out.add ? slots.of(input) : slots.acquire(input);
    out.kernel = lowering_.term(kind, index, t, step.tile, step.wide);
    made.push_back(out);
  }
  return made;
}

// Rows of the target's own weights.
void EntryBuilder::start(int index, BackwardRows& step, CoefficientSlots& slots) {
  if (layer(index).kind == LayerKind::kDense) {
    step.coefficients = slots.acquire(layer(index).input);
    step.start = lowering_.start_rows(index, step.tile);
  } else {
    step.starts = outs(KernelKind::kTermStart, index, step, slots);
  }
}

BackwardLink EntryBuilder::link(int index, const BackwardRows& step, CoefficientSlots& slots) {
  const Layer& region = layer(index);
  const Relaxed& state = relaxed_[static_cast<std::size_t>(index)];
  BackwardLink made;
  made.layer = index;
  made.table = state.table;
  made.slack = state.slack;
  made.choice = state.choice;
  made.coefficients_in = slots.of(index);
  if (region.kind != LayerKind::kDense) {
    made.kernel = lowering_.relax_rows(index, step.tile, step.wide);
    made.outs = outs(KernelKind::kTermBackward, index, step, slots);
  } else {
    made.kernel = lowering_.backward(index, step.tile, step.wide, false);
    if (slots.holds(region.input)) {
      made.sum = slots.of(region.input);
      made.coefficients_out = slots.scratch(region.input);
    } else {
      made.coefficients_out = slots.acquire(region.input);
    }
  }
  slots.release(index);
  return made;
}

void EntryBuilder::add_row_errors(int index, BackwardRows& step) {
  const Layer& region = layer(index);
  const std::vector<bool> cone = cone_of(index);
  int terms = 0;
  double in_double = 1;
  for (int i = 0; i < layer_count(); ++i) {
    if (!cone[static_cast<std::size_t>(i)]) continue;
    if (layer(i).kind == LayerKind::kDense && step.iterations == 0) {
      terms += layer(i).out;
    } else {  // summed in double, rounded when added to the others
      terms += 2;
      if (layer(i).kind != LayerKind::kMax && layer(i).kind != LayerKind::kProduct)
        terms += LoweringPlanner::kLineChain + 1;
      const int products = step.iterations > 0 ? 2 : 1;  // of a neuron, in one sum
      in_double = std::max(in_double, 1 + gamma_double(products * layer(i).out + 4));
    }
  }
  step.sum_inflate = 1 + drop(ErrorTerm::kErrorSummation, inflate_float(terms + 4) * in_double - 1);
  step.concretize_inflate =
      (1 + drop(ErrorTerm::kConcretize, inflate_float(plan_.input_count + 2) - 1)) *
      (1 + (step.wide ? drop(ErrorTerm::kCoefficient, 2 * kUnitFloat) : 0));
  step.underflow = drop(ErrorTerm::kUnderflow, 0x1p-147);
  step.weight_relative = drop(ErrorTerm::kWeightRounding, region.errors.weight_relative);
  // The rows' own weights are rounded when other readers' coefficients are added to them: once for
  // each, relative to |W| radius.
  int adds = 0;
  for (const int input : inputs_of(region)) adds = std::max(adds, readers(input) - 1);
  step.weight_relative += drop(ErrorTerm::kProduct, gamma_float(adds));
  step.inflate = radius_inflate(index);
}

bool EntryBuilder::tightens_hidden() const {
  if (config_.method != Method::kAuto)
    return config_.method == Method::kCrown || config_.method == Method::kAlphaCrown;
  for (int i = 0; i < layer_count(); ++i)
    if (!is_head(i) && plan_.domains[static_cast<std::size_t>(i)].domain != Domain::kInterval)
      return true;
  return false;
}

// Buffers and constants of rows, before where they go.
BackwardRows EntryBuilder::begin_rows(int index, const Relaxed& state, const std::string& name) {
  const Layer& region = layer(index);
  BackwardRows step;
  step.layer = index;
  const DomainChoice& choice = plan_.domains[static_cast<std::size_t>(index)];
  step.unstable_only = choice.unstable_only;
  // What rounding costs a head is seen in its bounds, and it grows with every link; what it costs a
  // hidden layer is not, nor next to the wide intervals of crown-ibp. Measured: note [schedules].
  step.wide = is_head(index) && tightens_hidden() && longest_path(index) >= kWideLinks &&
              config_.target.hardware_double;
  step.tile = lowering_.row_tile(region.out, step.wide, choice.row_tile);
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.slack = state.slack;
  step.radius = state.radius;
  step.input_radius = box_.radius;
  const int pairs = step.tile / 2;
  step.neurons = buffer(name + "_rows", Element::kInt32, (region.out + pairs - 1) / pairs * pairs);
  step.sums = buffer(name + "_sums", Element::kFloat32, std::int64_t{3} * step.tile);
  return step;
}

// Coefficients from the rows' layer through all links to the box.
void EntryBuilder::pass_back(int index, BackwardRows& step, CoefficientSlots& slots) {
  start(index, step, slots);
  const std::vector<bool> cone = cone_of(index);
  for (int i = index - 1; i >= 0; --i)
    if (cone[static_cast<std::size_t>(i)]) step.links.push_back(link(i, step, slots));
  BF_CHECK(slots.holds(-1));
  step.input_coefficients = slots.of(-1);
  step.concretize = lowering_.concretize(step.tile);
}

void EntryBuilder::tighten(int index, const Relaxed& state) {
  const std::string& name = layer(index).name;
  BackwardRows step = begin_rows(index, state, name);
  CoefficientSlots slots(*this, name, step.tile);
  pass_back(index, step, slots);
  remake_tables(name, step);
  step.images = row_images(plan_, step);
  add_row_errors(index, step);
  entry_.steps.push_back(std::move(step));
}

// ---- rows that choose slopes: note [optimised slopes] in DESIGN.md

void EntryBuilder::mark_free_slopes() {
  free_slopes_.assign(plan_.layers.size(), false);
  if (entry_.kind == EntryKind::kEvaluate) return;
  for (int i = 0; i < layer_count(); ++i) {
    if (!is_needed(i) || plan_.domains[static_cast<std::size_t>(i)].domain != Domain::kOptimised)
      continue;
    const std::vector<bool> cone = cone_of(i);
    for (int below = 0; below < i; ++below)
      if (cone[static_cast<std::size_t>(below)] && layer(below).relu)
        free_slopes_[static_cast<std::size_t>(below)] = true;
  }
}

// The same rows again, with coefficients kept apart for each tensor: the slopes' gradient needs
// them.
void EntryBuilder::tighten_optimised(int index, const Relaxed& state) {
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

void EntryBuilder::choose_slopes(const std::string& name, BackwardRows& step) {
  std::int64_t widest = 0;
  for (const BackwardLink& link : step.links)
    if (layer(link.layer).is_affine())
      widest = std::max<std::int64_t>(widest, elements(link.layer));
  const BufferId relaxed = buffer(name + "_relaxed", Element::kFloat32, widest * step.tile);
  for (BackwardLink& link : step.links) {
    const Layer& region = layer(link.layer);
    if (!region.is_affine()) continue;
    link.relaxed = relaxed;
    const KernelId relax = region.relu ? lowering_.relax_free_rows(link.layer, step.tile, step.wide)
                                       : lowering_.relax_rows(link.layer, step.tile, step.wide);
    if (region.kind == LayerKind::kDense) {
      link.relax = relax;
      link.kernel = lowering_.backward(link.layer, step.tile, step.wide, true);
    } else {
      link.kernel = relax;
    }
    if (!region.relu) continue;
    const std::int64_t count = std::int64_t{region.out} * step.tile;
    const std::string prefix = name + "_" + region.name;
    link.slopes.table = relaxed_[static_cast<std::size_t>(link.layer)].slopes;
    link.slopes.slope = buffer(prefix + "_slope", Element::kFloat32, count);
    if (step.iterations == 1) continue;
    link.slopes.mean = buffer(prefix + "_mean", Element::kFloat32, count);
    link.slopes.square = buffer(prefix + "_square", Element::kFloat32, count);
  }
}

// From the box up to the last layer with slopes: each row's own point.
void EntryBuilder::walk_forward(const std::string& name, BackwardRows& step) {
  std::vector<int> readers(plan_.layers.size() + 1, 0);  // that are walked through
  for (const BackwardLink& link : step.links) {
    const bool walked = link.slopes.table != BufferId::kNone ||
                        readers[static_cast<std::size_t>(link.layer + 1)] > 0;
    if (!walked) continue;
    for (const int input : inputs_of(layer(link.layer)))
      ++readers[static_cast<std::size_t>(input + 1)];
  }
  ValueSlots slots(*this, name + "_values", step.tile);
  step.input_values = slots.acquire(-1);
  for (auto link = step.links.rbegin(); link != step.links.rend(); ++link) {
    const int index = link->layer;
    const bool chosen = link->slopes.table != BufferId::kNone;
    if (!chosen && readers[static_cast<std::size_t>(index + 1)] == 0) continue;
    link->values = slots.acquire(index);
    if (layer(index).kind == LayerKind::kDense)
      link->forward = {lowering_.forward_rows(index, -1, step.tile)};
    else if (layer(index).kind == LayerKind::kSum)
      for (int t = 0; t < static_cast<int>(layer(index).terms.size()); ++t)
        link->forward.push_back(lowering_.forward_rows(index, t, step.tile));
    link->step = lowering_.step_slopes(index, step.tile, chosen);
    for (const int input : inputs_of(layer(index)))
      if (--readers[static_cast<std::size_t>(input + 1)] == 0) slots.release(input);
    if (readers[static_cast<std::size_t>(index + 1)] == 0) slots.release(index);
  }
}

}  // namespace bf
