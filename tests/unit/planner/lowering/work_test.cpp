#include "planner/lowering/work.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "planner/lowering/lowered.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/toy_images.h"
#include "tests/unit/planner/verify/verify_graph.h"

// gcov counts the same in generated code: tests/cli/work_test.py.
namespace bf_aot::calls {
namespace {

using namespace bf_aot::testing;

// How often each function stands in a program.
std::map<std::string, std::int64_t> places(const Lowered& lowered, const Entry& entry) {
  std::map<std::string, std::int64_t> counts;
  for_each_call(lowered.program(entry), [&](const Call& call) {
    if (const auto* const kernel = std::get_if<KernelCall>(&call.callee))
      ++counts[lowered.plan().kernel(kernel->id).function];
    else
      ++counts["bf::" + std::string(signature_of(std::get<Routine>(call.callee)).name)];
  });
  return counts;
}

TEST(Work, HasEveryFunctionOfTheProgram) {
  for (const Plan& plan : {toy_plan(Method::kIbp), toy_plan(Method::kCrown),
                           graph_plan(Method::kIbp), graph_plan(Method::kCrown), windowed_plan()}) {
    const Lowered lowered(std::make_shared<const Plan>(plan));
    for (const Entry& entry : lowered.plan().entries) {
      const auto expected = places(lowered, entry);
      const Work work = work_of(lowered, entry);
      ASSERT_EQ(work.calls.size(), expected.size());
      for (const CallCount& call : work.calls) {
        ASSERT_TRUE(expected.contains(call.function)) << call.function;
        EXPECT_GE(call.most, expected.at(call.function)) << call.function;
      }
      EXPECT_EQ(work.groups, 1);
    }
  }
}

TEST(Work, OfIntervalsDoesNotDependOnTheBox) {
  const Lowered lowered(std::make_shared<const Plan>(toy_plan(Method::kIbp)));
  const Entry& entry = lowered.plan().entries.front();
  const auto expected = places(lowered, entry);
  const Work work = work_of(lowered, entry);
  for (const CallCount& call : work.calls) {
    EXPECT_TRUE(call.always) << call.function;
    EXPECT_EQ(call.most, expected.at(call.function)) << call.function;
  }
  EXPECT_TRUE(work.loops.empty());
}

TEST(Work, TilesHoldAllNeuronsThatTheListHasRoomFor) {
  const Lowered lowered(std::make_shared<const Plan>(toy_plan(Method::kCrown)));
  const Plan& plan = lowered.plan();
  const Entry& entry = plan.entries.front();
  std::vector<std::int64_t> wanted, found;
  std::vector<bool> always;
  for (const Step& step : entry.steps)
    if (const auto* rows = std::get_if<BackwardRows>(&step)) {
      const int neurons = rows->tile / 2;
      wanted.push_back((plan.layer(rows->layer).out + neurons - 1) / neurons);
      always.push_back(!rows->unstable_only);
    }
  ASSERT_FALSE(wanted.empty());
  for (const LoopBound& loop : work_of(lowered, entry).loops)
    if (loop.over.starts_with("tiles of ")) {
      ASSERT_LT(found.size(), always.size());
      EXPECT_EQ(loop.always, always[found.size()]) << loop.over;
      found.push_back(loop.most);
    }
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace bf_aot::calls
