#include "aot/engine/verifier/engine_verifier.h"

#include <gtest/gtest.h>

#include <memory>

#include "aot/build/compile.h"
#include "aot/engine/verifier/call_watch.h"
#include "aot/engine/verifier/make_verifier.h"
#include "planner/machine/machine_profile.h"
#include "tests/paths.h"

namespace bf_aot::engine {
namespace {

build::CompileOptions options_for(int workers) {
  build::CompileOptions options;
  options.planner.method = Method::kAlphaCrown;
  options.planner.alpha = AlphaRows::kAll;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.planner.profile = host_profile();
  options.planner.iterations = 400;  // so that workers are worth waking
  options.planner.workers = workers;
  options.spec.emplace().rows = {{1, -1, 0, 0, 0}, {0, 1, -1, 0, 0}};
  return options;
}

std::unique_ptr<const EngineVerifier> verifier_for(int workers) {
  return std::make_unique<const EngineVerifier>(
      build::plan_model(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx",
                        options_for(workers)),
      false);
}

const input::FloatBox kBox = {{0.2F, 0.0F, 0.3F, 0.3F, 0.3F}, {0.4F, 0.2F, 0.4F, 0.4F, 0.4F}};

TEST(Timeout, CheaperMethodsAreTriedWhereTheyCostLittleOrTheOtherMayNotEnd) {
  EXPECT_TRUE(is_worth_trying(0.05, 20, 60)) << "a tenth of what was asked for";
  EXPECT_TRUE(is_worth_trying(5, 40, 60)) << "may not end";
  EXPECT_FALSE(is_worth_trying(5, 20, 60));
  EXPECT_FALSE(is_worth_trying(70, 1000, 60)) << "does not end itself";
  EXPECT_FALSE(is_worth_trying(0, 0, 0));
}

TEST(EngineVerifier, WorkersChangeNoBit) {
  const auto alone = verifier_for(1), several = verifier_for(3);
  const Bounds rows = alone->spec_bounds(kBox), made = several->spec_bounds(kBox);
  EXPECT_EQ(made.lower, rows.lower);
  EXPECT_EQ(made.upper, rows.upper);
  EXPECT_EQ(several->bounds(kBox).lower, alone->bounds(kBox).lower);
  EXPECT_EQ(several->count_unstable(kBox), alone->count_unstable(kBox));
  const auto expected = alone->spec_ranges(kBox).ranges;
  const auto ranges = several->spec_ranges(kBox).ranges;
  ASSERT_EQ(ranges.size(), expected.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].lower, expected[i].lower);
    EXPECT_EQ(ranges[i].upper, expected[i].upper);
  }
  EXPECT_EQ(several->twin()->bounds(kBox).upper, alone->bounds(kBox).upper);
}

TEST(EngineVerifier, CallsOfWorkersAreStopped) {
  const auto verifier = verifier_for(3);
  const Bounds expected = verifier->spec_bounds(kBox);
  int told = 0;
  CallWatch watch([&] { return ++told == 3; }, std::chrono::milliseconds(0));
  verifier->ask(&watch);
  EXPECT_THROW(verifier->spec_bounds(kBox), Stopped);
  EXPECT_EQ(told, 3);
  EXPECT_FALSE(watch.is_late());
  verifier->ask(nullptr);
  EXPECT_EQ(verifier->spec_bounds(kBox).lower, expected.lower);
  CallWatch late(system::Stop().within(0), std::chrono::milliseconds(0));
  verifier->ask(&late);
  EXPECT_THROW(verifier->spec_bounds(kBox), Stopped);
  EXPECT_TRUE(late.is_late());
}

TEST(EngineVerifier, HasWorkersWhereMemoryIsNotLimited) {
  build::CompileOptions options = options_for(1);
  EXPECT_EQ(workers_of(options, 4), 4);
  EXPECT_EQ(workers_of(options, 1000), 256);
  options.planner.memory_budget = 1 << 20;
  EXPECT_EQ(workers_of(options, 4), 1);
  options.planner.memory_budget = 0;
  options.planner.lowering = Lowering::kVector;
  EXPECT_EQ(workers_of(options, 4), 1);
}

}  // namespace
}  // namespace bf_aot::engine
