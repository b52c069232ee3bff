#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "aot/emit/integer/integer.h"
#include "aot/emit/integer/names.h"
#include "aot/emit/text/dialect.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::emit {
namespace {

// The type of a rounding in the runtime, and what C calls it.
std::string_view policy_of(Rounding rounding) {
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

std::string_view word_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::kFloor:
      return "floor";
    case Rounding::kHalfEven:
      return "half_even";
    case Rounding::kSteps:
      return "step";
  }
  return {};
}

// The calls of steps, one overload for each kind. What is a type in C++ is an argument in C.
class CallPrinter {
 public:
  CallPrinter(const Plan& plan, std::string indent)
      : plan_(*plan.integer), dialect_(plan.config.language), indent_(std::move(indent)) {}

  std::string operator()(const QuantizeBox& step) const {
    const std::string out = plan_.tensor(step.out).name;
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("quantize(@end@, @source@, @out@_keys, @keys@, @table@, @count@, @out@_@end@)",
                   {{"out", out},
                    {"end", end},
                    {"source", indices(out + "_source", step.source)},
                    {"keys", step.keys.front().size()},
                    {"table", numbers(out + "_table", step.table)},
                    {"count", plan_.tensor(step.out).count}});
    return text;
  }

  std::string operator()(const GridDense& step) const {
    const std::string out = plan_.tensor(step.out).name;
    return call("dense@policy@(@weights@, @codes@, @rows@, @columns@, @in@, @bounds@)",
                {{"policy", policy(step.codes.rounding)},
                 {"weights", weights(out + "_weights", step.weight_bytes)},
                 {"codes", codes(out + "_codes", step.codes)},
                 {"rows", step.rows},
                 {"columns", step.columns},
                 {"in", bounds(step.in)},
                 {"bounds", bounds(step.out)}});
  }

  std::string operator()(const GridConv& step) const {
    const std::string out = plan_.tensor(step.out).name;
    return call(
        "convolve@policy@(@shape@, @weights@, @codes@, @zero@, @in@, "
        "@out@_window_lower, @out@_window_upper, @bounds@)",
        {{"out", out},
         {"policy", policy(step.codes.rounding)},
         {"shape", reference(out + "_shape")},
         {"weights", weights(out + "_weights", step.weight_bytes)},
         {"codes", codes(out + "_codes", step.codes)},
         {"zero", step.zero},
         {"in", bounds(step.in)},
         {"bounds", bounds(step.out)}});
  }

  std::string operator()(const GridSparse& step) const {
    const std::string out = plan_.tensor(step.out).name;
    const bool same = step.codes.rows.size() == 1;
    const std::string rows = same ? "First" : "Own";
    constexpr int kWeightBytes = 2;
    return call(
        "sparse@policy@(@rows@@start@, @column@, @weights@, @codes@, @count@, @in@, @bounds@)",
        {{"policy", dialect_.is_c() ? ""
                                    : fmt::format("<{}, bf::integer::{}>",
                                                  policy_of(step.codes.rounding), rows)},
         {"rows", !dialect_.is_c() ? ""
                  : same           ? "bf_first(), "
                                   : "bf_own(), "},
         {"start", indices(out + "_start", step.row_start)},
         {"column", step.column.empty() ? indices(out + "_column", {0})
                                        : indices(out + "_column", step.column)},
         {"weights",
          step.weight.empty() ? own("Ones", "ones") : weights(out + "_weights", kWeightBytes)},
         {"codes", codes(out + "_codes", step.codes)},
         {"count", plan_.tensor(step.out).count},
         {"in", bounds(step.in)},
         {"bounds", bounds(step.out)}});
  }

  std::string operator()(const GridSum& step) const {
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("add@policy@(@sum@, @a@_@end@, @b@_@end@, @count@, @out@_@end@)",
                   {{"out", plan_.tensor(step.out).name},
                    {"end", end},
                    {"policy", pair_policy(step.rounding)},
                    {"sum", reference(plan_.tensor(step.out).name + "_sum")},
                    {"a", plan_.tensor(step.a).name},
                    {"b", plan_.tensor(step.b).name},
                    {"count", plan_.tensor(step.out).count}});
    return text;
  }

  std::string operator()(const GridMax& step) const {
    const std::string out = plan_.tensor(step.out).name;
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("largest(@start@, @source@, @count@, @in@_@end@, @out@_@end@)",
                   {{"start", indices(out + "_start", step.row_start)},
                    {"source", indices(out + "_source", step.source)}},
                   ends_of(step, end));
    return text;
  }

  std::string operator()(const GridTable& step) const {
    const std::string out = plan_.tensor(step.out).name;
    if (!step.tables.empty())
      return call("look_up(@out@_tables, @source@, @table@, @count@, @in@, @bounds@)",
                  {{"out", out},
                   {"source", indices(out + "_source", step.source)},
                   {"table", numbers(out + "_table", step.table)},
                   {"count", plan_.tensor(step.out).count},
                   {"in", bounds(step.in)},
                   {"bounds", bounds(step.out)}});
    std::string text;
    for (const char* const end : {"lower", "upper"})
      text += call("gather(@source@, @count@, @in@_@end@, @out@_@end@)",
                   {{"source", indices(out + "_source", step.source)}}, ends_of(step, end));
    return text;
  }

