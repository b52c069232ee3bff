#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rounding_variants.h"  // made by CMakeLists.txt; the first has the build's own flags
#include "tests/runtime/exact.h"
#include "tests/runtime/rounding_variant.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define BF_DECLARE(name) extern "C" const bf_test::RoundingVariant bf_rounding_##name;
BF_ROUNDING_VARIANTS(BF_DECLARE)
#undef BF_DECLARE

namespace bf_test {
namespace {

constexpr std::size_t kRandomCount = 200'000;

std::vector<const RoundingVariant*> variants() {
#define BF_ADDRESS(name) &bf_rounding_##name,
  return {BF_ROUNDING_VARIANTS(BF_ADDRESS)};
#undef BF_ADDRESS
}

template <class Float>
using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

// Zeros, subnormals, both ends of the normal range, powers of two and their neighbours, infinities,
// a quiet NaN; each with both signs.
template <class Float>
std::vector<Float> special_values() {
  using Limits = std::numeric_limits<Float>;
  const Float infinity = Limits::infinity();
  std::vector<Float> values = {0,
                               infinity,
                               Limits::quiet_NaN(),
                               Limits::max(),
                               std::nextafter(Limits::max(), Float{0}),
                               Float{1} / 3,
                               Float{0.1}};
  // 2^least is the least subnormal, 2^normal the least normal number.
  const int least = Limits::min_exponent - Limits::digits, normal = Limits::min_exponent - 1;
  std::vector<int> exponents = {least,
                                least + 1,
                                normal - 1,
                                normal,
                                normal + 1,
                                -Limits::digits,
                                -1,
                                0,
                                1,
                                Limits::digits,
                                Limits::max_exponent - 1};
  for (int e = least + 2; e < Limits::max_exponent; e += 13) exponents.push_back(e);
  for (const int exponent : exponents) {
    const Float power = std::ldexp(Float{1}, exponent);
    values.insert(values.end(),
                  {power, std::nextafter(power, infinity), std::nextafter(power, -infinity)});
  }
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

template <class Float>
struct Pairs {
  std::vector<Float> a, b;
};

// All pairs of special values, then random bit patterns; of these one in four has equal exponents,
// so that sums cancel, and one in four a second value near 1, so that products stay in range.
template <class Float>
const Pairs<Float>& pairs() {
  static const Pairs<Float> result = [] {
    Pairs<Float> made;
    const std::vector<Float> special = special_values<Float>();
    for (const Float a : special) {
      for (const Float b : special) {
        made.a.push_back(a);
        made.b.push_back(b);
      }
    }
    std::mt19937_64 random(20240607);
    constexpr int kMantissa = std::numeric_limits<Float>::digits - 1;
    constexpr Bits<Float> kBias = std::numeric_limits<Float>::max_exponent - 1;
    constexpr Bits<Float> kExponent = (2 * kBias + 1) << kMantissa;  // the exponent field
    for (std::size_t i = 0; i < kRandomCount; ++i) {
      const auto a = static_cast<Bits<Float>>(random());
      auto b = static_cast<Bits<Float>>(random());
      if (i % 4 == 1) b = (b & ~kExponent) | (a & kExponent);
      if (i % 4 == 3) b = (b & ~kExponent) | ((kBias - 2 + b % 5) << kMantissa);
      made.a.push_back(std::bit_cast<Float>(a));
      made.b.push_back(std::bit_cast<Float>(b));
    }
    return made;
  }();
  return result;
}

enum class Side { kUp, kDown };

// Is `result` a bound on that side, at most two ulp away? Two steps inward from a tight one lie
// strictly on the other side of the exact value. What does not exist is bounded by an infinity.
template <class Float>
::testing::AssertionResult bounds(Float result, const Exact& exact, Side side) {
  const Float outward = side == Side::kUp ? std::numeric_limits<Float>::infinity()
                                          : -std::numeric_limits<Float>::infinity();
  if (std::isnan(result)) return ::testing::AssertionFailure() << "result is NaN";
  if (exact.undefined()) {
    if (result == outward) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "undefined, but the result is " << result;
  }
  const int sign = side == Side::kUp ? 1 : -1;
  if (sign * exact.compare_to(result) < 0) {
    return ::testing::AssertionFailure() << std::hexfloat << result << " is no bound";
  }
  const Float inner = std::nextafter(std::nextafter(result, -outward), -outward);
  if (inner != -outward && sign * exact.compare_to(inner) >= 0) {
    return ::testing::AssertionFailure() << std::hexfloat << result << " is loose";
  }
  return ::testing::AssertionSuccess();
}

template <class Float>
void expect_bounds(const char* operation, typename Primitives<Float>::Binary compute,
                   Exact (*exact)(double, double), Side side) {
  const Pairs<Float>& in = pairs<Float>();
  std::vector<Float> result(in.a.size());
  compute(in.a.data(), in.b.data(), result.data(), result.size());
  std::size_t failures = 0;
  for (std::size_t i = 0; i < result.size() && failures < 10; ++i) {
    const auto outcome = bounds(result[i], exact(in.a[i], in.b[i]), side);
    if (outcome) continue;
    ++failures;
    ADD_FAILURE() << operation << "(" << std::hexfloat << in.a[i] << ", " << in.b[i]
                  << "): " << outcome.message();
  }
}

Exact difference(double a, double b) {
  return Exact::sum(a, -b);
}

template <class Float>
const Primitives<Float>& primitives(const RoundingVariant& variant) {
  if constexpr (std::is_same_v<Float, float>) {
    return variant.on_float;
  } else {
    return variant.on_double;
  }
}

template <class Float>
class Rounding : public ::testing::Test {
 protected:
  const Primitives<Float>& tested = primitives<Float>(*variants().front());
};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Rounding, Floats);

TYPED_TEST(Rounding, NextIsTheNeighbour) {
  using Float = TypeParam;
  const std::vector<Float>& a = pairs<Float>().a;
  std::vector<Float> up(a.size()), down(a.size());
  this->tested.next_up(a.data(), up.data(), a.size());
  this->tested.next_down(a.data(), down.data(), a.size());
  const Float infinity = std::numeric_limits<Float>::infinity();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool nan = std::isnan(a[i]);
    ASSERT_EQ(up[i], nan ? infinity : std::nextafter(a[i], infinity)) << std::hexfloat << a[i];
    ASSERT_EQ(down[i], nan ? -infinity : std::nextafter(a[i], -infinity)) << std::hexfloat << a[i];
  }
}

TYPED_TEST(Rounding, Sums) {
  expect_bounds<TypeParam>("add_up", this->tested.add_up, Exact::sum, Side::kUp);
  expect_bounds<TypeParam>("add_down", this->tested.add_down, Exact::sum, Side::kDown);
}

TYPED_TEST(Rounding, Differences) {
  expect_bounds<TypeParam>("sub_up", this->tested.sub_up, difference, Side::kUp);
  expect_bounds<TypeParam>("sub_down", this->tested.sub_down, difference, Side::kDown);
}

TYPED_TEST(Rounding, Products) {
  expect_bounds<TypeParam>("mul_up", this->tested.mul_up, Exact::product, Side::kUp);
  expect_bounds<TypeParam>("mul_down", this->tested.mul_down, Exact::product, Side::kDown);
}

TYPED_TEST(Rounding, Quotients) {
  expect_bounds<TypeParam>("div_up", this->tested.div_up, Exact::quotient, Side::kUp);
  expect_bounds<TypeParam>("div_down", this->tested.div_down, Exact::quotient, Side::kDown);
}

TYPED_TEST(Rounding, ZerosStayZero) {
  using Float = TypeParam;
  const Float x[] = {0, Float{1.5}, -3, std::numeric_limits<Float>::denorm_min()};
  const Float zeros[4] = {};
  Float result[4];
  for (const auto& [compute, other] :
       {std::pair{this->tested.sub_up, x}, std::pair{this->tested.sub_down, x},
        std::pair{this->tested.mul_up, zeros}, std::pair{this->tested.mul_down, zeros}}) {
    compute(x, other, result, 4);
    for (const Float value : result) EXPECT_EQ(value, 0);
  }
}

// Contraction of the caller's own expressions must not break the bound.
TYPED_TEST(Rounding, ChainsBoundTheExactPolynomial) {
  using Float = TypeParam;
  const Pairs<Float>& in = pairs<Float>();
  for (const RoundingVariant* variant : variants()) {
    std::vector<Float> result(in.a.size());
    primitives<Float>(*variant).polynomial_up(in.a.data(), in.b.data(), result.data(),
                                              result.size());
    for (std::size_t i = 0; i < result.size(); i += 7) {
      const Exact exact = Exact::product_sum(in.a[i], in.b[i], in.a[i]);
      if (exact.undefined()) continue;
      ASSERT_GE(exact.compare_to(result[i]), 0)
          << variant->name << std::hexfloat << " " << in.a[i] << " " << in.b[i];
    }
  }
}

// IEEE arithmetic leaves no freedom: every compiler and every set of flags gives the same bits as
// the variant that the tests above compare with exact values.
TYPED_TEST(Rounding, EveryBuildGivesTheSameBits) {
  using Float = TypeParam;
  const Pairs<Float>& in = pairs<Float>();
  const std::size_t count = in.a.size();
  std::vector<Float> want(count), got(count);
  const auto expect_equal = [&](const RoundingVariant& variant, const char* operation) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::bit_cast<Bits<Float>>(want[i]), std::bit_cast<Bits<Float>>(got[i]))
          << variant.name << ": " << operation << std::hexfloat << " " << in.a[i] << " " << in.b[i];
    }
  };
  for (const RoundingVariant* variant : variants()) {
    const Primitives<Float>& other = primitives<Float>(*variant);
    this->tested.next_up(in.a.data(), want.data(), count);
    other.next_up(in.a.data(), got.data(), count);
    expect_equal(*variant, "next_up");
    this->tested.next_down(in.a.data(), want.data(), count);
    other.next_down(in.a.data(), got.data(), count);
    expect_equal(*variant, "next_down");
    using Table = Primitives<Float>;
    for (const auto& [operation, name] : {std::pair{&Table::add_up, "add_up"},
                                          {&Table::add_down, "add_down"},
                                          {&Table::sub_up, "sub_up"},
                                          {&Table::sub_down, "sub_down"},
                                          {&Table::mul_up, "mul_up"},
                                          {&Table::mul_down, "mul_down"},
                                          {&Table::div_up, "div_up"},
                                          {&Table::div_down, "div_down"},
                                          {&Table::polynomial_up, "polynomial_up"}}) {
      (this->tested.*operation)(in.a.data(), in.b.data(), want.data(), count);
      (other.*operation)(in.a.data(), in.b.data(), got.data(), count);
      expect_equal(*variant, name);
    }
  }
}

