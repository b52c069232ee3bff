#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "planner/reference/relaxation.h"

// The reference's lines around functions: on the right side, and the best that there are.
namespace bf_aot::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Whose domain is the whole line.
std::vector<Function> functions(bool piecewise_linear, std::vector<Function> list = {}) {
  for (const FunctionFacts& facts : function_facts()) {
    const Function f{facts.kind, facts.sample.a, facts.sample.b, facts.sample.c};
    if (is_piecewise_linear(f.kind) == piecewise_linear && lies_in(facts.domain(f), -kInf, kInf))
      list.push_back(f);
  }
  return list;
}

const std::vector<Function> kLinear = functions(true, {{FunctionKind::kClip, -kInf, 0.5},
                                                       {FunctionKind::kHardSigmoid, -0.5, 0.25},
                                                       {FunctionKind::kThresholdedRelu, 0.75},
                                                       {FunctionKind::kShrink, 0.5, 0.25}});
const std::vector<Function> kSmooth = functions(false);

// Intervals of many widths, some with ends on a grid where functions have their kinks.
std::pair<double, double> random_interval(std::mt19937& random) {
  const double scale = std::exp2(static_cast<int>(random() % 12) - 6);
  const auto number = [&] { return (static_cast<int>(random() % 257) - 128) / 32.0; };
  const double low = number(), high = low + std::fabs(number()) * scale;
  return {low, high};
}

template <typename Scalar>
void expect_around(const Function& f, const Relaxed<Scalar>& made, const Scalar& low,
                   const Scalar& high, const Scalar& close) {
  for (int i = 0; i <= 60; ++i) {
    const Scalar x = i == 60 ? high : Scalar(low + (high - low) * i / 60);
    const Scalar y = value_of(f, x);
    ASSERT_LE(y, made.slope_upper * x + made.intercept_upper + close) << to_string(f);
    ASSERT_GE(y, made.slope_lower * x + made.intercept_lower - close) << to_string(f);
    ASSERT_LE(y, made.high + close) << to_string(f);
    ASSERT_GE(y, made.low - close) << to_string(f);
  }
}

// Jumps that are left out of a long staircase make no corners of their own: the upper line is the
// hull's, whichever even numbers ties are rounded to.
TEST(ReferenceLines, OfLongStaircasesAreThoseOfAllJumps) {
  const Function round{FunctionKind::kRound, 1};
  const auto upper_at = [&](const mpq_class& low, const mpq_class& high, const mpq_class& x) {
    const Relaxed<mpq_class> made = relax_function(round, low, high);
    return mpq_class(made.slope_upper * x + made.intercept_upper);
  };
  const auto tenths = [](int n) -> mpq_class { return mpq_class(n) / 10; };
  EXPECT_EQ(upper_at(tenths(-12), tenths(48), tenths(18)), tenths(23));
  EXPECT_EQ(upper_at(tenths(12), tenths(68), 4), tenths(45));
}

TEST(ReferenceLines, OfLinearPiecesAreExactlyAround) {
  std::mt19937 random(1);
  for (const Function& f : kLinear)
    for (int i = 0; i < 100; ++i) {
      const auto [l, u] = random_interval(random);
      const mpq_class low(l), high(u);
      expect_around<mpq_class>(f, relax_function(f, low, high), low, high, 0);
    }
}

TEST(ReferenceLines, OfLinearPiecesAreTheSameInDouble) {
  std::mt19937 random(2);
  for (const Function& f : kLinear)
    for (int i = 0; i < 100; ++i) {
      const auto [l, u] = random_interval(random);
      const Relaxed<double> a = relax_function(f, l, u);
      const Relaxed<mpq_class> b = relax_function(f, mpq_class(l), mpq_class(u));
      EXPECT_NEAR(a.low, b.low.get_d(), 1e-12);
      EXPECT_NEAR(a.high, b.high.get_d(), 1e-12);
      const double middle = (l + u) / 2;
      const mpq_class upper = b.slope_upper * mpq_class(middle) + b.intercept_upper;
      const mpq_class lower = b.slope_lower * mpq_class(middle) + b.intercept_lower;
      EXPECT_NEAR(a.slope_upper * middle + a.intercept_upper, upper.get_d(), 1e-11) << to_string(f);
      EXPECT_NEAR(a.slope_lower * middle + a.intercept_lower, lower.get_d(), 1e-11) << to_string(f);
    }
}

