#pragma once

#include <gmpxx.h>

#include <optional>

#include "frontend/functions/function.h"

namespace bf_aot {

// f(x): exact for piecewise linear functions, their parameters being exact reals; of the others a
// rational within 2^-200 of it relative to max(1, |f(x)|), computed with MPFR. Of composites a
// rational near it: see value_of(). Aborts where find_exact() has no value.
mpq_class evaluate_exact(const Function& function, const mpq_class& x);

// Like evaluate_exact(), but returns nullopt outside of the domain and where the value's size is
// beyond 2^(2^30).
std::optional<mpq_class> find_exact(const Function& function, const mpq_class& x);

// Whether `value`, which find_exact() has of a rational x, is f(x) itself. False for smooth
// functions but where facts say that a rational is.
bool is_exact_value(const Function& function, const mpq_class& x, const mpq_class& value);

}  // namespace bf_aot
