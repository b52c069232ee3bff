// Compiled code takes the place of the engine's own where it is faster, and only there.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "aot/build/cache.h"
#include "aot/build/compile.h"
#include "aot/engine/jit/jit.h"
#include "aot/engine/jit/jit_source.h"
#include "aot/engine/verifier/engine_verifier.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "planner/machine/machine_profile.h"
#include "tests/paths.h"

namespace bf_aot::engine {
namespace {

std::shared_ptr<const Lowered> plan() {
  build::CompileOptions options;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.planner.profile = host_profile();
  return build::plan_model(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx", options);
}

// A function that computes nothing, in so many steps: what it leaves tells whether it was called.
std::string idle(int steps) {
  return "struct Value;\nextern \"C\" void " + std::string(kJitFunction) +
         "(const Value*, void*) {\n  for (volatile int i = 0; i < " + std::to_string(steps) +
         ";) i = i + 1;\n}\n";
}

const input::FloatBox kBox = {{0.2F, 0.0F, 0.3F, 0.3F, 0.3F}, {0.4F, 0.2F, 0.4F, 0.4F, 0.4F}};

class JitTrial : public testing::Test {
 protected:
  std::unique_ptr<EngineVerifier> verifier(int steps) {
    build::CompilerOptions compiler;
    compiler.jit = build::JitMode::kWait;
    const auto compile = [this, steps](const std::string&, const Target& target,
                                       const build::CompilerOptions& options) {
      ++compiled_;
      return build::cached_verifier({{".cpp", idle(steps)}}, target, options);
    };
    return std::make_unique<EngineVerifier>(plan(), false,
                                            std::make_unique<Jit>(compiler, compile));
  }

  // A verifier that has compiled calls when it bounded the box for the first time. A call is not
  // worth it where another one was held up by other processes: then once more.
  struct Made {
    std::unique_ptr<EngineVerifier> verifier;
    Bounds own;
  };
  Made make(int steps) {
    constexpr int kMostTries = 50;
    Made made;
    for (int tries = 0; compiled_ == 0 && tries < kMostTries; ++tries) {
      made.verifier = verifier(steps);
      made.own = made.verifier->bounds(kBox);
    }
    return made;
  }

  int compiled_ = 0;
};

TEST_F(JitTrial, FasterCodeStays) {
  const auto [faster, own] = make(0);
  ASSERT_GT(compiled_, 0);
  for (int i = 0; i < 8; ++i) EXPECT_NE(faster->bounds(kBox).lower, own.lower) << i;
}

TEST_F(JitTrial, SlowerCodeLeavesAgain) {
  const auto [slower, own] = make(5'000'000);
  ASSERT_GT(compiled_, 0);
  for (int i = 0; i < 3; ++i) EXPECT_NE(slower->bounds(kBox).lower, own.lower) << i;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(slower->bounds(kBox).lower, own.lower) << i;
}

TEST_F(JitTrial, CompilingIsTimedApart) {
  const auto [faster, own] = make(0);
  ASSERT_GT(compiled_, 0);
  const double waited = faster->waited_seconds();
  EXPECT_GT(waited, 0);
  faster->bounds(kBox);
  EXPECT_EQ(faster->waited_seconds(), waited);
}

TEST(Jit, SaysWhatDidNotCompileInTheBackground) {
  build::CompilerOptions compiler;
  compiler.jit = build::JitMode::kAuto;
  if (!build::finds_compiler(compiler, find_target("host")))
    GTEST_SKIP() << "no C++ compiler is installed";
  const auto compile = [](const std::string&, const Target&,
                          const build::CompilerOptions&) -> build::CachedVerifier {
    fail("BF3203", "", "the compiler refuses it");
  };
  testing::internal::CaptureStderr();
  {
    const EngineVerifier verifier(plan(), false, std::make_unique<Jit>(compiler, compile));
    // Work of a second is worth it; the next calls hear of the failure.
    for (const system::Stopwatch stopwatch; stopwatch.seconds() < 3;) verifier.bounds(kBox);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("BF3203"), std::string::npos);
}

}  // namespace
}  // namespace bf_aot::engine
