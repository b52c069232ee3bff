#include "planner/functions/formulas.h"

namespace bf_aot {

namespace {

Interval square_root(double x) {
  return power(Interval(x), 0.5);
}

// ln(1 + e^x)
// Beyond e^x of MPFR, x <= ln(1 + e^x) <= x + e^-x.
Interval softplus_value(const Interval& x) {
  const Interval power = increasing(mpfr_exp, x);
  Interval made = increasing(mpfr_log1p, power);
  if (mpfr_inf_p(power.high) != 0) {
    mpfr_max(made.low, made.low, x.low, MPFR_RNDD);
    made.high = (Interval(x.high, x.high) + increasing(mpfr_exp, -Interval(x.high, x.high))).high;
  }
  return made;
}

}  // namespace

Series one_plus_square(const Series& x, int s) {
  return Interval(s) * (x * x) + Interval(1);
}

Series scaled_expm1(const Series& x, const Interval& a, const Interval& b) {
  Series y = exponential((Interval(1) / b) * x);
  y[0] = increasing(mpfr_expm1, x[0] / b);
  return a * y;
}

// x / (1 - s x), s = -1 or 1 as x is positive or negative.
Series softsign(const Series& x) {
  const bool negative = mpfr_sgn(static_cast<mpfr_srcptr>(middle(x[0]))) < 0;
  return x / (Interval(negative ? -1 : 1) * x + Interval(1));
}

Series gauss(const Series& u) {
  return (Interval(2) * power(pi(), -0.5)) * exponential(Interval(-1) * (u * u));
}

// erfc' = -2 / sqrt(pi) e^(-u^2); erfc(-u) = 1 + erf(u) keeps its relative precision on the left.
Series gelu(const Series& x) {
  const Series u = power(Interval(2), -0.5) * x;
  return Interval(0.5) * (x * integral(decreasing(mpfr_erfc, -u[0]), gauss(u), u));
}

Series gelu_tanh(const Series& x) {
  const Interval cubic = Interval(44715) / Interval(1000000);
  const Series u = square_root(2) * power(pi(), -0.5) * (x + cubic * (x * x * x));
  return x * sigmoid(Interval(2) * u);
}

Series softplus(const Series& x) {
  return integral(softplus_value(x[0]), sigmoid(x), x);
}

Series arc(const Series& x, MpfrFunction value, Series (*slope)(const Series&)) {
  return integral(increasing(value, x[0]), x.size() > 1 ? slope(x) : Series(), x);
}

Series hyperbolic(const Series& x, int sign, MpfrFunction value) {
  Series y = Interval(0.5) * (exponential(x) + Interval(sign) * exponential(Interval(-1) * x));
  if (sign < 0) y[0] = increasing(value, x[0]);
  return y;
}

Series inverse_root(const Series& u) {
  return power(u, -0.5);
}

}  // namespace bf_aot
