// A memory budget is kept, refusals name the smallest that is, and tiles of rows change no bound.

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "tests/soundness/batch.h"

namespace bf {
namespace {

Graph chain(const std::vector<int>& widths) {
  std::mt19937_64 random(1);
  soundness::Net net;
  net.label = "chain";
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    soundness::NetLayer layer;
    layer.in = widths[i];
    layer.out = widths[i + 1];
    layer.relu = i + 2 < widths.size();
    for (int k = 0; k < layer.in * layer.out; ++k)
      layer.weight.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
    layer.bias.assign(static_cast<std::size_t>(layer.out), 0.25);
    net.layers.push_back(std::move(layer));
  }
  Graph graph = soundness::to_graph(net);
  normalise(graph);
  return graph;
}

Plan plan_within(const Graph& graph, Method method, const std::string& target,
                 std::int64_t budget) {
  PlannerConfig config;
  config.method = method;
  config.target = find_target(target);
  config.memory_budget = budget;
  ModelInfo info;
  info.sha256 = std::string(64, '0');
  return plan(graph, info, "net", false, config);
}

// The budget that a refusal names.
std::int64_t smallest_budget(const Graph& graph, Method method, const std::string& target) {
  try {
    plan_within(graph, method, target, 1);
  } catch (const CompileError& error) {
    const Diagnostic& what = error.diagnostics().front();
    EXPECT_EQ(what.code, "BF2105");
    const std::string option = "--memory-budget ";
    const std::size_t at = what.hint.find(option);
    return at == std::string::npos ? 0 : std::stoll(what.hint.substr(at + option.size()));
  }
  return 0;
}

TEST(MemoryBudget, IsKeptDownToTheSmallestThatIsNamed) {
  for (const auto& widths : {std::vector<int>{5, 50, 50, 50, 5}, std::vector<int>{40, 200, 64, 10},
                             std::vector<int>{2, 3, 2}}) {
    const Graph graph = chain(widths);
    for (const char* target : {"generic", "x86-64", "x86-64-v4"}) {
      for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown}) {
        const std::int64_t free = plan_within(graph, method, target, 0).arena_bytes();
        const std::int64_t least = smallest_budget(graph, method, target);
        EXPECT_GT(least, 0);
        EXPECT_LE(least, free);
        for (const std::int64_t budget : {least, (least + free) / 2, free})
          EXPECT_LE(plan_within(graph, method, target, budget).arena_bytes(), budget);
        EXPECT_THROW(plan_within(graph, method, target, least - 1), CompileError);
      }
    }
  }
}

TEST(MemoryBudget, ShrinksTilesAndSaysWhy) {
  const Graph graph = chain({40, 200, 64, 10});
  const std::int64_t least = smallest_budget(graph, Method::kCrown, "x86-64-v4");
  const Plan free = plan_within(graph, Method::kCrown, "x86-64-v4", 0);
  const Plan tight = plan_within(graph, Method::kCrown, "x86-64-v4", least);
  ASSERT_LT(least, free.arena_bytes());
  bool told = false;
  for (const Rejected& rejected : tight.rejected)
    told = told || rejected.candidate.find("rows in tiles of 32") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST(MemoryBudget, ChangesNoBound) {
  const Graph graph = chain({6, 60, 40, 4});
  std::mt19937_64 random(2);
  for (const Lowering lowering : {Lowering::kGeneric, Lowering::kVector}) {
    soundness::Batch batch;
    for (const bool tight : {false, true}) {
      PlannerConfig config = soundness::planner_config(Method::kCrown, lowering, "x86-64");
      if (tight) {
        config.memory_budget = 1;
        try {
          batch.add(graph, false, config);
          ADD_FAILURE() << "one byte is enough";
        } catch (const CompileError& error) {
          const std::string& hint = error.diagnostics().front().hint;
          config.memory_budget = std::stoll(hint.substr(hint.find("--memory-budget ") + 16));
        }
      }
      batch.add(graph, false, config);
    }
    ASSERT_LT(batch.plan(1).arena_bytes(), batch.plan(0).arena_bytes());
    batch.build({"g++", {"-O2"}});
    std::uniform_real_distribution<float> unit(-1, 1);
    for (int k = 0; k < 20; ++k) {
      soundness::FloatBox box;
      for (int i = 0; i < 6; ++i) {
        const float centre = unit(random);
        box.lower.push_back(centre - 0.1F);
        box.upper.push_back(centre + 0.1F);
      }
      const soundness::Outcome a = batch.run(0, box), b = batch.run(1, box);
      EXPECT_EQ(0, std::memcmp(a.lower.data(), b.lower.data(), 4 * a.lower.size()));
      EXPECT_EQ(0, std::memcmp(a.upper.data(), b.upper.data(), 4 * a.upper.size()));
    }
  }
}

}  // namespace
}  // namespace bf
