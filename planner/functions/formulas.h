#pragma once

#include "planner/functions/series.h"

// Series of which those of functions are made, beside the ones of series.h.
namespace bf_aot {

// 1 + s x^2
Series one_plus_square(const Series& x, int s);

// u^(-1/2)
Series inverse_root(const Series& u);

// 2 / sqrt(pi) e^(-u^2)
Series gauss(const Series& u);

// a (e^(x / b) - 1)
Series scaled_expm1(const Series& x, const Interval& a, const Interval& b);

// The value by MPFR, which increases, and the derivative by its own series, which is made where
// there is more than a value.
Series arc(const Series& x, MpfrFunction value, Series (*slope)(const Series&));

// (e^x + sign e^-x) / 2. The value by MPFR when sign < 0: the difference would lose it.
Series hyperbolic(const Series& x, int sign, MpfrFunction value);

// x / (1 + |x|). The interval must not have both signs inside.
Series softsign(const Series& x);

Series softplus(const Series& x);
Series gelu(const Series& x);
Series gelu_tanh(const Series& x);

}  // namespace bf_aot
