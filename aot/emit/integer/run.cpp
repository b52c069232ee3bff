#include <fmt/format.h>

#include "aot/emit/integer/integer.h"
#include "aot/emit/integer/names.h"

namespace bf_aot::emit {
namespace {

// The type of a rounding in the runtime: "bf::integer::Floor".
std::string policy_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::kFloor:
      return "bf::integer::Floor";
    case Rounding::kHalfEven:
      return "bf::integer::HalfEven";
    case Rounding::kSteps:
      return "bf::integer::Steps";
  }
  return {};
}

// The calls of steps, one overload for each kind.
class CallPrinter {
 public:
  CallPrinter(const IntegerPlan& plan, std::string indent)
      : plan_(plan), indent_(std::move(indent)) {}

  std::string operator()(const QuantizeBox& step) const {
    const std::string name = plan_.tensor(step.out).name;
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call(
          fmt::format("quantize({2}, {3}, {0}_keys, {4}, {5}, {6}, {0}_{1})", name, end, end,
                      index_argument(name + "_source", step.source), step.keys.front().size(),
                      table_argument(name + "_table", step.table), plan_.tensor(step.out).count));
    return text;
  }

  std::string operator()(const GridDense& step) const {
    const std::string name = plan_.tensor(step.out).name;
    return call(fmt::format("dense<{1}>({0}_weights, {0}_codes, {2}, {3}, {4}, {5})", name,
                            policy_of(step.codes.rounding), step.rows, step.columns,
                            bounds(step.in), bounds(step.out)));
  }

  std::string operator()(const GridConv& step) const {
    const std::string name = plan_.tensor(step.out).name;
    return call(fmt::format(
        "convolve<{1}>({0}_shape, {0}_weights, {0}_codes, {2}, {3}, {0}_window_lower, "
        "{0}_window_upper, {4})",
        name, policy_of(step.codes.rounding), step.zero, bounds(step.in), bounds(step.out)));
  }

  std::string operator()(const GridSparse& step) const {
    const std::string name = plan_.tensor(step.out).name;
    return call(fmt::format(
        "sparse<{1}, bf::integer::{2}>({0}_start, {0}_column, {3}, {0}_codes, {4}, {5}, {6})", name,
        policy_of(step.codes.rounding), step.codes.rows.size() == 1 ? "First" : "Own",
        step.weight.empty() ? "bf::integer::Ones()" : name + "_weights",
        plan_.tensor(step.out).count, bounds(step.in), bounds(step.out)));
  }

  std::string operator()(const GridSum& step) const {
    const std::string name = plan_.tensor(step.out).name;
    const std::string policy =
        step.rounding == Rounding::kSteps ? "" : "<" + policy_of(step.rounding) + ">";
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call(fmt::format("add{2}({0}_sum, {3}_{1}, {4}_{1}, {5}, {0}_{1})", name, end, policy,
                               plan_.tensor(step.a).name, plan_.tensor(step.b).name,
                               plan_.tensor(step.out).count));
    return text;
  }

  std::string operator()(const GridMax& step) const {
    const std::string name = plan_.tensor(step.out).name;
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call(fmt::format("largest({0}_start, {0}_source, {2}, {3}_{1}, {0}_{1})", name, end,
                               plan_.tensor(step.out).count, plan_.tensor(step.in).name));
    return text;
  }

  std::string operator()(const GridTable& step) const {
    const std::string name = plan_.tensor(step.out).name;
    if (!step.tables.empty())
      return call(fmt::format("look_up({0}_tables, {1}, {2}, {3}, {4}, {5})", name,
                              index_argument(name + "_source", step.source),
                              table_argument(name + "_table", step.table),
                              plan_.tensor(step.out).count, bounds(step.in), bounds(step.out)));
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call(fmt::format("gather({0}_source, {2}, {3}_{1}, {0}_{1})", name, end,
                               plan_.tensor(step.out).count, plan_.tensor(step.in).name));
    return text;
  }

