#include "planner/tables/known_table.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace bf_aot {
namespace {

// Tables that were computed take up to a tenth of a second each.
constexpr std::size_t kMostKept = 64;

template <class T>
std::vector<T> list_of(std::span<const T> constants) {
  return {constants.begin(), constants.end()};
}

FunctionTable table_of(const KnownTable& known, const Function& function) {
  FunctionTable made;
  made.function = function;
  made.form = known.form;
  made.monotone = known.monotone;
  made.exponent = known.exponent;
  made.degree = known.degree;
  made.starts = list_of(known.starts);
  made.coefficients = list_of(known.coefficients);
  made.errors = list_of(known.errors);
  made.slope_errors = list_of(known.slope_errors);
  made.runs = list_of(known.runs);
  made.step = known.step;
  made.first_octave = known.first_octave;
  made.octaves = known.octaves;
  made.scales = list_of(known.scales);
  made.below_low = known.below_low;
  made.below_high = known.below_high;
  made.above_low = known.above_low;
  made.above_high = known.above_high;
  made.wave = known.wave;
  return made;
}

}  // namespace

std::optional<FunctionTable> find_known_table(const Function& function) {
  if (function.c != 0 || function.slack != 0 || function.composite != nullptr) return std::nullopt;
  const std::span<const KnownTable> known = known_tables();
  const auto found = std::ranges::find_if(known, [&](const KnownTable& one) {
    return one.kind == function.kind && one.a == function.a && one.b == function.b;
  });
  return found != known.end() ? std::optional(table_of(*found, function)) : std::nullopt;
}

FunctionTable make_function_table(const Function& function) {
  if (auto known = find_known_table(function)) return *std::move(known);
  static std::mutex mutex;
  static std::vector<FunctionTable> kept;
  {
    const std::lock_guard lock(mutex);
    for (const FunctionTable& table : kept)
      if (table.function == function) return table;
  }
  FunctionTable made = compute_function_table(function);
  const std::lock_guard lock(mutex);
  if (kept.size() < kMostKept && made.function == function) kept.push_back(made);
  return made;
}

}  // namespace bf_aot
