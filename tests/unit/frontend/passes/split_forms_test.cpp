// Forms of operators whose neurons can be split: maxima as sums with ReLUs, softmax as functions of
// differences. What the passes write, and that the function stays the same: exactly, or up to the
// error that softmax carries.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

GroupMax group_max(const std::vector<std::vector<std::int64_t>>& groups) {
  GroupMax max{{0}, {}};
  for (const std::vector<std::int64_t>& group : groups) {
    max.source.insert(max.source.end(), group.begin(), group.end());
    max.row_start.push_back(static_cast<std::int64_t>(max.source.size()));
  }
  return max;
}

// Windows of kernel x kernel pixels of a square image, `pad` pixels around which are left out.
GroupMax maxima_of_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                           std::int64_t pad) {
  std::vector<std::vector<std::int64_t>> groups;
  for (std::int64_t y = -pad; y + kernel <= size + pad; y += stride)
    for (std::int64_t x = -pad; x + kernel <= size + pad; x += stride) {
      std::vector<std::int64_t>& group = groups.emplace_back();
      for (std::int64_t v = y; v < y + kernel; ++v)
        for (std::int64_t u = x; u < x + kernel; ++u)
          if (v >= 0 && v < size && u >= 0 && u < size) group.push_back(v * size + u);
    }
  return group_max(groups);
}

// The graph of maxima alone.
Graph graph_of(const GroupMax& max, std::int64_t inputs) {
  Builder b({inputs});
  return b.outputs({b.add(max, {b.x()}, {1, max.rows()})});
}

std::int64_t comparisons_of(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Relu>(node.op))
      count += element_count(graph.value(node.output).shape);
  return count;
}

// In eighths, many of them equal.
Tensors random_point(std::mt19937& random, std::int64_t count) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back(static_cast<double>(static_cast<int>(random() % 33) - 16) / 8);
  return {x};
}

// The graph without its maxima, which computes the same.
Graph rewritten(const Graph& original) {
  Graph graph = original;
  max_as_relu(graph);
  verify(graph);
  EXPECT_EQ(count_ops<GroupMax>(graph), 0U);
  EXPECT_EQ(graph.value(graph.outputs[0]), original.value(original.outputs[0]));
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const Tensors x = random_point(random, element_count(original.value(original.inputs[0]).shape));
    EXPECT_EQ(evaluate_exact(graph, x), evaluate_exact(original, x));
  }
  return graph;
}

TEST(MaxAsRelu, WindowsBesideEachOther) {
  const Graph graph = rewritten(graph_of(maxima_of_windows(4, 2, 2, 0), 16));
  EXPECT_EQ(to_string(graph), R"(graph ''
  input %0 'x' [16]
  %2 'v0_kept' [8] = index_map %0 [1, 5, 3, 7, 9, 13, 11, 15]   # N0
  %3 'v0_difference' [8] = sparse_affine %0 [{0 1} {4 5} {2 3} {6 7} {8 9} {12 13} {10 11} {14 15}] bias {0, 0, 0, 0, 0, 0, 0, 0}   # N0
  %4 'v0_relu' [8] = relu %3   # N0
  %5 'v0_max' [8] = add %2, %4   # N0
  %6 'v0_kept_2' [4] = index_map %5 [1, 3, 5, 7]   # N0
  %7 'v0_difference_2' [4] = sparse_affine %5 [{0 1} {2 3} {4 5} {6 7}] value {1, -1, 1, -1, 1, -1, 1, -1} bias {0, 0, 0, 0}   # N0
  %8 'v0_relu_2' [4] = relu %7   # N0
  %9 'v0_max_2' [4] = add %6, %8   # N0
  %1 'v0' [1, 4] = index_map %9 identity   # N0
  output %1
)");
}

