#include "aot/apps/measure/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aot/system/measure.h"

namespace bf_aot::apps {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CompareWidthsTest, RatiosOfWidths) {
  const Widths widths = compare_widths({{0, 0}, {1, 2.02}}, {0, 0}, {1, 2}, false, Tolerances{});
  EXPECT_EQ(widths.entries, 2);
  EXPECT_DOUBLE_EQ(widths.min, 1);
  EXPECT_DOUBLE_EQ(widths.max, 1.01);
  EXPECT_DOUBLE_EQ(widths.mean, 1.005);
  EXPECT_FALSE(widths.ok);  // the mean
  EXPECT_TRUE(compare_widths({{0}, {0.5}}, {0}, {1}, false, Tolerances{}).ok);
}

TEST(CompareWidthsTest, NoBoundsAreNotOk) {
  EXPECT_FALSE(compare_widths({{-kInfinity}, {kInfinity}}, {0}, {1}, false, Tolerances{}).ok);
  EXPECT_FALSE(compare_widths({{NAN}, {NAN}}, {0}, {1}, false, Tolerances{}).ok);
  EXPECT_FALSE(compare_widths({{-kInfinity}, {1}}, {1}, {1}, false, Tolerances{}).ok);
  EXPECT_FALSE(compare_widths({{NAN}, {1}}, {1}, {1}, false, Tolerances{}).ok);
}

TEST(CompareWidthsTest, TinyWidthsAreJudgedByTheirExcess) {
  const Tolerances tolerances{1.01, 1.002, 0.001};
  const Widths good = compare_widths({{9.999}, {10.001}}, {10}, {10}, false, tolerances);
  EXPECT_EQ(good.entries, 0);
  EXPECT_EQ(good.points, 1);
  EXPECT_NEAR(good.point_width, 0.002, 1e-12);
  EXPECT_TRUE(good.ok);
  EXPECT_FALSE(compare_widths({{9.9}, {10.1}}, {10}, {10}, false, tolerances).ok);
  // Exactly the golden point.
  EXPECT_TRUE(compare_widths({{0}, {0}}, {0}, {0}, false, tolerances).ok);
  // Marked in the file.
  EXPECT_EQ(compare_widths({{9}, {11}}, {9}, {11}, true, tolerances).points, 1);
}

TEST(MeasureTest, CountsCallsAndRepeats) {
  int calls = 0;
  const system::Timing timing = system::measure([&calls] { ++calls; }, 4);
  EXPECT_EQ(timing.repeats, 4);
  EXPECT_GT(calls, 4);
  EXPECT_GT(timing.min, 0);
  EXPECT_GE(timing.median, timing.min);
}

}  // namespace
}  // namespace bf_aot::apps
