#include "planner/entries/build_entries.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/entries/entry_builder.h"
#include "planner/network/linear_terms.h"
#include "planner/network/live_neurons.h"
#include "planner/network/max_groups.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot {
Entry EntryBuilder::build() {
  lowering_.use_boxes(entry_.boxes);
  const std::vector<LayerId>& heads = is_spec(entry_.kind) ? plan_.spec_heads : plan_.output_heads;
  mark_needed(heads);
  live_.assign(plan_.layers.size(), BufferId::kNone);
  const bool point = entry_.kind == EntryKind::kEvaluate;
  if (point && is_dense())
    build_evaluate();
  else if (!point && plan_.intervals_only(entry_) && has_float_intervals())
    build_interval();
  else
    build_centred();
  return std::move(entry_);
}

// ---- ibp. Proof of every constant: docs/proofs/interval-pass.md.

void EntryBuilder::build_interval() {
  activations_.assign(plan_.layers.size(), {});
  box_ = {buffer("box_centre", Element::kFloat32, plan_.input_count),
          buffer("box_radius", Element::kFloat32, plan_.input_count)};
  entry_.steps.push_back(
      BindBox{box_.centre, box_.radius, reader_gamma(-1), lowering_.bind(KernelKind::kBindFloat)});
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i)) continue;
    const bool sum = layer(i).kind == LayerKind::kSum;
    const std::string& name = layer(i).name;
    if (is_head(i) && sum)
      interval_sum(i,
                   {buffer(name + "_sums", Element::kFloat32, layer(i).out),
                    buffer(name + "_spreads", Element::kFloat32, layer(i).out)},
                   true);
    else if (is_head(i))
      interval_affine(i, {});
    if (!has_reader(i)) continue;
    Activation& out = activations_[i];
    out = {buffer(name + "_centre", Element::kFloat32, padded(i)),
           buffer(name + "_radius", Element::kFloat32, padded(i))};
    if (sum)
      interval_sum(i, out, false);
    else if (layer(i).kind == LayerKind::kMax)
      interval_max(i, out);
    else if (layer(i).kind == LayerKind::kProduct)
      interval_product(i, out);
    else
      interval_affine(i, out);
    list_live(i);
  }
}

// products: of one neuron.
template <typename IntervalStep>
void EntryBuilder::set_interval_errors(LayerId index, int products, IntervalStep& step) {
  const AffineErrors& errors = layer(index).errors;
  const int depth = interval_depth(index);
  step.inflate = (1 + drop(ErrorTerm::kWeightRounding, errors.weight_relative)) *
                 (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) *
                 (1 + drop(ErrorTerm::kScalar, 8 * kUnitFloat));
  const double biases = float_bias(index);
  step.magnitude = drop(ErrorTerm::kScalar, 2 * kUnitFloat) * (1 + 8 * kUnitFloat) + biases;
  const double underflow = (2.0 * products + 2 + errors.row_norm) * 0x1p-147;
  step.absolute =
      (drop(ErrorTerm::kBiasRounding, biases > 0 ? errors.float_bias_rest : errors.bias_float) +
       drop(ErrorTerm::kUnderflow, std::max(underflow, 0x1p-100))) *
      (1 + 16 * kUnitFloat);
}

// Adds the interval step of one dense layer; its bounds go to the caller when `out` has no buffers.
void EntryBuilder::interval_affine(LayerId index, const Activation& out) {
  const Layer& region = layer(index);
  const Activation& in = activation(region.input);
  const bool head = out.centre == BufferId::kNone;
  IntervalAffine step;
  step.layer = index;
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  step.live_in = live_inputs(index);
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.position = head ? position(index) : 0;
  step.gamma = head ? 0 : centre_gamma(index);
  step.kernel = lowering_.forward(
      KernelKind::kIntervalAffine, index,
      {.relu = region.relu,
       .head = head || region.function.has_value(),  // bounds, which the function takes
       .live_in = step.live_in != BufferId::kNone});
  BF_CHECK(lowering_.kernel(step.kernel).depth == interval_depth(index));
  if (head && entry_.boxes > 1) {
    step.low = buffer(region.name + "_low", Element::kFloat32, region.out);
    step.high = buffer(region.name + "_high", Element::kFloat32, region.out);
  }
  set_interval_errors(index, region.in, step);
  entry_.steps.push_back(step);
}

// A sum layer; `out` is scratch of a head.
void EntryBuilder::interval_sum(LayerId index, const Activation& out, bool head) {
  const Layer& region = layer(index);
  IntervalSum step;
  step.layer = index;
  int products = 0;
  for (int t = 0; t < static_cast<int>(region.terms.size()); ++t) {
    const Term& term = region.term(t);
    const Activation& in = activation(term.input);
    step.parts.push_back(
        {in.centre, in.radius, lowering_.term(KernelKind::kTermInterval, index, t)});
    products += std::max(1, term.row_entries);
  }
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.head = head;
  step.position = head ? position(index) : 0;
  step.gamma = head ? 0 : centre_gamma(index);
  set_interval_errors(index, products, step);
  entry_.steps.push_back(std::move(step));
}

