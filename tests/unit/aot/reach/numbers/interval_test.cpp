#include "aot/reach/numbers/interval.h"

#include <gmpxx.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <random>
#include <vector>

#include "frontend/functions/function.h"
#include "tests/seed.h"

namespace bf_aot::reach {
namespace {

using Routine = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// Whether the value at x, by 300 bits, lies in the range, whose ends are doubles.
bool holds(const Range& range, Routine routine, double x) {
  mpfr_t value;
  mpfr_init2(value, 300);
  mpfr_set_d(value, x, MPFR_RNDN);
  routine(value, value, MPFR_RNDN);
  const bool inside = mpfr_cmp_d(value, range.low) >= 0 && mpfr_cmp_d(value, range.high) <= 0;
  mpfr_clear(value);
  return inside;
}

int logistic(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t) {
  mpfr_neg(to, x, MPFR_RNDN);
  mpfr_exp(to, to, MPFR_RNDN);
  mpfr_add_ui(to, to, 1, MPFR_RNDN);
  return mpfr_ui_div(to, 1, to, MPFR_RNDN);
}

TEST(ReachRange, FunctionsHoldTheirValues) {
  std::mt19937_64 random(testing::seed_from_environment(29));
  const std::vector<std::pair<FunctionKind, Routine>> functions = {
      {FunctionKind::kSin, mpfr_sin},   {FunctionKind::kCos, mpfr_cos},
      {FunctionKind::kExp, mpfr_exp},   {FunctionKind::kTanh, mpfr_tanh},
      {FunctionKind::kAtan, mpfr_atan}, {FunctionKind::kSigmoid, logistic}};
  for (const auto& [kind, routine] : functions)
    for (int trial = 0; trial < 2000; ++trial) {
      const double scale = std::ldexp(1.0, static_cast<int>(random() % 12) - 6);
      std::uniform_real_distribution<double> place(-scale, scale);
      const double a = place(random), b = trial % 3 == 0 ? a : place(random);
      const Range x = {std::min(a, b), std::max(a, b)};
      const Range y = apply(Function{kind}, x);
      for (int k = 0; k <= 8; ++k)
        EXPECT_TRUE(holds(y, routine, std::min(x.high, x.low + (x.high - x.low) * (k / 8.0))))
            << name_of(kind) << " on [" << x.low << ", " << x.high << "] at " << k;
    }
}

TEST(ReachRange, WavesTurnWhereTheyDo) {
  EXPECT_EQ(apply(Function{FunctionKind::kSin}, {1, 2}).high, 1);
  EXPECT_LT(apply(Function{FunctionKind::kSin}, {0, 1.5}).high, 1);
  EXPECT_EQ(apply(Function{FunctionKind::kCos}, {3, 3.2}).low, -1);
  EXPECT_EQ(apply(Function{FunctionKind::kCos}, {-1, 1}).high, 1);
}

TEST(ReachRange, OperationsHoldExactResults) {
  std::mt19937_64 random(testing::seed_from_environment(29));
  std::uniform_real_distribution<double> place(-3, 3);
  const auto inside = [](const Range& range, const mpq_class& x) {
    return mpq_class(range.low) <= x && x <= mpq_class(range.high);
  };
  for (int trial = 0; trial < 20000; ++trial) {
    double ends[4];
    for (double& end : ends) end = std::ldexp(place(random), static_cast<int>(random() % 20) - 10);
    const Range a = {std::min(ends[0], ends[1]), std::max(ends[0], ends[1])};
    const Range b = {std::min(ends[2], ends[3]), std::max(ends[2], ends[3])};
    for (const double x : {a.low, a.middle(), a.high})
      for (const double y : {b.low, b.middle(), b.high}) {
        const mpq_class p(x), q(y);
        EXPECT_TRUE(inside(a + b, p + q));
        EXPECT_TRUE(inside(a - b, p - q));
        EXPECT_TRUE(inside(a * b, p * q));
        EXPECT_TRUE(inside(square(a), p * p));
        const Range ratio = a / b;
        EXPECT_TRUE(!ratio.is_finite() || inside(ratio, p / q));
      }
  }
}

TEST(ReachRange, WhatIsUndefinedIsEverything) {
  EXPECT_EQ(Range({1, 2}) / Range({-1, 1}), kEverything);
  EXPECT_EQ(apply(Function{FunctionKind::kLog}, {0, 1}), kEverything);
  EXPECT_EQ(apply(Function{FunctionKind::kSqrt}, {-1, 1}), kEverything);
  EXPECT_EQ(kEverything - kEverything, kEverything);
}

}  // namespace
}  // namespace bf_aot::reach
