#include <gtest/gtest.h>

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

}  // namespace
}  // namespace bf_aot::api
