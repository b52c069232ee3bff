#include "aot/decide/boxes/ball_part.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace bf_aot::decide {
namespace {

// A ball in a box, a part of the box, and a line over the part.
struct Scene {
  Scene(Norm of, unsigned seed) : norm(of), random(seed) {
    const std::size_t inputs = 1 + seed % 7;
    std::uniform_real_distribution<float> any(-2, 2), share(0, 1);
    for (std::size_t k = 0; k < inputs; ++k) {
      const float centre = any(random),
                  radius = seed % 5 == 0 && k == 1 ? 0 : 0.01F + share(random);
      whole.lower.push_back(centre - radius);
      whole.upper.push_back(centre + radius);
      const float a = share(random), b = share(random), width = 2 * radius;
      const bool small = share(random) < 0.5F;
      part.lower.push_back(
          std::min(whole.upper[k], whole.lower[k] + (small ? std::min(a, b) : 0) * width));
      part.upper.push_back(std::clamp(whole.lower[k] + (small ? std::max(a, b) : 1) * width,
                                      part.lower[k], whole.upper[k]));
      factors.push_back(any(random));
    }
  }

  double centre(std::size_t k) const {
    return static_cast<double>(whole.lower[k]) / 2 + static_cast<double>(whole.upper[k]) / 2;
  }
  double radius(std::size_t k) const {
    return static_cast<double>(whole.upper[k]) / 2 - static_cast<double>(whole.lower[k]) / 2;
  }

  // The exact distance of a point from the centre in the ball's norm, squared for l2.
  mpq_class distance(const std::vector<double>& x) const {
    mpq_class sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const mpq_class width = mpq_class(whole.upper[k]) - whole.lower[k];
      if (width == 0) continue;
      const mpq_class t =
          (2 * mpq_class(x[k]) - mpq_class(whole.lower[k]) - whole.upper[k]) / width;
      sum += norm == Norm::kSum ? mpq_class(abs(t)) : mpq_class(t * t);
    }
    return sum;
  }

  std::vector<double> nearest() const {
    std::vector<double> x;
    for (std::size_t k = 0; k < factors.size(); ++k)
      x.push_back(std::clamp(centre(k), static_cast<double>(part.lower[k]),
                             static_cast<double>(part.upper[k])));
    return x;
  }

  // The line at a point, exactly: from the end of the part at which it is least.
  mpq_class value(const std::vector<double>& x) const {
    mpq_class sum = kConstant;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float from = factors[k] > 0 ? part.lower[k] : part.upper[k];
      sum += mpq_class(factors[k]) * (mpq_class(x[k]) - from);
    }
    return sum;
  }

  // A point of ball and part at which the line is about least. Requires that nearest() is in the
  // ball.
  std::vector<double> lowest() const {
    return norm == Norm::kSum ? lowest_in_cross() : lowest_in_ellipsoid();
  }

  static constexpr double kConstant = 0.25;
  Norm norm;
  std::mt19937 random;
  input::FloatBox whole, part;
  std::vector<float> factors;

 private:
  // By the multiplier at which the ball is just met.
  std::vector<double> lowest_in_ellipsoid() const {
    const auto at = [&](double lambda) {
      std::vector<double> x;
      for (std::size_t k = 0; k < factors.size(); ++k)
        x.push_back(std::clamp(
            centre(k) - static_cast<double>(factors[k]) * radius(k) * radius(k) / (2 * lambda),
            static_cast<double>(part.lower[k]), static_cast<double>(part.upper[k])));
      return x;
    };
    double inside = 1e6, outside = 1e-9;
    if (distance(at(outside)) <= 1) return at(outside);
    for (int step = 0; step < 90; ++step) {
      const double middle = std::sqrt(inside * outside);
      (distance(at(middle)) <= 1 ? inside : outside) = middle;
    }
    return at(inside);
  }

  // What is left of the distance goes to the inputs by which a line falls most.
  std::vector<double> lowest_in_cross() const {
    std::vector<double> x = nearest();
    double left = 1 - distance(x).get_d();
    std::vector<std::size_t> order(factors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto fall = [&](std::size_t k) {
      return std::fabs(static_cast<double>(factors[k])) * radius(k);
    };
    std::ranges::sort(order, [&](std::size_t i, std::size_t k) { return fall(i) > fall(k); });
    for (const std::size_t k : order) {
      if (radius(k) == 0) continue;
      const double by = std::max(0.0, left - 1e-12) * radius(k);
      const double before = x[k];
      x[k] = std::clamp(factors[k] > 0 ? x[k] - by : x[k] + by, static_cast<double>(part.lower[k]),
                        static_cast<double>(part.upper[k]));
      left -= std::fabs(x[k] - before) / radius(k);
    }
    return x;
  }
};

class BallParts : public testing::TestWithParam<Norm> {};

TEST_P(BallParts, LinesAreBoundedByTheirLeastValue) {
  int met = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const Scene scene(GetParam(), seed);
    if (scene.distance(scene.nearest()) > 1) continue;
    const std::vector<double> x = scene.lowest();
    if (scene.distance(x) > 1) continue;
    ++met;
    const BallPart ball(scene.norm, scene.whole);
    const BoxLine line{scene.factors, Scene::kConstant};
    const double least = scene.value(x).get_d();
    const auto claims = [&](double limit) {
      return ball.is_at_least(line, scene.part.lower, scene.part.upper, limit);
    };
    EXPECT_FALSE(claims(least + 1e-15)) << seed;
    EXPECT_FALSE(claims(least + 1e-3)) << seed;
    EXPECT_TRUE(claims(least - 2e-3)) << seed;
  }
  EXPECT_GT(met, 300);
}

TEST_P(BallParts, ClippingKeepsTheBall) {
  int nothing = 0, less = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Scene scene(GetParam(), seed);
    const BallPart ball(scene.norm, scene.whole);
    input::FloatBox clipped = scene.part;
    const std::vector<double> nearest = scene.nearest();
    const mpq_class distance = scene.distance(nearest);
    if (!ball.clip(clipped.lower, clipped.upper)) {
      EXPECT_GT(distance, 1) << seed;
      ++nothing;
      continue;
    }
    EXPECT_LT(distance, mpq_class(1 + 1e-6)) << seed;
    less += !(clipped.lower == scene.part.lower && clipped.upper == scene.part.upper);
    // From the nearest point along each axis to the surface.
    for (std::size_t k = 0; k < nearest.size() && distance <= 1; ++k)
      for (const auto end : {scene.part.lower[k], scene.part.upper[k]}) {
        double inside = nearest[k], outside = static_cast<double>(end);
        std::vector<double> x = nearest;
        for (int step = 0; step < 30; ++step) {
          x[k] = outside;
          if (scene.distance(x) <= 1) inside = outside;
          x[k] = inside / 2 + outside / 2;
          (scene.distance(x) <= 1 ? inside : outside) = x[k];
        }
        EXPECT_LE(static_cast<double>(clipped.lower[k]), inside) << seed;
        EXPECT_GE(static_cast<double>(clipped.upper[k]), inside) << seed;
      }
  }
  EXPECT_GT(nothing, 0);
  EXPECT_GT(less, 20);
}

INSTANTIATE_TEST_SUITE_P(Norms, BallParts, testing::Values(Norm::kEuclid, Norm::kSum));

}  // namespace
}  // namespace bf_aot::decide
