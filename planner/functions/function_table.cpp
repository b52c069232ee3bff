#include "planner/functions/function_table.h"

#include <cstddef>
#include <mutex>
#include <vector>

#include "planner/functions/function_recipes.h"

namespace bf_aot {

namespace {

// Tables that were made take up to a tenth of a second each.
constexpr std::size_t kMostKept = 64;

}  // namespace

FunctionTable make_function_table(const Function& function) {
  static std::mutex mutex;
  static std::vector<FunctionTable> kept;
  {
    const std::lock_guard lock(mutex);
    for (const FunctionTable& table : kept)
      if (table.function == function) return table;
  }
  FunctionTable made = recipe_of(function.kind).table(function);
  const std::lock_guard lock(mutex);
  if (kept.size() < kMostKept && made.function == function) kept.push_back(made);
  return made;
}

std::int64_t FunctionTable::bytes() const {
  const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  return 8 * (size(starts) + size(coefficients) + size(scales)) + 4 * size(errors) +
         4 * size(slope_errors) + 80 * size(runs);
}

}  // namespace bf_aot
