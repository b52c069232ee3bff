#include "planner/entries/live_pixels.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "planner/lowering/dead_zeros.h"
#include "planner/verify/verify.h"
#include "runtime/bf/conv/conv_live.h"
#include "tests/unit/planner/toy_images.h"
#include "tests/unit/planner/verify/verify_graph.h"

// Which layers' dead neurons backward rows pass by, and what verify() says of lists that are wrong.
namespace bf_aot {
namespace {

using namespace bf_aot::testing;

// With vectors: scalar code has no lists.
Plan vector_plan(std::vector<Layer> layers = residual_layers()) {
  Plan plan = windowed_plan(std::move(layers));
  plan.config.target.vector_bytes = 32;
  return plan;
}

Plan listed_plan() {
  Plan plan = vector_plan();
  list_live_pixels(plan);
  settle(plan);
  return plan;
}

std::vector<LayerId> listed(Plan& plan, LayerId layer) {
  std::vector<LayerId> layers;
  for (const BackwardLink& link : rows_of(plan, layer).links)
    if (link.live != BufferId::kNone) layers.push_back(link.layer);
  return layers;
}

TEST(LivePixels, OfConvolutionsWithActivations) {
  Plan plan = listed_plan();
  verify(plan);
  EXPECT_EQ(listed(plan, kSecond), (std::vector<LayerId>{kFirst}));
  EXPECT_EQ(listed(plan, kBlock), (std::vector<LayerId>{kSecond, kFirst}));
  EXPECT_EQ(listed(plan, kTop), (std::vector<LayerId>{kBlock, kSecond, kFirst}));
  for (const int layer : {kFirst, kSecond}) {
    const Relax& relax = step_of<Relax>(plan, layer);
    EXPECT_EQ(plan.entries[0].buffer(relax.live).count, 48);  // 1 + [16 pixels][1 + 1] + 15
    EXPECT_EQ(link_of(rows_of(plan, kBlock), layer).live, relax.live);
  }
  // One channel of the box is few for a register tile; what goes from another layer to a list
  // through the identity goes as a whole tensor.
  const auto zeros = [&](int rows, int layer) {
    return dead_zeros(plan, rows_of(plan, rows), link_of(rows_of(plan, rows), layer));
  };
  EXPECT_EQ(zeros(kBlock, kFirst), DeadZeros::kWhereMany);
  EXPECT_EQ(zeros(kBlock, kSecond), DeadZeros::kNever);
  EXPECT_EQ(zeros(kTop, kBlock), DeadZeros::kAlways);
  const BackwardLink& block = link_of(rows_of(plan, kTop), kBlock);
  EXPECT_TRUE(block.outs[0].live);
  EXPECT_FALSE(block.outs[1].live);
}

TEST(LivePixels, NotOfOtherLayers) {
  const auto first_is_listed = [](const std::function<void(Plan&)>& change) {
    Plan plan = vector_plan();
    change(plan);
    list_live_pixels(plan);
    return link_of(rows_of(plan, kBlock), kFirst).live != BufferId::kNone;
  };
  EXPECT_TRUE(first_is_listed([](Plan&) {}));
  EXPECT_FALSE(first_is_listed([](Plan& p) { p.layers[kFirst].relu = false; }));
  EXPECT_FALSE(first_is_listed([](Plan& p) { rows_of(p, kBlock).iterations = 2; }));
  EXPECT_FALSE(first_is_listed([](Plan& p) { p.entries[0].boxes = 16; }));
  EXPECT_FALSE(first_is_listed([](Plan& p) { p.config.target.vector_bytes = 4; }));
  EXPECT_FALSE(first_is_listed(
      [](Plan& p) { link_of(rows_of(p, kBlock), kFirst).remake = {step_of<Relax>(p, kFirst)}; }));
}

// The second convolution reads the first one's image with rows and columns exchanged: the list's
// pixels are not those.
TEST(LivePixels, NotThroughOtherImages) {
  std::vector<Layer> layers = residual_layers();
  ConvGeometry& second = std::get<ConvMap>(layers[kSecond].terms[0].map).geometry;
  std::swap(second.in.spatial[1], second.in.spatial[2]);
  Plan plan = vector_plan(std::move(layers));
  list_live_pixels(plan);
  settle(plan);
  verify(plan);
  EXPECT_EQ(listed(plan, kBlock), (std::vector<LayerId>{kSecond, kFirst}));
  BackwardLink& link = link_of(rows_of(plan, kBlock), kSecond);
  EXPECT_FALSE(link.outs[0].live);
  EXPECT_EQ(dead_zeros(plan, rows_of(plan, kBlock), link), DeadZeros::kAlways);
  link.outs[0].live = true;
  EXPECT_DEATH(verify(plan), "makes_what_is_read");
}

// A list of products has room for so many.
TEST(LivePixels, NotThroughLongerLists) {
  const auto second_is_live = [](std::int64_t taps) {
    Plan plan = vector_plan();
    std::get<ConvMap>(plan.layers[kSecond].terms[0].map).geometry.kernel = {1, 1, taps};
    list_live_pixels(plan);
    return link_of(rows_of(plan, kBlock), kSecond).outs[0].live;
  };
  EXPECT_TRUE(second_is_live(bf::kMostProducts));
  EXPECT_FALSE(second_is_live(bf::kMostProducts + 1));
}

// A max layer behind the first convolution alone, then beside another reader.
std::vector<Layer> max_layers(bool shared) {
  std::vector<Layer> layers = residual_layers();
  layers[kSecond] =
      maximum("max", candidates(kFirst, 16, std::vector<std::vector<int>>(16, {3, 5, 14})));
  if (!shared) layers[kBlock].terms.pop_back();
  return layers;
}

TEST(LivePixels, OfWhatMaximaChose) {
  for (const bool shared : {false, true}) {
    Plan plan = residual_plan(max_layers(shared));
    plan.config.target.vector_bytes = 32;
    list_live_pixels(plan);
    settle(plan);
    verify(plan);
    EXPECT_EQ(chooser_of(plan, kFirst), shared ? std::optional<LayerId>() : LayerId(kSecond));
    const BufferId live = link_of(rows_of(plan, kBlock), kFirst).live;
    EXPECT_NE(live, BufferId::kNone);
    EXPECT_EQ(step_of<Relax>(plan, kFirst).live, shared ? live : BufferId::kNone);
    EXPECT_EQ(step_of<RelaxMax>(plan, kSecond).live, shared ? BufferId::kNone : live);
    if (!shared) continue;
    std::swap(step_of<Relax>(plan, kFirst).live, step_of<RelaxMax>(plan, kSecond).live);
    EXPECT_DEATH(verify(plan), "read_by_one");
  }
}

// ---- verify()

void expect_list_death(const std::function<void(Plan&)>& breakage, const char* message) {
  Plan plan = listed_plan();
  breakage(plan);
  EXPECT_DEATH(verify(plan), message);
}

TEST(LivePixels, VerifyCatchesRoutinesWithoutLists) {
  expect_list_death(
      [](Plan& p) {
        BackwardRows& rows = rows_of(p, kBlock);
        link_of(rows, kFirst).live = link_of(rows, kSecond).live = BufferId::kNone;
      },
      "own || of_input");
  expect_list_death([](Plan& p) { link_of(rows_of(p, kTop), kBlock).outs[1].live = true; }, "own");
}

TEST(LivePixels, VerifyCatchesListsOfOtherTables) {
  expect_list_death([](Plan& p) { step_of<Relax>(p, kFirst).live = BufferId::kNone; }, "");
  expect_list_death(
      [](Plan& p) { std::swap(step_of<Relax>(p, kFirst).live, step_of<Relax>(p, kSecond).live); },
      "");
  expect_list_death(
      [](Plan& p) {
        const BufferId list = step_of<Relax>(p, kFirst).live;
        p.entries[0].buffers[static_cast<std::size_t>(list)].count = 47;
      },
      "holds");
}

}  // namespace
}  // namespace bf_aot
