// Functions of the sign of a scaled sign become one, and so do rounding and limits.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

constexpr FunctionKind kOfSigns[] = {FunctionKind::kSign, FunctionKind::kStep,
                                     FunctionKind::kStepAt, FunctionKind::kIsZero};

Graph steps_of_steps(FunctionKind first, const Scale& between, FunctionKind last) {
  const auto count = static_cast<std::int64_t>(between.factor.data.size());
  Builder b({count});
  const ValueId s = b.add(Unary{{first}}, {b.x()}, {count});
  const ValueId t = b.add(between, {s}, {count});
  return b.outputs({b.add(Unary{{last}}, {t}, {count})});
}

void expect_same(const Graph& folded, const Graph& network) {
  const auto count =
      static_cast<std::size_t>(element_count(network.value(network.inputs[0]).shape));
  for (const double x : {-3.5, -0x1p-1074, -0.0, 0.0, 0x1p-1074, 0.25, 1.0}) {
    const std::vector<double> point(count, x);
    EXPECT_EQ(evaluate(folded, {point}), evaluate(network, {point})) << x;
  }
}

// -1, 0 and 1 are where sums of a factor and an offset have every sign.
TEST(FoldSteps, AreTheSameFunction) {
  int folded = 0;
  for (const FunctionKind first : kOfSigns)
    for (const FunctionKind last : kOfSigns)
      for (const double factor : {-2.0, -1.0, 0.0, 0.1, 1.0})
        for (const double offset : {-1.0, -0.1, 0.0, 0.1, 1.0}) {
          const Graph network =
              steps_of_steps(first, scale({factor, factor}, {offset, offset}), last);
          Graph graph = network;
          fold_steps(graph);
          verify(graph);
          expect_same(graph, network);
          folded += count_ops<Unary>(graph) == 1 ? 1 : 0;
        }
  EXPECT_GT(folded, 250) << "of 400; the others are of zeros alone";
}

TEST(FoldSteps, SignsOfBinaryNetworks) {
  Graph graph = steps_of_steps(FunctionKind::kSign, scale({1, 1}, {0.1, 0.1}), FunctionKind::kSign);
  fold_steps(graph);
  EXPECT_EQ(only<Unary>(graph).function, Function{FunctionKind::kStepAt});
  EXPECT_EQ(only<Scale>(graph), scale({2, 2}, {-1, -1}));
}

TEST(FoldSteps, OneFunctionForAllElements) {
  // Element 0 jumps behind 0, element 1 before it.
  const Graph network =
      steps_of_steps(FunctionKind::kSign, scale({1, 1}, {-0.5, 0.5}), FunctionKind::kSign);
  Graph graph = network;
  fold_steps(graph);
  EXPECT_EQ(graph, network);
  // Both behind it, one downward.
  const Graph two =
      steps_of_steps(FunctionKind::kSign, scale({1, -3}, {-0.5, 2}), FunctionKind::kSign);
  graph = two;
  fold_steps(graph);
  EXPECT_EQ(only<Unary>(graph).function, Function{FunctionKind::kStep});
  EXPECT_EQ(only<Scale>(graph), scale({2, -2}, {-1, 1}));
  expect_same(graph, two);
}

TEST(FoldSteps, ChainsOfThem) {
  Builder b({1});
  ValueId at = b.x();
  for (int i = 0; i < 5; ++i) {
    at = b.add(Unary{{FunctionKind::kSign}}, {at}, {1});
    if (i == 0) at = b.add(scale({-0.5}, {0.25}), {at}, {1});
  }
  const Graph network = b.outputs({at});
  Graph graph = network;
  fold_steps(graph);
  verify(graph);
  EXPECT_EQ(count_ops<Unary>(graph), 1U);
  expect_same(graph, network);
}

TEST(FoldSteps, OtherReadersAndErrorsStay) {
  Builder b({2});
  const ValueId s = b.add(Unary{{FunctionKind::kSign}}, {b.x()}, {2});
  const ValueId y = b.add(Unary{{FunctionKind::kSign}}, {s}, {2});
  const Graph both = b.outputs({y, s});
  Graph graph = both;
  fold_steps(graph);
  verify(graph);
  expect_same(graph, both);
  EXPECT_EQ(count_ops<Unary>(graph), 1U) << "the sign that others read, too";

  Scale inexact = scale({1, 1}, {0.1, 0.1});
  inexact.offset.error = {0, 0x1p-60};
  const Graph network = steps_of_steps(FunctionKind::kSign, inexact, FunctionKind::kSign);
  graph = network;
  fold_steps(graph);
  EXPECT_EQ(graph, network) << "the sign of what is known up to an error";
}

// ---- Rounding to a grid and limits become one function, and loose codes stay apart

using enum FunctionKind;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A chain of operators on three elements.
Graph graph_of_ops(const std::vector<Op>& ops) {
  Builder b({3});
  ValueId x = b.x();
  for (const Op& op : ops) x = b.add(op, {x}, {3});
  return b.outputs({x});
}

Scale scale_by(double factor, double offset) {
  return scale({factor, factor, factor}, {offset, offset, offset});
}

void expect_same_exactly(const Graph& folded, const Graph& network) {
  for (int i = -60; i <= 60; ++i) {
    const double x = i / 16.0;
    const std::vector<std::vector<double>> point = {
        {x, std::nextafter(x, -kUnlimited), std::nextafter(x, kUnlimited)}};
    EXPECT_EQ(evaluate_exact(folded, point), evaluate_exact(network, point)) << x;
  }
}

