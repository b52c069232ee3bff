// Rows that pass by dead neurons of convolutions, against exact arithmetic, on boxes where each
// neuron is dead or active and each row so attains its bound at a corner: a list that misses one
// live neuron makes a bound wrong.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/evaluate/evaluate_exact.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/image_nets.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

using Point = std::vector<mpq_class>;

FloatBox small_box(Random& random, std::int64_t inputs, int reach) {
  constexpr float kRadius = 0x1p-16F;
  FloatBox box;
  for (std::int64_t i = 0; i < inputs; ++i) {
    const auto centre = static_cast<float>(pick(random, -reach, reach));
    box.lower.push_back(centre - kRadius);
    box.upper.push_back(centre + kRadius);
  }
  return box;
}

Point at(const Graph& graph, const std::vector<float>& x) {
  return evaluate_exact(graph, std::vector<std::vector<double>>{{x.begin(), x.end()}}).at(0);
}

// The corners where each output is least and largest: the network is affine on the box.
std::vector<std::vector<float>> corners(const Graph& graph, const FloatBox& box) {
  const Point base = at(graph, box.lower);
  std::vector<std::vector<float>> made(2 * base.size(), box.lower);
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    std::vector<float> x = box.lower;
    x[i] = box.upper[i];
    const Point y = at(graph, x);
    for (std::size_t j = 0; j < y.size(); ++j) made[2 * j + (y[j] > base[j] ? 1 : 0)][i] = x[i];
  }
  return made;
}

bool lists_choices(const Plan& plan) {
  return std::ranges::any_of(plan.entries[0].steps, [](const Step& step) {
    const auto* const max = std::get_if<RelaxMax>(&step);
    return max != nullptr && max->live != BufferId::kNone;
  });
}

bool passes_by_lists(const Plan& plan) {
  for (const Step& step : plan.entries[0].steps)
    if (const auto* const rows = std::get_if<BackwardRows>(&step))
      for (const BackwardLink& link : rows->links)
        if (std::ranges::any_of(link.outs, &BackwardOut::live)) return true;
  return false;
}

TEST(LivePixels, BoundsHoldAtCorners) {
  const PlannerConfig config = planner_config(Method::kCrown, Lowering::kVector, "host");
  if (config.target.vector_bytes <= 4) GTEST_SKIP() << "scalar targets have no lists";
  Batch batch;
  std::vector<Graph> graphs;
  for (const ImageNet& example : image_nets()) {
    graphs.push_back(example.make());
    batch.add(graphs.back(), false, config);
  }
  batch.build({"g++", {"-O1"}});
  Random random{5};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_TRUE(passes_by_lists(batch.plan(i)));
    EXPECT_EQ(lists_choices(batch.plan(i)), image_nets()[i].pools);
    const FloatBox box = small_box(random, batch.plan(i).input_count, image_nets()[i].reach);
    const Outcome outcome = batch.run(i, box, 0xff);  // NaN where nothing was written
    ASSERT_EQ(outcome.status, BF_OK);
    const std::vector<std::vector<float>> points = corners(graphs[i], box);
    for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
      SCOPED_TRACE(fmt::format("{}, output {}", image_nets()[i].name, j));
      const mpq_class least = at(graphs[i], points[2 * j])[j];
      const mpq_class most = at(graphs[i], points[2 * j + 1])[j];
      const mpq_class lower = outcome.lower[j], upper = outcome.upper[j];
      EXPECT_LE(lower, least);
      EXPECT_GE(upper, most);
      // Not by far: what a list leaves out is more.
      EXPECT_LE(upper - lower, (most - least) * 5 / 4);
    }
  }
}

}  // namespace
}  // namespace bf_aot::soundness
