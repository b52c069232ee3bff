#include "frontend/numbers/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <string>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot::vnnlib {
namespace {

constexpr double kInfinity = __builtin_inf();

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A decimal taken apart: (-1)^negative digits 10^exponent, the digits being text without its point.
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction;
  int exponent = 0;  // of the number as written
};

bool read_exponent(std::string_view text, NumberError& error, int& exponent) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    if (value <= kMaxExponent) value = 10 * value + (c - '0');
  }
  if (value > kMaxExponent) error = NumberError::kTooLong;
  exponent = negative ? -value : value;
  return true;
}

NumberError take_apart(std::string_view text, Decimal& decimal) {
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+'))
    decimal.negative = text[at++] == '-';
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(first, at - first);
  };
  decimal.whole = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    decimal.fraction = digits();
  }
  if (decimal.whole.empty() && decimal.fraction.empty()) return NumberError::kSyntax;
  NumberError error = NumberError::kNone;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return NumberError::kSyntax;
    if (!read_exponent(text.substr(at + 1), error, decimal.exponent)) return NumberError::kSyntax;
  }
  return text.size() > kMaxDigits ? NumberError::kTooLong : error;
}

mpz_class power_of_ten(int exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(exponent));
  return power;
}

mpq_class to_rational(const Decimal& decimal) {
  const std::string digits = std::string(decimal.whole) + std::string(decimal.fraction);
  mpq_class value(mpz_class(digits, 10));
  const int exponent = decimal.exponent - static_cast<int>(decimal.fraction.size());
  if (exponent >= 0)
    value *= power_of_ten(exponent);
  else
    value /= power_of_ten(-exponent);
  return decimal.negative ? mpq_class(-value) : value;
}

// The powers of ten that are doubles.
constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Decimals of up to 15 digits and small exponents, by far the most, without long arithmetic.
//
// Proof. The integer m of the digits is a double, and so is the power p. Division: d = fl(m / p) is
// normal or zero, and its remainder m - d p is a double that fma computes exactly (Boldo and
// Daumas 2003, no underflow here), so its sign says on which side d lies. Multiplication: the error
// m p - d of d = fl(m p) is a double and fma(m, p, -d) computes it.
bool read_short(const Decimal& decimal, Number& result) {
  if (decimal.whole.size() + decimal.fraction.size() > 15) return false;
  const int exponent = decimal.exponent - static_cast<int>(decimal.fraction.size());
  if (exponent > 22 || exponent < -22) return false;
  std::int64_t digits = 0;
  for (const std::string_view part : {decimal.whole, decimal.fraction})
    for (const char c : part) digits = 10 * digits + (c - '0');
  const auto m = static_cast<double>(decimal.negative ? -digits : digits);
  const double p = kPowers[static_cast<std::size_t>(exponent < 0 ? -exponent : exponent)];
  const double d = exponent < 0 ? m / p : m * p;
  const double rest = exponent < 0 ? std::fma(-d, p, m) : std::fma(m, p, -d);  // sign of number - d
  result.below = rest < 0 ? std::nextafter(d, -kInfinity) : d + 0.0;           // no -0
  result.above = rest > 0 ? std::nextafter(d, kInfinity) : d + 0.0;
  return true;
}

}  // namespace

NumberError parse_number(std::string_view text, Number& result) {
  Decimal decimal;
  const NumberError error = take_apart(text, decimal);
  if (error != NumberError::kNone) return error;
  if (read_short(decimal, result))
    result.text = text;
  else
    result = enclose(to_rational(decimal), text);
  return NumberError::kNone;
}

NumberError parse_quotient(std::string_view text, Number& result) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return parse_number(text, result);
  Decimal above, below;
  for (const auto& [part, decimal] :
       {std::pair(text.substr(0, slash), &above), std::pair(text.substr(slash + 1), &below)})
    if (const NumberError error = take_apart(part, *decimal); error != NumberError::kNone)
      return error;
  const mpq_class divisor = to_rational(below);
  if (divisor == 0) return NumberError::kSyntax;
  result = enclose(to_rational(above) / divisor, text);
  return NumberError::kNone;
}

mpq_class exact(const Number& number) {
  if (number.is_double()) return mpq_class(number.below);
  const auto value = read_exact_text(number.text);
  BF_CHECK(value.has_value());
  return *value;
}

std::optional<mpq_class> read_exact_text(std::string_view text) {
  const std::size_t slash = text.find('/');
  Decimal above, below;
  if (take_apart(text.substr(0, slash), above) == NumberError::kSyntax) return std::nullopt;
  if (slash == std::string_view::npos) return to_rational(above);
  if (take_apart(text.substr(slash + 1), below) == NumberError::kSyntax) return std::nullopt;
  const mpq_class divisor = to_rational(below);
  if (divisor == 0) return std::nullopt;
  return to_rational(above) / divisor;
}

