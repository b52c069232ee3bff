// Prints the tables of functions with usual parameters as C++: the constants of known_table.h. It
// runs when the program is built.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "planner/functions/function_table.h"
#include "planner/tables/usual_composites.h"

namespace bf_aot {
namespace {

// Those that take time to make: of smooth functions without parameters, or with the defaults of
// their operators, of roots and their inverses, and of usual composites.
std::vector<Function> known_functions() {
  std::vector<Function> made;
  for (const FunctionFacts& facts : function_facts()) {
    if (facts.real != nullptr && (facts.parameters == 0 || !facts.from.type.empty()))
      made.push_back({facts.kind, facts.from.a.otherwise, facts.from.b.otherwise});
  }
  for (const double exponent : {0.5, -0.5}) made.push_back({FunctionKind::kPower, exponent});
  made.insert(made.end(), usual_composites().begin(), usual_composites().end());
  return made;
}

std::string literal(double x) {
  if (std::isinf(x)) return x > 0 ? "kInfinity" : "-kInfinity";
  return fmt::format("{:a}", x);
}
std::string literal(float x) {
  return fmt::format("{:a}f", x);
}

std::string literal(const TableRun& run) {
  std::string text = fmt::format("{{RunKind{{{}}}, {}, {}, {}", static_cast<int>(run.kind),
                                 run.open, run.cell, run.cells);
  for (const double x : {run.start, run.start_low, run.start_high, run.end_low, run.end_high,
                         run.slack, run.intercept, run.slope, run.turn_from, run.turn_to, run.turn})
    text += ", " + literal(x);
  return text + "}";
}

// `name` as an argument, and its definition, unless the list is empty.
template <class T>
std::string list(std::string_view type, std::string_view name, std::size_t number,
                 const std::vector<T>& values, std::string& definitions) {
  if (values.empty()) return "{}";
  definitions += fmt::format("constexpr {} {}{}[] = {{", type, name, number);
  for (std::size_t i = 0; i < values.size(); ++i)
    definitions += (i % 4 == 0 ? "\n    " : " ") + literal(values[i]) + ",";
  definitions += "};\n";
  return fmt::format("{}{}", name, number);
}

double first_parameter(const Function& f) {
  if (f.kind != FunctionKind::kComposite) return f.a;
  return static_cast<double>(std::ranges::find(usual_composites(), f) - usual_composites().begin());
}

// The table as an element of kTables, and the definitions of its lists.
std::string row(const FunctionTable& table, std::size_t number, std::string& definitions) {
  std::string text =
      fmt::format("    {{FunctionKind{{{}}}, {}, {}, FunctionForm{{{}}}, {}, {}, {}",
                  static_cast<int>(table.function.kind), literal(first_parameter(table.function)),
                  literal(table.function.b), static_cast<int>(table.form), table.monotone,
                  table.exponent, table.degree);
  text += ", " + list("double", "kStarts", number, table.starts, definitions);
  text += ", " + list("double", "kCoefficients", number, table.coefficients, definitions);
  text += ", " + list("float", "kErrors", number, table.errors, definitions);
  text += ", " + list("float", "kSlopeErrors", number, table.slope_errors, definitions);
  text += ", " + list("TableRun", "kRuns", number, table.runs, definitions);
  text += fmt::format(", {}, {}, {}", literal(table.step), table.first_octave, table.octaves);
  text += ", " + list("double", "kScales", number, table.scales, definitions);
  for (const double x : {table.below_low, table.below_high, table.above_low, table.above_high})
    text += ", " + literal(x);
  return text + fmt::format(", {}}},\n", table.wave);
}

std::string source() {
  std::string definitions, rows;
  std::size_t number = 0;
  for (const Function& function : known_functions())
    rows += row(compute_function_table(function), number++, definitions);
  return fmt::format(
      "#include <limits>\n\n#include \"planner/tables/known_table.h\"\n\nnamespace bf_aot {{\n"
      "namespace {{\n\n[[maybe_unused]] constexpr double kInfinity = "
      "std::numeric_limits<double>::infinity();\n{}constexpr KnownTable kTables[] = {{\n{}}};\n\n"
      "}}  // namespace\n\nstd::span<const KnownTable> known_tables() {{\n  return kTables;\n}}\n\n"
      "}}  // namespace bf_aot\n",
      definitions, rows);
}

}  // namespace
}  // namespace bf_aot

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::FILE* const file = std::fopen(arguments[1], "w");
  if (file == nullptr) return 1;
  const bool written = std::fputs(bf_aot::source().c_str(), file) >= 0;
  return std::fclose(file) == 0 && written ? 0 : 1;
}
