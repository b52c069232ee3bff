#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/diagnostic.h"
#include "planner/entry_builder.h"

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
    made.kernel = lowering_.backward(index, step.tile, step.wide);
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

void EntryBuilder::add_row_errors(int index, const std::vector<bool>& cone, BackwardRows& step) {
  const Layer& region = layer(index);
  int terms = 0;
  double in_double = 1;
  for (int i = 0; i < layer_count(); ++i) {
    if (!cone[static_cast<std::size_t>(i)]) continue;
    if (layer(i).kind == LayerKind::kDense) {
      terms += layer(i).out;
    } else {  // summed in double, rounded when added to the others
      terms += 2;
      in_double = std::max(in_double, 1 + gamma_double(layer(i).out + 4));
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
  if (config_.method != Method::kAuto) return config_.method == Method::kCrown;
  for (int i = 0; i < layer_count(); ++i)
    if (!is_head(i) && plan_.domains[static_cast<std::size_t>(i)].domain != Domain::kInterval)
      return true;
  return false;
}

void EntryBuilder::tighten(int index, const Relaxed& state) {
  const Layer& region = layer(index);
  BackwardRows step;
  step.layer = index;
  const DomainChoice& choice = plan_.domains[static_cast<std::size_t>(index)];
  step.unstable_only = choice.unstable_only;
  step.tile = lowering_.row_tile(region.out, choice.row_tile);
  // What rounding costs a head is seen in its bounds, and it grows with every link; what it costs a
  // hidden layer is not, nor next to the wide intervals of crown-ibp. Measured: note [schedules].
  step.wide = is_head(index) && tightens_hidden() && longest_path(index) >= kWideLinks &&
              config_.target.hardware_double;
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.slack = state.slack;
  step.radius = state.radius;
  step.input_radius = box_.radius;
  const int pairs = step.tile / 2;
  step.neurons =
      buffer(region.name + "_rows", Element::kInt32, (region.out + pairs - 1) / pairs * pairs);
  step.sums = buffer(region.name + "_sums", Element::kFloat32, std::int64_t{3} * step.tile);

  CoefficientSlots slots(*this, region.name, step.tile);
  start(index, step, slots);
  const std::vector<bool> cone = cone_of(index);
  for (int i = index - 1; i >= 0; --i)
    if (cone[static_cast<std::size_t>(i)]) step.links.push_back(link(i, step, slots));
  BF_CHECK(slots.holds(-1));
  step.input_coefficients = slots.of(-1);
  step.concretize = lowering_.concretize(step.tile);
  add_row_errors(index, cone, step);
  entry_.steps.push_back(std::move(step));
}

}  // namespace bf
