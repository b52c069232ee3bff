#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/planner.h"
#include "planner/verify/verify.h"

// What centres may miss where weights are uncertain: told for each neuron.
namespace bf_aot {
namespace {

Plan plan_of(double error, Method method) {
  Graph graph;
  ValueId value = graph.add_value("x", {2});
  graph.inputs = {value};
  const auto add = [&](Op op) {
    const ValueId made = graph.add_value("v", {2});
    graph.nodes.push_back({std::move(op), {value}, made, "node"});
    value = made;
  };
  Affine affine{{{2, 2}, {1, 2, 3, 4}, {}}, {{2}, {0.5, 0}, {}}};
  if (error > 0) affine.weight.error.assign(4, error);
  add(affine);
  add(Relu{});
  add(affine);
  graph.outputs = {value};
  PlannerConfig config;
  config.target = find_target("generic");
  config.method = method;
  return plan(graph, {}, "net", false, config);
}

std::vector<CentreAffine*> centres(Plan& plan) {
  std::vector<CentreAffine*> found;
  for (Step& step : plan.entries[0].steps)
    if (auto* centre = std::get_if<CentreAffine>(&step)) found.push_back(centre);
  return found;
}

TEST(Magnitudes, OfUncertainWeightsAlone) {
  for (const Method method : {Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
    Plan exact = plan_of(0, method), folded = plan_of(0x1p-50, method),
         uncertain = plan_of(0x1p-22, method);
    ASSERT_EQ(centres(exact).size(), 2U);
    for (const CentreAffine* step : centres(exact)) EXPECT_FALSE(step->magnitudes);
    for (const CentreAffine* step : centres(folded)) EXPECT_FALSE(step->magnitudes);
    for (const CentreAffine* step : centres(uncertain)) {
      ASSERT_TRUE(step->magnitudes);
      EXPECT_EQ(step->centre_relative, 0);
      EXPECT_EQ(step->absolute, 0);
      EXPECT_GE(step->magnitudes->relative, 0x1p-22);
      // The weight of 1 has the largest error, relative to itself.
      EXPECT_GE(step->magnitudes->pay, 0x1p22);
      EXPECT_LE(step->magnitudes->pay, 0x1.001p22);
    }
  }
}

TEST(Magnitudes, AreVerified) {
  const Plan good = plan_of(0x1p-22, Method::kCrown);
  verify(good);
  Plan bad = good;
  centres(bad)[1]->magnitudes->pay *= 0.999;
  EXPECT_DEATH(verify(bad), "pay");
  bad = good;
  centres(bad)[1]->magnitudes->relative = -1;
  EXPECT_DEATH(verify(bad), "term >= 0");
  bad = good;
  centres(bad)[1]->magnitudes->in = centres(bad)[1]->centre_in;
  EXPECT_DEATH(verify(bad), "layer v");
  bad = good;
  centres(bad)[1]->magnitudes->out = BufferId::kNone;
  EXPECT_DEATH(verify(bad), "");
}

}  // namespace
}  // namespace bf_aot
