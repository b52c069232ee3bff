#include "aot/decide/search/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "frontend/import/file/importer.h"
#include "planner/machine/machine_profile.h"
#include "planner/reference/executor.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot::decide {
namespace {

constexpr std::size_t kPoints = RowGradients::kPoints;

build::CompileOptions options_for(std::size_t outputs, unsigned seed) {
  build::CompileOptions options;
  options.planner.method = Method::kIbp;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.planner.profile = host_profile();
  std::mt19937 random(seed);
  LinearSpec& spec = options.spec.emplace();
  for (int row = 0; row < 3; ++row) {
    std::vector<double>& numbers = spec.rows.emplace_back();
    for (std::size_t i = 0; i < outputs; ++i)
      numbers.push_back(std::ldexp(static_cast<double>(random() % 17) - 8, -2));
  }
  return options;
}

// Rows are those of the reference in double, gradients those of its differences.
void expect_gradients(const Plan& plan, double least, double most) {
  RowGradients gradients(plan);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(least, most);
  const auto inputs = static_cast<std::size_t>(plan.input_count);
  const auto rows = static_cast<std::size_t>(plan.spec_rows);
  std::vector<std::vector<double>> points(kPoints, std::vector<double>(inputs));
  std::vector<float> x(inputs * kPoints), weights(rows * kPoints);
  for (std::size_t p = 0; p < kPoints; ++p)
    for (std::size_t i = 0; i < inputs; ++i) {
      x[i * kPoints + p] = static_cast<float>(value(random));
      points[p][i] = static_cast<double>(x[i * kPoints + p]);
    }
  for (float& weight : weights) weight = static_cast<float>(static_cast<int>(random() % 3)) - 1;

  const auto objective = [&](const std::vector<double>& at, std::size_t p) {
    const std::vector<double> y = reference::evaluate(plan, at, plan.spec_heads);
    double sum = 0;
    for (std::size_t r = 0; r < rows; ++r)
      sum += static_cast<double>(weights[r * kPoints + p]) * y[r];
    return sum;
  };
  const std::vector<float> made = gradients.rows(x);
  const std::vector<float> slopes = gradients.gradient(weights);
  int compared = 0;
  for (std::size_t p = 0; p < kPoints; ++p) {
    const std::vector<double> y = reference::evaluate(plan, points[p], plan.spec_heads);
    for (std::size_t r = 0; r < rows; ++r)
      EXPECT_NEAR(static_cast<double>(made[r * kPoints + p]), y[r], 1e-3 * (1 + std::fabs(y[r])));
    for (std::size_t i = 0; i < inputs; i += 1 + inputs / 12) {
      constexpr double kStep = 1e-5;
      std::vector<double> up = points[p], down = points[p];
      up[i] += kStep;
      down[i] -= kStep;
      const double left = (objective(points[p], p) - objective(down, p)) / kStep;
      const double right = (objective(up, p) - objective(points[p], p)) / kStep;
      if (std::fabs(left - right) > 1e-3 * (1 + std::fabs(left))) continue;  // a kink
      ++compared;
      EXPECT_NEAR(static_cast<double>(slopes[i * kPoints + p]), (left + right) / 2,
                  5e-3 * (1 + std::fabs(left)))
          << "point " << p << ", input " << i;
    }
  }
  EXPECT_GT(compared, static_cast<int>(kPoints));
}

void expect_gradients_of(const ImportedModel& model, double least, double most) {
  std::size_t outputs = 0;
  for (const ValueId id : model.graph.outputs)
    outputs += static_cast<std::size_t>(element_count(model.graph.value(id).shape));
  const build::CompileOptions options = options_for(outputs, 5);
  const auto lowered = build::run_planner(build::run_frontend({model.graph, model.info}, options),
                                          "network", options);
  expect_gradients(lowered->plan(), least, most);
}

void expect_gradients_of_file(const std::string& path, double least, double most) {
  expect_gradients_of(import_model(BF_SOURCE_DIR "/models/" + path), least, most);
}

TEST(RowGradientsTest, DenseNetworks) {
  expect_gradients_of_file("collision_avoidance_6x50.onnx", -0.5, 0.5);
  expect_gradients_of_file("digits_64x2.onnx", 0, 1);
}

TEST(RowGradientsTest, Convolutions) {
  expect_gradients_of_file("examples/robustness/digits_cnn.onnx", 0, 1);
}

// Products, maxima, functions, gathers and sums of several tensors.
constexpr char kMixed[] = R"(
ir_version: 6
graph {
  node { input: "x" input: "w" input: "b" output: "h" op_type: "Conv"
         attribute { name: "kernel_shape" ints: [3, 3] type: INTS }
         attribute { name: "pads" ints: [1, 1, 1, 1] type: INTS } }
  node { input: "h" output: "s" op_type: "Sigmoid" }
  node { input: "h" output: "t" op_type: "Tanh" }
  node { input: "s" input: "t" output: "p" op_type: "Mul" }
  node { input: "p" output: "m" op_type: "MaxPool"
         attribute { name: "kernel_shape" ints: [2, 2] type: INTS }
         attribute { name: "strides" ints: [2, 2] type: INTS } }
  node { input: "s" output: "a" op_type: "AveragePool"
         attribute { name: "kernel_shape" ints: [2, 2] type: INTS }
         attribute { name: "strides" ints: [2, 2] type: INTS } }
  node { input: "m" input: "a" output: "c" op_type: "Concat"
         attribute { name: "axis" i: 1 type: INT } }
  node { input: "c" output: "r" op_type: "Transpose"
         attribute { name: "perm" ints: [0, 2, 3, 1] type: INTS } }
  node { input: "r" output: "y" op_type: "Flatten" attribute { name: "axis" i: 1 type: INT } }
  name: "mixed"
  initializer { dims: [2, 1, 3, 3] data_type: 1 name: "w"
    float_data: [1, -1, 0.5, 2, 0.25, -3, 0.5, 1, -1, -0.5, 1, 2, -1, 1, 0.25, 0.75, -2, 1] }
  initializer { dims: [2] data_type: 1 float_data: [0.5, -0.25] name: "b" }
  input { name: "x" type { tensor_type { elem_type: 1 shape {
    dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 4 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape {
    dim { dim_value: 1 } dim { dim_value: 16 } } } } }
}
opset_import { version: 11 })";

TEST(RowGradientsTest, EveryKindOfLayer) {
  const std::string bytes = test::encode_model(kMixed);
  expect_gradients_of(import_model_bytes(bytes, "mixed.onnx", {}), -1, 1);
}

// A step has the slope of a chord that most elements of its layer see.
TEST(RowGradientsTest, Steps) {
  constexpr char kSteps[] = R"(
ir_version: 6
graph {
  node { input: "x" output: "s" op_type: "Sign" }
  node { input: "s" input: "c" output: "t" op_type: "Add" }
  node { input: "t" output: "y" op_type: "Sign" }
  name: "steps"
  initializer { dims: [1, 3] data_type: 1 float_data: [0.1, 0.1, 0.1] name: "c" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 3 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 3 } } } } }
}
opset_import { version: 11 })";
  ImportedModel model = import_model_bytes(test::encode_model(kSteps), "steps.onnx", {});
  build::CompileOptions options = options_for(3, 5);
  options.spec->rows = {{1, 0, -2}};
  const auto lowered =
      build::run_planner(build::run_frontend({model.graph, model.info}, options), "net", options);
  RowGradients gradients(lowered->plan());
  std::vector<float> x(3 * kPoints, 0.5F);
  for (std::size_t p = 0; p < kPoints; ++p) x[kPoints + p] = x[2 * kPoints + p] = -0.75F;
  EXPECT_EQ(gradients.rows(x)[0], 3);
  const std::vector<float>& slopes = gradients.gradient(std::vector<float>(kPoints, 1.0F));
  EXPECT_GT(slopes[0], 0);
  EXPECT_EQ(slopes[kPoints], 0);
  EXPECT_LT(slopes[2 * kPoints], 0);
}

}  // namespace
}  // namespace bf_aot::decide
