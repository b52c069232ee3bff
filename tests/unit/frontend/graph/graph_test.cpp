#include "frontend/graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

Constant matrix(std::int64_t rows, std::int64_t columns) {
  Constant result{{rows, columns}, {}, {}};
  for (std::int64_t i = 0; i < rows * columns; ++i) result.data.push_back(static_cast<double>(i));
  return result;
}

// y = relu(W x + b) and z = x reversed, scaled.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  const ValueId x = graph.add_value("x", {1, 2});
  graph.inputs = {x};
  const ValueId h = graph.add_value("h", {1, 3});
  const ValueId y = graph.add_value("y", {3});
  const ValueId r = graph.add_value("r", {2});
  const ValueId z = graph.add_value("z", {2, 1});
  graph.nodes = {
      {Affine{matrix(3, 2), {{3}, {0.1, -0.0, 1e300}, {0, 1e-17, 0}}}, {x}, h, "Gemm 'fc'"},
      {Relu{}, {h}, y, "Relu #1"},
      {IndexMap{{1, 0}}, {x}, r, "Transpose #2"},
      {Scale{{{2}, {2, 3}, {}}, {{2}, {0, 0}, {}}}, {r}, z, ""},
  };
  graph.outputs = {y, z};
  return graph;
}

TEST(GraphPrinter, prints_one_node_a_line) {
  EXPECT_EQ(to_string(small_graph()),
            "graph 'small'\n"
            "  input %0 'x' [1, 2]\n"
            "  %1 'h' [1, 3] = affine %0 [3 x 2] weight {0, 1, 2, 3, 4, 5}"
            " bias {0.1, -0, 1e+300} +- {0, 1e-17, 0}   # Gemm 'fc'\n"
            "  %2 'y' [3] = relu %1   # Relu #1\n"
            "  %3 'r' [2] = index_map %0 [1, 0]   # Transpose #2\n"
            "  %4 'z' [2, 1] = scale %3 factor {2, 3} offset {0, 0}\n"
            "  output %2\n"
            "  output %4\n");
}

TEST(GraphPrinter, prints_every_operator) {
  Graph graph;
  const ValueId x = graph.add_value("x", {2, 2});
  graph.inputs = {x};
  const auto add = [&](Op op, std::vector<ValueId> inputs, Shape shape) {
    const ValueId id = graph.add_value("v", std::move(shape));
    graph.nodes.push_back({std::move(op), std::move(inputs), id, ""});
    return id;
  };
  const ValueId w = add(Literal{matrix(2, 2)}, {}, {2, 2});
  const ValueId large = add(Literal{matrix(2, 5)}, {}, {2, 5});
  Constant inexact = matrix(3, 3);
  inexact.error.assign(9, 1e-20);
  add(Literal{inexact}, {}, {3, 3});
  add(MatMul{}, {x, large}, {2, 5});
  add(Gemm{}, {x, w}, {2, 2});
  add(Gemm{0.5, 2, true, true}, {x, w, w}, {2, 2});
  add(Binary{Binary::Kind::kAdd}, {x, w}, {2, 2});
  add(Binary{Binary::Kind::kSub}, {x, w}, {2, 2});
  add(Binary{Binary::Kind::kMul}, {x, w}, {2, 2});
  add(Binary{Binary::Kind::kDiv}, {x, w}, {2, 2});
  add(IndexMap{{0, 1, 2, 3}}, {x}, {4});
  graph.outputs = {add(IndexMap{{0, 1, 2, 3, 0, 0, 0, 0, 0}}, {x}, {9})};
  verify(graph);
  EXPECT_EQ(to_string(graph),
            "graph ''\n"
            "  input %0 'x' [2, 2]\n"
            "  %1 'v' [2, 2] = literal value {0, 1, 2, 3}\n"
            "  %2 'v_2' [2, 5] = literal\n"
            "  %3 'v_3' [3, 3] = literal value inexact\n"
            "  %4 'v_4' [2, 5] = matmul %0, %2\n"
            "  %5 'v_5' [2, 2] = gemm %0, %1\n"
            "  %6 'v_6' [2, 2] = gemm %0, %1, %1 alpha=0.5 beta=2 trans_a trans_b\n"
            "  %7 'v_7' [2, 2] = add %0, %1\n"
            "  %8 'v_8' [2, 2] = sub %0, %1\n"
            "  %9 'v_9' [2, 2] = mul %0, %1\n"
            "  %10 'v_10' [2, 2] = div %0, %1\n"
            "  %11 'v_11' [4] = index_map %0 identity\n"
            "  %12 'v_12' [9] = index_map %0 [9 entries]\n"
            "  output %12\n");
}

