#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "tests/paths.h"

// Which boxes of a batch go side by side, and what their entries look like.
namespace bf_aot {
namespace {

PlannerConfig config_of(Method method, const char* target, int batch) {
  PlannerConfig config;
  config.method = method;
  config.target = find_target(target);
  config.batch = batch;
  return config;
}

Plan plan_model(const std::string& model, const PlannerConfig& config) {
  ImportedModel imported = import_model(std::string(BF_SOURCE_DIR) + "/models/" + model);
  normalise(imported.graph);
  return plan(imported.graph, imported.info, "net", false, config);
}

constexpr const char* kController = "collision_avoidance_6x50.onnx";

TEST(Batch, FillsTheLanesOfTheTarget) {
  for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kForward}) {
    const int lanes[] = {4, 8, 16};
    const char* const targets[] = {"x86-64", "x86-64-v3", "x86-64-v4"};
    for (int i = 0; i < 3; ++i) {
      const Plan plan = plan_model(kController, config_of(method, targets[i], 64));
      EXPECT_EQ(plan.batch.side_by_side, lanes[i]);
      const Entry& one = *plan.find_entry(EntryKind::kBounds);
      const Entry& many = *plan.find_entry(EntryKind::kBoundsBatch);
      EXPECT_EQ(many.boxes, lanes[i]);
      EXPECT_EQ(many.steps.size(), one.steps.size());
      EXPECT_EQ(many.buffers.front().count, one.buffers.front().count * lanes[i]);
      EXPECT_EQ(plan.find_entry(EntryKind::kSpecBoundsBatch), nullptr);
    }
  }
}

TEST(Batch, LinesThatLeaveTheCachesGoByTurns) {
  const Plan plan = plan_model("digits_64x2.onnx", config_of(Method::kForward, "x86-64-v4", 64));
  EXPECT_EQ(plan.batch.side_by_side, 1);
  EXPECT_EQ(plan.batch.reason,
            "their lines are 540672 bytes, more than 524288, half of the second cache");
}

// The error terms are those of one box: they rest on the same depths.
TEST(Batch, KernelsSumAsThoseOfOneBox) {
  const Plan plan = plan_model(kController, config_of(Method::kCrown, "x86-64-v4", 16));
  int compared = 0;
  for (const Kernel& many : plan.kernels) {
    if (many.boxes == 1 || many.depth == 0) continue;
    for (const Kernel& one : plan.kernels)
      if (one.boxes == 1 && one.kind == many.kind && one.in == many.in && one.out == many.out &&
          one.wide == many.wide) {
        EXPECT_EQ(many.depth, one.depth) << many.key;
        EXPECT_EQ(many.schedule.chunk, one.schedule.chunk) << many.key;
        ++compared;
      }
  }
  EXPECT_GT(compared, 5);
}

// Layers of 50: four vectors of 16 lanes are one panel, in tiles of 10; those of 8 lanes are two,
// in tiles that divide a panel.
TEST(Batch, LeavesNoOutputsOver) {
  const auto columns = [](const char* target) {
    const Plan plan = plan_model(kController, config_of(Method::kIbp, target, 16));
    for (const Kernel& kernel : plan.kernels)
      if (kernel.boxes > 1 && kernel.in == 50 && kernel.out == 50) return kernel.schedule.columns;
    return 0;
  };
  EXPECT_EQ(columns("x86-64-v4"), 10);
  EXPECT_EQ(columns("x86-64-v3"), 4);
}

TEST(Batch, GoesByTurnsWithAReason) {
  const auto reason = [](const Plan& plan) {
    EXPECT_EQ(plan.batch.side_by_side, 1);
    EXPECT_EQ(plan.find_entry(EntryKind::kBoundsBatch), nullptr);
    return plan.batch.reason;
  };
  const auto holds = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(
      holds(reason(plan_model(kController, config_of(Method::kIbp, "generic", 64))), "no lanes"));
  EXPECT_TRUE(holds(reason(plan_model(kController, config_of(Method::kIbp, "x86-64-v4", 7))),
                    "leave most of 16 lanes empty"));
  EXPECT_EQ(plan_model(kController, config_of(Method::kIbp, "x86-64-v4", 8)).batch.side_by_side,
            16);
  EXPECT_TRUE(
      holds(reason(plan_model(kController, config_of(Method::kAlphaCrown, "x86-64-v4", 16))),
            "one box at a time"));
  PlannerConfig off = config_of(Method::kIbp, "x86-64-v4", 16);
  off.disabled_passes = {"batch-lanes"};
  EXPECT_TRUE(holds(reason(plan_model(kController, off)), "left out"));
  const Plan none = plan_model(kController, config_of(Method::kIbp, "x86-64-v4", 1));
  EXPECT_EQ(reason(none), "");
  EXPECT_FALSE(to_json(none).contains("batch"));
}

}  // namespace
}  // namespace bf_aot
