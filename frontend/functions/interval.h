#pragma once

#include <gmp.h>
#include <mpfr.h>

#include <utility>

namespace bf_aot {

// Interval arithmetic with MPFR: every result encloses all exact results for operands in the given
// intervals. What is undefined somewhere in them gives [-inf, inf].

constexpr mpfr_prec_t kPrecision = 160;

// An MPFR number with the manners of a value. Its digits are in it, by MPFR's custom interface:
// making one allocates nothing, which a table would do millions of times.
class Real {
 public:
  Real() {
    mpfr_custom_init(limbs_, kPrecision);
    mpfr_custom_init_set(value_, MPFR_ZERO_KIND, 0, kPrecision, limbs_);
  }
  Real(double x) : Real() { mpfr_set_d(value_, x, MPFR_RNDN); }  // exact
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() = default;

  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }

 private:
  static constexpr mpfr_prec_t kLimbs = (kPrecision + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;

  mp_limb_t limbs_[kLimbs];
  mpfr_t value_;
};

struct Interval {
  Real low, high;

  Interval() = default;
  Interval(double x) : low(x), high(x) {}
  Interval(Real l, Real h) : low(std::move(l)), high(std::move(h)) {}
  Interval(double l, double h) : low(l), high(h) {}

  static Interval entire();
  bool contains_zero() const;
};

Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a, const Interval& b);
Interval operator-(const Interval& a);
Interval operator*(const Interval& a, const Interval& b);
Interval operator/(const Interval& a, const Interval& b);

// The images under functions that increase, given by their MPFR routine.
using MpfrFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
Interval increasing(MpfrFunction function, const Interval& x);
Interval decreasing(MpfrFunction function, const Interval& x);

Interval sine(const Interval& x);
Interval cosine(const Interval& x);
Interval pi();

// x^a for x > 0.
Interval power(const Interval& x, double a);

// The midpoint, rounded: a point near the middle.
Real middle(const Interval& x);

// max |x|, and the ends as doubles, all rounded outward.
Real magnitude(const Interval& x);
double double_below(const Interval& x);
double double_above(const Interval& x);

}  // namespace bf_aot
