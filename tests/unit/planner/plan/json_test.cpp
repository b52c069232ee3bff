#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/entries/cache/plan_cache.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "tests/paths.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/verify/verify_graph.h"

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

void collect_keys(const Json& json, std::set<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      keys.insert(key);
      collect_keys(value, keys);
    }
  } else if (json.is_array()) {
    for (const Json& item : json) collect_keys(item, keys);
  }
}

TEST(Manifest, HoldsWhatToolsRead) {
  const Plan plan = testing::toy_plan(Method::kCrown);
  const Json json = to_json(plan);
  EXPECT_EQ(json.at("model").at("sha256"), std::string(64, 'a'));
  EXPECT_EQ(json.at("model").at("name"), "toy");
  EXPECT_EQ(json.at("model").at("opset"), 13);
  EXPECT_EQ(json.at("method"), "crown");
  EXPECT_EQ(json.at("semantics"), "real");
  EXPECT_EQ(json.at("inputs").at(0).at("elements"), 2);
  EXPECT_EQ(json.at("arena").at("planned_bytes"), plan.arena_bytes());
  EXPECT_EQ(json.at("arena").at("align"), 16);
  EXPECT_EQ(json.at("weights_bytes"), plan.weights_bytes());
  EXPECT_EQ(json.at("kernels").size(), plan.kernels.size());
  EXPECT_EQ(json.at("kernels").at(0).at("schedule").at("lanes"), 1);
  EXPECT_FALSE(json.at("version").get<std::string>().empty());
}

TEST(Manifest, NamesBuffersTasksAndLayers) {
  const Plan plan = testing::toy_plan(Method::kCrown);
  const Json json = to_json(plan);
  std::size_t buffers = 0, tasks = 0;
  for (const Entry& entry : plan.entries) {
    buffers += entry.buffers.size();
    tasks += entry.tasks.size();
  }
  EXPECT_EQ(json.at("buffers").size(), buffers);
  EXPECT_EQ(json.at("tasks").size(), tasks);
  const Json& buffer = json.at("buffers").at(2);
  EXPECT_EQ(buffer.at("name"), plan.entries[0].buffers[2].name);
  EXPECT_EQ(buffer.at("offset"), plan.entries[0].buffers[2].offset);
  EXPECT_EQ(buffer.at("entry"), "bounds");
  const Json& task = json.at("tasks").at(1);
  EXPECT_EQ(task.at("inputs"), (Json{"x_centre", "x_radius"}));
  EXPECT_EQ(task.at("after"), Json::array({"bind_box 0"}));
  const Json& step = json.at("entries").at(0).at("steps").at(1);
  EXPECT_EQ(step.at("step"), "centre_affine");
  EXPECT_EQ(step.at("layer"), "fc0");
  EXPECT_EQ(step.at("centre_in"), "x_centre");
  EXPECT_TRUE(json.at("layers").at(0).at("input").is_null());
  EXPECT_EQ(json.at("layers").at(1).at("input"), "fc0");
}

TEST(Manifest, SaysHowEveryTensorIsMade) {
  const Json json = to_json(testing::graph_plan(Method::kCrown));
  const Json& layers = json.at("layers");
  const Json& convolution = layers.at(testing::kConvLayer);
  EXPECT_EQ(convolution.at("kind"), "sum");
  EXPECT_TRUE(convolution.at("function").is_null());
  const Json& term = convolution.at("terms").at(0);
  EXPECT_EQ(term.at("map"), "conv");
  EXPECT_TRUE(term.at("input").is_null());
  EXPECT_EQ(term.at("out_size"), Json::array({1, 1, 2}));
  EXPECT_EQ(term.at("weights"), 4);
  EXPECT_FALSE(term.contains("weight"));
  EXPECT_EQ(layers.at(testing::kDenseLayer).at("input"), "conv");
  EXPECT_FALSE(layers.at(testing::kDenseLayer).contains("terms"));
  const Json& mixed = layers.at(testing::kSumLayer);
  EXPECT_EQ(mixed.at("function"), "leaky_relu(0.25)");
  EXPECT_EQ(mixed.at("terms").at(0).at("identity"), true);
  EXPECT_EQ(mixed.at("terms").at(1).at("map"), "gather");
  EXPECT_EQ(mixed.at("terms").at(1).at("input"), "wide");
  EXPECT_EQ(mixed.at("terms").at(2).at("entries"), 4);
  EXPECT_EQ(layers.at(testing::kProductLayer).at("kind"), "product");
  EXPECT_EQ(layers.at(testing::kMaxLayer).at("kind"), "max");
}

