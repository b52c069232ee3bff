// Sums over the channels of each pixel behind a convolution become one with it.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace testing;  // the builder

constexpr std::int64_t kPixels = 12, kChannels = 3, kMixes = 2;

// 2 x 3 x 4 to 3 x 3 x 4, by a kernel of 3 x 3.
Conv convolution() {
  ConvGeometry g;
  g.in_channels = 2;
  g.out_channels = kChannels;
  g.in_size = g.out_size = {1, 3, 4};
  g.kernel = {1, 3, 3};
  g.pad = {0, 1, 1};
  g.in = dense_layout(2, g.in_size);
  g.out = dense_layout(kChannels, g.out_size);
  std::vector<double> weight;
  for (int i = 0; i < 54; ++i) weight.push_back((i * 7 % 11 - 5) / 4.0);
  return {g, constant({kChannels, 2, 9}, weight), constant({kChannels}, {0.5, -1, 2})};
}

// Row (pixel, mix): the first two channels' difference, or a sum of two.
SparseAffine mixes() {
  SparseAffine op{{0}, {}, {}, constant({kPixels * kMixes}, {})};
  for (std::int64_t q = 0; q < kPixels; ++q)
    for (std::int64_t k = 0; k < kMixes; ++k) {
      op.column.insert(op.column.end(), {k * kPixels + q, (k + 1) * kPixels + q});
      op.value.data.insert(op.value.data.end(), {1, k == 0 ? -1.0 : 0.5});
      op.row_start.push_back(op.row_start.back() + 2);
      op.bias.data.push_back(k == 0 ? 0.25 : -3);
    }
  op.value.shape = {2 * kPixels * kMixes};
  return op;
}

Graph mixed_channels(const SparseAffine& op) {
  Builder b({2, 3, 4});
  const ValueId image = b.add(convolution(), {b.x()}, {kChannels, 3, 4});
  return b.outputs({b.add(op, {image}, {op.rows()})});
}

void expect_mixes_as(const Graph& merged, const Graph& network) {
  verify(merged);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    std::vector<double> point(24);
    for (double& x : point) x = static_cast<double>(random() % 33) / 8 - 2;
    EXPECT_EQ(evaluate(merged, {point}), evaluate(network, {point}));
  }
}

TEST(ChannelMixes, BecomeOneWithTheConvolution) {
  const Graph network = mixed_channels(mixes());
  Graph graph = network;
  EXPECT_TRUE(merge_affine(graph));
  EXPECT_EQ(count_ops<SparseAffine>(graph), 0);
  const auto& conv = only<Conv>(graph);
  EXPECT_EQ(conv.geometry.out_channels, kMixes);
  EXPECT_EQ(conv.geometry.out.channel, 1) << "mixes of a pixel are neighbours";
  expect_mixes_as(graph, network);
}

TEST(ChannelMixes, AreAlikeAtAllPixels) {
  SparseAffine weight = mixes(), bias = mixes(), moved = mixes(), order = mixes();
  weight.value.data[5] = 2;                             // another weight at one pixel
  bias.bias.data[4] = 7;                                // another bias
  moved.column[1] += 1;                                 // of two pixels
  std::swap(order.value.data[1], order.value.data[3]);  // mixes in another order at one pixel
  std::swap(order.column[0], order.column[2]);
  std::swap(order.column[1], order.column[3]);
  std::swap(order.bias.data[0], order.bias.data[1]);
  for (const SparseAffine& op : {weight, bias, moved, order}) {
    const Graph network = mixed_channels(op);
    Graph graph = network;
    merge_affine(graph);
    for (const Node& node : graph.nodes)
      if (const auto* const conv = std::get_if<Conv>(&node.op)) {
        EXPECT_EQ(conv->geometry.out_channels, kChannels);
      }
    expect_mixes_as(graph, network);
  }
}

}  // namespace
}  // namespace bf_aot
