#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// What the plan of a verifier that splits neurons says.
namespace bf_aot {
namespace {

using Change = std::function<void(PlannerConfig&)>;

constexpr const char* kSplitModel = "collision_avoidance_6x50";

Plan plan_of_splits(
    const std::string& model, const Change& change = [](PlannerConfig&) {},
    const std::vector<Box>& boxes = {}) {
  LinearSpec spec;
  spec.rows.resize(2);
  ImportedModel imported = import_model(BF_SOURCE_DIR "/models/" + model + ".onnx");
  const auto outputs = element_count(imported.graph.value(imported.graph.outputs.front()).shape);
  for (std::size_t row = 0; row < 2; ++row) {
    spec.rows[row].resize(static_cast<std::size_t>(outputs));
    spec.rows[row][row] = 1;
  }
  PassOptions passes;
  passes.spec = &spec;
  normalise(imported.graph, passes);
  PlannerConfig config;
  config.target = find_target("x86-64-v3");
  config.decide = true;
  config.splits = Splits::kNeurons;
  change(config);
  PlanOptions options;
  const Property property;
  options.property = &property;
  options.samples = boxes;
  return plan(imported.graph, imported.info, "net", true, config, options);
}

std::string refusal_of(const std::string& model, const Change& change) {
  try {
    plan_of_splits(model, change);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "none";
}

std::vector<Relax*> kept(Plan& plan) {
  std::vector<Relax*> steps;
  for (Entry& entry : plan.entries)
    for (Step& step : entry.steps)
      if (auto* const relax = std::get_if<Relax>(&step);
          relax != nullptr && relax->kept_position >= 0)
        steps.push_back(relax);
  return steps;
}

// Inputs of digits_64x2, of which so many vary.
Box box_of(std::size_t varying, double width) {
  Box box = {std::vector<double>(64, 0.25), std::vector<double>(64, 0.25)};
  for (std::size_t i = 0; i < varying; ++i) box.upper[i] += width;
  return box;
}

TEST(ChooseSplits, NeuronsWhereMoreThanSixteenInputsVary) {
  const Change automatic = [](PlannerConfig& c) { c.splits = Splits::kAuto; };
  const auto chosen = [&](const std::vector<Box>& boxes) {
    return plan_of_splits("digits_64x2", automatic, boxes).config.splits;
  };
  EXPECT_EQ(chosen({}), Splits::kNeurons) << "without boxes all inputs vary";
  EXPECT_EQ(chosen({box_of(16, 0.5)}), Splits::kInputs);
  EXPECT_EQ(chosen({box_of(17, 0.5)}), Splits::kNeurons);
  EXPECT_EQ(chosen({box_of(3, 0.5), box_of(17, 0.5)}), Splits::kNeurons);
  EXPECT_EQ(chosen({box_of(64, 0x1p-54)}), Splits::kInputs) << "from one double to the next";
  EXPECT_EQ(plan_of_splits("digits_64x2", automatic, {box_of(4, 1)}).decide.reason,
            "4 inputs vary");
}

TEST(ChooseSplits, InputsWhereNeuronsCannotBeSplit) {
  const auto reason = [](const std::string& model, const Change& change) {
    const Plan plan = plan_of_splits(model, [&](PlannerConfig& c) {
      c.splits = Splits::kAuto;
      change(c);
    });
    EXPECT_EQ(plan.config.splits, Splits::kInputs);
    return plan.decide.reason;
  };
  EXPECT_EQ(reason("digits_64x2", [](PlannerConfig& c) { c.method = Method::kIbp; }),
            "64 inputs vary; method ibp keeps no intervals of neurons");
  EXPECT_EQ(reason("digits_64x2", [](PlannerConfig& c) { c.workers = 2; }),
            "64 inputs vary; workers do not share its nodes: leave --parallel out");
  EXPECT_EQ(reason(kSplitModel, [](PlannerConfig&) {}), "5 inputs vary");
}

TEST(SplitNeurons, IntervalsOfEachReluAreKeptOnce) {
  for (const Method method : {Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
    Plan plan = plan_of_splits(kSplitModel, [&](PlannerConfig& c) { c.method = method; });
    const std::vector<Relax*> steps = kept(plan);
    ASSERT_EQ(steps.size(), 6U) << to_string(method);
    for (std::size_t i = 0; i < steps.size(); ++i)
      EXPECT_EQ(steps[i]->kept_position, 50 * static_cast<int>(i));
  }
}

TEST(SplitNeurons, TheLayersThatRowsDependOnAreNumbered) {
  const Plan plan = plan_of_splits(kSplitModel);
  const DecidePlan& decide = plan.decide;
  ASSERT_EQ(decide.network.layers.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(decide.network.layers[i].sources, std::vector{static_cast<int>(i) - 1});
    EXPECT_EQ(decide.network.layers[i].first, 50 * static_cast<int>(i));
  }
  EXPECT_EQ(decide.neurons, 302);
  EXPECT_EQ(decide.relus, 300);
  EXPECT_EQ(decide.widest, 50);
  EXPECT_EQ(decide.terms, 4);
  EXPECT_EQ(decide.network.products, 5 * 50 + 5 * 50 * 50 + 50 * 2);
  EXPECT_EQ(decide.open_boxes, 64);
  EXPECT_TRUE(plan.split_weights.empty());
}

TEST(SplitNeurons, OtherNetworksAndMethodsAreRefused) {
  const Change nothing = [](PlannerConfig&) {};
  EXPECT_EQ(refusal_of(kSplitModel, nothing), "none");
  EXPECT_EQ(refusal_of("digits_64x2", nothing), "none");
  EXPECT_EQ(refusal_of("tiny_linear", nothing), "BF2118") << "no ReLU";
  for (const Method method : {Method::kIbp, Method::kForward})
    EXPECT_EQ(refusal_of(kSplitModel, [&](PlannerConfig& c) { c.method = method; }), "BF2118");
  EXPECT_EQ(refusal_of(kSplitModel, [](PlannerConfig& c) { c.workers = 2; }), "BF2118");
}

TEST(SplitNeurons, BatchesAndContextsStayAsTheyAre) {
  EXPECT_EQ(refusal_of(kSplitModel, [](PlannerConfig& c) { c.batch = 16; }), "none");
  EXPECT_EQ(refusal_of(kSplitModel, [](PlannerConfig& c) { c.reuse.ibp = true; }), "none");
}

TEST(SplitNeurons, TheManifestSaysWhatIsSplit) {
  const auto json = to_json(plan_of_splits(kSplitModel));
  EXPECT_EQ(json.at("options").at("decide"), "neurons");
  const auto& decide = json.at("decide");
  EXPECT_EQ(decide.at("splits"), "neurons");
  EXPECT_EQ(decide.at("neurons"), 302);
  EXPECT_EQ(decide.at("layers").size(), 7U);
}

TEST(SplitNeuronsDeathTest, TheVerifierFindsWrongPlans) {
  Plan plan = plan_of_splits(kSplitModel);
  verify(plan);
  kept(plan)[1]->kept_position = 0;
  EXPECT_DEATH(verify(plan), "the intervals of two neurons are kept at 0");
  plan = plan_of_splits(kSplitModel);
  kept(plan)[5]->kept_position = 260;
  EXPECT_DEATH(verify(plan), "intervals of 50 neurons are kept at 260 of 302");
  plan = plan_of_splits(kSplitModel);
  plan.decide.network.roundings -= 1;
  EXPECT_DEATH(verify(plan), "proofs of nodes pay for");
  plan = plan_of_splits(kSplitModel);
  plan.decide.network.products -= 1;
  EXPECT_DEATH(verify(plan), "proofs of nodes pay for");
  plan = plan_of_splits(kSplitModel);
  plan.decide.network.layers[2].role = SplitRole::kFunction;
  EXPECT_DEATH(verify(plan), "its role");
  plan = plan_of_splits(kSplitModel);
  plan.decide.network.layers[2].is_read = false;
  EXPECT_DEATH(verify(plan), "whether it is read");
  plan = plan_of_splits(kSplitModel);
  plan.decide.network.layers[2].sources = {0};
  EXPECT_DEATH(verify(plan), "source 0");
  plan = plan_of_splits(kSplitModel);
  plan.decide.bytes -= 8;
  EXPECT_DEATH(verify(plan), "decide: ");
}

}  // namespace
}  // namespace bf_aot
