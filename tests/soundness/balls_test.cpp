// Bounds over the ellipsoid and the cross-polytope in a box against exact values of random networks
// at points of them: vertices, points of the surface, and inner ones. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

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
using Asked = std::tuple<Method, Norm>;
constexpr Method kMethods[] = {Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown};
constexpr Norm kNorms[] = {Norm::kEuclid, Norm::kSum};

PlannerConfig configured(const Asked& asked, Random& random) {
  PlannerConfig config =
      planner_config(std::get<Method>(asked), Lowering::kPrebuilt, engine_targets().back());
  config.norm = std::get<Norm>(asked);
  config.iterations = 3;
  if (pick(random, 0, 1) == 0) config.batch = 8;
  if (pick(random, 0, 3) == 0) config.alpha = AlphaRows::kAll;
  return config;
}

// Directions of norm 1 at most: an axis; a random one, scaled by a number that is hardly less than
// one over its norm; the same again, shorter.
Point direction(std::size_t inputs, Norm norm, Random& random) {
  Point d(inputs);
  const int kind = pick(random, 0, 3);
  if (kind == 0) {
    d[random() % inputs] = pick(random, 0, 1) == 0 ? 1 : -1;
    return d;
  }
  mpq_class size;
  for (mpq_class& each : d) {
    each = pick(random, -16, 16);
    size += norm == Norm::kEuclid ? mpq_class(each * each) : mpq_class(abs(each));
  }
  if (size == 0) return d;
  const double length = norm == Norm::kEuclid ? std::sqrt(size.get_d()) : size.get_d();
  const mpq_class scale =
      mpq_class((1 - 0x1p-50) / length) * (kind == 3 ? mpq_class(1, 2) : mpq_class(1));
  for (mpq_class& each : d) each *= scale;
  return d;
}

Point point_of_ball(const FloatBox& box, Norm norm, Random& random) {
  Point x = direction(box.lower.size(), norm, random);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const mpq_class lower = box.lower[k], upper = box.upper[k];
    x[k] = (lower + upper) / 2 + x[k] * (upper - lower) / 2;
  }
  return x;
}