  std::string operator()(const GridParts& step) const {
    const std::string name = plan_.tensor(step.out).name;
    std::string text;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      const GridPart& part = step.parts[i];
      const std::string in = plan_.tensor(part.in).name;
      const std::string source = index_argument(fmt::format("{}_source{}", name, i), part.source);
      const int begin = part.source.empty() ? part.begin : 0;
      if (!part.copies) {
        text +=
            call(fmt::format("look_up(&{0}_table{1}, {2}, bf::integer::First(), {3}, "
                             "{4}_lower + {5}, {4}_upper + {5}, {0}_lower + {6}, "
                             "{0}_upper + {6})",
                             name, i, source, part.count, in, begin, part.first));
        continue;
      }
      for (const char* const end : {"lower", "upper"})
        text += call(fmt::format("gather({0}, {1}, {2}_{3} + {4}, {5}_{3} + {6})", source,
                                 part.count, in, end, begin, name, part.first));
    }
    return text;
  }

  std::string operator()(const DequantizeBounds& step) const {
    const std::string name = step_name(plan_, step);
    return call(
        fmt::format("dequantize({1}, {2}, {0}_bounds, {3}, {4}, out_lower + {5}, out_upper + {5})",
                    name, bounds(step.in), index_argument(name + "_source", step.source),
                    table_argument(name + "_table", step.table), step.count, step.first));
  }

  std::string operator()(const DequantizeSums& step) const {
    return call(fmt::format(
        "dequantize_sums({0}_weights, {0}_bounds, {1}, {2}, {3}, {4}, out_lower + {5}, "
        "out_upper + {5})",
        step_name(plan_, step), step.shift, step.rows, step.columns, bounds(step.in), step.first));
  }

 private:
  std::string call(const std::string& text) const {
    return indent_ + "bf::integer::" + text + ";\n";
  }

  std::string bounds(GridId tensor) const {
    return fmt::format("{0}_lower, {0}_upper", plan_.tensor(tensor).name);
  }

  const IntegerPlan& plan_;
  const std::string indent_;
};

std::string place(const std::string& name, std::int64_t offset) {
  return fmt::format("  bf::integer::Code* const {} = arena + {};\n", name, offset);
}

std::string places(const Plan& plan) {
  const Entry& entry = plan.entries.front();
  std::string text;
  for (const GridTensor& tensor : plan.integer->tensors)
    for (const auto& [id, end] : {std::pair(tensor.lower, "_lower"), {tensor.upper, "_upper"}})
      text += place(tensor.name + end, entry.buffer(id).offset);
  for (const IntegerStep& step : plan.integer->steps)
    if (const auto* const conv = std::get_if<GridConv>(&step))
      for (const BufferId id : {conv->window_lower, conv->window_upper})
        text += place(entry.buffer(id).name, entry.buffer(id).offset);
  return text;
}

}  // namespace

std::string index_argument(const std::string& name, const std::vector<std::int64_t>& indices) {
  return indices.empty() ? "bf::integer::Own()" : name;
}

std::string table_argument(const std::string& name, const std::vector<int>& numbers) {
  return numbers.empty() ? "bf::integer::First()" : name;
}

std::string emit_integer_run(const Plan& plan) {
  std::string text =
      "// Lower and upper codes of each tensor, then those of the next.\n"
      "void run(const float* lower, const float* upper, float* out_lower, float* out_upper,\n"
      "         void* workspace) {\n"
      "  bf::integer::Code* const arena = static_cast<bf::integer::Code*>(workspace);\n" +
      places(plan);
  for (const IntegerStep& step : plan.integer->steps) {
    const GridId out = output_of(step);
    text += fmt::format("\n  // {}\n", out < 0 ? "outputs" : plan.integer->tensor(out).origin);
    text += std::visit(CallPrinter(*plan.integer, "  "), step);
  }
  return text + "}\n\n";
}

std::string dump_integer_calls(const Plan& plan) {
  std::string text;
  for (const IntegerStep& step : plan.integer->steps)
    text += std::visit(CallPrinter(*plan.integer, ""), step);
  return text;
}

}  // namespace bf_aot::emit
