#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

// A model of input x [2] and output y, with functions.
ImportedModel import_calls(const std::string& nodes, const std::string& functions, int opset = 17,
                           const ModelCut& cut = {}) {
  return import_model_bytes(
      test::encode_model("ir_version: 8 opset_import { version: " + std::to_string(opset) +
                         " } opset_import { domain: \"f\" version: 1 } graph { name: \"g\" " +
                         nodes +
                         " input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { "
                         "dim_value: 2 } } } } } output { name: \"y\" } } " +
                         functions),
      "m", {}, {}, {}, cut);
}

std::vector<double> value_of(const ImportedModel& model, const std::vector<double>& x) {
  return evaluate(model.graph, {x})[0];
}

const std::string kFunctionHead = "opset_import { version: 17 } domain: \"f\" ";

// y = leaky(x, slope) + b; the slope is an attribute, 0.5 where the call gives none.
const std::string kLeaky = "functions { name: \"Leaky\" " + kFunctionHead + R"(
    input: "a" output: "r" attribute_proto { name: "slope" type: FLOAT f: 0.5 }
    node { op_type: "LeakyRelu" input: "a" output: "r"
           attribute { name: "alpha" type: FLOAT ref_attr_name: "slope" } } })";

TEST(ImportFunctions, AttributesAreGivenOrHaveDefaults) {
  const ImportedModel model = import_calls(
      R"(node { op_type: "Leaky" domain: "f" name: "one" input: "x" output: "h" }
         node { op_type: "Leaky" domain: "f" name: "two" input: "h" output: "y"
                attribute { name: "slope" type: FLOAT f: 0.25 } })",
      kLeaky);
  EXPECT_EQ(value_of(model, {-8, 3}), (std::vector<double>{-1, 3}));
}

// An attribute that neither the call nor the function gives is left out: LeakyRelu's is 0.01.
TEST(ImportFunctions, AttributesWithoutAValueAreLeftOut) {
  const std::string function = "functions { name: \"F\" " + kFunctionHead + R"(
    input: "a" output: "r" attribute: "slope"
    node { op_type: "LeakyRelu" input: "a" output: "r"
           attribute { name: "alpha" type: FLOAT ref_attr_name: "slope" } } })";
  const ImportedModel model =
      import_calls(R"(node { op_type: "F" domain: "f" input: "x" output: "y" })", function);
  EXPECT_NEAR(value_of(model, {-100, 1})[0], -1, 1e-6);
}

TEST(ImportFunctions, FunctionsCallFunctionsInAnyOrder) {
  const std::string nodes = R"(
      node { op_type: "Outer" domain: "f" name: "one" input: "x" input: "x" output: "t" output: "u" }
      node { op_type: "Outer" domain: "f" name: "two" input: "t" input: "x" output: "y" })";
  const std::string functions = "functions { name: \"Outer\" " + kFunctionHead + R"(
      input: "a" input: "b" output: "s" output: "b"
      node { op_type: "Leaky" domain: "f" name: "inner" input: "a" output: "t" }
      node { op_type: "Add" name: "add" input: "t" input: "b" output: "s" } })" +
                                kLeaky;
  // One output is an input: t = leaky(x) + x, then leaky(t) + x.
  EXPECT_EQ(value_of(import_calls(nodes, functions), {-4, 1}), (std::vector<double>{-7, 3}));
  // Names of tensors within calls may be cut at.
  ModelCut cut;
  cut.outputs = {"one/inner/r"};
  EXPECT_THROW(import_calls(nodes, functions, 17, cut), CompileError);
  cut.outputs = {"one/t"};
  EXPECT_EQ(value_of(import_calls(nodes, functions, 17, cut), {-4, 1}),
            (std::vector<double>{-2, 1}));
  const ImportedModel model = import_calls(nodes, functions);
  ASSERT_GE(model.nodes.size(), 5u);
  EXPECT_EQ(model.nodes[0].name, "one/inner/LeakyRelu");
  EXPECT_EQ(model.nodes[1].name, "one/add");
}

