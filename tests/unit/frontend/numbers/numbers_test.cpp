#include "frontend/numbers/numbers.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <random>
#include <string>

namespace bf_aot::vnnlib {
namespace {

Number parsed(const std::string& text) {
  Number number;
  EXPECT_EQ(parse_number(text, number), NumberError::kNone) << text;
  return number;
}

// The definition, by long arithmetic alone.
void expect_enclosed(const Number& number, const mpq_class& value) {
  EXPECT_LE(mpq_class(number.below), value);
  EXPECT_GE(mpq_class(number.above), value);
  EXPECT_EQ(number.is_double(), mpq_class(number.below) == value);
  EXPECT_EQ(number.above,
            number.is_double() ? number.below : std::nextafter(number.below, INFINITY));
  EXPECT_EQ(exact(number), value);
}

TEST(VnnlibNumbers, DecimalsLieBetweenTheirNeighbours) {
  const struct {
    const char* text;
    const char* value;
  } kCases[] = {{"0", "0"},
                {"-0", "0"},
                {"1", "1"},
                {"+1.5", "3/2"},
                {".5", "1/2"},
                {"2.", "2"},
                {"1e-05", "1/100000"},
                {"1E+2", "100"},
                {"0.1", "1/10"},
                {"-0.1", "-1/10"},
                {"3.991125645861615", "3991125645861615/1000000000000000"},
                {"-0.045057943525637016", "-45057943525637016/1000000000000000000"},
                {"9007199254740993", "9007199254740993"},
                {"1e22", "10000000000000000000000"}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.text);
    mpq_class value(each.value);
    value.canonicalize();
    const std::string text = each.text;
    expect_enclosed(parsed(text), value);
  }
  EXPECT_FALSE(std::signbit(parsed("-0").below));
}

TEST(VnnlibNumbers, RandomDecimalsOfAllLengths) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string digits;
    const unsigned count = 1 + random() % 20;
    for (unsigned i = 0; i < count; ++i) digits += static_cast<char>('0' + random() % 10);
    const int exponent = static_cast<int>(random() % 60) - 30;
    const std::string text =
        (random() % 2 == 0 ? "-" : "") + digits + "e" + std::to_string(exponent);
    mpz_class power;
    mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
    mpq_class value{mpz_class(digits, 10)};
    value = exponent < 0 ? mpq_class(value / power) : mpq_class(value * power);
    if (text[0] == '-') value = -value;
    SCOPED_TRACE(text);
    expect_enclosed(parsed(text), value);
  }
}

TEST(VnnlibNumbers, BeyondTheRangeOfDouble) {
  const Number huge = parsed("1e400");
  EXPECT_EQ(huge.below, DBL_MAX);
  EXPECT_EQ(huge.above, INFINITY);
  const Number tiny = parsed("-1e-400");
  EXPECT_EQ(tiny.below, -5e-324);
  EXPECT_EQ(tiny.above, 0);
  expect_enclosed(parsed("3e-320"), mpq_class("3") / mpq_class("1" + std::string(320, '0')));
}

TEST(VnnlibNumbers, RefusesWhatIsNone) {
  Number number;
  for (const char* text :
       {"", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "1x", "--1", "0x10", "nan"})
    EXPECT_EQ(parse_number(text, number), NumberError::kSyntax) << text;
  EXPECT_EQ(parse_number("1e99999999999999999999", number), NumberError::kTooLong);
  EXPECT_EQ(parse_number(std::string(kMaxDigits + 1, '1'), number), NumberError::kTooLong);
}

