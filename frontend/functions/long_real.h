#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include "frontend/diagnostic.h"

namespace bf_aot {

// A number of kBits bits, every operation rounded to nearest.
class LongReal {
 public:
  // Far more than what cancellation loses in any formula of function_facts.cpp.
  static constexpr mpfr_prec_t kBits = 1024;

  LongReal() { mpfr_init2(value_, kBits); }
  // Implicit: formulas read better.
  LongReal(double x) : LongReal() { mpfr_set_d(value_, x, MPFR_RNDN); }
  explicit LongReal(const mpq_class& x) : LongReal() {
    mpfr_set_q(value_, x.get_mpq_t(), MPFR_RNDN);
  }
  LongReal(const LongReal& other) : LongReal() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  LongReal& operator=(const LongReal& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~LongReal() { mpfr_clear(value_); }

  // False for infinities, and for results outside of a function's domain. MPFR's exponents end at
  // 2^30, so that e^x is not a number from x = 7.5e8 on.
  bool is_number() const { return mpfr_number_p(value_) != 0; }

  mpq_class rational() const {
    BF_CHECK(is_number());
    mpq_class x;
    mpfr_get_q(x.get_mpq_t(), value_);
    return x;
  }

  friend LongReal operator+(const LongReal& a, const LongReal& b) { return binary(mpfr_add, a, b); }
  friend LongReal operator-(const LongReal& a, const LongReal& b) { return binary(mpfr_sub, a, b); }
  friend LongReal operator*(const LongReal& a, const LongReal& b) { return binary(mpfr_mul, a, b); }
  friend LongReal operator/(const LongReal& a, const LongReal& b) { return binary(mpfr_div, a, b); }
  friend bool operator<(const LongReal& a, const LongReal& b) {
    return mpfr_less_p(a.value_, b.value_) != 0;
  }

  template <typename Operation>
  static LongReal binary(Operation operation, const LongReal& a, const LongReal& b) {
    LongReal result;
    operation(result.value_, a.value_, b.value_, MPFR_RNDN);
    return result;
  }
  template <typename Operation>
  static LongReal unary(Operation operation, const LongReal& a) {
    LongReal result;
    operation(result.value_, a.value_, MPFR_RNDN);
    return result;
  }
  static LongReal pi() {
    LongReal result;
    mpfr_const_pi(result.value_, MPFR_RNDN);
    return result;
  }

 private:
  mpfr_t value_;
};

}  // namespace bf_aot
