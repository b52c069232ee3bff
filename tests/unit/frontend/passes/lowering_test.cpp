#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

// ---- fold_output_spec

TEST(FoldOutputSpec, FoldsIntoTheLastLayer) {
  Builder b({2});
  Graph graph = b.outputs({b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2})});
  fold_output_spec(graph, {{{1, -1}, {0, 2}}, {0.5, 0}, {}});
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 2U);  // y stays an output beside the rows
  ASSERT_EQ(graph.outputs.size(), 2U);
  ASSERT_EQ(graph.nodes[1].output, graph.outputs[1]);
  EXPECT_EQ(std::get<Affine>(graph.nodes[1].op), affine(2, 2, {-2, -2, 6, 8}, {-1.5, 12}));
  EXPECT_EQ(graph.nodes[1].inputs, graph.inputs);
  EXPECT_EQ(graph.value(graph.outputs[1]).shape, (Shape{1, 2}));
}

TEST(FoldOutputSpec, LooksThroughMapsAndScales) {
  Builder b({2});
  const ValueId h = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  const ValueId s = b.add(scale({2, 3}, {1, 1}), {b.map(h, {1, 0})}, {2});
  Graph graph = b.outputs({b.add(IndexMap{{0, 1}}, {s}, {1, 2})});
  const Tensors y = evaluate(graph, {{1, 1}});
  fold_output_spec(graph, {{{1, 10}}, {}, {}});
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 5U);
  EXPECT_TRUE(std::holds_alternative<Affine>(graph.nodes[4].op));
  EXPECT_EQ(graph.nodes[4].inputs, graph.inputs);
  EXPECT_EQ(evaluate(graph, {{1, 1}}), (Tensors{y[0], {y[0][0] + 10 * y[0][1]}}));
}

// Folding further than the last layer may cost work; that is for merge_affine to decide.
TEST(FoldOutputSpec, StopsAtTheLastLayer) {
  Graph graph = two_layers(10, 1, 10, false);
  fold_output_spec(graph, {std::vector(10, std::vector<double>(10, 1)), {}, {}});
  verify(graph);
  EXPECT_EQ(count_ops<Affine>(graph), 3U);
}

// Without the specification these layers merge. With it they must, too: bounds through the two
// values between them would be looser.
TEST(FoldOutputSpec, DoesNotKeepLayersFromMerging) {
  Graph graph = two_layers(50, 2, 1, false);
  const LinearSpec spec{std::vector(20, std::vector<double>(1, 1)), {}, {}};
  PassOptions options;
  options.spec = &spec;
  normalise(graph, options);
  ASSERT_EQ(graph.nodes.size(), 2U);
  for (const Node& node : graph.nodes) EXPECT_EQ(node.inputs, graph.inputs);
}

