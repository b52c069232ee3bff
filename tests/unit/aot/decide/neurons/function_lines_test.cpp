#include "aot/decide/neurons/lanes/function_lines.h"

#include <gtest/gtest.h>

#include <cmath>

#include "aot/engine/run/function_views.h"

namespace bf_aot::decide {
namespace {

class FunctionLines : public ::testing::Test {
 protected:
  FunctionInterval on(FunctionKind kind, double a, double low, double high) {
    view_ = views_.of({kind, a, 0});
    return interval_of(*view_, low, high);
  }

  engine::FunctionViews views_;
  const bf::FunctionView* view_ = nullptr;
};

TEST_F(FunctionLines, PiecesAreSplitWhereTheyMeet) {
  EXPECT_EQ(on(FunctionKind::kLeakyRelu, 0.5, -1, 3).point, 0);
  EXPECT_EQ(on(FunctionKind::kLeakyRelu, 0.5, -1, 3).value, 0);
  EXPECT_EQ(on(FunctionKind::kLeakyRelu, 0.5, -1e-30, 3).point, 0);
  EXPECT_FALSE(on(FunctionKind::kLeakyRelu, 0.5, 0, 3).point) << "a line";
  EXPECT_FALSE(on(FunctionKind::kLeakyRelu, 0.5, -3, 0).point) << "a line";
}

TEST_F(FunctionLines, OthersAreSplitWhereTheyBendOrInTheMiddle) {
  EXPECT_NEAR(on(FunctionKind::kSigmoid, 0, -2, 3).point.value(), 0, 1e-3);
  EXPECT_EQ(on(FunctionKind::kSigmoid, 0, -0.01, 3).point, 1.495) << "the bend is near an end";
  EXPECT_EQ(on(FunctionKind::kExp, 0, 1, 3).point, 2);
  EXPECT_FALSE(on(FunctionKind::kExp, 0, 1, std::nextafter(1.0, 2.0)).point) << "nothing between";
  EXPECT_FALSE(on(FunctionKind::kExp, 0, 1, 1).point);
}

TEST_F(FunctionLines, APieceIsWhatTheFunctionIsThere) {
  on(FunctionKind::kLeakyRelu, 0.5, -1, 3);
  EXPECT_EQ(piece_on(*view_, -1, 0).slope, 0.5);
  EXPECT_EQ(piece_on(*view_, 0, 3).slope, 1);
  EXPECT_NEAR(piece_on(*view_, -1, 3).slope, 3.5 / 4, 1e-12) << "a chord";
  EXPECT_NEAR(piece_on(*view_, -1, 3).intercept, 0.375, 1e-12);
  EXPECT_EQ(piece_on(*view_, 2, 2).slope, 1);
}

TEST_F(FunctionLines, LinesTouchTheFunction) {
  const FunctionInterval interval = on(FunctionKind::kExp, 0, 0, 1);
  const FunctionOffset below = lower_line(*view_, interval, 1.5F);
  EXPECT_NEAR(below.touch, std::log(1.5), 1e-3);
  EXPECT_NEAR(below.offset, 1.5 - 1.5 * std::log(1.5), 1e-5);
  EXPECT_LE(below.offset, 1.5 - 1.5 * std::log(1.5) + 1e-15);
  const FunctionOffset above = upper_line(*view_, interval, 0.5F);
  EXPECT_EQ(above.touch, 1);
  EXPECT_NEAR(above.offset, std::exp(1) - 0.5, 1e-12);
}

TEST_F(FunctionLines, SlopesLieBetweenTheFlattestAndTheSteepest) {
  on(FunctionKind::kSigmoid, 0, -2, 3);
  const SlopeRange range = slopes_on(*view_, -2, 3);
  EXPECT_NEAR(static_cast<double>(range.most), 0.25, 1e-6) << "where it bends";
  EXPECT_NEAR(static_cast<double>(range.least), std::exp(-3) / std::pow(1 + std::exp(-3), 2), 1e-6);
  for (const float slope : {range.lower, range.upper}) {
    EXPECT_LE(range.least, slope);
    EXPECT_GE(range.most, slope);
  }
}

TEST_F(FunctionLines, AtAnEndOfTheDomainLinesAreTight) {
  const FunctionInterval root = on(FunctionKind::kSqrt, 0, 0, 4);
  for (const float slope : {0.3F, 2.0F, 50.0F})
    EXPECT_NEAR(upper_line(*view_, root, slope).offset, 1 / (4 * static_cast<double>(slope)), 1e-4);
  EXPECT_NEAR(lower_line(*view_, root, 0.5F).offset, 0, 1e-9);
  const FunctionInterval logarithm = on(FunctionKind::kLog, 0, 0, 1);
  EXPECT_NEAR(upper_line(*view_, logarithm, 2).offset, -1 - std::log(2), 1e-4);
  EXPECT_EQ(lower_line(*view_, logarithm, 2).offset, -INFINITY);
}

TEST_F(FunctionLines, WavesAreSplitAndBoundedFarOut) {
  const FunctionInterval interval = on(FunctionKind::kSin, 0, 1000, 1001);
  EXPECT_EQ(interval.point, 1000.5);
  EXPECT_NEAR(interval.value, std::sin(1000.5), 1e-9);
  const FunctionOffset above = upper_line(*view_, interval, 0);
  EXPECT_NEAR(above.offset, 1, 1e-9);
  EXPECT_NEAR(above.touch, 318.5 * std::acos(-1.0), 1e-3);
  const SlopeRange range = slopes_on(*view_, 1000, 1001);
  EXPECT_GT(range.most, 0.4F);
}

TEST_F(FunctionLines, OutsideOfTheDomainNothingIsKnown) {
  const FunctionInterval interval = on(FunctionKind::kLog, 0, -1, 1);
  EXPECT_EQ(lower_line(*view_, interval, 1).offset, -INFINITY);
  EXPECT_EQ(upper_line(*view_, interval, 1).offset, INFINITY);
  EXPECT_EQ(values_on(*view_, -1, 1).low, -INFINITY);
}

}  // namespace
}  // namespace bf_aot::decide
