// A device that is refused after the verdict leaves it as it is, and the outcome says why; what is
// still open then ends by the refusal.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/decide/decision.h"
#include "aot/engine/verifier/make_verifier.h"
#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/paths.h"
#include "tests/unit/aot/decide/property/engine_request.h"

namespace bf_aot::decide {
namespace {

// Decides by one tree. The device is not ready while it is searched, and is refused then.
class RefusedDevice : public ::testing::Test {
 protected:
  Outcome run(const std::string& model, const Property& property, double seconds = 60) {
    const ImportedModel read = import_model(BF_SOURCE_DIR "/models/" + model);
    DecisionSettings settings;
    settings.method = Method::kCrown;
    settings.search_seconds = 0;
    settings.branch_seconds = seconds;
    settings.tree_only = true;
    bool is_over = false;
    const auto refuse = [&] {
      ++asked_;
      if (is_over) fail("BF3342", "opencl:0", "no such language");
    };
    DecisionCalls calls;
    calls.make_verifier = [&](const DecisionMethod& asked, const NetworkForm&) {
      build::CompileOptions options = engine_request().compile;
      options.planner.method = asked.method;
      options.planner.decide = asked.branches;
      options.spec = to_spec(property);
      const std::shared_ptr<const Lowered> lowered = build::run_planner(
          build::run_frontend({read.graph, read.info}, options), "network", options);
      return DecisionVerifier{lowered->shared_plan(),
                              engine::make_verifier(lowered, options, {}).host};
    };
    calls.make_device = [&](const DecisionMethod&, const NetworkForm&) -> AwaitedDevice::Ask {
      return [&]() -> std::optional<BoxDevice> { return refuse(), std::nullopt; };
    };
    calls.ask_node_device = [&]() -> std::shared_ptr<NodeDevice> { return refuse(), nullptr; };
    calls.begin_tree = begin_;
    calls.save_tree = [&](const tree::TreeState&) { is_over = true; };
    return run_decision(Sampler(read.graph), property, settings, calls);
  }

  // Holds, and takes hundreds of boxes.
  static Property wide() {
    return read_property(BF_SOURCE_DIR "/models/properties/collision_avoidance_6x50_wide.vnnlib");
  }

  // Is violated.
  static Property low() {
    std::string text;
    for (int i = 0; i < 5; ++i)
      text += fmt::format(
          "(declare-const X_{0} Real)(declare-const Y_{0} Real)(assert (<= -0.25 X_{0} 0.25))", i);
    return parse_property(text + "(assert (>= Y_0 0.05))", "p.vnnlib");
  }

  // Neurons are split, about a thousand times.
  static Property digits() {
    std::string text;
    for (int i = 0; i < 64; ++i)
      text += fmt::format("(declare-const X_{0} Real)(assert (<= 0.35 X_{0} 0.65))", i);
    for (int i = 0; i < 10; ++i) text += fmt::format("(declare-const Y_{} Real)", i);
    return parse_property(text + "(assert (>= (- Y_3 Y_2) 11))", "p.vnnlib");
  }

  static void expect_refusal(const Outcome& outcome) {
    ASSERT_EQ(outcome.refused.size(), 1u);
    EXPECT_EQ(outcome.refused[0].code, "BF3342");
  }

  std::function<void(SplitSearch&)> begin_ = [](SplitSearch&) {};
  int asked_ = 0;
};

constexpr char kController[] = "collision_avoidance_6x50.onnx";

TEST_F(RefusedDevice, WhatIsVerifiedWithoutItStands) {
  const Outcome outcome = run(kController, wide());
  EXPECT_GT(outcome.totals(DecisionPhase::kBoxes).nodes, 1u);
  EXPECT_GT(asked_, 1);
  EXPECT_EQ(outcome.answer, Answer::kVerified);
  EXPECT_EQ(outcome.methods.back().name(), "crown on the device (not used)");
  expect_refusal(outcome);
}

TEST_F(RefusedDevice, AWitnessStands) {
  const Outcome outcome = run(kController, low());
  EXPECT_GT(asked_, 1);
  EXPECT_EQ(outcome.answer, Answer::kFalsified);
  EXPECT_TRUE(outcome.witness);
  expect_refusal(outcome);
}

TEST_F(RefusedDevice, WhatNeuronsVerifyStands) {
  const Outcome outcome = run("digits_64x2.onnx", digits());
  EXPECT_GT(outcome.totals(DecisionPhase::kNeurons).nodes, 512u);
  EXPECT_GT(asked_, 1);
  EXPECT_EQ(outcome.answer, Answer::kVerified);
  expect_refusal(outcome);
}

TEST_F(RefusedDevice, APartThatIsSearchedStands) {
  begin_ = [](SplitSearch& search) {
    search.expand_in_breadth(4);
    search.state.open.pop_back();  // is another one's
  };
  const Outcome outcome = run(kController, wide());
  EXPECT_GT(asked_, 1);
  EXPECT_EQ(outcome.answer, Answer::kUnknown);
  expect_refusal(outcome);
}

TEST_F(RefusedDevice, WhatIsOpenEndsByIt) {
  EXPECT_THROW(run(kController, wide(), 1e-9), CompileError);
  EXPECT_GT(asked_, 0);
}

}  // namespace
}  // namespace bf_aot::decide
