#include "planner/plan/line_steps.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/entries/entry_builder.h"

// Steps of forward lines. Proof of every constant: docs/proofs/forward-lines.md.

namespace bf_aot {
// Lines go through all layers of an entry, or through none.
bool LineSteps::has_lines() const {
  for (const LayerId i : plan_.layer_ids())
    if (is_needed(i) && choice(i).domain == Domain::kForward) return true;
  return false;
}

// Roundings of a product of a layer's weights and lines: those of the kernel's sums, that of the
// coefficient, which was a slope times another one, and one for double operations on the constant.
int LineSteps::lines_depth(LayerId index) const {
  return lowering_.forward_depth(KernelKind::kForwardLines, index) + 2;
}

// The gamma that pays for what any reader of a layer's activations rounds, relative to |W| times
// the sum of their lines' magnitudes.
double LineSteps::lines_gamma(LayerId index) const {
  double gamma = 0;
  for (const LayerId i : plan_.layer_ids())
    if (is_needed(i) && layer(i).input == index)
      gamma = std::max(gamma, product_gamma(i, lines_depth(i), ErrorTerm::kProduct));
  return gamma * (1 + 8 * kUnitFloat);
}

double LineSteps::lines_concretize() const {
  return (1 + drop(ErrorTerm::kConcretize, inflate_float(plan_.input_count + 2) - 1)) *
         (1 + 8 * kUnitFloat);
}

// Spreads are sums of as many products as the lines'; those over the box, a layer's radii.
LineBounds LineSteps::line_bounds(LayerId index) {
  const Layer& region = layer(index);
  const double weights = 1 + drop(ErrorTerm::kWeightRounding, region.errors.weight_relative);
  const KernelKind kind = region.input < 0 ? KernelKind::kCentreAffine : KernelKind::kForwardLines;
  const int depth = lowering_.forward_depth(kind, index);
  const int rows = line_rows(plan_.input_count);
  LineBounds made;
  made.around = weights * radius_inflate(index) * (1 + 8 * kUnitFloat);
  made.inflate = weights * (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) *
                 (1 + 8 * kUnitFloat);
  made.concretize = lines_concretize();
  made.absolute =
      drop(ErrorTerm::kUnderflow, (rows * (region.in + region.errors.row_norm) + 8.0) * 0x1p-147);
  return made;
}

BufferId LineSteps::add_lines(LayerId index) {
  const Layer& region = layer(index);
  return lines_[index] = buffer(region.name + "_lines", Element::kFloat32,
                                std::int64_t{line_rows(plan_.input_count)} * padded(index));
}

void LineSteps::start_lines(LayerId index, const Relaxed& state) {
  StartLines step;
  step.layer = index;
  step.input_radius = box_.radius;
  step.radius = state.radius;
  step.lines_out = add_lines(index);
  step.product = product_gamma(index, 1, ErrorTerm::kProduct) * (1 + 8 * kUnitFloat);
  step.kernel = lowering_.start_lines(index);
  entry_.steps.push_back(step);
}

void LineSteps::forward_lines(LayerId index) {
  ForwardLines step;
  step.layer = index;
  step.lines_in = activation_lines_[layer(index).input];
  step.lines_out = add_lines(index);
  step.kernel = lowering_.forward_lines(index);
  BF_CHECK(lowering_.kernel(step.kernel).depth + 2 == lines_depth(index));
  entry_.steps.push_back(step);
}

void LineSteps::tighten_lines(LayerId index, Relaxed& state) {
  const std::string& name = layer(index).name;
  state.below = buffer(name + "_below", Element::kFloat32, padded(index));
  state.above = buffer(name + "_above", Element::kFloat32, padded(index));
  TightenLines step;
  step.layer = index;
  step.centre = state.centre;
  step.radius = state.radius;
  step.slack = state.slack;
  step.row_slack = state.row_slack;
  step.lines = lines_[index];
  step.below = state.below;
  step.above = state.above;
  step.bounds = line_bounds(index);
  entry_.steps.push_back(step);
}

void LineSteps::relax_lines(LayerId index, const Relaxed& state) {
  const Layer& region = layer(index);
  const Activation out = activations_[index] = add_activation(index);
  BufferId& lines = activation_lines_[index];
  lines = buffer(region.name + "_activation_lines", Element::kFloat32,
                 std::int64_t{line_rows(plan_.input_count)} * region.out);
  RelaxLines step;
  step.layer = index;
  step.centre = state.centre;
  step.radius = state.radius;
  step.slack = state.slack;
  step.row_slack = state.row_slack;
  step.lines = lines_[index];
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.lines_out = lines;
  step.bounds = line_bounds(index);
  step.gamma = lines_gamma(index);
  step.gamma_sum = step.gamma * lines_concretize() * (1 + 8 * kUnitFloat);
  step.least = drop(ErrorTerm::kUnderflow, 0x1p-100);
  step.kernel = lowering_.relax_lines(index);
  entry_.steps.push_back(step);
}

}  // namespace bf_aot
