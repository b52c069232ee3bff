#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "planner/lowering/lowered.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "planner/lowering/weight_tables.h"
#include "planner/verify/verify.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/toy_images.h"
#include "tests/unit/planner/verify/verify_graph.h"

// Programs call routines as these are declared.
namespace bf_aot::calls {
namespace {

using namespace bf_aot::testing;

void verify_all(const Plan& plan) {
  verify_programs(plan, programs_of(plan, weight_tables(plan)));
}

// The first call of a routine in the entry of bounds, changed; then checked.
template <typename Change>
void verify_changed(const Plan& plan, Routine routine, const Change& change) {
  std::vector<Program> programs = programs_of(plan, weight_tables(plan));
  bool found = false;
  for_each_call(programs.front(), [&](const Call& call) {
    if (found || call.callee != Callee(routine)) return;
    found = true;
    change(const_cast<Call&>(call));
  });
  ASSERT_TRUE(found);
  verify_programs(plan, programs);
}

TEST(Program, SignaturesAreInTheOrderOfTheRoutines) {
  for (std::size_t i = 0; i < signatures().size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(signatures()[i].routine), i) << signatures()[i].name;
}

TEST(Program, CallsRoutinesAsTheyAreDeclared) {
  for (const Plan& plan : {toy_plan(Method::kIbp), toy_plan(Method::kCrown),
                           graph_plan(Method::kIbp), graph_plan(Method::kCrown), windowed_plan()})
    verify_all(plan);
}

TEST(ProgramDeathTest, ArgumentsInTheWrongPlaces) {
  const Plan plan = toy_plan(Method::kCrown);
  EXPECT_DEATH(verify_changed(plan, Routine::kRelax,
                              [](Call& call) { std::swap(call.arguments[2], call.arguments[3]); }),
               "bounds: step .* call of relax: centre is of float32, not of double");
  EXPECT_DEATH(verify_changed(plan, Routine::kRelax,
                              [](Call& call) { std::swap(call.arguments[0], call.arguments[1]); }),
               "call of relax: n is not of kind int");
}

TEST(ProgramDeathTest, AnOffsetPastTheBuffer) {
  const Plan plan = toy_plan(Method::kCrown);
  EXPECT_DEATH(verify_changed(plan, Routine::kRelax,
                              [](Call& call) { std::get<Place>(call.arguments[9]).offset = 1; }),
               "call of relax: table ends at 19 of .*\\[18\\]");
}

TEST(ProgramDeathTest, ABufferTooSmall) {
  Plan plan = toy_plan(Method::kCrown);
  EXPECT_DEATH(
      {
        for (Buffer& buffer : plan.entries.front().buffers) --buffer.count;
        verify_all(plan);
      },
      "ends at");
}

TEST(ProgramDeathTest, AnotherRoutine) {
  const Plan plan = toy_plan(Method::kCrown);
  EXPECT_DEATH(
      verify_changed(plan, Routine::kRelax, [](Call& call) { call.callee = Routine::kRelaxBox; }),
      "call of relax_box: 12 arguments for 7 parameters");
}

}  // namespace
}  // namespace bf_aot::calls