TEST(MaxAsRelu, AnOddCandidateIsPlacedBesidePairs) {
  const Graph graph = rewritten(graph_of(group_max({{0, 1, 2}}), 3));
  EXPECT_EQ(to_string(graph), R"(graph ''
  input %0 'x' [3]
  %2 'v0_kept' [2] = index_map %0 [1, 2]   # N0
  %3 'v0_difference' [1] = sparse_affine %0 [{0 1}] value {1, -1} bias {0}   # N0
  %4 'v0_relu' [1] = relu %3   # N0
  %5 'v0_placed' [2] = sparse_affine %4 [{0} {}] value {1} bias {0, 0}   # N0
  %6 'v0_max' [2] = add %2, %5   # N0
  %7 'v0_kept_2' [1] = index_map %6 [1]   # N0
  %8 'v0_difference_2' [1] = sparse_affine %6 [{0 1}] value {1, -1} bias {0}   # N0
  %9 'v0_relu_2' [1] = relu %8   # N0
  %10 'v0_max_2' [1] = add %7, %9   # N0
  %1 'v0' [1, 1] = index_map %10 identity   # N0
  output %1
)");
}

// Both read the first tensor and the second, which lie one behind the other.
TEST(MaxAsRelu, TheLargerOfTwoTensors) {
  const Graph graph = rewritten(graph_of(group_max({{0, 3}, {1, 4}, {2, 5}}), 6));
  EXPECT_EQ(to_string(graph), R"(graph ''
  input %0 'x' [6]
  %2 'v0_kept' [3] = index_map %0 [3, 4, 5]   # N0
  %3 'v0_difference' [3] = sparse_affine %0 [{0 3} {1 4} {2 5}] value {1, -1, 1, -1, 1, -1} bias {0, 0, 0}   # N0
  %4 'v0_relu' [3] = relu %3   # N0
  %5 'v0_max' [3] = add %2, %4   # N0
  %1 'v0' [1, 3] = index_map %5 identity   # N0
  output %1
)");
}

TEST(MaxAsRelu, OverlappingWindowsShareTheirLines) {
  // 9 windows of 8 comparisons each; 5 lines of 3 places with 2 comparisons, and 2 for each window,
  // some of which are of two windows.
  EXPECT_EQ(comparisons_of(rewritten(graph_of(maxima_of_windows(5, 3, 1, 0), 25))), 5 * 6 + 9 * 2);
  EXPECT_EQ(comparisons_of(rewritten(graph_of(maxima_of_windows(5, 3, 2, 1), 25))), 5 * 4 + 4 * 3);
  for (const std::int64_t kernel : {2, 4, 5})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t pad : {0, 1})
        rewritten(graph_of(maxima_of_windows(6, kernel, stride, pad), 36));
}

TEST(MaxAsRelu, SingleAndRepeatedCandidates) {
  const Graph moved = rewritten(graph_of(group_max({{2}, {0, 0}, {1, 1, 1}}), 3));
  ASSERT_EQ(moved.nodes.size(), 1U);
  EXPECT_EQ(std::get<IndexMap>(moved.nodes[0].op).source, (std::vector<std::int64_t>{2, 0, 1}));
  const Graph mixed = rewritten(graph_of(group_max({{2}, {0, 1, 0, 1}, {1, 0}, {2, 2, 1, 0}}), 3));
  EXPECT_EQ(comparisons_of(mixed), 2) << "of 0 with 1, and of the larger with 2";
}

TEST(MaxAsRelu, RandomGroups) {
  std::mt19937 random(11);
  for (int n = 0; n < 200; ++n) {
    std::vector<std::vector<std::int64_t>> groups(1 + random() % 6);
    for (auto& group : groups)
      for (std::size_t k = 1 + random() % 9; k > 0; --k)
        group.push_back(static_cast<std::int64_t>(random() % 12));
    rewritten(graph_of(group_max(groups), 12));
  }
}

