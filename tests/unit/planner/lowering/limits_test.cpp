#include <gtest/gtest.h>

#include <string>

#include "frontend/diagnostic.h"
#include "planner/planner.h"

namespace bf_aot {
namespace {

// y = W x with W: [1, columns], all ones: zeros would make a sparse map.
Graph wide_graph(std::int64_t columns) {
  Graph graph;
  const ValueId x = graph.add_value("x", {1, columns});
  const ValueId y = graph.add_value("y", {1, 1});
  const auto count = static_cast<std::size_t>(columns);
  graph.nodes.push_back({Affine{{{1, columns}, std::vector<double>(count, 1), {}}, {{1}, {0}, {}}},
                         {x},
                         y,
                         "Gemm 'wide'"});
  graph.inputs = {x};
  graph.outputs = {y};
  return graph;
}

PlannerConfig scalar_crown() {
  PlannerConfig config;
  config.target = find_target("generic");
  return config;
}

TEST(PlannerLimits, RefusesNetworksWhoseFloatSumsHaveNoBound) {
  // 9 million terms: n u > 1/2. Must be a diagnostic, not an internal error.
  try {
    plan(wide_graph(9'000'000), {}, "wide", false, scalar_crown());
    FAIL() << "planned";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF2102");
    EXPECT_EQ(error.diagnostics().at(0).where, "Gemm 'wide'");
  }
}

TEST(PlannerLimits, PlansALargeInput) {
  const Plan planned = plan(wide_graph(1'000'000), {}, "wide", false, scalar_crown());
  EXPECT_EQ(planned.input_count, 1'000'000);
}

// y = tanh(...tanh(x)).
Graph deep_graph(int depth) {
  Graph graph;
  ValueId last = graph.add_value("x", {1, 2});
  graph.inputs = {last};
  for (int i = 0; i < depth; ++i) {
    const ValueId next = graph.add_value("t" + std::to_string(i), {1, 2});
    graph.nodes.push_back(
        {Unary{{FunctionKind::kTanh}}, {last}, next, "Tanh #" + std::to_string(i)});
    last = next;
  }
  graph.outputs = {last};
  return graph;
}

TEST(PlannerLimits, RefusesBackwardRowsThatGrowWithTheSquareOfTheLayers) {
  constexpr int kDepth = 1100;
  PlannerConfig config = scalar_crown();
  try {
    plan(deep_graph(kDepth), {}, "deep", false, config);
    FAIL() << "planned";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF2108");
    EXPECT_EQ(error.diagnostics().at(0).where, "Tanh #1023 + Tanh #1024");
  }
  config.method = Method::kIbp;
  EXPECT_GE(plan(deep_graph(kDepth), {}, "deep", false, config).layers.size(), kDepth);
}

}  // namespace
}  // namespace bf_aot
