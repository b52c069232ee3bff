#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "aot/calls/emit_terms.h"
#include "aot/calls/step_emitter.h"
#include "aot/interface/emit_parallel.h"
#include "aot/text/literals.h"

namespace bf_aot {
std::string at_position(const std::string& array, int position) {
  return position == 0 ? array : fmt::format("{} + {}", array, position);
}

std::string literal_up(double value) {
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) < value)
    narrow = std::nextafter(narrow, std::numeric_limits<float>::infinity());
  return float_literal(narrow);
}

StepEmitter::StepEmitter(const Plan& plan, const Entry& entry, const Instruments& instruments)
    : plan_(plan), entry_(entry), instruments_(instruments) {
  const WeightStorage storage = weight_storage(plan.weights_bytes());
  for (const WeightTable& table : weight_tables(plan))
    tables_[{table.layer, table.term, table.kind}] = table_reference(storage, table);
  for (const ConvShapeName& shape : conv_shapes(plan))
    shapes_[{shape.layer, shape.term}] = shape.name;
}

std::string StepEmitter::text() {
  if (!entry_.buffers.empty()) {
    line("// The arena.");
    for (const Buffer& buffer : entry_.buffers)
      if (!buffer.per_worker) declare(buffer);
  }
  if (entry_.workers > 1)
    line(fmt::format("const bf::Scratch scratch = {{at<unsigned char>(workspace, {}), {}}};",
                     entry_.storage.planned_bytes, entry_.worker_storage.planned_bytes));
  const bool loops = entry_.boxes > 1 && !has_workers(plan_);
  if (loops) {
    line(fmt::format("bf::BoxGroup<{}> group = {{}};", entry_.boxes));
    line("while (bf::next_group(group, count, statuses)) {");
    ++depth_;
  }
  for (std::size_t t = 0; t < entry_.tasks.size(); ++t) {
    const Task& task = entry_.tasks[t];
    task_ = static_cast<int>(t);
    text_ += "\n";
    open_part(task.steps.front());
    line(fmt::format("// Task {}: {}.{}", t + 1, task.name, origin(task)));
    for (const int step : task.steps) emit_step(step);
    close_part(task.steps.back() + 1);
  }
  task_ = -1;
  if (loops) {
    --depth_;
    line("}");
  }
  mark("");
  return std::move(text_);
}

// Rows poison their own ops, in each round.
void StepEmitter::emit_step(int step) {
  step_ = step;
  const Step& what = entry_.steps[static_cast<std::size_t>(step)];
  const bool rows = std::holds_alternative<BackwardRows>(what);
  if (!rows) poison_new(0);
  if (entry_.boxes > 1)
    std::visit([&](const auto& x) { boxed(x); }, what);
  else
    std::visit([&](const auto& x) { emit(x); }, what);
  if (!rows) poison_dead(0);
}

void StepEmitter::poison_new(int op, bool in_a_round) {
  for (const Buffer& buffer : entry_.buffers)
    if (buffer.first == step_ && buffer.first_op == op && lives_in_a_round(buffer) == in_a_round &&
        (in_a_round || !buffer.per_worker))
      poison(buffer);
}

void StepEmitter::poison_dead(int op, bool in_a_round) {
  for (const Buffer& buffer : entry_.buffers)
    if (buffer.last == step_ && buffer.last_op == op && lives_in_a_round(buffer) == in_a_round &&
        (in_a_round || !buffer.per_worker))
      poison(buffer);
}

bool StepEmitter::lives_in_a_round(const Buffer& buffer) const {
  const int end = op_count(entry_.steps[static_cast<std::size_t>(step_)]) - 1;
  return buffer.first == step_ && buffer.last == step_ &&
         (buffer.first_op != 0 || buffer.last_op != end);
}

void StepEmitter::poison(const Buffer& buffer) {
  if (!instruments_.poison || buffer.scope != CacheScope::kRun) return;
  line(fmt::format("poison({}, {}, {});", buffer.name, buffer.bytes, *instruments_.poison));
}

