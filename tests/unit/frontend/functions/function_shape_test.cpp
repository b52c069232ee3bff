#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "frontend/functions/composite/branches.h"
#include "frontend/functions/composite/far.h"
#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot {
namespace {

Function sample_of(const FunctionFacts& row) {
  return {row.kind, row.sample.a, row.sample.b, row.sample.c};
}

// find_exact() misses by at most this, relative to max(1, |f|).
mpq_class miss_of(const mpq_class& value) {
  mpq_class error = std::max(mpq_class(1), mpq_class(abs(value)));
  mpq_div_2exp(error.get_mpq_t(), error.get_mpq_t(), 200);
  return error;
}

// Expects exact values of the function to lie within what its slopes allow.
void expect_secants(const Function& f, const SecantSlopes& slopes, double low, double high,
                    std::mt19937& random) {
  std::uniform_real_distribution<double> number(low, high);
  for (int trial = 0; trial < 200; ++trial) {
    const mpq_class x = number(random);
    const mpq_class step = std::fabs(number(random)) * (trial % 2 == 0 ? 1 : 0x1p-10) + 0x1p-20;
    const mpq_class first = *find_exact(f, x), last = *find_exact(f, x + step);
    const mpq_class error = miss_of(first) + miss_of(last);
    const SlopeRange range = x >= 0          ? slopes.above
                             : x + step <= 0 ? slopes.below
                                             : SlopeRange{slopes.least(), slopes.most()};
    EXPECT_GE(last - first + error, range.least * step) << to_string(f) << " at " << x.get_d();
    EXPECT_LE(last - first - error, range.most * step) << to_string(f) << " at " << x.get_d();
  }
}

TEST(FunctionShape, SecantsHaveTheSlopesOfTheRow) {
  std::mt19937 random(20261129);
  int known = 0;
  for (const FunctionFacts& row : function_facts()) {
    const Function f = sample_of(row);
    const auto slopes = row.shape.slopes(f);
    if (!slopes) continue;
    ++known;
    expect_secants(f, *slopes, 2 * row.sample.low, 2 * row.sample.high, random);
  }
  EXPECT_GE(known, 15);
}

TEST(FunctionShape, SecantsHaveTheSlopesOfOtherParameters) {
  std::mt19937 random(20261201);
  const auto slopes_of = [](const Function& f) { return facts_of(f.kind).shape.slopes(f); };
  for (const FunctionKind kind : {FunctionKind::kLeakyRelu, FunctionKind::kElu, FunctionKind::kCelu,
                                  FunctionKind::kSelu, FunctionKind::kHardSigmoid})
    for (const double a : {-2.5, -0.3, 0.1, 1.7})
      for (const double b : {-1.3, 0.7, 2.9}) {
        const Function f = {kind, a, b};
        const auto slopes = slopes_of(f);
        EXPECT_EQ(slopes.has_value(), kind != FunctionKind::kCelu || a > 0);
        if (slopes) expect_secants(f, *slopes, -3, 3, random);
      }
}

// Each limit is attained, or nearly: a tangent of the function has it.
TEST(FunctionShape, SlopesAreNoWiderThanTangents) {
  const auto slope_at = [](const Function& f, double x) {
    const mpq_class step = mpq_class(0x1p-30);
    return mpq_class((*find_exact(f, x + step) - *find_exact(f, x - step)) / (2 * step)).get_d();
  };
  const auto expect_limits = [&](const Function& f, double least_at, double most_at) {
    const auto slopes = facts_of(f.kind).shape.slopes(f);
    ASSERT_TRUE(slopes);
    EXPECT_NEAR(slope_at(f, least_at), slopes->least(), 1e-5) << to_string(f);
    EXPECT_NEAR(slope_at(f, most_at), slopes->most(), 1e-5) << to_string(f);
  };
  expect_limits({FunctionKind::kLeakyRelu, 0.01}, -1, 1);
  expect_limits({FunctionKind::kLeakyRelu, 3}, 1, -1);
  expect_limits({FunctionKind::kElu, 0.5}, -20, 1);
  expect_limits({FunctionKind::kElu, 2.5}, -20, -0x1p-25);
  expect_limits({FunctionKind::kElu, -2.5}, -0x1p-25, 1);
  expect_limits({FunctionKind::kErf}, 20, 0);
}

// The line's distance from the function at v.
mpq_class distance(const Function& f, const FarLine& line, double v) {
  const mpq_class value = *find_exact(f, v);
  const mpq_class on_line = line.intercept + mpq_class(line.slope) * v;
  return abs(value - on_line) - miss_of(value);
}

void expect_near(const Function& f, const FarLine& line, double sign, double from) {
  if (!line.known) return;
  for (const double beyond : {0.0, 0.125, 1.0, 2.5, 7.0, 20.0}) {
    const double v = from + beyond;
    const Interval decay = increasing(mpfr_exp, -(Interval(line.rate) * Interval(v)));
    EXPECT_LE(distance(f, line, sign * v), double_above(Interval(line.factor) * decay))
        << to_string(f) << " at " << sign * v << ", from " << from;
  }
}

TEST(FunctionShape, FunctionsComeNearTheLinesOfTheRow) {
  int known = 0;
  for (const FunctionFacts& row : function_facts()) {
    const Function f = sample_of(row);
    for (const double from : {kFarFrom, 5.5, 9.0}) {
      const Far far = row.shape.far(f, Interval::entire(), from);
      known += far.left.known ? 1 : 0;
      expect_near(f, far.left, -1, from);
      expect_near(f, far.right, 1, from);
    }
  }
  EXPECT_GE(known, 30);
}

// Intervals lie below 0, where the smooth branch is of functions that have another one.
TEST(FunctionShape, ValuesAndSteepnessHoldOverIntervals) {
  for (const FunctionFacts& row : function_facts()) {
    const Function f = sample_of(row);
    for (double low = -6; low < -0.5; low += 0.75) {
      const double high = low + 0.5;
      const Far far = row.shape.far(f, Interval(low, high), kFarFrom);
      const double least = double_below(far.value), most = double_above(far.value);
      if (std::isinf(far.lipschitz) && std::isinf(most)) continue;
      const mpq_class first = *find_exact(f, low), last = *find_exact(f, high);
      for (const mpq_class& value : {first, last}) {
        EXPECT_TRUE(std::isinf(least) || value + miss_of(value) >= least) << row.name;
        EXPECT_TRUE(std::isinf(most) || value - miss_of(value) <= most) << row.name;
      }
      if (std::isinf(far.lipschitz)) continue;
      const mpq_class rise = mpq_class(far.lipschitz) * (mpq_class(high) - low);
      EXPECT_LE(abs(last - first), rise + miss_of(first) + miss_of(last)) << row.name;
    }
  }
}

TEST(FunctionShape, LinesOfBranchesAreTheFunction) {
  std::mt19937 random(20261130);
  int known = 0;
  for (const FunctionFacts& row : function_facts()) {
    const Function f = sample_of(row);
    const auto all = row.shape.branches(f);
    if (!all) continue;
    ++known;
    ASSERT_EQ(all->branches.size(), all->breaks.size() + 1) << row.name;
    ASSERT_TRUE(std::ranges::is_sorted(all->breaks)) << row.name;
    std::uniform_real_distribution<double> number(row.sample.low, row.sample.high);
    for (int trial = 0; trial < 100; ++trial) {
      const double x = number(random);
      if (std::ranges::count(all->breaks, x) != 0) continue;
      const auto at = std::ranges::lower_bound(all->breaks, x) - all->breaks.begin();
      const Branch& branch = all->branches[static_cast<std::size_t>(at)];
      if (branch.smooth) continue;
      EXPECT_EQ(*find_exact(f, x), branch.intercept + mpq_class(branch.slope) * x)
          << row.name << " at " << x;
    }
    for (std::size_t i = 0; i < all->at.size(); ++i)
      EXPECT_EQ(*find_exact(f, all->breaks[i]), all->at[i]) << row.name;
  }
  EXPECT_GE(known, 20);
}

}  // namespace
}  // namespace bf_aot
