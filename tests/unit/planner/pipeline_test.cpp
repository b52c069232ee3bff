#include "frontend/passes/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "planner/manifest/plan_json.h"
#include "planner/plan/pipeline.h"
#include "planner/planner.h"
#include "tests/paths.h"

// The table of planner passes, and what a task covers.
namespace bf_aot {
namespace {

Plan plan_controller(const PlannerConfig& config, const PlanOptions& options = {}) {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph);
  return plan(model.graph, model.info, "net", false, config, options);
}

PlannerConfig generic() {
  PlannerConfig config;
  config.target = find_target("generic");
  return config;
}

std::string refusal(const std::string& pass) {
  PlannerConfig config = generic();
  config.disabled_passes = {pass};
  try {
    plan_controller(config);
  } catch (const CompileError& error) {
    return error.diagnostics().at(0).code;
  }
  return "";
}

TEST(PlannerPipeline, RunsTheTableInOrderAndOnce) {
  std::vector<std::string> seen, expected;
  for (const PlannerPass& pass : planner_passes()) expected.emplace_back(pass.name);
  EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), expected.size());
  PlanOptions options;
  options.after_pass = [&](std::string_view pass, const Plan&, double seconds) {
    EXPECT_GE(seconds, 0);
    seen.emplace_back(pass);
  };
  plan_controller(generic(), options);
  EXPECT_EQ(seen, expected);
}

// Passes that are observed are verified one by one.
TEST(PlannerPipeline, IsTheSameWhereEachPassIsVerified) {
  PlanOptions observed;
  observed.after_pass = [](std::string_view, const Plan&, double) {};
  EXPECT_EQ(to_json(plan_controller(generic(), observed)), to_json(plan_controller(generic())));
}

TEST(PlannerPipeline, LeavesOutOptionalPassesAlone) {
  for (const PlannerPass& pass : planner_passes())
    EXPECT_EQ(refusal(std::string(pass.name)), pass.optional ? "" : "BF2104") << pass.name;
  EXPECT_EQ(refusal("no-such-pass"), "BF2001");
}

TEST(PlannerPipeline, StagesFollowEachOther) {
  for (std::size_t i = 1; i < planner_passes().size(); ++i)
    EXPECT_LE(planner_passes()[i - 1].stage, planner_passes()[i].stage);
}

TEST(PlanTasks, CoverWhatTheGranularitySays) {
  PlannerConfig config = generic();
  config.granularity = Granularity::kStep;
  const Plan steps = plan_controller(config);
  config.granularity = Granularity::kRegion;
  const Plan regions = plan_controller(config);
  config.granularity = Granularity::kEntry;
  const Plan whole = plan_controller(config);
  for (std::size_t e = 0; e < steps.entries.size(); ++e) {
    const Entry& entry = steps.entries[e];
    EXPECT_EQ(entry.tasks.size(), entry.steps.size());
    EXPECT_EQ(whole.entries[e].tasks.size(), 1u);
    std::set<std::optional<LayerId>> layers;
    for (const Task& task : entry.tasks) layers.insert(task.layer);
    EXPECT_EQ(regions.entries[e].tasks.size(), layers.size()) << "one for each layer and the box";
    std::int64_t flops = 0;
    for (const Task& task : regions.entries[e].tasks) flops += task.flops;
    EXPECT_EQ(flops, whole.entries[e].tasks[0].flops);
  }
  EXPECT_EQ(regions.entries[0].tasks.at(2).name.rfind("forward + backward + relax ", 0), 0u);
  EXPECT_EQ(regions.entries[0].tasks.at(2).domain, Domain::kBackward);
}

}  // namespace
}  // namespace bf_aot
