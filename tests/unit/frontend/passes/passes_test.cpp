#include "frontend/passes/passes.h"

#include <gtest/gtest.h>

#include <numeric>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

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

// ---- Regions: everything that elementwise nodes connect takes one order.

// A convolution with one channel for each of `weight`'s rows, over an image [1, in, size, size].
Conv pointwise(std::int64_t in, std::int64_t out, std::int64_t size, std::vector<double> weight) {
  ConvGeometry g;
  g.in_channels = in;
  g.out_channels = out;
  g.in_size = g.out_size = {1, size, size};
  g.in = dense_layout(in, g.in_size);
  g.out = dense_layout(out, g.out_size);
  return {g, constant({out, in, 1}, std::move(weight)),
          constant({out}, std::vector<double>(static_cast<std::size_t>(out), 1))};
}

// NHWC to NCHW and back, of an image of `channels` x 2 x 2.
std::vector<std::int64_t> to_nchw(std::int64_t channels) {
  std::vector<std::int64_t> source;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t p = 0; p < 4; ++p) source.push_back(p * channels + c);
  return source;
}
std::vector<std::int64_t> to_nhwc(std::int64_t channels) {
  std::vector<std::int64_t> source;
  for (std::int64_t p = 0; p < 4; ++p)
    for (std::int64_t c = 0; c < channels; ++c) source.push_back(c * 4 + p);
  return source;
}

// As TensorFlow exports: NHWC tensors, a transpose before and after each convolution.
TEST(PermuteRegions, TransposeSandwichesVanish) {
  Builder b({1, 2, 2, 3});
  const ValueId c1 = b.add(pointwise(3, 2, 2, ramp(6)), {b.map(b.x(), to_nchw(3))}, {8});
  const ValueId r1 = b.relu(b.map(c1, to_nhwc(2)));
  const ValueId c2 = b.add(pointwise(2, 2, 2, ramp(4)), {b.map(r1, to_nchw(2))}, {8});
  const ValueId sum = b.add(Binary{Binary::Kind::kAdd}, {b.map(c2, to_nhwc(2)), r1}, {8});
  const ValueId s = b.add(Unary{{FunctionKind::kAbs, 0, 0}}, {sum}, {8});
  Graph graph = b.outputs({b.add(affine(2, 8, ramp(16), {1, 2}), {b.relu(s)}, {2})});
  const Tensors expected = evaluate(graph, {ramp(12)});
  normalise(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 0U);
  EXPECT_EQ(evaluate(graph, {ramp(12)}), expected);
}

// Maxima and sparse maps move their rows and sources.
TEST(PermuteRegions, MaximaAndSparseMapsMove) {
  Builder b({4});
  const ValueId max = b.add(GroupMax{{0, 2, 3, 4, 6}, {0, 1, 2, 3, 0, 3}}, {b.x()}, {4});
  const ValueId a = b.relu(b.map(max, {2, 0, 3, 1}));
  SparseAffine sparse;
  sparse.row_start = {0, 1, 2, 3, 4};
  sparse.column = {3, 2, 1, 0};
  sparse.value = constant({4}, {1, 2, 3, 4});
  sparse.bias = constant({4}, {5, 6, 7, 8});
  const ValueId t = b.add(Binary{Binary::Kind::kMul}, {a, b.add(sparse, {b.x()}, {4})}, {4});
  const ValueId pooled = b.add(GroupMax{{0, 2, 4}, {0, 1, 2, 3}}, {b.map(t, {3, 1, 0, 2})}, {2});
  Graph graph = b.outputs({pooled, b.add(sparse, {t}, {4})});
  const Tensors expected = evaluate(graph, {{1, -2, 3, -4}});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 0U);
  EXPECT_EQ(evaluate(graph, {{1, -2, 3, -4}}), expected);
}

// One arm of the sum is the input, which cannot move: the other arm's layer does.
TEST(PermuteRegions, AnArmThatCannotMoveHoldsTheOther) {
  Builder b({4});
  const ValueId h = b.relu(b.add(affine(4, 4, ramp(16), {1, 2, 3, 4}), {b.x()}, {4}));
  const ValueId sum = b.add(Binary{Binary::Kind::kAdd}, {b.map(h, {3, 1, 0, 2}), b.x()}, {4});
  Graph graph = b.outputs({b.relu(sum)});
  const Tensors expected = evaluate(graph, {{1, 2, 3, 4}});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 0U);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3, 4}}), expected);
}

