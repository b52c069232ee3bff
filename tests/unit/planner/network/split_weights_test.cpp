#include "planner/entries/split_weights.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/unit/frontend/graph/graph_builder.h"
#include "tests/unit/planner/toy_graph.h"
#include "tests/unit/planner/toy_images.h"

// Weights of inputs for branch and bound, against column sums by hand.
namespace bf_aot {
namespace {

using testing::candidates;
using testing::conv;
using testing::dense;
using testing::gather;
using testing::identity;
using testing::maximum;
using testing::product;
using testing::sparse;
using testing::square_conv;
using testing::sum;

using Floats = std::vector<float>;
constexpr int kX = -1;  // the network's input

// The head is the last layer.
Plan plan_of(int inputs, std::vector<Layer> layers) {
  Plan plan;
  plan.config.decide = true;
  plan.input_count = inputs;
  plan.output_heads = {static_cast<int>(layers.size()) - 1};
  plan.layers = std::move(layers);
  return plan;
}

Floats weights_of(Plan plan) {
  weigh_splits(plan);
  return plan.split_weights;
}
Floats weights_of(int inputs, std::vector<Layer> layers) {
  return weights_of(plan_of(inputs, std::move(layers)));
}

// |W2| |W1| = (1, 2) ((1, 4, 0.5), (3, 0, 0.75)), summed over its only row: 7, 4, 2.
TEST(SplitWeights, AreColumnSumsOfMagnitudes) {
  Layer hidden = dense("hidden", kX, {{1, -4, 0.5F}, {-3, 0, 0.75F}}, {0, 0});
  hidden.relu = true;
  EXPECT_EQ(weights_of(3, {hidden, dense("head", 0, {{-1, 2}}, {9})}),
            (Floats{1, 4.0F / 7, 2.0F / 7}));
  EXPECT_EQ(weights_of(3, {hidden, dense("head", 0, {{-1, 0}, {0, -2}}, {0, 0})}),
            (Floats{1, 4.0F / 7, 2.0F / 7}))
      << "sums over all rows";
}

TEST(SplitWeights, AreOfTheRowsWhereThereAreSome) {
  Plan plan =
      plan_of(2, {dense("y", kX, {{1, 8}, {8, 1}}, {0, 0}), dense("rows", kX, {{-2, 1}}, {0})});
  plan.output_heads = {0};
  EXPECT_EQ(weights_of(plan), (Floats{1, 1}));
  plan.spec_rows = 1;
  plan.spec_heads = {1};
  EXPECT_EQ(weights_of(plan), (Floats{1, 0.5F}));
}

TEST(SplitWeights, AddUpOverHeads) {
  Plan plan = plan_of(2, {dense("y", kX, {{1, 8}}, {0}), dense("z", kX, {{3, 0}}, {0})});
  plan.output_heads = {0, 1};
  EXPECT_EQ(weights_of(plan), (Floats{0.5F, 1}));
}

// x_0 - x_2 and 3 x_1 - x_0 reach the sum beside (x_1, none), and count 2 and 4.
TEST(SplitWeights, OfASumAddUpOverItsTerms) {
  const Layer both =
      sum("both", {sparse(kX, 3, {{{0, 1}, {2, -1}}, {{1, 3}, {0, -1}}}), gather(kX, 3, {1, -1})},
          {0, 0});
  EXPECT_EQ(weights_of(3, {both, dense("head", 0, {{2, -4}}, {0})}),
            (Floats{6.0F / 14, 1, 2.0F / 14}));
}

TEST(SplitWeights, PassAConnectionAroundALayer) {
  Layer hidden = dense("hidden", kX, {{1, -1}, {0, 2}}, {0, 0});
  hidden.relu = true;
  const Layer block = sum("block", {identity(0, 2), identity(kX, 2)}, {0, 0});
  EXPECT_EQ(weights_of(2, {hidden, block, dense("head", 1, {{1, -1}}, {0})}), (Floats{0.5F, 1}));
}

// How many windows of 3 x 3 read a pixel of 4 x 4: 4 at corners, 6 at edges, 9 inside.
TEST(SplitWeights, OfAConvolution) {
  const Floats signs = {1, -1, 1, -1, 1, -1, 1, -1, 1};
  const Layer pixels = sum("pixels", {conv(kX, square_conv(4), signs)}, std::vector<double>(16));
  const Layer head = dense("head", 0, {Floats(16, -1)}, {0});
  const Floats weights = weights_of(16, {pixels, head});
  ASSERT_EQ(weights.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    const bool row = i / 4 == 0 || i / 4 == 3, column = i % 4 == 0 || i % 4 == 3;
    EXPECT_EQ(weights[i], row && column ? 4.0F / 9 : row || column ? 6.0F / 9 : 1) << i;
  }
}

TEST(SplitWeights, OfAMaximumAreThoseOfItsCandidates) {
  const Layer largest = maximum("largest", candidates(kX, 3, {{0, 1}, {1, 2}}));
  EXPECT_EQ(weights_of(3, {largest, dense("head", 0, {{2, -3}}, {0})}), (Floats{0.4F, 1, 0.6F}));
}

TEST(SplitWeights, OfAProductAreThoseOfBothFactors) {
  const Layer products = product("products", gather(kX, 3, {0, 1}), gather(kX, 3, {1, 2}));
  EXPECT_EQ(weights_of(3, {products, dense("head", 0, {{2, -3}}, {0})}), (Floats{0.4F, 1, 0.6F}));
}

// 0x1p-300 and FLT_MAX squared are doubles, but no floats.
TEST(SplitWeights, OfAnySizeEndAtOne) {
  const float small = 0x1p-100F;
  const auto row = [](float a, float b) { return std::vector<Floats>{{a, b}}; };
  EXPECT_EQ(weights_of(2, {dense("a", kX, row(small, -small / 2), {0}),
                           dense("b", 0, {{small}}, {0}), dense("c", 1, {{small}}, {0})}),
            (Floats{1, 0.5F}));
  EXPECT_EQ(weights_of(2, {dense("a", kX, row(FLT_MAX / 2, FLT_MAX), {0}),
                           dense("b", 0, {{FLT_MAX}}, {0})}),
            (Floats{0.5F, 1}));
}

TEST(SplitWeights, AreOnesWhenNothingReachesTheRows) {
  EXPECT_EQ(weights_of(3, {dense("head", kX, {{0, 0, 0}}, {5})}), (Floats{1, 1, 1}));
}

// Beside input `other`, input 1 - other times `weight` times FLT_MAX ten times over.
std::vector<Layer> steep(float weight, int other) {
  std::vector<Layer> layers = {sum("one", {gather(kX, 2, {1 - other})}, {0}),
                               dense("d0", 0, {{weight}}, {0})};
  for (int i = 1; i <= 10; ++i)
    layers.push_back(dense("d" + std::to_string(i), i, {{FLT_MAX}}, {0}));
  layers.push_back(sum("head", {identity(11, 1), gather(kX, 2, {other})}, {0}));
  return layers;
}

// The product is no double, and infinity times 0 is no number.
TEST(SplitWeights, AreOnesWhenTheSumsOverflow) {
  for (const float weight : {1.0F, 0.0F})
    for (const int other : {0, 1})
      EXPECT_EQ(weights_of(2, steep(weight, other)), (Floats{1, 1})) << weight << " " << other;
}

// ---- as a pass

Graph graph() {
  testing::Builder b({2});
  const ValueId y = b.add(testing::affine(1, 2, {1, -4}, {0}), {b.x()}, {1});
  return b.outputs({y});
}

Plan planned(bool decide, std::vector<std::string> disabled = {}) {
  PlannerConfig config;
  config.target = find_target("generic");
  config.decide = decide;
  config.disabled_passes = std::move(disabled);
  return plan(graph(), {}, "net", false, config);
}

TEST(SplitWeights, AreMadeForDecisionsAlone) {
  EXPECT_EQ(planned(true).split_weights, (Floats{0.25F, 1}));
  EXPECT_EQ(planned(false).split_weights, Floats());
  EXPECT_EQ(planned(true, {"weigh-splits"}).split_weights, Floats());
}

TEST(SplitWeights, AreInTheManifest) {
  const nlohmann::ordered_json json = to_json(planned(true));
  EXPECT_EQ(json.at("split_weights"), (nlohmann::ordered_json{0.25, 1.0}));
  EXPECT_EQ(json.at("options").at("decide"), "inputs");
  EXPECT_TRUE(to_json(planned(true, {"weigh-splits"})).at("split_weights").empty());
  EXPECT_FALSE(to_json(planned(false)).contains("split_weights"));
  EXPECT_FALSE(to_json(planned(false)).at("options").contains("decide"));
}

TEST(SplitWeights, OfBadPlansAreRefused) {
  Plan plan = planned(true);
  const auto expect_death = [&](const Floats& weights, const char* message) {
    plan.split_weights = weights;
    EXPECT_DEATH(verify(plan), message);
  };
  expect_death({1}, "1 weights to split 2 inputs by");
  expect_death({1, 1, 1}, "3 weights to split 2 inputs by");
  expect_death({1, 1.5F}, "a split weight of 1.5");
  expect_death({-0.5F, 1}, "a split weight of -0.5");
  expect_death({std::numeric_limits<float>::quiet_NaN(), 1}, "a split weight of nan");
  plan.split_weights = {0, 1};
  verify(plan);
  plan.config.decide = false;
  expect_death({0, 1}, "2 weights to split 2 inputs by");
}

}  // namespace
}  // namespace bf_aot
