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

// Doubles have no longer numerators and denominators; beyond these GMP's conversion may trap.
static bool may_be_double(const mpq_class& x) {
  return mpz_sizeinbase(x.get_num_mpz_t(), 2) <= 1024 &&
         mpz_sizeinbase(x.get_den_mpz_t(), 2) <= 1075;
}

bool is_exact_value(const Function& function, const mpq_class& x, const mpq_class& value) {
  const FunctionFacts& facts = facts_of(function.kind);
  if (facts.rational != nullptr) return true;
  if (!may_be_double(x) || !may_be_double(value)) return false;
  const double point = x.get_d();
  if (mpq_class(point) != x || mpq_class(value.get_d()) != value) return false;
  return facts.shows_exactly != nullptr ? facts.shows_exactly(function, point)
                                        : point == 0 || point == 1;
}

}  // namespace bf_aot