TEST(Manifest, NamesTheWayOfCoefficients) {
  const Json json = to_json(testing::graph_plan(Method::kCrown));
  const Json& steps = json.at("entries").at(0).at("steps");
  const Json& rows = steps.at(steps.size() - 2);
  EXPECT_EQ(rows.at("step"), "backward_rows");
  EXPECT_EQ(rows.at("layer"), "head");
  EXPECT_TRUE(rows.at("start").is_null());
  EXPECT_EQ(rows.at("starts").at(1).at("term"), 1);
  EXPECT_EQ(rows.at("starts").at(1).at("coefficients"), "head_over_products");
  EXPECT_EQ(rows.at("links").at(0).at("layer"), "largest");
  EXPECT_EQ(rows.at("links").at(0).at("choice"), "largest_choice");
  EXPECT_EQ(rows.at("links").at(0).at("outs").at(0).at("add"), true);
  EXPECT_EQ(rows.at("input_coefficients"), "head_over_x");
}

TEST(Manifest, IsTheSameForTheSamePlan) {
  EXPECT_EQ(to_json(testing::toy_plan(Method::kCrown)).dump(),
            to_json(testing::toy_plan(Method::kCrown)).dump());
}

TEST(Manifest, HoldsNoWeights) {
  Plan plan = testing::toy_plan(Method::kCrown);
  const std::string before = to_json(plan).dump();
  for (Layer& layer : plan.layers)
    for (float& w : layer.weight) w += 1;
  EXPECT_EQ(before, to_json(plan).dump());
}

TEST(Manifest, SaysWhenErrorTermsWereDropped) {
  Plan plan = testing::toy_plan(Method::kIbp);
  EXPECT_FALSE(to_json(plan).at("options").contains("dropped_error_terms"));
  plan.config.dropped_error_terms = {"centre"};
  EXPECT_EQ(to_json(plan).at("options").at("dropped_error_terms"), Json::array({"centre"}));
}

Plan controller_plan(PlannerConfig config) {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph);
  config.target = find_target("generic");
  return plan(model.graph, model.info, "net", false, config);
}

// All that calls can keep for each other, slopes included.
Plan cached_alpha_plan() {
  PlannerConfig config;
  config.method = Method::kAlphaCrown;
  config.reuse = {true, true, true};
  return controller_plan(config);
}

// docs/reference/manifest.md names every key, as `key`.
TEST(Manifest, EveryKeyIsDocumented) {
  std::ifstream file(std::string(BF_SOURCE_DIR) + "/docs/reference/manifest.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(text.empty());
  std::set<std::string> keys;
  for (Method method : {Method::kIbp, Method::kCrown}) {
    Plan plan = testing::toy_plan(method);
    plan.config.dropped_error_terms = {"centre"};
    plan.config.reuse = {true, true, true};
    plan_cache(plan);
    plan.config.batch = 4;
    plan.batch = {2, "full lanes"};
    plan.entries.push_back(plan.entries.front());
    plan.entries.back().kind = EntryKind::kBoundsBatch;
    collect_keys(to_json(plan), keys);
    collect_keys(to_json(testing::graph_plan(method)), keys);
  }
  PlannerConfig shared;
  shared.workers = 3;
  collect_keys(to_json(controller_plan(shared)), keys);
  const Plan plan = cached_alpha_plan();
  EXPECT_GT(std::ranges::count(plan.cache, BoxMatch::kAny, &CacheEntry::box), 0);
  EXPECT_GT(plan.context.persistent_bytes, 0);
  collect_keys(to_json(plan), keys);
  for (const char* key :
       {"relaxed", "square", "values", "forward", "context", "remake", "per_worker"})
    EXPECT_TRUE(keys.contains(key)) << key;
  EXPECT_GT(keys.size(), 80U);
  for (const std::string& key : keys)
    EXPECT_NE(text.find('`' + key + '`'), std::string::npos) << key << " is not documented";
}

}  // namespace
}  // namespace bf_aot
