// Elementwise nodes of one tensor become one function.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

using Kind = FunctionKind;

// Nodes over a tensor of two elements.
class ChainOfNodes : public Builder {
 public:
  ChainOfNodes() : Builder({2}) {}

  ValueId function(Kind kind, ValueId x, double a = 0, double b = 0) {
    return add(Unary{{kind, a, b}}, {x}, {2});
  }
  ValueId line(ValueId x, double factor, double offset) {
    return add(scale({factor, factor}, {offset, offset}), {x}, {2});
  }
  ValueId sum(ValueId a, ValueId b) { return add(Binary{Binary::Kind::kAdd}, {a, b}, {2}); }
  ValueId product(ValueId a, ValueId b) { return add(Binary{Binary::Kind::kMul}, {a, b}, {2}); }
  // c a + (1 - c) b
  ValueId where(ValueId c, ValueId a, ValueId b) {
    return sum(product(c, a), product(line(c, -1, 1), b));
  }
};

void expect_equal_values(const Graph& collapsed, const Graph& network) {
  for (const double x : {-20.0, -3.5, -1.0, -0.25, 0.0, 0.125, 1.0, 2.75, 9.0}) {
    const auto y = evaluate(collapsed, {{x, x / 2}}), z = evaluate(network, {{x, x / 2}});
    ASSERT_EQ(y.size(), z.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t k = 0; k < y[i].size(); ++k)
        EXPECT_NEAR(y[i][k], z[i][k], 1e-12 * (1 + std::fabs(z[i][k]))) << x;
  }
}

Graph collapsed(const Graph& network) {
  Graph graph = network;
  collapse_univariate(graph);
  verify(graph);
  expect_equal_values(graph, network);
  return graph;
}

bool is_composite(const Graph& graph) {
  return count_ops<Unary>(graph) == 1 && count_ops<Binary>(graph) == 0 &&
         only<Unary>(graph).function.kind == Kind::kComposite;
}

TEST(CollapseUnivariate, ChainsOfActivations) {
  ChainOfNodes silu;
  EXPECT_TRUE(is_composite(
      collapsed(silu.outputs({silu.product(silu.x(), silu.function(Kind::kSigmoid, silu.x()))}))));
  ChainOfNodes gelu;
  const ValueId erf = gelu.function(Kind::kErf, gelu.line(gelu.x(), 1 / 1.41421354, 0));
  EXPECT_TRUE(is_composite(
      collapsed(gelu.outputs({gelu.product(gelu.line(gelu.x(), 0.5, 0), gelu.line(erf, 1, 1))}))));
  ChainOfNodes mish;
  const ValueId gate = mish.function(Kind::kTanh, mish.function(Kind::kSoftplus, mish.x()));
  EXPECT_TRUE(is_composite(collapsed(mish.outputs({mish.product(mish.x(), gate)}))));
  ChainOfNodes swish;
  const ValueId clip = swish.function(Kind::kClip, swish.line(swish.x(), 1, 3), 0, 6);
  EXPECT_TRUE(is_composite(
      collapsed(swish.outputs({swish.product(swish.x(), swish.line(clip, 1.0 / 6, 0))}))));
}

TEST(CollapseUnivariate, AssociationDoesNotMatter) {
  const auto text = [](int form) {
    ChainOfNodes b;
    const ValueId erf = b.line(b.function(Kind::kErf, b.line(b.x(), 0.75, 0)), 1, 1);
    const ValueId half = b.line(b.x(), 0.5, 0);
    const ValueId y = form == 0   ? b.product(half, erf)
                      : form == 1 ? b.line(b.product(b.x(), erf), 0.5, 0)
                                  : b.product(b.x(), b.line(erf, 0.5, 0));
    const Graph graph = collapsed(b.outputs({y}));
    return to_string(only<Unary>(graph).function);
  };
  EXPECT_EQ(text(0), text(1));
  EXPECT_EQ(text(0), "composite (x * (1 erf((0.75 x + 0)) + 1))");
}

