// Images under MPFR's functions: the exact value's neighbours, whichever way they are computed.

#include "frontend/functions/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace bf_aot {
namespace {

const std::vector<double> kPoints = {0x1p-1000, 1e-30, 0.1, 0.25, 0.5, 1, 1.5, 4, 1e10, 0x1p600};
const std::vector<MpfrFunction> kRising = {mpfr_exp,  mpfr_log,  mpfr_tanh,  mpfr_atan,
                                           mpfr_sqrt, mpfr_asin, mpfr_asinh, mpfr_acosh};

Interval directed(MpfrFunction function, const Interval& x) {
  Interval made;
  function(made.low, x.low, MPFR_RNDD);
  function(made.high, x.high, MPFR_RNDU);
  return made;
}

bool same(const Interval& a, const Interval& b) {
  return mpfr_equal_p(a.low, b.low) != 0 && mpfr_equal_p(a.high, b.high) != 0;
}

bool is_number(const Interval& x) {
  return mpfr_nan_p(x.low) == 0 && mpfr_nan_p(x.high) == 0;
}

TEST(IntervalImages, OfPointsAreRoundedOutward) {
  for (const MpfrFunction function : kRising)
    for (const double x : kPoints) {
      const Interval expected = directed(function, Interval(x));
      const Interval found = increasing(function, Interval(x));
      if (is_number(expected))
        EXPECT_TRUE(same(found, expected)) << x;
      else
        EXPECT_TRUE(same(found, Interval::entire())) << x;
    }
}

TEST(IntervalImages, OfIntervals) {
  for (const MpfrFunction function : kRising) {
    const Interval x(0.25, 0.75), above(1.5, 4);
    const bool narrow = function != mpfr_acosh;
    EXPECT_TRUE(
        same(increasing(function, narrow ? x : above), directed(function, narrow ? x : above)));
  }
  const Interval x(0.25, 0.75);
  Interval expected;
  mpfr_erfc(expected.low, x.high, MPFR_RNDD);
  mpfr_erfc(expected.high, x.low, MPFR_RNDU);
  EXPECT_TRUE(same(decreasing(mpfr_erfc, x), expected));
}

// Roots and quotients have routines of their own, and the bits of the power.
TEST(IntervalImages, OfPowers) {
  for (const double a : {0.5, -0.5, -1.0, 2.0, 0.3, -1.7})
    for (std::size_t i = 0; i < kPoints.size(); ++i) {
      const Interval x(kPoints[i], kPoints[std::min(i + 1, kPoints.size() - 1)]);
      Interval expected;
      const Real exponent(a);
      mpfr_pow(expected.low, a > 0 ? x.low : x.high, exponent, MPFR_RNDD);
      mpfr_pow(expected.high, a > 0 ? x.high : x.low, exponent, MPFR_RNDU);
      EXPECT_TRUE(same(power(x, a), expected)) << kPoints[i] << " " << a;
    }
}

TEST(IntervalImages, NumbersCopyAndMove) {
  std::vector<Real> numbers;
  for (int i = 0; i < 100; ++i) numbers.emplace_back(i / 7.0);
  std::vector<Real> moved = std::move(numbers);
  moved.insert(moved.begin(), Real(-1.0));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(mpfr_get_d(moved[static_cast<std::size_t>(i) + 1], MPFR_RNDN), i / 7.0);
  std::swap(moved[1], moved[2]);
  EXPECT_EQ(mpfr_get_d(moved[1], MPFR_RNDN), 1 / 7.0);
  moved[3] = Real(moved[4]);
  EXPECT_EQ(mpfr_get_d(moved[3], MPFR_RNDN), 3 / 7.0);
}

}  // namespace
}  // namespace bf_aot
