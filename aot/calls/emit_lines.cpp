#include <fmt/format.h>

#include "aot/calls/step_emitter.h"
#include "aot/text/literals.h"

// Steps of forward lines: calls of the routines of runtime/bf/dense/lines.h, which serve one box
// and several side by side, and of kernels.

namespace bf_aot {

std::string StepEmitter::lines_routine(const char* function) const {
  return fmt::format("bf::{}<{}>", function, entry_.boxes);
}

std::int64_t StepEmitter::line_stride(int index) const {
  const std::int64_t out = layer(index).out;
  if (entry_.boxes > 1) return out * entry_.boxes;
  const int panel = plan_.layouts[static_cast<std::size_t>(index)].panel;
  return (out + panel - 1) / panel * panel;
}

void StepEmitter::emit(const StartLines& step) {
  const Layer& region = layer(step.layer);
  mark(step.kernel);
  call(
      lines_routine("start_lines"),
      {table(step.layer, TableKind::kWeight), std::to_string(region.in), std::to_string(region.out),
       std::to_string(kernel(step.kernel).panel), std::to_string(line_stride(step.layer)),
       name(step.input_radius), name(step.radius), literal_up(step.product), name(step.lines_out)});
}

void StepEmitter::emit(const ForwardLines& step) {
  const Layer& region = layer(step.layer);
  const int lines = kernel(step.kernel).lines;
  const std::string in = name(step.lines_in), out = name(step.lines_out);
  mark(step.kernel);
  call(kernel(step.kernel).function,
       {table(step.layer, TableKind::kWeight), in,
        fmt::format("{} + {}", in, std::int64_t{lines} * region.in * entry_.boxes), out,
        fmt::format("{} + {}", out, lines * line_stride(step.layer))});
}

std::string StepEmitter::line_bounds(const LineBounds& bounds) const {
  return fmt::format("bf::LineBounds{{{}, {}, {}, {}}}", literal_up(bounds.around),
                     literal_up(bounds.inflate), literal_up(bounds.concretize),
                     double_literal(bounds.absolute));
}

void StepEmitter::emit(const TightenLines& step) {
  mark("tighten_lines");
  call(lines_routine("tighten_lines"),
       {std::to_string(layer(step.layer).out), std::to_string(plan_.input_count),
        std::to_string(line_stride(step.layer)), line_bounds(step.bounds), name(step.radius),
        name(step.slack), name(step.lines), name(step.below), name(step.above)});
}

void StepEmitter::emit(const RelaxLines& step) {
  const Layer& region = layer(step.layer);
  mark(step.kernel);
  call(lines_routine("relax_lines"),
       {std::to_string(region.out), bool_literal(region.relu), std::to_string(plan_.input_count),
        std::to_string(line_stride(step.layer)), line_bounds(step.bounds),
        fmt::format("bf::LineErrors{{{}, {}, {}}}", literal_up(step.gamma),
                    literal_up(step.gamma_sum), literal_up(step.least)),
        name(step.centre), name(step.radius), name(step.slack), name(step.lines),
        name(step.centre_out), name(step.radius_out), name(step.lines_out)});
}

}  // namespace bf_aot
