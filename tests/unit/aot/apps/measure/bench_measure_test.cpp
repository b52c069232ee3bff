#include "aot/apps/measure/bench_measure.h"

#include <gtest/gtest.h>

namespace bf_aot::apps {
namespace {

TEST(Statistics, OfOneMeasurement) {
  const Statistics made = statistics_of({3});
  EXPECT_EQ(made.count, 1);
  EXPECT_EQ(made.mean, 3);
  EXPECT_EQ(made.deviation, 0);
  EXPECT_EQ(made.min, 3);
  EXPECT_EQ(made.p50, 3);
  EXPECT_EQ(made.p95, 3);
}

TEST(Statistics, OfMeasurementsInAnyOrder) {
  const Statistics made = statistics_of({4, 2, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(made.count, 8);
  EXPECT_EQ(made.mean, 5);
  EXPECT_DOUBLE_EQ(made.deviation * made.deviation, 32.0 / 7);
  EXPECT_EQ(made.min, 2);
  EXPECT_EQ(made.p50, 5);  // the upper of the two in the middle
  EXPECT_EQ(made.p95, 9);
}

TEST(Statistics, TheTailIsNotTheLargest) {
  std::vector<double> samples(100);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(100 - i);
  EXPECT_EQ(statistics_of(samples).p95, 96);
}

}  // namespace
}  // namespace bf_aot::apps
