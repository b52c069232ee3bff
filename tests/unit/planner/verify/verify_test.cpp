#include "planner/verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "planner/plan/plan.h"
#include "planner/storage/storage.h"
#include "tests/unit/planner/toy.h"

// Each test breaks one thing in a good plan and expects verify() to name it.
namespace bf_aot {
namespace {

using testing::make_tasks;
using testing::toy_kernel;
using testing::toy_plan;

Buffer& buffer(Entry& entry, const std::string& name) {
  const auto found = std::find_if(entry.buffers.begin(), entry.buffers.end(),
                                  [&](const Buffer& b) { return b.name == name; });
  if (found == entry.buffers.end()) ADD_FAILURE() << "no buffer " << name;
  return *found;
}

template <typename Kind>
std::size_t find_step(const Entry& entry, int layer) {
  for (std::size_t i = 0; i < entry.steps.size(); ++i)
    if (const auto* step = std::get_if<Kind>(&entry.steps[i]))
      if (step->layer == layer) return i;
  ADD_FAILURE() << "no such step";
  return 0;
}

template <typename Kind>
Kind& step_of(Entry& entry, int layer) {
  return std::get<Kind>(entry.steps[find_step<Kind>(entry, layer)]);
}

class PlanVerify : public ::testing::TestWithParam<Method> {};

TEST_P(PlanVerify, AcceptsAGoodPlan) {
  verify(toy_plan(GetParam()));
}

TEST_P(PlanVerify, CatchesOverlappingBuffers) {
  Plan plan = toy_plan(GetParam());
  Entry& entry = plan.entries[0];
  buffer(entry, "x_radius").offset = buffer(entry, "x_centre").offset;
  EXPECT_DEATH(verify(plan),
               "entry bounds: check failed: (live buffers .* overlap|the storage totals)");
}

TEST_P(PlanVerify, CatchesAReadBeforeTheWrite) {
  Plan plan = toy_plan(GetParam());
  std::swap(plan.entries[0].steps[0], plan.entries[0].steps[1]);
  EXPECT_DEATH(verify(plan), "reads buffer 'x_centre' before it is written");
  EXPECT_DEATH(verify(plan), "internal error: stage tasks, entry bounds, step 0 \\(.*\\), layer ");
}

// What is checked is named, whatever check finds the fault, and how to report it.
TEST_P(PlanVerify, NamesWhatIsCheckedAndHowToReportIt) {
  Plan plan = toy_plan(GetParam());
  plan.entries[0].workers = 0;
  EXPECT_DEATH(verify(plan), "stage tasks, entry bounds: check failed: 0 workers");
}

TEST_P(PlanVerify, CatchesAMissingTaskEdge) {
  const Plan good = toy_plan(GetParam());
  const std::size_t tasks = good.entries[0].tasks.size();
  for (std::size_t i = 1; i < tasks; ++i) {
    Plan plan = good;
    plan.entries[0].tasks[i].after.clear();
    EXPECT_DEATH(verify(plan), "no edge leads from task") << i;
  }
}

TEST_P(PlanVerify, CatchesACyclicTaskGraph) {
  Plan plan = toy_plan(GetParam());
  plan.entries[0].tasks[0].after.push_back(1);
  EXPECT_DEATH(verify(plan), "comes before .*, which it must follow");
}

TEST_P(PlanVerify, CatchesWrongTaskInputsAndOutputs) {
  const Plan good = toy_plan(GetParam());
  Plan plan = good;
  plan.entries[0].tasks[1].inputs.pop_back();
  EXPECT_DEATH(verify(plan), "its inputs are not what it reads");
  plan = good;
  plan.entries[0].tasks[0].outputs.pop_back();
  EXPECT_DEATH(verify(plan), "its outputs are not what other tasks read");
}

TEST_P(PlanVerify, CatchesADroppedOutput) {
  Plan plan = toy_plan(GetParam());
  Entry& entry = plan.entries[0];
  entry.steps.pop_back();
  entry.tasks.pop_back();
  const int last = static_cast<int>(entry.steps.size()) - 1;
  for (Buffer& b : entry.buffers) {
    if (b.last > last) b.last_op = op_count(entry.steps.back()) - 1;
    b.last = std::min(b.last, last);
  }
  make_tasks(entry);
  EXPECT_DEATH(verify(plan), "the heads are not each written once");
}

TEST_P(PlanVerify, CatchesABufferTouchedAfterItsLifetime) {
  Plan plan = toy_plan(GetParam());
  buffer(plan.entries[0], "x_radius").last = 0;
  EXPECT_DEATH(verify(plan), "touches buffer 'x_radius' outside its lifetime 0 to 0");
}

TEST_P(PlanVerify, CatchesAMisalignedBuffer) {
  Plan plan = toy_plan(GetParam());
  plan.entries[0].buffers[0].offset += 4;
  EXPECT_DEATH(verify(plan), "are not aligned to 16");
}

TEST_P(PlanVerify, CatchesTotalsThatAreNotThoseOfTheBuffers) {
  Plan plan = toy_plan(GetParam());
  plan.entries[0].storage.planned_bytes -= 16;
  EXPECT_DEATH(verify(plan), "the storage totals");
}

TEST_P(PlanVerify, CatchesABufferTooSmallForItsStep) {
  Plan plan = toy_plan(GetParam());
  buffer(plan.entries[0], "fc0_centre").count = 2;
  EXPECT_DEATH(verify(plan), "buffer 'fc0_centre' holds 2 float.., not 3 float");
}

TEST_P(PlanVerify, CatchesAStepOutsideEveryTask) {
  Plan plan = toy_plan(GetParam());
  plan.entries[0].tasks.pop_back();
  EXPECT_DEATH(verify(plan), "belongs to no task");
}

INSTANTIATE_TEST_SUITE_P(Methods, PlanVerify,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown),
                         [](const auto& test) {
                           std::string name(to_string(test.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PlanVerifyContents, CatchesRadiusTakenForCentre) {
  Plan plan = toy_plan(Method::kIbp);
  auto& step = step_of<IntervalAffine>(plan.entries[0], 1);
  std::swap(step.centre_in, step.radius_in);
  EXPECT_DEATH(verify(plan), "which holds something else");
}

TEST(PlanVerifyContents, CatchesResultsInEachOthersBuffers) {
  Plan plan = toy_plan(Method::kIbp);
  Entry& entry = plan.entries[0];
  auto& first = step_of<IntervalAffine>(entry, 0);
  std::swap(first.centre_out, first.radius_out);
  EXPECT_DEATH(verify(plan), "reads buffer 'fc0_centre', which holds something else");
}

TEST(PlanVerifyContents, CatchesABufferThatNobodyWrites) {
  Plan plan = toy_plan(Method::kIbp);
  Buffer extra = plan.entries[0].buffers[0];
  extra.name = "extra";
  plan.entries[0].buffers.push_back(extra);
  EXPECT_DEATH(verify(plan), "buffer 'extra' is never written");
}

TEST(PlanVerifyContents, CatchesTheTableOfAnotherLayer) {
  Plan plan = toy_plan(Method::kCrown);
  auto& step = step_of<BackwardRows>(plan.entries[0], 2);
  std::swap(step.links[0].table, step.links[1].table);
  EXPECT_DEATH(verify(plan), "which holds something else");
}

TEST(PlanVerifyContents, CatchesAMissingLink) {
  Plan plan = toy_plan(Method::kCrown);
  step_of<BackwardRows>(plan.entries[0], 2).links.pop_back();
  EXPECT_DEATH(verify(plan), "step.links.size\\(\\) == cone.size\\(\\)");
}

TEST(PlanVerifyContents, CatchesCoefficientsMultipliedInPlace) {
  Plan plan = toy_plan(Method::kCrown);
  BackwardLink& link = step_of<BackwardRows>(plan.entries[0], 2).links[1];
  link.coefficients_out = link.coefficients_in;
  EXPECT_DEATH(verify(plan), "is_free\\(id\\)");
}

TEST(PlanVerifyContents, CatchesAKernelOfAnotherKind) {
  Plan plan = toy_plan(Method::kCrown);
  auto& step = step_of<BackwardRows>(plan.entries[0], 2);
  step.start = step.concretize;
  EXPECT_DEATH(verify(plan), "kernel.kind == kind");
}

TEST(PlanVerifyContents, CatchesAKernelThatNoStepCalls) {
  for (const Method method : {Method::kIbp, Method::kCrown}) {
    Plan plan = toy_plan(method);
    Kernel idle;
    idle.kind = KernelKind::kBackwardAffine;
    idle.in = idle.out = 17;
    toy_kernel(plan, idle);
    EXPECT_DEATH(verify(plan), "kernel backward_affine_17x17_0: no step calls it");
  }
}

TEST(PlanVerifyContents, CatchesAnErrorTermThatIsNoNumber) {
  Plan plan = toy_plan(Method::kCrown);
  step_of<BackwardRows>(plan.entries[0], 2).concretize_inflate =
      std::numeric_limits<double>::quiet_NaN();
  EXPECT_DEATH(verify(plan), "isfinite");
  plan = toy_plan(Method::kIbp);
  step_of<IntervalAffine>(plan.entries[0], 0).gamma = -1;
  EXPECT_DEATH(verify(plan), "term >= 0");
}

// Two heads that share all buffers: the second must wait until the first is written.
TEST(PlanVerifyTasks, CatchesAnOverwriteThatNobodyOrders) {
  Plan plan = toy_plan(Method::kCrown, {{{{1, 2}, {3, 4}}, {0, 1}}});
  Layer twin = plan.layers[0];
  twin.name = "twin";
  plan.layers.push_back(twin);
  plan.output_heads = {0, 1};
  plan.output_count = 4;
  plan.outputs.push_back({"y2", {1, 2}});
  plan.domains.push_back({1, Domain::kInterval, true, "a toy"});
  plan.layouts.push_back({1, 1, 48});
  plan.entries.resize(1);
  std::erase_if(plan.kernels,
                [](const Kernel& kernel) { return kernel.kind == KernelKind::kEvaluateAffine; });
  Entry& entry = plan.entries[0];
  auto forward = std::get<CentreAffine>(entry.steps[1]);
  auto write = std::get<WriteBounds>(entry.steps[2]);
  forward.layer = write.layer = 1;
  write.position = 2;
  entry.steps.emplace_back(forward);
  entry.steps.emplace_back(write);
  plan_storage(entry, plan.config.target.align, plan.rejected);
  make_tasks(entry);
  EXPECT_DEATH(verify(plan), "no edge leads from task 'write_bounds 2' to 'centre_affine 3'");
  entry.tasks[3].after.push_back(2);
  verify(plan);
}

TEST(PlanVerifyNetwork, CatchesMalformedLayers) {
  const Plan good = toy_plan(Method::kIbp);
  Plan plan = good;
  plan.layers[1].weight.pop_back();
  EXPECT_DEATH(verify(plan), "layer fc1: 8 weights");
  plan = good;
  plan.layers[1].bias[0] = std::numeric_limits<double>::infinity();
  EXPECT_DEATH(verify(plan), "layer fc1: a weight or bias is not finite");
  plan = good;
  plan.layers[1].input = 1;
  EXPECT_DEATH(verify(plan), "input 1 is not before it");
  plan = good;
  plan.layers[1].name = plan.layers[0].name;
  EXPECT_DEATH(verify(plan), "two layers are named fc0");
  plan = good;
  plan.output_count = 3;
  EXPECT_DEATH(verify(plan), "the outputs hold 2 numbers, not 3");
}

TEST(PlanVerifyNetwork, CatchesIncompleteSlots) {
  const Plan good = toy_plan(Method::kIbp);
  Plan plan = good;
  plan.domains.pop_back();
  EXPECT_DEATH(verify(plan), "2 domains for 3 layers");
  plan = good;
  plan.layouts.pop_back();
  EXPECT_DEATH(verify(plan), "2 layouts for 3 layers");
  plan = good;
  plan.rejected.push_back({"domain", "fc2: backward", ""});
  EXPECT_DEATH(verify(plan), "has no slot or reason");
  plan = good;
  plan.kernels[1].function = plan.kernels[0].function;
  EXPECT_DEATH(verify(plan), "is taken or no identifier");
  plan = good;
  plan.entries.erase(plan.entries.begin());
  EXPECT_DEATH(verify(plan), "0 entries 'bounds'");
  plan = good;
  plan.entries[1].kind = EntryKind::kBounds;
  EXPECT_DEATH(verify(plan), "two entries bounds");
}

}  // namespace
}  // namespace bf_aot