// Doubles of all magnitudes, around every border of the float range and on and beside the ties.
std::vector<double> narrowing_inputs() {
  std::vector<double> values = special_values<double>();
  for (const float value : special_values<float>()) {
    const double middle = (static_cast<double>(value) + std::nextafterf(value, INFINITY)) / 2;
    for (const double x : {static_cast<double>(value), middle}) {
      values.insert(values.end(), {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)});
    }
  }
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < kRandomCount; ++i) {
    const auto in_range = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    values.push_back(std::bit_cast<double>(random()));
    values.push_back(in_range * (1 + 0x1p-52 * static_cast<double>(random() >> 22)));
  }
  return values;
}

TEST(Narrowing, GivesTheNearestFloatOutward) {
  const std::vector<double> in = narrowing_inputs();
  std::vector<float> result(in.size());
  for (const RoundingVariant* variant : variants()) {
    variant->float_up(in.data(), result.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float up = result[i];
      ASSERT_TRUE(std::isnan(in[i]) ? up == INFINITY : up >= in[i]) << std::hexfloat << in[i];
      if (!std::isnan(in[i]) && up != -INFINITY) {
        ASSERT_LT(std::nextafterf(up, -INFINITY), in[i]) << std::hexfloat << in[i];
      }
    }
    variant->float_down(in.data(), result.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float down = result[i];
      ASSERT_TRUE(std::isnan(in[i]) ? down == -INFINITY : down <= in[i]) << std::hexfloat << in[i];
      if (!std::isnan(in[i]) && down != INFINITY) {
        ASSERT_GT(std::nextafterf(down, INFINITY), in[i]) << std::hexfloat << in[i];
      }
    }
  }
}

