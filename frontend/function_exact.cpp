#include "frontend/function_exact.h"

#include "frontend/function_facts.h"
#include "frontend/long_real.h"

namespace bf_aot {

mpq_class evaluate_exact(const Function& function, const mpq_class& x) {
  const FunctionFacts& facts = facts_of(function.kind);
  if (facts.rational != nullptr) return facts.rational(function, x);
  return facts.real(function, LongReal(x)).rational();
}

}  // namespace bf_aot
