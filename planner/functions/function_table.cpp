#include "planner/functions/function_table.h"

#include <cstddef>

#include "planner/functions/function_recipes.h"

namespace bf_aot {

FunctionTable compute_function_table(const Function& function) {
  return recipe_of(function.kind).table(function);
}

std::int64_t FunctionTable::bytes() const {
  const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  return 8 * (size(starts) + size(coefficients) + size(scales)) + 4 * size(errors) +
         4 * size(slope_errors) + 104 * size(runs);
}

}  // namespace bf_aot
