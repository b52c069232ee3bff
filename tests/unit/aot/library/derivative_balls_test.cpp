#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

const std::string kModels = BF_SOURCE_DIR "/models/";
const std::vector<std::size_t> kBoth = {0, 1};
const std::string kProperty =
    "(declare-const X_0 Real)(declare-const X_1 Real)"
    "(declare-const Y_0 Real)(declare-const Y_1 Real)(declare-const Y_2 Real)(declare-const Y_3 "
    "Real)"
    "(assert (>= X_0 2.5))(assert (<= X_0 3))(assert (>= X_1 0))(assert (<= X_1 0.1))"
    "(assert (<= Y_0 0.25))";

// y_0 = h_0 - h_1 + 1/2, y_1 = -h_0 / 2 + h_1 / 4 - 1,
// h_0 = relu(x_0 - 2 x_1), h_1 = relu(x_0 / 2 + 3 x_1 + 1).
Model tiny_derivative(const std::vector<std::size_t>& inputs) {
  return Model::load(kModels + "tiny.onnx").value().derivative(inputs).value();
}

template <class T>
std::string code(const Result<T>& result) {
  return result ? "" : result.error().code;
}

TEST(LibraryDerivative, IsAModelOfSlopes) {
  const Model slopes = tiny_derivative(kBoth);
  EXPECT_EQ(slopes.input_count(), 2U);
  ASSERT_EQ(slopes.outputs().size(), 2U);
  EXPECT_EQ(slopes.outputs()[1].name, "d(y)/d(x[1])");
  const Verifier verifier = Verifier::make(slopes).value();
  // Both neurons are on, then the first alone, then it is either.
  const std::vector<float> lower = {2.5F, -0.1F, 3, -2, -0.5F, -0.5F};
  const std::vector<float> upper = {3, 0.1F, 3.5F, -1.9F, 0.5F, 0.5F};
  const Bounds bounds = verifier.bounds(lower, upper).value();
  const std::vector<double> on = {0.5, -0.375, -5, 1.75}, first = {1, -0.5, -2, 1};
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(bounds.lower[j], on[j], 1e-5);
    EXPECT_NEAR(bounds.upper[j], on[j], 1e-5);
    EXPECT_NEAR(bounds.lower[4 + j], first[j], 1e-5);
    EXPECT_NEAR(bounds.upper[4 + j], first[j], 1e-5);
  }
  EXPECT_LE(bounds.lower[8], -0.5F);
  EXPECT_GE(bounds.upper[8], 1);
}

TEST(LibraryDerivative, HasASpecificationCodeAndVerdicts) {
  const Model slopes = tiny_derivative(kBoth);
  const Verifier sum = Verifier::make(slopes, {}, {{1, 0, 1, 0}, {}}).value();
  const std::vector<float> point = {2.5F, 0};
  EXPECT_NEAR(sum.spec_bounds(point, point).value().lower[0], -4.5, 1e-5);
  EXPECT_TRUE(compile(slopes, "slopes"));
  EXPECT_EQ(verify_text(slopes, kProperty).value().verdict, Verdict::kVerified);
}

TEST(LibraryDerivative, IsOfRealArithmeticAlone) {
  const Model slopes = tiny_derivative(kBoth);
  for (const Semantics semantics :
       {Semantics::kFloat32, Semantics::kFloat32Flushed, Semantics::kFloat32Exact}) {
    Options options;
    options.semantics = semantics;
    EXPECT_EQ(code(Verifier::make(slopes, options)), "BF3501");
    CodeOptions compiled;
    compiled.plan.semantics = semantics;
    EXPECT_EQ(code(compile(slopes, "slopes", compiled)), "BF3501");
    VerifyOptions asked;
    asked.semantics = semantics;
    EXPECT_EQ(code(verify_text(slopes, kProperty, asked)), "BF3501");
  }
}