std::string StepEmitter::name_or_null(BufferId id) const {
  return id == BufferId::kNone ? "nullptr" : name(id);
}

std::string StepEmitter::term_table(int index, int number, TableKind kind) const {
  const auto found = tables_.find({index, number, kind});
  return found == tables_.end() ? "nullptr" : found->second;
}

std::string StepEmitter::origin(const Task& task) const {
  if (task.layer < 0) return {};
  const Layer& region = layer(task.layer);
  std::vector<int> sizes;
  for (const Term& each : region.terms) sizes.push_back(each.in);
  if (region.kind == LayerKind::kDense) sizes = {region.in};
  return fmt::format(" {}: [{}] -> [{}].", region.origin, fmt::join(sizes, "], ["), region.out);
}

void StepEmitter::mark(const std::string& part) {
  if (instruments_.trace)
    line(
        fmt::format("if ({0}_trace != nullptr) {0}_trace({1}, \"{2}\");", plan_.name, task_, part));
}

void StepEmitter::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
}

void StepEmitter::call(const std::string& function, const Arguments& arguments) {
  line(fmt::format("{}({});", function, fmt::join(arguments, ", ")));
}

void StepEmitter::declare(const Buffer& buffer) {
  const char* type = buffer.element == Element::kFloat64 ? "double"
                     : buffer.element == Element::kInt32 ? "std::int32_t"
                                                         : "float";
  line(fmt::format("{0}* const {1} = at<{0}>({2}, {3});  // [{4}]", type, buffer.name,
                   buffer.per_worker                  ? "own"
                   : buffer.scope == CacheScope::kRun ? "workspace"
                                                      : "context",
                   buffer.offset, buffer.count));
}

void StepEmitter::emit(const BindBox& step) {
  const bool point = entry_.kind == EntryKind::kEvaluate;
  Arguments arguments = {point ? "x" : "lower", point ? "x" : "upper",
                         std::to_string(plan_.input_count)};
  if (kernel(step.kernel).kind == KernelKind::kBindFloat)
    arguments.push_back(literal_up(step.gamma));
  arguments.insert(arguments.end(), {name(step.centre), name(step.radius)});
  mark("bind_box");
  call("bf::bind_box", arguments);
}

void StepEmitter::emit(const IntervalAffine& step) {
  Arguments arguments = {table(step.layer, TableKind::kWeight),
                         table(step.layer, TableKind::kBiasFloat),
                         name(step.centre_in),
                         name(step.radius_in),
                         literal_up(step.inflate),
                         literal_up(step.magnitude),
                         literal_up(step.absolute)};
  if (step.low != BufferId::kNone) {
    arguments.insert(arguments.end(), {name(step.low), name(step.high)});
  } else if (kernel(step.kernel).head) {
    arguments.push_back(at_position("out_lower", step.position));
    arguments.push_back(at_position("out_upper", step.position));
  } else {
    arguments.insert(arguments.end(),
                     {literal_up(step.gamma), name(step.centre_out), name(step.radius_out)});
  }
  if (step.live_in != BufferId::kNone) arguments.push_back(name(step.live_in));
  mark(step.kernel);
  call(kernel(step.kernel).function, arguments);
}

void StepEmitter::call_centre(const CentreAffine& step) {
  Arguments arguments = {table(step.layer, TableKind::kWeight)};
  if (kernel(step.kernel).residual) arguments.push_back(table(step.layer, TableKind::kResidual));
  arguments.insert(arguments.end(),
                   {table(step.layer, TableKind::kBiasDouble), name(step.centre_in),
                    name(step.radius_in), name(step.centre_out), name(step.radius_out)});
  if (step.live_in != BufferId::kNone) arguments.push_back(name(step.live_in));
  mark(step.kernel);
  call(kernel(step.kernel).function, arguments);
}

// Relaxations with a table read the sum of the radii; lines do not.
std::string StepEmitter::summed_radius(const CentreAffine& step) const {
  return step.below == BufferId::kNone ? "nullptr" : name(step.radius_in);
}

