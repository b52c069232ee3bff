// Bounds over one-hot inputs in a box against exact values of random networks: at vertices, where
// of each group of inputs one is at its upper end, and between them. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "tests/seed.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/general.h"

namespace bf_aot::soundness {
namespace {

using testing::pick;

PlannerConfig configured(Method method, Random& random) {
  PlannerConfig config = planner_config(method, Lowering::kPrebuilt, engine_targets().back());
  config.iterations = 3;
  if (pick(random, 0, 1) == 0) config.batch = 8;
  if (pick(random, 0, 3) == 0) config.alpha = AlphaRows::kAll;
  return config;
}

// Makes the graph's inputs groups of some size that divides their count.
void make_one_hot(Graph& graph, Random& random) {
  std::int64_t inputs = 0;
  for (const ValueId id : graph.inputs) inputs += element_count(graph.value(id).shape);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= inputs; ++size)
    if (inputs % size == 0) sizes.push_back(size);
  graph.one_hot.size = sizes[random() % sizes.size()];
  graph.one_hot.ids.resize(static_cast<std::size_t>(inputs / graph.one_hot.size));
}

// A vertex, or a mean of the vertices of each group.
Point point_of_one_hot(const FloatBox& box, std::size_t size, Random& random) {
  const bool vertex = pick(random, 0, 2) > 0;
  Point x(box.lower.size());
  for (std::size_t first = 0; first < x.size(); first += size) {
    std::vector<std::size_t> varying;
    for (std::size_t k = first; k < first + size; ++k) {
      x[k] = box.lower[k];
      if (box.lower[k] < box.upper[k]) varying.push_back(k);
    }
    std::vector<mpq_class> weights(varying.size());
    mpq_class all;
    for (mpq_class& weight : weights) all += weight = pick(random, 1, 9);
    const std::size_t chosen = varying.empty() ? 0 : random() % varying.size();
    for (std::size_t i = 0; i < varying.size(); ++i) {
      const mpq_class lower = box.lower[varying[i]], upper = box.upper[varying[i]];
      const mpq_class share = vertex ? mpq_class(i == chosen ? 1 : 0) : mpq_class(weights[i] / all);
      x[varying[i]] = lower + share * (upper - lower);
    }
  }
  return x;
}

class OneHotInputs : public ::testing::TestWithParam<Method> {
 protected:
  std::vector<Outcome> bounds(const engine::Engine& engine, const std::vector<FloatBox>& boxes) {
    const SerialExecutor executor(Habit::kRandom, 2);
    Signature signature;
    signature.batch = engine.plan().config.batch > 1;
    if (signature.batch)
      return call_bounds(engine.plan(), callee_of(engine), signature, boxes,
                         {nullptr, executor.get()})
          .boxes;
    std::vector<Outcome> all;
    for (const FloatBox& box : boxes)
      all.push_back(
          call_bounds(engine.plan(), callee_of(engine), signature, {box}, {nullptr, executor.get()})
              .boxes.front());
    return all;
  }

  Random random_;
};

TEST_P(OneHotInputs, BoundsHold) {
  const std::uint64_t seed = testing::seed_from_environment(20261127);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  int networks = 0, finite = 0, all = 0, tighter = 0;
  while (networks < 30) {
    const auto numbers =
        networks % 3 == 0 ? testing::Numbers::kSmallIntegers : testing::Numbers::kFloats;
    const Example example = random_example(random_, numbers);
    if (example.divides) continue;
    const PlannerConfig config = configured(GetParam(), random_);
    std::unique_ptr<engine::Engine> engine, whole;
    std::size_t size = 0;
    try {
      Graph graph = example.graph;
      normalise(graph);
      whole = std::make_unique<engine::Engine>(lower(plan_for_engine(graph, false, config)));
      make_one_hot(graph, random_);
      size = static_cast<std::size_t>(graph.one_hot.size);
      engine = std::make_unique<engine::Engine>(lower(plan_for_engine(graph, false, config)));
    } catch (const CompileError&) {
      continue;
    }
    ++networks;
    std::vector<FloatBox> boxes;
    for (int i = 0; i < 8; ++i)
      boxes.push_back(random_general_box(random_, engine->plan().input_count));
    const std::vector<Outcome> found = bounds(*engine, boxes), of_box = bounds(*whole, boxes);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      SCOPED_TRACE(fmt::format("network {}, box {}, groups of {}", networks, i, size));
      ASSERT_EQ(found[i].status, BF_OK);
      ASSERT_NO_FATAL_FAILURE(check_order(found[i]));
      for (int p = 0; p < 6; ++p) {
        const Point x = point_of_one_hot(boxes[i], size, random_);
        check_values(example, evaluate_at(example, x), found[i]);
        if (HasFatalFailure()) {
          std::printf("%s\n", to_string(example.graph).c_str());
          return;
        }
      }
      for (std::size_t j = 0; j < found[i].lower.size(); ++j, ++all) {
        if (!std::isfinite(found[i].lower[j]) || !std::isfinite(found[i].upper[j])) continue;
        ++finite;
        const float width = found[i].upper[j] - found[i].lower[j];
        if (width < 0.9F * (of_box[i].upper[j] - of_box[i].lower[j])) ++tighter;
      }
    }
  }
  std::printf("%d bounds, %d finite, %d tighter than those of the box\n", all, finite, tighter);
  EXPECT_GT(finite, all * 3 / 4);
  EXPECT_GT(tighter, all / 20);
}

