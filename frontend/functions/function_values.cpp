#include "frontend/functions/function_values.h"

#include <cmath>
#include <limits>

namespace bf_aot::values {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

// ---- Values in double

double finite_or_nan(double y) {
  return std::isfinite(y) ? y : kNan;
}

// std::remainder is exact, so that ties are decided by x / a itself, not by its rounded value.
double round_quotient(double x, double a) {
  const double rest = std::remainder(x, a);
  return std::isfinite(x) ? std::nearbyint((x - rest) / a) : x / a;
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

// tanh(ln(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2)
double mish(double x) {
  if (x > 30) return x;
  const double e = std::exp(x);
  return x * (e * (e + 2) / (e * (e + 2) + 2));
}

double gelu_tanh(double x) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  const double u = kSqrt2OverPi * (x + 0.044715 * x * x * x);
  return x * sigmoid(2 * u);
}

// ---- Rational values

mpq_class floor_of(const mpq_class& x) {
  mpz_class quotient;
  mpz_fdiv_q(quotient.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return quotient;
}

mpq_class round_of(const mpq_class& x) {
  const mpq_class half(1, 2);
  const mpq_class below = floor_of(x);
  if (x - below != half) return floor_of(x + half);
  return mpz_even_p(below.get_num_mpz_t()) != 0 ? below : mpq_class(below + 1);
}

mpq_class clip(const mpq_class& x, double low, double high) {
  if (high < low) return high;
  if (low > -kInf && x < low) return low;
  if (high < kInf && x > high) return high;
  return x;
}

mpq_class shrink(const mpq_class& x, double a, double b) {
  if (x < -a) return x + b;
  return x > a ? mpq_class(x - b) : mpq_class(0);
}

// ---- Values in 1024 bits

LongReal exp(const LongReal& x) {
  return LongReal::unary(mpfr_exp, x);
}

LongReal expm1(const LongReal& x) {
  return LongReal::unary(mpfr_expm1, x);
}

// max(x, 0) + ln(1 + e^-|x|), whose exponential is always a number: e^x itself is beyond MPFR's
// exponents from 7.5e8 on.
LongReal softplus(const LongReal& x) {
  if (x < 0) return LongReal::unary(mpfr_log1p, exp(x));
  return x + LongReal::unary(mpfr_log1p, exp(LongReal(0) - x));
}

LongReal gelu(const LongReal& x) {
  const LongReal u = x / LongReal::unary(mpfr_sqrt, LongReal(2));
  return x / 2 * (LongReal(1) + LongReal::unary(mpfr_erf, u));
}

LongReal gelu_tanh(const LongReal& x) {
  const LongReal scale = LongReal::unary(mpfr_sqrt, LongReal(2) / LongReal::pi());
  const LongReal cubic = x + LongReal(44715) / LongReal(1000000) * x * x * x;
  return x / 2 * (LongReal(1) + LongReal::unary(mpfr_tanh, scale * cubic));
}

}  // namespace bf_aot::values
