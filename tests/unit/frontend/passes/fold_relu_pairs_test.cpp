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

// h = sparse x, in which rows 2 k and 2 k + 1 are opposite, r = relu h, y = sparse r.
Graph sparse_layers(const std::vector<double>& outer) {
  constexpr std::int64_t kInputs = 8, kNeurons = 8;
  Graph graph;
  const ValueId x = graph.add_value("x", {1, kInputs}), h = graph.add_value("h", {1, kNeurons}),
                r = graph.add_value("r", {1, kNeurons}), y = graph.add_value("y", {1, 2});
  graph.inputs = {x};
  graph.outputs = {y};
  SparseAffine inner;
  inner.row_start = {0};
  for (std::int64_t row = 0; row < kNeurons; ++row) {
    const double sign = row % 2 == 0 ? 1 : -1;
    for (const std::int64_t column : {row / 2, row / 2 + 4}) {
      inner.column.push_back(column);
      inner.value.data.push_back(sign * static_cast<double>(column + 1) / 8);
    }
    inner.row_start.push_back(static_cast<std::int64_t>(inner.column.size()));
    inner.bias.data.push_back(sign * 0.25);
  }
  inner.value.shape = {static_cast<std::int64_t>(inner.column.size())};
  inner.bias.shape = {kNeurons};
  SparseAffine last;
  last.row_start = {0, 4, 8};
  last.column = {0, 1, 2, 3, 4, 5, 6, 7};
  last.value = {{8}, outer, {}};
  last.bias = {{2}, {1, 2}, {}};
  graph.nodes = {{inner, {x}, h, {}}, {Relu{}, {h}, r, {}}, {last, {r}, y, {}}};
  return graph;
}

TEST(FoldReluPairs, InSparseLayers) {
  for (const auto& [outer, left] :
       std::vector<std::pair<std::vector<double>, std::size_t>>{{{1, -1, 2, -2, 3, -3, 4, -4}, 0},
                                                                {{1, -1, 2, -3, 3, -3, 4, 4}, 4},
                                                                {{1, 1, 2, 2, 3, -4, 4, -5}, 8}}) {
    const Graph before = sparse_layers(outer);
    Graph after = before;
    EXPECT_EQ(fold_relu_pairs(after), left < 8);
    EXPECT_EQ(relus_of(after), left);
    std::mt19937 random(5);
    std::uniform_real_distribution<double> any(-2, 2);
    for (int round = 0; round < 50; ++round) {
      std::vector<double> x(8);
      for (double& each : x) each = any(random);
      const auto was = evaluate(before, {x}), is = evaluate(after, {x});
      for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(was[0][k], is[0][k], 1e-12);
    }
  }
}

// Neurons of rows without weights are constants, which other passes fold: as a pair they would take
// nodes more.
TEST(FoldReluPairs, ConstantsAreNoPairs) {
  for (const bool zeros : {false, true}) {
    Graph graph = sparse_layers({1, -1, 2, -2, 3, -4, 4, -5});
    auto& inner = std::get<SparseAffine>(graph.nodes[0].op);
    for (const std::size_t row : {0, 1, 2, 3})
      for (auto k = inner.row_start[row]; k < inner.row_start[row + 1]; ++k)
        inner.value.data[static_cast<std::size_t>(k)] = 0;
    if (!zeros) {  // left out, as importers leave them out
      inner.value.data.erase(inner.value.data.begin(), inner.value.data.begin() + 8);
      inner.column.erase(inner.column.begin(), inner.column.begin() + 8);
      for (std::int64_t& start : inner.row_start) start = std::max<std::int64_t>(0, start - 8);
      inner.value.shape = {static_cast<std::int64_t>(inner.column.size())};
    }
    EXPECT_FALSE(fold_relu_pairs(graph));
  }
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
