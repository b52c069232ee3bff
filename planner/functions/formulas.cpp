#include "planner/functions/formulas.h"

#include "frontend/diagnostic.h"

namespace bf_aot {

namespace {

// 1 + s x^2
Series one_plus_square(const Series& x, int s) {
  return Interval(s) * (x * x) + Interval(1);
}

Interval square_root(double x) {
  return power(Interval(x), 0.5);
}

// a (e^(x / b) - 1)
Series scaled_expm1(const Series& x, const Interval& a, const Interval& b) {
  Series y = exponential((Interval(1) / b) * x);
  y[0] = increasing(mpfr_expm1, x[0] / b);
  return a * y;
}

// x / (1 - s x), s = -1 or 1 as x is positive or negative: the interval never has both signs
// inside.
Series softsign(const Series& x) {
  const bool negative = mpfr_sgn(static_cast<mpfr_srcptr>(middle(x[0]))) < 0;
  return x / (Interval(negative ? -1 : 1) * x + Interval(1));
}

// erfc' = -2 / sqrt(pi) e^(-u^2); erfc(-u) = 1 + erf(u) keeps its relative precision on the left.
Series gauss(const Series& u) {
  return (Interval(2) * power(pi(), -0.5)) * exponential(Interval(-1) * (u * u));
}

Series gelu(const Series& x) {
  const Series u = power(Interval(2), -0.5) * x;
  return Interval(0.5) * (x * integral(decreasing(mpfr_erfc, -u[0]), gauss(u), u));
}

Series gelu_tanh(const Series& x) {
  const Interval cubic = Interval(44715) / Interval(1000000);
  const Series u = square_root(2) * power(pi(), -0.5) * (x + cubic * (x * x * x));
  return x * sigmoid(Interval(2) * u);
}

// ln(1 + e^x)
Interval softplus_value(const Interval& x) {
  return increasing(mpfr_log1p, increasing(mpfr_exp, x));
}

Series softplus(const Series& x) {
  return integral(softplus_value(x[0]), sigmoid(x), x);
}

Series arc(const Series& x, MpfrFunction value, const Series& slope) {
  return integral(increasing(value, x[0]), slope, x);
}

Series hyperbolic(const Series& x, int sign, MpfrFunction value) {
  Series y = Interval(0.5) * (exponential(x) + Interval(sign) * exponential(Interval(-1) * x));
  if (sign < 0) y[0] = increasing(value, x[0]);
  return y;
}

Series inverse_root(const Series& u) {
  return power(u, -0.5);
}

Series evaluate(const Function& f, const Series& x) {
  switch (f.kind) {
    case FunctionKind::kSigmoid:
      return sigmoid(x);
    case FunctionKind::kTanh:
      return hyperbolic_tangent(x);
    case FunctionKind::kSoftplus:
      return softplus(x);
    case FunctionKind::kSoftsign:
      return softsign(x);
    case FunctionKind::kElu:
      return scaled_expm1(x, Interval(f.a), Interval(1));
    case FunctionKind::kCelu:
      return scaled_expm1(x, Interval(f.a), Interval(f.a));
    case FunctionKind::kSelu:
      return scaled_expm1(x, Interval(f.a) * Interval(f.b), Interval(1));
    case FunctionKind::kHardSwish:
      return x * ((Interval(1) / Interval(6)) * x + Interval(0.5));
    case FunctionKind::kGelu:
      return gelu(x);
    case FunctionKind::kGeluTanh:
      return gelu_tanh(x);
    case FunctionKind::kMish:
      return x * hyperbolic_tangent(softplus(x));
    case FunctionKind::kErf:
      return arc(x, mpfr_erf, gauss(x));
    case FunctionKind::kExp:
      return exponential(x);
    case FunctionKind::kSin:
      return sine(x);
    case FunctionKind::kCos:
      return cosine(x);
    case FunctionKind::kAtan:
      return arc(x, mpfr_atan, power(one_plus_square(x, 1), -1));
    case FunctionKind::kSinh:
      return hyperbolic(x, -1, mpfr_sinh);
    case FunctionKind::kCosh:
      return hyperbolic(x, 1, nullptr);
    case FunctionKind::kAsinh:
      return arc(x, mpfr_asinh, inverse_root(one_plus_square(x, 1)));
    case FunctionKind::kLog:
      return arc(x, mpfr_log, power(x, -1));
    case FunctionKind::kSqrt:
      return power(x, 0.5);
    case FunctionKind::kPower:
      return power(x, f.a);
    case FunctionKind::kTan:
      return tangent(x);
    case FunctionKind::kAsin:
      return arc(x, mpfr_asin, inverse_root(one_plus_square(x, -1)));
    case FunctionKind::kAcos:
      return integral(decreasing(mpfr_acos, x[0]),
                      Interval(-1) * inverse_root(one_plus_square(x, -1)), x);
    case FunctionKind::kAcosh:
      return arc(x, mpfr_acosh, inverse_root(x * x + Interval(-1)));
    case FunctionKind::kAtanh:
      return arc(x, mpfr_atanh, power(one_plus_square(x, -1), -1));
    default:
      break;
  }
  BF_CHECK(false);
  return x;
}

}  // namespace

Formula formula_of(const Function& function) {
  return
      [function](const Interval& x, int order) { return evaluate(function, variable(x, order)); };
}

Series formula_of_exp(const Interval& x, int order) {
  return exponential(variable(x, order));
}

}  // namespace bf_aot