TEST(MaxAsRelu, AReluBehindAloneGoesBefore) {
  Builder b({1, 4});
  const ValueId first = b.add(group_max({{0, 1}, {2, 3}}), {b.x()}, {1, 2});
  const ValueId second = b.add(group_max({{0, 2}}), {b.x()}, {1});
  const Graph graph = rewritten(b.outputs({b.relu(first), second, b.relu(second)}));
  ASSERT_TRUE(std::holds_alternative<Relu>(graph.nodes[0].op));
  EXPECT_EQ(graph.nodes[0].inputs, graph.inputs);
  EXPECT_EQ(graph.value(graph.nodes[0].output).shape, (Shape{1, 4}));
  EXPECT_EQ(count_ops<Relu>(graph), 4U) << "two comparisons, the one that went, and the one of two";
}

// Where it is asked for alone, and no other pass undoes it; results that others read stay.
TEST(MaxAsRelu, InThePipelineAsAsked) {
  Builder b({4});
  const ValueId h = b.add(affine(4, 4, ramp(16), ramp(4)), {b.x()}, {4});
  const ValueId r = b.relu(h);
  const ValueId m = b.add(group_max({{0, 1}, {1, 2, 3}}), {r}, {2});
  const ValueId n = b.add(group_max({{0, 1}}), {m}, {1});
  const Graph original = b.outputs({b.add(affine(2, 1, {3, -1}, {0.5, 2}), {n}, {2}), m});
  Graph plain = original;
  normalise(plain);
  EXPECT_EQ(count_ops<GroupMax>(plain), 2U);
  PassOptions options;
  options.max_as_relu = true;
  Graph graph = original;
  normalise(graph, options);
  EXPECT_EQ(count_ops<GroupMax>(graph), 0U);
  EXPECT_EQ(count_ops<Relu>(graph), 4U);
  std::mt19937 random(13);
  for (int round = 0; round < 50; ++round) {
    const Tensors x = random_point(random, 4);
    EXPECT_EQ(evaluate_exact(graph, x), evaluate_exact(original, x));
  }
  options.disabled = {"max-as-relu"};
  graph = original;
  normalise(graph, options);
  EXPECT_EQ(count_ops<GroupMax>(graph), 2U);
}

// ---- softmax

const LogSoftmax kGroups = {{0, 3, 4, 8}, {4, 0, 2, 1, 7, 6, 5, 3}};

Graph softmax_network(const LogSoftmax& op, std::int64_t inputs, bool powers, bool logarithms) {
  Builder b({inputs});
  const auto count = static_cast<std::int64_t>(op.source.size());
  const ValueId z = b.add(op, {b.x()}, {count});
  std::vector<ValueId> outputs;
  if (logarithms) outputs.push_back(z);
  if (powers) outputs.push_back(b.add(Unary{{FunctionKind::kExp}}, {z}, {count}));
  return b.outputs(outputs);
}

void expect_same_softmax(const Graph& original, const Graph& changed, double scale) {
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
    const Graph original = softmax_network(kGroups, 8, powers, logarithms);
    Graph changed = original;
    softmax_as_pairs(changed);
    verify(changed);
    EXPECT_EQ(count_ops<LogSoftmax>(changed), 0U);
    expect_same_softmax(original, changed, 10);
    if (!logarithms) expect_same_softmax(original, changed, 1e4);
  }
}

// By hand: ln softmax of (0, 0) and (0, ln 3).
TEST(SoftmaxAsPairs, ValuesByHand) {
  Graph graph = softmax_network({{0, 2, 4}, {0, 1, 2, 3}}, 4, true, false);
  softmax_as_pairs(graph);
  const Tensors y = evaluate(graph, {{0, 0, 0, std::log(3)}});
  EXPECT_NEAR(y[0][0], 0.5, 1e-15);
  EXPECT_NEAR(y[0][2], 0.25, 1e-15);
  EXPECT_NEAR(y[0][3], 0.75, 1e-15);
}

TEST(SoftmaxAsPairs, GroupsOfOneAreZero) {
  Graph graph = softmax_network({{0, 1, 2}, {2, 0}}, 3, true, true);
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
  const Graph graph = softmax_network(wide, 5000, true, false);
  EXPECT_EQ(codes([&] {
              Graph changed = graph;
              softmax_as_pairs(changed);
            }),
            std::set<std::string>{"BF2111"});
}

}  // namespace
}  // namespace bf_aot
