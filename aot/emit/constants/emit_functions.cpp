#include "aot/emit/constants/emit_functions.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "aot/emit/text/literals.h"
#include "frontend/diagnostic.h"

namespace bf_aot::emit {

namespace {

std::string literal(double value) {
  if (std::isinf(value)) return value > 0 ? "__builtin_inf()" : "-__builtin_inf()";
  return double_literal(value);
}

std::string literal(float value) {
  return float_literal(value);
}

template <class Number>
std::string array(const std::string& type, const std::string& name,
                  const std::vector<Number>& values) {
  if (values.empty()) return "";
  std::string text = fmt::format("constexpr {} {}[{}] = {{", type, name, values.size());
  std::size_t column = 100;
  for (const Number& value : values) {
    const std::string item = literal(value) + ",";
    if (column + item.size() + 1 > 100) {
      text += "\n   ";
      column = 3;
    }
    text += " " + item;
    column += item.size() + 1;
  }
  return text + "\n};\n";
}

const char* name_of(FunctionForm form) {
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

const char* name_of(RunKind kind) {
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

std::string runs(const std::string& name, const std::vector<TableRun>& list) {
  if (list.empty()) return "";
  std::string text = fmt::format("constexpr bf::FunctionRun {}Runs[{}] = {{\n", name, list.size());
  for (const TableRun& run : list)
    text += fmt::format(
        "    {{bf::FunctionRunKind::{}, {}, {}, {}, {},\n     {}, {}, {}, {},\n     {}, {}, "
        "{}}},\n",
        name_of(run.kind), run.open, run.cell, run.cells, literal(run.start),
        literal(run.start_low), literal(run.start_high), literal(run.end_low),
        literal(run.end_high), literal(run.slack), literal(run.intercept), literal(run.slope));
  return text + "};\n";
}

}  // namespace

std::string emit_function_table(const FunctionTable& table, const std::string& name) {
  const auto pointer = [&](const char* what, bool present) {
    return present ? name + what : "nullptr";
  };
  std::string text = fmt::format("// {}\n", to_string(table.function));
  text += array("double", name + "Starts", table.starts);
  text += array("double", name + "Coefficients", table.coefficients);
  text += array("float", name + "Errors", table.errors);
  text += array("float", name + "SlopeErrors", table.slope_errors);
  text += array("double", name + "Scales", table.scales);
  text += runs(name, table.runs);
  const bool cells = table.cells() > 0;
  text += fmt::format("constexpr bf::FunctionView {} = {{\n", name);
  text +=
      fmt::format("    bf::FunctionViewForm::{}, {}, {}, {}, {}, {},\n", name_of(table.form),
                  table.monotone, table.exponent, table.degree, table.cells(), table.runs.size());
  text += fmt::format("    {}, {}, {}, {},\n    {}, {}, {}, {}, {},\n", pointer("Starts", cells),
                      pointer("Coefficients", cells), pointer("Errors", cells),
                      pointer("SlopeErrors", cells), pointer("Runs", !table.runs.empty()),
                      literal(table.step), table.first_octave, table.octaves,
                      pointer("Scales", !table.scales.empty()));
  text += fmt::format("    {}, {}, {}, {},\n", literal(table.below_low), literal(table.below_high),
                      literal(table.above_low), literal(table.above_high));
  const bool limited = table.function.kind == FunctionKind::kQuantise;
  if (has_limits(table.function) || table.wave || limited)
    text +=
        fmt::format("    {}, {},\n", literal(table.function.least), literal(table.function.most));
  if (table.wave || limited) text += fmt::format("    {},\n", table.wave);
  if (limited)
    text += fmt::format("    {}, {}, {},\n", literal(table.lowest), literal(table.highest),
                        literal(table.slack));
  return text + "};\n";
}

}  // namespace bf_aot::emit
