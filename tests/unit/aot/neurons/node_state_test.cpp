#include "aot/neurons/node_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace bf_aot::cli {
namespace {

SplitNode example() {
  SplitNode node;
  node.depth = 2;
  node.splits = {{3, true, 0.5F}, {0, false, 0x1p-149F}};
  node.weights = {1, 0};
  node.slopes = {0, 1, 128, 255};
  return node;
}

TEST(NodeState, IsReadAsItWasMade) {
  const SplitNode node = example();
  const tree::Node made = {7, node.depth, state_of(node)};
  EXPECT_EQ(node_fault(made, 4, 2), nullptr);
  const SplitNode read = read_node(made, 4, 2);
  EXPECT_EQ(read.depth, node.depth);
  ASSERT_EQ(read.splits.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(read.splits[k].open, node.splits[k].open);
    EXPECT_EQ(read.splits[k].positive, node.splits[k].positive);
    EXPECT_EQ(read.splits[k].multiplier, node.splits[k].multiplier);
  }
  EXPECT_EQ(read.weights, node.weights);
  EXPECT_EQ(read.slopes, node.slopes);
}

TEST(NodeState, HasTheSameBytesOnEveryMachine) {
  SplitNode node;
  node.splits = {{2, true, 1}};
  node.weights = {2.5F};
  node.slopes = {9};
  const unsigned char expected[] = {1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x20, 0x40, 9};
  const std::vector<std::byte> state = state_of(node);
  ASSERT_EQ(state.size(), sizeof expected);
  for (std::size_t i = 0; i < state.size(); ++i)
    EXPECT_EQ(std::to_integer<unsigned char>(state[i]), expected[i]) << i;
}

TEST(NodeState, WhatIsNoNodeIsNamed) {
  const auto fault = [](const SplitNode& node, std::size_t open, std::size_t terms) {
    const char* const found = node_fault({0, 1, state_of(node)}, open, terms);
    return std::string(found == nullptr ? "" : found);
  };
  EXPECT_EQ(fault(example(), 4, 2), "");
  EXPECT_EQ(fault(example(), 5, 2), "a node of another size");
  EXPECT_EQ(fault(example(), 4, 1), "a node of another size");
  EXPECT_STREQ(node_fault({0, 1, {}}, 4, 2), "a node without its splits");
  EXPECT_EQ(node_fault({0, 0, {}}, 4, 2), nullptr);
  EXPECT_STREQ(node_fault({0, 1, std::vector<std::byte>(3)}, 4, 2), "a node of another size");
  const std::vector<std::byte> many(64, std::byte{0xff});
  EXPECT_STREQ(node_fault({0, 1, many}, 4, 2), "a node of another size");
  SplitNode node = example();
  node.splits[1].open = 3;
  EXPECT_EQ(fault(node, 4, 2), "a node with a split that it cannot have");
  node.splits[1].open = 4;
  EXPECT_EQ(fault(node, 4, 2), "a node with a split that it cannot have");
  for (const float bad : {-1.0F, std::nanf(""), INFINITY}) {
    node = example();
    node.splits[1].multiplier = bad;
    EXPECT_EQ(fault(node, 4, 2), "a node with a number below 0");
    node = example();
    node.weights[1] = bad;
    EXPECT_EQ(fault(node, 4, 2), "a node with a number below 0");
  }
}

}  // namespace
}  // namespace bf_aot::cli
