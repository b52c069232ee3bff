// What --arithmetic integer refuses, with which code, naming which node.

#include <gtest/gtest.h>

#include <string>

#include "aot/build/choose_arithmetic.h"
#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "tests/integer/quantised_model.h"
#include "tests/support/model_text.h"

namespace bf_aot::integer_test {
namespace {

// A quantised input x, read by nodes that make y of shape [1, 2].
std::string model_with(const std::string& nodes, const std::string& more = {}) {
  return R"(ir_version: 8 opset_import { version: 13 } graph {
    name: "g"
    node { op_type: "QuantizeLinear" name: "q" input: "x" input: "s" input: "z" output: "qx" }
    node { op_type: "DequantizeLinear" name: "d" input: "qx" input: "s" input: "z" output: "dx" }
    initializer { name: "s" data_type: 1 float_data: 0.01 }
    initializer { name: "z" data_type: 3 int32_data: 0 }
    input { name: "x" type { tensor_type { elem_type: 1
      shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1
      shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
)" + nodes +
         more + "}";
}

build::CompileOptions integers() {
  build::CompileOptions options;
  options.planner.method = Method::kIbp;
  options.planner.target = find_target("generic");
  options.planner.arithmetic = Arithmetic::kInteger;
  return options;
}

// "BF2113 Gemm 'g'"
std::string refusal(const std::string& text, const build::CompileOptions& options = integers()) {
  const test::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  test::write_bytes(path, test::encode_model(text));
  try {
    build::plan_model(path, options);
    return "nothing";
  } catch (const CompileError& error) {
    const Diagnostic& first = error.diagnostics().front();
    EXPECT_FALSE(first.hint.empty());
    return first.code + " " + first.where;
  }
}

const std::string kRound =
    R"(node { op_type: "QuantizeLinear" name: "q2" input: "t" input: "s" input: "z" output: "qt" }
       node { op_type: "DequantizeLinear" name: "d2"
              input: "qt" input: "s" input: "z" output: "y" })";

std::string weights(const std::string& data) {
  return "initializer { name: \"w\" data_type: 1 dims: 2 dims: 2 " + data + " }";
}

TEST(IntegerRefusals, TakesWhatIsRounded) {
  EXPECT_EQ(
      refusal(model_with(
          R"(node { op_type: "MatMul" name: "m" input: "dx" input: "w" output: "t" })" + kRound,
          weights("float_data: 0.5 float_data: 0.25 float_data: -1 float_data: 2"))),
      "nothing");
}

TEST(IntegerRefusals, OutputsThatAreFunctionsOfSums) {
  const std::string dense =
      R"(node { op_type: "MatMul" name: "m" input: "dx" input: "w" output: ")";
  const std::string weight =
      weights("float_data: 0.5 float_data: 0.25 float_data: -1 float_data: 2");
  EXPECT_EQ(refusal(model_with(dense + "y\" }", weight)), "nothing");
  EXPECT_EQ(refusal(model_with(dense + R"(t" }
                node { op_type: "Sigmoid" name: "s" input: "t" output: "y" })",
                               weight)),
            "BF2113 MatMul 'm' + Sigmoid 's'");
}

TEST(IntegerRefusals, WeightsThatAreNoGrid) {
  EXPECT_EQ(
      refusal(model_with(
          R"(node { op_type: "MatMul" name: "m" input: "dx" input: "w" output: "t" })" + kRound,
          weights("float_data: 0.5 float_data: 0.1 float_data: -1 float_data: 0.3"))),
      "BF2113 MatMul 'm' + QuantizeLinear 'q2'");
}

TEST(IntegerRefusals, LayersThatReadNumbersOfNoGrid) {
  EXPECT_EQ(
      refusal(model_with(
          R"(node { op_type: "MatMul" name: "m" input: "x" input: "w" output: "t" })" + kRound,
          weights("float_data: 1 float_data: 2 float_data: -1 float_data: 2"))),
      "BF2113 MatMul 'm'");
  EXPECT_EQ(refusal(model_with(
                R"(node { op_type: "Relu" name: "r" input: "dx" output: "u" }
                   node { op_type: "MatMul" name: "m" input: "u" input: "w" output: "t" })" +
                    kRound,
                weights("float_data: 1 float_data: 2 float_data: -1 float_data: 2"))),
            "BF2113 MatMul 'm'");
}

TEST(IntegerRefusals, ProductsOfTwoTensors) {
  EXPECT_EQ(refusal(model_with(
                R"(node { op_type: "Mul" name: "p" input: "dx" input: "dx" output: "u" }
                   node { op_type: "Mul" name: "q3" input: "u" input: "dx" output: "t" })" +
                kRound)),
            "BF2113 Mul 'q3'");
}

// The mean of 36 codes of scales that are powers of two has ties, and 1 / 36 is no double.
TEST(IntegerRefusals, TiesOfConstantsThatAreNoDoubles) {
  Random random(1);
  QuantisedModel model(random, Scales::kPowersOfTwo);
  const Tensor x = model.input({1, 1, 6, 6});
  EXPECT_EQ(refusal(model.finish(model.global_average(x))).substr(0, 24),
            "BF2115 GlobalAveragePool");
}

