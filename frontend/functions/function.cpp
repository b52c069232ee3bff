#include "frontend/functions/function.h"

#include <fmt/format.h>

#include "frontend/functions/function_facts.h"

namespace bf_aot {

std::string_view name_of(FunctionKind kind) {
  return facts_of(kind).name;
}

std::string to_string(const Function& function) {
  const FunctionFacts& facts = facts_of(function.kind);
  if (facts.parameters == 0) return std::string(facts.name);
  if (facts.parameters == 1) return fmt::format("{}({})", facts.name, function.a);
  return fmt::format("{}({}, {})", facts.name, function.a, function.b);
}

double evaluate(const Function& function, double x) {
  return facts_of(function.kind).value(function, x);
}

bool is_piecewise_linear(FunctionKind kind) {
  return facts_of(kind).rational != nullptr;
}

}  // namespace bf_aot
