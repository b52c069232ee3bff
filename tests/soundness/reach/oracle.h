#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include <cstddef>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/scalar_program.h"
#include "frontend/functions/interval.h"

// Arithmetic that tubes are compared with: rational numbers, and real ones of 160 bits. Both are
// Arithmetic classes of run() in scalar_program.h.
namespace bf_aot::soundness {

inline mpq_class rational(const Bounded& x) {
  BF_CHECK(x.error == 0);
  return x.value;
}

// Exact.
struct RationalArithmetic {
  using Number = mpq_class;
  static Number constant(const Bounded& x) { return rational(x); }
  static Number number(const mpq_class& x) { return x; }
  static Number add(const Number& a, const Number& b) { return a + b; }
  static Number subtract(const Number& a, const Number& b) { return a - b; }
  static Number multiply(const Number& a, const Number& b) { return a * b; }
  static Number square(const Number& a) { return a * a; }
  static Number divide(const Number& a, const Number& b) { return a / b; }
  static Number relu(const Number& a) { return a > 0 ? a : Number(0); }
  static Number larger(const Number& a, const Number& b) { return a < b ? b : a; }
  static Number apply(const Function&, const Number&) {
    BF_CHECK(false);
    return 0;
  }
  static Number magnitude(const Number& a) { return abs(a); }
  static double about(const Number& a) { return a.get_d(); }
};

// Each operation rounds to 160 bits.
struct RealArithmetic {
  using Number = Real;
  using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

  static Real constant(const Bounded& x) {
    BF_CHECK(x.error == 0);
    return x.value;
  }
  static Real number(const mpq_class& x) {
    Real made;
    mpfr_set_q(made, x.get_mpq_t(), MPFR_RNDN);
    return made;
  }
  static Real add(const Real& a, const Real& b) { return binary(mpfr_add, a, b); }
  static Real subtract(const Real& a, const Real& b) { return binary(mpfr_sub, a, b); }
  static Real multiply(const Real& a, const Real& b) { return binary(mpfr_mul, a, b); }
  static Real square(const Real& a) { return multiply(a, a); }
  static Real divide(const Real& a, const Real& b) { return binary(mpfr_div, a, b); }
  static Real relu(const Real& a) {
    return mpfr_sgn(static_cast<mpfr_srcptr>(a)) > 0 ? a : Real(0);
  }
  static Real larger(const Real& a, const Real& b) { return mpfr_less_p(a, b) != 0 ? b : a; }
  static Real magnitude(const Real& a) { return unary(mpfr_abs, a); }
  static double about(const Real& a) { return mpfr_get_d(a, MPFR_RNDN); }

  static Real apply(const Function& f, const Real& x) {
    switch (f.kind) {
      case FunctionKind::kSin:
        return unary(mpfr_sin, x);
      case FunctionKind::kCos:
        return unary(mpfr_cos, x);
      case FunctionKind::kTanh:
        return unary(mpfr_tanh, x);
      case FunctionKind::kTan:
        return unary(mpfr_tan, x);
      case FunctionKind::kSinh:
        return unary(mpfr_sinh, x);
      case FunctionKind::kCosh:
        return unary(mpfr_cosh, x);
      case FunctionKind::kErf:
        return unary(mpfr_erf, x);
      case FunctionKind::kPower:
        return power(x, f.a);
      case FunctionKind::kSoftplus:
        return unary(mpfr_log1p, unary(mpfr_exp, x));
      case FunctionKind::kExp:
        return unary(mpfr_exp, x);
      case FunctionKind::kAtan:
        return unary(mpfr_atan, x);
      case FunctionKind::kSqrt:
        return unary(mpfr_sqrt, x);
      case FunctionKind::kLog:
        return unary(mpfr_log, x);
      case FunctionKind::kAbs:
        return magnitude(x);
      case FunctionKind::kReciprocal:
        return divide(Real(1), x);
      case FunctionKind::kSigmoid:
        return divide(Real(1), add(Real(1), unary(mpfr_exp, subtract(Real(0), x))));
      default:
        BF_CHECK(false);
        return x;
    }
  }

