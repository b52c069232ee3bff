#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/diagnostic.h"
#include "planner/cost/cost_model.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/verify/verify_graph.h"

namespace bf_aot {
namespace {

using nlohmann::json;

std::string code_of(const std::string& text) {
  try {
    parse_profile(text, "machine.json");
  } catch (const CompileError& error) {
    return std::string(error.what()).find("BF2132") == std::string::npos ? "another" : "BF2132";
  }
  return "none";
}

TEST(MachineProfile, ShippedOnesAreThereForEveryTarget) {
  for (const std::string& target : target_names()) {
    if (target == "host") continue;
    EXPECT_EQ(find_profile(target).target, target);
  }
  EXPECT_EQ(find_profile("zen5").target, "x86-64-v4");
  EXPECT_FALSE(host_profile().name.empty());
  EXPECT_THROW(find_profile("abacus"), CompileError);
}

TEST(MachineProfile, ReadsWhatItWrites) {
  for (const std::string& name : profile_names()) {
    const std::string text = to_json_text(find_profile(name));
    EXPECT_EQ(to_json_text(parse_profile(text, name)), text) << name;
  }
}

TEST(MachineProfile, RefusesWhatIsNoProfile) {
  const json good = json::parse(to_json_text(find_profile("generic")));
  EXPECT_EQ(code_of(good.dump()), "none");
  EXPECT_EQ(code_of("{"), "BF2132");
  EXPECT_EQ(code_of("[]"), "BF2132");
  for (const auto& [key, unused] : good.items()) {
    json without = good;
    without.erase(key);
    EXPECT_EQ(code_of(without.dump()), "BF2132") << "without " << key;
  }
  const auto with = [&](const std::string& pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return code_of(changed.dump());
  };
  const std::string text = good.dump();
  EXPECT_EQ(code_of(R"({"chains": 1, )" + text.substr(1)), "BF2132");
  EXPECT_EQ(with("/colour", 1), "BF2132");
  EXPECT_EQ(with("/families/baking", json::object()), "BF2132");
  EXPECT_EQ(with("/families/relax/colour", 1), "BF2132");
  EXPECT_EQ(with("/families/relax/item", -1), "BF2132");
  EXPECT_EQ(with("/families/relax/efficiency", 0), "BF2132");
  EXPECT_EQ(with("/flops_per_second/float32_vector", 0), "BF2132");
  EXPECT_EQ(with("/vector_bytes", 5), "BF2132");
  EXPECT_EQ(with("/levels", json::array()), "BF2132");
  EXPECT_EQ(with("/levels/0/bytes", nullptr), "BF2132");
  EXPECT_EQ(with("/levels/0/bytes", 1e12), "BF2132");
}

TEST(MachineProfile, LargerWorkingSetsAreReadNoFaster) {
  for (const std::string& name : profile_names()) {
    const MachineProfile& profile = find_profile(name);
    double before = HUGE_VAL;
    for (double bytes = 256; bytes < 1e10; bytes *= 1.3) {
      const double now = bandwidth(profile, bytes);
      EXPECT_LE(now, before * (1 + 1e-12)) << name << " at " << bytes;
      before = now;
    }
    EXPECT_DOUBLE_EQ(before, profile.levels.back().bytes_per_second);
  }
}

std::vector<Plan> plans() {
  std::vector<Plan> list;
  for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown}) {
    list.push_back(testing::toy_plan(method));
    list.push_back(testing::graph_plan(method));
  }
  return list;
}

// A plan by hand has no predictions; the pass makes them, and the verifier agrees with them.
TEST(CostModel, EveryStepCostsSomething) {
  std::set<std::size_t> kinds;
  for (Plan plan : plans()) {
    plan.config.target = find_target("x86-64-v3");
    predict_costs(plan, {});
    EXPECT_EQ(plan.prediction.profile, "x86-64-v3");
    for (const Entry& entry : plan.entries) {
      const EntryCost cost =
          predict_entry(plan, entry, assumed_activity(plan, entry), find_profile("x86-64-v3"));
      ASSERT_EQ(cost.steps.size(), entry.steps.size());
      for (std::size_t s = 0; s < entry.steps.size(); ++s) {
        kinds.insert(entry.steps[s].index());
        EXPECT_GT(cost.steps[s].total.seconds, 0) << step_name(entry.steps[s]);
        EXPECT_FALSE(cost.steps[s].parts.empty()) << step_name(entry.steps[s]);
      }
      for (const Task& task : entry.tasks) EXPECT_GT(task.predicted_seconds, 0) << task.name;
    }
  }
  EXPECT_GE(kinds.size(), 9U);
}

