// How tight relaxations are: lines against the best ones that samples of the function allow, and
// intervals at points.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "frontend/functions/function_facts.h"
#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf_aot::Function;
using bf_aot::FunctionKind;

struct Sample {
  double x, y;
};

// The height at `middle` of the upper hull of the samples, which no line above them passes under.
double hull_height(const std::vector<Sample>& samples, double middle) {
  std::vector<Sample> hull;
  for (const Sample& next : samples) {
    while (hull.size() >= 2) {
      const Sample& a = hull[hull.size() - 2];
      const Sample& b = hull.back();
      if ((b.y - a.y) * (next.x - a.x) > (next.y - a.y) * (b.x - a.x)) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  for (std::size_t i = 0; i + 1 < hull.size(); ++i)
    if (middle <= hull[i + 1].x)
      return hull[i].y +
             (hull[i + 1].y - hull[i].y) * (middle - hull[i].x) / (hull[i + 1].x - hull[i].x);
  return hull.back().y;
}

// The distance in the middle between the best lines: their area is that times the width.
double best_distance(const Function& function, double low, double high,
                     const std::vector<double>& special = {}) {
  const int count = 2001;
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    const double x = i + 1 == count ? high : low + (high - low) * i / (count - 1);
    samples.push_back({x, bf_aot::evaluate(function, x)});
  }
  for (double x : special)
    if (x >= low && x <= high) samples.push_back({x, bf_aot::evaluate(function, x)});
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.x < b.x; });
  const double middle = low / 2 + high / 2;
  const double top = hull_height(samples, middle);
  for (Sample& sample : samples) sample.y = -sample.y;
  return top + hull_height(samples, middle);
}

double distance_between(const bf::Relaxation& line, double centre, double x) {
  const double slope = static_cast<double>(line.slope_upper) - line.slope_lower;
  return slope * (x - centre) + (line.offset_upper - line.offset_lower);
}

struct Case {
  Function function;
  double from, to;  // where the intervals lie
};

std::vector<Case> cases() {
  using Kind = FunctionKind;
  std::vector<Case> list;
  for (const bf_aot::FunctionFacts& facts : bf_aot::function_facts())
    if (!facts.integers)
      list.push_back({{facts.kind, facts.sample.a, facts.sample.b, facts.sample.c},
                      facts.sample.low,
                      facts.sample.high});
  const Case more[] = {{{Kind::kElu, 2}, -8, 6},       {{Kind::kReciprocal}, -10, -0.05},
                       {{Kind::kPower, 2}, -6, 6},     {{Kind::kPower, 0.5}, 0.001, 20},
                       {{Kind::kPower, 2.5}, 0.01, 9}, {{Kind::kPower, -2}, 0.1, 9},
                       {{Kind::kLeakyRelu, 2}, -4, 4}, {{Kind::kHardSigmoid, -0.2, 0.5}, -5, 5}};
  list.insert(list.end(), std::begin(more), std::end(more));
  return list;
}

// Besides 1 %, what float offsets and the tables' errors take: a few units of the last place of
// the magnitudes that occur.
void expect_tight(const Case& test, const Held& held, double low, double high, double& worst) {
  const double centre = low / 2 + high / 2;
  const bf::Relaxation line = bf::relax_function(held.view(), centre, low, high);
  const double best = best_distance(test.function, low, high);
  const double got = distance_between(line, centre, centre);
  const double size = std::max({std::fabs(bf_aot::evaluate(test.function, low)),
                                std::fabs(bf_aot::evaluate(test.function, high)), 1.0});
  const double unit = 0x1p-32 * size + 0x1p-22 * line.radius;
  EXPECT_LE(got, best * 1.01 + unit)
      << bf_aot::to_string(test.function) << " on [" << low << ", " << high << "]: slopes "
      << line.slope_upper << ", " << line.slope_lower;
  if (best > 64 * unit) worst = std::max(worst, got / best);
}

class Tightness : public testing::TestWithParam<Case> {};

void check_areas(const Case& test, const Held& held) {
  double worst = 1;
  const int grid = 24;
  for (int i = 0; i < grid; ++i)
    for (int j = i + 1; j <= grid; ++j)
      expect_tight(test, held, test.from + (test.to - test.from) * i / grid,
                   test.from + (test.to - test.from) * j / grid, worst);
  for (int i = 0; i < grid; ++i)
    for (double width : {0x1p-2, 0x1p-5, 0x1p-8, 0x1p-11}) {
      const double low = test.from + (test.to - test.from) * (i + 0.37) / (grid + 1);
      if (low + width <= test.to) expect_tight(test, held, low, low + width, worst);
    }
  testing::Test::RecordProperty("worst_percent", std::to_string((worst - 1) * 100));
}

// At a point the interval is a few units of float wide: 2^-35 relative to max(|f|, 2^-7).
void check_points(const Case& test, const Held& held) {
  for (int i = 0; i <= 400; ++i) {
    const double x = test.from + (test.to - test.from) * i / 400;
    const bf::FunctionRange range = bf::bound_function(held.view(), x, x);
    const double y = bf_aot::evaluate(test.function, x);
    EXPECT_LE(range.high - range.low, 0x1p-35 * std::max(std::fabs(y), 0x1p-7)) << x;
    const bf::Relaxation line = bf::relax_function(held.view(), x, x, x);
    EXPECT_EQ(line.slope_upper, 0);
    EXPECT_LE(line.radius, 0x1p-35 * std::max(std::fabs(y), 0x1p-7)) << x;
  }
}