 private:
  static Real power(const Real& x, double exponent) {
    Real made;
    mpfr_pow_si(made, x, static_cast<long>(exponent), MPFR_RNDN);
    return made;
  }
  static Real binary(Binary routine, const Real& a, const Real& b) {
    Real made;
    routine(made, a, b, MPFR_RNDN);
    return made;
  }
  static Real unary(MpfrFunction routine, const Real& x) {
    Real made;
    routine(made, x, MPFR_RNDN);
    return made;
  }
};

inline bool at_most(const mpq_class& a, const mpq_class& b) {
  return a <= b;
}
inline bool at_most(const Real& a, const Real& b) {
  return mpfr_lessequal_p(a, b) != 0;
}

// A solution of x' = f(x, held) after `seconds` by Gragg's midpoint steps, extrapolated as Bulirsch
// and Stoer do to order 24. Shares nothing with Taylor's series. `error`: the largest difference of
// the last two extrapolations, which is far above what the last one is off by.
struct Integrated {
  std::vector<Real> state;
  double error = 0;
};

inline Integrated integrate(const ScalarProgram& plant, const std::vector<Real>& state,
                            const std::vector<Real>& held, const Real& seconds) {
  using A = RealArithmetic;
  constexpr std::size_t kColumns = 12;
  const std::size_t n = state.size();
  const auto slopes = [&](const std::vector<Real>& x) {
    std::vector<Real> inputs = x;
    inputs.insert(inputs.end(), held.begin(), held.end());
    return outputs_of(plant, inputs, A());
  };
  const auto moved = [&](const std::vector<Real>& x, const Real& by, const std::vector<Real>& f) {
    std::vector<Real> made;
    for (std::size_t i = 0; i < n; ++i) made.push_back(A::add(x[i], A::multiply(by, f[i])));
    return made;
  };
  const auto midpoint = [&](std::size_t steps) {
    const Real h = A::divide(seconds, Real(static_cast<double>(steps)));
    const Real twice = A::add(h, h);
    std::vector<Real> before = state, now = moved(state, h, slopes(state));
    for (std::size_t k = 1; k < steps; ++k) {
      std::vector<Real> next = moved(before, twice, slopes(now));
      before = std::move(now);
      now = std::move(next);
    }
    std::vector<Real> smooth = moved(before, h, slopes(now));
    for (std::size_t i = 0; i < n; ++i) smooth[i] = A::divide(A::add(smooth[i], now[i]), Real(2));
    return smooth;
  };
  std::vector<std::vector<std::vector<Real>>> table(kColumns);
  for (std::size_t j = 0; j < kColumns; ++j) {
    table[j].push_back(midpoint(2 * (j + 1)));
    for (std::size_t k = 1; k <= j; ++k) {
      const Real ratio =
          A::divide(Real(static_cast<double>(j + 1)), Real(static_cast<double>(j + 1 - k)));
      const Real factor = A::divide(Real(1), A::subtract(A::square(ratio), Real(1)));
      std::vector<Real> made;
      for (std::size_t i = 0; i < n; ++i) {
        const Real& better = table[j][k - 1][i];
        made.push_back(
            A::add(better, A::multiply(factor, A::subtract(better, table[j - 1][k - 1][i]))));
      }
      table[j].push_back(std::move(made));
    }
  }
  const std::vector<std::vector<Real>>& last = table.back();
  Integrated made{last.back(), 0};
  for (std::size_t i = 0; i < n; ++i) {
    const Real difference = A::subtract(last[kColumns - 1][i], last[kColumns - 2][i]);
    made.error = std::max(made.error, std::fabs(A::about(difference)));
  }
  return made;
}

}  // namespace bf_aot::soundness
