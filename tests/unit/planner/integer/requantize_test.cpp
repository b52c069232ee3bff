#include "planner/integer/requantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace bf_aot {
namespace {

Chain rounding(const mpq_class& factor, const mpq_class& offset, double divisor, long zero) {
  return {AffineLink{factor, offset}, Function{FunctionKind::kRound, divisor},
          AffineLink{mpq_class(1), mpq_class(zero)}, Function{FunctionKind::kClip, 0, 255}};
}

Cuts cuts_of(const Chain& chain, int codes) {
  Cuts cuts;
  for (int code = 1; code < codes; ++code) cuts.push_back(*cut_of(chain, code));
  return cuts;
}

// Every sum of the range, by what the chain makes of it.
void expect_codes(const Requantizer& row, const Chain& chain) {
  for (std::int64_t sum = row.least; sum <= row.most; ++sum) {
    const auto image = image_of(chain, Range(mpq_class(static_cast<long>(sum))));
    ASSERT_TRUE(image && image->low == image->high);
    ASSERT_EQ(mpq_class(code_of(row, sum)), image->low) << "sum " << sum;
  }
}

RowSums sums(std::int64_t least, std::int64_t most) {
  return {Range(mpq_class(1)), Range(mpq_class(0)), least, most};
}

Requantization arithmetic_of(const Chain& chain, std::int64_t least, std::int64_t most,
                             const mpq_class& slope) {
  const auto row = steps_of_cuts(sums(least, most), cuts_of(chain, 256));
  EXPECT_TRUE(row);
  expect_codes(*row, chain);
  return find_arithmetic({*row}, {{slope, round_form(chain)}});
}

TEST(Requantize, StepsAreTheSumsAtWhichExactCodesRise) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 40; ++i) {
    const double scale = std::uniform_real_distribution<double>(0.001, 0.3)(random);
    const mpq_class factor(scale);
    const auto made = arithmetic_of(rounding(factor, mpq_class(i - 20), 0.75, 100), -3000, 3000,
                                    factor / mpq_class(0.75));
    EXPECT_EQ(made.rounding, Rounding::kFloor);
    EXPECT_TRUE(computes_its_steps(made.rows[0], made.rounding, made.multiplier_bytes));
  }
}

// Ties go to even numbers: the lengths of steps alternate, and no floor has such steps.
TEST(Requantize, TiesNeedRoundingToEven) {
  for (const long zero : {0L, 3L, 100L, 255L}) {
    const auto made =
        arithmetic_of(rounding(mpq_class(1), mpq_class(2), 4, zero), -1000, 1000, mpq_class(1, 4));
    EXPECT_EQ(made.rounding, Rounding::kHalfEven);
    EXPECT_EQ(made.rows[0].odd, zero % 2 != 0);
    EXPECT_TRUE(computes_its_steps(made.rows[0], made.rounding, made.multiplier_bytes));
  }
}

// Between rounding and what is no rounding at all: steps alone are exact.
TEST(Requantize, FunctionsBetweenSumsAndCodesAreSteps) {
  const Chain chain = {AffineLink{mpq_class(1, 100), mpq_class(0)},
                       Function{FunctionKind::kSigmoid}, Function{FunctionKind::kRound, 1.0 / 256},
                       Function{FunctionKind::kClip, 0, 255}};
  EXPECT_FALSE(cut_of(chain, 100));
  const auto row = steps_of_images(sums(-1000, 1000), chain, 256);
  ASSERT_TRUE(row);
  expect_codes(*row, chain);
  const auto made = find_arithmetic({*row}, {{mpq_class(1, 2), round_form(chain)}});
  EXPECT_EQ(made.rounding, Rounding::kSteps);
}

// Large sums need more digits of the multiplier, sometimes more than 32 bits hold, or 64.
TEST(Requantize, LargeSumsHaveWideMultipliers) {
  std::mt19937_64 random(2);
  std::set<std::pair<Rounding, int>> kinds;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t most = std::int64_t{1} << std::uniform_int_distribution<int>(24, 30)(random);
    const mpq_class factor(std::uniform_real_distribution<double>(60, 130)(random) /
                           static_cast<double>(most));
    const Chain chain = rounding(factor, mpq_class(1, 3), 1, 128);
    const auto row = steps_of_cuts(sums(-most, most), cuts_of(chain, 256));
    ASSERT_TRUE(row);
    const auto made = find_arithmetic({*row}, {{factor, round_form(chain)}});
    kinds.emplace(made.rounding, made.multiplier_bytes);
    EXPECT_TRUE(computes_its_steps(made.rows[0], made.rounding, made.multiplier_bytes));
  }
  EXPECT_TRUE(kinds.contains({Rounding::kFloor, 4}));
  EXPECT_TRUE(kinds.contains({Rounding::kFloor, 8}));
}

TEST(Requantize, OneCodeNeedsNoMultiplier) {
  const auto made = arithmetic_of(rounding(mpq_class(1), mpq_class(1000), 1, 0), -10, 10, 1);
  EXPECT_EQ(made.rows[0].low, 255);
  EXPECT_EQ(made.rows[0].multiplier, 0);
}

TEST(Requantize, ConstantsThatMayBeOnEitherSideOfAStepAreRefused) {
  const Chain chain = {Function{FunctionKind::kRound, 1}, Function{FunctionKind::kClip, 0, 255}};
  RowSums loose = sums(0, 100);
  loose.factor = Range(mpq_class(499999999, 1000000000), mpq_class(500000001, 1000000000));
  EXPECT_FALSE(steps_of_cuts(loose, cuts_of(chain, 256)));
  loose.factor = Range(mpq_class(166666666, 1000000000), mpq_class(166666667, 1000000000));
  EXPECT_FALSE(steps_of_cuts(loose, cuts_of(chain, 256)));  // 3 times it may be 1/2
  loose.most = 2;
  EXPECT_TRUE(steps_of_cuts(loose, cuts_of(chain, 256)));
}

TEST(Chain, CutsOfClipsAndReluAreAlwaysAndNever) {
  const Chain chain = {ReluLink{}, Function{FunctionKind::kClip, 0, 6}};
  EXPECT_EQ(cut_of(chain, 0)->where, Cut::Where::kAlways);
  EXPECT_EQ(cut_of(chain, 7)->where, Cut::Where::kNever);
  EXPECT_EQ(cut_of(chain, 6)->where, Cut::Where::kAt);
  EXPECT_EQ(cut_of(chain, 6)->at.low, 6);
}

TEST(Chain, TiesAreInclusiveBelowEvenNumbers) {
  const Chain chain = {Function{FunctionKind::kRound, 1}};
  EXPECT_FALSE(cut_of(chain, 1)->inclusive);
  EXPECT_TRUE(cut_of(chain, 2)->inclusive);
  EXPECT_EQ(cut_of(chain, 2)->at.low, mpq_class(3, 2));
}

TEST(Chain, FallingLinksHaveNoCut) {
  EXPECT_FALSE(cut_of({AffineLink{mpq_class(-1), mpq_class(0)}}, 0));
  EXPECT_FALSE(cut_of({Function{FunctionKind::kAbs}}, 1));
}

}  // namespace
}  // namespace bf_aot
