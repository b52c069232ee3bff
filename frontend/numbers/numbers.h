#pragma once

#include <gmpxx.h>

#include <compare>
#include <optional>
#include <string>
#include <string_view>

// Exact numbers between which doubles lie.

namespace bf_aot::vnnlib {

// An exact real number: the doubles next to it, and where it is written. below == above when it is
// a double.
struct Number {
  double below = 0;       // the greatest double <= the number
  double above = 0;       // the least double >= the number
  std::string_view text;  // of a valid decimal or a quotient of two, alive as long as the number

  bool is_double() const { return below == above; }
};

// Longest decimal, and largest decimal exponent, that are accepted.
inline constexpr std::size_t kMaxDigits = 2000;
inline constexpr int kMaxExponent = 2000;

enum class NumberError { kNone, kSyntax, kTooLong };

// "1", "-2.5", "+.5e-3", "1e-05". Reads the number into `result`, which keeps `text`.
NumberError parse_number(std::string_view text, Number& result);

// Parses a decimal or a quotient of two: "0.03", "8/255". Returns kSyntax for a divisor of 0.
NumberError parse_quotient(std::string_view text, Number& result);

// The number itself.
mpq_class exact(const Number& number);

// The number as doubles enclose it; `text` is kept.
Number enclose(const mpq_class& value, std::string_view text);

// A finite double with |number - value| <= error; the error is infinite beyond the range of
// doubles. The value is the number rounded toward zero.
struct Rounded {
  double value = 0;
  double error = 0;
};
Rounded round_to_double(const mpq_class& number);

// The double next to the number; NaN beyond the range of doubles.
double nearest_double(const mpq_class& number);

// Compares the exact real numbers.
std::strong_ordering compare(const Number& a, const Number& b);

// `value` itself: a decimal, "-0.025" or "2.5e-12", where it has one of at most kMaxDigits
// characters; else a fraction in lowest terms, "1/3".
std::string exact_text(const mpq_class& value);

// Reads a text of exact_text(), of any length. Nothing for another text.
std::optional<mpq_class> read_exact_text(std::string_view text);

// The decimal of fewest places between two numbers, neither of which it is; one of them where they
// are equal.
mpq_class decimal_between(const mpq_class& lower, const mpq_class& upper);

}  // namespace bf_aot::vnnlib
