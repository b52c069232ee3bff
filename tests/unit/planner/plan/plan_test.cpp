#include "planner/plan/plan.h"

#include <gtest/gtest.h>

#include "tests/unit/planner/toy.h"

namespace bf_aot {
namespace {

BufferId id(int index) {
  return static_cast<BufferId>(index);
}

using Ids = std::vector<BufferId>;

TEST(PlanAccess, LeavesOutTheCallersArrays) {
  IntervalAffine head;
  head.centre_in = id(0);
  head.radius_in = id(1);
  EXPECT_EQ(access_of(head).reads, (Ids{id(0), id(1)}));
  EXPECT_TRUE(access_of(head).writes.empty());

  EvaluateAffine whole;
  EXPECT_TRUE(access_of(whole).reads.empty());
  EXPECT_TRUE(access_of(whole).writes.empty());
}

TEST(PlanAccess, RelaxAddsToTheSlackThatItReads) {
  Relax step;
  step.centre = id(0);
  step.below = id(1);
  step.above = id(2);
  step.radius = id(3);
  step.slack = id(4);
  step.row_slack = id(8);
  step.table = id(5);
  step.centre_out = id(6);
  step.radius_out = id(7);
  EXPECT_EQ(access_of(step).reads, (Ids{id(0), id(1), id(2), id(3), id(4), id(8)}));
  EXPECT_EQ(access_of(step).writes, (Ids{id(5), id(6), id(7), id(4)}));
}

TEST(PlanAccess, BackwardRowsTightensInPlaceAndCountsItsLinks) {
  BackwardRows step;
  step.centre = id(0);
  step.below = id(1);
  step.above = id(2);
  step.row_slack = id(3);
  step.neurons = id(4);
  step.coefficients = id(5);
  step.sums = id(6);
  step.input_radius = id(7);
  step.input_coefficients = id(5);
  BackwardLink link;
  link.layer = 1;
  link.table = id(8);
  link.slack = id(9);
  link.coefficients_in = id(5);
  link.coefficients_out = id(10);
  step.links = {link};
  link.layer = 0;
  link.table = id(11);
  link.slack = id(12);
  std::swap(link.coefficients_in, link.coefficients_out);
  step.links.push_back(link);
  const Access access = access_of(step);
  EXPECT_EQ(access.reads, (Ids{id(0), id(1), id(2), id(3), id(7), id(8), id(9), id(11), id(12)}));
  EXPECT_EQ(access.writes, (Ids{id(1), id(2), id(4), id(5), id(6), id(10)}));
}

TEST(Plan, TotalsAndEntries) {
  Plan plan;
  EXPECT_EQ(plan.arena_bytes(), 0);
  EXPECT_EQ(plan.find_entry(EntryKind::kBounds), nullptr);
  plan.entries.resize(2);
  plan.entries[0].storage.planned_bytes = 64;
  plan.entries[1].kind = EntryKind::kEvaluate;
  plan.entries[1].storage.planned_bytes = 256;
  plan.layouts = {{0, 1, 100}, {1, 1, 20}};
  EXPECT_EQ(plan.arena_bytes(), 256);
  EXPECT_EQ(plan.weights_bytes(), 120);
  EXPECT_EQ(plan.find_entry(EntryKind::kEvaluate), &plan.entries[1]);
}

TEST(Plan, NamesOfSteps) {
  EXPECT_EQ(step_name(BindBox{}), "bind_box");
  EXPECT_EQ(step_name(BackwardRows{}), "backward_rows");
  EXPECT_EQ(to_string(Method::kCrownIbp), "crown-ibp");
  EXPECT_EQ(to_string(KernelKind::kStartRows), "start_rows");
  EXPECT_EQ(to_string(Element::kInt32), "int32");
}

TEST(Plan, ComparesByValue) {
  const Plan plan = testing::toy_plan(Method::kCrown);
  Plan other = plan;
  EXPECT_EQ(plan, other);
  other.model.opset = 7;
  EXPECT_FALSE(plan == other);
}

}  // namespace
}  // namespace bf_aot
