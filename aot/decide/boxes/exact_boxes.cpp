#include "aot/decide/boxes/exact_boxes.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/reference/exact.h"

namespace bf_aot::decide {
namespace {

// Products of all backward rows, at most: about a second in rationals.
constexpr std::int64_t kMostProducts = 200'000;

std::int64_t weights_of(const Layer& layer) {
  auto count = static_cast<std::int64_t>(layer.weight.size());
  for (const Term& term : layer.terms)
    count += static_cast<std::int64_t>(term.row_entries) * layer.out;
  return count;
}

// Each neuron has two rows, each of which passes the layers before its own.
std::int64_t products_of(const Plan& plan) {
  std::int64_t before = 0, products = 0;
  for (const Layer& layer : plan.layers) {
    before += weights_of(layer) + layer.out;
    products += 2 * before * layer.out;
    if (products > kMostProducts) break;
  }
  return products;
}

// The least of factor x over [lower, upper].
mpq_class least(const LinearForm& form, const std::vector<mpq_class>& lower,
                const std::vector<mpq_class>& upper) {
  mpq_class sum;
  for (const auto& [index, factor] : form) {
    const auto i = static_cast<std::size_t>(index);
    sum += factor * (factor > 0 ? lower[i] : upper[i]);
  }
  return sum;
}

}  // namespace

std::optional<ExactBoxes> ExactBoxes::make(const Property& property, const Plan& plan) {
  const auto entry = std::ranges::find_if(
      plan.entries, [](const Entry& one) { return one.kind == EntryKind::kSpecBounds; });
  if (entry == plan.entries.end() || !reference::holds_exact_network(plan) ||
      products_of(plan) > kMostProducts)
    return std::nullopt;
  return ExactBoxes(property, plan, static_cast<std::size_t>(entry - plan.entries.begin()));
}

bool ExactBoxes::exclude(std::size_t property_case, std::span<const float> lower,
                         std::span<const float> upper) const {
  const std::vector<mpq_class> low(lower.begin(), lower.end());
  const std::vector<mpq_class> high(upper.begin(), upper.end());
  const auto rows = reference::find_exact_bounds(*plan_, plan_->entries[entry_], low, high);
  if (!rows) return false;
  const auto never_holds = [&](const Condition& condition) {
    mpq_class left = least(condition.inputs, low, high);
    if (condition.row >= 0) {
      const auto row = static_cast<std::size_t>(condition.row);
      if (condition.negated)
        left -= rows->upper[row];
      else
        left += rows->lower[row];
    }
    return condition.strict ? left >= condition.limit : left > condition.limit;
  };
  return std::ranges::all_of(property_->cases.at(property_case).clauses, [&](const Clause& clause) {
    return std::ranges::any_of(clause, never_holds);
  });
}

}  // namespace bf_aot::decide
