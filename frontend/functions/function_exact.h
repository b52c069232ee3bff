#pragma once

#include <gmpxx.h>

#include <optional>

#include "frontend/functions/function.h"

namespace bf_aot {

// f(x): exact for piecewise linear functions, their parameters being exact reals; of the others a
// rational within 2^-200 of it relative to max(1, |f(x)|), computed with MPFR. Aborts where
// find_exact() has no value.
mpq_class evaluate_exact(const Function& function, const mpq_class& x);

// Like evaluate_exact(), but returns nullopt outside of the domain and where the value's size is
// beyond 2^(2^30).
std::optional<mpq_class> find_exact(const Function& function, const mpq_class& x);

}  // namespace bf_aot