// A tensor plus itself in another order: the map must stay.
TEST(PermuteRegions, BothOrdersOfOneTensorStay) {
  Builder b({4});
  const ValueId h = b.relu(b.add(affine(4, 4, ramp(16), {1, 2, 3, 4}), {b.x()}, {4}));
  const ValueId sum = b.add(Binary{Binary::Kind::kMul}, {b.map(h, {3, 1, 0, 2}), h}, {4});
  Graph graph = b.outputs({b.relu(sum)});
  const Tensors expected = evaluate(graph, {{1, 2, 3, 4}});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 1U);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3, 4}}), expected);
}

// A map with both sides in the region that another map moves: it is conjugated, not dropped.
TEST(PermuteRegions, AMapInsideOfAMovedRegionStays) {
  Builder b({3});
  const ValueId h = b.add(affine(3, 3, ramp(9), {1, 2, 3}), {b.x()}, {3});
  const ValueId difference = b.add(Binary{Binary::Kind::kSub}, {b.map(h, {2, 1, 0}), h}, {3});
  Graph graph = b.outputs({b.map(difference, {2, 1, 0})});
  const Tensors expected = evaluate(graph, {{1, 2, 4}});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, 4}}), expected);
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, 4}}), expected);
}

// A convolution reads any strides, but no shuffle.
TEST(PermuteRegions, WhatIsNoStrideStaysAtAConvolution) {
  Builder b({8});
  const ValueId shuffled = b.map(b.x(), {1, 0, 2, 3, 4, 5, 6, 7});
  Graph graph = b.outputs({b.add(pointwise(2, 1, 2, {1, 2}), {shuffled}, {4})});
  const Tensors expected = evaluate(graph, {ramp(8)});
  eliminate_permutes(graph);
  verify(graph);
  EXPECT_EQ(count_ops<IndexMap>(graph), 1U);
  EXPECT_EQ(evaluate(graph, {ramp(8)}), expected);
}

// ---- fold_scale

TEST(FoldScale, GoesIntoConvolutionsOnBothSides) {
  Builder b({1, 2, 2, 2});
  Scale channels = scale({2, 2, 2, 2, 3, 3, 3, 3}, {1, 1, 1, 1, -1, -1, -1, -1});
  const ValueId before = b.add(channels, {b.x()}, {8});
  const ValueId h = b.add(pointwise(2, 2, 2, {1, 2, 3, 4}), {before}, {8});
  Graph graph = b.outputs({b.add(channels, {h}, {8})});
  const Tensors expected = evaluate(graph, {ramp(8)});
  fold_scale(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {ramp(8)}), expected);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(only<Conv>(graph).weight.data, (std::vector<double>{4, 12, 18, 36}));
  EXPECT_EQ(only<Conv>(graph).bias.data, (std::vector<double>{1, -1}));
}

// At a border fewer taps see the offset: it differs between positions, and stays a Scale of
// factor 1.
TEST(FoldScale, AnOffsetBeforePaddingDiffersAtTheBorder) {
  Builder b({1, 1, 3, 3});
  ConvGeometry g;
  g.in_size = g.out_size = {1, 3, 3};
  g.kernel = {1, 3, 3};
  g.pad = {0, 1, 1};
  g.in = g.out = dense_layout(1, g.in_size);
  Scale shifted = scale(std::vector<double>(9, 2), std::vector<double>(9, 1));
  const Conv conv{g, constant({1, 1, 9}, std::vector<double>(9, 1)), constant({1}, {5})};
  Graph graph = b.outputs({b.add(conv, {b.add(shifted, {b.x()}, {9})}, {9})});
  const Tensors expected = evaluate(graph, {ramp(9)});
  normalise(graph);
  EXPECT_EQ(evaluate(graph, {ramp(9)}), expected);
  EXPECT_EQ(only<Scale>(graph).factor.data, std::vector<double>(9, 1));
  EXPECT_EQ(only<Scale>(graph).offset.data, (std::vector<double>{9, 11, 9, 11, 14, 11, 9, 11, 9}));
  EXPECT_EQ(only<Conv>(graph).weight.data, std::vector<double>(9, 2));
}

