#include "aot/emit/interface/emit_verify.h"

#include <fmt/format.h>

#include <cmath>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
#include "frontend/diagnostic.h"
#include "frontend/property/verdict_tables.h"

namespace bf_aot::emit {
namespace {

constexpr std::size_t kInlineNumbers = 128;
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;

std::size_t box_numbers(const Property& property) {
  return 2 * property.cases.size() * static_cast<std::size_t>(property.input_count);
}

template <class T, class Print>
std::string array(const char* type, const char* name, const std::vector<T>& values, int per_line,
                  const Print& print) {
  std::string text = fmt::format("constexpr {} {}[{}] = {{", type, name, values.size());
  int column = 0;
  for (const T& value : values) {
    text += column == 0 ? "\n    " : " ";
    text += print(value) + ",";
    column = (column + 1) % per_line;
  }
  return text + "\n};\n";
}

std::string threshold_literal(float x) {
  if (std::isinf(x)) return x > 0 ? "__builtin_inff()" : "-__builtin_inff()";
  return float_literal(x);
}

std::string box_arrays(const Property& property) {
  const FloatBoxes boxes = float_boxes(property);
  return array("float", "lower", boxes.lower, 6, float_literal) +
         array("float", "upper", boxes.upper, 6, float_literal) +
         array("unsigned char", "inside", boxes.inside, 24,
               [](int x) { return std::to_string(x); });
}

}  // namespace

void check_emittable(const Property& property) {
  if (property.cases.empty())
    fail("BF3412", property.file_name, "no input can violate the property: it holds trivially",
         "check the constraints, which exclude each other");
  if (box_numbers(property) > kMostNumbers)
    fail("BF3412", property.file_name,
         fmt::format("{} cases of {} inputs are too much for source code", property.cases.size(),
                     property.input_count),
         "decide it with bf-aot verify, or split it");
}

std::string verify_section(const Plan& plan, const Property& property) {
  const ExportedFunction& verify = *find_function(plan, {.purpose = Purpose::kVerify});
  return fmt::format(
      "/* The property {1}: an input of a case's box must not satisfy a clause of the case. */\n"
      "#define {0}_PROPERTY_CASES {2}\n"
      "#define {0}_VERIFY_WORKSPACE_BYTES ({0}_WORKSPACE_BYTES + {3})\n\n",
      upper_case(plan.name), property.file_name, property.cases.size(),
      verify.workspace.bytes - plan.arena_bytes());
}

std::string emit_verify_tables(const Property& property, const std::string& stem) {
  const VerdictTables tables = verdict_tables(property);
  const bool apart = box_numbers(property) > kInlineNumbers;
  std::string text =
      fmt::format("// ---- the property {}\n\nnamespace property {{\n\n", property.file_name);
  text += apart ? fmt::format("#include \"{}_property.inc\"\n\n", stem) : box_arrays(property);
  const auto number = [](std::uint32_t x) { return std::to_string(x); };
  text += array("std::uint32_t", "case_clauses", tables.case_clauses, 12, number);
  text += array("std::uint32_t", "clause_terms", tables.clause_terms, 12, number);
  text += array("unsigned char", "relaxed", tables.relaxed, 24,
                [](bool x) { return std::string(x ? "1" : "0"); });
  std::vector<VerdictCondition> terms = tables.terms;
  if (terms.empty()) terms.emplace_back();  // C++ has no empty arrays
  text += "// row, at least, threshold\n";
  text += array("bf::VerdictTerm", "terms", terms, 2, [](const VerdictCondition& term) {
    return fmt::format("{{{}, {}, {}}}", term.row, term.at_least,
                       threshold_literal(term.threshold));
  });
  text += fmt::format(
      R"(constexpr bf::PropertyTables tables = {{{}, {}, {}, lower, upper, inside,
                                       case_clauses, clause_terms, relaxed, terms}};

}}  // namespace property

)",
      property.input_count, std::max<std::size_t>(property.rows.size(), 1), property.cases.size());
  return text;
}

// The body of NAME_verify. A verifier with a context bounds points without it, since they would
// drive the box's state out.
FunctionBody verify_body(const Plan& plan, bool cached) {
  const std::string upper = upper_case(plan.name);
  const std::string bounds =
      fmt::format("{0}_spec_bounds(low, high, row_low, row_high, workspace, {1}_WORKSPACE_BYTES)",
                  plan.name, upper);
  const std::string with_context = fmt::format(
      "{0}_spec_bounds_cached(context, context_bytes, low, high, row_low,\n"
      "        row_high, workspace, {1}_WORKSPACE_BYTES)",
      plan.name, upper);
  return {
      fmt::format(
          R"(  if (const bf_status status = bf::check_box(lower, upper, {0}_INPUTS{reach})) return status;

  const auto bounds = [{1}workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {{
{2}    return {3};
  }};
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, {0}_WORKSPACE_BYTES), bounds);
)",
          upper, cached ? "context, context_bytes, " : "",
          cached ? fmt::format("    if (low == high) return {};\n", bounds) : "",
          cached ? with_context : bounds, fmt::arg("reach", reach_argument(plan))),
      {}};
}

FunctionBody property_box_body(const Plan& plan) {
  return {fmt::format(R"(  if (index >= {0}_PROPERTY_CASES) return BF_NO_SUCH_CASE;
  for (std::size_t i = 0; i < {0}_INPUTS; ++i) {{
    lower[i] = property::lower[index * {0}_INPUTS + i];
    upper[i] = property::upper[index * {0}_INPUTS + i];
  }}
  return BF_OK;
)",
                      upper_case(plan.name)),
          {}};
}

std::optional<EmittedFile> emit_property_file(const Plan& plan, const Property& property,
                                              const std::string& stem) {
  if (box_numbers(property) <= kInlineNumbers) return std::nullopt;
  return EmittedFile{"_property.inc",
                     emit_banner(plan, "boxes of the property of " + stem + ".cpp", "//") + "\n" +
                         box_arrays(property)};
}

}  // namespace bf_aot::emit