class Balls : public ::testing::TestWithParam<Asked> {
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

TEST_P(Balls, BoundsHold) {
  const std::uint64_t seed = testing::seed_from_environment(20261126);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  const Norm norm = std::get<Norm>(GetParam());
  int networks = 0, finite = 0, all = 0, tighter = 0;
  while (networks < 30) {
    const auto numbers =
        networks % 3 == 0 ? testing::Numbers::kSmallIntegers : testing::Numbers::kFloats;
    const Example example = random_example(random_, numbers);
    if (example.divides) continue;
    PlannerConfig config = configured(GetParam(), random_);
    std::unique_ptr<engine::Engine> engine, whole;
    try {
      Graph graph = example.graph;
      normalise(graph);
      engine = std::make_unique<engine::Engine>(lower(plan_for_engine(graph, false, config)));
      config.norm = Norm::kLargest;
      whole = std::make_unique<engine::Engine>(lower(plan_for_engine(graph, false, config)));
    } catch (const CompileError&) {
      continue;
    }
    ++networks;
    std::vector<FloatBox> boxes;
    for (int i = 0; i < 8; ++i)
      boxes.push_back(random_general_box(random_, engine->plan().input_count));
    const std::vector<Outcome> found = bounds(*engine, boxes), of_box = bounds(*whole, boxes);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      SCOPED_TRACE(fmt::format("network {}, box {}", networks, i));
      ASSERT_EQ(found[i].status, BF_OK);
      ASSERT_NO_FATAL_FAILURE(check_order(found[i]));
      for (int p = 0; p < 6; ++p) {
        const Point x = point_of_ball(boxes[i], norm, random_);
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

INSTANTIATE_TEST_SUITE_P(
    Of, Balls, ::testing::Combine(::testing::ValuesIn(kMethods), ::testing::ValuesIn(kNorms)),
    [](const auto& test) {
      return fmt::format("{}_{}", test_name(to_string(std::get<Method>(test.param))),
                         to_string(std::get<Norm>(test.param)));
    });

// One layer: the least and the greatest value are the centre's less and plus the dual norm.
TEST(LinearBalls, BoundsAreTheRange) {
  testing::Random random(5);
  for (const Norm norm : kNorms)
    for (int round = 0; round < 30; ++round) {
      const int inputs = testing::pick(random, 1, 40);
      Graph graph;
      graph.inputs = {graph.add_value("x", {inputs})};
      const std::vector<double> weight =
          testing::random_numbers(random, testing::Numbers::kFloats, inputs);
      graph.nodes.push_back({Affine{{{1, inputs}, weight, {}}, {{1}, {0.5}, {}}},
                             {graph.inputs[0]},
                             graph.add_value("y", {1}),
                             "y"});
      graph.outputs = {graph.nodes.back().output};
      normalise(graph);
      PlannerConfig config =
          planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
      config.norm = norm;
      const engine::Engine engine(lower(plan_for_engine(graph, false, config)));
      const FloatBox box = random_general_box(random, inputs);
      const Outcome found = call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
      mpq_class centre(0.5), squares, largest;
      for (std::size_t k = 0; k < weight.size(); ++k) {
        const mpq_class lower = box.lower[k], upper = box.upper[k], w = weight[k];
        centre += w * (lower + upper) / 2;
        const mpq_class part = abs(w) * (upper - lower) / 2;
        squares += part * part;
        if (part > largest) largest = part;
      }
      const mpq_class down = centre - mpq_class(found.lower[0]);
      const mpq_class up = mpq_class(found.upper[0]) - centre;
      const mpq_class slack = (abs(centre) + 1 + down + up) * mpq_class(0x1p-17);
      for (const mpq_class& reach : {down, up}) {
        ASSERT_GE(reach, 0);
        const mpq_class wide = reach + slack;
        if (norm == Norm::kEuclid) {
          EXPECT_GE(reach * reach, squares);
          EXPECT_LE(reach * reach, squares + 2 * wide * slack);
        } else {
          EXPECT_GE(reach, largest);
          EXPECT_LE(reach, largest + slack);
        }
      }
    }
}

// Squares that are each less than half a unit of the sum before them: float32 loses them all.
TEST(LinearBalls, SquaresThatRoundingLosesAreCounted) {
  constexpr int kInputs = 2000;
  Graph graph;
  graph.inputs = {graph.add_value("x", {kInputs})};
  std::vector<double> weight(kInputs, 0x1.fcp-13);
  weight[0] = 1;
  graph.nodes.push_back({Affine{{{1, kInputs}, weight, {}}, {{1}, {0}, {}}},
                         {graph.inputs[0]},
                         graph.add_value("y", {1}),
                         "y"});
  graph.outputs = {graph.nodes.back().output};
  normalise(graph);
  PlannerConfig config =
      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
  config.norm = Norm::kEuclid;
  const engine::Engine engine(lower(plan_for_engine(graph, false, config)));
  const FloatBox box = {std::vector<float>(kInputs, -1), std::vector<float>(kInputs, 1)};
  const Outcome found = call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
  mpq_class squares;
  for (const double each : weight) squares += mpq_class(each) * mpq_class(each);
  const mpq_class down(found.lower[0]), up(found.upper[0]);
  EXPECT_GE(down * down, squares);
  EXPECT_GE(up * up, squares);
}

// Half widths that are no floats are rounded up about one end of each input, so that all centres
// move to one side.
TEST(LinearBalls, CentresThatRadiiMoveAreCounted) {
  constexpr int kInputs = 200;
  Graph graph;
  graph.inputs = {graph.add_value("x", {kInputs})};
  graph.nodes.push_back(
      {Affine{{{1, kInputs}, std::vector<double>(kInputs, 1), {}}, {{1}, {-20}, {}}},
       {graph.inputs[0]},
       graph.add_value("y", {1}),
       "y"});
  graph.outputs = {graph.nodes.back().output};
  normalise(graph);
  const FloatBox box = {std::vector<float>(kInputs, -0.1F), std::vector<float>(kInputs, 0.3F)};
  const mpq_class low(-0.1F), high(0.3F);
  const mpq_class centre = kInputs * (low + high) / 2 - 20, radius = (high - low) / 2;
  for (const Norm norm : kNorms) {
    PlannerConfig config =
        planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
    config.norm = norm;
    const engine::Engine engine(lower(plan_for_engine(graph, false, config)));
    const Outcome found = call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
    const mpq_class down = centre - mpq_class(found.lower[0]);
    const mpq_class up = mpq_class(found.upper[0]) - centre;
    const mpq_class squares = radius * radius * (norm == Norm::kEuclid ? kInputs : 1);
    for (const mpq_class& reach : {down, up}) {
      EXPECT_GE(reach, 0);
      EXPECT_GE(reach * reach, squares) << to_string(norm);
    }
  }
}

// Bounds of y = sum of weights x over a ball, by all methods that rows end in balls of.
void expect_within(const std::vector<double>& weights, const PassOptions& passes,
                   PlannerConfig config, const FloatBox& box, const mpq_class& low,
                   const mpq_class& high) {
  const auto inputs = static_cast<std::int64_t>(weights.size());
  for (const Method method : {Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
    config.method = method;
    SCOPED_TRACE(fmt::format("{}, {}", to_string(method), to_string(config.norm)));
    Graph graph;
    graph.inputs = {graph.add_value("x", {inputs})};
    graph.nodes.push_back({Affine{{{1, inputs}, weights, {}}, {{1}, {0}, {}}},
                           {graph.inputs[0]},
                           graph.add_value("y", {1}),
                           "y"});
    graph.outputs = {graph.nodes.back().output};
    normalise(graph, passes);
    const engine::Engine engine(lower(plan_for_engine(graph, false, config)));
    const Outcome found = call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
    EXPECT_LE(mpq_class(found.lower[0]), low);
    EXPECT_GE(mpq_class(found.upper[0]), high);
  }
}

// Below the normal range the centre misses the box's by half of a radius.
TEST(LinearBalls, CentresOfSubnormalRadiiAreCounted) {
  constexpr std::size_t kInputs = 100;
  PlannerConfig config =
      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
  const FloatBox box = {std::vector<float>(kInputs, 0), std::vector<float>(kInputs, 0x1p-149F)};
  const mpq_class half(0x1p-50);  // of each product
  for (const Norm norm : kNorms) {
    config.norm = norm;
    const mpq_class reach = norm == Norm::kEuclid ? mpq_class(10 * half) : half;
    expect_within(std::vector<double>(kInputs, 0x1p100), {}, config, box, kInputs * half - reach,
                  kInputs * half + reach);
  }
}

// At the box's one point x_0 + x_1 - x_2 is 2^-26, and 0 where the first sum rounds.
TEST(LinearBalls, EvaluationsInFloat32AreCounted) {
  PassOptions passes;
  passes.float32 = Float32Semantics{};
  PlannerConfig config =
      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
  config.semantics = Semantics::kFloat32;
  const FloatBox box = {{1, 0x1p-26F, 1}, {1, 0x1p-26F, 1}};
  for (const Norm norm : kNorms) {
    config.norm = norm;
    expect_within({1, 1, -1}, passes, config, box, 0, mpq_class(0x1p-26));
  }
}

// ---- balls of layers

std::vector<double> hadamard(std::size_t n, double scale) {
  std::vector<double> made;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t bits = i & k, odd = 0;
      for (; bits != 0; bits &= bits - 1) odd ^= 1;
      made.push_back(odd != 0 ? -scale : scale);
    }
  return made;
}

// Layers of n neurons with rows at right angles, whose length is `length`.
Example turned(int n, int layers, double length, double bias, Random* random) {
  Example example;
  Graph& graph = example.graph;
  graph.inputs = {graph.add_value("x", {n})};
  ValueId from = graph.inputs[0];
  for (int i = 0; i < layers; ++i) {
    std::vector<double> biases(static_cast<std::size_t>(n), bias);
    if (random != nullptr)
      for (double& each : biases) each = 0.25 * pick(*random, -8, 8) * bias;
    const std::vector<double> weight =
        hadamard(static_cast<std::size_t>(n), length / std::sqrt(static_cast<double>(n)));
    const ValueId z = graph.add_value(fmt::format("z{}", i), {n});
    graph.nodes.push_back({Affine{{{n, n}, weight, {}}, {{n}, biases, {}}}, {from}, z, "affine"});
    from = z;
    if (i + 1 == layers) break;
    const ValueId a = graph.add_value(fmt::format("a{}", i), {n});
    graph.nodes.push_back({Relu{}, {from}, a, "relu"});
    from = a;
  }
  graph.outputs = {from};
  return example;
}

Plan planned(const Example& example, Norm norm, bool with_norms) {
  Graph graph = example.graph;
  normalise(graph);
  PlannerConfig config =
      planner_config(Method::kCrownIbp, Lowering::kPrebuilt, engine_targets().back());
  config.norm = norm;
  if (!with_norms) config.disabled_passes = {"bound-norms"};
  return *plan_for_engine(graph, false, config);
}

Outcome bounds_of(const Plan& plan, const FloatBox& box) {
  const engine::Engine engine(lower(std::make_shared<const Plan>(plan)));
  return call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
}

// All neurons are active, so that a pole of the ball moves one output by all that its layers allow.
TEST(LayerBalls, ANormThatIsTooSmallIsFoundOut) {
  const Example example = turned(4, 2, 2, 64, nullptr);
  const FloatBox box = {std::vector<float>(4, -1), std::vector<float>(4, 1)};
  for (const Norm norm : kNorms) {
    Plan plan = planned(example, norm, true);
    for (const bool less : {false, true}) {
      if (less)
        for (Layer& layer : plan.layers) {
          layer.ball.norm *= 0.99;
          for (float& each : layer.ball.rows) each *= 0.99F;
        }
      const Outcome found = bounds_of(plan, box);
      int outside = 0;
      for (std::size_t k = 0; k < 4; ++k)
        for (const int sign : {-1, 1}) {
          Point x(4);
          x[k] = sign;
          const Point y = evaluate_at(example, x);
          for (std::size_t j = 0; j < y.size(); ++j)
            outside += y[j] < mpq_class(found.lower[j]) || y[j] > mpq_class(found.upper[j]);
        }
      if (less)
        EXPECT_GT(outside, 0) << to_string(norm);
      else
        EXPECT_EQ(outside, 0) << to_string(norm);
    }
  }
}

TEST(LayerBalls, BoundsAreTighterAndHold) {
  Random random(11);
  double with = 0, without = 0;
  for (int round = 0; round < 12; ++round) {
    const int layers = testing::pick(random, 2, 6);
    const Example example = turned(16, layers, 1, 0.5, &random);
    const FloatBox box = {std::vector<float>(16, -0.25F), std::vector<float>(16, 0.25F)};
    const Norm norm = kNorms[static_cast<std::size_t>(round) % 2];
    const Outcome found = bounds_of(planned(example, norm, true), box);
    const Outcome before = bounds_of(planned(example, norm, false), box);
    for (int p = 0; p < 40; ++p)
      check_values(example, evaluate_at(example, point_of_ball(box, norm, random)), found);
    for (std::size_t j = 0; j < found.lower.size(); ++j) {
      with += static_cast<double>(found.upper[j]) - static_cast<double>(found.lower[j]);
      without += static_cast<double>(before.upper[j]) - static_cast<double>(before.lower[j]);
    }
  }
  std::printf("widths %.3f, without norms %.3f\n", with, without);
  EXPECT_LT(with, 0.8 * without);
}

std::string refusal_of(PlannerConfig config, bool property = false) {
  Graph graph;
  graph.inputs = {graph.add_value("x", {1})};
  graph.nodes.push_back({Affine{{{1, 1}, {1}, {}}, {{1}, {0}, {}}},
                         {graph.inputs[0]},
                         graph.add_value("y", {1}),
                         "y"});
  graph.outputs = {graph.nodes.back().output};
  PlanOptions options;
  const Property any;
  options.property = property ? &any : nullptr;
  try {
    plan(graph, {}, "net", property, config, options);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(BallsRefused, WhatIsAboutBoxes) {
  PlannerConfig config =
      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
  config.norm = Norm::kEuclid;
  EXPECT_EQ(refusal_of(config), "");
  EXPECT_EQ(refusal_of(config, true), "BF2117");
  for (const Method method : {Method::kIbp, Method::kForward, Method::kAuto}) {
    config.method = method;
    EXPECT_EQ(refusal_of(config), "BF2117") << to_string(method);
  }
  config.method = Method::kAlphaCrown;
  config.reuse.ibp = true;
  EXPECT_EQ(refusal_of(config), "");
  config.reuse.bounds = true;
  EXPECT_EQ(refusal_of(config), "BF2117");
  config.reuse = {};
  config.decide = true;
  EXPECT_EQ(refusal_of(config), "BF2117");
}

}  // namespace
}  // namespace bf_aot::soundness
