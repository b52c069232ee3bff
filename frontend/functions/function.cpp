#include "frontend/functions/function.h"

#include <fmt/format.h>

#include <cmath>

#include "frontend/functions/composite/composite.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot {

std::string_view name_of(FunctionKind kind) {
  return facts_of(kind).name;
}

std::string to_string(const Function& function) {
  const FunctionFacts& facts = facts_of(function.kind);
  std::string text(facts.name);
  if (function.composite != nullptr) text += " " + function.composite->text();
  if (facts.parameters == 1) text += fmt::format("({})", function.a);
  if (facts.parameters == 2) text += fmt::format("({}, {})", function.a, function.b);
  if (facts.parameters == 3)
    text += fmt::format("({}, {}, {})", function.a, function.b, function.c);
  if (function.slack != 0) text += fmt::format(" +- {}", function.slack);
  if (has_limits(function)) text += fmt::format(" on [{}, {}]", function.least, function.most);
  return text;
}

bool has_limits(const Function& function) {
  return std::isfinite(function.least) || std::isfinite(function.most);
}

double evaluate(const Function& function, double x) {
  return facts_of(function.kind).value(function, x);
}

bool is_piecewise_linear(FunctionKind kind) {
  return facts_of(kind).rational != nullptr;
}

}  // namespace bf_aot