void EntryBuilder::interval_max(LayerId index, const Activation& out) {
  const Activation& in = activation(layer(index).terms.at(0).input);
  IntervalMax step;
  step.layer = index;
  // The view is a constant of a template: prebuilt code reads the tables instead.
  if (plan_.config.lowering != Lowering::kPrebuilt)
    step.groups = max_groups(std::get<SparseMap>(layer(index).terms.at(0).map));
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.inflate = 1 + drop(ErrorTerm::kScalar, 8 * kUnitFloat);
  step.magnitude = reader_gamma(index) + drop(ErrorTerm::kScalar, 4 * kUnitFloat);
  step.absolute = drop(ErrorTerm::kUnderflow, 0x1p-100);
  step.kernel = lowering_.nonlinear(KernelKind::kIntervalMax, index);
  entry_.steps.push_back(step);
}

// Adds a product to the interval pass in float32: `product` is the readers' gamma and the rounding
// of the centre, `offset` is what the spread of a product misses of itself.
void EntryBuilder::interval_product(LayerId index, const Activation& out) {
  const Activation& x = activation(layer(index).terms.at(0).input);
  const Activation& y = activation(layer(index).terms.at(1).input);
  RelaxProduct step;
  step.layer = index;
  step.centre_x = x.centre;
  step.radius_x = x.radius;
  step.centre_y = y.centre;
  step.radius_y = y.radius;
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.product = reader_gamma(index) + drop(ErrorTerm::kScalar, 4 * kUnitFloat);
  step.offset = drop(ErrorTerm::kScalar, 16 * kUnitFloat);
  step.kernel = lowering_.nonlinear(KernelKind::kRelaxProduct, index);
  entry_.steps.push_back(step);
}

// ---- plain inference

// The heads that have a dense layer's values: itself, and those that copy it.
std::vector<LayerId> EntryBuilder::written_as(LayerId index) const {
  std::vector<LayerId> made;
  for (const LayerId i : plan_.layer_ids())
    if (is_needed(i) && is_head(i) && (i == index || copied_layer(layer(i)) == index))
      made.push_back(i);
  return made;
}

bool EntryBuilder::has_dense_reader(LayerId index) const {
  for (const LayerId i : plan_.layer_ids())
    if (is_needed(i) && layer(i).kind == LayerKind::kDense && layer(i).input == index) return true;
  return false;
}

void EntryBuilder::build_evaluate() {
  PerLayer<BufferId> made(plan_.layers.size(), BufferId::kNone);
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i) || layer(i).kind != LayerKind::kDense) continue;
    const Layer& region = layer(i);
    EvaluateAffine step;
    step.layer = i;
    if (region.input >= 0) step.in = made[region.input];
    for (const LayerId head : written_as(i)) {
      step.position = position(head);
      step.kernel =
          lowering_.forward(KernelKind::kEvaluateAffine, i, {.relu = region.relu, .head = true});
      entry_.steps.push_back(step);
    }
    if (!has_dense_reader(i)) continue;
    step.out = buffer(region.name + "_value", Element::kFloat32, padded(i));
    made[i] = step.out;
    step.position = 0;
    step.kernel = lowering_.forward(KernelKind::kEvaluateAffine, i, {.relu = region.relu});
    entry_.steps.push_back(step);
  }
}

void build_entries(LoweringPlanner& lowering, Plan& plan) {
  for (const EntryKind kind : {EntryKind::kBounds, EntryKind::kSpecBounds, EntryKind::kEvaluate}) {
    if (kind == EntryKind::kSpecBounds && plan.spec_heads.empty()) continue;
    plan.entries.push_back(EntryBuilder(plan, lowering, kind).build());
  }
  for (const CheaperMethod& each : plan.cheaper)
    for (const EntryKind kind : {EntryKind::kBounds, EntryKind::kSpecBounds})
      if (kind == EntryKind::kBounds || !plan.spec_heads.empty())
        plan.entries.push_back(EntryBuilder(plan, lowering, kind, each.method).build());
  if (plan.batch.side_by_side == 1) return;
  for (const EntryKind kind : {EntryKind::kBoundsBatch, EntryKind::kSpecBoundsBatch}) {
    if (kind == EntryKind::kSpecBoundsBatch && plan.spec_heads.empty()) continue;
    plan.entries.push_back(EntryBuilder(plan, lowering, kind, plan.batch.side_by_side).build());
  }
}

}  // namespace bf_aot
