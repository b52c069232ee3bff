// Softmax as functions of differences: the function stays the same up to the error that it carries.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

const LogSoftmax kGroups = {{0, 3, 4, 8}, {4, 0, 2, 1, 7, 6, 5, 3}};

Graph network(const LogSoftmax& op, std::int64_t inputs, bool powers, bool logarithms) {
  Builder b({inputs});
  const auto count = static_cast<std::int64_t>(op.source.size());
  const ValueId z = b.add(op, {b.x()}, {count});
  std::vector<ValueId> outputs;
  if (logarithms) outputs.push_back(z);
  if (powers) outputs.push_back(b.add(Unary{{FunctionKind::kExp}}, {z}, {count}));
  return b.outputs(outputs);
}

void expect_same(const Graph& original, const Graph& changed, double scale) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> x;
    for (int i = 0; i < 8; ++i)
      x.push_back(scale * (static_cast<double>(random() % 2001) / 1000 - 1));
    const Tensors a = evaluate(original, {x}), b = evaluate(changed, {x});
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t o = 0; o < a.size(); ++o)
      for (std::size_t i = 0; i < a[o].size(); ++i)
        EXPECT_NEAR(a[o][i], b[o][i], 1e-13 * std::max(1.0, std::fabs(a[o][i])));
  }
}

TEST(SoftmaxAsPairs, IsTheSameFunction) {
  for (const auto& [powers, logarithms] :
       {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    const Graph original = network(kGroups, 8, powers, logarithms);
    Graph changed = original;
    softmax_as_pairs(changed);
    verify(changed);
    EXPECT_EQ(count_ops<LogSoftmax>(changed), 0U);
    expect_same(original, changed, 10);
    if (!logarithms) expect_same(original, changed, 1e4);
  }
}

// By hand: ln softmax of (0, 0) and (0, ln 3).
TEST(SoftmaxAsPairs, ValuesByHand) {
  Graph graph = network({{0, 2, 4}, {0, 1, 2, 3}}, 4, true, false);
  softmax_as_pairs(graph);
  const Tensors y = evaluate(graph, {{0, 0, 0, std::log(3)}});
  EXPECT_NEAR(y[0][0], 0.5, 1e-15);
  EXPECT_NEAR(y[0][2], 0.25, 1e-15);
  EXPECT_NEAR(y[0][3], 0.75, 1e-15);
}

TEST(SoftmaxAsPairs, GroupsOfOneAreZero) {
  Graph graph = network({{0, 1, 2}, {2, 0}}, 3, true, true);
  softmax_as_pairs(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{5, 6, 7}}), (Tensors{{0, 0}, {1, 1}}));
}

TEST(SoftmaxAsPairs, OtherGraphsStay) {
  Builder b({3});
  const Graph graph = b.outputs({b.add(Unary{{FunctionKind::kExp}}, {b.x()}, {3})});
  Graph changed = graph;
  softmax_as_pairs(changed);
  EXPECT_EQ(changed, graph);
}

TEST(SoftmaxAsPairs, TooManyPairs) {
  LogSoftmax wide{{0, 5000}, {}};
  for (std::int64_t i = 0; i < 5000; ++i) wide.source.push_back(i);
  const Graph graph = network(wide, 5000, true, false);
  EXPECT_EQ(codes([&] {
              Graph changed = graph;
              softmax_as_pairs(changed);
            }),
            std::set<std::string>{"BF2111"});
}

}  // namespace
}  // namespace bf_aot
