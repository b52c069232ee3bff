#include "planner/tables/known_table.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/tables/usual_composites.h"

namespace bf_aot {
namespace {

// Tables that were computed take up to some seconds each.
constexpr std::size_t kMostKept = 64;

// In usual_composites(), or behind them.
double place_of(const Composite& composite) {
  const std::vector<Function>& usual = usual_composites();
  const auto found = std::ranges::find(usual, &composite, &Function::composite);
  return static_cast<double>(found - usual.begin());
}

struct KeptTable {
  explicit KeptTable(const Function& f) : function(f) {}

  const Function function;
  std::once_flag made;  // by the first who asks; the others wait
  FunctionTable table;
};

// Null where there is no place left.
KeptTable* kept_table(const Function& function) {
  static std::mutex mutex;
  static std::deque<KeptTable> kept;
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::find(kept, function, &KeptTable::function);
  if (found != kept.end()) return &*found;
  return kept.size() < kMostKept ? &kept.emplace_back(function) : nullptr;
}

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
  if (function.c != 0 || function.slack != 0) return std::nullopt;
  const double a = function.composite != nullptr ? place_of(*function.composite) : function.a;
  const std::span<const KnownTable> known = known_tables();
  const auto found = std::ranges::find_if(known, [&](const KnownTable& one) {
    return one.kind == function.kind && one.a == a && one.b == function.b;
  });
  return found != known.end() ? std::optional(table_of(*found, function)) : std::nullopt;
}

FunctionTable make_function_table(const Function& function) {
  if (auto known = find_known_table(function)) return *std::move(known);
  Function anywhere = function;  // limits of the argument change nothing of a table
  anywhere.least = -std::numeric_limits<double>::infinity();
  anywhere.most = std::numeric_limits<double>::infinity();
  KeptTable* const kept = kept_table(anywhere);
  if (kept == nullptr) return compute_function_table(function);
  std::call_once(kept->made, [&] { kept->table = compute_function_table(anywhere); });
  FunctionTable table = kept->table;
  table.function = function;
  return table;
}

}  // namespace bf_aot
