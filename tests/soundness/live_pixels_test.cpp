// Rows that pass by dead neurons of convolutions, against exact arithmetic, on boxes where each
// neuron is dead or active and each row so attains its bound at a corner: a list that misses one
// live neuron makes a bound wrong.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/soundness/batch.h"
#include "tests/soundness/image_nets.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

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
      const mpq_class least = exact_values(graphs[i], points[2 * j])[j];
      const mpq_class most = exact_values(graphs[i], points[2 * j + 1])[j];
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