TEST(FoldOutputSpec, RefusesWhatDoesNotFit) {
  const auto code = [](const LinearSpec& spec) {
    return codes([&] {
      Builder b({2});
      Graph graph = b.outputs({b.relu(b.x())});
      fold_output_spec(graph, spec);
    });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using Codes = std::set<std::string>;
  EXPECT_EQ(code({{{1, 2}}, {}, {}}), Codes{});
  EXPECT_EQ(code({{{1, 2, 3}}, {}, {}}), Codes{"BF2007"});
  EXPECT_EQ(code({{{1, 2}, {1}}, {}, {}}), Codes{"BF2007"});
  EXPECT_EQ(code({{}, {}, {}}), Codes{"BF2009"});
  EXPECT_EQ(code({{{1, 2}}, {1, 2}, {}}), Codes{"BF2009"});
  EXPECT_EQ(code({{{1, nan}}, {}, {}}), Codes{"BF2009"});
  EXPECT_EQ(code({{{1, 2}}, {nan}, {}}), Codes{"BF2009"});
}

// The rows read the outputs one after the other.
TEST(FoldOutputSpec, TakesSeveralOutputs) {
  Builder b({2});
  const ValueId h = b.add(affine(1, 2, {1, 2}, {3}), {b.x()}, {1});
  const ValueId r = b.relu(b.x());
  Graph graph = b.outputs({h, r});
  fold_output_spec(graph, {{{1, 10, 100}, {0, 0, 1}}, {0, 5}, {}});
  verify(graph);
  const Tensors y = evaluate(graph, {{1, 2}});
  EXPECT_EQ(y, (Tensors{{8}, {1, 2}, {218, -3}}));
}

// C (a + b) is C a + C b: each arm takes the rows into its last layer.
TEST(FoldOutputSpec, GoesIntoBothArmsOfAResidualHead) {
  Builder b({2});
  const ValueId r = b.relu(b.x());
  const ValueId p = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  const ValueId q = b.add(affine(2, 2, {1, 0, 0, 1}, {1, 1}), {r}, {2});
  const ValueId s = b.add(Binary{Binary::Kind::kAdd}, {b.map(p, {1, 0}), q}, {2});
  Graph graph = b.outputs({s});
  fold_output_spec(graph, {{{1, -1}}, {}, {}});
  verify(graph);
  const Tensors y = evaluate(graph, {{1, 2}});
  EXPECT_EQ(y[1], std::vector<double>{y[0][0] - y[0][1]});
  const Node& sum = graph.nodes.back();
  ASSERT_TRUE(std::holds_alternative<Binary>(sum.op));
  EXPECT_EQ(graph.nodes[graph.nodes.size() - 3].inputs, graph.inputs);
  EXPECT_EQ(graph.nodes[graph.nodes.size() - 2].inputs, std::vector<ValueId>{r});
}

// A layer on the way and a direct connection: both are maps of x.
TEST(FoldOutputSpec, AddsTermsOfOneTensor) {
  Builder b({2});
  const ValueId p = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kAdd}, {p, b.x()}, {2})});
  fold_output_spec(graph, {{{1, -1}}, {1}, {}});
  verify(graph);
  EXPECT_EQ(std::get<Affine>(graph.nodes.back().op), affine(1, 2, {-1, -3}, {-2}));
}

TEST(FoldOutputSpec, FewNonzerosStaySparse) {
  const std::int64_t n = 20'000;
  Builder b({n});
  Graph graph = b.outputs({b.relu(b.x())});
  LinearSpec spec;
  for (std::size_t row = 0; row < 3; ++row) {
    spec.rows.emplace_back(static_cast<std::size_t>(n), 0);
    spec.rows[row][7 * row] = 1;
  }
  fold_output_spec(graph, spec);
  EXPECT_EQ(only<SparseAffine>(graph).column, (std::vector<std::int64_t>{0, 7, 14}));
}

TEST(FoldOutputSpec, InexactRowsKeepTheirError) {
  Builder b({2});
  Graph graph = b.outputs({b.relu(b.x())});
  fold_output_spec(graph, {{{1, 0}}, {}, {{0, 0x1p-60}}});
  EXPECT_EQ(only<Affine>(graph).weight.error, (std::vector<double>{0, 0x1p-60}));
}

// ---- Constants, several inputs, check_supported

TEST(ExpandConstants, OutputsThatAreConstantsOrInputsStayOutputs) {
  Builder b({2});
  const ValueId c = b.literal(constant({1, 3}, {1, 2, 3}));
  Graph graph = b.outputs({c, b.x(), c});
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{4, 5}}), (Tensors{{1, 2, 3}, {4, 5}, {1, 2, 3}}));
  EXPECT_TRUE(only<SparseAffine>(graph).column.empty());
  EXPECT_EQ(graph.nodes.size(), 1U);
}

// ln of a number that may be negative is left to the bounds, which claim nothing of it.
TEST(ExpandConstants, FunctionsThatCannotBeFoldedReadALayer) {
  Builder b({2});
  const ValueId c = b.literal(constant({2}, {1, -1}));
  Graph graph = b.outputs({b.add(Unary{{FunctionKind::kLog, 0, 0}}, {c}, {2})});
  normalise(graph);
  EXPECT_EQ(count_ops<SparseAffine>(graph), 1U);
  EXPECT_EQ(count_ops<Unary>(graph), 1U);
}

