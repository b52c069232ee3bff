// Steps and tubes of disturbances that change at any time, beside runs whose disturbance jumps.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "aot/reach/tube/deviation.h"
#include "aot/reach/tube/validated_step.h"
#include "tests/seed.h"

namespace bf_aot::reach {
namespace {

using Kind = ScalarStep::Kind;

// x0' = x1, x1' = -sin(x0) - x1 + w (2 + x0) / 2.
ScalarProgram pendulum() {
  ScalarProgram made;
  made.inputs = 3;
  const std::size_t x0 = made.input(0), x1 = made.input(1), w = made.input(2);
  const std::size_t sine = made.add({Kind::kFunction, x0, 0, {}, {FunctionKind::kSin}});
  const std::size_t zero = made.constant({0, 0}), two = made.constant({2, 0});
  const std::size_t sum = made.add({Kind::kAdd, sine, x1, {}, {}});
  const std::size_t pull = made.add({Kind::kSubtract, zero, sum, {}, {}});
  const std::size_t gain = made.add({Kind::kAdd, two, x0, {}, {}});
  const std::size_t push = made.add({Kind::kMultiply, w, gain, {}, {}});
  const std::size_t half = made.add({Kind::kDivide, push, two, {}, {}});
  made.outputs = {x1, made.add({Kind::kAdd, pull, half, {}, {}})};
  return made;
}

using State = std::vector<double>;

State slope(const State& x, double w) {
  return {x[1], -std::sin(x[0]) - x[1] + w * (2 + x[0]) / 2};
}

State plus(const State& x, const State& d, double by) {
  return {x[0] + by * d[0], x[1] + by * d[1]};
}

void advance(State& x, double w, double h) {
  const State a = slope(x, w), b = slope(plus(x, a, h / 2), w), c = slope(plus(x, b, h / 2), w),
              d = slope(plus(x, c, h), w);
  for (std::size_t i = 0; i < 2; ++i) x[i] += h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
}

constexpr double kMost = 0.25, kSeconds = 0.1;

ValidatedStep step_of(const State& x, double h) {
  const std::vector<Form> state = {form_of(Bounded{x[0], 0}), form_of(Bounded{x[1], 0})};
  const auto made = validated_step(pendulum(), state, {form_of(Bounded{0, 0})}, {h, 0}, 5, 2,
                                   {Range{-kMost, kMost}});
  EXPECT_TRUE(made);
  return *made;
}

TEST(Changing, StepsHoldRunsThatJump) {
  std::mt19937_64 random(testing::seed_from_environment(77));
  std::uniform_real_distribution<double> place(-1, 1);
  for (int trial = 0; trial < 300; ++trial) {
    const State start = {2 * place(random), place(random)};
    const ValidatedStep step = step_of(start, kSeconds);
    State x = start;
    // The extreme values first, then any; 1 to 16 pieces of the step.
    const int pieces = 1 << (trial % 5);
    for (int piece = 0; piece < pieces; ++piece) {
      const double w =
          trial % 3 == 0 ? kMost * place(random) : kMost * ((piece + trial) % 2 == 0 ? 1 : -1);
      for (int part = 0; part < 8; ++part) {
        advance(x, w, kSeconds / pieces / 8);
        for (std::size_t i = 0; i < 2; ++i)
          ASSERT_TRUE(range_of(step.during[i]).contains(x[i])) << trial;
      }
    }
    for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(range_of(step.end[i]).contains(x[i])) << trial;
  }
}

// Held at an end for the whole step, a run comes near the bound: the bound is no mere guess.
TEST(Changing, BoundsAreNear) {
  const ValidatedStep step = step_of({0.5, 0}, kSeconds);
  State high = {0.5, 0}, low = {0.5, 0};
  for (int part = 0; part < 16; ++part) {
    advance(high, kMost, kSeconds / 16);
    advance(low, -kMost, kSeconds / 16);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Range range = range_of(step.end[i]);
    EXPECT_LT(range.high - range.low, (i == 0 ? 3 : 1.3) * (high[i] - low[i]));
  }
}

TEST(Changing, NothingVariesWhereRadiiAreZero) {
  const auto apart = deviation(pendulum(), {{-1, 1}, {-1, 1}}, {{0.1, 0.1}}, {0}, 0.5);
  ASSERT_TRUE(apart);
  EXPECT_EQ(*apart, (std::vector<double>{0, 0}));
}

TEST(Changing, LongStepsHaveNoBound) {
  EXPECT_FALSE(deviation(pendulum(), {{-1, 1}, {-1, 1}}, {{-1, 1}}, {1}, 100));
}

}  // namespace
}  // namespace bf_aot::reach