TEST(Narrowing, SaturatesOutward) {
  const double in[] = {1e39, -1e39, NAN, 0x1.fffffefffffffp127};
  const float up[] = {INFINITY, -FLT_MAX, INFINITY, INFINITY};
  const float down[] = {FLT_MAX, -INFINITY, -INFINITY, FLT_MAX};
  float result[4];
  variants().front()->float_up(in, result, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(result[i], up[i]) << in[i];
  variants().front()->float_down(in, result, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(result[i], down[i]) << in[i];
}

TEST(FloatEnvironment, IsAcceptedByDefault) {
  for (const RoundingVariant* variant : variants()) {
    EXPECT_TRUE(variant->float_environment_ok()) << variant->name;
  }
}

TEST(FloatEnvironment, DirectedRoundingIsRefused) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const RoundingVariant* variant : variants()) {
      ASSERT_EQ(std::fesetround(mode), 0);
      const bool ok = variant->float_environment_ok();
      std::fesetround(FE_TONEAREST);
      EXPECT_FALSE(ok) << variant->name << ", mode " << mode;
    }
  }
}

TEST(FloatEnvironment, FlushedSubnormalsAreRefused) {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned saved = _mm_getcsr();
  for (const unsigned flag : {kFlushToZero, kDenormalsAreZero}) {
    for (const RoundingVariant* variant : variants()) {
      _mm_setcsr(saved | flag);
      const bool ok = variant->float_environment_ok();
      _mm_setcsr(saved);
      EXPECT_FALSE(ok) << variant->name << ", flag " << flag;
    }
  }
#else
  GTEST_SKIP() << "how to flush subnormals is known here for x86 with SSE2 only";
#endif
}

// Exception flags and masks are the caller's business and say nothing about results.
TEST(FloatEnvironment, RaisedFlagsAreAccepted) {
  std::feraiseexcept(FE_INEXACT | FE_UNDERFLOW | FE_OVERFLOW | FE_DIVBYZERO);
  for (const RoundingVariant* variant : variants()) {
    EXPECT_TRUE(variant->float_environment_ok()) << variant->name;
  }
  std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace
}  // namespace bf_test
