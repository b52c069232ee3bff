#include "frontend/numbers/exact_arithmetic.h"

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr double kUnitRoundoff = 0x1p-53;
constexpr double kSmallest = 0x1p-1074;

// |exact - rounded| for one correctly rounded operation: half an ulp, which is at most 2^-53 of the
// result, or 2^-1075 below the normal range.
double rounding_error(double rounded) {
  return add_up(mul_up(std::fabs(rounded), kUnitRoundoff), kSmallest);
}

// a = q b, decided without rounding. Outside [2^-900, 2^900] the answer may be a false "no".
bool is_exact_quotient(double a, double b, double q) {
  if (a == 0) return true;
  const auto moderate = [](double x) {
    return std::fabs(x) >= 0x1p-900 && std::fabs(x) <= 0x1p900;
  };
  // a - q b is a multiple of ulp(q) ulp(b) > 2^-1010, so that the FMA cannot round it to zero.
  return moderate(a) && moderate(b) && moderate(q) && std::fma(-q, b, a) == 0;
}

}  // namespace

// Bounds the error of a product so small that fma(a, b, -product) may itself be rounded. With both
// factors scaled to [1/2, 1) nothing underflows, and scaling the (possibly subnormal) product up is
// exact, so that equality is decided exactly.
double Sum::small_product_error(double a, double b, double product) {
  int exponent_a = 0;
  int exponent_b = 0;
  const double mantissa_a = std::frexp(a, &exponent_a);
  const double mantissa_b = std::frexp(b, &exponent_b);
  const double scaled = mantissa_a * mantissa_b;
  const bool exact = std::fma(mantissa_a, mantissa_b, -scaled) == 0 &&
                     std::ldexp(product, -(exponent_a + exponent_b)) == scaled;
  return exact ? 0 : rounding_error(product);
}

// The error of q = round(a / b) follows from, with |d| <= a.error, |e| <= b.error,
//   |(a + d) / (b + e) - a / b| = |d - (a / b) e| / |b + e| <= (|d| + |a / b| |e|) / (|b| - |e|)
Bounded divide(const Bounded& a, const Bounded& b) {
  BF_CHECK(can_divide_by(b));
  const double quotient = a.value / b.value;
  const double own = is_exact_quotient(a.value, b.value, quotient) ? 0 : rounding_error(quotient);
  if (a.error == 0 && b.error == 0) return {quotient, own};
  // Rounded down: b.value > b.error, and one step below the rounded difference is below the exact
  // one. Zero makes the error infinite, which is rejected as an overflow.
  const double difference = std::fabs(b.value) - b.error;
  const double least = difference > 0 ? std::nextafter(difference, 0.0) : 0;
  const double most = add_up(std::fabs(quotient), own);
  const double carried = div_up(add_up(a.error, mul_up(most, b.error)), least);
  return {quotient, add_up(own, carried)};
}

Bounded relu(const Bounded& a) {
  if (a.value <= -a.error) return {0, 0};  // the exact number is not positive
  return a.value > 0 ? a : Bounded{0, a.error};
}

}  // namespace bf_aot
