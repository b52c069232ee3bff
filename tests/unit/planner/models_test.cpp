#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "planner/reference/executor.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// Real plans: the project's own models, planned and executed by reference.
namespace bf_aot {
namespace {

using Numbers = std::vector<double>;

struct Case {
  const char* model;
  Method method;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << " " << to_string(c.method);
}

Plan plan_model(const Case& c, const std::string& target) {
  const std::string path = std::string(BF_SOURCE_DIR) + "/models/" + c.model + ".onnx";
  ImportedModel model = import_model(path);
  normalise(model.graph);
  PlannerConfig config;
  config.method = c.method;
  config.target = find_target(target);
  return plan(model.graph, model.info, c.model, false, config);
}

nlohmann::json golden_of(const Case& c) {
  std::ifstream file(std::string(BF_SOURCE_DIR) + "/models/golden/" + c.model + ".json");
  return nlohmann::json::parse(file);
}

class PlannedModel : public ::testing::TestWithParam<Case> {};

TEST_P(PlannedModel, ArenaIsWithinFivePercentOfTheBound) {
  for (const char* target : {"generic", "x86-64-v3", "x86-64-v4", "cortex-m4"}) {
    const Plan plan = plan_model(GetParam(), target);
    for (const Entry& entry : plan.entries) {
      const StorageTotals& totals = entry.storage;
      EXPECT_LE(20 * totals.planned_bytes, 21 * totals.lower_bound_bytes)
          << target << " " << to_string(entry.kind);
      EXPECT_LE(totals.planned_bytes, totals.naive_bytes);
    }
  }
}

TEST_P(PlannedModel, VerifyCatchesWrongOpsAndWrongResultsInPlace) {
  const Plan good = plan_model(GetParam(), "generic");
  Plan plan = good;
  plan.entries[0].storage.proof = StorageProof::kBestFound;
  EXPECT_DEATH(verify(plan), "is said to be");
  for (std::size_t i = 0; i < good.entries[0].buffers.size(); ++i) {
    plan = good;
    Buffer& buffer = plan.entries[0].buffers[i];
    ++buffer.values;
    EXPECT_DEATH(verify(plan), "the storage totals");
    plan = good;
    ++buffer.first_op;
    EXPECT_DEATH(verify(plan), "outside its lifetime") << buffer.name;
  }
  for (std::size_t i = 0; i < good.entries[0].steps.size(); ++i) {
    plan = good;
    auto* const relax = std::get_if<Relax>(&plan.entries[0].steps[i]);
    if (relax == nullptr || relax->table == BufferId::kNone) continue;
    relax->radius_out = relax->below;  // which is not what relax() reads last
    EXPECT_DEATH(verify(plan), "serves two ends");
  }
}

double total_width(const Numbers& lower, const Numbers& upper) {
  double sum = 0;
  for (std::size_t j = 0; j < lower.size(); ++j) sum += upper[j] - lower[j];
  return sum;
}

TEST_P(PlannedModel, VerifyCatchesEveryDroppedEdgeAndMovedBuffer) {
  const Plan good = plan_model(GetParam(), "generic");
  for (std::size_t e = 0; e < good.entries.size(); ++e) {
    Plan plan = good;
    for (Task& task : plan.entries[e].tasks) task.after.clear();
    if (plan.entries[e].tasks.size() > 1) {
      EXPECT_DEATH(verify(plan), "no edge leads from task");
    }
    plan = good;
    for (Buffer& buffer : plan.entries[e].buffers) buffer.offset = 0;
    if (plan.entries[e].buffers.size() > 1) {
      EXPECT_DEATH(verify(plan), "overlap|the storage totals");
    }
  }
}

// The goldens are float64 bounds by the same rules, from code of another language, but without the
// intersection with intervals and without merged layers: bounds may be tighter, never looser. Where
// neither can happen they are the same. An optimiser's path depends on the last bits: what it gives
// lies within crown's bounds, and is not wider on the mean.
TEST_P(PlannedModel, ReferenceMeetsTheGoldens) {
  const Plan plan = plan_model(GetParam(), "generic");
  std::string key(to_string(plan.config.method));
  std::replace(key.begin(), key.end(), '-', '_');
  const bool optimised = plan.config.method == Method::kAlphaCrown;
  if (optimised) key = "crown";
  const auto golden = golden_of(GetParam());  // outlives the loop over a part of it
  for (const auto& box : golden.at("boxes")) {
    const auto bounds =
        reference::execute(plan, *plan.find_entry(EntryKind::kBounds),
                           box.at("lower").get<Numbers>(), box.at("upper").get<Numbers>());
    const auto lower = box.at(key).at("lower").get<Numbers>();
    const auto upper = box.at(key).at("upper").get<Numbers>();
    const auto forward = box.at("forward").get<Numbers>();
    ASSERT_EQ(bounds.lower.size(), lower.size());
    if (optimised) {
      const auto& best = box.at("alpha_crown_fixed");
      EXPECT_LE(
          total_width(bounds.lower, bounds.upper),
          1.02 * total_width(best.at("lower").get<Numbers>(), best.at("upper").get<Numbers>()) +
              1e-9)
          << box.at("desc");
    }
    for (std::size_t j = 0; j < lower.size(); ++j) {
      const double tolerance = 1e-9 * (1 + std::abs(lower[j]) + std::abs(upper[j]));
      EXPECT_GE(bounds.lower[j], lower[j] - tolerance) << box.at("desc");
      EXPECT_LE(bounds.upper[j], upper[j] + tolerance) << box.at("desc");
      if (plan.config.method == Method::kIbp &&
          std::string_view(GetParam().model) != "tiny_linear") {
        EXPECT_NEAR(bounds.lower[j], lower[j], tolerance) << box.at("desc");
        EXPECT_NEAR(bounds.upper[j], upper[j], tolerance) << box.at("desc");
      }
      EXPECT_LE(bounds.lower[j], forward[j] + tolerance);
      EXPECT_GE(bounds.upper[j], forward[j] - tolerance);
    }
  }
}

TEST_P(PlannedModel, ReferenceEvaluatesLikeTheGoldens) {
  const Plan plan = plan_model(GetParam(), "generic");
  const Entry* entry = plan.find_entry(EntryKind::kEvaluate);
  ASSERT_NE(entry, nullptr);
  const auto golden = golden_of(GetParam());  // outlives the loop over a part of it
  for (const auto& box : golden.at("boxes")) {
    const auto lower = box.at("lower").get<Numbers>();
    const auto upper = box.at("upper").get<Numbers>();
    Numbers centre;
    for (std::size_t k = 0; k < lower.size(); ++k) centre.push_back((lower[k] + upper[k]) / 2);
    const auto forward = box.at("forward").get<Numbers>();
    const Numbers y = reference::evaluate(plan, centre);
    EXPECT_EQ(y, reference::execute(plan, *entry, centre, centre).lower);
    ASSERT_EQ(y.size(), forward.size());
    for (std::size_t j = 0; j < y.size(); ++j)
      EXPECT_NEAR(y[j], forward[j], 1e-9 * (1 + std::abs(forward[j])));
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* model : {"tiny", "tiny_linear", "tiny_scale", "tiny_transpose", "digits_64x2",
                            "collision_avoidance_6x50"})
    for (Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown})
      list.push_back({model, method});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Models, PlannedModel, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name =
      std::string(test.param.model) + "_" + std::string(to_string(test.param.method));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace bf_aot
