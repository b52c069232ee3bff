#include <gtest/gtest.h>

#include <numeric>

#include "frontend/evaluate.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend_graph_builder.h"

namespace bf {
namespace {

using namespace bf::testing;  // the builder

// ---- eliminate_permutes

TEST(EliminatePermutes, BothReadersOfAComposedPairKeepTheirOrder) {
  Builder b({3});
  const ValueId p1 = b.map(b.x(), {1, 2, 0});
  const ValueId p2 = b.map(p1, {1, 0, 2});
  Graph graph = b.outputs({b.relu(p1), b.relu(p2)});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3}}), (Tensors{{2, 3, 1}, {3, 2, 1}}));
}

TEST(EliminatePermutes, AnInversePairVanishesForItsReaderOnly) {
  Builder b({3});
  const ValueId p1 = b.map(b.x(), {1, 2, 0});
  const ValueId p2 = b.map(p1, {2, 0, 1});
  const ValueId ya = b.relu(p1);
  const ValueId yb = b.relu(p2);
  Graph graph = b.outputs({ya, yb});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3}}), (Tensors{{2, 3, 1}, {1, 2, 3}}));
  EXPECT_EQ(count_ops<IndexMap>(graph), 1U);
}

TEST(EliminatePermutes, OutputsKeepOrderNumberAndShape) {
  Builder b({1, 2});
  const ValueId same = b.add(IndexMap{{0, 1}}, {b.x()}, {2, 1});
  const ValueId swapped = b.map(b.x(), {1, 0});
  const ValueId back = b.map(swapped, {1, 0});
  const Graph original = b.outputs({swapped, same, back, same, b.x()});
  Graph graph = original;
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2}}), (Tensors{{2, 1}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}));
  ASSERT_EQ(graph.outputs.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(graph.outputs[i], original.outputs[i]);
  EXPECT_EQ(graph.value(graph.outputs[1]).shape, (Shape{2, 1}));
  EXPECT_EQ(graph.value(graph.outputs[4]).shape, (Shape{1, 2}));
}

TEST(EliminatePermutes, RepeatedElementsAddTheirColumns) {
  Builder b({2});
  const ValueId m = b.map(b.x(), {1, 1, 0});
  Graph graph = b.outputs({b.add(affine(1, 3, {1, 10, 100}, {7}), {m}, {1})});
  eliminate_permutes(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(only<Affine>(graph), affine(1, 2, {100, 11}, {7}));
  EXPECT_EQ(graph.nodes[0].origin, "N0 + N1");
}

TEST(EliminatePermutes, RoundedColumnSumsCarryTheirError) {
  Builder b({1});
  const ValueId m = b.map(b.x(), {0, 0});
  Graph graph = b.outputs({b.add(affine(1, 2, {1, 0x1p-60}, {0}), {m}, {1})});
  eliminate_permutes(graph);
  EXPECT_EQ(only<Affine>(graph).weight.data, std::vector<double>{1});
  EXPECT_EQ(only<Affine>(graph).weight.error, std::vector<double>{0x1p-60});
}

TEST(EliminatePermutes, DroppedElementsDropRowsFirst) {
  Builder b({2});
  const ValueId h = b.add(affine(3, 2, {1, 2, 3, 4, 5, 6}, {7, 8, 9}), {b.x()}, {3});
  const ValueId m = b.map(b.relu(h), {2});
  Graph graph = b.outputs({b.add(affine(1, 1, {2}, {0}), {m}, {1})});
  eliminate_permutes(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(std::get<Affine>(graph.nodes[0].op), affine(1, 2, {5, 6}, {9}));
}

TEST(EliminatePermutes, MovesAcrossScaleInBothDirections) {
  Builder down({2});
  const ValueId swapped = down.map(down.x(), {1, 0});
  const ValueId scaled = down.add(scale({2, 3}, {5, 7}), {swapped}, {2});
  Graph graph = down.outputs({down.add(affine(1, 2, {1, 10}, {0}), {scaled}, {1})});
  const Tensors expected = evaluate(graph, {{1, 2}});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 0U);
  EXPECT_EQ(only<Scale>(graph).factor.data, (std::vector<double>{3, 2}));
  EXPECT_EQ(evaluate(graph, {{1, 2}}), expected);

  Builder up({1});
  const ValueId h = up.add(affine(2, 1, {1, 10}, {0, 0}), {up.x()}, {2});
  const ValueId s = up.add(scale({2, 3}, {5, 7}), {h}, {2});
  graph = up.outputs({up.map(s, {1, 0})});
  const Tensors expected_up = evaluate(graph, {{4}});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 0U);
  EXPECT_EQ(evaluate(graph, {{4}}), expected_up);
}

// relu(P x) feeds a layer and is an output: the output must stay moved.
TEST(EliminatePermutes, DoesNotMoveAcrossAnOutput) {
  Builder b({2});
  const ValueId r = b.relu(b.map(b.x(), {1, 0}));
  const ValueId y = b.add(affine(1, 2, {1, 10}, {0}), {r}, {1});
  Graph graph = b.outputs({y, r});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2}}), (Tensors{{12}, {2, 1}}));
}

