#include "frontend/functions/function_exact.h"

#include "frontend/diagnostic.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/long_real.h"

namespace bf_aot {

std::optional<mpq_class> find_exact(const Function& function, const mpq_class& x) {
  const FunctionFacts& facts = facts_of(function.kind);
  if (facts.rational != nullptr) return facts.rational(function, x);
  const LongReal value = facts.real(function, LongReal(x));
  if (!value.is_number()) return std::nullopt;
  return value.rational();
}

mpq_class evaluate_exact(const Function& function, const mpq_class& x) {
  std::optional<mpq_class> value = find_exact(function, x);
  BF_CHECK(value.has_value());
  return *std::move(value);
}

bool is_exact_value(const Function& function, const mpq_class& x, const mpq_class& value) {
  const FunctionFacts& facts = facts_of(function.kind);
  if (facts.rational != nullptr) return true;
  const double point = x.get_d();
  if (mpq_class(point) != x || mpq_class(value.get_d()) != value) return false;
  return facts.shows_exactly != nullptr ? facts.shows_exactly(function, point)
                                        : point == 0 || point == 1;
}

}  // namespace bf_aot
