// Elements that nobody reads: what layers leave out, and that what is read stays as it was.

#include <gtest/gtest.h>

#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

// One channel of size x size pixels to `channels` of them, through kernels of 2 x 2.
Conv small_kernels(std::int64_t channels, std::int64_t size) {
  Conv conv;
  ConvGeometry& g = conv.geometry;
  g.out_channels = channels;
  g.in_size = {1, size, size};
  g.out_size = {1, size - 1, size - 1};
  g.kernel = {1, 2, 2};
  g.in = dense_layout(1, g.in_size);
  g.out = dense_layout(channels, g.out_size);
  conv.weight = constant({channels, 1, 4}, ramp(4 * channels));
  conv.bias = constant({channels}, ramp(channels));
  return conv;
}

// Largest pixels of windows of 2 x 2 beside each other, of `channels` of size x size pixels.
GroupMax pooled(std::int64_t channels, std::int64_t size) {
  GroupMax max;
  max.row_start = {0};
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y + 2 <= size; y += 2)
      for (std::int64_t x = 0; x + 2 <= size; x += 2) {
        const std::int64_t at = (c * size + y) * size + x;
        for (const std::int64_t candidate : {at, at + 1, at + size, at + size + 1})
          max.source.push_back(candidate);
        max.row_start.push_back(static_cast<std::int64_t>(max.source.size()));
      }
  return max;
}

void drop_and_compare(Graph& graph, const Tensors& x) {
  const Tensors expected = evaluate(graph, x);
  drop_unread(graph);
  verify(graph);
  EXPECT_EQ(evaluate(graph, x), expected);
}

// Pixels behind the last window are not computed, nor what they alone read.
TEST(DropUnread, ImagesEndWithTheLastWindow) {
  Builder b({1, 1, 8, 8});
  const ValueId first = b.relu(b.add(small_kernels(1, 8), {b.x()}, {1, 1, 7, 7}));
  const ValueId c = b.add(small_kernels(2, 7), {first}, {1, 2, 6, 6});
  const ValueId s = b.add(scale(ramp(72), ramp(72)), {b.relu(c)}, {1, 2, 6, 6});
  const ValueId picked = b.map(s, {0, 1, 6, 7, 36, 37, 42, 43});  // 2 x 2 of 6 x 6 pixels
  Graph graph = b.outputs({picked});
  drop_and_compare(graph, {ramp(64)});
  EXPECT_EQ(graph.value(s).shape, (Shape{1, 2, 2, 2}));
  EXPECT_EQ(graph.value(c).shape, (Shape{1, 2, 2, 2}));
  EXPECT_EQ(graph.value(first).shape, (Shape{1, 1, 3, 3}));
  const auto& conv = std::get<Conv>(graph.nodes[0].op);
  EXPECT_EQ(conv.geometry.in_size, (Extent{1, 8, 8}));  // the input stays as it is
  EXPECT_EQ(conv.geometry.out_size, (Extent{1, 3, 3}));
  EXPECT_EQ(conv.geometry.out, dense_layout(1, {1, 3, 3}));
}

TEST(DropUnread, MaximaReadBoxesOfImages) {
  Builder b({1, 1, 8, 8});
  const ValueId r = b.relu(b.add(small_kernels(3, 8), {b.x()}, {1, 3, 7, 7}));
  Graph graph = b.outputs({b.add(pooled(3, 7), {r}, {27})});
  drop_and_compare(graph, {ramp(64)});
  EXPECT_EQ(only<Conv>(graph).geometry.out_size, (Extent{1, 6, 6}));
  EXPECT_EQ(only<GroupMax>(graph), pooled(3, 6));
}

// Pixel by pixel, all channels together; a transposed convolution reads the image.
TEST(DropUnread, AnyLayoutAndDirection) {
  Builder b({1, 1, 5, 5});
  Conv conv = small_kernels(2, 5);
  conv.geometry.out = {0, 32, 1, {32, 8, 2}};
  const ValueId r = b.relu(b.add(conv, {b.x()}, {32}));
  Conv back;
  back.geometry.in_channels = 2;
  back.geometry.in_size = {1, 4, 4};
  back.geometry.out_size = {1, 5, 2};  // of 8 x 8: the others are left out
  back.geometry.kernel = {1, 2, 2};
  back.geometry.stride = {1, 2, 2};
  back.geometry.transposed = true;
  back.geometry.in = conv.geometry.out;
  back.geometry.out = dense_layout(1, back.geometry.out_size);
  back.weight = constant({1, 2, 4}, ramp(8));
  back.bias = constant({1}, {3});
  Graph graph = b.outputs({b.add(back, {r}, {10})});
  drop_and_compare(graph, {ramp(25)});
  const auto& made = std::get<Conv>(graph.nodes[0].op).geometry;
  EXPECT_EQ(made.out_size, (Extent{1, 3, 1}));
  EXPECT_EQ(made.out.channel, 1);
  EXPECT_EQ(made.out.spatial[1], 2);
}