// Not composites: functions that have a name.
TEST(CollapseUnivariate, FunctionsWrittenOut) {
  ChainOfNodes b;
  const ValueId power = b.function(Kind::kExp, b.x());
  Graph graph = collapsed(b.outputs({b.function(Kind::kLog, b.line(power, 1, 1))}));
  EXPECT_EQ(only<Unary>(graph).function, Function{Kind::kSoftplus});

  ChainOfNodes c;
  const ValueId negative = c.function(Kind::kExp, c.line(c.x(), -1, 0));
  graph = collapsed(c.outputs({c.function(Kind::kReciprocal, c.line(negative, 1, 1))}));
  EXPECT_EQ(only<Unary>(graph).function, Function{Kind::kSigmoid});
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(CollapseUnivariate, LeakyReluByWhere) {
  for (const Kind step : {Kind::kStep, Kind::kStepAt}) {
    ChainOfNodes b;
    const Graph graph = collapsed(b.outputs(
        {b.where(b.function(step, b.x()), b.x(), b.line(b.x(), static_cast<double>(0.01F), 0))}));
    ASSERT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(only<Unary>(graph).function,
              (Function{Kind::kLeakyRelu, static_cast<double>(0.01F)}));
  }
}

TEST(CollapseUnivariate, ReluByWhereIsRelu) {
  ChainOfNodes b;
  const Graph graph = collapsed(b.outputs({b.product(b.function(Kind::kStep, b.x()), b.x())}));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(count_ops<Relu>(graph), 1U);
}

TEST(CollapseUnivariate, EluByWhere) {
  ChainOfNodes b;
  const ValueId below = b.line(b.function(Kind::kExp, b.x()), 1, -1);
  EXPECT_TRUE(
      is_composite(collapsed(b.outputs({b.where(b.function(Kind::kStep, b.x()), b.x(), below)}))));
}

TEST(CollapseUnivariate, OtherReadersAndOutputsKeepWhatTheyRead) {
  ChainOfNodes b;
  const ValueId s = b.function(Kind::kSigmoid, b.x());
  const ValueId y = b.product(b.x(), s);
  const Graph graph = collapsed(b.outputs({y, s, b.line(s, 2, 0)}));
  EXPECT_EQ(count_ops<Unary>(graph), 2U);
  EXPECT_EQ(count_ops<Binary>(graph), 0U);
}

// Graphs that stay as they are.
void expect_kept(const Graph& network) {
  Graph graph = network;
  collapse_univariate(graph);
  EXPECT_EQ(graph, network) << to_string(graph);
}

TEST(CollapseUnivariate, LeavesOthers) {
  ChainOfNodes two;  // tensors
  const ValueId z = two.input("z", {2});
  expect_kept(two.outputs({two.product(two.x(), two.function(Kind::kSigmoid, z))}));
  ChainOfNodes scaled;  // each element has a function of its own
  const ValueId other = scaled.add(scale({1, 2}, {0, 0}), {scaled.x()}, {2});
  expect_kept(scaled.outputs({scaled.product(scaled.x(), scaled.function(Kind::kSigmoid, other))}));
  ChainOfNodes relus;  // whose neurons can be split
  expect_kept(relus.outputs({relus.sum(relus.x(), relus.relu(relus.x()))}));
  ChainOfNodes waves;  // without end
  expect_kept(waves.outputs({waves.product(waves.x(), waves.function(Kind::kSin, waves.x()))}));
  ChainOfNodes one;  // function behind another
  expect_kept(one.outputs({one.function(Kind::kTanh, one.function(Kind::kErf, one.x()))}));
}

TEST(CollapseUnivariate, Polynomials) {
  ChainOfNodes cubic;
  const ValueId square = cubic.product(cubic.x(), cubic.x());
  EXPECT_TRUE(is_composite(collapsed(
      cubic.outputs({cubic.sum(cubic.product(square, cubic.x()), cubic.line(cubic.x(), -2, 0))}))));
  ChainOfNodes horner;
  const ValueId inner =
      horner.line(horner.product(horner.line(horner.x(), 4, 1), horner.x()), 1, 3);
  EXPECT_TRUE(is_composite(collapsed(horner.outputs({horner.product(inner, horner.x())}))));
  ChainOfNodes halves;  // of a parabola and a line
  EXPECT_TRUE(is_composite(collapsed(halves.outputs({halves.where(
      halves.function(Kind::kStep, halves.x()), halves.function(Kind::kPower, halves.x(), 2),
      halves.line(halves.x(), -1, 0))}))));
}

// Powers keep the table that has them at any size.
TEST(CollapseUnivariate, ProductsOfOneTensorArePowers) {
  ChainOfNodes b;
  const ValueId square = b.function(Kind::kPower, b.x(), 2);
  const Graph graph =
      collapsed(b.outputs({b.product(b.product(square, b.line(b.x(), 3, 0)), square)}));
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(only<Unary>(graph).function, (Function{Kind::kPower, 5}));
}

TEST(CollapseUnivariate, QuotientsThatHaveAName) {
  ChainOfNodes softsign;
  const ValueId size = softsign.line(softsign.function(Kind::kAbs, softsign.x()), 1, 1);
  Graph graph = collapsed(softsign.outputs(
      {softsign.product(softsign.x(), softsign.function(Kind::kReciprocal, size))}));
  EXPECT_EQ(only<Unary>(graph).function, Function{Kind::kSoftsign});

  ChainOfNodes tanh;
  const ValueId up = tanh.function(Kind::kExp, tanh.x());
  const ValueId down = tanh.function(Kind::kExp, tanh.line(tanh.x(), -1, 0));
  graph =
      collapsed(tanh.outputs({tanh.product(tanh.sum(up, tanh.line(down, -1, 0)),
                                           tanh.function(Kind::kReciprocal, tanh.sum(up, down)))}));
  EXPECT_EQ(only<Unary>(graph).function, Function{Kind::kTanh});
  ASSERT_EQ(graph.nodes.size(), 1U);

  ChainOfNodes both;
  const ValueId sum = both.sum(both.function(Kind::kExp, both.x()),
                               both.function(Kind::kExp, both.line(both.x(), -1, 0)));
  EXPECT_TRUE(is_composite(collapsed(both.outputs({both.function(Kind::kLog, sum)}))));
}

// (x - 1) / (x + 1) = 1 - 2 / (x + 1), and the same of x^2: one reciprocal each.
TEST(CollapseUnivariate, QuotientsOfLines) {
  for (const bool squares : {false, true}) {
    ChainOfNodes b;
    const ValueId u = squares ? b.function(Kind::kPower, b.x(), 2) : b.line(b.x(), 0.0625, 2);
    const ValueId inverse = b.function(Kind::kReciprocal, b.line(u, 1, 1));
    const Graph graph = collapsed(b.outputs({b.product(b.line(u, 1, -1), inverse)}));
    EXPECT_EQ(count_ops<Binary>(graph), 0U);
    EXPECT_EQ(count_ops<Unary>(graph), squares ? 2U : 1U);
  }
}

TEST(CollapseUnivariate, WhatCancelsIsALine) {
  ChainOfNodes b;
  const ValueId s = b.function(Kind::kSin, b.x());
  const ValueId twice = b.sum(b.function(Kind::kAbs, s), b.line(b.function(Kind::kAbs, s), -1, 0));
  const Graph graph = collapsed(b.outputs({twice}));
  EXPECT_EQ(count_ops<Binary>(graph), 0U);
  EXPECT_EQ(only<Scale>(graph).factor, filled({2}, 0));
}

// max(x, a, b, ...) at each place, as the importer writes Max.
ValueId maximum(ChainOfNodes& b, const std::vector<ValueId>& operands) {
  const auto n = static_cast<std::int64_t>(operands.size());
  std::optional<ValueId> placed;
  for (std::int64_t k = 0; k < n; ++k) {
    SparseAffine op;
    op.row_start = {0};
    for (std::int64_t row = 0; row < 2 * n; ++row) {
      const bool own = row / 2 == k;
      if (own) op.column.push_back(row % 2);
      op.row_start.push_back(static_cast<std::int64_t>(op.column.size()));
    }
    op.value = filled({2}, 1);
    op.bias = filled({2 * n}, 0);
    const ValueId one = b.add(op, {operands[static_cast<std::size_t>(k)]}, {2 * n});
    placed = placed ? b.add(Binary{Binary::Kind::kAdd}, {*placed, one}, {2 * n}) : one;
  }
  GroupMax max;
  max.row_start = {0};
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t k = 0; k < n; ++k) max.source.push_back(2 * k + row);
    max.row_start.push_back(static_cast<std::int64_t>(max.source.size()));
  }
  return b.add(max, {*placed}, {2});
}