TEST(Graph, counts_uses_with_outputs) {
  Graph graph = small_graph();
  EXPECT_EQ(count_uses(graph), (std::vector<int>{2, 1, 1, 1, 1}));
  graph.outputs.push_back(graph.outputs[0]);  // the same value twice is two outputs
  EXPECT_EQ(count_uses(graph), (std::vector<int>{2, 1, 2, 1, 1}));
}

TEST(Graph, finds_producers) {
  EXPECT_EQ(producers(small_graph()), (std::vector<int>{-1, 0, 1, 2, 3}));
}

TEST(Graph, makes_names_unique) {
  Graph graph;
  graph.add_value("a", {});
  graph.add_value("a_2", {});
  const ValueId id = graph.add_value("a", {4});
  EXPECT_EQ(graph.value(id).name, "a_3");
  EXPECT_EQ(graph.value(id).shape, (Shape{4}));
}

TEST(Graph, shapes) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3}), 6);
  EXPECT_EQ(element_count({2, 0}), 0);
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{1, 28, 28}), "[1, 28, 28]");
}

TEST(VerifyGraph, accepts_a_good_graph) {
  verify(small_graph());
}

TEST(VerifyGraph, accepts_an_input_as_output) {
  Graph graph = small_graph();
  graph.outputs.push_back(graph.inputs[0]);
  verify(graph);
}

// Each entry breaks one invariant.
using Break = void (*)(Graph&);
const std::pair<const char*, Break> kBreaks[] = {
    {"order", [](Graph& graph) { std::swap(graph.nodes[0], graph.nodes[1]); }},
    {"assigned_twice", [](Graph& graph) { graph.nodes.push_back(graph.nodes[1]); }},
    {"input_assigned", [](Graph& graph) { graph.nodes[1].output = graph.inputs[0]; }},
    {"input_twice", [](Graph& graph) { graph.inputs.push_back(graph.inputs[0]); }},
    {"unmade_output", [](Graph& graph) { graph.outputs.push_back(graph.add_value("o", {})); }},
    {"no_output", [](Graph& graph) { graph.outputs.clear(); }},
    {"output_out_of_range", [](Graph& graph) { graph.outputs.push_back(ValueId{9}); }},
    {"input_out_of_range", [](Graph& graph) { graph.nodes[1].inputs = {ValueId{9}}; }},
    {"self_reading", [](Graph& graph) { graph.nodes[1].inputs = {graph.nodes[1].output}; }},
    {"missing_operand", [](Graph& graph) { graph.nodes[1].inputs.clear(); }},
    {"shape", [](Graph& graph) { graph.values[2].shape = {4}; }},
    {"empty_value",
     [](Graph& graph) {
       graph.values[2].shape = {3, 0};
     }},
    {"name_twice", [](Graph& graph) { graph.values[2].name = "x"; }},
    {"map_out_of_range", [](Graph& graph) { std::get<IndexMap>(graph.nodes[2].op).source[0] = 2; }},
    {"map_negative", [](Graph& graph) { std::get<IndexMap>(graph.nodes[2].op).source[0] = -1; }},
    {"nan_weight",
     [](Graph& graph) { std::get<Affine>(graph.nodes[0].op).weight.data[0] = std::nan(""); }},
    {"infinite_bias",
     [](Graph& graph) { std::get<Affine>(graph.nodes[0].op).bias.data[0] = HUGE_VAL; }},
    {"negative_error",
     [](Graph& graph) { std::get<Affine>(graph.nodes[0].op).bias.error[0] = -1e-20; }},
    {"nan_error",
     [](Graph& graph) { std::get<Affine>(graph.nodes[0].op).bias.error[0] = std::nan(""); }},
    {"error_count", [](Graph& graph) { std::get<Affine>(graph.nodes[0].op).bias.error = {0}; }},
    {"data_count",
     [](Graph& graph) { std::get<Affine>(graph.nodes[0].op).weight.data.pop_back(); }},
    {"bias_shape",
     [](Graph& graph) {
       std::get<Affine>(graph.nodes[0].op).bias.shape = {1, 3};
     }},
    {"weight_columns",
     [](Graph& graph) {
       graph.values[0].shape = {1, 3};
     }},
    {"scale_count",
     [](Graph& graph) {
       std::get<Scale>(graph.nodes[3].op).factor = {{1}, {2}, {}};
     }},
};

