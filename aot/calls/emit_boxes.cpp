#include <fmt/format.h>

#include "aot/calls/step_emitter.h"
#include "aot/text/literals.h"
#include "frontend/diagnostic.h"

// Steps of entries that compute boxes side by side: calls of the routines of
// runtime/bf/dense/boxes.h, and of kernels whose lanes are boxes. The steps are those of one box.

namespace bf_aot {
std::string StepEmitter::box_routine(const char* function) const {
  return fmt::format("bf::{}<{}>", function, entry_.boxes);
}

// "NAME_OUTPUTS": numbers of a box in the caller's arrays.
std::string StepEmitter::stride() const {
  return upper_case(plan_.name) + (is_spec(entry_.kind) ? "_SPEC_ROWS" : "_OUTPUTS");
}

void StepEmitter::boxed(const BindBox& step) {
  Arguments arguments = {"group", "lower", "upper", std::to_string(plan_.input_count)};
  if (kernel(step.kernel).kind == KernelKind::kBindFloat)
    arguments.push_back(literal_up(step.gamma));
  arguments.insert(arguments.end(), {name(step.centre), name(step.radius)});
  mark("bind_box");
  call("bf::bind_boxes", arguments);
}

void StepEmitter::boxed(const IntervalAffine& step) {
  emit(step);
  if (!kernel(step.kernel).head) return;
  mark("write_bounds");
  call("bf::write_boxes",
       {"group", std::to_string(layer(step.layer).out), name(step.low), name(step.high), stride(),
        at_position("out_lower", step.position), at_position("out_upper", step.position)});
}

void StepEmitter::boxed(const CentreAffine& step) {
  const Layer& region = layer(step.layer);
  call_centre(step);
  mark("centre_slack");
  call(box_routine("slack_of_boxes"),
       {name(step.centre_in), summed_radius(step), std::to_string(region.in),
        double_literal(step.centre_relative), double_literal(step.row_norm),
        double_literal(step.bias_norm), double_literal(step.absolute), name(step.slack)});
  if (step.below == BufferId::kNone) return;
  mark("interval_around");
  call(box_routine("interval_around_boxes"),
       {name(step.radius_out), std::to_string(region.out), double_literal(step.inflate),
        name(step.slack), name(step.below), name(step.above)});
}

void StepEmitter::boxed(const Relax& step) {
  const Layer& region = layer(step.layer);
  BF_CHECK(!region.function && step.slopes == BufferId::kNone);
  const bool table = step.table != BufferId::kNone;
  mark(step.kernel);
  call(box_routine("relax_boxes"),
       {std::to_string(region.out), bool_literal(region.relu), name(step.centre), name(step.below),
        name(step.above), table ? name(step.radius) : "nullptr", relax_errors(step, step.offset),
        table ? name(step.slack) : "nullptr", name_or_null(step.table), name(step.centre_out),
        name(step.radius_out)});
}

void StepEmitter::boxed(const ListLive& step) {
  mark("list_live");
  call(box_routine("list_live_boxes"), {name(step.centre), name(step.radius),
                                        std::to_string(layer(step.layer).out), name(step.live)});
}

// The neurons to bound, and what every row loses in each box.
void StepEmitter::list_box_rows(const BackwardRows& step) {
  const int boxes = entry_.boxes;
  const std::string rows = name(step.neurons);
  const std::string out = std::to_string(layer(step.layer).out);
  mark("list_rows");
  const std::string list =
      step.unstable_only
          ? fmt::format("{}({}, {}, {}, {}, {})", box_routine("list_unstable_boxes"),
                        name(step.centre), name(step.below), name(step.above), out, rows)
          : fmt::format("{}({}, {})", box_routine("list_all_boxes"), out, rows);
  line(fmt::format("const bf::BoxRows<{}> rows = {};", boxes, list));
  line(fmt::format("const bf::RowErrors errors{{{}, {}, {}, 0}};",
                   double_literal(step.concretize_inflate), double_literal(step.weight_relative),
                   double_literal(step.inflate)));
  std::string underflow = std::to_string(plan_.input_count);
  for (const BackwardLink& link : step.links)
    underflow += fmt::format(" + {}[b + {}]", name(link.slack), 2 * boxes);
  line(fmt::format("double absolute[{}];", boxes));
  line(fmt::format("for (int b = 0; b < {}; ++b)", boxes));
  line(fmt::format("  absolute[b] = {}[b] + {} * ({});", name(step.slack),
                   double_literal(step.underflow), underflow));
}

void StepEmitter::boxed(const BackwardRows& step) {
  const int end = op_count(step) - 1;
  line("{");
  ++depth_;
  poison_new(0);
  list_box_rows(step);
  line("for (int round = 0; round < rows.rounds; ++round) {");
  ++depth_;
  box_rows_once(step);
  --depth_;
  line("}");
  poison_dead(end);
  --depth_;
  line("}");
}

// A round: the rows of a neuron of each box.
void StepEmitter::box_rows_once(const BackwardRows& step) {
  const Layer& region = layer(step.layer);
  const int rows = step.tile * entry_.boxes;
  const int end = op_count(step) - 1;
  BF_CHECK(region.kind == LayerKind::kDense && step.tile == 2);
  line(fmt::format("const std::int32_t* const neurons = {} + {} * round;", name(step.neurons),
                   entry_.boxes));
  poison_new(0, true);
  mark(step.start);
  Arguments start = {table(step.layer, TableKind::kWeight), std::to_string(region.in),
                     std::to_string(kernel(step.start).panel), "neurons", name(step.coefficients)};
  if (step.live_in != BufferId::kNone) start.push_back(name(step.live_in));
  call(fmt::format("bf::start_rows<{}>", entry_.boxes), start);
  line(fmt::format("for (int i = 0; i < {}; ++i) {}[i] = 0;", rows, name(step.sums)));
  poison_dead(0, true);
  for (int i = 0; i < static_cast<int>(step.links.size()); ++i) {
    poison_new(i + 1, true);
    link(step, step.links[static_cast<std::size_t>(i)]);
    poison_dead(i + 1, true);
  }
  poison_new(end, true);
  mark(step.concretize);
  line(fmt::format("{}({}, {}, {} + {});", kernel(step.concretize).function,
                   name(step.input_coefficients), name(step.input_radius), name(step.sums), rows));
  if (step.kept_position >= 0) {
    call("bf::keep_coefficients_of_boxes",
         {"group", "neurons", std::to_string(plan_.input_count), name(step.input_coefficients),
          std::to_string(step.kept_position), stride(), "coefficients"});
  }
  mark("tighten_rows");
  call(box_routine("tighten_boxes"),
       {"rows", "round", "neurons", name(step.sums), "errors", "absolute", name(step.radius),
        name(step.below), name(step.above)});
  poison_dead(end, true);
}

void StepEmitter::boxed(const WriteBounds& step) {
  const Layer& region = layer(step.layer);
  mark("write_bounds");
  call("bf::write_boxes",
       {"group", std::to_string(region.out), bool_literal(region.relu), name(step.centre),
        name(step.below), name(step.above), stride(), at_position("out_lower", step.position),
        at_position("out_upper", step.position)});
}

}  // namespace bf_aot
