// Enclosures of the zeros of polynomials.

#include "frontend/functions/composite/roots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace bf_aot {
namespace {

// The product of x - r over the roots, exactly.
std::vector<Interval> with_roots(const std::vector<double>& roots) {
  std::vector<Interval> powers = {Interval(1)};
  for (const double root : roots) {
    std::vector<Interval> next(powers.size() + 1);
    for (std::size_t k = 0; k < powers.size(); ++k) {
      next[k + 1] = next[k + 1] + powers[k];
      next[k] = next[k] - Interval(root) * powers[k];
    }
    powers = std::move(next);
  }
  return powers;
}

constexpr double kEverywhere = HUGE_VAL;

TEST(Roots, AllAreEnclosedAndNoMore) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> roots;
    const int count = 1 + static_cast<int>(random() % 5);
    for (int i = 0; i < count; ++i)  // often equal
      roots.push_back((static_cast<double>(random() % 33) - 16) / 3);
    const auto found = roots_between(with_roots(roots), -kEverywhere, kEverywhere, 0x1p20);
    ASSERT_TRUE(found.has_value());
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    ASSERT_EQ(found->size(), roots.size());
    for (std::size_t i = 0; i < roots.size(); ++i) {
      EXPECT_LE((*found)[i].low, roots[i]);
      EXPECT_GE((*found)[i].high, roots[i]);
      EXPECT_LE((*found)[i].high - (*found)[i].low, 0x1p-20);
    }
  }
}

TEST(Roots, OfTheIntervalAlone) {
  const auto powers = with_roots({-1, 0, 2});
  const auto right = roots_between(powers, 0.5, kEverywhere, 0x1p20);
  ASSERT_TRUE(right.has_value());
  ASSERT_EQ(right->size(), 1U);
  EXPECT_EQ(right->front().low, 2);
  EXPECT_EQ(right->front().high, 2);
  // Its ends belong to it: a function may jump there.
  EXPECT_EQ(roots_between(powers, 0, 1, 0x1p20)->size(), 1U);
  EXPECT_TRUE(roots_between({Interval(1), Interval(0), Interval(1)}, -kEverywhere, kEverywhere, 1)
                  ->empty());
}

TEST(Roots, IrrationalOnesLieBetweenNeighbours) {
  const auto found =
      roots_between({Interval(-2), Interval(0), Interval(1)}, 0, kEverywhere, 0x1p20);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_LT(found->front().low * found->front().low, 2.000000000000001);
  EXPECT_LE(std::nextafter(found->front().low, 2), found->front().high);
  EXPECT_LE(found->front().high, std::nextafter(std::nextafter(found->front().low, 2), 2));
}

// Whatever the coefficients are of their intervals.
TEST(Roots, RoughCoefficients) {
  const auto found =
      roots_between({Interval(-1.0 - 1e-9, -1.0 + 1e-9), Interval(0), Interval(1)}, -2, 2, 0x1p20);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 2U);
  EXPECT_LE((*found)[1].low, std::sqrt(1 - 1e-9));
  EXPECT_GE((*found)[1].high, std::sqrt(1 + 1e-9));
  EXPECT_FALSE(roots_between({Interval(-1), Interval(0.0, 1.0)}, -2, 2, 0x1p20).has_value());
}

TEST(Roots, FarOnesAreNotFound) {
  EXPECT_FALSE(
      roots_between(with_roots({0x1p30, 1}), -kEverywhere, kEverywhere, 0x1p20).has_value());
  EXPECT_TRUE(roots_between(with_roots({0x1p30, 1}), -2, 2, 0x1p20).has_value());
}

}  // namespace
}  // namespace bf_aot