TEST(IntegerRefusals, OptionsThatIntegersDoNotHave) {
  Random random(1);
  const std::string text = random_model(random);
  EXPECT_EQ(refusal(text), "nothing");
  build::CompileOptions options = integers();
  options.planner.method = Method::kCrownIbp;
  EXPECT_EQ(refusal(text, options), "BF2114 --arithmetic integer");
  options = integers();
  options.planner.batch = 2;
  EXPECT_EQ(refusal(text, options), "BF2114 --arithmetic integer");
  options = integers();
  options.planner.workers = 2;
  EXPECT_EQ(refusal(text, options), "BF2114 --arithmetic integer");
  options = integers();
  options.planner.reuse.ibp = true;
  EXPECT_EQ(refusal(text, options), "BF2114 --arithmetic integer");
  options = integers();
  options.planner.semantics = Semantics::kFloat32;
  EXPECT_EQ(refusal(text, options), "BF2114 --arithmetic integer");
}

// Codes beyond 256 values are links of a chain, whose roundings are exact: they cannot be loose.
TEST(IntegerRefusals, LooseCodesOfMoreThanAByte) {
  const auto model = [](const std::string& first, const std::string& second) {
    return R"(ir_version: 10 opset_import { version: 21 } graph {
      name: "g"
      node { op_type: "QuantizeLinear" name: "q" input: "x" input: "s" input: ")" +
           first + R"(" output: "qx" }
      node { op_type: "DequantizeLinear" name: "d" input: "qx" input: "s" input: ")" +
           first + R"(" output: "dx" }
      node { op_type: "QuantizeLinear" name: "q2" input: "dx" input: "s" input: ")" +
           second + R"(" output: "qt" }
      node { op_type: "DequantizeLinear" name: "d2" input: "qt" input: "s" input: ")" +
           second + R"(" output: "y" }
      initializer { name: "s" data_type: 1 float_data: 0.25 }
      initializer { name: "byte" data_type: 2 int32_data: 128 }
      initializer { name: "short" data_type: 5 int32_data: 3 }
      input { name: "x" type { tensor_type { elem_type: 1
        shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
      output { name: "y" type { tensor_type { elem_type: 1
        shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } } })";
  };
  build::CompileOptions loose = integers();
  loose.planner.semantics = Semantics::kQuantisedAny;
  EXPECT_EQ(refusal(model("byte", "byte"), loose), "nothing");
  EXPECT_EQ(refusal(model("short", "byte")), "nothing");
  EXPECT_EQ(refusal(model("short", "byte"), loose), "BF2113 QuantizeLinear 'q'");
  EXPECT_EQ(refusal(model("byte", "short"), loose), "BF2113 QuantizeLinear 'q2'");
}

// Auto takes integers where there is no floating-point unit, and floats where integers are refused.
TEST(IntegerRefusals, AutoChoosesByTargetNetworkAndOptions) {
  Random random(1);
  const test::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  test::write_bytes(path, test::encode_model(random_model(random)));
  const ImportedModel quantised = import_model(path);
  const auto chosen = [&](const build::CompileOptions& options) {
    return build::choose_arithmetic(quantised.graph, quantised.info, options).arithmetic;
  };
  build::CompileOptions options = integers();
  options.planner.arithmetic = Arithmetic::kAuto;
  EXPECT_EQ(chosen(options), Arithmetic::kFloat);
  for (const char* const target : {"cortex-m4", "cortex-m55", "aarch64", "riscv64"}) {
    options.planner.target = find_target(target);
    EXPECT_EQ(chosen(options), Arithmetic::kFloat) << target;
  }
  for (const char* const target : {"riscv32", "cortex-m3", "cortex-m0plus"}) {
    options.planner.target = find_target(target);
    EXPECT_EQ(chosen(options), Arithmetic::kInteger) << target;
  }
  options.planner.method = Method::kCrownIbp;
  EXPECT_EQ(chosen(options), Arithmetic::kFloat);
  options.method_is_default = true;
  EXPECT_EQ(chosen(options), Arithmetic::kInteger);
  options.method_is_default = false;
  options.planner.method = Method::kAuto;
  EXPECT_EQ(chosen(options), Arithmetic::kInteger);
  test::write_bytes(path, test::encode_model(model_with(
                              R"(node { op_type: "Relu" name: "r" input: "x" output: "y" })")));
  const ImportedModel floats = import_model(path);
  const build::ArithmeticChoice choice =
      build::choose_arithmetic(floats.graph, floats.info, options);
  EXPECT_EQ(choice.arithmetic, Arithmetic::kFloat);
  EXPECT_EQ(choice.reason, "input 'x' + Relu 'r': an output is not rounded to codes");
}

}  // namespace
}  // namespace bf_aot::integer_test