TEST(CollapseUnivariate, MaximaOfOneTensor) {
  ChainOfNodes leaky;
  Graph graph =
      collapsed(leaky.outputs({maximum(leaky, {leaky.x(), leaky.line(leaky.x(), 0.125, 0)})}));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(only<Unary>(graph).function, (Function{Kind::kLeakyRelu, 0.125}));
  ChainOfNodes parabola;
  const ValueId square = parabola.function(Kind::kPower, parabola.x(), 2);
  graph = collapsed(parabola.outputs({maximum(parabola, {parabola.x(), square})}));
  EXPECT_TRUE(is_composite(graph));
  EXPECT_EQ(count_ops<GroupMax>(graph), 0U);
  ChainOfNodes three;
  graph = collapsed(three.outputs(
      {maximum(three, {three.x(), three.line(three.x(), -1, 0), three.line(three.x(), 0.5, 1)})}));
  EXPECT_TRUE(is_composite(graph));
  ChainOfNodes two;  // tensors
  const Graph network = two.outputs({maximum(two, {two.x(), two.input("z", {2})})});
  graph = network;
  collapse_univariate(graph);
  EXPECT_EQ(graph, network);
}

// What the whole is no function of, its parts may be.
TEST(CollapseUnivariate, TriesNearerTensors) {
  ChainOfNodes b;
  const ValueId power = b.function(Kind::kSin, b.x());
  const Graph graph = collapsed(b.outputs({b.product(power, b.function(Kind::kSigmoid, power))}));
  EXPECT_EQ(count_ops<Unary>(graph), 2U);
  EXPECT_EQ(count_ops<Binary>(graph), 0U);
}

TEST(CollapseUnivariate, IsOfRealArithmeticAlone) {
  ChainOfNodes b;
  const Graph network = b.outputs({b.product(b.x(), b.function(Kind::kSigmoid, b.x()))});
  const auto products = [&](const PassOptions& options) {
    Graph graph = network;
    normalise(graph, options);
    return count_ops<Binary>(graph);
  };
  PassOptions float32;
  float32.float32.emplace();
  PassOptions own;
  own.own_evaluation = true;
  EXPECT_EQ(products({}), 0U);
  EXPECT_EQ(products(float32), 1U);
  EXPECT_EQ(products(own), 1U);
}

}  // namespace
}  // namespace bf_aot
