// Rows of all scales beside each other: random networks on boxes whose inputs have sizes from 2^-60
// to 2^100, against exact arithmetic; and the widths of a row beside a larger one, which are those
// that it has alone. BF_SEED=n repeats a run.

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
constexpr Method kMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown,
                               Method::kForward};

class Rows : public ::testing::TestWithParam<Method> {
 protected:
  // Null where the method does not take the graph.
  std::unique_ptr<engine::Engine> engine_of(Graph graph, int batch) {
    PlannerConfig config = planner_config(GetParam(), Lowering::kPrebuilt, engine_targets().back());
    config.iterations = 3;
    config.batch = batch;
    try {
      normalise(graph);
      return std::make_unique<engine::Engine>(lower(plan_for_engine(graph, false, config)));
    } catch (const CompileError&) {
      return nullptr;
    }
  }

  std::vector<Outcome> bounds(const engine::Engine& engine, const std::vector<FloatBox>& boxes) {
    const SerialExecutor executor(Habit::kInOrder, 1);
    Signature signature;
    signature.batch = engine.plan().config.batch > 1;
    const CallWith with = {nullptr, executor.get()};
    if (signature.batch)
      return call_bounds(engine.plan(), callee_of(engine), signature, boxes, with).boxes;
    std::vector<Outcome> all;
    for (const FloatBox& box : boxes)
      all.push_back(
          call_bounds(engine.plan(), callee_of(engine), signature, {box}, with).boxes.front());
    return all;
  }

  Random random_;
};

// Some inputs are scaled, each by a power of two of its own, at most of 2^largest.
FloatBox mixed_box(Random& random, int inputs, int largest) {
  FloatBox box = random_general_box(random, inputs);
  for (std::size_t k = 0; k < box.lower.size(); ++k) {
    const int power = pick(random, 0, 1) * pick(random, -60, largest);
    box.lower[k] = std::ldexp(box.lower[k], power);
    box.upper[k] = std::ldexp(box.upper[k], power);
  }
  return box;
}

TEST_P(Rows, BoundsHoldAtAllScales) {
  const std::uint64_t seed = testing::seed_from_environment(20261127);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  int networks = 0, tries = 0;
  while (networks < 40 && ++tries < 2000) {
    const auto numbers =
        networks % 3 == 0 ? testing::Numbers::kSmallIntegers : testing::Numbers::kFloats;
    const Example example = random_example(random_, numbers);
    if (example.divides) continue;
    const auto engine = engine_of(example.graph, networks % 2 == 0 ? 8 : 1);
    if (engine == nullptr) continue;
    ++networks;
    std::vector<FloatBox> boxes;
    for (int i = 0; i < 8; ++i)
      boxes.push_back(mixed_box(random_, engine->plan().input_count, example.exact ? 100 : 3));
    const std::vector<Outcome> found = bounds(*engine, boxes);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      SCOPED_TRACE(fmt::format("network {}, box {}", networks, i));
      ASSERT_EQ(found[i].status, BF_OK);
      ASSERT_NO_FATAL_FAILURE(check_order(found[i]));
      for (int p = 0; p < 4; ++p) {
        const Point x = random_point_of(boxes[i], random_);
        check_values(example, evaluate_at(example, x), found[i]);
        if (HasFatalFailure()) {
          std::printf("%s\n", to_string(example.graph).c_str());
          return;
        }
      }
    }
  }
  EXPECT_GT(networks, GetParam() == Method::kForward ? 0 : 20);
}

// Two blocks of three neurons that read three inputs each, and a second layer of the same form.
Graph two_blocks(Random& random, double scale, bool biases) {
  const std::vector<double> block = testing::random_numbers(random, testing::Numbers::kFloats, 9);
  std::vector<double> weight(36, 0), bias(6, 0);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      weight[i * 6 + k] = weight[(i + 3) * 6 + k + 3] = block[i * 3 + k];
  // Not floats: rounding them is what rows must not pay for each other.
  for (std::size_t i = 0; biases && i < 6; ++i) bias[i] = (i < 3 ? scale : 1) * (0.3 + 0.1 * i);
  Graph graph;
  graph.inputs = {graph.add_value("x", {6})};
  ValueId value = graph.inputs[0];
  for (const char* name : {"h", "y"}) {
    graph.nodes.push_back(
        {Affine{{{6, 6}, weight, {}}, {{6}, bias, {}}}, {value}, graph.add_value(name, {6}), name});
    value = graph.nodes.back().output;
    if (name[0] != 'h') continue;
    graph.nodes.push_back({Relu{}, {value}, graph.add_value("a", {6}), "a"});
    value = graph.nodes.back().output;
  }
  graph.outputs = {value};
  return graph;
}

TEST_P(Rows, AreAsWideAsAlone) {
  for (const bool biases : {false, true})
    for (const double scale : {1e12, 1e30}) {
      SCOPED_TRACE(fmt::format("scale {}, biases {}", scale, biases));
      Random random(7);
      const auto beside = engine_of(two_blocks(random, scale, biases), 1);
      random.seed(7);
      const auto alone = engine_of(two_blocks(random, 1, biases), 1);
      ASSERT_TRUE(beside != nullptr && alone != nullptr);
      const auto box = [](double of_first) {
        FloatBox made;
        for (const double centre :
             {0.3 * of_first, -0.7 * of_first, 1.1 * of_first, 0.3, -0.7, 1.1}) {
          made.lower.push_back(static_cast<float>(centre - 0.01 * std::fabs(centre)));
          made.upper.push_back(static_cast<float>(centre + 0.01 * std::fabs(centre)));
        }
        return made;
      };
      const Outcome wide = bounds(*beside, {box(scale)}).front();
      const Outcome narrow = bounds(*alone, {box(1)}).front();
      for (std::size_t j = 3; j < 6; ++j)
        EXPECT_LE(wide.upper[j] - wide.lower[j], 1.01F * (narrow.upper[j] - narrow.lower[j])) << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Rows, ::testing::ValuesIn(kMethods),
                         [](const auto& test) { return test_name(to_string(test.param)); });

}  // namespace
}  // namespace bf_aot::soundness
