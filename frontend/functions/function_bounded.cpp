#include "frontend/functions/function_bounded.h"

#include <cmath>

#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot {
namespace {

// Returns true if f is monotone between low and high, which lie within its domain.
bool is_monotone(const Function& f, const mpq_class& low, const mpq_class& high) {
  switch (facts_of(f.kind).monotony(f)) {
    case Monotony::kNone:
      return false;
    case Monotony::kRises:
    case Monotony::kFalls:
      return true;
    case Monotony::kEachSide:
      return low > 0 || high < 0;
  }
  return false;
}

// >= x, for x >= 0: get_d truncates.
double double_above(const mpq_class& x) {
  return x == 0 ? 0 : next_up(x.get_d());
}

}  // namespace

// evaluate_exact() misses smooth functions by less than 2^-200 max(1, |f|).
std::optional<Bounded> bounded_function(const Function& f, const Bounded& x) {
  if (f.composite != nullptr) return std::nullopt;  // no error of find_exact() is known
  if (!std::isfinite(x.value) || !std::isfinite(x.error)) return std::nullopt;
  const mpq_class middle(x.value);
  const mpq_class low = middle - mpq_class(x.error);
  const mpq_class high = middle + mpq_class(x.error);
  const FunctionFacts& facts = facts_of(f.kind);
  if (!lies_in(facts.domain(f), low, high) || !std::isfinite(evaluate(f, x.value)))
    return std::nullopt;
  const std::optional<mpq_class> exact = find_exact(f, middle);
  if (!exact) return std::nullopt;
  const double value = exact->get_d();
  if (!std::isfinite(value)) return std::nullopt;
  mpq_class miss = abs(*exact - mpq_class(value));
  if (x.error != 0 && is_monotone(f, low, high)) {
    for (const mpq_class& end : {low, high}) {
      if (!std::isfinite(evaluate(f, end.get_d()))) return std::nullopt;
      const std::optional<mpq_class> at_end = find_exact(f, end);
      if (!at_end) return std::nullopt;
      const mpq_class distance = abs(*at_end - mpq_class(value));
      if (distance > miss) miss = distance;
    }
  } else if (x.error != 0) {
    if (facts.lipschitz == nullptr) return std::nullopt;
    const double slope = facts.lipschitz(f);
    if (!std::isfinite(slope)) return std::nullopt;
    miss += mpq_class(slope) * mpq_class(x.error);
  }
  miss += mpq_class(f.slack);
  const bool exactly = is_piecewise_linear(f.kind) ||
                       (miss == 0 && x.error == 0 && is_exact_value(f, middle, *exact));
  const double own = exactly ? 0 : 0x1p-190 * (1 + std::abs(value));
  return Bounded{value, add_up(double_above(miss), own)};
}

}  // namespace bf_aot
