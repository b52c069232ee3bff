#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// Which rows give their coefficients over the inputs to branch and bound.
namespace bf_aot {
namespace {

using Change = std::function<void(PlannerConfig&)>;

// Of the controller, with two rows.
Plan planned(const Change& change = [](PlannerConfig&) {}) {
  LinearSpec spec;
  spec.rows = {{1, -1, 0, 0, 0}, {1, 0, 0, -1, 0}};
  PassOptions passes;
  passes.spec = &spec;
  ImportedModel model = import_model(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph, passes);
  PlannerConfig config;
  config.target = find_target("x86-64-v3");
  config.decide = true;
  change(config);
  return plan(model.graph, model.info, "net", true, config);
}

std::vector<EntryKind> keeping(const Plan& plan) {
  std::vector<EntryKind> kinds;
  for (const Entry& entry : plan.entries)
    if (keeps_coefficients(entry)) kinds.push_back(entry.kind);
  return kinds;
}

TEST(Coefficients, OfTheEntryThatDecisionsCall) {
  for (const Method method : {Method::kCrownIbp, Method::kCrown}) {
    const Change one = [&](PlannerConfig& c) { c.method = method; };
    const Change many = [&](PlannerConfig& c) { c.method = method, c.batch = 64; };
    EXPECT_EQ(keeping(planned(one)), std::vector{EntryKind::kSpecBounds});
    EXPECT_EQ(keeping(planned(many)), std::vector{EntryKind::kSpecBoundsBatch});
  }
}

TEST(Coefficients, OnlyWhereThereAreSuchRows) {
  const auto keeps = [](const Change& change) { return keeps_coefficients(planned(change)); };
  EXPECT_TRUE(keeps([](PlannerConfig&) {}));
  EXPECT_FALSE(keeps([](PlannerConfig& c) { c.decide = false; }));
  EXPECT_FALSE(keeps([](PlannerConfig& c) { c.method = Method::kIbp; }));
  EXPECT_TRUE(keeps([](PlannerConfig& c) { c.method = Method::kAlphaCrown; }))
      << "of the rows before slopes are optimised";
  EXPECT_FALSE(keeps([](PlannerConfig& c) { c.method = Method::kForward; }));
  EXPECT_FALSE(keeps([](PlannerConfig& c) { c.workers = 2; }));
  EXPECT_FALSE(keeps([](PlannerConfig& c) { c.batch = 1 << 19; })) << "48 MiB";
  EXPECT_FALSE(keeps([](PlannerConfig& c) { c.disabled_passes = {"keep-coefficients"}; }));
  EXPECT_FALSE(keeps([](PlannerConfig& c) {
    c.batch = 64;
    c.disabled_passes = {"batch-lanes"};
  })) << "boxes by turns";
}

BackwardRows& kept_rows(Plan& plan) {
  for (Entry& entry : plan.entries)
    for (Step& step : entry.steps)
      if (auto* const rows = std::get_if<BackwardRows>(&step);
          rows != nullptr && rows->kept_position >= 0)
        return *rows;
  throw std::logic_error("no rows keep coefficients");
}

TEST(Coefficients, TheManifestSaysWhere) {
  EXPECT_NE(to_json(planned()).dump().find("\"kept_position\":0"), std::string::npos);
  const Change plain = [](PlannerConfig& c) { c.decide = false; };
  EXPECT_EQ(to_json(planned(plain)).dump().find("kept_position"), std::string::npos);
}

TEST(CoefficientsDeathTest, TheVerifierFindsWrongOnes) {
  const Change many = [](PlannerConfig& c) { c.batch = 16; };
  Plan plan = planned(many);
  verify(plan);
  kept_rows(plan).kept_position = 1;
  EXPECT_DEATH(verify(plan), "coefficients are kept at 1, the bounds elsewhere");
  plan = planned(many);
  plan.config.decide = false;
  plan.split_weights.clear();
  EXPECT_DEATH(verify(plan), "rows keep coefficients that nothing asks for");
}

}  // namespace
}  // namespace bf_aot