// Extremes inside an interval are found as tightly as values at points.
void check_intervals(const Case& test, const Held& held) {
  for (int i = 0; i < 30; ++i)
    for (int j = i + 1; j <= 30; ++j) {
      const double low = test.from + (test.to - test.from) * i / 30;
      const double high = test.from + (test.to - test.from) * j / 30;
      double least = INFINITY;
      double most = -INFINITY;
      for (int k = 0; k <= 2000; ++k) {
        double x = low + (high - low) * k / 2000;
        if (std::fabs(x) < (high - low) / 2000) x = 0;  // the kinks
        const double y = bf_aot::evaluate(test.function, x);
        least = std::min(least, y);
        most = std::max(most, y);
      }
      const bf::FunctionRange range = bf::bound_function(held.view(), low, high);
      const double miss = 1e-5 * (most - least) + 0x1p-36;  // of the samples, mostly
      EXPECT_LE(range.high, most + miss) << low << " " << high;
      EXPECT_GE(range.low, least - miss) << low << " " << high;
    }
}

TEST_P(Tightness, LinesPointsAndIntervals) {
  const Held held(GetParam().function);
  check_areas(GetParam(), held);
  check_points(GetParam(), held);
  check_intervals(GetParam(), held);
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = std::to_string(info.index) + "_";
  for (char c : bf_aot::to_string(info.param.function)) name += std::isalnum(c) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Tightness, testing::ValuesIn(cases()), name_of_case);

// Steps: no width at points, and lines no worse than the best over the corners.
TEST(Steps, AreExactAtPointsAndTight) {
  for (const Function& function : functions_to_test()) {
    if (!bf_aot::facts_of(function.kind).integers) continue;
    const Held held(function);
    for (double x : {-3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0x1p-1074, -0x1p-1074, 0.5, 1.0, 1.5, 2.5,
                     0.05, 0.15, 1e30}) {
      const bf::FunctionRange range = bf::bound_function(held.view(), x, x);
      if (std::fabs(x) > 1e20 && bf::is_staircase(held.view())) continue;
      EXPECT_EQ(range.low, range.high) << bf_aot::to_string(function) << " at " << x;
      EXPECT_TRUE(holds({{range.low, 1}}, exact_value(function, x), true, 1));
      EXPECT_TRUE(holds({{range.low, 1}}, exact_value(function, x), true, -1));
    }
    const bool rounds =
        function.kind == FunctionKind::kRound || function.kind == FunctionKind::kQuantise;
    const double step = rounds ? function.a : 1;
    for (int i = -20; i < 20; ++i)
      for (int j = i + 1; j < 20; ++j) {
        const double low = i * 0.23;
        const double high = j * 0.23 + 0.01;
        const double centre = low / 2 + high / 2;
        const bf::Relaxation line = bf::relax_function(held.view(), centre, low, high);
        // Between samples a step may lie anywhere: compare with twice as many samples' slack.
        const double best = best_distance(function, low, high, special_points(held.table()));
        const double got = distance_between(line, centre, centre);
        EXPECT_LE(got, best * 1.01 + (high - low) / 1000 / step + 1e-6 * (1 + best))
            << bf_aot::to_string(function) << " on [" << low << ", " << high << "]";
      }
  }
}

// In the middle of an interval the lines of kQuantise are no farther apart than those of kRound
// followed by kClip.
TEST(Steps, OneFunctionIsNoWiderThanTwo) {
  using Kind = bf_aot::FunctionKind;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const Function& both : {Function{Kind::kQuantise, 0.5, -3, 5},
                               {Kind::kQuantise, 0.02, 0, 255},
                               {Kind::kQuantise, 0.1, -128, 127},
                               {Kind::kQuantise, 0.3, 0, 1}}) {
    const Held one(both), first(Function{Kind::kRound, both.a}),
        second(Function{Kind::kClip, both.b, both.c});
    int narrower = 0;
    for (int i = 0; i < 4000; ++i) {
      const double width = both.a * std::exp2(12 * unit(random) - 3);
      const double from = both.a * (both.b + (both.c - both.b) * (1.4 * unit(random) - 0.2));
      const double low = from - width * unit(random), high = low + width;
      const double centre = low / 2 + high / 2;
      const bf::Relaxation line = bf::relax_function(one.view(), centre, low, high);
      const bf::Relaxation inner = bf::relax_function(first.view(), centre, low, high);
      const double reach = static_cast<double>(inner.radius);
      const bf::Relaxation outer = bf::relax_function(second.view(), inner.centre,
                                                      inner.centre - reach, inner.centre + reach);
      const double upper = outer.slope_upper * inner.offset_upper + outer.offset_upper;
      const double lower = outer.slope_lower * inner.offset_lower + outer.offset_lower;
      const double noise = 1e-6 * (1 + std::fabs(line.centre) + static_cast<double>(line.radius));
      ASSERT_LE(line.centre + line.offset_upper, outer.centre + upper + noise)
          << bf_aot::to_string(both) << " on [" << low << ", " << high << "]";
      ASSERT_GE(line.centre + line.offset_lower, outer.centre + lower - noise)
          << bf_aot::to_string(both) << " on [" << low << ", " << high << "]";
      ASSERT_LE(line.radius, outer.radius * (1 + 1e-6F));
      narrower += line.offset_upper - line.offset_lower < 0.99 * (upper - lower) ? 1 : 0;
    }
    EXPECT_GT(narrower, 100) << bf_aot::to_string(both);
  }
}

}  // namespace
}  // namespace bf_test
