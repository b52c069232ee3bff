#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

constexpr char kInput[] =
    "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } "
    "dim { dim_value: 2 } } } } }";

Graph import_body(const std::string& body, const std::string& outputs = "output { name: \"y\" }") {
  return import_model_bytes(
             test::encode_model("ir_version: 8 opset_import { version: 17 } graph { name: \"g\" " +
                                body + kInput + outputs + " }"),
             "m", {})
      .graph;
}

std::size_t relus_of(const Graph& graph) {
  std::size_t neurons = 0;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Relu>(node.op))
      neurons += static_cast<std::size_t>(element_count(graph.value(node.output).shape));
  return neurons;
}

// The normalised graph has so many neurons with ReLU, and the same values.
void expect_neurons(const Graph& imported, std::size_t expected) {
  Graph graph = imported;
  normalise(graph, {});
  EXPECT_EQ(relus_of(graph), expected);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(-2, 2);
  for (int round = 0; round < 50; ++round) {
    const std::vector<double> x = {any(random), any(random)};
    const auto before = evaluate(imported, {x}), after = evaluate(graph, {x});
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t k = 0; k < before[i].size(); ++k)
        EXPECT_NEAR(before[i][k], after[i][k], 1e-12);
  }
}

std::string layers(const std::string& w, const std::string& b, const std::string& v,
                   const std::string& dims) {
  return "initializer { name: \"w\" data_type: 1 dims: 2 dims: " + dims + " float_data: [" + w +
         "] } initializer { name: \"b\" data_type: 1 dims: " + dims + " float_data: [" + b +
         "] } initializer { name: \"v\" data_type: 1 dims: " + dims + " dims: 1 float_data: [" + v +
         "] } node { op_type: \"Gemm\" input: \"x\" input: \"w\" input: \"b\" output: \"h\" }"
         " node { op_type: \"Relu\" input: \"h\" output: \"a\" }"
         " node { op_type: \"MatMul\" input: \"a\" input: \"v\" output: \"y\" }";
}

TEST(FoldReluPairs, InLayers) {
  expect_neurons(
      import_body(layers("1, 3, -1, -3, 2, 4, -2, -4", "0.5, 1, -0.5, -1", "7, 1, -7, 1", "4")), 2);
  // All of them: no ReLU is left. Zeros have two signs.
  expect_neurons(import_body(layers("1, -1, 0, -0.0", "0.5, -0.5", "7, -7", "2")), 0);
  // Twice the same pair, and one half of it again.
  expect_neurons(import_body(layers("1, -1, 1, -1, 1, 2, -2, 2, -2, 2", "0, 0, 0, 0, 0",
                                    "3, -3, 3, -3, 3", "5")),
                 1);
}

TEST(FoldReluPairs, OthersStay) {
  // Another weight, another bias, other columns.
  expect_neurons(import_body(layers("1, -1.5, 2, -2", "0, 0", "7, -7", "2")), 2);
  expect_neurons(import_body(layers("1, -1, 2, -2", "0.5, 0.5", "7, -7", "2")), 2);
  expect_neurons(import_body(layers("1, -1, 2, -2", "0, 0", "7, -6", "2")), 2);
  // Somebody else reads the neurons.
  expect_neurons(import_body(layers("1, -1, 2, -2", "0, 0", "7, -7", "2"),
                             "output { name: \"y\" } output { name: \"a\" }"),
                 2);
}

TEST(FoldReluPairs, Elementwise) {
  const std::string body =
      "initializer { name: \"turned\" data_type: 7 dims: 2 int64_data: 1 int64_data: 0 }"
      " node { op_type: \"Gather\" input: \"x\" input: \"turned\" output: \"t\""
      " attribute { name: \"axis\" type: INT i: 1 } }"
      " node { op_type: \"Mul\" input: \"x\" input: \"t\" output: \"z\" }"
      " node { op_type: \"Relu\" input: \"z\" output: \"p\" }"
      " node { op_type: \"Neg\" input: \"z\" output: \"n\" }"
      " node { op_type: \"Relu\" input: \"n\" output: \"q\" }";
  expect_neurons(import_body(body + " node { op_type: \"Sub\" input: \"p\" input: \"q\" "
                                    "output: \"y\" }"),
                 0);
  expect_neurons(import_body(body + " node { op_type: \"Add\" input: \"p\" input: \"q\" "
                                    "output: \"y\" }"),
                 4);
}

}  // namespace
}  // namespace bf_aot
