#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <variant>

#include "aot/emit/integer/integer.h"
#include "aot/emit/text/dialect.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/marks.h"
#include "frontend/diagnostic.h"

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
    const Arguments names = {{"policy", policy(step.codes.rounding)},
                             {"weights", weights(out + "_weights", step.weight_bytes)},
                             {"codes", codes(out + "_codes", step.codes)},
                             {"rows", step.rows},
                             {"columns", step.columns},
                             {"in", bounds(step.in)},
                             {"bounds", bounds(step.out)}};
    if (!plan_.crown)
      return call("dense@policy@(@weights@, @codes@, @rows@, @columns@, @in@, @bounds@)", names);
    return call(
        "crown_dense@policy@(@layer@, @weights@, @codes@, @out@_lines, @in@, @bounds@, "
        "@out@_relaxed, back, workspace)",
        {{"layer", crown_layer_of(step)}, {"out", out}}, names);
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
    const std::string name = name_of_result(plan_, step);
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
    const std::string name = name_of_result(plan_, step);
    const Arguments names = {{"name", name},
                             {"weights", weights(name + "_weights", step.weight_bytes)},
                             {"shift", step.shift},
                             {"rows", step.rows},
                             {"columns", step.columns},
                             {"in", bounds(step.in)},
                             {"first", step.first}};
    if (!plan_.crown)
      return call(
          "dequantize_sums(@weights@, @name@_bounds, @shift@, @rows@, @columns@, @in@, "
          "out_lower + @first@, out_upper + @first@)",
          names);
    return call(
        "crown_outputs(@layer@, @weights@, @name@_bounds, @shift@, @in@, out_lower + @first@, "
        "out_upper + @first@, back, workspace)",
        {{"layer", crown_layer_of(step)}}, names);
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

  // Says the same of sums of two tensors. C has a routine for each way to round.
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

  // A dense step as a layer of method crown.
  template <class Step>
  std::string crown_layer_of(const Step& step) const {
    const std::vector<CrownLayer>& layers = plan_.crown->layers;
    const auto is_step = [&](const CrownLayer& layer) {
      return std::get_if<Step>(&plan_.steps[static_cast<std::size_t>(layer.step)]) == &step;
    };
    const auto found = std::ranges::find_if(layers, is_step);
    BF_CHECK(found != layers.end());
    return crown_layer(*plan_.crown, static_cast<int>(found - layers.begin()), step.rows,
                       step.columns, found->shift);
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

// The places of tensors' bounds.
std::string places(const Plan& plan, const std::set<GridId>& tensors) {
  const Entry& entry = plan.entries.front();
  const bool in_c = plan.config.language == Language::kC;
  std::string text = fmt::format("  {}* const arena = {};\n", code_of(plan),
                                 in_c ? "workspace" : "static_cast<bf::integer::Code*>(workspace)");
  for (const GridId id : tensors) {
    const GridTensor& tensor = plan.integer->tensor(id);
    text += place(plan, tensor.name + "_lower", entry.buffer(tensor.lower).offset) +
            place(plan, tensor.name + "_upper", entry.buffer(tensor.upper).offset);
  }
  return text;
}

std::string window_places(const Plan& plan) {
  const Entry& entry = plan.entries.front();
  std::string text;
  for (const IntegerStep& step : plan.integer->steps)
    if (const auto* const conv = std::get_if<GridConv>(&step))
      for (const BufferId id : {conv->window_lower, conv->window_upper})
        text += place(plan, entry.buffer(id).name, entry.buffer(id).offset);
  return text;
}

std::set<GridId> all_tensors(const Plan& plan) {
  std::set<GridId> all;
  for (int id = 0; id < static_cast<int>(plan.integer->tensors.size()); ++id) all.insert(id);
  return all;
}

bool makes_outputs(const IntegerStep& step) {
  return output_of(step) < 0;
}

// The mark of a step: its name in the trace.
std::string mark_of(std::size_t step) {
  return fmt::format("step {}/{}", to_string(EntryKind::kBounds), step);
}

// The calls of steps, each below the nodes that it comes from.
std::string step_calls(const Plan& plan, bool marks,
                       const std::function<bool(const IntegerStep&)>& wanted) {
  std::string text;
  for (std::size_t i = 0; i < plan.integer->steps.size(); ++i) {
    const IntegerStep& step = plan.integer->steps[i];
    if (!wanted(step)) continue;
    const GridId out = output_of(step);
    const std::string from = out < 0 ? "outputs" : plan.integer->tensor(out).origin.text;
    text +=
        "\n" + marked(marks, mark_of(i),
                      fmt::format("  // {}\n", from) + std::visit(CallPrinter(plan, "  "), step));
  }
  return text;
}

// Its last arguments, the workspace and by how many codes they are loosened.
std::string last_parameters(const Plan& plan) {
  return has_loose_codes(plan) ? "void* workspace, int slack) {\n" : "void* workspace) {\n";
}

std::string codes_call(const Plan& plan) {
  return fmt::format("  codes(lower, upper, workspace{});\n",
                     has_loose_codes(plan) ? ", slack" : "");
}

// The places of rows, and of lines, in a function that has all layers.
std::string crown_places(const Plan& plan) {
  return plan.integer->crown ? crown_row_places(plan) + crown_line_places(plan) : "";
}

bool has_sum_outputs(const Plan& plan) {
  return std::ranges::any_of(plan.integer->steps, [](const IntegerStep& step) {
    return std::holds_alternative<DequantizeSums>(step);
  });
}

std::string emit_codes(const Plan& plan, bool marks) {
  return "// Lower and upper codes of each tensor, then those of the next.\n"
         "void codes(const float* lower, const float* upper, " +
         last_parameters(plan) + places(plan, all_tensors(plan)) + window_places(plan) +
         crown_places(plan) +
         step_calls(plan, marks, [](const IntegerStep& step) { return !makes_outputs(step); }) +
         "}\n\n";
}

std::string emit_outputs(const Plan& plan, bool marks) {
  std::set<GridId> read;
  for (const IntegerStep& step : plan.integer->steps)
    if (makes_outputs(step))
      for (const GridId in : inputs_of(step)) read.insert(in);
  return "// Bounds of the outputs.\n"
         "void run(const float* lower, const float* upper, float* out_lower, float* out_upper,\n"
         "         " +
         last_parameters(plan) + codes_call(plan) + places(plan, read) +
         (plan.integer->crown && has_sum_outputs(plan) ? crown_row_places(plan) : "") +
         step_calls(plan, marks, makes_outputs) + "}\n\n";
}

// Rows of the property go back from the codes behind the last layer that makes some.
std::string crown_rows_call(const Plan& plan, const PropertySums& sums) {
  const GridCrown& crown = *plan.integer->crown;
  const GridTensor& in = plan.integer->tensor(sums.in);
  const auto layers = std::ranges::count_if(
      crown.layers, [](const CrownLayer& layer) { return !layer.lines.empty(); });
  return fill_in(
      "  bf::integer::crown_rows(@layer@, property::@in@_weights, property::slack, @in@_upper, "
      "row_lower, row_upper, back, workspace);\n",
      {{"in", in.name},
       {"layer", crown_layer(crown, static_cast<int>(layers), plan.integer->property->rows,
                             in.count, crown.row_shift)}});
}

std::string emit_rows(const Plan& plan, bool marks) {
  const GridProperty& property = *plan.integer->property;
  std::set<GridId> read;
  for (const PropertySums& sums : property.sums) read.insert(sums.in);
  std::string text =
      "// Bounds of the rows of the property, each of which lies in its sum and the slack above "
      "it.\n"
      "void rows(const float* lower, const float* upper, std::int64_t* row_lower,\n"
      "          std::int64_t* row_upper, " +
      last_parameters(plan);
  text += codes_call(plan);
  if (!read.empty()) text += places(plan, read);
  if (plan.integer->crown && !read.empty()) text += crown_row_places(plan);
  text += fmt::format(
      "\n  for (int i = 0; i < {}; ++i) {{\n    row_lower[i] = 0;\n"
      "    row_upper[i] = property::slack[i];\n  }}\n",
      property.rows);
  std::size_t number = plan.integer->steps.size();
  for (const PropertySums& sums : property.sums) {
    const GridTensor& in = plan.integer->tensor(sums.in);
    const std::string call = fill_in(
        "  bf::integer::add_rows(property::@in@_weights, @rows@, @columns@, @in@_lower, "
        "@in@_upper, row_lower, row_upper);\n",
        {{"in", in.name}, {"rows", property.rows}, {"columns", in.count}});
    text += marked(marks, mark_of(number++), call);
  }
  if (plan.integer->crown)
    for (const PropertySums& sums : property.sums) text += crown_rows_call(plan, sums);
  return text + "}\n\n";
}

}  // namespace

bool has_loose_codes(const Plan& plan) {
  return std::ranges::any_of(plan.integer->steps, [](const IntegerStep& step) {
    return std::holds_alternative<GridLoose>(step);
  });
}

std::string emit_integer_run(const Plan& plan, bool marks) {
  const std::string back = plan.integer->crown ? emit_back(plan) : "";
  if (plan.integer->property)
    return back + emit_codes(plan, marks) + emit_outputs(plan, marks) + emit_rows(plan, marks);
  const std::string_view type = plan.config.language == Language::kC ? "static void" : "void";
  return back +
         fmt::format(
             "// Lower and upper codes of each tensor, then those of the next.\n"
             "{} run(const float* lower, const float* upper, float* out_lower, float* out_upper,\n"
             "         {}",
             type, last_parameters(plan)) +
         places(plan, all_tensors(plan)) + window_places(plan) + crown_places(plan) +
         step_calls(plan, marks, [](const IntegerStep&) { return true; }) + "}\n\n";
}

std::string dump_integer_calls(const Plan& plan) {
  std::string text;
  for (const IntegerStep& step : plan.integer->steps)
    text += std::visit(CallPrinter(plan, ""), step);
  return text;
}

}  // namespace bf_aot::emit