TEST(LibraryDerivative, Errors) {
  const Model tiny = Model::load(kModels + "tiny.onnx").value();
  EXPECT_EQ(code(tiny.derivative({})), "BF2121");
  EXPECT_EQ(code(tiny.derivative(std::vector<std::size_t>{2})), "BF2121");
  // Slopes of a network with ReLU go in steps.
  EXPECT_EQ(code(tiny_derivative(kBoth).derivative(kBoth)), "BF2120");
}

// ---- balls

Bounds bounds_of(const Model& model, Norm norm, const std::vector<double>& lower,
                 const std::vector<double>& upper) {
  Options options;
  options.norm = norm;
  return Verifier::make(model, options).value().bounds(lower, upper).value();
}

// The range of a linear network over a ball; boxes of doubles are a little wider.
TEST(LibraryBalls, LinearNetworksHaveTheirRange) {
  const Model model = Model::load(kModels + "tiny_linear.onnx").value();
  const std::vector<double> centre = {0.3, -0.1}, radius = {0.1, 0.7};
  std::vector<double> lower, upper;
  for (std::size_t k = 0; k < 2; ++k) {
    lower.push_back(centre[k] - radius[k]);
    upper.push_back(centre[k] + radius[k]);
  }
  const Verifier network = Verifier::make(model).value();
  const auto value = [&](double x0, double x1, std::size_t j) {
    const std::vector<float> x = {static_cast<float>(x0), static_cast<float>(x1)};
    return static_cast<double>(network.evaluate(x).value()[j]);
  };
  const Bounds l2 = bounds_of(model, Norm::kL2, lower, upper);
  const Bounds l1 = bounds_of(model, Norm::kL1, lower, upper);
  for (std::size_t j = 0; j < 2; ++j) {
    const double middle = value(centre[0], centre[1], j);
    const double first = value(centre[0] + radius[0], centre[1], j) - middle;
    const double second = value(centre[0], centre[1] + radius[1], j) - middle;
    const double euclid = std::hypot(first, second);
    const double largest = std::max(std::abs(first), std::abs(second));
    EXPECT_NEAR(l2.lower[j], middle - euclid, 1e-4);
    EXPECT_NEAR(l2.upper[j], middle + euclid, 1e-4);
    EXPECT_NEAR(l1.lower[j], middle - largest, 1e-4);
    EXPECT_NEAR(l1.upper[j], middle + largest, 1e-4);
  }
}

TEST(LibraryBalls, WhatIsAboutBoxesIsRefused) {
  const Model model = Model::load(kModels + "tiny.onnx").value();
  Options options;
  options.norm = Norm::kL1;
  options.method = Method::kIbp;
  EXPECT_EQ(Verifier::make(model, options).error().code, "BF2117");
  VerifyOptions verify;
  verify.norm = Norm::kL2;
  verify.method = Method::kIbp;
  const std::string holds =
      "(declare-const X_0 Real)(declare-const X_1 Real)"
      "(declare-const Y_0 Real)(declare-const Y_1 Real)"
      "(assert (<= 0 X_0 1))(assert (<= 0 X_1 1))(assert (<= Y_0 -100))";
  EXPECT_EQ(verify_text(model, holds, verify).error().code, "BF2117");
  verify.method.reset();
  verify.checkpoint = "tree";
  EXPECT_EQ(verify_text(model, holds, verify).error().code, "BF2117");
  CodeOptions code;
  code.plan.norm = Norm::kL2;
  code.property =
      "(declare-const X_0 Real)(declare-const X_1 Real)"
      "(declare-const Y_0 Real)(declare-const Y_1 Real)"
      "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))(assert (<= X_1 1))"
      "(assert (<= Y_0 0))";
  EXPECT_EQ(compile(model, "monitor", code).error().code, "BF2117");
  code.property.clear();
  EXPECT_TRUE(compile(model, "monitor", code));
}

}  // namespace
}  // namespace bf_aot::api