TEST(FoldScale, DistributesOverASumWhoseArmsTakeIt) {
  Builder b({2});
  const ValueId h = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  const ValueId r = b.relu(b.x());
  const ValueId sum = b.add(Binary{Binary::Kind::kAdd}, {r, h}, {2});
  Graph graph = b.outputs({b.add(scale({2, 3}, {10, 20}), {sum}, {2})});
  const Tensors expected = evaluate(graph, {{1, -2}});
  fold_scale(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, -2}}), expected);
  EXPECT_EQ(only<Affine>(graph), affine(2, 2, {2, 4, 9, 12}, {20, 38}));
  EXPECT_TRUE(std::holds_alternative<Binary>(graph.nodes.back().op));
}

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

// Zeros around an image are the convolution's own.
TEST(MergeAffine, PaddingGoesIntoTheConvolution) {
  Builder b({1, 1, 2, 2});
  SparseAffine pad;  // one row above, two columns on the left
  pad.row_start = {0};
  for (std::int64_t y = 0; y < 3; ++y)
    for (std::int64_t x = 0; x < 4; ++x) {
      if (y >= 1 && x >= 2) pad.column.push_back((y - 1) * 2 + x - 2);
      pad.row_start.push_back(static_cast<std::int64_t>(pad.column.size()));
    }
  pad.value = constant({4}, {1, 1, 1, 1});
  pad.bias = constant({12}, std::vector<double>(12, 0));
  ConvGeometry g;
  g.in_size = {1, 3, 4};
  g.out_size = {1, 2, 3};
  g.kernel = {1, 2, 2};
  g.in = dense_layout(1, g.in_size);
  g.out = dense_layout(1, g.out_size);
  const Conv conv{g, constant({1, 1, 4}, {1, 10, 100, 1000}), constant({1}, {5})};
  Graph graph = b.outputs({b.add(conv, {b.add(pad, {b.x()}, {12})}, {6})});
  const Tensors expected = evaluate(graph, {{1, 2, 3, 4}});
  merge_affine(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, 2, 3, 4}}), expected);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(only<Conv>(graph).geometry.pad, (Extent{0, 1, 2}));
  EXPECT_EQ(only<Conv>(graph).geometry.in_size, (Extent{1, 2, 2}));
}

// y = W [a, b] is W_a a + W_b b: the concatenated tensor is never made.
TEST(MergeAffine, ConcatenationGoesIntoItsReader) {
  for (const bool convolution : {false, true}) {
    Builder b({8});
    const ValueId a = b.relu(b.x());
    const ValueId c = b.add(Unary{{FunctionKind::kAbs, 0, 0}}, {b.x()}, {8});
    const auto placement = [](std::int64_t first) {
      SparseAffine place;
      place.row_start = {0};
      for (std::int64_t row = 0; row < 16; ++row) {
        if (row >= first && row < first + 8) place.column.push_back(row - first);
        place.row_start.push_back(static_cast<std::int64_t>(place.column.size()));
      }
      place.value = constant({8}, std::vector<double>(8, 1));
      place.bias = constant({16}, std::vector<double>(16, 0));
      return place;
    };
    const ValueId all =
        b.add(Binary{Binary::Kind::kAdd},
              {b.add(placement(0), {a}, {16}), b.add(placement(8), {c}, {16})}, {16});
    const ValueId y = convolution ? b.add(pointwise(4, 1, 2, {1, 2, 3, 4}), {all}, {4})
                                  : b.add(affine(2, 16, ramp(32), {1, 2}), {all}, {2});
    Graph graph = b.outputs({b.relu(y)});
    const Tensors expected = evaluate(graph, {ramp(8)});
    merge_affine(graph);
    verify(graph);
    EXPECT_EQ(evaluate(graph, {ramp(8)}), expected);
    EXPECT_EQ(count_ops<SparseAffine>(graph), 0U);
    EXPECT_EQ(count_ops<Conv>(graph), convolution ? 2U : 0U);
    EXPECT_EQ(count_ops<Affine>(graph), convolution ? 0U : 2U);
  }
}