TEST(JoinInputs, OneInputOfAllElements) {
  Builder b({2});
  const ValueId second = b.input("second", {1, 3});
  const ValueId h = b.add(affine(1, 3, {1, 10, 100}, {0}), {second}, {1});
  const ValueId g = b.add(affine(1, 2, {1, 2}, {0}), {b.x()}, {1});
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kAdd}, {h, g}, {1}), second});
  const Tensors expected = evaluate(graph, {{1, 2}, {3, 4, 5}});
  normalise(graph);
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, Shape{5});
  EXPECT_EQ(graph.input_parts, (std::vector<Value>{{"x", {2}}, {"second", {1, 3}}}));
  EXPECT_EQ(evaluate(graph, {{1, 2, 3, 4, 5}}), expected);
  EXPECT_EQ(count_ops<Affine>(graph), 1U);  // of all inputs
}

TEST(CheckSupported, ReportsAllAtOnce) {
  Builder b({2, 2});
  const ValueId zero = b.literal(constant({1}, {0}));
  const ValueId d = b.add(Binary{Binary::Kind::kDiv}, {b.x(), zero}, {2, 2});
  const ValueId e = b.add(Binary{Binary::Kind::kDiv}, {b.relu(d), zero}, {2, 2});
  Graph graph = b.outputs({e});
  try {
    normalise(graph);
    FAIL() << "no diagnostics";
  } catch (const CompileError& error) {
    ASSERT_EQ(error.diagnostics().size(), 2U);
    for (const Diagnostic& diagnostic : error.diagnostics()) EXPECT_EQ(diagnostic.code, "BF2003");
    EXPECT_EQ(error.diagnostics()[0].where, "N1");
    EXPECT_EQ(error.diagnostics()[1].where, "N3");
  }
}

TEST(CheckSupported, ReportsProductsThatAreTooLarge) {
  Builder b({10'000, 1});
  const ValueId t = b.add(Gemm{1, 1, false, true}, {b.x(), b.x()}, {10'000, 10'000});
  Graph graph = b.outputs({t});
  EXPECT_EQ(codes([&] { normalise(graph); }), std::set<std::string>{"BF2004"});
}

// What would be a huge matrix is none.
TEST(CheckSupported, WideTensorsNeedNoMatrices) {
  const std::int64_t n = 10'000;
  Builder b({n, 1});
  const ValueId w = b.literal(constant({1, 2}, {2, 3}));
  const ValueId product = b.add(MatMul{}, {b.x(), w}, {n, 2});
  std::vector<std::int64_t> reversed(static_cast<std::size_t>(n));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  Graph graph = b.outputs({b.relu(product), b.map(b.x(), reversed), b.relu(b.x())});
  normalise(graph);
  EXPECT_EQ(count_ops<Affine>(graph), 0U);
  EXPECT_EQ(only<Conv>(graph).weight.data, (std::vector<double>{2, 3}));
}

// ---- lower_affine

TEST(LowerAffine, GemmWithConstantFactorsScalesC) {
  Builder b({2});
  const ValueId a = b.literal(constant({2, 1}, {1, 2}));
  const ValueId w = b.literal(constant({1, 2}, {3, 4}));
  Graph graph = b.outputs({b.add(Gemm{2, 10, false, false}, {a, w, b.x()}, {2, 2})});
  const Tensors expected = {{16, 28, 22, 36}};
  EXPECT_EQ(evaluate(graph, {{1, 2}}), expected);
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2}}), expected);
}

// Two computed factors are contracted, or gathered, multiplied and summed.
TEST(LowerAffine, ProductsOfComputedTensors) {
  Builder b({2, 3});
  const ValueId other = b.map(b.x(), {5, 4, 3, 2, 1, 0});
  const ValueId c = b.add(IndexMap{{0, 1}}, {b.x()}, {2});
  const Graph network =
      b.outputs({b.add(Gemm{2, 3, false, true},
                       {b.x(), b.add(IndexMap{{0, 1, 2, 3, 4, 5}}, {other}, {2, 3}), c}, {2, 2})});
  const Tensors expected = evaluate(network, {{1, 2, 3, 4, 5, 6}});
  Graph graph = network;
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3, 4, 5, 6}}), expected);
  EXPECT_EQ(count_ops<Binary>(graph), 1U);
  const Contraction& op = only<Contraction>(graph);
  EXPECT_EQ(op.count() * op.sums, 12);
  EXPECT_EQ(op.right, (std::vector<std::int64_t>{5, 4, 3, 2, 1, 0}));
  PassOptions apart;
  apart.max_as_relu = true;
  graph = network;
  normalise(graph, apart);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3, 4, 5, 6}}), expected);
  EXPECT_EQ(count_ops<Contraction>(graph), 0U);
  EXPECT_EQ(count_ops<Binary>(graph), 2U);
}