INSTANTIATE_TEST_SUITE_P(Of, OneHotInputs,
                         ::testing::Values(Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown),
                         [](const auto& test) { return test_name(to_string(test.param)); });

// One layer of groups, all of whose weights are given.
Graph one_layer(const std::vector<double>& weight, std::int64_t size) {
  const auto inputs = static_cast<std::int64_t>(weight.size());
  Graph graph;
  graph.inputs = {graph.add_value("x", {inputs})};
  graph.nodes.push_back({Affine{{{1, inputs}, weight, {}}, {{1}, {0.5}, {}}},
                         {graph.inputs[0]},
                         graph.add_value("y", {1}),
                         "y"});
  graph.outputs = {graph.nodes.back().output};
  graph.one_hot.size = size;
  graph.one_hot.ids.resize(static_cast<std::size_t>(inputs / size));
  return graph;
}

// One layer: the least value is the sum of the least of each group.
TEST(LinearOneHot, BoundsAreTheRange) {
  testing::Random random(5);
  for (int round = 0; round < 60; ++round) {
    const int size = pick(random, 1, 7), positions = pick(random, 1, 9), inputs = size * positions;
    const std::vector<double> weight =
        testing::random_numbers(random, testing::Numbers::kFloats, inputs);
    Graph graph = one_layer(weight, size);
    normalise(graph);
    const engine::Engine engine(lower(plan_for_engine(
        graph, false,
        planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back()))));
    FloatBox box{std::vector<float>(weight.size(), 0), std::vector<float>(weight.size(), 0)};
    mpq_class least(0.5), most(0.5), magnitude(1);
    for (int p = 0; p < positions; ++p) {
      const int allowed = pick(random, 1, size);
      std::vector<mpq_class> of;
      for (int c = 0; c < allowed; ++c) {
        const auto at = static_cast<std::size_t>(p * size + c);
        box.upper[at] = 1;
        if (allowed == 1) box.lower[at] = 1;
        of.emplace_back(weight[at]);
        magnitude += abs(of.back());
      }
      least += *std::ranges::min_element(of);
      most += *std::ranges::max_element(of);
    }
    const Outcome found = call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
    const mpq_class slack = magnitude * mpq_class(0x1p-18);
    EXPECT_LE(mpq_class(found.lower[0]), least);
    EXPECT_GE(mpq_class(found.lower[0]), least - slack);
    EXPECT_GE(mpq_class(found.upper[0]), most);
    EXPECT_LE(mpq_class(found.upper[0]), most + slack);
  }
}

std::string refusal_of(const PlannerConfig& config, bool property = false) {
  PlanOptions options;
  const Property any;
  options.property = property ? &any : nullptr;
  try {
    plan(one_layer({1, 2}, 2), {}, "net", property, config, options);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(OneHotRefused, WhatIsAboutBoxes) {
  const PlannerConfig config =
      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
  EXPECT_EQ(refusal_of(config), "");
  EXPECT_EQ(refusal_of(config, true), "BF2117");
  for (const Method method : {Method::kIbp, Method::kForward, Method::kAuto}) {
    PlannerConfig other = config;
    other.method = method;
    EXPECT_EQ(refusal_of(other), "BF2117") << to_string(method);
  }
  PlannerConfig ball = config, cached = config, decides = config;
  ball.norm = Norm::kEuclid;
  EXPECT_EQ(refusal_of(ball), "BF2117");
  cached.reuse.bounds = true;
  EXPECT_EQ(refusal_of(cached), "BF2117");
  decides.decide = true;
  EXPECT_EQ(refusal_of(decides), "BF2117");
}

}  // namespace
}  // namespace bf_aot::soundness
