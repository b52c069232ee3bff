#include "aot/decide/property/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/paths.h"

namespace bf_aot::decide {
namespace {

const std::filesystem::path kTiny = std::filesystem::path(BF_SOURCE_DIR) / "models" / "tiny.onnx";
const std::vector<std::vector<double>> kRows = {{1, -1}};

input::FloatBox square() {
  return {{-1, -1}, {1, 1}};
}

TEST(SamplerTest, KnowsTheValueAtTheCentre) {
  const SampledPoint point = Sampler(kTiny).evaluate({0, 0}, kRows);
  ASSERT_EQ(point.values.size(), 3U);
  EXPECT_EQ(point.values[0], (Bounded{-0.5, 0}));
  EXPECT_EQ(point.values[1], (Bounded{-0.75, 0}));
  EXPECT_EQ(point.values[2], (Bounded{0.25, 0}));
}

TEST(SamplerTest, PointsAreFloatsInsideAndIncludeCorners) {
  const input::FloatBox box = {{0.1F, -3}, {0.1F, 0.7F}};
  int corners = 0;
  for (const std::vector<double>& point : Sampler::points(box, 300, 1)) {
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(point[i], static_cast<double>(static_cast<float>(point[i])));
      EXPECT_GE(point[i], static_cast<double>(box.lower[i]));
      EXPECT_LE(point[i], static_cast<double>(box.upper[i]));
    }
    if (point[1] == -3 || point[1] == static_cast<double>(0.7F)) ++corners;
  }
  EXPECT_GE(corners, 100);
  EXPECT_EQ(Sampler::points(box, 9, 7), Sampler::points(box, 9, 7));
  EXPECT_NE(Sampler::points(box, 9, 7), Sampler::points(box, 9, 8));
}

// A bound that is off by the last bit of a double is found out, on either side.
TEST(SamplerTest, JudgesToTheLastBit) {
  const Sampler sampler(kTiny);
  for (const std::vector<double>& input : Sampler::points(square(), 30, 5)) {
    const SampledPoint point = sampler.evaluate(input, kRows);
    for (std::size_t i = 0; i < 3; ++i) {
      const double y = point.values[i].value;
      EXPECT_TRUE(sampler.inside(point, kRows, i, y - 1, y + 1));
      EXPECT_FALSE(sampler.inside(point, kRows, i, y + 1, y + 2));
      if (point.values[i].error != 0) continue;
      EXPECT_TRUE(sampler.inside(point, kRows, i, y, y));
      EXPECT_FALSE(sampler.inside(point, kRows, i, std::nextafter(y, INFINITY), INFINITY));
      EXPECT_FALSE(sampler.inside(point, kRows, i, -INFINITY, std::nextafter(y, -INFINITY)));
      EXPECT_FALSE(sampler.inside(point, kRows, i, NAN, NAN));
    }
  }
}

// Error bounds that overlap a bound: rational arithmetic decides.
TEST(SamplerTest, DecidesExactlyWhereErrorBoundsCannot) {
  const Sampler sampler(kTiny);
  SampledPoint point = sampler.evaluate({0, 0}, kRows);
  for (Bounded& value : point.values) value = {value.value + 0.125, 0.25};
  EXPECT_TRUE(sampler.inside(point, kRows, 0, -0.5, -0.5));
  EXPECT_FALSE(sampler.inside(point, kRows, 0, std::nextafter(-0.5, 0), 0));
  EXPECT_FALSE(sampler.inside(point, kRows, 0, -INFINITY, std::nextafter(-0.5, -1)));
  EXPECT_TRUE(sampler.inside(point, kRows, 2, 0.25, 0.25));
  EXPECT_FALSE(sampler.inside(point, kRows, 2, 0.2500001, INFINITY));
}

}  // namespace
}  // namespace bf_aot::decide