TEST(EliminatePermutes, ALayerWithOtherReadersIsCopiedOnlyIfThatIsCheaper) {
  for (const std::int64_t inputs : {2, 5}) {
    Builder b({inputs});
    std::vector<double> weight(static_cast<std::size_t>(3 * inputs));
    std::iota(weight.begin(), weight.end(), 1);
    const ValueId h = b.add(affine(3, inputs, weight, {1, 2, 3}), {b.x()}, {3});
    const ValueId y1 = b.relu(h);
    const ValueId y2 = b.relu(b.map(h, {2, 0, 1}));
    Graph graph = b.outputs({y1, y2});
    const std::vector<double> point(static_cast<std::size_t>(inputs), 1);
    const Tensors expected = evaluate(graph, {point});
    eliminate_permutes(graph);
    verify(graph);
    EXPECT_EQ(evaluate(graph, {point}), expected);
    EXPECT_EQ(count_ops<Affine>(graph), inputs == 2 ? 2U : 1U);
    EXPECT_EQ(count_ops<IndexMap>(graph), inputs == 2 ? 0U : 1U);
  }
}

// As deep as a hostile file may be: no deep recursion.
TEST(EliminatePermutes, EndsOnDeepChains) {
  Builder b({2});
  ValueId value = b.map(b.x(), {1, 0});
  for (int i = 0; i < 3000; ++i) value = b.relu(value);
  Graph graph = b.outputs({b.add(affine(1, 2, {1, 2}, {0}), {value}, {1})});
  eliminate_permutes(graph);
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2}}), (Tensors{{4}}));
}

// ---- fold_scale

TEST(FoldScale, GoesIntoTheLayerBeforeAndTheLayerAfter) {
  Builder b({2});
  const ValueId in = b.add(scale({2, 3}, {1, -1}), {b.x()}, {2});
  const ValueId h = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {in}, {2});
  Graph graph = b.outputs({b.add(scale({10, 100}, {1, 2}), {h}, {2})});
  fold_scale(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(only<Affine>(graph), affine(2, 2, {20, 60, 600, 1200}, {41, 502}));
  EXPECT_EQ(graph.nodes[0].origin, "N0 + N1 + N2");
}

TEST(FoldScale, OtherReadersStillSeeTheScaledTensor) {
  Builder b({1});
  const ValueId s = b.add(scale({2}, {1}), {b.x()}, {1});
  const ValueId y = b.add(affine(1, 1, {10}, {0}), {s}, {1});
  const ValueId r = b.relu(s);
  Graph graph = b.outputs({y, r, s});
  fold_scale(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{3}}), (Tensors{{70}, {7}, {7}}));
  EXPECT_EQ(std::get<Affine>(graph.nodes[1].op), affine(1, 1, {20}, {10}));
}

TEST(FoldScale, AnIdentityVanishes) {
  Builder b({1, 2});
  const ValueId s = b.add(scale({1, 1}, {0, 0}), {b.x()}, {2});
  Graph graph = b.outputs({b.relu(s)});
  fold_scale(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(FoldScale, AnInexactIdentityStays) {
  Builder b({1});
  Scale nearly = scale({1}, {0});
  nearly.factor.error = {0x1p-60};
  Graph graph = b.outputs({b.relu(b.add(nearly, {b.x()}, {1}))});
  fold_scale(graph);
  EXPECT_EQ(count_ops<Scale>(graph), 1U);
}

// ---- merge_affine

TEST(MergeAffine, MergesWhereItSavesWork) {
  Graph graph = two_layers(2, 3, 4, false);
  merge_affine(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(only<Affine>(graph), affine(4, 2, std::vector<double>(8, 3), {4, 4, 4, 4}));
}

TEST(MergeAffine, LeavesBottlenecks) {
  Graph graph = two_layers(10, 1, 10, false);
  merge_affine(graph);
  EXPECT_EQ(graph.nodes.size(), 2U);
}

TEST(MergeAffine, LeavesWhatOthersRead) {
  Graph graph = two_layers(2, 3, 4, true);
  const Graph original = graph;
  merge_affine(graph);
  EXPECT_EQ(graph, original);
}

// ---- remove_duplicate_relu

TEST(RemoveDuplicateRelu, ChainsOfAnyLengthBecomeOne) {
  Builder b({2});
  const ValueId first = b.relu(b.x());
  const ValueId second = b.relu(first);
  const ValueId third = b.relu(second);
  Graph graph = b.outputs({third, first});
  remove_duplicate_relu(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 2U);
  for (const Node& node : graph.nodes) EXPECT_EQ(node.inputs, graph.inputs);
  EXPECT_EQ(graph.outputs, (std::vector<ValueId>{third, first}));
}

}  // namespace
}  // namespace bf
