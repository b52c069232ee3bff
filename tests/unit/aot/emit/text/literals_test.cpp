#include "aot/emit/text/literals.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace bf_aot::emit {
namespace {

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

void expect_same_float(float value) {
  const std::string text = float_literal(value);
  char* end = nullptr;
  EXPECT_EQ(bits(std::strtof(text.c_str(), &end)), bits(value)) << text;
  EXPECT_STREQ(end, "f") << text;
}

void expect_same_double(double value) {
  const std::string text = double_literal(value);
  char* end = nullptr;
  EXPECT_EQ(bits(std::strtod(text.c_str(), &end)), bits(value)) << text;
  EXPECT_STREQ(end, "") << text;
}

TEST(Literals, AreWrittenInHexadecimal) {
  EXPECT_EQ(float_literal(3.0F), "0x1.8p+1f");
  EXPECT_EQ(float_literal(0.0F), "0x0p+0f");
  EXPECT_EQ(float_literal(-0.0F), "-0x0p+0f");
  EXPECT_EQ(double_literal(-0.125), "-0x1p-3");
  EXPECT_EQ(double_literal(1 + 0x1p-52), "0x1.0000000000001p+0");
}

TEST(Literals, DenoteTheExactFloat) {
  using limits = std::numeric_limits<float>;
  for (const float value : {0.0F, 1.0F, 0.1F, 1.0F / 3, limits::max(), limits::min(),
                            limits::denorm_min(), 3 * limits::denorm_min(), 0x1.fffffcp-127F}) {
    expect_same_float(value);
    expect_same_float(-value);
  }
}

TEST(Literals, DenoteTheExactDouble) {
  using limits = std::numeric_limits<double>;
  for (const double value : {0.0, 1.0, 0.1, 1.0 / 3, limits::max(), limits::min(),
                             limits::denorm_min(), 5 * limits::denorm_min()}) {
    expect_same_double(value);
    expect_same_double(-value);
  }
}

TEST(Literals, DenoteRandomBitPatterns) {
  std::mt19937_64 random(20240611);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t pattern = random();
    const float narrow = std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
    const double wide = std::bit_cast<double>(pattern);
    if (narrow - narrow == 0) expect_same_float(narrow);
    if (wide - wide == 0) expect_same_double(wide);
  }
}

TEST(Literals, AreFinite) {
  EXPECT_DEATH(float_literal(std::numeric_limits<float>::infinity()), "isfinite");
  EXPECT_DEATH(double_literal(std::numeric_limits<double>::quiet_NaN()), "isfinite");
}

}  // namespace
}  // namespace bf_aot::emit