TEST(VnnlibNumbers, OrderIsExact) {
  // Neighbours that no double parts.
  const char* const kOrder[] = {"-1e400",
                                "-0.1000000000000000000001",
                                "-0.1",
                                "0",
                                "1e-400",
                                "0.1",
                                "0.1000000000000000000001",
                                "1",
                                "1.00000000000000000001",
                                "1.00000000000000000002",
                                "1e400"};
  for (std::size_t i = 0; i < std::size(kOrder); ++i)
    for (std::size_t j = 0; j < std::size(kOrder); ++j)
      EXPECT_TRUE(compare(parsed(kOrder[i]), parsed(kOrder[j])) == (i <=> j))
          << kOrder[i] << " " << kOrder[j];
  EXPECT_TRUE(compare(parsed("0.10"), parsed("1e-1")) == std::strong_ordering::equal);
}

TEST(VnnlibNumbers, PrintsExactNumbers) {
  EXPECT_EQ(exact_text(mpq_class(1, 2)), "0.5");
  EXPECT_EQ(exact_text(mpq_class(-1, 40)), "-0.025");
  EXPECT_EQ(exact_text(mpq_class(12)), "12");
  EXPECT_EQ(exact_text(mpq_class(0)), "0");
  EXPECT_EQ(exact_text(mpq_class(1, 3)), "1/3");
  EXPECT_EQ(exact_text(mpq_class(-8, 255)), "-8/255");
  EXPECT_EQ(exact_text(*read_exact_text("2.5e-12")), "2.5e-12");
  EXPECT_EQ(exact_text(*read_exact_text("3e-300")), "3e-300");
}

// Every number comes back, however long it is: subnormal doubles have over 700 digits.
TEST(VnnlibNumbers, ReadsBackWhatItPrints) {
  std::mt19937_64 random(7);
  std::vector<mpq_class> values = {mpq_class(0x1p-1074), mpq_class(-0x1.fffffffffffffp-1022),
                                   mpq_class(0x1p-149), mpq_class(DBL_MAX),
                                   *read_exact_text("1/" + std::string(3000, '7'))};
  for (int i = 0; i < 200; ++i) {
    values.emplace_back(
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 200) - 150));
    mpq_class& quotient = values.emplace_back(static_cast<long>(random() >> 20) - (1L << 43),
                                              static_cast<long>(random() >> 50) + 1);
    quotient.canonicalize();
  }
  for (const mpq_class& value : values) {
    const std::string text = exact_text(value);
    const auto read = read_exact_text(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(*read, value) << text;
  }
  for (const char* text : {"", "/", "1/", "/3", "1/0", "1/0.0", "a", "1/3/4", "--1", "1 "})
    EXPECT_FALSE(read_exact_text(text).has_value()) << text;
}

TEST(VnnlibNumbers, ReadsQuotients) {
  Number number;
  ASSERT_EQ(parse_quotient("8/255", number), NumberError::kNone);
  EXPECT_EQ(exact(number), mpq_class(8, 255));
  EXPECT_LT(number.below, number.above);
  ASSERT_EQ(parse_quotient("-0.5/2e-1", number), NumberError::kNone);
  EXPECT_EQ(exact(number), mpq_class(-5, 2));
  ASSERT_EQ(parse_quotient("0.1", number), NumberError::kNone);
  EXPECT_EQ(exact(number), mpq_class(1, 10));
  for (const char* text : {"", "1/0", "1/", "/2", "1/2/3", "1/x", "0x10", "inf", "nan", "1 /2"})
    EXPECT_EQ(parse_quotient(text, number), NumberError::kSyntax) << text;
  EXPECT_EQ(parse_quotient("1/1e9999", number), NumberError::kTooLong);
}

TEST(VnnlibNumbers, FindsShortDecimals) {
  const mpq_class third(1, 3);
  EXPECT_EQ(decimal_between(third, third), third);
  EXPECT_EQ(decimal_between(third, mpq_class(1, 2)), mpq_class(2, 5));
  EXPECT_EQ(decimal_between(-third, third), 0);
  const mpq_class near = third + *read_exact_text("1e-40");
  const mpq_class found = decimal_between(third, near);
  EXPECT_TRUE(third < found && found < near);
  EXPECT_EQ(exact_text(found), "0." + std::string(39, '3') + "4");
}

}  // namespace
}  // namespace bf_aot::vnnlib
