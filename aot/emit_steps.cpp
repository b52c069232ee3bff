#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <map>

#include "aot/emit.h"
#include "aot/literals.h"
#include "frontend/diagnostic.h"

namespace bf {
namespace {

// The least float that is at least `value`: error terms only grow.
std::string up(double value) {
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) < value)
    narrow = std::nextafter(narrow, std::numeric_limits<float>::infinity());
  return float_literal(narrow);
}

class StepEmitter {
 public:
  StepEmitter(const Plan& plan, const Entry& entry) : plan_(plan), entry_(entry) {
    const WeightStorage storage = weight_storage(plan.weights_bytes());
    for (const WeightTable& table : weight_tables(plan))
      tables_[{table.layer, table.kind}] = table_reference(storage, table);
  }

  std::string text() {
    if (!entry_.buffers.empty()) {
      line("// The arena.");
      for (const Buffer& buffer : entry_.buffers) declare(buffer);
    }
    for (std::size_t t = 0; t < entry_.tasks.size(); ++t) {
      const Task& task = entry_.tasks[t];
      text_ += "\n";
      line(fmt::format("// Task {}: {}.{}", t + 1, task.name, origin(task)));
      for (const int step : task.steps)
        std::visit([&](const auto& x) { emit(x); }, entry_.steps[static_cast<std::size_t>(step)]);
    }
    return std::move(text_);
  }

 private:
  const Layer& layer(int index) const { return plan_.layers[static_cast<std::size_t>(index)]; }

  const Kernel& kernel(KernelId id) const { return plan_.kernels[static_cast<std::size_t>(id)]; }

  const std::string& name(BufferId id) const { return entry_.buffer(id).name; }

  const std::string& table(int index, TableKind kind) const { return tables_.at({index, kind}); }

  std::string origin(const Task& task) const {
    if (task.layer < 0) return {};
    const Layer& region = layer(task.layer);
    return fmt::format(" {}: [{}] -> [{}].", region.origin, region.in, region.out);
  }

  void line(const std::string& text) { text_ += "  " + text + "\n"; }

  void call(const std::string& function, const std::vector<std::string>& arguments) {
    line(fmt::format("{}({});", function, fmt::join(arguments, ", ")));
  }

  void declare(const Buffer& buffer) {
    const char* type = buffer.element == Element::kFloat64 ? "double"
                       : buffer.element == Element::kInt32 ? "std::int32_t"
                                                           : "float";
    line(fmt::format("{0}* const {1} = at<{0}>(workspace, {2});  // [{3}]", type, buffer.name,
                     buffer.offset, buffer.count));
  }

  void emit(const BindBox& step) {
    std::vector<std::string> arguments = {"lower", "upper", std::to_string(plan_.input_count)};
    if (kernel(step.kernel).kind == KernelKind::kBindFloat) arguments.push_back(up(step.gamma));
    arguments.insert(arguments.end(), {name(step.centre), name(step.radius)});
    call("bf::bind_box", arguments);
  }

  void emit(const IntervalAffine& step) {
    std::vector<std::string> arguments = {table(step.layer, TableKind::kWeight),
                                          table(step.layer, TableKind::kBiasFloat),
                                          name(step.centre_in),
                                          name(step.radius_in),
                                          up(step.inflate),
                                          up(step.magnitude),
                                          up(step.absolute)};
    if (kernel(step.kernel).head) {
      arguments.push_back(at_position("out_lower", step.position));
      arguments.push_back(at_position("out_upper", step.position));
    } else {
      arguments.insert(arguments.end(),
                       {up(step.gamma), name(step.centre_out), name(step.radius_out)});
    }
    call(kernel(step.kernel).function, arguments);
  }

  static std::string at_position(const std::string& array, int position) {
    return position == 0 ? array : fmt::format("{} + {}", array, position);
  }

  void emit(const CentreAffine& step) {
    std::vector<std::string> arguments = {table(step.layer, TableKind::kWeight)};
    if (kernel(step.kernel).residual) arguments.push_back(table(step.layer, TableKind::kResidual));
    arguments.insert(arguments.end(),
                     {table(step.layer, TableKind::kBiasDouble), name(step.centre_in),
                      name(step.radius_in), name(step.centre_out), name(step.radius_out)});
    call(kernel(step.kernel).function, arguments);
    const Layer& region = layer(step.layer);
    call("bf::centre_slack",
         {name(step.centre_in), name(step.radius_in), std::to_string(region.in),
          double_literal(step.centre_relative), double_literal(step.row_norm),
          double_literal(step.bias_norm), double_literal(step.absolute), name(step.slack)});
    call("bf::interval_around",
         {name(step.radius_out), std::to_string(region.out), double_literal(step.inflate),
          name(step.slack) + "[0]", name(step.below), name(step.above)});
  }

