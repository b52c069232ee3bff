#pragma once

#include <gmpxx.h>

#include <cmath>
#include <limits>
#include <optional>

namespace bf_test {

// The exact result of one operation: a rational, an infinity, or nothing at all (inf - inf,
// 0 * inf, division by zero, a NaN operand). A rational is numerator / denominator * 2^-kScale
// with denominator > 0, not reduced: 2^-1074 is the unit of all doubles, hence of all floats.
class Exact {
 public:
  static constexpr unsigned kScale = 1074;

  static Exact sum(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return Exact(a + b);
    return Exact(scaled(a) + scaled(b), 1);
  }

  static Exact product(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return Exact(a * b);
    return Exact(scaled(a) * scaled(b), mpz_class(1) << kScale);
  }

  static Exact quotient(double a, double b) {
    if (b == 0) return Exact(std::numeric_limits<double>::quiet_NaN());
    if (std::isinf(b) && std::isfinite(a)) return Exact(0, 1);
    if (!std::isfinite(a) || !std::isfinite(b)) return Exact(a / b);
    const mpz_class divisor = scaled(b);
    const mpz_class dividend = scaled(a) << kScale;
    if (divisor < 0) return Exact(-dividend, -divisor);
    return Exact(dividend, divisor);
  }

  // a * b + c for finite values and where a * b is not beyond the extended reals.
  static Exact product_sum(double a, double b, double c) {
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return Exact(a * b + c);
    return Exact(scaled(a) * scaled(b) + (scaled(c) << kScale), mpz_class(1) << kScale);
  }

  static Exact value(double a) {
    if (!std::isfinite(a)) return Exact(a);
    return Exact(scaled(a), 1);
  }

  bool undefined() const { return special_ && std::isnan(*special_); }

  // The sign of a - *this, for any a but NaN. *this is defined.
  int compare_to(double a) const {
    if (special_) return (a > *special_) - (a < *special_);
    if (std::isinf(a)) return a > 0 ? 1 : -1;
    return cmp(scaled(a) * denominator_, numerator_);
  }

 private:
  explicit Exact(double special) : special_(special) {}
  Exact(mpz_class numerator, mpz_class denominator)
      : numerator_(std::move(numerator)), denominator_(std::move(denominator)) {}

  // a * 2^kScale, an integer for every finite double.
  static mpz_class scaled(double a) {
    int exponent = 0;
    const double fraction = std::frexp(a, &exponent);  // a = fraction * 2^exponent
    const mpz_class mantissa(std::ldexp(fraction, 53));
    const long shift = static_cast<long>(kScale) + exponent - 53;
    if (shift >= 0) return mantissa << static_cast<unsigned long>(shift);
    return mantissa >> static_cast<unsigned long>(-shift);  // only zeros are shifted out
  }

  std::optional<double> special_;  // infinity or NaN
  mpz_class numerator_, denominator_;
};

}  // namespace bf_test
