#include "planner/line_steps.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/entry_builder.h"

// Steps of forward lines. Proof of every constant: note [forward lines] in DESIGN.md.

namespace bf {
namespace {

constexpr double kUnitFloat = 0x1p-24;

}  // namespace

// Lines go through all layers of an entry, or through none.
bool EntryBuilder::has_lines() const {
  for (int i = 0; i < layer_count(); ++i)
    if (is_needed(i) && plan_.domains[static_cast<std::size_t>(i)].domain == Domain::kForward)
      return true;
  return false;
}

// Roundings of a product of a layer's weights and lines: those of the kernel's sums, that of the
// coefficient, which was a slope times another one, and one for double operations on the constant.
int EntryBuilder::lines_depth(int index) const {
  return lowering_.forward_depth(KernelKind::kForwardLines, index) + 2;
}

// What all readers of a layer's activations round, relative to |W| times the sum of their lines'
// magnitudes.
double EntryBuilder::lines_gamma(int index) const {
  double gamma = 0;
  for (int i = 0; i < layer_count(); ++i)
    if (is_needed(i) && layer(i).input == index)
      gamma = std::max(gamma, product_gamma(i, lines_depth(i), ErrorTerm::kProduct));
  return gamma * (1 + 8 * kUnitFloat);
}

double EntryBuilder::lines_concretize() const {
  return (1 + drop(ErrorTerm::kConcretize, inflate_float(plan_.input_count + 2) - 1)) *
         (1 + 8 * kUnitFloat);
}

void EntryBuilder::start_lines(int index, const Relaxed& state) {
  const Layer& region = layer(index);
  BufferId& lines = lines_[static_cast<std::size_t>(index)];
  lines = buffer(region.name + "_lines", Element::kFloat32,
                 std::int64_t{line_rows(plan_.input_count)} * padded(index));
  StartLines step;
  step.layer = index;
  step.input_radius = box_.radius;
  step.slack = state.slack;
  step.below = state.below;
  step.lines_out = lines;
  step.product = product_gamma(index, 1, ErrorTerm::kProduct) * (1 + 8 * kUnitFloat);
  step.absolute = drop(ErrorTerm::kUnderflow, line_rows(plan_.input_count) * 0x1p-147);
  step.kernel = lowering_.start_lines(index);
  entry_.steps.push_back(step);
}

void EntryBuilder::forward_lines(int index, const Relaxed& state) {
  const Layer& region = layer(index);
  BufferId& lines = lines_[static_cast<std::size_t>(index)];
  const int rows = line_rows(plan_.input_count);
  lines = buffer(region.name + "_lines", Element::kFloat32, std::int64_t{rows} * padded(index));
  ForwardLines step;
  step.layer = index;
  step.lines_in = activation_lines_[static_cast<std::size_t>(region.input)];
  step.slack = state.slack;
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.lines_out = lines;
  step.kernel = lowering_.forward_lines(index);
  const int depth = lowering_.kernel(step.kernel).depth;
  BF_CHECK(depth + 2 == lines_depth(index));
  step.inflate = (1 + drop(ErrorTerm::kWeightRounding, region.errors.weight_relative)) *
                 (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) *
                 (1 + 8 * kUnitFloat);
  step.absolute =
      drop(ErrorTerm::kUnderflow, (rows * (region.in + region.errors.row_norm) + 8.0) * 0x1p-147);
  step.concretize = lines_concretize();
  entry_.steps.push_back(step);
}

void EntryBuilder::relax_lines(int index, const Relaxed& state) {
  const Layer& region = layer(index);
  const Activation out = activations_[static_cast<std::size_t>(index)] = add_activation(index);
  BufferId& lines = activation_lines_[static_cast<std::size_t>(index)];
  lines = buffer(region.name + "_activation_lines", Element::kFloat32,
                 std::int64_t{line_rows(plan_.input_count)} * region.out);
  RelaxLines step;
  step.layer = index;
  step.centre = state.centre;
  step.below = state.below;
  step.above = state.above;
  step.lines = lines_[static_cast<std::size_t>(index)];
  step.centre_out = out.centre;
  step.radius_out = out.radius;
  step.lines_out = lines;
  step.gamma = lines_gamma(index);
  step.gamma_sum = step.gamma * lines_concretize() * (1 + 8 * kUnitFloat);
  step.least = drop(ErrorTerm::kUnderflow, 0x1p-100);
  step.kernel = lowering_.relax_lines(index);
  entry_.steps.push_back(step);
}

}  // namespace bf
