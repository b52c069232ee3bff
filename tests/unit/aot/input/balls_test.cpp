#include "aot/input/balls.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace bf_aot::input {
namespace {

// Decimals and doubles that are no floats: centre and radius of each input.
struct Ball {
  std::vector<double> centre, radius;
};

Ball random_ball(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  Ball ball;
  const int inputs = 1 + static_cast<int>(random() % 40);
  const double size = std::ldexp(1.0, -static_cast<int>(random() % 12));
  for (int k = 0; k < inputs; ++k) {
    ball.centre.push_back(random() % 8 == 0 ? 0 : unit(random));
    ball.radius.push_back(random() % 8 == 0 ? 0 : size * (1 + unit(random) / 2));
  }
  return ball;
}

// The box of its exact ends, rounded outward, then widened. An input of width 0 is a float.
void box_of(Ball& ball, bool cross, std::vector<float>& lower, std::vector<float>& upper) {
  for (std::size_t k = 0; k < ball.centre.size(); ++k) {
    if (ball.radius[k] == 0)
      ball.centre[k] = static_cast<double>(static_cast<float>(ball.centre[k]));
    lower.push_back(to_float(sum(ball.centre[k], -ball.radius[k], false), false));
    upper.push_back(to_float(sum(ball.centre[k], ball.radius[k], true), true));
  }
  widen_for_ball(lower, upper, cross);
}

// Of x - c over half the width; more than 1: outside.
mpq_class size_in(const std::vector<mpq_class>& x, const std::vector<float>& lower,
                  const std::vector<float>& upper, bool cross) {
  mpq_class size;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const mpq_class centre = (mpq_class(lower[k]) + mpq_class(upper[k])) / 2;
    const mpq_class half = (mpq_class(upper[k]) - mpq_class(lower[k])) / 2;
    const mpq_class off = x[k] - centre;
    if (half == 0) {
      if (off != 0) return 2;
      continue;
    }
    const mpq_class share = abs(off) / half;
    size += cross ? share : mpq_class(share * share);
  }
  return size;
}

// A cross-polytope is the hull of its poles.
TEST(BallBoxes, HoldThePolesOfTheBall) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round)
    for (const bool cross : {false, true}) {
      Ball ball = random_ball(random);
      std::vector<float> lower, upper;
      box_of(ball, cross, lower, upper);
      for (std::size_t k = 0; k < ball.centre.size(); ++k)
        for (const int sign : {-1, 1}) {
          std::vector<mpq_class> pole(ball.centre.begin(), ball.centre.end());
          pole[k] += sign * mpq_class(ball.radius[k]);
          ASSERT_LE(size_in(pole, lower, upper, cross), 1) << round << ", " << k;
        }
    }
}

TEST(BallBoxes, HoldPointsOfTheEllipsoid) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 300; ++round) {
    Ball ball = random_ball(random);
    std::vector<float> lower, upper;
    box_of(ball, false, lower, upper);
    for (int p = 0; p < 10; ++p) {
      std::vector<double> direction(ball.centre.size());
      double squares = 0;
      for (double& each : direction) {
        each = normal(random);
        squares += each * each;
      }
      const mpq_class scale((1 - 0x1p-45) / std::sqrt(squares));
      std::vector<mpq_class> x(ball.centre.begin(), ball.centre.end());
      for (std::size_t k = 0; k < x.size(); ++k)
        x[k] += scale * mpq_class(direction[k]) * mpq_class(ball.radius[k]);
      ASSERT_LE(size_in(x, lower, upper, false), 1) << round;
    }
  }
}

TEST(BallBoxes, AreHardlyWider) {
  std::vector<float> lower(784, 0.2F), upper(784, 0.3F);
  widen_for_ball(lower, upper, false);
  EXPECT_GT(lower[0], 0.1999F);
  EXPECT_LT(upper[0], 0.3001F);
  std::vector<float> point = {0.25F}, same = point;
  widen_for_ball(point, same, true);
  EXPECT_EQ(point[0], 0.25F);
}

// An input that is thin beside the others is widened by its own share, which costs those little.
TEST(BallBoxes, ThinInputsLeaveOthersAlone) {
  std::vector<float> lower = {-1, 1}, upper = {1, 1 + 0x1p-23F};
  widen_for_ball(lower, upper, false);
  EXPECT_GT(lower[0], -1.01F);
  EXPECT_LT(upper[0], 1.01F);
  EXPECT_GT(lower[1], 0.99F);
  EXPECT_LT(upper[1], 1.01F);
}

// Inputs of all widths and sizes beside each other.
TEST(BallBoxes, HoldBallsOfMixedScales) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int round = 0; round < 300; ++round)
    for (const bool cross : {false, true}) {
      Ball ball = random_ball(random);
      for (std::size_t k = 0; k < ball.centre.size(); ++k) {
        ball.centre[k] *= std::ldexp(1.0, static_cast<int>(random() % 40) - 20);
        ball.radius[k] *= std::ldexp(1.0, -static_cast<int>(random() % 24));
      }
      std::vector<float> lower, upper;
      box_of(ball, cross, lower, upper);
      for (int p = 0; p < 10; ++p) {
        const std::size_t a = random() % ball.centre.size(), b = random() % ball.centre.size();
        // Both on the surface: 3/5 and 4/5 of an ellipsoid, or shares of a cross-polytope.
        const mpq_class share(cross ? 1 : 3, cross ? 4 : 5), rest(cross ? 3 : 4, cross ? 4 : 5);
        std::vector<mpq_class> x(ball.centre.begin(), ball.centre.end());
        x[a] += (a == b ? mpq_class(1) : share) * mpq_class(ball.radius[a]);
        if (a != b) x[b] -= rest * mpq_class(ball.radius[b]);
        ASSERT_LE(size_in(x, lower, upper, cross), 1) << round;
      }
    }
}

}  // namespace
}  // namespace bf_aot::input
