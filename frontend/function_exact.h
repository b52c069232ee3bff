#pragma once

#include <gmpxx.h>

#include "frontend/function.h"

namespace bf {

// f(x): exact for piecewise linear functions, their parameters being exact reals; of the others a
// rational within 2^-200 of it relative to max(1, |f(x)|), computed with MPFR. Aborts outside of
// the domain.
mpq_class evaluate_exact(const Function& function, const mpq_class& x);

// f of a number known up to an error: value and error of the result, rounded up. The error is
// infinite where nothing is known: across a jump, or near the end of the domain.
struct FunctionValue {
  double value = 0;
  double error = 0;
};
FunctionValue evaluate_bounded(const Function& function, double x, double error);

}  // namespace bf