void expect_folded_clips(const std::vector<Op>& ops, const std::vector<Op>& into) {
  const Graph network = graph_of_ops(ops);
  Graph graph = network;
  fold_clips(graph);
  verify(graph);
  expect_same_exactly(graph, network);
  ASSERT_EQ(graph.nodes.size(), into.size()) << to_string(graph);
  for (std::size_t i = 0; i < into.size(); ++i)
    EXPECT_EQ(graph.nodes[i].op, into[i]) << to_string(graph);
}

Op quantise(double step, double low, double high, double slack = 0) {
  return Unary{{kQuantise, step, low, high, slack}};
}

TEST(FoldClips, LimitsBeforeAndBehindRounding) {
  expect_folded_clips({Unary{{kRound, 0.5}}, Unary{{kClip, -3, 4}}}, {quantise(0.5, -3, 4)});
  expect_folded_clips({Relu{}, quantise(0.5, -3, 4)}, {quantise(0.5, 0, 4)});
  expect_folded_clips({quantise(0.5, -3, 4), Relu{}}, {quantise(0.5, 0, 4)});
  // 0.75 / 0.5 is a tie, and goes to 2.
  expect_folded_clips({Unary{{kClip, -1, 0.75}}, quantise(0.5, -3, 4)}, {quantise(0.5, -2, 2)});
  expect_folded_clips({Unary{{kClip, -kUnlimited, 1}}, Unary{{kRound, 0.5}}},
                      {quantise(0.5, -kUnlimited, 2)});
}

TEST(FoldClips, LimitsBehindAScale) {
  expect_folded_clips({quantise(0.5, -3, 4), scale_by(0.5, 0), Relu{}},
                      {quantise(0.5, 0, 4), scale_by(0.5, 0)});
  expect_folded_clips({quantise(0.5, -3, 4), scale_by(0.25, 0.5), Unary{{kClip, 0.25, 1}}},
                      {quantise(0.5, -1, 2), scale_by(0.25, 0.5)});
  expect_folded_clips({Unary{{kRound, 0.5}}, scale_by(1, 3), Unary{{kClip, 0, 7}}},
                      {quantise(0.5, -3, 4), scale_by(1, 3)});
}

TEST(FoldClips, LimitsThatDoNotMeet) {
  expect_folded_clips({quantise(0.5, -3, 4), Unary{{kClip, 6, 8}}}, {quantise(0.5, 6, 6)});
}

TEST(FoldClips, RoundingToTheSameGridAgain) {
  expect_folded_clips({quantise(0.5, -3, 4), scale_by(0.5, 0), quantise(0.5, -2, 6)},
                      {quantise(0.5, -2, 4)});
  const std::vector<Op> other = {quantise(0.5, -3, 4), scale_by(0.25, 0), quantise(0.5, -2, 6)};
  expect_folded_clips(other, other);
}

TEST(FoldClips, WhatIsNoFunctionOfTheSameKindStays) {
  for (const std::vector<Op>& ops :
       {std::vector<Op>{quantise(0.5, -3, 4), scale_by(0.5, 0), Unary{{kClip, 0.3, 1}}},
        {quantise(0.5, -3, 4), scale_by(-0.5, 0), Relu{}},
        {quantise(0.5, -3, 4), scale({0.5, 0.5, 0.25}, {0, 0, 0}), Relu{}},
        {Unary{{kFloor}}, Unary{{kClip, -3, 4}}}})
    expect_folded_clips(ops, ops);
}

// The limits of a loose code are met behind what it is off by, and not before.
TEST(FoldClips, LooseCodes) {
  expect_folded_clips({quantise(0.5, -3, 4, 1), scale_by(0.5, 0), Relu{}},
                      {quantise(0.5, 0, 4, 1), scale_by(0.5, 0)});
  for (const std::vector<Op>& ops :
       {std::vector<Op>{Relu{}, quantise(0.5, -3, 4, 1)},
        {quantise(0.5, -3, 4, 1), scale_by(0.5, 0), quantise(0.5, -3, 4, 1)}})
    expect_folded_clips(ops, ops);
}

TEST(LoosenCodes, EveryQuantisation) {
  Graph graph = graph_of_ops({quantise(0.5, -3, 4), Unary{{kRound, 0.5}}, Unary{{kClip, -3, 4}}});
  loosen_codes(graph);
  EXPECT_EQ(graph,
            graph_of_ops({quantise(0.5, -3, 4, 1), Unary{{kRound, 0.5}}, Unary{{kClip, -3, 4}}}));
}

// Two loose codes of one number differ, so that they are not made one.
TEST(LoosenCodes, AreNoDuplicates) {
  for (const double slack : {0, 1}) {
    Builder b({3});
    const ValueId one = b.add(quantise(0.5, -3, 4, slack), {b.x()}, {3});
    const ValueId two = b.add(quantise(0.5, -3, 4, slack), {b.x()}, {3});
    Graph graph = b.outputs({b.add(Binary{Binary::Kind::kAdd}, {one, two}, {3})});
    remove_duplicates(graph);
    EXPECT_EQ(graph.nodes.size(), slack == 0 ? 2U : 3U);
  }
}

// Elements that a map repeats are rounded one by one.
TEST(LoosenCodes, AreRoundedBehindMapsThatRepeat) {
  for (const double slack : {0, 1}) {
    Builder b({2});
    const ValueId twice = b.add(IndexMap{{0, 1, 0, 1}}, {b.x()}, {4});
    const ValueId codes = b.add(quantise(0.5, -3, 4, slack), {twice}, {4});
    Graph graph = b.outputs({codes});
    eliminate_permutes(graph);
    const auto rounded = std::ranges::find_if(
        graph.nodes, [](const Node& node) { return std::holds_alternative<Unary>(node.op); });
    ASSERT_NE(rounded, graph.nodes.end());
    EXPECT_EQ(element_count(graph.value(rounded->output).shape), slack == 0 ? 2 : 4);
  }
}

}  // namespace
}  // namespace bf_aot