  std::string operator()(const GridParts& step) const {
    const std::string out = plan_.tensor(step.out).name;
    std::string text;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      const GridPart& part = step.parts[i];
      const Arguments names = {{"out", out},
                               {"number", i},
                               {"source", indices(fmt::format("{}_source{}", out, i), part.source)},
                               {"first_table", own("First", "first")},
                               {"count", part.count},
                               {"in", plan_.tensor(part.in).name},
                               {"begin", part.source.empty() ? part.begin : 0},
                               {"first", part.first}};
      if (!part.copies) {
        text += call(
            "look_up(&@out@_table@number@, @source@, @first_table@, @count@, "
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
         {"source", indices(name + "_source", step.source)},
         {"table", numbers(name + "_table", step.table)},
         {"count", step.count},
         {"first", step.first}});
  }

  std::string operator()(const DequantizeSums& step) const {
    return call(
        "dequantize_sums(@weights@, @name@_bounds, @shift@, @rows@, @columns@, @in@, "
        "out_lower + @first@, out_upper + @first@)",
        {{"name", step_name(plan_, step)},
         {"weights", weights(step_name(plan_, step) + "_weights", step.weight_bytes)},
         {"shift", step.shift},
         {"rows", step.rows},
         {"columns", step.columns},
         {"in", bounds(step.in)},
         {"first", step.first}});
  }

 private:
  std::string call(std::string_view text, const Arguments& arguments,
                   const Arguments& names = {}) const {
    return indent_ + (dialect_.is_c() ? "bf_integer_" : "bf::integer::") +
           fill_in(text, arguments, names) + ";\n";
  }

  // Template arguments of C++ that say how codes are made of sums.
  std::string policy(Rounding rounding) const {
    return dialect_.is_c() ? "" : fmt::format("<{}>", policy_of(rounding));
  }

  // The same for sums of two, of which C has a routine for each.
  std::string pair_policy(Rounding rounding) const {
    const bool steps = rounding == Rounding::kSteps;
    if (dialect_.is_c()) return fmt::format("_{}", steps ? "steps" : word_of(rounding));
    return steps ? "" : policy(rounding);
  }

  // Arguments of the types of bf/c/integer.h, which are tables themselves in C++.
  std::string weights(const std::string& name, int bytes) const {
    return dialect_.is_c() ? fmt::format("bf_int{}_weights({})", 8 * bytes, name) : name;
  }

  std::string codes(const std::string& name, const Requantization& of) const {
    if (!dialect_.is_c()) return name;
    const bool wide = of.rounding != Rounding::kSteps && of.multiplier_bytes == 8;
    return fmt::format("bf_{}{}_codes({})", wide ? "wide_" : "", word_of(of.rounding), name);
  }

  std::string table(const std::string& name, int bytes) const {
    return dialect_.is_c() ? fmt::format("bf_uint{}_indices({})", 8 * bytes, name) : name;
  }

  std::string indices(const std::string& name, const std::vector<std::int64_t>& of) const {
    return of.empty() ? own("Own", "own") : table(name, index_bytes(of));
  }

  std::string numbers(const std::string& name, const std::vector<int>& of) const {
    return of.empty() ? own("First", "first") : table(name, 2);
  }

  std::string own(std::string_view cpp_name, std::string_view c_name) const {
    return dialect_.is_c() ? fmt::format("bf_{}()", c_name)
                           : fmt::format("bf::integer::{}()", cpp_name);
  }

  std::string reference(const std::string& name) const {
    return dialect_.is_c() ? "&" + name : name;
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
  const Dialect dialect_;
  const std::string indent_;
};

std::string_view code_of(const Plan& plan) {
  return plan.config.language == Language::kC ? "uint8_t" : "bf::integer::Code";
}

std::string place(const Plan& plan, const std::string& name, std::int64_t offset) {
  return fmt::format("  {}* const {} = arena + {};\n", code_of(plan), name, offset);
}

std::string places(const Plan& plan) {
  const Entry& entry = plan.entries.front();
  std::string text;
  for (const GridTensor& tensor : plan.integer->tensors)
    for (const auto& [id, end] : {std::pair(tensor.lower, "_lower"), {tensor.upper, "_upper"}})
      text += place(plan, tensor.name + end, entry.buffer(id).offset);
  for (const IntegerStep& step : plan.integer->steps)
    if (const auto* const conv = std::get_if<GridConv>(&step))
      for (const BufferId id : {conv->window_lower, conv->window_upper})
        text += place(plan, entry.buffer(id).name, entry.buffer(id).offset);
  return text;
}

}  // namespace

bool has_loose_codes(const Plan& plan) {
  return std::ranges::any_of(plan.integer->steps, [](const IntegerStep& step) {
    return std::holds_alternative<GridLoose>(step);
  });
}

std::string emit_integer_run(const Plan& plan) {
  const Dialect dialect(plan.config.language);
  std::string text = "// Lower and upper codes of each tensor, then those of the next.\n";
  text += dialect.is_c() ? "static void run(" : "void run(";
  text += "const float* lower, const float* upper, float* out_lower, float* out_upper,\n";
  text += has_loose_codes(plan) ? "         void* workspace, int slack) {\n"
                                : "         void* workspace) {\n";
  text += fmt::format("  {}* const arena = {};\n", code_of(plan),
                      dialect.is_c() ? "workspace" : "static_cast<bf::integer::Code*>(workspace)") +
          places(plan);
  for (const IntegerStep& step : plan.integer->steps) {
    const GridId out = output_of(step);
    text += fmt::format("\n  // {}\n", out < 0 ? "outputs" : plan.integer->tensor(out).origin);
    text += std::visit(CallPrinter(plan, "  "), step);
  }
  return text + "}\n\n";
}

std::string dump_integer_calls(const Plan& plan) {
  std::string text;
  for (const IntegerStep& step : plan.integer->steps)
    text += std::visit(CallPrinter(plan, ""), step);
  return text;
}

}  // namespace bf_aot::emit
