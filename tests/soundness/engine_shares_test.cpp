// Sums of wide convolutions that workers share row by row: the bits are those of one thread,
// whatever the executor does.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "frontend/passes/pipeline.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

constexpr std::int64_t kChannels = 64, kSize = 15, kInputs = 3 * kSize * kSize, kOutputs = 2;

Constant random_constant(Random& random, const Shape& shape, double size) {
  Constant made = {shape, {}, {}};
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    made.data.push_back(static_cast<float>(size * pick(random, -50, 50)));
  return made;
}

ConvGeometry geometry(std::int64_t channels, std::int64_t size, std::int64_t stride) {
  ConvGeometry g;
  const std::int64_t made = (size - 1) / stride + 1;
  g.in_channels = channels;
  g.out_channels = kChannels;
  g.in_size = {1, size, size};
  g.out_size = {1, made, made};
  g.kernel = {1, 3, 3};
  g.stride = {1, stride, stride};
  g.pad = {0, 1, 1};
  g.in = dense_layout(channels, g.in_size);
  g.out = dense_layout(kChannels, g.out_size);
  return g;
}

// Three convolutions, of which the second and the third, which has a stride, are wide, and a head.
Graph network(Random& random) {
  Graph graph;
  const auto add = [&](Op op, const Shape& shape) {
    const ValueId from = graph.nodes.empty() ? graph.inputs.front() : graph.nodes.back().output;
    graph.nodes.push_back({std::move(op), {from}, graph.add_value("v", shape), "node"});
  };
  graph.inputs = {graph.add_value("x", {1, 3, kSize, kSize})};
  std::int64_t channels = 3, size = kSize;
  for (const std::int64_t stride : {1, 1, 2}) {
    const ConvGeometry g = geometry(channels, size, stride);
    channels = kChannels;
    size = g.out_size[1];
    const Shape shape = {1, channels, size, size};
    add(Conv{g, random_constant(random, {kChannels, g.in_channels, 9}, 0.002),
             random_constant(random, {kChannels}, 0.01)},
        shape);
    add(Relu{}, shape);
  }
  const std::int64_t last = channels * size * size;
  IndexMap flat;
  for (std::int64_t i = 0; i < last; ++i) flat.source.push_back(i);
  add(std::move(flat), {last});
  add(Affine{random_constant(random, {kOutputs, last}, 0.01), {{kOutputs}, {0, 0}, {}}},
      {kOutputs});
  graph.outputs = {graph.nodes.back().output};
  normalise(graph);
  return graph;
}

class EngineShares : public ::testing::TestWithParam<Method> {};

TEST_P(EngineShares, RowsOfSumsChangeNoBit) {
  Random random(20261128);
  const Graph graph = network(random);
  FloatBox box;
  for (std::int64_t i = 0; i < kInputs; ++i) {
    box.lower.push_back(static_cast<float>(pick(random, -100, 100)) / 100);
    box.upper.push_back(box.lower.back() + 0.01F);
  }
  for (const std::string& target : engine_targets()) {
    SCOPED_TRACE(target);
    PlannerConfig config = planner_config(GetParam(), Lowering::kPrebuilt, target);
    config.workers = 3;
    const engine::Engine engine(lower(plan_for_engine(graph, false, config)));
    const Outcome alone = call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
    ASSERT_EQ(alone.status, BF_OK);
    for (int habit = 0; habit < kHabits; ++habit) {
      SCOPED_TRACE(habit);
      const SerialExecutor executor(static_cast<Habit>(habit), 3);
      const Outcome shared =
          call_bounds(engine.plan(), callee_of(engine), {}, {box}, {nullptr, executor.get()})
              .boxes.front();
      EXPECT_EQ(executor.runs(), 2U);  // the two wide convolutions
      EXPECT_EQ(shared.status, BF_OK);
      EXPECT_EQ(shared.lower, alone.lower);
      EXPECT_EQ(shared.upper, alone.upper);
    }
    const SerialExecutor broken(Habit::kStaysUp, 3);
    const Outcome refused =
        call_bounds(engine.plan(), callee_of(engine), {}, {box}, {nullptr, broken.get()})
            .boxes.front();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(refused.status, BF_FLOAT_ENVIRONMENT);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, EngineShares, ::testing::Values(Method::kIbp, Method::kCrownIbp),
                         [](const auto& of) {
                           return of.param == Method::kIbp ? "ibp" : "crown_ibp";
                         });

}  // namespace
}  // namespace bf_aot::soundness