// An offset does not reach positions that a convolution has behind its image.
TEST(FoldScale, OffsetsBeforePaddedConvolutions) {
  for (const std::int64_t size : {1, 3, 4}) {
    Builder b({1, 1, 1, size});
    ConvGeometry g;
    g.in_size = {1, 1, size};
    g.out_size = {1, 1, 2};
    g.stride = {1, 1, 2};
    g.in = dense_layout(1, g.in_size);
    g.out = dense_layout(1, g.out_size);
    const auto count = static_cast<std::size_t>(size);
    const ValueId moved = b.add(scale(std::vector<double>(count, 2), std::vector<double>(count, 3)),
                                {b.x()}, {1, 1, 1, size});
    Graph graph = b.outputs({b.relu(
        b.add(Conv{g, constant({1, 1, 1}, {5}), constant({1}, {7})}, {moved}, {1, 1, 1, 2}))});
    const std::vector<double> x(count, 1);
    const Tensors expected = evaluate(graph, {x});
    EXPECT_EQ(expected[0][1], size > 2 ? 32 : 7);
    normalise(graph);
    EXPECT_EQ(evaluate(graph, {x}), expected);
  }
}

// A number that a contraction is multiplied by goes to a factor, and what is added stays.
TEST(LowerAffine, ContractionsOfScales) {
  Builder b({2, 2});
  const ValueId y = b.relu(b.x());
  const ValueId product = b.add(MatMul{}, {b.x(), y}, {2, 2});
  Graph graph = b.outputs({b.add(scale({2, 2, 2, 2}, {0, 1, 0, 0}), {product}, {2, 2})});
  const Tensors expected = evaluate(graph, {{1, 2, -3, 4}});
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, -3, 4}}), expected);
  EXPECT_EQ(count_ops<Contraction>(graph), 1U);
  EXPECT_EQ(count_ops<Scale>(graph), 2U);
}

// The exact factors of two results that share a row of the first operand may differ: what that
// operand is multiplied by has no error.
TEST(LowerAffine, ContractionsOfScalesThatAreNotExact) {
  Builder b({2, 2});
  const ValueId y = b.relu(b.x());
  const ValueId product = b.add(MatMul{}, {b.x(), y}, {2, 2});
  Scale third = scale({1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3}, {0, 0, 0, 0});
  third.factor.error = {0, 0x1p-56, 0x1p-55, 0};
  Graph graph = b.outputs({b.add(third, {product}, {2, 2})});
  normalise(graph);
  EXPECT_EQ(count_ops<Contraction>(graph), 1U);
  ASSERT_EQ(count_ops<Scale>(graph), 2U);
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<Scale>(&node.op);
    if (op == nullptr) continue;
    if (node.output == graph.outputs[0]) {
      EXPECT_EQ(op->factor.data, std::vector<double>(4, 1));
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_GE(op->factor.error_at(i), third.factor.error[i] * 3);
    } else {
      EXPECT_EQ(op->factor.data, std::vector<double>(4, 1.0 / 3));
      EXPECT_TRUE(op->factor.is_exact());
    }
  }
}

TEST(LowerAffine, DifferencesQuotientsAndSquares) {
  Builder b({2});
  const ValueId y = b.add(Unary{{FunctionKind::kExp, 0, 0}}, {b.x()}, {2});
  const ValueId difference = b.add(Binary{Binary::Kind::kSub}, {b.x(), y}, {2});
  const ValueId quotient = b.add(Binary{Binary::Kind::kDiv}, {b.x(), y}, {2});
  const ValueId square = b.add(Binary{Binary::Kind::kMul}, {y, y}, {2});
  const ValueId nothing = b.add(Binary{Binary::Kind::kSub}, {y, y}, {2});
  Graph graph = b.outputs({difference, quotient, square, nothing});
  lower_affine(graph);
  verify(graph);
  const Tensors values = evaluate(graph, {{0, 0}});
  EXPECT_EQ(values, (Tensors{{-1, -1}, {0, 0}, {1, 1}, {0, 0}}));
  for (const Node& node : graph.nodes) EXPECT_TRUE(is_lowered(graph, node));
  EXPECT_EQ(count_ops<Binary>(graph), 2U);
  EXPECT_EQ(count_ops<Unary>(graph), 3U);
}

