#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "frontend/diagnostic.h"
#include "frontend/evaluate.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend_graph_builder.h"

namespace bf {
namespace {

using namespace bf::testing;  // the builder

// ---- fold_output_spec

TEST(FoldOutputSpec, FoldsIntoTheLastLayer) {
  Builder b({2});
  Graph graph = b.outputs({b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2})});
  fold_output_spec(graph, {{{1, -1}, {0, 2}}, {0.5, 0}});
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
  fold_output_spec(graph, {{{1, 10}}, {}});
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 5U);
  EXPECT_TRUE(std::holds_alternative<Affine>(graph.nodes[4].op));
  EXPECT_EQ(graph.nodes[4].inputs, graph.inputs);
  EXPECT_EQ(evaluate(graph, {{1, 1}}), (Tensors{y[0], {y[0][0] + 10 * y[0][1]}}));
}

// Folding further than the last layer may cost work; that is for merge_affine to decide.
TEST(FoldOutputSpec, StopsAtTheLastLayer) {
  Graph graph = two_layers(10, 1, 10, false);
  fold_output_spec(graph, {std::vector(10, std::vector<double>(10, 1)), {}});
  verify(graph);
  EXPECT_EQ(count_ops<Affine>(graph), 3U);
}

// Without the specification these layers merge. With it they must, too: bounds through the two
// values between them would be looser.
TEST(FoldOutputSpec, DoesNotKeepLayersFromMerging) {
  Graph graph = two_layers(50, 2, 1, false);
  const LinearSpec spec{std::vector(20, std::vector<double>(1, 1)), {}};
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
  EXPECT_EQ(code({{{1, 2}}, {}}), Codes{});
  EXPECT_EQ(code({{{1, 2, 3}}, {}}), Codes{"BF2007"});
  EXPECT_EQ(code({{{1, 2}, {1}}, {}}), Codes{"BF2007"});
  EXPECT_EQ(code({{}, {}}), Codes{"BF2009"});
  EXPECT_EQ(code({{{1, 2}}, {1, 2}}), Codes{"BF2009"});
  EXPECT_EQ(code({{{1, nan}}, {}}), Codes{"BF2009"});
  EXPECT_EQ(code({{{1, 2}}, {nan}}), Codes{"BF2009"});
}

// ---- insert_identity and check_supported

TEST(InsertIdentity, InputsAndConstantsThatAreOutputsGetALayer) {
  Builder b({2});
  const ValueId c = b.literal(constant({1, 3}, {1, 2, 3}));
  Graph graph = b.outputs({c, b.x(), c});
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{4, 5}}), (Tensors{{1, 2, 3}, {4, 5}, {1, 2, 3}}));
  EXPECT_EQ(count_ops<Affine>(graph), graph.nodes.size());
}

TEST(InsertIdentity, ReluReadersOfOneValueShareIt) {
  Builder b({2});
  const ValueId r1 = b.relu(b.x());
  const ValueId r2 = b.relu(b.x());
  Graph graph = b.outputs({r1, r2});
  insert_identity(graph);
  verify(graph);
  EXPECT_EQ(count_ops<Affine>(graph), 1U);
}

TEST(CheckSupported, ReportsAllAtOnce) {
  Builder b({2, 2});
  const ValueId r = b.relu(b.x());
  const ValueId m = b.add(MatMul{}, {b.x(), r}, {2, 2});
  const ValueId zero = b.literal(constant({1}, {0}));
  const ValueId d = b.add(Binary{Binary::Kind::kDiv}, {m, zero}, {2, 2});
  Graph graph = b.outputs({d});
  try {
    normalise(graph);
    FAIL() << "no diagnostics";
  } catch (const CompileError& error) {
    ASSERT_EQ(error.diagnostics().size(), 2U);
    EXPECT_EQ(error.diagnostics()[0].code, "BF2002");
    EXPECT_EQ(error.diagnostics()[0].where, "N1");
    EXPECT_EQ(error.diagnostics()[1].code, "BF2003");
    EXPECT_EQ(error.diagnostics()[1].where, "N3");
  }
}

TEST(CheckSupported, ReportsMatricesThatAreTooLarge) {
  using Codes = std::set<std::string>;
  const std::int64_t n = 10'000;  // n * n > 64 M
  const auto code = [](Graph graph) { return codes([&] { normalise(graph); }); };

  Builder relu({n});
  EXPECT_EQ(code(relu.outputs({relu.relu(relu.x())})), Codes{"BF2004"});

  Builder input({n});
  EXPECT_EQ(code(input.outputs({input.x()})), Codes{"BF2004"});

  Builder map({n});
  std::vector<std::int64_t> reversed(static_cast<std::size_t>(n));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  EXPECT_EQ(code(map.outputs({map.map(map.x(), reversed)})), Codes{"BF2004"});

  Builder batch({n, 1});
  const ValueId w = batch.literal(constant({1, 1}, {2}));
  EXPECT_EQ(code(batch.outputs({batch.add(MatMul{}, {batch.x(), w}, {n, 1})})), Codes{"BF2004"});
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
}  // namespace bf