  void emit(const Relax& step) {
    const Layer& region = layer(step.layer);
    std::string errors;
    for (const double term :
         {step.product, step.wide_product, step.stored, step.slope, step.offset, step.inflate})
      errors += (errors.empty() ? "bf::RelaxErrors{" : ", ") + double_literal(term);
    errors += "}";
    call("bf::relax",
         {std::to_string(region.out), region.relu ? "true" : "false", name(step.centre),
          name(step.below), name(step.above), name(step.radius), errors, name(step.slack),
          name(step.table), name(step.centre_out), name(step.radius_out)});
  }

  void emit(const BackwardRows& step);

  void emit(const WriteBounds& step) {
    const Layer& region = layer(step.layer);
    call("bf::write_bounds",
         {std::to_string(region.out), region.relu ? "true" : "false", name(step.centre),
          name(step.below), name(step.above), at_position("out_lower", step.position),
          at_position("out_upper", step.position)});
  }

  void emit(const EvaluateAffine& step) {
    call(kernel(step.kernel).function,
         {table(step.layer, TableKind::kWeight), table(step.layer, TableKind::kBiasFloat),
          step.in == BufferId::kNone ? "x" : name(step.in),
          step.out == BufferId::kNone ? at_position("y", step.position) : name(step.out)});
  }

  const Plan& plan_;
  const Entry& entry_;
  std::map<std::pair<int, TableKind>, std::string> tables_;
  std::string text_;
};

void StepEmitter::emit(const BackwardRows& step) {
  const Layer& region = layer(step.layer);
  const int pairs = step.tile / 2;
  const std::string rows = name(step.neurons);
  std::string underflow = std::to_string(plan_.input_count);
  for (const BackwardLink& link : step.links)
    underflow += fmt::format(" + {}[2]", name(link.slack));
  line("{");
  const std::string list =
      step.unstable_only ? fmt::format("bf::list_unstable({}, {}, {}, {}, {})", name(step.centre),
                                       name(step.below), name(step.above), region.out, rows)
                         : fmt::format("bf::list_all({}, {})", region.out, rows);
  line(fmt::format("  const int count = {};", list));
  line(fmt::format("  bf::pad_list({}, count, {});", rows, pairs));
  line(fmt::format("  const bf::RowErrors errors{{{}, {}, {}, {},",
                   double_literal(step.sum_inflate), double_literal(step.concretize_inflate),
                   double_literal(step.weight_relative), double_literal(step.inflate)));
  line(fmt::format("                             {}[0] + {} * ({})}};", name(step.slack),
                   double_literal(step.underflow), underflow));
  line(fmt::format("  for (int first = 0; first < count; first += {}) {{", pairs));
  line(fmt::format("    bf::start_rows({}, {}, {}, {} + first, {}, {});",
                   table(step.layer, TableKind::kWeight), region.in, kernel(step.start).panel, rows,
                   pairs, name(step.coefficients)));
  line(fmt::format("    for (int i = 0; i < {}; ++i) {}[i] = 0;", 2 * step.tile, name(step.sums)));
  BufferId last = step.coefficients;
  for (const BackwardLink& link : step.links) {
    line(fmt::format("    {}({}, {}, {}, {}, {});", kernel(link.kernel).function,
                     table(link.layer, TableKind::kWeight), name(link.table),
                     name(link.coefficients_in), name(step.sums), name(link.coefficients_out)));
    last = link.coefficients_out;
  }
  line(fmt::format("    {}({}, {}, {} + {});", kernel(step.concretize).function, name(last),
                   name(step.input_radius), name(step.sums), 2 * step.tile));
  line(fmt::format(
      "    bf::tighten_rows({0} + first, smaller({1}, count - first), {1}, {2}, errors,", rows,
      pairs, name(step.sums)));
  line(fmt::format("                     {}, {}, {});", name(step.radius), name(step.below),
                   name(step.above)));
  line("  }");
  line("}");
}

}  // namespace

std::string emit_steps(const Plan& plan, const Entry& entry) {
  return StepEmitter(plan, entry).text();
}

}  // namespace bf
