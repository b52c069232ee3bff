#pragma once

#include <gmpxx.h>

#include "frontend/function.h"

namespace bf_aot {

// f(x): exact for piecewise linear functions, their parameters being exact reals; of the others a
// rational within 2^-200 of it relative to max(1, |f(x)|), computed with MPFR. Aborts outside of
// the domain.
mpq_class evaluate_exact(const Function& function, const mpq_class& x);

}  // namespace bf_aot
