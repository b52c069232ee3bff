#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/reference/executor.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// Relaxations that rows make anew: what the plan holds, and what verify() must notice.
namespace bf_aot {
namespace {

// Five hidden layers of 50 neurons.
Plan remade_plan(Method method) {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph);
  PlannerConfig config;
  config.method = method;
  config.target = find_target("generic");
  config.row_tile = 2;
  const Plan stored = plan(model.graph, model.info, "net", false, config);
  config.memory_budget = stored.arena_bytes() - 1;
  return plan(model.graph, model.info, "net", false, config);
}

// The last rows' link that makes most steps again.
BackwardLink& longest(Plan& plan) {
  BackwardLink* found = nullptr;
  for (Step& step : plan.entries.at(0).steps)
    if (auto* rows = std::get_if<BackwardRows>(&step))
      for (BackwardLink& link : rows->links)
        if (found == nullptr || link.remake.size() >= found->remake.size()) found = &link;
  return *found;
}

void expect_death(Method method, const std::function<void(Plan&)>& damage, const char* message) {
  Plan damaged = remade_plan(method);
  verify(damaged);
  damage(damaged);
  EXPECT_DEATH(verify(damaged), message);
}

TEST(RemadeRelaxations, RepeatTheStepsFromTheBoxOn) {
  for (const Method method : {Method::kCrownIbp, Method::kCrown}) {
    Plan plan = remade_plan(method);
    const BackwardLink& link = longest(plan);
    ASSERT_GE(link.remake.size(), 4U);
    EXPECT_TRUE(std::holds_alternative<CentreAffine>(link.remake.front()));
    EXPECT_EQ(std::get<CentreAffine>(link.remake.front()).layer, 0);
    EXPECT_EQ(std::get<Relax>(link.remake.back()).layer, link.layer);
    EXPECT_EQ(std::get<Relax>(link.remake.back()).table, link.table);
    EXPECT_TRUE(plan.domain(link.layer).remade);
  }
}

TEST(RemadeRelaxations, VerifyCatchesOtherSteps) {
  const auto& methods = {Method::kCrownIbp, Method::kCrown};
  for (const Method method : methods) {
    expect_death(
        method, [](Plan& p) { longest(p).remake.clear(); }, "link.remake.empty\\(\\)");
    expect_death(
        method, [](Plan& p) { longest(p).remake.pop_back(); }, "remake.made|is never");
    expect_death(
        method, [](Plan& p) { std::swap(longest(p).remake[0], longest(p).remake[1]); }, "same");
    expect_death(
        method, [](Plan& p) { longest(p).remake.erase(longest(p).remake.begin()); }, "same");
    expect_death(
        method,
        [](Plan& p) {
          double& inflate = std::get<CentreAffine>(longest(p).remake[0]).inflate;
          inflate = 1;
        },
        "bare\\(entry_, step\\) == ");
  }
}

TEST(RemadeRelaxations, VerifyCatchesIntervalsInPlaceOfTightenedBounds) {
  expect_death(
      Method::kCrown,
      [](Plan& p) {
        const BufferId interval = std::get<CentreAffine>(longest(p).remake[0]).below;
        for (RepeatedStep& step : longest(p).remake)
          if (auto* relax = std::get_if<Relax>(&step); relax != nullptr && relax->layer > 0)
            relax->below = relax->above = interval;
      },
      "is_tightened");
}

TEST(RemadeRelaxations, VerifyCatchesScratchOverWhatIsStored) {
  expect_death(
      Method::kCrown,
      [](Plan& p) {
        auto& first = std::get<CentreAffine>(longest(p).remake[0]);
        first.centre_out = first.centre_in;
      },
      "use.id == use.in_place_of|stored_.count");
  expect_death(
      Method::kCrownIbp,
      [](Plan& p) {
        auto& relax = std::get<Relax>(longest(p).remake[1]);
        relax.table = longest(p).coefficients_in;
      },
      "others_.count\\(id\\) == 0|made\\(");
}

TEST(RemadeRelaxations, VerifyCatchesBoundsThatDieBeforeTheLastTile) {
  expect_death(
      Method::kCrown,
      [](Plan& p) {
        const BufferId box = std::get<CentreAffine>(longest(p).remake[0]).centre_in;
        Buffer& buffer = p.entries[0].buffers[static_cast<std::size_t>(box)];
        buffer.last_op -= 1;
      },
      "outside its lifetime");
}

// The reference follows them, whatever is stored.
TEST(RemadeRelaxations, TheReferenceTakesTheSameTables) {
  for (const Method method : {Method::kCrownIbp, Method::kCrown}) {
    Plan tight = remade_plan(method);
    Plan stored = tight;
    ImportedModel model =
        import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
    normalise(model.graph);
    PlannerConfig config = tight.config;
    config.memory_budget = 0;
    stored = plan(model.graph, model.info, "net", false, config);
    const std::vector<double> lower(5, -0.2), upper(5, 0.1);
    const reference::Bounds a = reference::execute(stored, stored.entries[0], lower, upper);
    const reference::Bounds b = reference::execute(tight, tight.entries[0], lower, upper);
    EXPECT_EQ(a.lower, b.lower);
    EXPECT_EQ(a.upper, b.upper);
  }
}

}  // namespace
}  // namespace bf_aot
