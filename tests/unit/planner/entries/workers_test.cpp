#include <gtest/gtest.h>

#include <string>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/entries/share_rows.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// What workers share and what each has for itself.
namespace bf_aot {
namespace {

Plan plan_model(PlannerConfig config, const std::string& name = "collision_avoidance_6x50") {
  config.target = find_target("x86-64-v3");
  ImportedModel imported = import_model(std::string(BF_SOURCE_DIR) + "/models/" + name + ".onnx");
  normalise(imported.graph);
  return plan(imported.graph, imported.info, "net", false, config);
}

PlannerConfig config_of(Method method, int workers) {
  PlannerConfig config;
  config.method = method;
  config.workers = workers;
  return config;
}

constexpr Method kMethods[] = {Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown};

TEST(SharedRows, ChangeNothingButPlaces) {
  for (const Method method : kMethods) {
    const Plan alone = plan_model(config_of(method, 1)), several = plan_model(config_of(method, 4));
    ASSERT_EQ(several.entries.size(), alone.entries.size());
    for (std::size_t i = 0; i < alone.entries.size(); ++i)
      EXPECT_EQ(several.entries[i].steps, alone.entries[i].steps);
    EXPECT_EQ(several.kernels, alone.kernels);
    EXPECT_EQ(alone.parallel, ParallelPlan{});
    EXPECT_EQ(several.parallel.workers, 4);
    EXPECT_EQ(several.find_entry(EntryKind::kBounds)->workers, 4);
    EXPECT_EQ(several.find_entry(EntryKind::kEvaluate)->workers, 1);
    EXPECT_GE(several.arena_bytes(), alone.arena_bytes());
    EXPECT_GT(several.worker_bytes(), 0);
    EXPECT_EQ(several.parallel_bytes(), several.arena_bytes() + 3 * several.worker_bytes());
  }
}

// Of all that tiles write, exactly the list of neurons and their bounds are shared.
TEST(SharedRows, HaveScratchOfTheirOwn) {
  const Plan plan = plan_model(config_of(Method::kCrown, 2));
  const Entry& entry = *plan.find_entry(EntryKind::kBounds);
  int rows = 0;
  for (const Step& step : entry.steps) {
    const auto* const tile = std::get_if<BackwardRows>(&step);
    for (const BufferId id : access_of(step).writes) {
      const bool shared =
          tile == nullptr || id == tile->below || id == tile->above || id == tile->neurons;
      EXPECT_NE(entry.buffer(id).per_worker, shared) << entry.buffer(id).name;
    }
    rows += tile != nullptr ? 1 : 0;
  }
  EXPECT_EQ(rows, 6);
}

// Whichever buffer changes sides.
TEST(SharedRowsDeathTest, AreVerified) {
  for (const Method method : kMethods) {
    const Plan good = plan_model(config_of(method, 2));
    const std::size_t count = good.entries[0].buffers.size();
    for (std::size_t i = 0; i < count; i += method == Method::kCrownIbp ? 1 : 7) {
      Plan bad = good;
      bad.entries[0].buffers[i].per_worker ^= true;
      EXPECT_DEATH(verify(bad, PlanStage::kEntries), "worker") << bad.entries[0].buffers[i].name;
    }
  }
}

TEST(SharedRowsDeathTest, AreOfEntriesThatSayIt) {
  Plan plan = plan_model(config_of(Method::kCrown, 2));
  plan.entries[0].workers = 1;
  EXPECT_DEATH(verify(plan, PlanStage::kEntries), "each has parts of its own");
  plan.entries[0].workers = 3;
  EXPECT_DEATH(verify(plan, PlanStage::kEntries), "3 workers of 2");
  plan.entries[0].workers = 2;
  plan.parallel.workers = 1;
  EXPECT_DEATH(verify(plan), "1 workers, but entries for 2");
  plan.parallel = {2, ""};
  EXPECT_DEATH(verify(plan), "workers without a reason");
  plan.parallel.reason = "tiles";
  verify(plan);
  plan.entries[0].worker_storage.planned_bytes += 64;
  EXPECT_DEATH(verify(plan), "the storage totals");
}

TEST(SharedRows, NeedRows) {
  const Plan alone = plan_model(config_of(Method::kIbp, 2));
  EXPECT_EQ(alone.parallel.workers, 1);
  EXPECT_NE(alone.parallel.reason.find("no backward rows"), std::string::npos);
  try {
    check_workers(alone);
    FAIL() << "nothing can be shared";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF2106");
  }
  PlannerConfig config = config_of(Method::kIbp, 2);
  config.batch = 8;
  const Plan plan = plan_model(config);
  check_workers(plan);
  EXPECT_EQ(plan.parallel.workers, 1);
  EXPECT_NE(plan.parallel.reason.find("they share the boxes of a batch alone"), std::string::npos);
}

TEST(SharedRows, CanBeLeftOut) {
  PlannerConfig config = config_of(Method::kCrown, 2);
  config.disabled_passes = {"share-rows"};
  const Plan plan = plan_model(config);
  EXPECT_EQ(plan.parallel.workers, 1);
  EXPECT_EQ(plan.parallel.reason, "the pass share-rows is left out");
  EXPECT_EQ(plan.worker_bytes(), 0);
}

TEST(SharedRows, KeepTheMemoryBudgetTogether) {
  PlannerConfig config = config_of(Method::kCrown, 4);
  const Plan free = plan_model(config, "digits_64x2");
  config.memory_budget = free.parallel_bytes() - 1;
  const Plan tight = plan_model(config, "digits_64x2");
  EXPECT_LE(tight.parallel_bytes(), config.memory_budget);
  EXPECT_EQ(tight.parallel.workers, 4);
}

}  // namespace
}  // namespace bf_aot