TEST(MergeAffine, TermsOfOneTensorAdd) {
  Builder b({2});
  const ValueId p = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  const ValueId q = b.add(affine(2, 2, {10, 20, 30, 40}, {50, 60}), {b.x()}, {2});
  Graph graph = b.outputs({b.add(Binary{Binary::Kind::kAdd}, {p, q}, {2})});
  merge_affine(graph);
  verify(graph);
  EXPECT_EQ(only<Affine>(graph), affine(2, 2, {11, 22, 33, 44}, {55, 66}));
  EXPECT_EQ(graph.nodes.size(), 1U);
}

// A convolution over a large image shares its weights: written out it would cost more.
TEST(MergeAffine, LeavesLargeConvolutions) {
  Builder b({1, 2, 20, 20});
  const ValueId h = b.add(pointwise(2, 2, 20, {1, 2, 3, 4}), {b.x()}, {800});
  const std::vector<double> ones(4000, 1);
  Graph graph = b.outputs({b.add(affine(5, 800, ones, {0, 0, 0, 0, 0}), {h}, {5})});
  merge_affine(graph);
  EXPECT_EQ(count_ops<Conv>(graph), 0U);  // 5 x 800 is no more than the layer itself

  Builder wide({1, 2, 20, 20});
  const ValueId t = wide.add(pointwise(2, 1, 20, {1, 2}), {wide.x()}, {400});
  const ValueId back = wide.add(pointwise(1, 2, 20, {1, 2}), {t}, {800});
  graph = wide.outputs({back});
  const Graph original = graph;
  merge_affine(graph);
  EXPECT_EQ(graph, original);
}

TEST(MergeAffine, LeavesWhatOthersRead) {
  Graph graph = two_layers(2, 3, 4, true);
  const Graph original = graph;
  merge_affine(graph);
  EXPECT_EQ(graph, original);
}

// ---- remove_duplicates

TEST(RemoveDuplicates, EqualNodesAreComputedOnce) {
  Builder b({2});
  const ValueId h1 = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  const ValueId h2 = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 6}), {b.x()}, {2});
  const ValueId other = b.add(affine(2, 2, {1, 2, 3, 4}, {5, 7}), {b.x()}, {2});
  const ValueId r1 = b.relu(h1);
  const ValueId r2 = b.relu(h2);
  const ValueId sum = b.add(Binary{Binary::Kind::kAdd}, {r1, r2}, {2});
  const ValueId product = b.add(Binary{Binary::Kind::kMul}, {r1, r2}, {2});
  Graph graph = b.outputs({sum, product, r2, other});
  const Tensors expected = evaluate(graph, {{1, -2}});
  remove_duplicates(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{1, -2}}), expected);
  EXPECT_EQ(count_ops<Affine>(graph), 2U);
  EXPECT_EQ(count_ops<Relu>(graph), 2U);  // one is an output by its own name
  EXPECT_EQ(count_ops<Binary>(graph), 0U);
}

// 1 / 3 and a number next to it have the same double and the same bound of their distance to it.
TEST(RemoveDuplicates, InexactConstantsMayBeDifferentNumbers) {
  const auto nodes_with = [](double error) {
    Scale third = scale({1.0 / 3, 1.0 / 3}, {0, 0});
    if (error > 0) third.factor.error = {error, error};
    Builder b({2});
    const ValueId a = b.add(third, {b.x()}, {2}), c = b.add(third, {b.x()}, {2});
    Graph graph = b.outputs({b.add(Binary{Binary::Kind::kSub}, {a, c}, {2})});
    remove_duplicates(graph);
    verify(graph);
    return count_ops<Scale>(graph);
  };
  EXPECT_EQ(nodes_with(0x1p-55), 2U);
  EXPECT_EQ(nodes_with(0), 1U);
}

TEST(RemoveDuplicates, ChainsOfAnyLengthBecomeOne) {
  Builder b({2});
  const ValueId first = b.relu(b.x());
  const ValueId second = b.relu(first);
  const ValueId third = b.relu(second);
  Graph graph = b.outputs({third, first});
  remove_duplicates(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 2U);
  for (const Node& node : graph.nodes) EXPECT_EQ(node.inputs, graph.inputs);
  EXPECT_EQ(graph.outputs, (std::vector<ValueId>{third, first}));
}

}  // namespace
}  // namespace bf_aot
