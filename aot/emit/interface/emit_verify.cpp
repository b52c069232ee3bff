#include "aot/emit/interface/emit_verify.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "aot/emit/integer/integer.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
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

// Returns the beginning of names of the property's tables. C++ has them in a namespace instead.
std::string_view prefix_of(const Dialect& dialect) {
  return dialect.is_c() ? "property_" : "";
}

template <class T, class Print>
std::string array(const Dialect& dialect, const std::string& type, const char* name,
                  const std::vector<T>& values, int per_line, const Print& print) {
  std::string text = fmt::format("{} {} {}{}[{}] = {{", dialect.constant(), type,
                                 prefix_of(dialect), name, values.size());
  int column = 0;
  for (const T& value : values) {
    text += column == 0 ? "\n    " : " ";
    text += print(value) + ",";
    column = (column + 1) % per_line;
  }
  return text + "\n};\n";
}

std::string threshold_literal(const Dialect& dialect, float x) {
  if (std::isinf(x)) return fmt::format("{}{}", x > 0 ? "" : "-", dialect.infinity());
  return float_literal(x);
}

std::string bits_literal(float x) {
  return fmt::format("{{{:#x}u}}", std::bit_cast<std::uint32_t>(x));
}

std::string box_arrays(const Plan& plan, const Property& property) {
  const Dialect dialect = dialect_of(plan);
  const FloatBoxes boxes = float_boxes(property);
  const char* const type = plan.integer ? "bf::integer::FloatBits" : "float";
  const auto literal = plan.integer ? bits_literal : float_literal;
  return array(dialect, type, "lower", boxes.lower, 6, literal) +
         array(dialect, type, "upper", boxes.upper, 6, literal) +
         array(dialect, "unsigned char", "inside", boxes.inside, 24,
               [](int x) { return std::to_string(x); });
}

// "{row, at least, threshold}" of each term. C++ has no empty arrays.
std::vector<std::string> term_texts(const Plan& plan, const VerdictTables& tables) {
  std::vector<std::string> terms;
  if (plan.integer)
    for (const GridCondition& term : plan.integer->property->conditions)
      terms.push_back(fmt::format("{{{}, {}, {}}}", term.row, term.at_least, term.threshold));
  else
    for (const VerdictCondition& term : tables.terms)
      terms.push_back(fmt::format("{{{}, {}, {}}}", term.row, term.at_least,
                                  threshold_literal(dialect_of(plan), term.threshold)));
  if (terms.empty())
    terms.push_back(plan.integer ? "{0, false, 0}"
                                 : fmt::format("{{0, false, {}}}", float_literal(0)));
  return terms;
}

constexpr std::string_view kVerify =
    R"(  if (const bf_status status = bf::check_box(lower, upper, @NAME@_INPUTS@reach@)) return status;

  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {
    return @name@_spec_bounds(low, high, row_low, row_high, workspace, @NAME@_WORKSPACE_BYTES);
  };
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, @NAME@_WORKSPACE_BYTES), bounds);
)";

constexpr std::string_view kVerifyInC =
    R"(
  return bf_verify_property(&property_tables, lower, upper, result,
                            BF_FLOAT_AT(workspace, @NAME@_WORKSPACE_BYTES), @name@_spec_bounds,
                            workspace, @NAME@_WORKSPACE_BYTES);
)";

// Points are bounded without the context: they would drive out the box's state.
constexpr std::string_view kVerifyCached =
    R"(  if (const bf_status status = bf::check_box(lower, upper, @NAME@_INPUTS@reach@)) return status;

  const auto bounds = [context, context_bytes, workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {
    if (low == high) return @name@_spec_bounds(low, high, row_low, row_high, workspace, @NAME@_WORKSPACE_BYTES);
    return @name@_spec_bounds_cached(context, context_bytes, low, high, row_low,
        row_high, workspace, @NAME@_WORKSPACE_BYTES);
  };
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, @NAME@_WORKSPACE_BYTES), bounds);
)";

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

