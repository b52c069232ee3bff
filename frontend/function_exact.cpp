#include "frontend/function_exact.h"

#include <mpfr.h>

#include <cmath>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr mpfr_prec_t kBits = 1024;  // far more than what cancellation in any formula below loses

// A number of kBits bits, every operation rounded to nearest.
class Real {
 public:
  Real() { mpfr_init2(value_, kBits); }
  Real(double x) : Real() { mpfr_set_d(value_, x, MPFR_RNDN); }  // implicit: formulas read better
  explicit Real(const mpq_class& x) : Real() { mpfr_set_q(value_, x.get_mpq_t(), MPFR_RNDN); }
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  mpq_class rational() const {
    BF_CHECK(mpfr_number_p(value_) != 0);
    mpq_class x;
    mpfr_get_q(x.get_mpq_t(), value_);
    return x;
  }

  friend Real operator+(const Real& a, const Real& b) { return binary(mpfr_add, a, b); }
  friend Real operator-(const Real& a, const Real& b) { return binary(mpfr_sub, a, b); }
  friend Real operator*(const Real& a, const Real& b) { return binary(mpfr_mul, a, b); }
  friend Real operator/(const Real& a, const Real& b) { return binary(mpfr_div, a, b); }
  friend bool operator<(const Real& a, const Real& b) {
    return mpfr_less_p(a.value_, b.value_) != 0;
  }

  template <typename Operation>
  static Real binary(Operation operation, const Real& a, const Real& b) {
    Real result;
    operation(result.value_, a.value_, b.value_, MPFR_RNDN);
    return result;
  }
  template <typename Operation>
  static Real unary(Operation operation, const Real& a) {
    Real result;
    operation(result.value_, a.value_, MPFR_RNDN);
    return result;
  }
  static Real pi() {
    Real result;
    mpfr_const_pi(result.value_, MPFR_RNDN);
    return result;
  }

 private:
  mpfr_t value_;
};

Real exp(const Real& x) {
  return Real::unary(mpfr_exp, x);
}
Real expm1(const Real& x) {
  return Real::unary(mpfr_expm1, x);
}
Real softplus(const Real& x) {
  return Real::unary(mpfr_log1p, exp(x));
}

Real smooth(const Function& f, const Real& x) {
  switch (f.kind) {
    case FunctionKind::kSigmoid:
      return Real(1) / (Real(1) + exp(Real(0) - x));
    case FunctionKind::kTanh:
      return Real::unary(mpfr_tanh, x);
    case FunctionKind::kSoftplus:
      return softplus(x);
    case FunctionKind::kSoftsign:
      return x / (Real(1) + Real::unary(mpfr_abs, x));
    case FunctionKind::kElu:
      return x < 0 ? Real(f.a) * expm1(x) : x;
    case FunctionKind::kCelu:
      return x < 0 ? Real(f.a) * expm1(x / f.a) : x;
    case FunctionKind::kSelu:
      return Real(f.b) * (x < 0 ? Real(f.a) * expm1(x) : x);
    case FunctionKind::kHardSwish:
      return x < -3 ? Real(0) : x < 3 ? x * (x + 3) / 6 : x;
    case FunctionKind::kGelu:
      return x / 2 * (Real(1) + Real::unary(mpfr_erf, x / Real::unary(mpfr_sqrt, Real(2))));
    case FunctionKind::kGeluTanh: {
      const Real scale = Real::unary(mpfr_sqrt, Real(2) / Real::pi());
      const Real cubic = x + Real(44715) / Real(1000000) * x * x * x;
      return x / 2 * (Real(1) + Real::unary(mpfr_tanh, scale * cubic));
    }
    case FunctionKind::kMish:
      return x * Real::unary(mpfr_tanh, softplus(x));
    case FunctionKind::kErf:
      return Real::unary(mpfr_erf, x);
    case FunctionKind::kExp:
      return exp(x);
    case FunctionKind::kSin:
      return Real::unary(mpfr_sin, x);
    case FunctionKind::kCos:
      return Real::unary(mpfr_cos, x);
    case FunctionKind::kTan:
      return Real::unary(mpfr_tan, x);
    case FunctionKind::kAtan:
      return Real::unary(mpfr_atan, x);
    case FunctionKind::kSinh:
      return Real::unary(mpfr_sinh, x);
    case FunctionKind::kCosh:
      return Real::unary(mpfr_cosh, x);
    case FunctionKind::kAsinh:
      return Real::unary(mpfr_asinh, x);
    case FunctionKind::kLog:
      return Real::unary(mpfr_log, x);
    case FunctionKind::kSqrt:
      return Real::unary(mpfr_sqrt, x);
    case FunctionKind::kReciprocal:
      return Real(1) / x;
    case FunctionKind::kPower:
      return Real::binary(mpfr_pow, x, Real(f.a));
    case FunctionKind::kAsin:
      return Real::unary(mpfr_asin, x);
    case FunctionKind::kAcos:
      return Real::unary(mpfr_acos, x);
    case FunctionKind::kAcosh:
      return Real::unary(mpfr_acosh, x);
    case FunctionKind::kAtanh:
      return Real::unary(mpfr_atanh, x);
    default:
      BF_CHECK(!"piecewise linear");
      return x;
  }
}

mpq_class floor_of(const mpq_class& x) {
  mpz_class quotient;
  mpz_fdiv_q(quotient.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return quotient;
}

// The nearest integer, ties to even.
mpq_class round_of(const mpq_class& x) {
  const mpq_class half(1, 2);
  const mpq_class below = floor_of(x);
  if (x - below != half) return floor_of(x + half);
  return mpz_even_p(below.get_num_mpz_t()) != 0 ? below : mpq_class(below + 1);
}

mpq_class clip(const mpq_class& x, double low, double high) {
  if (high < low) return high;
  if (low > -INFINITY && x < low) return low;
  if (high < INFINITY && x > high) return high;
  return x;
}

mpq_class piecewise(const Function& f, const mpq_class& x) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
      return x < 0 ? mpq_class(x * f.a) : x;
    case FunctionKind::kAbs:
      return abs(x);
    case FunctionKind::kClip:
      return clip(x, f.a, f.b);
    case FunctionKind::kHardSigmoid:
      return clip(x * f.a + f.b, 0, 1);
    case FunctionKind::kThresholdedRelu:
      return x > f.a ? x : mpq_class(0);
    case FunctionKind::kShrink:
      if (x < -f.a) return x + f.b;
      return x > f.a ? mpq_class(x - f.b) : mpq_class(0);
    case FunctionKind::kSign:
      return sgn(x);
    case FunctionKind::kStep:
      return x > 0 ? 1 : 0;
    case FunctionKind::kStepAt:
      return x >= 0 ? 1 : 0;
    case FunctionKind::kIsZero:
      return x == 0 ? 1 : 0;
    case FunctionKind::kFloor:
      return floor_of(x);
    case FunctionKind::kCeil:
      return -floor_of(-x);
    case FunctionKind::kRound:
      return round_of(x / f.a);
    default:
      BF_CHECK(!"smooth");
      return x;
  }
}

}  // namespace

mpq_class evaluate_exact(const Function& function, const mpq_class& x) {
  if (is_piecewise_linear(function.kind)) return piecewise(function, x);
  return smooth(function, Real(x)).rational();
}

}  // namespace bf_aot
