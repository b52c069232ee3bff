#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "planner/lowering/lower_rows.h"
#include "planner/verify/verify.h"
#include "tests/unit/planner/toy_images.h"
#include "tests/unit/planner/verify/verify_graph.h"

// Tensors of which backward rows need windows, and what verify() says of wrong ones.
namespace bf_aot {
namespace {

using namespace bf_aot::testing;

std::vector<LayerId> tensors_of(const Plan& plan, LayerId layer) {
  Plan copy = plan;
  std::vector<LayerId> tensors;
  for (const RowImage& image : row_images(plan, rows_of(copy, layer)))
    tensors.push_back(image.tensor);
  return tensors;
}

TEST(RowImages, FollowConvolutionsAndIdentities) {
  const Plan plan = residual_plan();
  EXPECT_EQ(tensors_of(plan, kSecond), (std::vector<LayerId>{kSecond, kFirst, -1}));
  EXPECT_EQ(tensors_of(plan, kBlock), (std::vector<LayerId>{kBlock, kSecond, kFirst, -1}));
  // The head reads all of the block, which reads the first layer through the identity.
  EXPECT_EQ(tensors_of(plan, kTop), (std::vector<LayerId>{kSecond, -1}));
}

TEST(RowImages, EndWhereATensorIsReadInAnotherWay) {
  std::vector<Layer> layers = residual_layers();
  layers[kBlock].terms[1] =
      gather(kFirst, 16, {3, 2, 1, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(tensors_of(residual_plan(layers), kBlock), (std::vector<LayerId>{kBlock, kSecond, -1}));

  layers = residual_layers();  // coefficients over it go through a sparse map
  layers[kSecond].terms.push_back(sparse(-1, 16, SparseRows(16, {{0, 1.0F}})));
  EXPECT_EQ(tensors_of(residual_plan(layers), kBlock), (std::vector<LayerId>{kBlock, kFirst}));

  layers = residual_layers();  // two convolutions see different images
  auto& other = std::get<ConvMap>(layers[kSecond].terms[0].map).geometry;
  std::swap(other.in.spatial[1], other.in.spatial[2]);
  EXPECT_EQ(tensors_of(residual_plan(layers), kBlock), (std::vector<LayerId>{kBlock, kSecond, -1}));
}

TEST(RowImages, NoneForRowsThatWalkForward) {
  Plan plan = residual_plan();
  BackwardRows& rows = rows_of(plan, kBlock);
  rows.iterations = 2;
  EXPECT_TRUE(row_images(plan, rows).empty());
}

TEST(RowImages, FoundByTensor) {
  Plan plan = residual_plan();
  BackwardRows& rows = rows_of(plan, kBlock);
  rows.images = row_images(plan, rows);
  EXPECT_EQ(find_image(rows, kFirst)->tensor, kFirst);
  EXPECT_EQ(find_image(rows, kTop), nullptr);
}

// ---- windows that nothing reads

calls::Node window_node(LayerId tensor, std::vector<LayerId> readers) {
  calls::DefineWindow made;
  made.tensor = tensor;
  for (const LayerId each : readers)
    made.reads.push_back({calls::WindowRead::Kind::kSame, {}, each});
  if (readers.empty()) made.count = 2;
  return {made};
}

std::vector<LayerId> windows_in(const calls::Body& body) {
  std::vector<LayerId> tensors;
  for (const calls::Node& node : body)
    if (const auto* const window = std::get_if<calls::DefineWindow>(&node.what))
      tensors.push_back(window->tensor);
  return tensors;
}

TEST(RowImages, OnlyWindowsThatAreReadAreDefined) {
  const calls::Body windows = {window_node(kBlock, {}), window_node(kSecond, {kBlock}),
                               window_node(kFirst, {kSecond})};
  const auto with_call = [&](LayerId tensor) {
    calls::Body body = windows;
    calls::Call call;
    call.callee = calls::Routine::kClearWindow;
    call.arguments = {calls::Image{tensor, {}},
                      calls::Window{calls::Window::Of::kTensor, tensor, {}}};
    body.push_back({call});
    calls::drop_unread_windows(body);
    return windows_in(body);
  };
  EXPECT_EQ(with_call(kFirst), (std::vector<LayerId>{kBlock, kSecond, kFirst}));
  EXPECT_EQ(with_call(kSecond), (std::vector<LayerId>{kBlock, kSecond}));
  calls::Body unread = windows;
  RowImage image;
  image.tensor = kBlock;
  unread.insert(unread.begin(), {calls::DefineImage{image}});
  calls::drop_unread_windows(unread);
  calls::drop_unread_images(unread);
  EXPECT_TRUE(unread.empty());
}

// ---- verify()

void expect_windows_death(const std::function<void(Plan&)>& breakage, const char* message) {
  Plan plan = windowed_plan();
  breakage(plan);
  EXPECT_DEATH(verify(plan), message);
}

TEST(RowImages, VerifyAcceptsGoodPlans) {
  verify(windowed_plan());
}

TEST(RowImages, VerifyCatchesImagesOfOtherTensors) {
  expect_windows_death(
      [](Plan& p) {
        RowImage& image = rows_of(p, kBlock).images[2];
        std::swap(image.layout.spatial[1], image.layout.spatial[2]);
      },
      "same_image");
  expect_windows_death([](Plan& p) { rows_of(p, kBlock).images[2].channels = 2; }, "places");
  expect_windows_death([](Plan& p) { rows_of(p, kBlock).images[2].layout.offset = 1; }, "places");
  expect_windows_death(
      [](Plan& p) { std::swap(rows_of(p, kBlock).images[1], rows_of(p, kBlock).images[2]); },
      "image.tensor < last");
}

// Window or not, a reader must leave zeros outside.
TEST(RowImages, VerifyCatchesReadersWithoutWindows) {
  // The identity of a block without a window reads all of the first layer, by elements.
  expect_windows_death(
      [](Plan& p) {
        auto& images = rows_of(p, kTop).images;
        images.insert(images.begin() + 1, rows_of(p, kBlock).images[2]);
      },
      "reader != nullptr");
  expect_windows_death(
      [](Plan& p) {
        auto& source = std::get<GatherMap>(p.layers[kBlock].terms[1].map).source;
        for (int i = 0; i < 16; ++i) source.push_back(15 - i);
      },
      "gather->source.empty");
}

TEST(RowImages, VerifyCatchesDenseReaders) {
  expect_windows_death(
      [](Plan& p) {
        auto& images = rows_of(p, kTop).images;
        RowImage image = rows_of(p, kBlock).images[0];
        image.tensor = kBlock;
        images.insert(images.begin(), image);
      },
      "layer.kind == LayerKind::kSum");
}

// ---- rows whose last convolution makes their spread

Plan spread_plan() {
  Plan plan = windowed_plan();
  BackwardRows& rows = rows_of(plan, kBlock);
  BackwardOut& out = link_of(rows, kFirst).outs[0];
  const auto unused = static_cast<std::size_t>(out.coefficients);
  out.spread = true;
  out.coefficients = rows.input_coefficients = BufferId::kNone;
  Entry& entry = plan.entries[0];
  std::vector<BufferId> names;
  for (std::size_t i = 0; i < entry.buffers.size(); ++i)
    names.push_back(static_cast<BufferId>(i > unused ? i - 1 : i));
  for (Step& step : entry.steps) rename_buffers(step, names);
  entry.buffers.erase(entry.buffers.begin() + static_cast<std::ptrdiff_t>(unused));
  settle(plan);
  return plan;
}

void expect_spread_death(const std::function<void(Plan&, BackwardRows&, BackwardOut&)>& breakage,
                         const char* message) {
  Plan plan = spread_plan();
  BackwardRows& rows = rows_of(plan, kBlock);
  breakage(plan, rows, link_of(rows, kFirst).outs[0]);
  EXPECT_DEATH(verify(plan), message);
}

TEST(RowImages, VerifyAcceptsSpreads) {
  verify(spread_plan());
}

TEST(RowImages, VerifyCatchesWrongSpreads) {
  expect_spread_death(
      [](Plan& p, BackwardRows& rows, BackwardOut&) {
        rows.input_coefficients = rows_of(p, kSecond).input_coefficients;
      },
      "input_coefficients == BufferId::kNone");
  expect_spread_death(
      [](Plan& p, BackwardRows&, BackwardOut& out) {
        out.coefficients = rows_of(p, kSecond).input_coefficients;
      },
      "coefficients == BufferId::kNone");
  expect_spread_death([](Plan&, BackwardRows& rows, BackwardOut&) { rows.images.pop_back(); },
                      "step.images.end|reader");
  expect_spread_death([](Plan&, BackwardRows& rows, BackwardOut&) { rows.kept_position = 0; },
                      "kept_position");
  expect_spread_death([](Plan&, BackwardRows&, BackwardOut& out) { out.add = true; }, "out.*add");
  // Of what is not the box.
  expect_spread_death(
      [](Plan&, BackwardRows& rows, BackwardOut&) {
        BackwardOut& other = link_of(rows, kSecond).outs[0];
        other.spread = true;
        other.coefficients = BufferId::kNone;
      },
      "input < 0");
  // Nobody makes it.
  expect_spread_death([](Plan&, BackwardRows&, BackwardOut& out) { out.spread = false; }, "");
}

}  // namespace
}  // namespace bf_aot
