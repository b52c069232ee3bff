#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/plan/plan.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// Each case breaks one thing in the list of exported functions, or beside it, and expects verify()
// to name it.
namespace bf_aot {
namespace {

Plan plan_with_workers() {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph);
  PlannerConfig config;
  config.target = find_target("generic");
  config.profile = find_profile("generic");
  config.batch = 4;
  config.workers = 2;
  return plan(model.graph, model.info, "net", false, config);
}

ExportedFunction& function(Plan& plan, const std::string& suffix) {
  for (ExportedFunction& each : plan.functions)
    if (suffix_of(each.signature) == suffix) return each;
  ADD_FAILURE() << "no function " << suffix;
  return plan.functions.front();
}

TEST(PlanVerifyFunctions, AcceptsWhatThePlannerLists) {
  verify(plan_with_workers());
}

TEST(PlanVerifyFunctionsDeathTest, CatchesAFalseList) {
  const Plan good = plan_with_workers();
  const auto expect_death = [&](const std::function<void(Plan&)>& change, const char* message) {
    Plan plan = good;
    change(plan);
    EXPECT_DEATH(verify(plan), message);
  };
  expect_death([](Plan& p) { p.functions.push_back(p.functions.front()); }, "two functions");
  expect_death([](Plan& p) { function(p, "bounds").workspace.bytes -= p.config.target.align; },
               "bounds: .* bytes of workspace, needs");
  expect_death([](Plan& p) { function(p, "bounds_batch").workspace.bytes += 4096; },
               "bounds_batch: .* bytes of workspace, needs");
  expect_death([](Plan& p) { function(p, "bounds_parallel").workspace.worker_bytes += 64; },
               "bytes of a worker, needs");
  expect_death([](Plan& p) { function(p, "bounds_parallel").workspace.worker_macro.clear(); },
               "bounds_parallel: workers or none");
  expect_death([](Plan& p) { function(p, "bounds").workspace.macro.clear(); },
               "bounds: a workspace or none");
  expect_death([](Plan& p) { function(p, "bounds").entry = EntryKind::kSpecBounds; },
               "bounds: there is no such entry");
  expect_death(
      [](Plan& p) {
        std::erase_if(p.functions, [](const ExportedFunction& each) {
          return suffix_of(each.signature) == "evaluate";
        });
      },
      "no function runs the entry evaluate");
  expect_death([](Plan& p) { p.weight_storage = WeightStorage::kObject; },
               "bytes of weights object");
}

}  // namespace
}  // namespace bf_aot