TEST(VerifyGraphDeathTest, aborts_on_a_broken_graph) {
  for (const auto& [name, change] : kBreaks) {
    Graph graph = small_graph();
    change(graph);
    EXPECT_DEATH(verify(graph), "internal error: .*check failed") << name;
  }
}

TEST(VerifyGraphDeathTest, aborts_on_operands_that_do_not_broadcast) {
  Graph graph;
  graph.inputs = {graph.add_value("a", {2}), graph.add_value("b", {3})};
  graph.outputs = {graph.add_value("c", {3})};
  graph.nodes = {{Binary{}, graph.inputs, graph.outputs[0], "Add 'sum'"}};
  EXPECT_DEATH(verify(graph), "internal error: node Add 'sum': check failed");
}

// ---- networks that are merged into one

using namespace bf_aot::testing;  // the builder

Graph small_network(double weight) {
  Builder b({2});
  return b.outputs({b.relu(b.add(affine(1, 2, {weight, 1}, {0.5}), {b.x()}, {1}))});
}

TEST(MergeGraphs, KeepsInputsSideBySide) {
  const Graph merged = merge_graphs({{"f", small_network(1)}, {"g", small_network(-2)}}, {}, 4);
  EXPECT_EQ(merged.networks, 2);
  EXPECT_EQ(merged.inputs.size(), 2U);
  EXPECT_EQ(merged.value(merged.inputs[1]).name, "g.x");
  EXPECT_EQ(evaluate(merged, {{1, 2}, {3, 8}}), (Tensors{{3.5}, {2.5}}));
}

TEST(MergeGraphs, OneInputTakesTheirPlace) {
  Builder b({1});
  const ValueId second = b.input("z", {1});
  const Graph two = b.outputs({second, b.add(Binary{Binary::Kind::kAdd}, {b.x(), second}, {1})});
  const Graph merged = merge_graphs({{"f", small_network(1)}, {"g", two}}, {0, 1, 1, 2}, 3);
  EXPECT_EQ(merged.inputs.size(), 1U);
  EXPECT_EQ(evaluate(merged, {{10, 20, 40}}), (Tensors{{30.5}, {40}, {60}}));
}

// A network of two layers, whose first one networks may share.
Graph two_layer_network(double last) {
  Builder b({2});
  const ValueId h = b.relu(b.add(affine(2, 2, {1, 2, -1, 1}, {0.5, 0}), {b.x()}, {2}));
  return b.outputs({b.add(affine(1, 2, {last, 1}, {0}), {h}, {1})});
}

TEST(MergeGraphs, TwoNetworksAreTakenApart) {
  const Graph merged =
      merge_graphs({{"f", two_layer_network(1)}, {"g", two_layer_network(-2)}}, {0, 1, 0, 1}, 2);
  const auto pair = merged_pair(merged);
  ASSERT_TRUE(pair.has_value());
  EXPECT_TRUE(are_isomorphic(pair->first, pair->second));
  EXPECT_EQ(evaluate(pair->first, {{1, 2}})[0], evaluate(merged, {{1, 2}})[0]);
  EXPECT_EQ(evaluate(pair->second, {{1, 2}})[0], evaluate(merged, {{1, 2}})[1]);
}