// Both arms of a sum, and their other readers, see the same elements.
TEST(DropUnread, ArmsOfASumShrinkTogether) {
  Builder b({1, 1, 6, 6});
  const ValueId p = b.add(small_kernels(1, 6), {b.x()}, {25});
  const ValueId q = b.add(affine(25, 36, ramp(25 * 36), ramp(25)), {b.x()}, {25});
  const ValueId sum = b.add(Binary{Binary::Kind::kAdd}, {p, q}, {25});
  const ValueId few = b.map(b.relu(sum), {0, 6});
  const ValueId other = b.map(q, {3});  // one row further
  Graph graph = b.outputs({few, other});
  drop_and_compare(graph, {ramp(36)});
  EXPECT_EQ(only<Conv>(graph).geometry.out_size, (Extent{1, 2, 4}));
  EXPECT_EQ(only<Affine>(graph).weight.shape, (Shape{8, 36}));
}

// Of dense layers any elements: rows whose columns are 0 in all readers, exactly.
TEST(DropUnread, RowsWhoseColumnsAreZero) {
  Builder b({2});
  const ValueId h = b.relu(b.add(affine(4, 2, ramp(8), ramp(4)), {b.x()}, {2, 2}));
  Affine reader = affine(2, 4, {1, 0, 0, 2, 3, 0, 0, 0}, {1, 2});
  Graph graph = b.outputs({b.add(reader, {h}, {2})});
  Graph inexact = graph;
  auto& weight = std::get<Affine>(inexact.nodes.back().op).weight;
  weight.error = {0, 0, 0, 0, 0, 0, 0x1p-1000, 0};
  drop_and_compare(graph, {{3, -5}});
  EXPECT_EQ(std::get<Affine>(graph.nodes[0].op), affine(2, 2, {-4, -3, 2, 3}, {-2, 1}));
  EXPECT_EQ(std::get<Affine>(graph.nodes.back().op), affine(2, 2, {1, 2, 3, 0}, {1, 2}));
  EXPECT_EQ(graph.value(h).shape, (Shape{2}));
  drop_unread(inexact);
  verify(inexact);
  EXPECT_EQ(std::get<Affine>(inexact.nodes[0].op).weight.shape, (Shape{3, 2}));
  EXPECT_EQ(std::get<Affine>(inexact.nodes.back().op).weight.error,
            (std::vector<double>{0, 0, 0, 0, 0x1p-1000, 0}));
}

// Sparse maps, and functions of what they make.
TEST(DropUnread, SparseRowsAndColumns) {
  Builder b({4});
  SparseAffine sparse;
  sparse.row_start = {0, 2, 3, 4, 6};
  sparse.column = {0, 1, 2, 3, 0, 3};
  sparse.value = constant({6}, ramp(6));
  sparse.bias = constant({4}, ramp(4));
  const ValueId h = b.add(Unary{{FunctionKind::kAbs, 0, 0}}, {b.add(sparse, {b.x()}, {4})}, {4});
  SparseAffine reader;
  reader.row_start = {0, 0, 2};
  reader.column = {1, 3};
  reader.value = constant({2}, {5, 7});
  reader.bias = constant({2}, {1, 2});
  Graph graph = b.outputs({b.add(reader, {h}, {2})});
  drop_and_compare(graph, {{1, -2, 3, -4}});
  EXPECT_EQ(std::get<SparseAffine>(graph.nodes[0].op).rows(), 2);
  EXPECT_EQ(std::get<SparseAffine>(graph.nodes.back().op).column,
            (std::vector<std::int64_t>{0, 1}));
}

// All functions of an input are one region, which stays.
TEST(DropUnread, FunctionsOfAnInputStay) {
  Builder b({3});
  const ValueId few = b.map(b.relu(b.x()), {1});
  const ValueId all = b.add(scale(ramp(3), ramp(3)), {b.x()}, {3});
  const Graph original = b.outputs({few, all});
  Graph graph = original;
  drop_and_compare(graph, {{1, -2, 3}});
  EXPECT_EQ(graph, original);
}

// A map that is the identity once its own result has lost elements: what it reads is another
// region.
TEST(DropUnread, AMapThatBecomesTheIdentity) {
  Builder b({3});
  const ValueId h = b.relu(b.add(affine(3, 3, ramp(9), ramp(3)), {b.x()}, {3}));
  const ValueId m = b.add(scale({2, 3, 5, 7}, ramp(4)), {b.map(h, {0, 1, 2, 0})}, {4});
  Graph graph = b.outputs({b.map(b.relu(m), {2, 1}), b.map(b.relu(m), {0})});
  drop_and_compare(graph, {{1, -2, 3}});
  EXPECT_EQ(graph.value(m).shape, (Shape{3}));
}

TEST(DropUnread, InputsOutputsAndWhatNothingDependsOnStay) {
  Builder b({3});
  const ValueId h = b.relu(b.add(affine(3, 3, ramp(9), ramp(3)), {b.x()}, {3}));
  const ValueId one = b.map(h, {1});
  const ValueId zero = b.add(affine(1, 1, {0}, {1}), {b.relu(one)}, {1});
  const Graph original = b.outputs({h, b.map(b.x(), {2}), zero});
  Graph graph = original;
  drop_and_compare(graph, {{1, -2, 3}});
  EXPECT_EQ(graph, original);
}

}  // namespace
}  // namespace bf_aot
