#include "planner/lowering/lower.h"

// Steps of forward lines, of one box or of several.

namespace bf_aot::calls {
namespace {

// Elements from one row of a pre-activation's lines to the next.
std::int64_t line_stride(const Lowering& l, LayerId index) {
  const std::int64_t out = l.layer(index).out;
  if (l.entry().boxes > 1) return out * l.entry().boxes;
  const int panel = l.plan().layout(index).panel;
  return (out + panel - 1) / panel * panel;
}

Errors line_bounds(const LineBounds& bounds) {
  return {
      ErrorsKind::kLineBounds,
      {rounded_up(bounds.around, Pays::kAround), rounded_up(bounds.inflate, Pays::kInflate),
       rounded_up(bounds.concretize, Pays::kConcretize), exact(bounds.absolute, Pays::kAbsolute)}};
}

}  // namespace

void lower(Lowering& l, const StartLines& step) {
  const Layer& layer = l.layer(step.layer);
  l.part(step.kernel);
  l.call(Routine::kStartLines, {number(l.entry().boxes)},
         {l.table(step.layer, TableKind::kWeight), number(layer.in), number(layer.out),
          number(l.kernel(step.kernel).panel), number(line_stride(l, step.layer)),
          at(step.input_radius), at(step.radius), rounded_up(step.product, Pays::kProduct),
          at(step.lines_out)});
}

// The products of the coefficients and constants, and that of the spreads.
void lower(Lowering& l, const ForwardLines& step) {
  const int lines = l.kernel(step.kernel).lines;
  const std::int64_t spreads = std::int64_t{lines} * l.layer(step.layer).in * l.entry().boxes;
  l.part(step.kernel);
  l.call(KernelCall{step.kernel},
         {l.table(step.layer, TableKind::kWeight), at(step.lines_in), at(step.lines_in, spreads),
          at(step.lines_out), at(step.lines_out, lines * line_stride(l, step.layer))});
}

void lower(Lowering& l, const TightenLines& step) {
  l.part("tighten_lines");
  l.call(Routine::kTightenLines, {number(l.entry().boxes)},
         {number(l.layer(step.layer).out), number(l.plan().input_count),
          number(line_stride(l, step.layer)), line_bounds(step.bounds), at(step.radius),
          at(step.slack), at(step.row_slack), at(step.lines), at(step.below), at(step.above)});
}

void lower(Lowering& l, const RelaxLines& step) {
  const Layer& layer = l.layer(step.layer);
  const Errors errors = {
      ErrorsKind::kLine,
      {rounded_up(step.gamma, Pays::kGamma), rounded_up(step.gamma_sum, Pays::kGammaSum),
       rounded_up(step.least, Pays::kLeast)}};
  l.part(step.kernel);
  l.call(Routine::kRelaxLines, {number(l.entry().boxes)},
         {number(layer.out), Flag{layer.relu}, number(l.plan().input_count),
          number(line_stride(l, step.layer)), line_bounds(step.bounds), errors, at(step.centre),
          at(step.radius), at(step.slack), at(step.row_slack), at(step.lines), at(step.centre_out),
          at(step.radius_out), at(step.lines_out)});
}

}  // namespace bf_aot::calls
