#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/entries/entry_builder.h"
#include "planner/network/exact_centre.h"
#include "runtime/bf/contract/chains.h"

// Steps on double centres and float radii. Proofs: docs/proofs/centre-path.md and
// docs/proofs/backward-pass.md.

namespace bf_aot {
namespace {

// Errors of weights that are more than those of folding, relative.
constexpr double kUncertain = 0x1p-40;

// An evaluation's activations are those of the computed centre alone, so its errors need no radius.
template <typename CentreStep>
void forget_errors(CentreStep& step) {
  step.inflate = step.centre_relative = step.absolute = 0;
}

}  // namespace

int most_products(const Layer& layer) {
  int entries = 0;
  for (const Term& term : layer.terms) entries += term.row_entries;
  return entries + static_cast<int>(layer.terms.size());
}

void CentredSteps::add_state(LayerId index, bool interval, Relaxed& state) {
  const std::string& name = layer(index).name;
  state.centre = buffer(name + "_centre", Element::kFloat64, padded(index));
  state.radius = buffer(name + "_radius", Element::kFloat32, padded(index));
  if (interval) {
    state.below = buffer(name + "_below", Element::kFloat32, padded(index));
    state.above = buffer(name + "_above", Element::kFloat32, padded(index));
  }
  state.slack = buffer(name + "_slack", Element::kFloat64, bf::kSlack);
  state.row_slack = buffer(name + "_row_slack", Element::kFloat64, layer(index).out);
}

// Errors of each neuron's own centre: docs/proofs/centre-path.md. products: in one sum. The layer's
// slack is set, and is all that a layer of other proofs needs.
template <typename CentreStep>
void CentredSteps::add_row_slack(LayerId index, double products, CentreStep& step) {
  const AffineErrors& errors = layer(index).errors;
  const bool point = is_evaluation();
  if (point || step.magnitudes || !(step.centre_relative > 0)) return;
  const double biases = drop(ErrorTerm::kBiasRounding, errors.bias_relative) * (1 + 0x1p-40);
  step.rows.bias = 1 + up(biases / step.centre_relative);
  step.rows.absolute = drop(ErrorTerm::kBiasRounding, errors.bias_rest) * (1 + 0x1p-40) +
                       drop(ErrorTerm::kUnderflow, (2.0 * products + 2) * 0x1p-147);
}

// Under float32 semantics the error of a layer's constants is not lost beside the roundings of
// centres. It then grows with each neuron's own |W| |c| instead of the layer's largest. `step` has
// the constants of a slack, `centre` is the gamma of its centres, `in` the size of the largest
// term.
template <typename CentreStep>
void CentredSteps::add_magnitudes(LayerId index, std::int64_t in, double centre, CentreStep& step) {
  const AffineErrors& errors = layer(index).errors;
  if (errors.weight_residual < kUncertain || step.below == BufferId::kNone) return;
  const std::string& name = layer(index).name;
  CentreMagnitudes made;
  made.in = buffer(name + "_magnitude_in", Element::kFloat32, in);
  made.out = buffer(name + "_magnitude", Element::kFloat32, padded(index));
  made.relative = step.centre_relative * step.inflate;
  made.absolute = (step.absolute + centre * errors.bias_norm) * (1 + 0x1p-40);
  made.pay = (1 + 0x1p-40) / errors.weight_relative;
  step.centre_relative = step.absolute = 0;
  step.magnitudes = made;
}

// interval: whether bounds are made of it here.
void CentredSteps::centre_affine(LayerId index, bool interval, Relaxed& state) {
  const Layer& region = layer(index);
  const AffineErrors& errors = region.errors;
  const Activation& in = activation(region.input);
  add_state(index, interval, state);
  CentreAffine step;
  step.layer = index;
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  step.live_in = live_inputs(index);
  step.centre_out = state.centre;
  step.radius_out = state.radius;
  step.below = state.below;
  step.above = state.above;
  step.slack = state.slack;
  step.row_slack = state.row_slack;
  step.kernel = lowering_.forward(KernelKind::kCentreAffine, index,
                                  {.live_in = step.live_in != BufferId::kNone});
  if (interval)
    step.inflate =
        (1 + drop(ErrorTerm::kWeightRounding, errors.weight_relative)) * radius_inflate(index);
  const double exact = region.exact_centre ? 0 : 1;
  step.centre_relative = exact *
                         (drop(ErrorTerm::kCentre, gamma_double(region.in + 8)) +
                          drop(ErrorTerm::kWeightRounding, errors.weight_residual)) *
                         (1 + 2 * errors.weight_relative) * (1 + 0x1p-40);
  step.absolute =
      drop(ErrorTerm::kBiasRounding, errors.bias_double) * (1 + 0x1p-40) +
      exact * drop(ErrorTerm::kUnderflow, (2.0 * region.in + 2 + errors.row_norm) * 0x1p-147);
  step.row_norm = errors.row_norm;
  step.bias_norm = errors.bias_norm;
  if (is_evaluation())
    forget_errors(step);
  else
    add_magnitudes(index, region.in, drop(ErrorTerm::kCentre, gamma_double(region.in + 8)), step);
  add_row_slack(index, region.in, step);
  entry_.steps.push_back(step);
}

// Makes centre and radius of a sum layer, with the products of all terms in one sum. The radii are
// summed in double and rounded up once per term; a layer of exact centres copies radii that are
// floats, or sums on a grid.
void CentredSteps::centre_sum(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  const AffineErrors& errors = region.errors;
  add_state(index, true, state);
  CentreSum step;
  step.layer = index;
  for (int t = 0; t < static_cast<int>(region.terms.size()); ++t) {
    const Activation& in = activation(region.term(t).input);
    step.parts.push_back({in.centre, in.radius, lowering_.term(KernelKind::kTermCentre, index, t)});
  }
  step.centre_out = state.centre;
  step.radius_out = state.radius;
  step.below = state.below;
  step.above = state.above;
  step.slack = state.slack;
  step.row_slack = state.row_slack;
  step.bias_norm = errors.bias_norm;
  step.inflate = 1;
  if (!region.exact_centre) {
    const int products = most_products(region);
    step.inflate = (1 + drop(ErrorTerm::kWeightRounding, errors.weight_relative)) *
                   (1 + drop(ErrorTerm::kRadiusSummation, gamma_double(products + 4))) *
                   (1 + 0x1p-40);
    step.centre_relative = (drop(ErrorTerm::kCentre, gamma_double(products + 8)) +
                            drop(ErrorTerm::kWeightRounding, errors.weight_residual)) *
                           (1 + 2 * errors.weight_relative) * (1 + 0x1p-40);
    step.absolute = drop(ErrorTerm::kBiasRounding, errors.bias_double) * (1 + 0x1p-40) +
                    drop(ErrorTerm::kUnderflow, (2.0 * products + 2 + errors.row_norm) * 0x1p-147);
    int largest = 0;
    for (const Term& term : region.terms) largest = std::max(largest, term.in);
    if (!is_evaluation())
      add_magnitudes(index, largest, drop(ErrorTerm::kCentre, gamma_double(products + 8)), step);
  }
  if (is_evaluation()) forget_errors(step);
  add_row_slack(index, most_products(region), step);
  entry_.steps.push_back(std::move(step));
}

// Longest chain of float32 roundings of the backward products of a layer: when several layers read
// a tensor, their coefficients are added up.
int CentredSteps::backward_depth(LayerId index) const {
  const Layer& region = layer(index);
  if (region.kind == LayerKind::kDense)
    return lowering_.backward_depth(index) + readers(region.input) - 1;
  int depth = 0;
  for (const Term& term : region.terms)
    depth = std::max(depth, LoweringPlanner::term_depth(term, readers(term.input)));
  return depth;
}

// The gamma of backward products with sums in double. The sum over a convolution or a dense layer
// is one such sum. Storing it as floats is priced with the tensor (`stored`) if that has one
// reader, and here if it has several, as their floats are added.
double CentredSteps::wide_gamma(LayerId index) const {
  const Layer& region = layer(index);
  const auto adding = [&](LayerId input) {
    return readers(input) > 1 ? gamma_float(readers(input)) : 0.0;
  };
  if (region.kind == LayerKind::kDense) return gamma_double(region.out + 2) + adding(region.input);
  double gamma = 0;
  for (const Term& term : region.terms) {
    const double own = std::holds_alternative<ConvMap>(term.map)
                           ? gamma_double(term.column_entries + 2) + adding(term.input)
                           : gamma_float(LoweringPlanner::term_depth(term, readers(term.input)));
    gamma = std::max(gamma, own);
  }
  return gamma;
}

// The offset sum of a dense layer has a chain per block of neurons; of other layers it is kept in
// double, for sum layers after short chains, and rounded once. Then one chain over the blocks of
// all links.
double CentredSteps::offset_gamma(LayerId index) const {
  const Layer& region = layer(index);
  int blocks = 0;
  for (const LayerId i : plan_.layer_ids()) blocks += lowering_.backward_blocks(i);
  if (region.kind == LayerKind::kDense)
    return gamma_float(lowering_.backward_depth(index) + blocks);
  const int chain = region.kind == LayerKind::kSum ? bf::kOffsetDepth : 0;
  return gamma_float(2 + chain + blocks) + gamma_double(region.out + 4);
}

// The gamma of offset sums of rows with slopes of their own: two products per neuron, in double for
// every kind of layer.
double CentredSteps::free_offset_gamma(LayerId index) const {
  return gamma_float(2 + layer_count().number()) + gamma_double(2 * layer(index).out + 4);
}

// What rows that choose lines of the layer read, where there are any.
void CentredSteps::free_table(LayerId index, Relaxed& state) {
  if (free_slopes_[index])
    state.slopes =
        buffer(layer(index).name + "_slopes", Element::kFloat32, choice_floats(layer(index)));
}

// Returns whether a tensor lies in a ball: the inputs do, and affine layers whose activations are
// no farther apart than what they are made of.
bool CentredSteps::is_in_ball(LayerId tensor) const {
  if (tensor < 0) return plan_.config.norm != Norm::kLargest;
  return relaxed_[tensor].reach != BufferId::kNone && !layer(tensor).function;
}

// Bounds the distance of the layer's z from its centre: docs/proofs/balls.md, "Balls of layers".
void CentredSteps::meet_ball(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  // The interval pays for what uncertain weights make of the centre, and the row's slack does not.
  if (region.errors.weight_residual >= kUncertain) return;
  const bool dense = region.kind == LayerKind::kDense;
  MeetBall step;
  step.layer = index;
  for (std::size_t t = 0; t < (dense ? 1 : region.terms.size()); ++t) {
    const LayerId input = dense ? region.input : region.terms[t].input;
    if ((dense ? region.ball : region.terms[t].ball).rows.empty() || !is_in_ball(input)) return;
    BallTerm term;
    term.radius_in = activation(input).radius;
    if (input >= 0)
      term.reach_in = relaxed_[input].reach;
    else  // the centre misses the box's by at most 2^-23 of each radius
      term.inflate = 1 + 0x1p-22 * std::sqrt(static_cast<double>(plan_.input_count));
    step.terms.push_back(term);
  }
  step.row_slack = state.row_slack;
  step.below = state.below;
  step.above = state.above;
  step.half = buffer(region.name + "_half", Element::kFloat32, region.out);
  step.reach = state.reach = buffer(region.name + "_reach", Element::kFloat64, 1);
  entry_.steps.push_back(std::move(step));
}

void CentredSteps::relax(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  if (keeps_tables())
    state.table = buffer(region.name + "_relaxation", Element::kFloat32,
                         std::int64_t{bf::kRelaxRows} * region.out);
  free_table(index, state);
  const Activation out = activations_[index] = add_activation(index);
  Relax step;
  step.layer = index;
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.radius = state.radius;
  step.slack = state.slack;
  step.row_slack = state.row_slack;
  step.table = state.table;
  step.slopes = state.slopes;
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  const double weights = drop(ErrorTerm::kWeightRounding, region.errors.weight_relative);
  step.product = drop(ErrorTerm::kProduct, gamma_float(backward_depth(index))) + weights;
  step.wide_product = drop(ErrorTerm::kProduct, wide_gamma(index)) + weights;
  step.stored = drop(ErrorTerm::kCoefficient, kUnitFloat);
  step.slope = drop(ErrorTerm::kCoefficient, kUnitFloat);
  step.offset = drop(ErrorTerm::kOffset, offset_gamma(index));
  if (state.slopes != BufferId::kNone)
    step.free_offset = drop(ErrorTerm::kOffset, free_offset_gamma(index));
  step.inflate = radius_inflate(index);
  step.kernel = lowering_.relax(index);
  step.keeps_point = is_in_ball(index);
  relax_step_[index] = static_cast<int>(entry_.steps.size());
  entry_.steps.push_back(step);
}

// Fills in the fields that product and max layers have in common.
template <typename NonlinearStep>
void CentredSteps::finish_nonlinear(KernelKind kind, LayerId index, const Relaxed& state,
                                    NonlinearStep step) {
  step.layer = index;
  step.table = state.table;
  if constexpr (requires { step.slopes; }) step.slopes = state.slopes;
  step.slack = state.slack;
  const Activation out = activations_[index] = add_activation(index);
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.product = drop(ErrorTerm::kProduct, gamma_float(backward_depth(index) + 1));
  step.offset = drop(ErrorTerm::kOffset, offset_gamma(index));
  step.kernel = lowering_.nonlinear(kind, index);
  entry_.steps.push_back(step);
}

// The table of a layer that is not affine, and what rows read beside it, where rows read them.
void CentredSteps::add_table(LayerId index, const char* name, std::int64_t floats, Relaxed& state) {
  if (!keeps_tables()) return;
  const Layer& region = layer(index);
  state.table = buffer(region.name + name, Element::kFloat32, floats);
  free_table(index, state);
  if (region.kind == LayerKind::kMax)
    state.choice = buffer(region.name + "_choice", Element::kInt32, region.out);
  state.slack = buffer(region.name + "_slack", Element::kFloat64, bf::kSlack);
}

void CentredSteps::relax_product(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  add_table(index, "_planes", std::int64_t{bf::kProductRows} * region.out, state);
  const Activation& x = activation(region.terms.at(0).input);
  const Activation& y = activation(region.terms.at(1).input);
  RelaxProduct step;
  step.centre_x = x.centre;
  step.radius_x = x.radius;
  step.centre_y = y.centre;
  step.radius_y = y.radius;
  step.most = region.most;
  finish_nonlinear(KernelKind::kRelaxProduct, index, state, step);
}

void CentredSteps::relax_max(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  add_table(index, "_choices", std::int64_t{bf::kMaxRows} * region.out, state);
  const Activation& in = activation(region.terms.at(0).input);
  RelaxMax step;
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  step.choice = state.choice;
  finish_nonlinear(KernelKind::kRelaxMax, index, state, step);
}

void CentredSteps::relax_contraction(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  add_table(index, "_planes", region.contraction.table(), state);
  const Activation& y = activation(region.terms.at(1).input);
  RelaxContraction step;
  if (!region.scores || keeps_tables()) {
    const Activation& x = activation(region.terms.at(0).input);
    step.centre_x = x.centre;
    step.radius_x = x.radius;
  }
  step.centre_y = y.centre;
  step.radius_y = y.radius;
  if (region.scores) {
    const Activation& s = activation(region.scores->layer);
    step.centre_s = s.centre;
    step.radius_s = s.radius;
  }
  step.scratch = buffer(region.name + "_panels", Element::kFloat64, region.contraction.scratch());
  finish_nonlinear(KernelKind::kRelaxContraction, index, state, step);
}

void CentredSteps::relax_log_softmax(LayerId index, Relaxed& state) {
  const Layer& region = layer(index);
  add_table(index, "_planes", std::int64_t{bf::kLogSoftmaxRows} * region.out, state);
  const Activation& in = activation(region.terms.at(0).input);
  RelaxLogSoftmax step;
  step.centre_in = in.centre;
  step.radius_in = in.radius;
  finish_nonlinear(KernelKind::kRelaxLogSoftmax, index, state, step);
}

void CentredSteps::build_centred() {
  relaxed_.assign(plan_.layers.size(), {});
  activations_.assign(plan_.layers.size(), {});
  centre_step_.assign(plan_.layers.size(), -1);
  relax_step_.assign(plan_.layers.size(), -1);
  box_ = {buffer("box_centre", Element::kFloat64, plan_.input_count),
          buffer("box_radius", Element::kFloat32, plan_.input_count)};
  const std::string_view ends = reads_near_ends(plan_) ? kNearEnds : "";
  entry_.steps.push_back(
      BindBox{box_.centre, box_.radius, 0, lowering_.bind(KernelKind::kBindDouble, ends)});
  const bool point = is_evaluation();
  if (!point) check_links();
  const bool lines = has_lines() && !point;
  lines_.assign(plan_.layers.size(), BufferId::kNone);
  activation_lines_.assign(plan_.layers.size(), BufferId::kNone);
  mark_free_slopes();
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i)) continue;
    Relaxed& state = relaxed_[i];
    if (layer(i).kind == LayerKind::kProduct) {
      relax_product(i, state);
      continue;
    }
    if (layer(i).kind == LayerKind::kMax) {
      relax_max(i, state);
      continue;
    }
    if (layer(i).kind == LayerKind::kContraction) {
      relax_contraction(i, state);
      continue;
    }
    if (layer(i).kind == LayerKind::kLogSoftmax) {
      relax_log_softmax(i, state);
      continue;
    }
    centre_step_[i] = static_cast<int>(entry_.steps.size());
    const Domain domain = choice(i).domain;
    const bool from_lines = domain == Domain::kForward && !point;
    const bool has_lines = from_lines || (lines && has_reader(i));
    if (layer(i).kind == LayerKind::kDense)
      centre_affine(i, !has_lines, state);
    else
      centre_sum(i, state);
    if (from_lines)
      forward_lines(i);
    else if (has_lines)
      start_lines(i, state);
    if (has_lines && is_head(i)) tighten_lines(i, state);
    if (!has_lines && !point) meet_ball(i, state);
    const bool rows = domain == Domain::kBackward || domain == Domain::kOptimised;
    if (rows && !point) tighten(i, state);
    if (domain == Domain::kOptimised && !point) tighten_optimised(i, state);
    if (is_head(i) && point)
      entry_.steps.push_back(WriteValues{i, position(i), state.centre});
    else if (is_head(i))
      entry_.steps.push_back(WriteBounds{i, position(i), state.centre, state.below, state.above});
    if (!has_reader(i)) continue;
    if (lines) {
      relax_lines(i, state);
    } else {
      relax(i, state);
      list_live(i);
    }
  }
}

}  // namespace bf_aot