TEST(ReferenceLines, OfLinearPiecesByHand) {
  const auto lines = [](FunctionKind kind, double a, double b, mpq_class low, mpq_class high) {
    return relax_function(Function{kind, a, b}, low, high);
  };
  // floor on [1/2, 5/2]: corners (1/2, 0), (1, 0 | 1), (2, 1 | 2), (5/2, 2). The upper hull is
  // (1/2, 0), (1, 1), (2, 2), (5/2, 2); the lower one (1/2, 0), (1, 0), (2, 1), (5/2, 2).
  Relaxed<mpq_class> made = lines(FunctionKind::kFloor, 0, 0, mpq_class(1, 2), mpq_class(5, 2));
  EXPECT_EQ(made.slope_upper, 1);
  EXPECT_EQ(made.intercept_upper, 0);
  EXPECT_EQ(made.slope_lower, 1);
  EXPECT_EQ(made.intercept_lower, -1);
  EXPECT_EQ(made.low, 0);
  EXPECT_EQ(made.high, 2);
  // sign on [-1, 3]: above, from (-1, -1) over (0, 1): 1 at the middle. Below, (0, -1) to (3, 1).
  made = lines(FunctionKind::kSign, 0, 0, -1, 3);
  EXPECT_EQ(made.slope_upper, 0);
  EXPECT_EQ(made.intercept_upper, 1);
  EXPECT_EQ(made.slope_lower, mpq_class(2, 3));
  EXPECT_EQ(made.intercept_lower, -1);
  // On [0, 1] sign is 0, then 1: the line below reaches (0, 0) and (1, 1).
  made = lines(FunctionKind::kSign, 0, 0, 0, 1);
  EXPECT_EQ(made.slope_lower, 1);
  EXPECT_EQ(made.intercept_lower, 0);
  // A kink in the middle: the left edge.
  made = lines(FunctionKind::kAbs, 0, 0, -1, 1);
  EXPECT_EQ(made.slope_upper, 0);
  EXPECT_EQ(made.intercept_upper, 1);
  EXPECT_EQ(made.slope_lower, -1);
  // Far more steps than are looked at.
  made = lines(FunctionKind::kRound, 0.5, 0, 0, 1000);
  EXPECT_EQ(made.slope_upper, 2);
  EXPECT_EQ(made.intercept_upper, mpq_class(1, 2));
  EXPECT_EQ(made.intercept_lower, mpq_class(-1, 2));
}

TEST(ReferenceLines, ReluIsTheMethodsAdaptiveRule) {
  for (int low = -9; low <= 9; ++low)
    for (int high = low; high <= 9; ++high) {
      const Relaxed<mpq_class> made = relax_relu(mpq_class(low), mpq_class(high));
      const Function f{FunctionKind::kLeakyRelu, 0, 0};
      expect_around<mpq_class>(f, made, low, high, 0);
      if (low == high) continue;
      const Relaxed<mpq_class> best = relax_function(f, mpq_class(low), mpq_class(high));
      EXPECT_EQ(made.slope_upper, best.slope_upper);
      EXPECT_EQ(made.intercept_upper, best.intercept_upper);
      EXPECT_EQ(made.slope_lower, best.slope_lower);
    }
}

TEST(ReferenceLines, OfSmoothFunctionsAreAround) {
  std::mt19937 random(3);
  for (const Function& f : kSmooth)
    for (int i = 0; i < 60; ++i) {
      const auto [low, high] = random_interval(random);
      const Relaxed<double> made = relax_function(f, low, high);
      const double size = std::max({1.0, std::fabs(made.low), std::fabs(made.high)});
      expect_around<double>(f, made, low, high, 1e-10 * size);
    }
}

// In the middle no line can be nearer than the chords' envelope of very many points.
TEST(ReferenceLines, OfSmoothFunctionsAreTheBest) {
  std::mt19937 random(4);
  for (const Function& f : kSmooth)
    for (int i = 0; i < 15; ++i) {
      const auto [low, high] = random_interval(random);
      const Relaxed<double> made = relax_function(f, low, high);
      const double middle = (low + high) / 2;
      double above = evaluate(f, middle), below = above;
      for (int a = 0; a <= 200; ++a)
        for (int b = 0; b <= 200; ++b) {
          const double x = low + (middle - low) * a / 200, y = high - (high - middle) * b / 200;
          if (x == y) continue;
          const double part = (middle - x) / (y - x);
          const double chord = (1 - part) * evaluate(f, x) + part * evaluate(f, y);
          above = std::max(above, chord);
          below = std::min(below, chord);
        }
      const double distance = above - below;
      const double size = std::max({1.0, std::fabs(made.low), std::fabs(made.high)});
      EXPECT_LE(made.slope_upper * middle + made.intercept_upper,
                above + 2e-3 * distance + 1e-10 * size)
          << to_string(f) << " " << low << " " << high;
      EXPECT_GE(made.slope_lower * middle + made.intercept_lower,
                below - 2e-3 * distance - 1e-10 * size)
          << to_string(f) << " " << low << " " << high;
    }
}

TEST(ReferenceLines, RangesReachTheExtremes) {
  const Relaxed<double> sine = relax_function({FunctionKind::kSin, 0, 0}, 0.0, 3.0);
  EXPECT_NEAR(sine.high, 1, 1e-12);
  EXPECT_NEAR(sine.low, 0, 1e-12);
  EXPECT_EQ(relax_function({FunctionKind::kCos, 0, 0}, -1e6, 1e6).low, -1);
  EXPECT_NEAR(relax_function({FunctionKind::kGelu, 0, 0}, -5.0, 5.0).low, -0.16997120747990369,
              1e-12);
  EXPECT_NEAR(relax_function({FunctionKind::kSigmoid, 0, 0}, -1000.0, 1000.0).high, 1, 1e-12);
}

