#include "frontend/function_exact.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"

namespace bf {
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

// |f(x) - f(y)| <= lipschitz |x - y| everywhere; infinite where there is no such number.
double lipschitz(const Function& f) {
  switch (f.kind) {
    case FunctionKind::kSigmoid:
      return 0.25;
    case FunctionKind::kAbs:
    case FunctionKind::kClip:
    case FunctionKind::kTanh:
    case FunctionKind::kSoftplus:
    case FunctionKind::kSoftsign:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
    case FunctionKind::kAtan:
    case FunctionKind::kAsinh:
      return 1;
    case FunctionKind::kLeakyRelu:
    case FunctionKind::kElu:
      return std::max(1.0, std::abs(f.a));
    case FunctionKind::kHardSigmoid:
      return std::abs(f.a);
    case FunctionKind::kCelu:
      return f.a > 0 ? 1 : INFINITY;  // e^(x / a) <= 1 on the side that it is used on
    case FunctionKind::kSelu:
      return std::abs(f.b) * std::max(1.0, std::abs(f.a)) * (1 + 0x1p-50);
    case FunctionKind::kErf:
      return 1.1284;  // 2 / sqrt pi = 1.12837...
    case FunctionKind::kHardSwish:
      return 1.5;  // at 3
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
    case FunctionKind::kMish:
      return 1.25;  // 1.129, 1.130 and 1.089 at the steepest
    default:
      return INFINITY;
  }
}

bool is_in_domain(const Function& f, const mpq_class& x) {
  switch (f.kind) {
    case FunctionKind::kLog:
      return x > 0;
    case FunctionKind::kSqrt:
      return x >= 0;
    case FunctionKind::kReciprocal:
      return x != 0;
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
      return abs(x) <= 1;
    case FunctionKind::kAcosh:
      return x >= 1;
    case FunctionKind::kAtanh:
      return abs(x) < 1;
    case FunctionKind::kPower:
      if (x > 0) return true;
      if (x == 0) return f.a > 0;
      return f.a == std::floor(f.a);
    default:
      return true;
  }
}

// Whether f is monotone between two points of its domain, so that its values there bound it.
bool is_monotone(const Function& f, const mpq_class& low, const mpq_class& high) {
  switch (f.kind) {
    case FunctionKind::kExp:
    case FunctionKind::kSinh:
    case FunctionKind::kLog:
    case FunctionKind::kSqrt:
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
    case FunctionKind::kAcosh:
    case FunctionKind::kAtanh:
    case FunctionKind::kSign:
    case FunctionKind::kStep:
    case FunctionKind::kStepAt:
    case FunctionKind::kFloor:
    case FunctionKind::kCeil:
    case FunctionKind::kRound:
      return true;
    case FunctionKind::kCosh:
    case FunctionKind::kReciprocal:
    case FunctionKind::kPower:
      return low > 0 || high < 0;
    default:
      return false;
  }
}

double distance_up(const mpq_class& a, double b) {
  const double distance = mpq_class(abs(a - mpq_class(b))).get_d();  // truncated
  return distance == 0 && a == mpq_class(b) ? 0 : std::nextafter(distance, INFINITY);
}

}  // namespace

FunctionValue evaluate_bounded(const Function& function, double x, double error) {
  if (!std::isfinite(x) || !std::isfinite(error)) return {0, INFINITY};
  const mpq_class middle(x);
  if (!is_in_domain(function, middle)) return {0, INFINITY};
  const mpq_class exact = evaluate_exact(function, middle);
  FunctionValue made{exact.get_d(), 0};
  if (!std::isfinite(made.value)) return {0, INFINITY};
  const bool smooth = !is_piecewise_linear(function.kind);
  const double own = smooth ? 0x1p-200 * (1 + std::abs(made.value)) : 0;
  made.error = distance_up(exact, made.value);
  if (own > 0) made.error = std::nextafter(made.error + own, INFINITY);
  if (error == 0) return made;
  if (const double slope = lipschitz(function); std::isfinite(slope)) {
    const double moved = std::nextafter(slope * error, INFINITY);
    return {made.value, std::nextafter(made.error + moved, INFINITY)};
  }
  const mpq_class low = middle - mpq_class(error);
  const mpq_class high = middle + mpq_class(error);
  if (!is_in_domain(function, low) || !is_in_domain(function, high) ||
      !is_monotone(function, low, high))
    return {0, INFINITY};
  for (const mpq_class& end : {low, high}) {
    const double reach = distance_up(evaluate_exact(function, end), made.value);
    made.error = std::max(made.error, own > 0 ? std::nextafter(reach + own, INFINITY) : reach);
  }
  return made;
}

mpq_class evaluate_exact(const Function& function, const mpq_class& x) {
  if (is_piecewise_linear(function.kind)) return piecewise(function, x);
  return smooth(function, Real(x)).rational();
}

}  // namespace bf
