#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "frontend/functions/function_facts.h"

namespace bf_aot {
namespace {

double at(FunctionKind kind, double x, double a = 0, double b = 0) {
  return evaluate({kind, a, b}, x);
}

TEST(Functions, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const FunctionFacts& facts : function_facts()) names.insert(facts.name);
  EXPECT_EQ(names.size(), kFunctionKinds);
  EXPECT_EQ(name_of(FunctionKind::kGeluTanh), "gelu_tanh");
  EXPECT_EQ(to_string({FunctionKind::kSigmoid, 0, 0}), "sigmoid");
  EXPECT_EQ(to_string({FunctionKind::kLeakyRelu, 0.01, 0}), "leaky_relu(0.01)");
  EXPECT_EQ(to_string({FunctionKind::kClip, 0, std::numeric_limits<double>::infinity()}),
            "clip(0, inf)");
}

TEST(Functions, StepsAreExact) {
  EXPECT_EQ(at(FunctionKind::kSign, 0), 0);
  EXPECT_EQ(at(FunctionKind::kSign, -1e-300), -1);
  EXPECT_EQ(at(FunctionKind::kStep, 0), 0);
  EXPECT_EQ(at(FunctionKind::kStepAt, 0), 1);
  EXPECT_EQ(at(FunctionKind::kIsZero, -0.0), 1);
  EXPECT_EQ(at(FunctionKind::kFloor, -0.5), -1);
  EXPECT_EQ(at(FunctionKind::kCeil, -0.5), 0);
  for (double x : {0.5, -0.5, 0.25}) EXPECT_EQ(at(FunctionKind::kRound, x, 1), 0) << x;
  EXPECT_EQ(at(FunctionKind::kRound, 1.5, 1), 2);
  EXPECT_EQ(at(FunctionKind::kRound, 2.5, 1), 2);
  // 0.25 / 0.1 rounds to 2.5, but the double 0.1 is above a tenth: no tie, and 2 is nearest.
  EXPECT_EQ(at(FunctionKind::kRound, 0.25, 0.1), 2);
  // 0.35 is below, 0.1 above: 3.5 is not reached.
  EXPECT_EQ(at(FunctionKind::kRound, 0.35, 0.1), 3);
}

TEST(Functions, LinearPiecesMeetTheirDefinitions) {
  EXPECT_EQ(at(FunctionKind::kLeakyRelu, -2, 0.5), -1);
  EXPECT_EQ(at(FunctionKind::kClip, 3, -1, 2), 2);
  EXPECT_EQ(at(FunctionKind::kClip, 3, 2, 1), 1);
  EXPECT_EQ(at(FunctionKind::kHardSigmoid, 1, 0.25, 0.5), 0.75);
  EXPECT_EQ(at(FunctionKind::kThresholdedRelu, 1, 1), 0);
  EXPECT_EQ(at(FunctionKind::kShrink, -2, 1.5, 0.5), -1.5);
  EXPECT_EQ(at(FunctionKind::kShrink, 1.5, 1.5, 0.5), 0);
  EXPECT_TRUE(is_piecewise_linear(FunctionKind::kIsZero));
  EXPECT_FALSE(is_piecewise_linear(FunctionKind::kSigmoid));
}

TEST(Functions, SmoothOnesKeepTheirPrecisionFarOut) {
  EXPECT_NEAR(at(FunctionKind::kSigmoid, -700) / std::exp(-700.0), 1, 1e-14);
  EXPECT_NEAR(at(FunctionKind::kSoftplus, -50) / std::exp(-50.0), 1, 1e-14);
  EXPECT_EQ(at(FunctionKind::kSoftplus, 1000), 1000);
  EXPECT_NEAR(at(FunctionKind::kGelu, -10) / -7.61985302416e-23, 1, 1e-9);
  EXPECT_EQ(at(FunctionKind::kMish, 800), 800);
  EXPECT_NEAR(at(FunctionKind::kMish, 1), std::tanh(std::log1p(std::exp(1.0))), 1e-15);
  EXPECT_NEAR(at(FunctionKind::kCelu, -1, 2), 2 * std::expm1(-0.5), 1e-15);
  EXPECT_NEAR(at(FunctionKind::kSelu, -1, 2, 3), 6 * std::expm1(-1), 1e-15);
  EXPECT_NEAR(at(FunctionKind::kHardSwish, 1), 2.0 / 3, 1e-15);
  EXPECT_NEAR(at(FunctionKind::kGeluTanh, 1), 0.8411919906082768, 1e-15);
}

TEST(Functions, AreNanOutsideOfTheirDomain) {
  for (double x : {0.0, -1.0}) EXPECT_TRUE(std::isnan(at(FunctionKind::kLog, x))) << x;
  EXPECT_TRUE(std::isnan(at(FunctionKind::kSqrt, -1)));
  EXPECT_EQ(at(FunctionKind::kSqrt, 0), 0);
  EXPECT_TRUE(std::isnan(at(FunctionKind::kReciprocal, 0)));
  EXPECT_TRUE(std::isnan(at(FunctionKind::kPower, -1, 0.5)));
  EXPECT_TRUE(std::isnan(at(FunctionKind::kPower, 0, -2)));
  EXPECT_EQ(at(FunctionKind::kPower, -2, 3), -8);
  for (double x : {-1.5, 1.5}) {
    EXPECT_TRUE(std::isnan(at(FunctionKind::kAsin, x))) << x;
    EXPECT_TRUE(std::isnan(at(FunctionKind::kAcos, x))) << x;
    EXPECT_TRUE(std::isnan(at(FunctionKind::kAtanh, x))) << x;
  }
  EXPECT_TRUE(std::isnan(at(FunctionKind::kAtanh, 1)));
  EXPECT_TRUE(std::isnan(at(FunctionKind::kAcosh, 0.5)));
}

}  // namespace
}  // namespace bf_aot
