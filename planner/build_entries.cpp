#include "planner/build_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"
#include "planner/error_terms.h"

namespace bf {
namespace {

constexpr double kUnitFloat = 0x1p-24;
constexpr int kWideLinks = 3;  // heads behind as many links sum in double

// Bounds of a layer's activations, as its readers see them.
struct Activation {
  BufferId centre = BufferId::kNone, radius = BufferId::kNone;
};

// State of a pre-activation that backward steps read.
struct Relaxed {
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
  BufferId radius = BufferId::kNone, slack = BufferId::kNone, table = BufferId::kNone;
};

class EntryBuilder {
 public:
  EntryBuilder(Plan& plan, LoweringPlanner& lowering, EntryKind kind)
      : plan_(plan), config_(plan.config), lowering_(lowering) {
    entry_.kind = kind;
  }

  Entry build() {
    const std::vector<int>& heads =
        entry_.kind == EntryKind::kSpecBounds ? plan_.spec_heads : plan_.output_heads;
    mark_needed(heads);
    if (entry_.kind == EntryKind::kEvaluate)
      build_evaluate();
    else if (config_.method == Method::kIbp)
      build_interval();
    else
      build_backward();
    return std::move(entry_);
  }

 private:
  const Layer& layer(int index) const { return plan_.layers[static_cast<std::size_t>(index)]; }

  int layer_count() const { return static_cast<int>(plan_.layers.size()); }

  // Heads are copied to the caller in order; `position_` is where each starts.
  void mark_needed(const std::vector<int>& heads) {
    needed_.assign(plan_.layers.size(), false);
    position_.assign(plan_.layers.size(), -1);
    int position = 0;
    for (const int head : heads) {
      position_[static_cast<std::size_t>(head)] = position;
      position += layer(head).out;
      for (int i = head; i >= 0; i = layer(i).input) needed_[static_cast<std::size_t>(i)] = true;
    }
  }

  bool is_needed(int index) const { return needed_[static_cast<std::size_t>(index)]; }
  int position(int index) const { return position_[static_cast<std::size_t>(index)]; }
  bool is_head(int index) const { return position(index) >= 0; }

  bool has_reader(int index) const {
    for (int i = 0; i < layer_count(); ++i)
      if (is_needed(i) && layer(i).input == index) return true;
    return false;
  }

  BufferId buffer(std::string name, Element element, std::int64_t count) {
    Buffer made;
    made.name = std::move(name);
    made.element = element;
    made.count = count;
    entry_.buffers.push_back(std::move(made));
    return static_cast<BufferId>(entry_.buffers.size() - 1);
  }

  // Neurons of a layer as the lanes of its kernels write them: padded to whole panels.
  int padded(int index) const {
    const int panel = plan_.layouts[static_cast<std::size_t>(index)].panel;
    return (layer(index).out + panel - 1) / panel * panel;
  }

  double drop(ErrorTerm which, double value) const { return term(config_, which, value); }

  // Rounding of one float32 dot product over this layer's inputs, with its weights' own rounding.
  double product_gamma(int index, int depth, ErrorTerm which) const {
    return drop(which, gamma_float(depth)) +
           drop(ErrorTerm::kWeightRounding, layer(index).errors.weight_relative);
  }

  // What undoes the rounding of a layer's computed interval radius.
  double radius_inflate(int index) {
    const int depth = lowering_.forward_depth(KernelKind::kCentreAffine, index);
    return (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) * (1 + 0x1p-40);
  }

  // The gamma that every interval reader of `index` (-1: the box) needs folded into the radius.
  double reader_gamma(int index) {
    double gamma = 0;
    for (int i = 0; i < layer_count(); ++i) {
      if (!is_needed(i) || layer(i).input != index) continue;
      gamma =
          std::max(gamma, product_gamma(i, lowering_.forward_depth(KernelKind::kIntervalAffine, i),
                                        ErrorTerm::kSummation));
    }
    return gamma * (1 + 8 * kUnitFloat);
  }

  void build_interval();
  void interval_affine(int index, const Activation& in, const Activation& out);
  void build_backward();
  void build_evaluate();
  void centre_affine(int index, const Activation& in, Relaxed& state);
  void tighten(int index, const Relaxed& state);
  void relax(int index, Relaxed& state, Activation& out);