Number enclose(const mpq_class& value, std::string_view text) {
  Number number;
  number.text = text;
  const double largest = DBL_MAX;
  if (value > mpq_class(largest)) {
    number.below = largest;
    number.above = kInfinity;
    return number;
  }
  if (value < mpq_class(-largest)) {
    number.below = -kInfinity;
    number.above = -largest;
    return number;
  }
  // get_d truncates, but may do otherwise for subnormals: the loops settle it.
  double d = value.get_d() + 0.0;
  while (mpq_class(d) > value) d = std::nextafter(d, -kInfinity);
  while (mpq_class(d) < value) {
    const double next = std::nextafter(d, kInfinity);
    if (mpq_class(next) > value) break;
    d = next;
  }
  number.below = d;
  number.above = mpq_class(d) == value ? d : std::nextafter(d, kInfinity);
  return number;
}

// Numbers that are no doubles lie in the open gaps between neighbouring doubles: gaps and doubles
// are in order of (below, above), and two numbers need their exact values only within one gap.
Rounded round_to_double(const mpq_class& number) {
  const Number between = enclose(number, {});
  const double value = sgn(number) >= 0 ? between.below : between.above;
  const double other = sgn(number) >= 0 ? between.above : between.below;
  if (!std::isfinite(other)) return {value, kInfinity};
  const mpq_class distance = abs(number - mpq_class(value));
  // get_d() truncates.
  return {value, distance == 0 ? 0 : std::nextafter(distance.get_d(), kInfinity)};
}

double nearest_double(const mpq_class& number) {
  const Number between = enclose(number, {});
  if (!std::isfinite(between.below) || !std::isfinite(between.above)) return std::nan("");
  const bool up = number - mpq_class(between.below) > mpq_class(between.above) - number;
  return up ? between.above : between.below;
}

std::strong_ordering compare(const Number& a, const Number& b) {
  if (a.below != b.below)
    return a.below < b.below ? std::strong_ordering::less : std::strong_ordering::greater;
  if (a.above != b.above)
    return a.above < b.above ? std::strong_ordering::less : std::strong_ordering::greater;
  if (a.is_double() || a.text == b.text) return std::strong_ordering::equal;
  return cmp(exact(a), exact(b)) <=> 0;
}

namespace {

// The digits of a decimal number, and how many of them stand behind the point; nothing for numbers
// that have no finite decimal.
std::optional<std::pair<std::string, std::size_t>> decimal_digits(const mpq_class& value) {
  mpz_class rest = value.get_den();
  const mpz_class two = 2, five = 5;
  const auto twos = mpz_remove(rest.get_mpz_t(), rest.get_mpz_t(), two.get_mpz_t());
  const auto fives = mpz_remove(rest.get_mpz_t(), rest.get_mpz_t(), five.get_mpz_t());
  const auto places = static_cast<std::size_t>(std::max(twos, fives));
  if (rest != 1 || places > kMaxDigits) return std::nullopt;
  const mpq_class scaled = value * power_of_ten(static_cast<int>(places));
  return std::pair(mpz_class(abs(scaled.get_num())).get_str(), places);
}

// A decimal with more zeros than these between point and digits is written with an exponent.
constexpr std::size_t kMostZeros = 8;

std::string with_point(std::string digits, std::size_t places) {
  if (places > digits.size() + kMostZeros) {
    const std::size_t exponent = places - digits.size() + 1;
    if (digits.size() > 1) digits.insert(1, ".");
    return fmt::format("{}e-{}", digits, exponent);
  }
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, ".");
  return digits;
}

}  // namespace

std::string exact_text(const mpq_class& value) {
  if (const auto found = decimal_digits(value)) {
    const std::string text = (value < 0 ? "-" : "") + with_point(found->first, found->second);
    if (text.size() <= kMaxDigits) return text;
  }
  return value.get_str();
}

mpq_class decimal_between(const mpq_class& lower, const mpq_class& upper) {
  if (lower >= upper) return lower;
  for (mpz_class scale = 1;; scale *= 10) {
    // The least multiple of 1 / scale above the lower number.
    const mpq_class scaled = lower * scale;
    mpz_class whole;
    mpz_fdiv_q(whole.get_mpz_t(), scaled.get_num_mpz_t(), scaled.get_den_mpz_t());
    mpq_class next(whole + 1, scale);
    next.canonicalize();
    if (next < upper) return next;
  }
}

}  // namespace bf_aot::vnnlib
