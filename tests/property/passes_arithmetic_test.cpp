#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <iterator>

#include "frontend/numbers/exact_arithmetic.h"
#include "tests/property/passes_exact.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"

namespace bf_aot {
namespace {

using testing::covers;
using testing::pick;
using testing::Random;

// Numbers that make trouble: of few and of many bits, equal and far exponents, subnormals, zeros.
class ExactArithmetic : public ::testing::Test {
 protected:
  ExactArithmetic() : seed_(testing::seed_from_environment(20240611)), random_(seed_) {
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    family_ = 0;
  }

  // A new range of exponents: tests stay within one for some numbers, so that sums meet.
  void change_family() { family_ = pick(random_, 0, 5); }

  double number() {
    switch (family_) {
      case 0:
        return pick(random_, -9, 9);
      case 1:
        return static_cast<float>(mantissa());
      case 2:
        return std::ldexp(mantissa(), pick(random_, -60, 60));
      case 3:
        return std::ldexp(mantissa(), pick(random_, -1074, -480));  // products underflow
      case 4:
        return std::ldexp(mantissa(), pick(random_, -1074, -1000));  // subnormal
      default:
        return std::ldexp(mantissa(), pick(random_, -540, 500));
    }
  }

  double mantissa() {
    const double x = std::uniform_real_distribution<double>(-1, 1)(random_);
    return pick(random_, 0, 2) == 0 ? std::ldexp(std::round(std::ldexp(x, 6)), -6) : x;
  }

  double error_of(double x) {
    return pick(random_, 0, 2) == 0 ? 0 : std::fabs(x) * std::ldexp(1, pick(random_, -60, -20));
  }

  Bounded bounded() {
    const double x = number();
    return {x, error_of(x)};
  }

  // Any of the numbers that x stands for.
  mpq_class member(const Bounded& x) {
    return mpq_class(x.value) + mpq_class(x.error) * mpq_class(pick(random_, -4, 4), 4);
  }

