#include "frontend/functions/interval.h"

namespace bf_aot {

namespace {

// The values at low and high, rounded outward. At a point, the value rounded up is the number after
// the one rounded down, unless that is exact: MPFR rounds correctly, and says whether it did.
Interval image(MpfrFunction function, const Real& low, const Real& high) {
  Interval made;
  const int inexact = function(made.low, low, MPFR_RNDD);
  if (mpfr_equal_p(low, high) == 0) {
    function(made.high, high, MPFR_RNDU);
  } else {
    made.high = made.low;
    if (inexact != 0) mpfr_nextabove(made.high);
  }
  return made;
}

bool is_valid(const Interval& x) {
  return mpfr_nan_p(x.low) == 0 && mpfr_nan_p(x.high) == 0;
}

Interval checked(Interval x) {
  return is_valid(x) ? x : Interval::entire();
}

// 0 times infinity is 0 here: an infinite end stands for arbitrarily large numbers, and 0 times
// each of them is 0.
void multiply(Real& to, const Real& a, const Real& b, mpfr_rnd_t rounding) {
  if (mpfr_zero_p(a) != 0 || mpfr_zero_p(b) != 0) {
    mpfr_set_zero(to, 1);
  } else {
    mpfr_mul(to, a, b, rounding);
  }
}

Interval clamped_to_one(const Interval& value, const Real& radius) {
  Interval made;
  mpfr_sub(made.low, value.low, radius, MPFR_RNDD);
  mpfr_add(made.high, value.high, radius, MPFR_RNDU);
  if (!(mpfr_cmp_si(made.low, -1) >= 0)) mpfr_set_si(made.low, -1, MPFR_RNDN);
  if (!(mpfr_cmp_si(made.high, 1) <= 0)) mpfr_set_si(made.high, 1, MPFR_RNDN);
  return made;
}

// The function at the middle, plus the largest distance to it: both have slopes of at most 1.
Interval one_lipschitz(MpfrFunction function, const Interval& x) {
  const Real centre = middle(x);
  Real left, right;
  mpfr_sub(left, centre, x.low, MPFR_RNDU);
  mpfr_sub(right, x.high, centre, MPFR_RNDU);
  return clamped_to_one(image(function, centre, centre), mpfr_cmp(left, right) > 0 ? left : right);
}

}  // namespace

Interval Interval::entire() {
  Interval made;
  mpfr_set_inf(made.low, -1);
  mpfr_set_inf(made.high, 1);
  return made;
}

bool Interval::contains_zero() const {
  return mpfr_sgn(static_cast<mpfr_srcptr>(low)) <= 0 &&
         mpfr_sgn(static_cast<mpfr_srcptr>(high)) >= 0;
}

Interval operator+(const Interval& a, const Interval& b) {
  Interval made;
  mpfr_add(made.low, a.low, b.low, MPFR_RNDD);
  mpfr_add(made.high, a.high, b.high, MPFR_RNDU);
  return checked(std::move(made));
}

Interval operator-(const Interval& a, const Interval& b) {
  Interval made;
  mpfr_sub(made.low, a.low, b.high, MPFR_RNDD);
  mpfr_sub(made.high, a.high, b.low, MPFR_RNDU);
  return checked(std::move(made));
}

Interval operator-(const Interval& a) {
  Interval made;
  mpfr_neg(made.low, a.high, MPFR_RNDN);
  mpfr_neg(made.high, a.low, MPFR_RNDN);
  return made;
}

Interval operator*(const Interval& a, const Interval& b) {
  const bool a_positive = mpfr_sgn(static_cast<mpfr_srcptr>(a.low)) >= 0;
  const bool b_positive = mpfr_sgn(static_cast<mpfr_srcptr>(b.low)) >= 0;
  Interval made;
  if (a_positive && b_positive) {
    multiply(made.low, a.low, b.low, MPFR_RNDD);
    multiply(made.high, a.high, b.high, MPFR_RNDU);
    return made;
  }
  Real product;
  multiply(made.low, a.low, b.low, MPFR_RNDD);
  multiply(made.high, a.low, b.low, MPFR_RNDU);
  const std::pair<const Real*, const Real*> others[] = {
      {&a.low, &b.high}, {&a.high, &b.low}, {&a.high, &b.high}};
  for (const auto& [left, right] : others) {
    multiply(product, *left, *right, MPFR_RNDD);
    mpfr_min(made.low, made.low, product, MPFR_RNDD);
    multiply(product, *left, *right, MPFR_RNDU);
    mpfr_max(made.high, made.high, product, MPFR_RNDU);
  }
  return made;
}

Interval operator/(const Interval& a, const Interval& b) {
  if (b.contains_zero()) return Interval::entire();
  Interval inverse;
  mpfr_ui_div(inverse.low, 1, b.high, MPFR_RNDD);
  mpfr_ui_div(inverse.high, 1, b.low, MPFR_RNDU);
  return a * inverse;
}

Interval increasing(MpfrFunction function, const Interval& x) {
  return checked(image(function, x.low, x.high));
}

Interval decreasing(MpfrFunction function, const Interval& x) {
  return checked(image(function, x.high, x.low));
}

Interval sine(const Interval& x) {
  return one_lipschitz(mpfr_sin, x);
}

Interval cosine(const Interval& x) {
  return one_lipschitz(mpfr_cos, x);
}

Interval pi() {
  Interval made;
  mpfr_const_pi(made.low, MPFR_RNDD);
  mpfr_const_pi(made.high, MPFR_RNDU);
  return made;
}

Interval power(const Interval& x, double a) {
  if (!(mpfr_sgn(static_cast<mpfr_srcptr>(x.low)) > 0)) return Interval::entire();
  // MPFR rounds these correctly, as it does pow, which takes twenty times as long.
  if (a == 0.5) return increasing(mpfr_sqrt, x);
  if (a == -0.5) return decreasing(mpfr_rec_sqrt, x);
  if (a == -1) return Interval(1) / x;
  const Real exponent(a);
  Interval made;
  mpfr_pow(made.low, a > 0 ? x.low : x.high, exponent, MPFR_RNDD);
  mpfr_pow(made.high, a > 0 ? x.high : x.low, exponent, MPFR_RNDU);
  return checked(std::move(made));
}

Real middle(const Interval& x) {
  Real made;
  mpfr_add(made, x.low, x.high, MPFR_RNDN);
  mpfr_div_2ui(made, made, 1, MPFR_RNDN);
  return made;
}

Real magnitude(const Interval& x) {
  Real low, high;
  mpfr_abs(low, x.low, MPFR_RNDU);
  mpfr_abs(high, x.high, MPFR_RNDU);
  return mpfr_cmp(low, high) > 0 ? low : high;
}

double double_below(const Interval& x) {
  return mpfr_get_d(x.low, MPFR_RNDD);
}

double double_above(const Interval& x) {
  return mpfr_get_d(x.high, MPFR_RNDU);
}

}  // namespace bf_aot