void StepEmitter::emit(const CentreAffine& step) {
  call_centre(step);
  const Layer& region = layer(step.layer);
  mark("centre_slack");
  call("bf::centre_slack",
       {name(step.centre_in), summed_radius(step), std::to_string(region.in),
        double_literal(step.centre_relative), double_literal(step.row_norm),
        double_literal(step.bias_norm), double_literal(step.absolute), name(step.slack)});
  if (step.below == BufferId::kNone) return;
  mark("interval_around");
  call("bf::interval_around",
       {name(step.radius_out), std::to_string(region.out), double_literal(step.inflate),
        name(step.slack) + "[0]", name(step.below), name(step.above)});
}

std::string StepEmitter::relax_errors(const Relax& step, double offset) const {
  std::string errors;
  for (const double error :
       {step.product, step.wide_product, step.stored, step.slope, offset, step.inflate})
    errors += (errors.empty() ? "bf::RelaxErrors{" : ", ") + double_literal(error);
  return errors + "}";
}

void StepEmitter::relax_slopes(const Relax& step) {
  call("bf::relax_slopes",
       {std::to_string(layer(step.layer).out), name(step.centre), name(step.below),
        name(step.above), name(step.radius), relax_errors(step, step.free_offset), name(step.slack),
        name(step.table), name(step.centre_out), name(step.radius_out), name(step.slopes)});
}

void StepEmitter::emit(const Relax& step) {
  const Layer& region = layer(step.layer);
  mark(step.kernel);
  const std::string activation =
      region.function ? function_table_name(plan_, *region.function) : bool_literal(region.relu);
  Arguments arguments = {std::to_string(region.out), activation, name(step.centre),
                         name(step.below), name(step.above)};
  const bool boxes = step.table == BufferId::kNone;
  if (boxes && !region.function) {
    arguments.insert(arguments.end(), {name(step.centre_out), name(step.radius_out)});
    call("bf::relax_box", arguments);
    return;
  }
  const std::string errors = relax_errors(step, step.offset);
  arguments.insert(arguments.end(), {boxes ? "nullptr" : name(step.radius), errors,
                                     boxes ? "nullptr" : name(step.slack), name_or_null(step.table),
                                     name(step.centre_out), name(step.radius_out)});
  call("bf::relax", arguments);
  if (step.live != BufferId::kNone)
    call("bf::list_live", {fmt::format("bf::image_made({})", made_shape(step.layer)),
                           std::to_string(region.out), name(step.radius_out), name(step.live)});
  if (step.slopes != BufferId::kNone) relax_slopes(step);
}

void StepEmitter::emit(const ListLive& step) {
  mark("list_live");
  call("bf::list_live", {name(step.centre), name(step.radius),
                         std::to_string(layer(step.layer).out), name(step.live)});
}

void StepEmitter::emit(const WriteBounds& step) {
  const Layer& region = layer(step.layer);
  mark("write_bounds");
  call("bf::write_bounds",
       {std::to_string(region.out), bool_literal(region.relu), name(step.centre), name(step.below),
        name(step.above), at_position("out_lower", step.position),
        at_position("out_upper", step.position)});
}

void StepEmitter::emit(const EvaluateAffine& step) {
  mark(step.kernel);
  call(kernel(step.kernel).function,
       {table(step.layer, TableKind::kWeight), table(step.layer, TableKind::kBiasFloat),
        step.in == BufferId::kNone ? "x" : name(step.in),
        step.out == BufferId::kNone ? at_position("y", step.position) : name(step.out)});
}

void StepEmitter::emit(const WriteValues& step) {
  const Layer& region = layer(step.layer);
  mark("write_values");
  call("bf::write_values", {std::to_string(region.out), bool_literal(region.relu),
                            name(step.centre), at_position("y", step.position)});
}

std::string emit_steps(const Plan& plan, const Entry& entry, const Instruments& instruments) {
  return StepEmitter(plan, entry, instruments).text();
}

}  // namespace bf_aot
