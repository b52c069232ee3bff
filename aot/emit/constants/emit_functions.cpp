#include "aot/emit/constants/emit_functions.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
#include "frontend/diagnostic.h"

namespace bf_aot::emit {

namespace {

std::string literal(const Dialect& dialect, double value) {
  if (std::isinf(value))
    return fmt::format("{}{}", value > 0 ? "" : "-", dialect.double_infinity());
  return double_literal(value);
}

std::string literal(const Dialect& dialect, float value) {
  if (std::isinf(value)) return fmt::format("{}{}", value > 0 ? "" : "-", dialect.infinity());
  return float_literal(value);
}

template <class Number>
std::string array(const Dialect& dialect, const std::string& type, const std::string& name,
                  const std::vector<Number>& values) {
  if (values.empty()) return "";
  std::string text =
      fmt::format("{} {} {}[{}] = {{", dialect.constant(), type, name, values.size());
  std::size_t column = 100;
  for (const Number& value : values) {
    const std::string item = literal(dialect, value) + ",";
    if (column + item.size() + 1 > 100) {
      text += "\n   ";
      column = 3;
    }
    text += " " + item;
    column += item.size() + 1;
  }
  return text + "\n};\n";
}

std::string_view name_of(FunctionForm form) {
  switch (form) {
    case FunctionForm::kCells:
      return "kCells";
    case FunctionForm::kExponential:
      return "kExponential";
    case FunctionForm::kOctaves:
      return "kOctaves";
    case FunctionForm::kMonomial:
      return "kMonomial";
    case FunctionForm::kFloor:
      return "kFloor";
    case FunctionForm::kCeil:
      return "kCeil";
    case FunctionForm::kRound:
      return "kRound";
  }
  BF_CHECK(false);
  return "";
}

std::string_view name_of(RunKind kind) {
  switch (kind) {
    case RunKind::kLine:
      return "kLine";
    case RunKind::kConvex:
      return "kConvex";
    case RunKind::kConcave:
      return "kConcave";
    case RunKind::kMixed:
      return "kMixed";
    case RunKind::kUnknown:
      return "kUnknown";
  }
  BF_CHECK(false);
  return "";
}

// An enumerator: "bf::FunctionRunKind::kConvex", "BF_RUN_CONVEX".
std::string enumerator(const Dialect& dialect, std::string_view cpp_type, std::string_view c_prefix,
                       std::string_view name) {
  if (!dialect.is_c()) return fmt::format("bf::{}::{}", cpp_type, name);
  return fmt::format("{}_{}", c_prefix, upper_case(std::string(name.substr(1))));
}

std::string runs(const Dialect& dialect, const std::string& name,
                 const std::vector<TableRun>& list) {
  if (list.empty()) return "";
  const auto literal = [&](double value) { return emit::literal(dialect, value); };
  std::string text = fmt::format("{} {} {}Runs[{}] = {{\n", dialect.constant(),
                                 dialect.runtime(dialect.is_c() ? "function_run" : "FunctionRun"),
                                 name, list.size());
  for (const TableRun& run : list) {
    text += fmt::format(
        "    {{{}, {}, {}, {}, {},\n     {}, {}, {}, {},\n     {}, {}, "
        "{}",
        enumerator(dialect, "FunctionRunKind", "BF_RUN", name_of(run.kind)), run.open, run.cell,
        run.cells, literal(run.start), literal(run.start_low), literal(run.start_high),
        literal(run.end_low), literal(run.end_high), literal(run.slack), literal(run.intercept),
        literal(run.slope));
    // C has no defaults of members.
    if (run.turns() || dialect.is_c())
      text += fmt::format(",\n     {}, {}, {}", literal(run.turn_from), literal(run.turn_to),
                          literal(run.turn));
    text += "},\n";
  }
  return text + "};\n";
}

std::string turns(const Dialect& dialect, const std::string& name,
                  const std::vector<FloatTableTurn>& list) {
  if (list.empty()) return "";
  std::string text =
      fmt::format("{} {} {}Turns[{}] = {{\n", dialect.constant(),
                  dialect.runtime(dialect.is_c() ? "float_turn" : "FloatTurn"), name, list.size());
  for (const FloatTableTurn& turn : list)
    text += fmt::format("    {{{}, {}, {}, {}}},\n", literal(dialect, turn.from),
                        literal(dialect, turn.to), literal(dialect, turn.low),
                        literal(dialect, turn.high));
  return text + "};\n";
}

}  // namespace

std::string emit_function_table(const FunctionTable& table, const std::string& name,
                                const Dialect& dialect) {
  const auto pointer = [&](const char* what, bool present) {
    return present ? name + what : std::string(dialect.null());
  };
  const auto literal = [&](double value) { return emit::literal(dialect, value); };
  std::string text = fmt::format("// {}\n", to_string(table.function));
  text += array(dialect, "double", name + "Starts", table.starts);
  text += array(dialect, "double", name + "Coefficients", table.coefficients);
  text += array(dialect, "float", name + "Errors", table.errors);
  text += array(dialect, "float", name + "SlopeErrors", table.slope_errors);
  text += array(dialect, "double", name + "Scales", table.scales);
  text += runs(dialect, name, table.runs);
  const bool cells = table.cells() > 0;
  text += fmt::format("{} {} {} = {{\n", dialect.constant(),
                      dialect.runtime(dialect.is_c() ? "function" : "FunctionView"), name);
  text +=
      fmt::format("    {}, {}, {}, {}, {}, {},\n",
                  enumerator(dialect, "FunctionViewForm", "BF_FORM", name_of(table.form)),
                  table.monotone, table.exponent, table.degree, table.cells(), table.runs.size());
  text += fmt::format("    {}, {}, {}, {},\n    {}, {}, {}, {}, {},\n", pointer("Starts", cells),
                      pointer("Coefficients", cells), pointer("Errors", cells),
                      pointer("SlopeErrors", cells), pointer("Runs", !table.runs.empty()),
                      literal(table.step), table.first_octave, table.octaves,
                      pointer("Scales", !table.scales.empty()));
  text += fmt::format("    {}, {}, {}, {},\n", literal(table.below_low), literal(table.below_high),
                      literal(table.above_low), literal(table.above_high));
  // C has no defaults of members.
  const bool limited = table.function.kind == FunctionKind::kQuantise || dialect.is_c();
  if (has_limits(table.function) || table.wave || limited)
    text +=
        fmt::format("    {}, {},\n", literal(table.function.least), literal(table.function.most));
  if (table.wave || limited) text += fmt::format("    {},\n", table.wave);
  if (limited)
    text += fmt::format("    {}, {}, {},\n", literal(table.lowest), literal(table.highest),
                        literal(table.slack));
  return text + "};\n";
}

std::string emit_float_table(const FloatTable& table, const std::string& name,
                             const Dialect& dialect) {
  const std::string_view form =
      dialect.is_c()      ? (table.exponential ? "BF_FLOAT_EXPONENTIAL" : "BF_FLOAT_PIECES")
      : table.exponential ? "bf::FloatFunctionForm::kExponential"
                          : "bf::FloatFunctionForm::kPieces";
  std::string text = fmt::format("// {}, in float32\n", to_string(table.function));
  text += array(dialect, "float", name + "Starts", table.starts);
  text += array(dialect, "float", name + "Origins", table.origins);
  text += array(dialect, "float", name + "Coefficients", table.coefficients);
  text += array(dialect, "float", name + "Errors", table.errors);
  text += turns(dialect, name, table.turns);
  text += fmt::format("{} {} {} = {{\n", dialect.constant(),
                      dialect.runtime(dialect.is_c() ? "float_function" : "FloatFunction"), name);
  text += fmt::format("    {}, {}, {}, {}, {},\n", form, table.monotone, table.degree,
                      table.pieces(), table.turns.size());
  text += fmt::format("    {0}Starts, {0}Origins, {0}Coefficients, {0}Errors, {1},\n", name,
                      table.turns.empty() ? std::string(dialect.null()) : name + "Turns");
  text += fmt::format("    {}, {},\n", literal(dialect, table.least), literal(dialect, table.most));
  return text + "};\n";
}

}  // namespace bf_aot::emit
