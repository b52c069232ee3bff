#include <gtest/gtest.h>

#include <string>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// Rows whose first link makes its coefficients of the weights itself.
namespace bf_aot {
namespace {

Plan controller(const char* target, Method method = Method::kCrown, int batch = 1) {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph);
  PlannerConfig config;
  config.target = find_target(target);
  config.method = method;
  config.batch = batch;
  return plan(model.graph, model.info, "net", false, config);
}

// Of the entry that bounds one box.
std::vector<BackwardRows*> rows_of(Plan& plan) {
  std::vector<BackwardRows*> found;
  for (Step& step : plan.entries.at(0).steps)
    if (auto* const rows = std::get_if<BackwardRows>(&step)) found.push_back(rows);
  return found;
}

TEST(FirstLink, StartsRowsOfTheSecondLayerAlone) {
  Plan plan = controller("x86-64-v4");
  const std::vector<BackwardRows*> rows = rows_of(plan);
  ASSERT_EQ(rows.size(), 6u);  // five hidden layers behind the first, and the head
  for (const BackwardRows* step : rows) {
    const bool second = step->links.size() == 1;
    EXPECT_EQ(starts_in_first_link(*step), second);
    EXPECT_EQ(step->coefficients == BufferId::kNone, second);
    if (!second) continue;
    const Kernel& kernel = plan.kernels.at(static_cast<std::size_t>(step->links[0].kernel));
    EXPECT_EQ(kernel.kind, KernelKind::kFirstLink);
    EXPECT_EQ(kernel.in, 5);
    EXPECT_EQ(kernel.out, 50);
    EXPECT_EQ(kernel.rows, step->tile);
    ASSERT_EQ(step->last.size(), 1u);  // of a smaller tile, by the same routine
    EXPECT_TRUE(starts_in_first_link(step->last[0]));
  }
}

TEST(FirstLink, NeedsVectorsOf16FloatsAndRowsInThem) {
  const auto has_some = [](Plan plan) {
    for (const Kernel& kernel : plan.kernels)
      if (kernel.kind == KernelKind::kFirstLink) return true;
    return false;
  };
  EXPECT_TRUE(has_some(controller("x86-64-v4")));
  EXPECT_FALSE(has_some(controller("x86-64-v3")));
  EXPECT_FALSE(has_some(controller("generic")));
  EXPECT_FALSE(has_some(controller("x86-64-v4", Method::kIbp)));
  const Plan boxes = controller("x86-64-v4", Method::kCrown, 64);
  for (const Entry& entry : boxes.entries)
    for (const Step& step : entry.steps) {
      const auto* const rows = std::get_if<BackwardRows>(&step);
      if (rows != nullptr && entry.boxes > 1) {
        EXPECT_FALSE(starts_in_first_link(*rows));
      }
    }
}

TEST(FirstLinkDeathTest, VerifyCatchesHalfOfIt) {
  const Plan made = controller("x86-64-v4");
  const auto expect_death = [&](auto change, const char* message) {
    Plan plan = made;
    const std::vector<BackwardRows*> rows = rows_of(plan);
    change(*rows.front(), *rows.back());
    EXPECT_DEATH(verify(plan), message);
  };
  // Coefficients that nothing makes, or nothing reads; another kernel; a link that starts no rows.
  expect_death([](auto& first, auto& last) { first.links[0].coefficients_in = last.coefficients; },
               "starts_in_first_link");
  expect_death([](auto& first, auto& last) { first.coefficients = last.coefficients; },
               "starts_in_first_link");
  expect_death([](auto& first, auto& last) { first.start = last.start; }, "step.start");
  expect_death([](auto& first, auto& last) { first.start = first.links[0].kernel = last.start; },
               "kernel.kind == kind");
  expect_death([](auto&, auto& last) { last.links[1].coefficients_in = BufferId::kNone; },
               "coefficients_in");
}

}  // namespace
}  // namespace bf_aot
