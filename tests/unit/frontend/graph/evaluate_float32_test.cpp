#include "frontend/evaluate/evaluate_float32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {
namespace {

using SumValues = std::vector<double>;

ValueId add_to_sum(Graph& graph, Op op, std::vector<ValueId> inputs, std::int64_t count) {
  const ValueId y = graph.add_value("v", {count});
  graph.nodes.push_back({std::move(op), std::move(inputs), y, "Node"});
  return y;
}

// y = w x + b, one row.
Graph graph_of_sum(const SumValues& weights, double bias) {
  const auto count = static_cast<std::int64_t>(weights.size());
  Graph graph;
  const ValueId x = graph.add_value("x", {count});
  graph.inputs = {x};
  Affine op{{{1, count}, weights, {}}, {{1}, {bias}, {}}};
  graph.outputs = {add_to_sum(graph, std::move(op), {x}, 1)};
  return graph;
}

std::optional<SumValues> unrounded_sum(const SumValues& weights, const SumValues& x,
                                       double bias = 0) {
  return evaluate_unrounded(graph_of_sum(weights, bias), {x});
}

TEST(EvaluateUnrounded, SmallIntegersAreExact) {
  EXPECT_EQ(unrounded_sum({1, -2, 3}, {4, 5, 6}, 7), SumValues{19});
  EXPECT_EQ(unrounded_sum({0x1p-20, 1}, {1, 0x1p-20}), SumValues{0x1p-19});
  EXPECT_EQ(unrounded_sum({0, 0}, {1, 2}), SumValues{0});
}

TEST(EvaluateUnrounded, NothingIsSaidOfWhatMayRound) {
  EXPECT_FALSE(unrounded_sum({1, 1}, {0x1p24, 1})) << "2^24 + 1 is no float32 number";
  EXPECT_FALSE(unrounded_sum({1, 1, 1}, {0x1p24, 1, -1})) << "in some order it is a partial sum";
  EXPECT_EQ(unrounded_sum({1, 1}, {0x1p24 - 1, 1}), SumValues{0x1p24});
  EXPECT_FALSE(unrounded_sum({0.1}, {1})) << "the weight is no float32 number";
  EXPECT_FALSE(unrounded_sum({1}, {0.1}));
  EXPECT_FALSE(unrounded_sum({1 + 0x1p-20}, {1 + 0x1p-20})) << "the product needs 41 bits";
  EXPECT_FALSE(unrounded_sum({0x1p-80}, {0x1p-80})) << "below the normal range";
  EXPECT_FALSE(unrounded_sum({1}, {0x1p-130})) << "a subnormal number may be flushed";
  EXPECT_FALSE(unrounded_sum({0x1p100}, {0x1p100}));
  Graph graph = graph_of_sum({1, 1}, 0);
  std::get<Affine>(graph.nodes.front().op).weight.error = {0, 0x1p-30};
  EXPECT_FALSE(evaluate_unrounded(graph, {{1, 1}}));
  EXPECT_EQ(evaluate_unrounded(graph_of_sum({1, 1}, 0), {{1, NAN}}), std::nullopt);
  EXPECT_EQ(evaluate_unrounded(graph_of_sum({1, 1}, 0), {{1, INFINITY}}), std::nullopt);
}

// z = a + b is 0, and z + c is c; but c may go into the sum first.
TEST(EvaluateUnrounded, WhatASumIsAddedToMayGoIntoIt) {
  Graph graph = graph_of_sum({1, 1}, 0);
  const ValueId c = graph.add_value("c", {1});
  graph.inputs.push_back(c);
  graph.outputs = {add_to_sum(graph, Binary{Binary::Kind::kAdd}, {graph.outputs[0], c}, 1)};
  EXPECT_FALSE(evaluate_unrounded(graph, {{1, -1}, {0x1p-24}}));
  EXPECT_EQ(evaluate_unrounded(graph, {{1, -1}, {0x1p-22}}), SumValues{0x1p-22});
  EXPECT_FALSE(evaluate_unrounded(graph, {{0x1p23, -0x1p23}, {1}}));
}

// A factor may go into the terms of a sum, also of one that is 0.
TEST(EvaluateUnrounded, FactorsOfSumsArePowersOfTwo) {
  const auto scaled = [](double factor, double x) {
    Graph graph = graph_of_sum({1, 1}, 0);
    const ValueId by = add_to_sum(graph, Literal{{{1}, {factor}, {}}}, {}, 1);
    graph.outputs = {add_to_sum(graph, Binary{Binary::Kind::kMul}, {graph.outputs[0], by}, 1)};
    return evaluate_unrounded(graph, {{3, x}});
  };
  EXPECT_EQ(scaled(4, -1), SumValues{8});
  EXPECT_FALSE(scaled(3, -1));
  EXPECT_FALSE(scaled(3, -3));
  EXPECT_EQ(scaled(3, 0), SumValues{9}) << "the sum has one term";
}

TEST(EvaluateUnrounded, FunctionsAreExactOrNotKnown) {
  const auto of = [](FunctionKind kind, double x) {
    Graph graph = graph_of_sum({1}, 0);
    graph.outputs = {add_to_sum(graph, Unary{{kind}}, {graph.outputs[0]}, 1)};
    return evaluate_unrounded(graph, {{x}});
  };
  EXPECT_EQ(of(FunctionKind::kAbs, -3), SumValues{3});
  EXPECT_EQ(of(FunctionKind::kFloor, 2.5), SumValues{2});
  EXPECT_FALSE(of(FunctionKind::kExp, 0));
  EXPECT_FALSE(of(FunctionKind::kSigmoid, 0));
  EXPECT_FALSE(of(FunctionKind::kSqrt, 4)) << "normalisations rest on it";
}

TEST(EvaluateUnrounded, QuotientsAreExactOrNotKnown) {
  const auto quotient = [](double a, double b) {
    Graph graph;
    graph.inputs = {graph.add_value("a", {1}), graph.add_value("b", {1})};
    graph.outputs = {add_to_sum(graph, Binary{Binary::Kind::kDiv}, graph.inputs, 1)};
    return evaluate_unrounded(graph, {{a}, {b}});
  };
  EXPECT_EQ(quotient(6, 3), SumValues{2});
  EXPECT_FALSE(quotient(1, 3));
  EXPECT_FALSE(quotient(1, 0));
}

// Whatever is said of a random sum holds of its terms in random orders, fused and not.
TEST(EvaluateUnrounded, EveryOrderHasTheValue) {
  std::mt19937 random(7);
  const auto number = [&](int bits, int exponents) {
    const auto mantissa =
        static_cast<double>(static_cast<int>(random() % (2U << bits))) - std::ldexp(1.0, bits);
    return std::ldexp(mantissa, static_cast<int>(random() % static_cast<unsigned>(exponents)));
  };
  int known = 0;
  constexpr int kSums = 3000;
  for (int n = 0; n < kSums; ++n) {
    const auto terms = 1 + random() % 6;
    const int bits = 1 + static_cast<int>(random() % 12),
              exponents = 1 + static_cast<int>(random() % 14);
    SumValues w, x;
    for (unsigned k = 0; k < terms; ++k) {
      w.push_back(number(bits, exponents));
      x.push_back(number(bits, exponents));
    }
    const double bias = number(bits, exponents);
    const auto said = unrounded_sum(w, x, bias);
    if (!said) continue;
    ++known;
    std::vector<std::size_t> order(terms + 1);
    for (std::size_t k = 0; k <= terms; ++k) order[k] = k;
    for (int trial = 0; trial < 20; ++trial) {
      std::shuffle(order.begin(), order.end(), random);
      float y = 0;
      for (const std::size_t k : order) {
        if (k == terms)
          y += static_cast<float>(bias);
        else if (random() % 2 == 0)
          y = std::fmaf(static_cast<float>(w[k]), static_cast<float>(x[k]), y);
        else
          y += static_cast<float>(static_cast<double>(w[k]) * x[k]);
      }
      ASSERT_EQ(static_cast<double>(y), said->front()) << n;
    }
  }
  EXPECT_GT(known, kSums / 10);
  EXPECT_LT(known, kSums * 9 / 10);
}

}  // namespace
}  // namespace bf_aot