TEST(ReferenceLines, OnAPointTheyMeetTheValue) {
  for (const Function& f : kSmooth) {
    const Relaxed<double> made = relax_function(f, 0.75, 0.75);
    EXPECT_EQ(made.low, evaluate(f, 0.75));
    EXPECT_EQ(made.high, made.low);
    EXPECT_NEAR(made.slope_upper * 0.75 + made.intercept_upper, made.low, 1e-12);
    EXPECT_NEAR(made.slope_lower * 0.75 + made.intercept_lower, made.low, 1e-12);
  }
}

TEST(ReferenceLines, NothingIsKnownOutsideOfADomain) {
  const auto known = [](FunctionKind kind, double a, double low, double high) {
    const Relaxed<double> made = relax_function({kind, a, 0}, low, high);
    return std::isfinite(made.low) && std::isfinite(made.high);
  };
  EXPECT_TRUE(known(FunctionKind::kLog, 0, 0.5, 2));
  EXPECT_FALSE(known(FunctionKind::kLog, 0, 0, 2));
  EXPECT_TRUE(known(FunctionKind::kSqrt, 0, 0, 2));
  EXPECT_FALSE(known(FunctionKind::kSqrt, 0, -0.5, 2));
  EXPECT_TRUE(known(FunctionKind::kReciprocal, 0, -2, -1));
  EXPECT_FALSE(known(FunctionKind::kReciprocal, 0, -1, 2));
  EXPECT_TRUE(known(FunctionKind::kPower, 2, -1, 2));
  EXPECT_FALSE(known(FunctionKind::kPower, -2, -1, 2));
  EXPECT_FALSE(known(FunctionKind::kPower, 0.5, -1, 2));
  EXPECT_TRUE(known(FunctionKind::kTan, 0, -1.5, 1.5));
  EXPECT_FALSE(known(FunctionKind::kTan, 0, 1, 2));
  EXPECT_FALSE(known(FunctionKind::kAcos, 0, 0, 1.5));
  EXPECT_FALSE(known(FunctionKind::kAcosh, 0, 0.5, 2));
  EXPECT_FALSE(known(FunctionKind::kAtanh, 0, -1, 0));
  EXPECT_FALSE(known(FunctionKind::kExp, 0, 0, 1000));
  EXPECT_FALSE(known(FunctionKind::kAbs, 0, -kInf, 1));
}

TEST(ReferenceLines, BoundedFunctionsAreBoundedEverywhere) {
  const auto expect = [](const Function& f, double low, double high, double least, double most) {
    const Relaxed<double> made = relax_function(f, low, high);
    EXPECT_NEAR(made.low, least, 1e-12) << to_string(f);
    if (std::isinf(most))
      EXPECT_EQ(made.high, most) << to_string(f);
    else
      EXPECT_NEAR(made.high, most, 1e-12) << to_string(f);
    EXPECT_EQ(made.slope_lower, 0);
    EXPECT_EQ(made.intercept_lower, made.low);
    EXPECT_EQ(made.intercept_upper, made.high);
  };
  expect({FunctionKind::kClip, 0, 1}, -kInf, kInf, 0, 1);
  expect({FunctionKind::kSigmoid, 0, 0}, -kInf, 0, 0, 0.5);
  expect({FunctionKind::kTanh, 0, 0}, -kInf, kInf, -1, 1);
  expect({FunctionKind::kExp, 0, 0}, -kInf, 0, 0, 1);
  expect({FunctionKind::kExp, 0, 0}, 0, kInf, 1, kInf);
  expect({FunctionKind::kAbs, 0, 0}, -kInf, 1, 0, kInf);
  expect({FunctionKind::kReciprocal, 0, 0}, 2, kInf, 0, 0.5);
  expect({FunctionKind::kSin, 0, 0}, -kInf, kInf, -1, 1);
}

// Unrounded bounds of a point: the lower one may lie an ulp above the upper one.
TEST(ReferenceLines, EndsThatHaveCrossedAreTakenInOrder) {
  for (const std::vector<Function>& kind : {kLinear, kSmooth})
    for (const Function& f : kind)
      for (const double x : {-0.75, 0.25, 0.5, 1.5}) {
        const double above = std::nextafter(x, 2);
        const Relaxed<double> crossed = relax_function(f, above, x);
        const Relaxed<double> ordered = relax_function(f, x, above);
        EXPECT_EQ(crossed.low, ordered.low) << to_string(f);
        EXPECT_EQ(crossed.high, ordered.high) << to_string(f);
      }
}

}  // namespace
}  // namespace bf_aot::reference
