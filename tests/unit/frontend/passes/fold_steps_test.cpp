// Functions of the sign of a scaled sign become one.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/evaluate/evaluate.h"
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
  EXPECT_EQ(count_ops<Unary>(graph), 2U);

  Scale inexact = scale({1, 1}, {0.1, 0.1});
  inexact.offset.error = {0, 0x1p-60};
  const Graph network = steps_of_steps(FunctionKind::kSign, inexact, FunctionKind::kSign);
  graph = network;
  fold_steps(graph);
  EXPECT_EQ(graph, network) << "the sign of what is known up to an error";
}

}  // namespace
}  // namespace bf_aot
