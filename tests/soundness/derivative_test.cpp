// Bounds of derivative_graph() against exact differences of the network at two points of a box that
// differ in one input, kinks between them included: l t <= f(x + t e_i) - f(x) <= u t, without
// tolerance but for functions that have no exact values. BF_SEED=n repeats a run.

#include "frontend/derivative/derivative.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/seed.h"
#include "tests/soundness/checks.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/general.h"

namespace bf_aot::soundness {
namespace {

constexpr Method kMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                               Method::kAlphaCrown};
constexpr int kNetworks = 30, kBoxes = 10;

class DerivativeBounds : public ::testing::TestWithParam<Method> {
 protected:
  // False: an operator jumps, or the planner does not take the network.
  bool start(const Example& example) {
    std::size_t inputs = 0;
    for (const ValueId id : example.graph.inputs)
      inputs += static_cast<std::size_t>(element_count(example.graph.value(id).shape));
    by_ = {random_() % inputs, random_() % inputs};
    PlannerConfig config = planner_config(GetParam(), Lowering::kPrebuilt, engine_targets().back());
    config.iterations = 3;
    try {
      Graph graph = derivative_graph(example.graph, by_);
      normalise(graph);
      engine_ = std::make_unique<engine::Engine>(lower(plan_for_engine(graph, false, config)));
    } catch (const CompileError&) {
      return false;
    }
    return true;
  }

  void check_box(const Example& example, const FloatBox& box) {
    const SerialExecutor executor(Habit::kRandom, 2);
    const Outcome slopes =
        call_bounds(engine_->plan(), callee_of(*engine_), {}, {box}, {nullptr, executor.get()})
            .boxes.front();
    ASSERT_EQ(slopes.status, BF_OK);
    ASSERT_NO_FATAL_FAILURE(check_order(slopes));
    for (std::size_t k = 0; k < by_.size(); ++k) {
      const std::size_t i = by_[k];
      Point from = random_point_of(box, random_), to = from;
      from[i] = box.lower[i];
      to[i] = random_point_of(box, random_)[i];
      const mpq_class width = to[i] - from[i];
      const Point before = evaluate_at(example, from), after = evaluate_at(example, to);
      for (std::size_t r = 0; r < before.size(); ++r)
        check_slope(example, slopes, k * before.size() + r, width, before[r], after[r]);
    }
  }

  void check_slope(const Example& example, const Outcome& slopes, std::size_t row,
                   const mpq_class& width, const mpq_class& before, const mpq_class& after) {
    const float lower = slopes.lower.at(row), upper = slopes.upper.at(row);
    // Where bounds left a function's domain nothing is claimed.
    if (!std::isfinite(lower) || !std::isfinite(upper)) return;
    ++claims_;
    const mpq_class change = after - before;
    const mpq_class miss =
        example.exact ? mpq_class() : mpq_class(0x1p-110) * (1 + abs(before) + abs(after));
    ASSERT_GE(change, mpq_class(lower) * width - miss) << "row " << row << ": " << lower;
    ASSERT_LE(change, mpq_class(upper) * width + miss) << "row " << row << ": " << upper;
    if (width > 0 && (change == mpq_class(lower) * width || change == mpq_class(upper) * width))
      ++tight_;
    if (lower > 0 || upper < 0) ++signs_;
  }

  testing::Random random_;
  std::vector<std::size_t> by_;
  std::unique_ptr<engine::Engine> engine_;
  int claims_ = 0, tight_ = 0, signs_ = 0;
};

TEST_P(DerivativeBounds, BoundDifferences) {
  const std::uint64_t seed = testing::seed_from_environment(20261125);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  for (int networks = 0; networks < kNetworks;) {
    const auto numbers =
        networks % 2 == 0 ? testing::Numbers::kSmallIntegers : testing::Numbers::kFloats;
    const Example example = random_example(random_, numbers);
    if (example.divides || !start(example)) continue;
    ++networks;
    for (int b = 0; b < kBoxes; ++b) {
      check_box(example, random_general_box(random_, engine_->plan().input_count));
      if (HasFatalFailure()) {
        std::printf("%s\n", to_string(example.graph).c_str());
        return;
      }
    }
  }
  std::printf("%d claims, %d of a sign, %d met\n", claims_, signs_, tight_);
  EXPECT_GT(claims_, kNetworks * kBoxes);
  EXPECT_GT(signs_, claims_ / 20);
  EXPECT_GT(tight_, claims_ / 50);
}

INSTANTIATE_TEST_SUITE_P(Methods, DerivativeBounds, ::testing::ValuesIn(kMethods),
                         [](const auto& test) { return test_name(to_string(test.param)); });

}  // namespace
}  // namespace bf_aot::soundness
