#include "planner/reference/estimate.h"

#include <gtest/gtest.h>

#include <random>

#include "planner/entries/build_entries.h"
#include "planner/lowering/lowering.h"
#include "planner/reference/executor.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/toy_graph.h"

namespace bf_aot::reference {
namespace {

using Widths = std::vector<double>;

Widths widths_of(const Bounds& bounds) {
  Widths widths;
  for (std::size_t i = 0; i < bounds.lower.size(); ++i)
    widths.push_back(bounds.upper[i] - bounds.lower[i]);
  return widths;
}

// The plan's bounding entry for its domains as they are.
const Entry& rebuild(Plan& plan) {
  plan.layouts.clear();
  plan.kernels.clear();
  plan.entries.clear();
  LoweringPlanner lowering(plan);
  build_entries(lowering, plan);
  return *plan.find_entry(EntryKind::kBounds);
}

Box box_of(int count, double radius) {
  const auto n = static_cast<std::size_t>(count);
  return {std::vector<double>(n, -radius), std::vector<double>(n, radius)};
}

// A chain whose hidden layers all may have backward rows.
Plan chain(std::mt19937& random) {
  return testing::toy_plan(Method::kCrown, testing::random_chain({3, 6, 5, 6, 2}, random));
}

TEST(Estimator, AgreesWithTheReferenceForEveryMixOfDomains) {
  std::mt19937 random(7);
  Plan plan = chain(random);
  Estimator estimator(plan);
  const Box boxes[] = {box_of(3, 0.5), box_of(3, 2)};
  for (const Box& box : boxes) estimator.add_box(box);
  for (unsigned mix = 0; mix < 16; ++mix) {
    for (unsigned layer = 0; layer < 4; ++layer)
      plan.domains[layer].domain = (mix >> layer) % 2 == 1 ? Domain::kBackward : Domain::kInterval;
    const Entry& entry = rebuild(plan);
    for (std::size_t box = 0; box < 2; ++box) {
      const Bounds bounds = execute(plan, entry, boxes[box].lower, boxes[box].upper);
      EXPECT_EQ(estimator.run(entry, box).widths, widths_of(bounds)) << mix << " on box " << box;
    }
  }
}

TEST(Estimator, ComputesNothingTwice) {
  std::mt19937 random(8);
  Plan plan = chain(random);
  Estimator estimator(plan);
  estimator.add_box(box_of(3, 1));
  const Entry entry = rebuild(plan);
  const Estimator::Result first = estimator.run(entry, 0);
  const double work = estimator.work();
  EXPECT_GT(work, 0);
  EXPECT_EQ(estimator.run(entry, 0), first);
  EXPECT_EQ(estimator.work(), work);
  // Only what follows from the last hidden layer is new.
  plan.domains[2].domain = Domain::kInterval;
  estimator.run(rebuild(plan), 0);
  EXPECT_LT(estimator.work() - work, work);
  EXPECT_GT(estimator.work(), work);
}

TEST(Estimator, CountsRowsAndBentNeurons) {
  std::mt19937 random(9);
  Plan plan = chain(random);
  const Entry& entry = rebuild(plan);
  Estimator estimator(plan);
  estimator.add_box(box_of(3, 1));
  const Estimator::Result result = estimator.run(entry, 0);
  const Bounds bounds = execute(plan, entry, box_of(3, 1).lower, box_of(3, 1).upper);
  ASSERT_EQ(bounds.unstable.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(result.bent[i], static_cast<std::size_t>(bounds.unstable[i]));
  EXPECT_EQ(result.rows[3], 2U);  // the head's, whether bent or not
}

TEST(Estimator, SomeRowsStandForAll) {
  std::mt19937 random(10);
  Plan plan = testing::toy_plan(Method::kCrown, testing::random_chain({4, 24, 24, 24, 6}, random));
  const Entry& entry = rebuild(plan);
  const auto mean = [&](std::size_t rows) {
    Estimator estimator(plan);
    estimator.add_box(box_of(4, 1));
    estimator.set_most_rows(rows);
    const Estimator::Result result = estimator.run(entry, 0);
    double sum = 0;
    for (const double width : result.widths) sum += width;
    return std::pair(sum, estimator.work());
  };
  const auto [all, all_work] = mean(1000);
  const auto [some, some_work] = mean(6);
  EXPECT_LT(some_work, all_work);
  EXPECT_GT(some, all / 1.5);
  EXPECT_LT(some, all * 1.5);
  for (DomainChoice& choice : plan.domains) choice.domain = Domain::kInterval;
  Estimator estimator(plan);
  estimator.add_box(box_of(4, 1));
  double intervals = 0;
  for (const double width : estimator.run(rebuild(plan), 0).widths) intervals += width;
  EXPECT_LT(some, intervals);
}

}  // namespace
}  // namespace bf_aot::reference