// A constant divided by a computed tensor.
TEST(LowerAffine, ReciprocalsTakeAConstantFactor) {
  Builder b({1, 2});
  const ValueId c = b.literal(constant({2, 1}, {6, 12}));
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kDiv}, {c, b.x()}, {2, 2})});
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2}}), (Tensors{{6, 3, 12, 6}}));
  EXPECT_EQ(element_count(graph.value(graph.nodes[0].output).shape), 2);  // before it is repeated
}

// Large batched products share their weights.
TEST(LowerAffine, BatchedProductsBecomeConvolutions) {
  for (const bool left : {false, true}) {
    Builder b({2, 30, 20});
    std::vector<double> weight(600);
    std::iota(weight.begin(), weight.end(), 1);
    const ValueId w = b.literal(constant(left ? Shape{20, 30} : Shape{20, 30}, weight));
    const Shape shape = left ? Shape{2, 20, 20} : Shape{2, 30, 30};
    const ValueId y =
        left ? b.add(MatMul{}, {w, b.x()}, shape) : b.add(MatMul{}, {b.x(), w}, shape);
    Graph graph = b.outputs({y});
    std::vector<double> x(1200);
    std::iota(x.begin(), x.end(), -600);
    const Tensors expected = evaluate(graph, {x});
    normalise(graph);
    EXPECT_EQ(only<Conv>(graph).weight.data.size(), 600U);
    EXPECT_EQ(evaluate(graph, {x}), expected);
  }
}

TEST(LowerAffine, OtherSparseProductsBecomeSparse) {
  Builder b({20, 1, 5});
  std::vector<double> weight(20 * 5 * 7);
  std::iota(weight.begin(), weight.end(), 1);
  const ValueId w = b.literal(constant({20, 5, 7}, weight));
  Graph graph = b.outputs({b.add(MatMul{}, {b.x(), w}, {20, 1, 7})});
  std::vector<double> x(100);
  std::iota(x.begin(), x.end(), -50);
  const Tensors expected = evaluate(graph, {x});
  normalise(graph);
  EXPECT_EQ(only<SparseAffine>(graph).column.size(), 700U);
  EXPECT_EQ(evaluate(graph, {x}), expected);
}

TEST(LowerAffine, IgnoresComputedCWithBetaZero) {
  Builder b({1, 2});
  const ValueId w = b.literal(constant({2, 2}, {1, 2, 3, 4}));
  Graph graph = b.outputs({b.add(Gemm{1, 0, false, false}, {b.x(), w, b.x()}, {1, 2})});
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 1}}), (Tensors{{4, 6}}));
}

TEST(LowerAffine, DivisionCarriesTheErrorOfTheReciprocal) {
  Builder b({2});
  const ValueId c = b.literal(constant({2}, {3, 0.5}));
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kDiv}, {b.x(), c}, {2})});
  lower_affine(graph);
  const Constant& factor = only<Scale>(graph).factor;
  EXPECT_EQ(factor.data, (std::vector<double>{1.0 / 3, 2}));
  EXPECT_GE(factor.error_at(0), 0x1p-54 / 3);
  EXPECT_LE(factor.error_at(0), 0x1p-54);
  EXPECT_EQ(factor.error_at(1), 0);
}

TEST(FoldConstants, ZeroDividedByZeroIsReported) {
  Builder b({1});
  const ValueId zero = b.literal(constant({1}, {0}));
  const ValueId q = b.add(Binary{Binary::Kind::kDiv}, {zero, zero}, {1});
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kAdd}, {b.x(), q}, {1})});
  EXPECT_TRUE(codes([&] { normalise(graph); }).contains("BF2003"));
}

TEST(FoldConstants, OverflowIsReported) {
  Builder b({1});
  const ValueId c = b.literal(constant({1}, {1e200}));
  const ValueId c2 = b.add(Binary{Binary::Kind::kMul}, {c, c}, {1});
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kMul}, {b.x(), c2}, {1})});
  EXPECT_EQ(codes([&] { normalise(graph); }), std::set<std::string>{"BF2005"});
}

}  // namespace
}  // namespace bf_aot
