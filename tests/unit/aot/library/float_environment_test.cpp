// Threads that do not round to nearest, or flush subnormal numbers: whatever makes numbers or
// bounds refuses them by name, as constants are folded and bounded where a network is read and
// planned.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/engine/run/engine.h"
#include "aot/engine/run/pool.h"
#include "aot/library/bf_aot.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/planner.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

const std::string kTiny = BF_SOURCE_DIR "/models/tiny.onnx";
const std::string kHolds = BF_SOURCE_DIR "/models/properties/tiny_holds.vnnlib";

// Gives this thread another mode while it lives.
class Mode {
 public:
  Mode(int rounding, unsigned flags) {
    std::fegetenv(&before_);
    std::fesetround(rounding);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | flags);
#else
    static_cast<void>(flags);
#endif
  }
  ~Mode() {
    std::fesetenv(&before_);
  }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

 private:
  std::fenv_t before_ = {};
};

struct Kind {
  const char* name;
  int rounding;
  unsigned flags;  // of MXCSR: flush to zero is 0x8000, denormals are zero 0x40
};

std::vector<Kind> kinds() {
  std::vector<Kind> all = {
      {"upward", FE_UPWARD, 0}, {"downward", FE_DOWNWARD, 0}, {"toward zero", FE_TOWARDZERO, 0}};
#if defined(__SSE2__)
  all.push_back({"flush to zero", FE_TONEAREST, 0x8000});
  all.push_back({"denormals are zero", FE_TONEAREST, 0x0040});
  all.push_back({"both", FE_TONEAREST, 0x8040});
  all.push_back({"of SSE alone, upward", FE_TONEAREST, 0x4000});
#endif
  return all;
}

// The code with which a stage refuses; "accepted" where it does not.
std::string refusal(const std::function<void()>& stage) {
  try {
    stage();
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "accepted";
}

TEST(FloatEnvironment, is_told_apart) {
  EXPECT_TRUE(bf::float_environment_ok());
  for (const Kind& kind : kinds()) {
    std::optional<Mode> mode(std::in_place, kind.rounding, kind.flags);
    const bool fits = bf::float_environment_ok();
    mode.reset();
    EXPECT_FALSE(fits) << kind.name;
  }
  std::feraiseexcept(FE_INEXACT | FE_UNDERFLOW | FE_OVERFLOW | FE_DIVBYZERO);
  EXPECT_TRUE(bf::float_environment_ok());
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(FloatEnvironment, every_call_of_the_library_refuses) {
  const Model model = Model::load(kTiny).value();
  const Verifier verifier = Verifier::make(model).value();
  const std::vector<float> lower = {0, 0}, upper = {0.5F, 0.5F};
  const Bounds before = verifier.bounds(lower, upper).value();
  const std::vector<std::size_t> first = {0};
  using Call = std::pair<const char*, std::function<std::string()>>;
  const auto code = [](const auto& result) { return result ? "accepted" : result.error().code; };
  const std::vector<Call> calls = {{"load", [&] { return code(Model::load(kTiny)); }},
                                   {"derivative", [&] { return code(model.derivative(first)); }},
                                   {"make", [&] { return code(Verifier::make(model)); }},
                                   {"compile", [&] { return code(compile(model, "net")); }},
                                   {"verify", [&] { return code(verify(model, kHolds)); }},
                                   {"bounds", [&] { return code(verifier.bounds(lower, upper)); }},
                                   {"evaluate", [&] { return code(verifier.evaluate(lower)); }}};
  for (const Kind& kind : kinds())
    for (const auto& [name, call] : calls) {
      std::optional<Mode> mode(std::in_place, kind.rounding, kind.flags);
      const std::string found = call();
      mode.reset();
      EXPECT_EQ(found, "BF3306") << name << ", " << kind.name;
    }
  for (const auto& [name, call] : calls) EXPECT_EQ(call(), "accepted") << name;
  const Bounds after = verifier.bounds(lower, upper).value();
  EXPECT_EQ(before.lower, after.lower);
  EXPECT_EQ(before.upper, after.upper);
}

// A call goes on in the mode in which a function of the caller's leaves its thread.
TEST(FloatEnvironment, a_call_ends_where_a_function_changes_the_mode) {
  const Verifier verifier = Verifier::make(Model::load(kTiny).value()).value();
  const std::vector<float> lower(200, 0), upper(200, 0.5F);
  api::Call call;
  call.progress = [](std::size_t) { std::fesetround(FE_UPWARD); };
  std::optional<Mode> mode(std::in_place, FE_TONEAREST, 0);
  const auto bounds = verifier.bounds(lower, upper, call);
  mode.reset();
  ASSERT_FALSE(bounds.ok());
  EXPECT_EQ(bounds.error().code, "BF3306");
}

// Stages refuse by themselves, too: those that a program of ours calls one after the other, and
// whose mode a library may change that is loaded in between.
TEST(FloatEnvironment, every_stage_refuses) {
  build::CompileOptions options;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  const ImportedModel read = import_model(kTiny, {}, {}, {});
  const build::FrontendResult front = build::run_frontend({read.graph, read.info}, options);
  const auto lowered = build::run_planner(front, "net", options);
  build::CompileOptions written = options;
  written.planner.lowering = Lowering::kGeneric;
  const auto source = build::run_planner(front, "net", written);
  using Stage = std::pair<const char*, std::function<void()>>;
  const std::vector<Stage> stages = {
      {"import", [&] { import_model(kTiny, {}, {}, {}); }},
      {"property", [&] { read_property(kHolds); }},
      {"normalise",
       [&] {
         Graph graph = read.graph;
         normalise(graph);
       }},
      {"plan", [&] { plan(front.graph, front.info, "net", false, options.planner); }},
      {"lower", [&] { lower(lowered->shared_plan()); }},
      {"emit", [&] { build::emit(*source, "net", written); }},
      {"engine", [&] { engine::Engine made(lowered, engine::EngineOptions()); }},
      {"workers", [&] { engine::share(2, 8, [](std::size_t, std::size_t) {}); }}};
  for (const Kind& kind : kinds())
    for (const auto& [name, stage] : stages) {
      std::optional<Mode> mode(std::in_place, kind.rounding, kind.flags);
      const std::string found = refusal(stage);
      mode.reset();
      EXPECT_EQ(found, "BF3306") << name << ", " << kind.name;
    }
  for (const auto& [name, stage] : stages) EXPECT_EQ(refusal(stage), "accepted") << name;
}

}  // namespace
}  // namespace bf_aot::api
