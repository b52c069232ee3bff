#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "aot/emit/integer/integer.h"
#include "aot/emit/integer/names.h"
#include "aot/emit/text/fill_in.h"

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
    const std::string out = plan_.tensor(step.out).name;
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("quantize(@end@, @source@, @out@_keys, @keys@, @table@, @count@, @out@_@end@)",
                   {{"out", out},
                    {"end", end},
                    {"source", index_argument(out + "_source", step.source)},
                    {"keys", step.keys.front().size()},
                    {"table", table_argument(out + "_table", step.table)},
                    {"count", plan_.tensor(step.out).count}});
    return text;
  }

  std::string operator()(const GridDense& step) const {
    return call("dense<@policy@>(@out@_weights, @out@_codes, @rows@, @columns@, @in@, @bounds@)",
                {{"out", plan_.tensor(step.out).name},
                 {"policy", policy_of(step.codes.rounding)},
                 {"rows", step.rows},
                 {"columns", step.columns},
                 {"in", bounds(step.in)},
                 {"bounds", bounds(step.out)}});
  }

  std::string operator()(const GridConv& step) const {
    return call(
        "convolve<@policy@>(@out@_shape, @out@_weights, @out@_codes, @zero@, @in@, "
        "@out@_window_lower, @out@_window_upper, @bounds@)",
        {{"out", plan_.tensor(step.out).name},
         {"policy", policy_of(step.codes.rounding)},
         {"zero", step.zero},
         {"in", bounds(step.in)},
         {"bounds", bounds(step.out)}});
  }

  std::string operator()(const GridSparse& step) const {
    const std::string out = plan_.tensor(step.out).name;
    return call(
        "sparse<@policy@, bf::integer::@codes@>(@out@_start, @out@_column, @weights@, @out@_codes, "
        "@count@, @in@, @bounds@)",
        {{"out", out},
         {"policy", policy_of(step.codes.rounding)},
         {"codes", step.codes.rows.size() == 1 ? "First" : "Own"},
         {"weights", step.weight.empty() ? "bf::integer::Ones()" : out + "_weights"},
         {"count", plan_.tensor(step.out).count},
         {"in", bounds(step.in)},
         {"bounds", bounds(step.out)}});
  }

  std::string operator()(const GridSum& step) const {
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("add@policy@(@out@_sum, @a@_@end@, @b@_@end@, @count@, @out@_@end@)",
                   {{"out", plan_.tensor(step.out).name},
                    {"end", end},
                    {"policy",
                     step.rounding == Rounding::kSteps ? "" : "<" + policy_of(step.rounding) + ">"},
                    {"a", plan_.tensor(step.a).name},
                    {"b", plan_.tensor(step.b).name},
                    {"count", plan_.tensor(step.out).count}});
    return text;
  }

  std::string operator()(const GridMax& step) const {
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("largest(@out@_start, @out@_source, @count@, @in@_@end@, @out@_@end@)",
                   ends_of(step, end));
    return text;
  }

  std::string operator()(const GridTable& step) const {
    const std::string out = plan_.tensor(step.out).name;
    if (!step.tables.empty())
      return call("look_up(@out@_tables, @source@, @table@, @count@, @in@, @bounds@)",
                  {{"out", out},
                   {"source", index_argument(out + "_source", step.source)},
                   {"table", table_argument(out + "_table", step.table)},
                   {"count", plan_.tensor(step.out).count},
                   {"in", bounds(step.in)},
                   {"bounds", bounds(step.out)}});
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("gather(@out@_source, @count@, @in@_@end@, @out@_@end@)", ends_of(step, end));
    return text;
  }

  std::string operator()(const GridParts& step) const {
    const std::string out = plan_.tensor(step.out).name;
    std::string text;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      const GridPart& part = step.parts[i];
      const Arguments names = {
          {"out", out},
          {"number", i},
          {"source", index_argument(fmt::format("{}_source{}", out, i), part.source)},
          {"count", part.count},
          {"in", plan_.tensor(part.in).name},
          {"begin", part.source.empty() ? part.begin : 0},
          {"first", part.first}};
      if (!part.copies) {
        text += call(
            "look_up(&@out@_table@number@, @source@, bf::integer::First(), @count@, "
            "@in@_lower + @begin@, @in@_upper + @begin@, @out@_lower + @first@, "
            "@out@_upper + @first@)",
            {}, names);
        continue;
      }
      for (const char* const end : {"lower", "upper"})
        text += call("gather(@source@, @count@, @in@_@end@ + @begin@, @out@_@end@ + @first@)",
                     {{"end", end}}, names);
    }
    return text;
  }

  std::string operator()(const GridLoose& step) const {
    return call("loosen(slack, @highest@, @count@, @in@, @bounds@)",
                {{"highest", step.highest},
                 {"count", plan_.tensor(step.out).count},
                 {"in", bounds(step.in)},
                 {"bounds", bounds(step.out)}});
  }

  std::string operator()(const DequantizeBounds& step) const {
    const std::string name = step_name(plan_, step);
    return call(
        "dequantize(@in@, @source@, @name@_bounds, @table@, @count@, out_lower + @first@, "
        "out_upper + @first@)",
        {{"name", name},
         {"in", bounds(step.in)},
         {"source", index_argument(name + "_source", step.source)},
         {"table", table_argument(name + "_table", step.table)},
         {"count", step.count},
         {"first", step.first}});
  }

  std::string operator()(const DequantizeSums& step) const {
    return call(
        "dequantize_sums(@name@_weights, @name@_bounds, @shift@, @rows@, @columns@, @in@, "
        "out_lower + @first@, out_upper + @first@)",
        {{"name", step_name(plan_, step)},
         {"shift", step.shift},
         {"rows", step.rows},
         {"columns", step.columns},
         {"in", bounds(step.in)},
         {"first", step.first}});
  }

 private:
  std::string call(std::string_view text, const Arguments& arguments,
                   const Arguments& names = {}) const {
    return indent_ + "bf::integer::" + fill_in(text, arguments, names) + ";\n";
  }

  // Of a step that makes one end of bounds at a time from the same end of others.
  template <class Step>
  Arguments ends_of(const Step& step, const char* end) const {
    return {{"out", plan_.tensor(step.out).name},
            {"in", plan_.tensor(step.in).name},
            {"count", plan_.tensor(step.out).count},
            {"end", end}};
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

bool has_loose_codes(const Plan& plan) {
  return std::ranges::any_of(plan.integer->steps, [](const IntegerStep& step) {
    return std::holds_alternative<GridLoose>(step);
  });
}

std::string emit_integer_run(const Plan& plan) {
  std::string text =
      "// Lower and upper codes of each tensor, then those of the next.\n"
      "void run(const float* lower, const float* upper, float* out_lower, float* out_upper,\n";
  text += has_loose_codes(plan) ? "         void* workspace, int slack) {\n"
                                : "         void* workspace) {\n";
  text += "  bf::integer::Code* const arena = static_cast<bf::integer::Code*>(workspace);\n" +
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