std::string verify_section(const Plan& plan, const HeaderBytes& bytes, const Property& property) {
  return fill_in(
      R"(/* The property @property@: an input of a case's box must not satisfy a clause of the case. */
#define @NAME@_PROPERTY_CASES @cases@
#define @NAME@_VERIFY_WORKSPACE_BYTES (@NAME@_WORKSPACE_BYTES + @bytes@)

)",
      {{"property", property.file_name}, {"cases", property.cases.size()}, {"bytes", bytes.verify}},
      names_of(plan));
}

std::string emit_verify_tables(const Plan& plan, const Property& property,
                               const std::string& stem) {
  const Dialect dialect = dialect_of(plan);
  const VerdictTables tables = verdict_tables(property);
  const bool apart = box_numbers(property) > kInlineNumbers;
  std::string text = fmt::format("// ---- the property {}\n\n", property.file_name);
  if (!dialect.is_c()) text += "namespace property {\n\n";
  text +=
      apart ? fmt::format("#include \"{}_property.inc\"\n\n", stem) : box_arrays(plan, property);
  const auto number = [](std::uint32_t x) { return std::to_string(x); };
  const std::string index = dialect.integer("uint32");
  text += array(dialect, index, "case_clauses", tables.case_clauses, 12, number);
  text += array(dialect, index, "clause_terms", tables.clause_terms, 12, number);
  const std::string scope = plan.integer ? "bf::integer::" : "bf::";
  text += "// row, at least, threshold\n";
  text += array(dialect, dialect.is_c() ? dialect.runtime("verdict_term") : scope + "VerdictTerm",
                "terms", term_texts(plan, tables), 2, [](const std::string& term) { return term; });
  return text +
         fill_in(
             dialect.is_c()
                 ? R"(static const bf_property_tables property_tables = {
    @inputs@, @rows@, @cases@, property_lower, property_upper, property_inside,
    property_case_clauses, property_clause_terms, property_terms};

)"
                 : R"(constexpr @scope@PropertyTables tables = {@inputs@, @rows@, @cases@, lower, upper, inside,
                                       case_clauses, clause_terms, terms};

@rows_of_codes@}  // namespace property

)",
             {{"inputs", property.input_count},
              {"rows", std::max<std::size_t>(property.rows.size(), 1)},
              {"cases", property.cases.size()}},
             {{"scope", scope}, {"rows_of_codes", plan.integer ? emit_row_constants(plan) : ""}});
}

FunctionBody verify_body(const Plan& plan, bool cached) {
  if (dialect_of(plan).is_c())
    return {box_check(plan, "lower", "upper") + fill_in(kVerifyInC, {}, names_of(plan)), {}};
  return {fill_in(cached ? kVerifyCached : kVerify, {}, names_of(plan)), {}};
}

FunctionBody property_box_body(const Plan& plan) {
  const bool in_c = dialect_of(plan).is_c();
  return {fill_in(R"(  if (index >= @NAME@_PROPERTY_CASES) return BF_NO_SUCH_CASE;
  for (@size@ i = 0; i < @NAME@_INPUTS; ++i) {
    lower[i] = @tables@lower[index * @NAME@_INPUTS + i];
    upper[i] = @tables@upper[index * @NAME@_INPUTS + i];
  }
  return BF_OK;
)",
                  {{"size", in_c ? "size_t" : "std::size_t"},
                   {"tables", in_c ? "property_" : "property::"}},
                  names_of(plan)),
          {}};
}

std::optional<EmittedFile> emit_property_file(const Plan& plan, const Property& property,
                                              const std::string& stem) {
  if (box_numbers(property) <= kInlineNumbers) return std::nullopt;
  return EmittedFile{"_property.inc", emit_banner(plan,
                                                  fmt::format("boxes of the property of {}{}", stem,
                                                              dialect_of(plan).suffix()),
                                                  "//") +
                                          "\n" + box_arrays(plan, property)};
}

}  // namespace bf_aot::emit