TEST(ImportFunctions, OverloadsAreToldApart) {
  const auto overload = [](const std::string& name, const std::string& op) {
    return "functions { name: \"F\" overload: \"" + name + "\" " + kFunctionHead +
           "input: \"a\" output: \"r\" node { op_type: \"" + op +
           "\" input: \"a\" output: \"r\" } }";
  };
  const ImportedModel model = import_calls(
      R"(node { op_type: "F" domain: "f" overload: "neg" input: "x" output: "h" }
         node { op_type: "F" domain: "f" overload: "abs" input: "h" output: "y" })",
      overload("abs", "Abs") + overload("neg", "Neg"));
  EXPECT_EQ(value_of(model, {-8, 3}), (std::vector<double>{8, 3}));
}

// Optional inputs that the call leaves out are left out in the function.
TEST(ImportFunctions, InputsMayBeLeftOut) {
  const std::string function = "functions { name: \"F\" " + kFunctionHead + R"(
    input: "a" input: "low" input: "high" output: "r"
    node { op_type: "Clip" input: "a" input: "low" input: "high" output: "r" } })";
  const std::string top = R"(initializer { name: "t" data_type: 1 float_data: 1 })";
  EXPECT_EQ(
      value_of(import_calls(top + R"(node { op_type: "F" domain: "f" input: "x" input: "" input: "t"
                                          output: "y" })",
                            function),
               {-8, 3}),
      (std::vector<double>{-8, 1}));
  EXPECT_EQ(value_of(import_calls(R"(node { op_type: "F" domain: "f" input: "x" output: "y" })",
                                  function),
                     {-8, 3}),
            (std::vector<double>{-8, 3}));
}

// Softmax of operator set 11 is over all dimensions from axis 1 on; of 13, over the last alone.
TEST(ImportFunctions, AFunctionIsReadByItsOwnOperatorSet) {
  const auto model = [](int inner) {
    return "functions { name: \"F\" domain: \"f\" opset_import { version: " +
           std::to_string(inner) +
           R"( } input: "a" output: "r" node { op_type: "Softmax" input: "a" output: "r" } })";
  };
  const std::string nodes = R"(
      initializer { name: "shape" dims: 3 data_type: 7 int64_data: [1, 2, 1] }
      node { op_type: "Reshape" input: "x" input: "shape" output: "h" }
      node { op_type: "F" domain: "f" input: "h" output: "y" })";
  EXPECT_EQ(value_of(import_calls(nodes, model(13)), {0, 0}), (std::vector<double>{1, 1}));
  EXPECT_EQ(value_of(import_calls(nodes, model(11)), {0, 0}), (std::vector<double>{0.5, 0.5}));
}

// Bodies read tensors of the function and of what calls it; their own names stay.
TEST(ImportFunctions, BodiesWithinAFunctionReadItsTensors) {
  const std::string function = "functions { name: \"F\" " + kFunctionHead + R"(
    input: "c" input: "a" output: "r"
    node { op_type: "Neg" input: "a" output: "n" }
    node { op_type: "If" input: "c" output: "r"
      attribute { name: "then_branch" type: GRAPH g { output { name: "o" }
        node { op_type: "Leaky" domain: "f" input: "n" output: "o" } } }
      attribute { name: "else_branch" type: GRAPH g { output { name: "a" } } } } })" +
                               kLeaky;
  for (const int condition : {0, 1}) {
    const ImportedModel model = import_calls(
        R"(initializer { name: "c" data_type: 9 int32_data: )" + std::to_string(condition) + R"( }
           node { op_type: "F" domain: "f" input: "c" input: "x" output: "y" })",
        function);
    EXPECT_EQ(value_of(model, {8, -3}),
              (condition != 0 ? std::vector<double>{-4, 3} : std::vector<double>{8, -3}));
  }
}

}  // namespace
}  // namespace bf_aot