  Plan& plan_;
  const PlannerConfig& config_;
  LoweringPlanner& lowering_;
  Entry entry_;
  std::vector<bool> needed_;
  std::vector<int> position_;
  std::vector<Relaxed> relaxed_;  // backward methods: per layer
  Activation box_;
};

// ---- ibp. Proof of every constant: note [interval pass] in DESIGN.md.

void EntryBuilder::build_interval() {
  std::vector<Activation> made(plan_.layers.size());
  Activation box{buffer("box_centre", Element::kFloat32, plan_.input_count),
                 buffer("box_radius", Element::kFloat32, plan_.input_count)};
  entry_.steps.push_back(
      BindBox{box.centre, box.radius, reader_gamma(-1), lowering_.bind(KernelKind::kBindFloat)});
  for (int i = 0; i < layer_count(); ++i) {
    if (!is_needed(i)) continue;
    const int input = layer(i).input;
    const Activation in = input < 0 ? box : made[static_cast<std::size_t>(input)];
    if (is_head(i)) interval_affine(i, in, {});
    if (!has_reader(i)) continue;
    const std::string& name = layer(i).name;
    Activation& out = made[static_cast<std::size_t>(i)];
    out = {buffer(name + "_centre", Element::kFloat32, padded(i)),
           buffer(name + "_radius", Element::kFloat32, padded(i))};
    interval_affine(i, in, out);
  }
}

// One region; to the caller when `out` has no buffers.
void EntryBuilder::interval_affine(int index, const Activation& in, const Activation& out) {
  const Layer& region = layer(index);
  const AffineErrors& errors = region.errors;
  const bool head = out.centre == BufferId::kNone;
  IntervalAffine step;
  step.layer = index;
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.position = head ? position(index) : 0;
  step.gamma = head ? 0 : reader_gamma(index);
  step.kernel = lowering_.forward(KernelKind::kIntervalAffine, index, region.relu, head);
  const int depth = lowering_.kernel(step.kernel).depth;
  step.inflate = (1 + drop(ErrorTerm::kWeightRounding, errors.weight_relative)) *
                 (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) *
                 (1 + drop(ErrorTerm::kScalar, 8 * kUnitFloat));
  step.magnitude = drop(ErrorTerm::kScalar, 4 * kUnitFloat);
  const double underflow = (2.0 * region.in + 2 + errors.row_norm) * 0x1p-147;
  step.absolute = (drop(ErrorTerm::kBiasRounding, errors.bias_float) +
                   drop(ErrorTerm::kUnderflow, std::max(underflow, 0x1p-100))) *
                  (1 + 16 * kUnitFloat);
  entry_.steps.push_back(step);
}

// ---- crown-ibp, crown. Proofs: notes [centre path] and [backward pass] in DESIGN.md.

void EntryBuilder::centre_affine(int index, const Activation& in, Relaxed& state) {
  const Layer& region = layer(index);
  const AffineErrors& errors = region.errors;
  state.centre = buffer(region.name + "_centre", Element::kFloat64, padded(index));
  state.radius = buffer(region.name + "_radius", Element::kFloat32, padded(index));
  state.below = buffer(region.name + "_below", Element::kFloat32, padded(index));
  state.above = buffer(region.name + "_above", Element::kFloat32, padded(index));
  state.slack = buffer(region.name + "_slack", Element::kFloat64, kSlack);
  CentreAffine step;
  step.layer = index;
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  step.centre_out = state.centre;
  step.radius_out = state.radius;
  step.below = state.below;
  step.above = state.above;
  step.slack = state.slack;
  step.kernel = lowering_.forward(KernelKind::kCentreAffine, index, false, false);
  const int depth = lowering_.kernel(step.kernel).depth;
  step.inflate = (1 + drop(ErrorTerm::kWeightRounding, errors.weight_relative)) *
                 (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) * (1 + 0x1p-40);
  step.centre_relative = (drop(ErrorTerm::kCentre, gamma_double(region.in + 8)) +
                          drop(ErrorTerm::kWeightRounding, errors.weight_residual)) *
                         (1 + 2 * errors.weight_relative) * (1 + 0x1p-40);
  step.absolute = drop(ErrorTerm::kBiasRounding, errors.bias_double) * (1 + 0x1p-40) +
                  drop(ErrorTerm::kUnderflow, (2.0 * region.in + 2 + errors.row_norm) * 0x1p-147);
  step.row_norm = errors.row_norm;
  step.bias_norm = errors.bias_norm;
  entry_.steps.push_back(step);
}

void EntryBuilder::relax(int index, Relaxed& state, Activation& out) {
  const Layer& region = layer(index);
  state.table =
      buffer(region.name + "_relaxation", Element::kFloat32, std::int64_t{kRelaxRows} * region.out);
  out = {buffer(region.name + "_activation", Element::kFloat64, region.out),
         buffer(region.name + "_activation_radius", Element::kFloat32, region.out)};
  Relax step;
  step.layer = index;
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.radius = state.radius;
  step.slack = state.slack;
  step.table = state.table;
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.product = product_gamma(index, lowering_.backward_depth(index), ErrorTerm::kProduct);
  step.wide_product = drop(ErrorTerm::kProduct, gamma_double(region.out + 2)) +
                      drop(ErrorTerm::kWeightRounding, region.errors.weight_relative);
  step.stored = drop(ErrorTerm::kCoefficient, kUnitFloat);
  step.slope = drop(ErrorTerm::kCoefficient, kUnitFloat);
  // The offset sum has a chain per block of neurons, and one over the blocks of all links.
  int blocks = 0;
  for (int i = 0; i < layer_count(); ++i) blocks += lowering_.backward_blocks(i);
  step.offset = drop(ErrorTerm::kOffset, gamma_float(lowering_.backward_depth(index) + blocks));
  step.inflate = radius_inflate(index);
  step.kernel = lowering_.relax(index);
  entry_.steps.push_back(step);
}

void EntryBuilder::tighten(int index, const Relaxed& state) {
  const Layer& region = layer(index);
  BackwardRows step;
  step.layer = index;
  step.unstable_only = !is_head(index);
  step.tile = lowering_.row_tile(region.out);
  // What rounding costs a head is seen in its bounds, and it grows with every link; what it costs a
  // hidden layer is not, nor next to the wide intervals of crown-ibp. Measured: note [schedules].
  int depth = 0;
  for (int i = region.input; i >= 0; i = layer(i).input) ++depth;
  const bool wide = is_head(index) && config_.method == Method::kCrown && depth >= kWideLinks &&
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
  // The coefficients alternate between two buffers: a link reads one and writes the other.
  std::int64_t width[2] = {region.in, 0};
  int side = 1;
  for (int i = region.input; i >= 0; i = layer(i).input, side = 1 - side)
    width[side] = std::max<std::int64_t>(width[side], layer(i).in);
  const BufferId coefficients[2] = {
      buffer(region.name + "_coefficients", Element::kFloat32, width[0] * step.tile),
      buffer(region.name + "_coefficients_2", Element::kFloat32, width[1] * step.tile)};
  step.coefficients = coefficients[0];
  step.start = lowering_.start_rows(index, step.tile);
  int terms = 0;
  side = 0;
  for (int i = region.input; i >= 0; i = layer(i).input, side = 1 - side) {
    const Relaxed& through = relaxed_[static_cast<std::size_t>(i)];
    step.links.push_back({i, through.table, through.slack, coefficients[side],
                          coefficients[1 - side], lowering_.backward(i, step.tile, wide)});
    terms += layer(i).out;
  }
  step.sum_inflate = 1 + drop(ErrorTerm::kErrorSummation, inflate_float(terms + 4) - 1);
  step.concretize = lowering_.concretize(step.tile);
  step.concretize_inflate =
      (1 + drop(ErrorTerm::kConcretize, inflate_float(plan_.input_count + 2) - 1)) *
      (1 + (wide ? drop(ErrorTerm::kCoefficient, 2 * kUnitFloat) : 0));
  step.underflow = drop(ErrorTerm::kUnderflow, 0x1p-147);
  step.weight_relative = drop(ErrorTerm::kWeightRounding, region.errors.weight_relative);
  step.inflate = radius_inflate(index);
  entry_.steps.push_back(step);
}

void EntryBuilder::build_backward() {
  relaxed_.assign(plan_.layers.size(), {});
  std::vector<Activation> made(plan_.layers.size());
  box_ = {buffer("box_centre", Element::kFloat64, plan_.input_count),
          buffer("box_radius", Element::kFloat32, plan_.input_count)};
  entry_.steps.push_back(
      BindBox{box_.centre, box_.radius, 0, lowering_.bind(KernelKind::kBindDouble)});
  for (int i = 0; i < layer_count(); ++i) {
    if (!is_needed(i)) continue;
    const int input = layer(i).input;
    Relaxed& state = relaxed_[static_cast<std::size_t>(i)];
    centre_affine(i, input < 0 ? box_ : made[static_cast<std::size_t>(input)], state);
    if (plan_.domains[static_cast<std::size_t>(i)].domain == Domain::kBackward) tighten(i, state);
    if (is_head(i))
      entry_.steps.push_back(WriteBounds{i, position(i), state.centre, state.below, state.above});
    if (has_reader(i)) relax(i, state, made[static_cast<std::size_t>(i)]);
  }
}

// ---- plain inference

void EntryBuilder::build_evaluate() {
  std::vector<BufferId> made(plan_.layers.size(), BufferId::kNone);
  for (int i = 0; i < layer_count(); ++i) {
    if (!is_needed(i)) continue;
    const Layer& region = layer(i);
    EvaluateAffine step;
    step.layer = i;
    if (region.input >= 0) step.in = made[static_cast<std::size_t>(region.input)];
    if (is_head(i)) {
      step.position = position(i);
      step.kernel = lowering_.forward(KernelKind::kEvaluateAffine, i, region.relu, true);
      entry_.steps.push_back(step);
    }
    if (!has_reader(i)) continue;
    step.out = buffer(region.name + "_value", Element::kFloat32, padded(i));
    made[static_cast<std::size_t>(i)] = step.out;
    step.position = 0;
    step.kernel = lowering_.forward(KernelKind::kEvaluateAffine, i, region.relu, false);
    entry_.steps.push_back(step);
  }
}

}  // namespace

void build_entries(LoweringPlanner& lowering, Plan& plan) {
  for (const EntryKind kind : {EntryKind::kBounds, EntryKind::kSpecBounds, EntryKind::kEvaluate}) {
    if (kind == EntryKind::kSpecBounds && plan.spec_heads.empty()) continue;
    plan.entries.push_back(EntryBuilder(plan, lowering, kind).build());
  }
}

}  // namespace bf