  std::uint64_t seed_;
  Random random_;
  int family_;
};

constexpr int kCases = 40'000;

TEST_F(ExactArithmetic, TwoSumIsExact) {
  for (int i = 0; i < kCases; ++i) {
    change_family();
    const double a = number();
    const double b = number();
    const DoublePair sum = two_sum(a, b);
    ASSERT_EQ(mpq_class(sum.high) + mpq_class(sum.low), mpq_class(a) + mpq_class(b));
    ASSERT_EQ(sum.high, a + b);
  }
}

TEST_F(ExactArithmetic, UpwardOperationsAreUpperAndClose) {
  for (int i = 0; i < kCases; ++i) {
    change_family();
    const double a = std::fabs(number());
    const double b = std::fabs(number());
    const mpq_class sum = mpq_class(a) + mpq_class(b);
    ASSERT_GE(mpq_class(add_up(a, b)), sum);
    ASSERT_LE(add_up(a, b), next_up(a + b));
    ASSERT_GE(mpq_class(mul_up(a, b)), mpq_class(a) * mpq_class(b));
    ASSERT_LE(mul_up(a, b), next_up(a * b));
    if (b == 0 || !std::isfinite(a / b)) continue;
    ASSERT_GE(mpq_class(div_up(a, b)), mpq_class(a) / mpq_class(b));
  }
  EXPECT_EQ(next_up(0.0), 0x1p-1074);
  EXPECT_EQ(next_up(-0.0), 0x1p-1074);
  EXPECT_EQ(next_up(1.0), 1 + 0x1p-52);
  EXPECT_EQ(next_up(INFINITY), INFINITY);
  EXPECT_EQ(next_up(0x1.fffffffffffffp1023), INFINITY);
}

// Sums and products of numbers that carry errors, for members of what they stand for.
TEST_F(ExactArithmetic, SumCoversTheExactSum) {
  for (int i = 0; i < kCases; ++i) {
    change_family();
    const bool carry = pick(random_, 0, 1) == 0;
    Sum sum;
    mpq_class exact;
    for (int terms = pick(random_, 1, 12); terms > 0; --terms) {
      const Bounded a = carry ? bounded() : Bounded{number(), 0};
      const Bounded b = carry ? bounded() : Bounded{number(), 0};
      if (pick(random_, 0, 2) == 0) {
        sum.add(a);
        exact += member(a);
      } else {
        sum.add_product(a, b);
        exact += member(a) * member(b);
      }
    }
    ASSERT_TRUE(covers(sum.result(), exact)) << "case " << i << " family " << family_;
  }
}

// The bound must not be idle: without incoming errors, a sum loses about what rounding its exact
// value loses, plus what twice the precision loses.
TEST_F(ExactArithmetic, SumIsAccurate) {
  for (int i = 0; i < kCases; ++i) {
    family_ = pick(random_, 0, 2);
    Sum sum;
    mpq_class magnitude;
    for (int terms = 12; terms > 0; --terms) {
      const double a = number();
      const double b = number();
      sum.add_product(a, b);
      magnitude += abs(mpq_class(a) * mpq_class(b));
    }
    const Bounded result = sum.result();
    const mpq_class allowed =
        abs(mpq_class(result.value)) * mpq_class(0x1p-53) + magnitude * mpq_class(0x1p-96);
    ASSERT_LE(mpq_class(result.error), allowed);
  }
}

// Where the exact result is a double, no error is claimed.
TEST_F(ExactArithmetic, ExactResultsStayExact) {
  for (int i = 0; i < kCases; ++i) {
    change_family();
    const double a = number();
    const double b = number();
    const mpq_class product = mpq_class(a) * mpq_class(b);
    if (mpq_class(a * b) == product) {
      ASSERT_EQ(multiply({a, 0}, {b, 0}), (Bounded{a * b, 0}));
    }
    ASSERT_EQ(multiply({a, 0}, {1, 0}), (Bounded{a, 0}));
    const mpq_class sum = mpq_class(a) + mpq_class(b);
    if (mpq_class(a + b) == sum) {
      ASSERT_EQ(add({a, 0}, {b, 0}), (Bounded{a + b, 0}));
    }
    const double third = (3 * a) / 3;
    const bool divides = mpq_class(third) * 3 == mpq_class(3 * a);
    if (family_ >= 3) continue;  // beyond: may claim an error where there is none
    ASSERT_EQ(divide({3 * a, 0}, {3, 0}).error == 0, divides);
  }
}

TEST_F(ExactArithmetic, IntegerSumsStayExact) {
  for (int i = 0; i < kCases; ++i) {
    Sum sum;
    double exact = 0;
    for (int terms = 20; terms > 0; --terms) {
      const double a = pick(random_, -1000, 1000);
      const double b = pick(random_, -1000, 1000);
      sum.add_product(a, b);
      exact += a * b;
    }
    ASSERT_EQ(sum.result(), (Bounded{exact, 0}));
  }
}

// Residuals cancel: 2^80 + 1 - 2^80 = 1, found exactly.
TEST_F(ExactArithmetic, CancellationStaysExact) {
  Sum sum;
  for (double x : {0x1p80, 1.0, -0x1p80}) sum.add(x);
  EXPECT_EQ(sum.result(), (Bounded{1, 0}));
}

TEST_F(ExactArithmetic, QuotientCoversTheExactQuotient) {
  int divided = 0;
  for (int i = 0; i < kCases; ++i) {
    change_family();
    const Bounded a = bounded();
    const Bounded b = bounded();
    if (!can_divide_by(b)) continue;
    const Bounded quotient = divide(a, b);
    if (!std::isfinite(quotient.value) || !std::isfinite(quotient.error)) continue;
    ASSERT_TRUE(covers(quotient, member(a) / member(b))) << "case " << i;
    ++divided;
  }
  EXPECT_GT(divided, kCases / 2);
}

TEST_F(ExactArithmetic, DivisionByWhatMayBeZeroIsRefused) {
  EXPECT_FALSE(can_divide_by({0, 0}));
  EXPECT_FALSE(can_divide_by({1, 1}));
  EXPECT_FALSE(can_divide_by({-1, 2}));
  EXPECT_TRUE(can_divide_by({-1, 0.5}));
  EXPECT_TRUE(can_divide_by({0x1p-1074, 0}));
}

TEST_F(ExactArithmetic, ReluCoversTheExactRelu) {
  for (int i = 0; i < kCases; ++i) {
    Bounded x = {std::ldexp(number(), pick(random_, -3, 3)), 0};
    x.error = std::fabs(x.value) * std::ldexp(1, pick(random_, -4, 2));
    const mpq_class r = member(x);
    ASSERT_TRUE(covers(relu(x), r > 0 ? r : mpq_class()));
  }
  EXPECT_EQ(relu({-1, 1}), (Bounded{0, 0}));
  EXPECT_EQ(relu({-1, 2}), (Bounded{0, 2}));
  EXPECT_EQ(relu({1, 2}), (Bounded{1, 2}));
}

// Results that leave the range of doubles must be seen, not wrapped into finite ones.
TEST_F(ExactArithmetic, OverflowIsNotFinite) {
  const double huge = 0x1.fffffffffffffp1023;
  const auto is_finite = [](const Bounded& x) {
    return std::isfinite(x.value) && std::isfinite(x.error);
  };
  EXPECT_FALSE(is_finite(multiply({huge, 0}, {2, 0})));
  EXPECT_FALSE(is_finite(add({huge, 0}, {huge, 0})));
  EXPECT_FALSE(is_finite(divide({huge, 0}, {0.5, 0})));
  EXPECT_FALSE(is_finite(divide({1, 0}, {1, std::nextafter(1.0, 0.0)})) &&
               divide({1, 0}, {1, std::nextafter(1.0, 0.0)}).error < 0x1p52);
  Sum sum;
  sum.add(huge);
  sum.add(huge);
  sum.add(-huge);
  EXPECT_FALSE(is_finite(sum.result()));
}

}  // namespace
}  // namespace bf_aot
