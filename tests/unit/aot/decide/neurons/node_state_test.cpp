#include "aot/decide/neurons/node_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace bf_aot::decide {
namespace {

// The third of four open neurons is a function's.
const std::vector<bool> kFunctions = {false, false, true, false};

NodeShape shape_of(std::size_t terms) {
  return {kFunctions, 1, terms, 1};
}

SplitNode example() {
  SplitNode node;
  node.depth = 2;
  node.splits = {{3, true, 0.5F}, {0, false, 0x1p-149F}, {2, true, 1, 0.1}, {2, false, 2, 0.3}};
  node.ranges = {{1, -1, 2}, {3, -INFINITY, 0.5F}};
  node.lines = {0.25F, -0.5F};
  node.weights = {1, 0};
  node.slopes = {0, 1, 128, 255};
  node.planes = {7, 254};
  return node;
}

TEST(NodeState, IsReadAsItWasMade) {
  const SplitNode node = example();
  const tree::Node made = {7, node.depth, state_of(node)};
  EXPECT_EQ(node_fault(made, shape_of(2)), nullptr);
  const SplitNode read = read_node(made, shape_of(2));
  EXPECT_EQ(read.depth, node.depth);
  ASSERT_EQ(read.splits.size(), node.splits.size());
  for (std::size_t k = 0; k < read.splits.size(); ++k) {
    EXPECT_EQ(read.splits[k].open, node.splits[k].open);
    EXPECT_EQ(read.splits[k].positive, node.splits[k].positive);
    EXPECT_EQ(read.splits[k].multiplier, node.splits[k].multiplier);
    EXPECT_EQ(read.splits[k].point, node.splits[k].point);
  }
  ASSERT_EQ(read.ranges.size(), node.ranges.size());
  for (std::size_t k = 0; k < read.ranges.size(); ++k) {
    EXPECT_EQ(read.ranges[k].open, node.ranges[k].open);
    EXPECT_EQ(read.ranges[k].lower, node.ranges[k].lower);
    EXPECT_EQ(read.ranges[k].upper, node.ranges[k].upper);
  }
  EXPECT_EQ(read.weights, node.weights);
  EXPECT_EQ(read.lines, node.lines);
  EXPECT_EQ(read.slopes, node.slopes);
  EXPECT_EQ(read.planes, node.planes);
}

TEST(NodeState, HasTheSameBytesOnEveryMachine) {
  SplitNode node;
  node.splits = {{2, true, 1, 0.5}};
  node.ranges = {{1, -1, 2}};
  node.bound = -1;
  node.split_gain = 2;
  node.tighten_gain = 0.5F;
  node.tightened = 6;
  node.weights = {2.5F};
  node.slopes = {9};
  node.planes = {10};
  const std::string expected =
      "01000000 01000000 05000000 0000803f 000000000000e03f 01000000 000080bf 00000040 "
      "000080bf 00000040 0000003f 06000000 00002040 09 0a";
  std::string written;
  for (const std::byte each : state_of(node))
    written += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  std::string without_spaces = expected;
  std::erase(without_spaces, ' ');
  EXPECT_EQ(written, without_spaces);
}

std::string fault_of(const SplitNode& node, std::size_t terms = 2) {
  const char* const found = node_fault({0, 1, state_of(node)}, shape_of(terms));
  return found == nullptr ? "" : found;
}

TEST(NodeState, WhatIsOfAnotherSizeIsNamed) {
  EXPECT_EQ(fault_of(example()), "");
  EXPECT_EQ(fault_of(example(), 1), "a node of another size");
  const std::vector<bool> more(5);
  EXPECT_STREQ(node_fault({0, 1, state_of(example())}, {more, 1, 2}), "a node of another size");
  EXPECT_STREQ(node_fault({0, 1, state_of(example())}, {kFunctions, 2, 2}),
               "a node of another size");
  EXPECT_STREQ(node_fault({0, 1, state_of(example())}, {kFunctions, 1, 2, 2}),
               "a node of another size");
  EXPECT_STREQ(node_fault({0, 1, {}}, shape_of(2)), "a node without its splits");
  EXPECT_EQ(node_fault({0, 0, {}}, shape_of(2)), nullptr);
  for (const std::size_t bytes : {3, 7, 64})
    EXPECT_STREQ(node_fault({0, 1, std::vector<std::byte>(bytes, std::byte{0xff})}, shape_of(2)),
                 "a node of another size");
}

TEST(NodeState, SplitsThatNoNodeHasAreNamed) {
  const auto fault_with = [](std::size_t k, const NeuronSplit& split) {
    SplitNode node = example();
    node.splits[k] = split;
    return fault_of(node);
  };
  constexpr const char* kSplit = "a node with a split that it cannot have";
  EXPECT_EQ(fault_with(1, {3, false, 0}), kSplit) << "a ReLU of both signs";
  EXPECT_EQ(fault_with(1, {4, false, 0}), kSplit) << "no such neuron";
  EXPECT_EQ(fault_with(1, {0, false, 0, 1}), kSplit) << "a ReLU apart from 0";
  EXPECT_EQ(fault_with(3, {2, true, 0, 1}), kSplit) << "two on one side";
  EXPECT_EQ(fault_with(3, {2, false, 0, NAN}), kSplit);
}

TEST(NodeState, NumbersThatNoNodeHasAreNamed) {
  for (const float bad : {-1.0F, std::nanf(""), INFINITY}) {
    SplitNode node = example();
    node.splits[1].multiplier = bad;
    EXPECT_EQ(fault_of(node), "a node with a number below 0");
    node = example();
    node.weights[1] = bad;
    EXPECT_EQ(fault_of(node), "a node with a number below 0");
  }
  for (const float bad : {std::nanf(""), INFINITY}) {
    SplitNode node = example();
    node.lines[1] = bad;
    EXPECT_EQ(fault_of(node), "a node with a slope that is no number");
  }
  // Before the first, no such neuron, a function's, no number, of one sign.
  for (const NeuronRange& bad :
       {NeuronRange{0, -1, 1}, NeuronRange{4, -1, 1}, NeuronRange{2, -1, 1}, NeuronRange{3, NAN, 1},
        NeuronRange{3, -1, NAN}, NeuronRange{3, 0, 1}, NeuronRange{3, -1, 0}}) {
    SplitNode node = example();
    node.ranges[1] = bad;
    EXPECT_EQ(fault_of(node), "a node with a range that it cannot have");
  }
}

}  // namespace
}  // namespace bf_aot::decide