TEST(MergeGraphs, OthersAreNoPair) {
  EXPECT_FALSE(merged_pair(two_layer_network(1)).has_value());
  const auto networks = [](const std::vector<std::int64_t>& source) {
    return merge_graphs({{"f", small_network(1)}, {"g", small_network(-2)}}, source, 2);
  };
  EXPECT_TRUE(merged_pair(networks({0, 1, 0, 1})).has_value());
  EXPECT_FALSE(merged_pair(networks({0, 1, 2, 0})).has_value()) << "g reads an output of f";
  EXPECT_FALSE(
      merged_pair(
          merge_graphs({{"f", small_network(1)}, {"g", small_network(2)}, {"h", small_network(3)}},
                       {0, 1, 0, 1, 0, 1}, 2))
          .has_value());
}

// An input of an element of the merged input, one of the output before, and of both.
TEST(MergeGraphs, NetworksReadOutputsOfThoseBefore) {
  Graph merged = merge_graphs({{"f", small_network(1)}, {"g", small_network(-2)}}, {0, 1, 2, 0}, 2);
  EXPECT_EQ(evaluate(merged, {{1, 2}}), (Tensors{{3.5}, {0}})) << "-7 + 1 + 0.5";
  EXPECT_EQ(evaluate(merged, {{-4, 3}}), (Tensors{{0}, {0}}));
  EXPECT_EQ(evaluate(merged, {{4, -4.25}}), (Tensors{{0.25}, {4}}));
  Builder b({1});
  merged = merge_graphs({{"f", small_network(1)}, {"g", b.outputs({b.relu(b.x())})}}, {0, 1, 2}, 2);
  EXPECT_EQ(evaluate(merged, {{1, 2}}), (Tensors{{3.5}, {3.5}}));
}

TEST(MergeGraphs, EqualPartsAreComputedOnce) {
  const auto relus = [](const std::vector<std::int64_t>& source) {
    Graph merged =
        merge_graphs({{"f", two_layer_network(1)}, {"g", two_layer_network(2)}}, source, 2);
    normalise(merged, {});
    return count_ops<Relu>(merged);
  };
  EXPECT_EQ(relus({0, 1, 0, 1}), 1U);
  EXPECT_EQ(relus({0, 1, 1, 0}), 2U) << "of different inputs";
}

// Rows see that outputs are equal, also behind a function.
TEST(MergeGraphs, DifferencesOfEqualOutputsVanish) {
  const LinearSpec spec = {{{1, -1}}, {}, {}};
  Graph merged = merge_graphs({{"f", small_network(1)}, {"g", small_network(1)}}, {0, 1, 0, 1}, 2);
  PassOptions options;
  options.spec = &spec;
  normalise(merged, options);
  const int maker = producers(merged)[index_of(merged.outputs[2])];
  const Node& row = merged.nodes[static_cast<std::size_t>(maker)];
  if (const auto* const dense = std::get_if<Affine>(&row.op))
    EXPECT_TRUE(std::ranges::all_of(dense->weight.data, [](double w) { return w == 0; }));
  else
    EXPECT_TRUE(std::get<SparseAffine>(row.op).column.empty());
}

TEST(MergeGraphs, TellsWhatIsEqual) {
  EXPECT_TRUE(are_equal_networks(small_network(1), small_network(1)));
  EXPECT_FALSE(are_equal_networks(small_network(1), small_network(2)));
  EXPECT_TRUE(are_isomorphic(small_network(1), small_network(2)));
  EXPECT_FALSE(are_isomorphic(small_network(1), dense_chain({2, 3, 1})));
  EXPECT_FALSE(are_isomorphic(dense_chain({2, 4, 1}), dense_chain({2, 3, 1})));
}

}  // namespace
}  // namespace bf_aot