TEST(CostModel, TotalsAreSums) {
  for (Plan plan : plans()) {
    plan.config.target = find_target("generic");
    predict_costs(plan, {});
    for (const Entry& entry : plan.entries) {
      const EntryCost cost =
          predict_entry(plan, entry, assumed_activity(plan, entry), find_profile("generic"));
      Cost steps;
      double tasks = 0;
      for (const StepCost& step : cost.steps) {
        Cost parts;
        for (const TaskPart& part : step.parts) parts += {part.flops, part.bytes, part.seconds};
        EXPECT_NEAR(parts.seconds, step.total.seconds, 1e-9 * step.total.seconds);
        EXPECT_NEAR(parts.flops, step.total.flops, 1e-9 * step.total.flops);
        EXPECT_NEAR(parts.bytes, step.total.bytes, 1e-9 * step.total.bytes);
        steps += step.total;
      }
      for (const Task& task : entry.tasks) tasks += task.predicted_seconds;
      EXPECT_NEAR(steps.seconds, cost.total.seconds, 1e-9 * steps.seconds);
      EXPECT_NEAR(tasks, cost.total.seconds, 1e-9 * tasks);
    }
  }
}

TEST(CostModel, MoreRowsCostMore) {
  const Plan plan = testing::toy_plan(Method::kCrown);
  const Entry& entry = plan.entries.front();
  int found = 0;
  for (const Step& step : entry.steps) {
    if (!std::holds_alternative<BackwardRows>(step)) continue;
    ++found;
    const MachineProfile& profile = find_profile("generic");
    double before = predict(plan, entry, step, {}, profile).total.seconds;
    EXPECT_GT(before, 0);
    for (const double neurons : {1.0, 40.0, 400.0, 4000.0}) {
      const double now = predict(plan, entry, step, {neurons, 0, 0}, profile).total.seconds;
      EXPECT_GT(now, before) << neurons;
      before = now;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(CostModel, SlowerMachinesTakeLonger) {
  const Plan plan = testing::toy_plan(Method::kCrown);
  const Entry& entry = plan.entries.front();
  const Activity activity = assumed_activity(plan, entry);
  const double m7 = predict_entry(plan, entry, activity, find_profile("cortex-m7")).total.seconds;
  const double generic =
      predict_entry(plan, entry, activity, find_profile("generic")).total.seconds;
  const double m4 = predict_entry(plan, entry, activity, find_profile("cortex-m4")).total.seconds;
  EXPECT_GT(m4, m7);
  EXPECT_GT(m7, generic);
}

// A wide box leaves more neurons open than a point does.
TEST(CostModel, SamplesDecideTheRows) {
  const Plan plan = testing::toy_plan(Method::kCrown);
  const Entry& entry = plan.entries.front();
  const auto neurons = [&](double radius) {
    const Box box{std::vector<double>(static_cast<std::size_t>(plan.input_count), -radius),
                  std::vector<double>(static_cast<std::size_t>(plan.input_count), radius)};
    const Activity activity = sampled_activity(plan, entry, {&box, 1});
    EXPECT_EQ(activity.source, "mean of 1 box");
    double sum = 0;
    for (const StepActivity& step : activity.steps) sum += step.neurons;
    return sum;
  };
  EXPECT_GT(neurons(100), neurons(0));
  EXPECT_EQ(sampled_activity(plan, entry, {}).source, assumed_activity(plan, entry).source);
}

TEST(CostModel, ManifestHoldsPredictions) {
  Plan plan = testing::toy_plan(Method::kCrown);
  predict_costs(plan, {});
  const auto manifest = to_json(plan);
  EXPECT_EQ(manifest.at("prediction").at("profile"), plan.prediction.profile);
  for (const auto& task : manifest.at("tasks")) {
    EXPECT_GT(task.at("predicted_seconds").get<double>(), 0);
    EXPECT_FALSE(task.at("parts").empty());
  }
}

}  // namespace
}  // namespace bf_aot
