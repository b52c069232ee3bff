// NAME_verify_batch, compiled or run by the engine, says of each box what NAME_verify says of it.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/system/files.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "runtime/bf.h"
#include "tests/paths.h"
#include "tests/support/engine_functions.h"
#include "tests/support/model_text.h"

namespace bf_aot::decide {
namespace {

constexpr std::size_t kInputs = 2;
constexpr int kBatch = 9;

struct Case {
  const char* name;
  Method method;
  Lowering lowering;  // kPrebuilt: run by the engine
  bool side_by_side;
};

class Loaded {
 public:
  using Verify = bf_status(const float*, const float*, bf_result*, void*, std::size_t);
  using VerifyBatch = bf_status(std::size_t, const float*, const float*, bf_result*, bf_status*,
                                void*, std::size_t);

  Loaded(const std::string& property, const Case& how) {
    build::CompileOptions options;
    options.name = "tiny";
    options.planner.method = how.method;
    options.planner.lowering = how.lowering;
    options.planner.target = find_target(how.lowering == Lowering::kVector ? "x86-64" : "generic");
    options.planner.batch = kBatch;
    options.property = read_property(BF_SOURCE_DIR "/models/properties/" + property + ".vnnlib");
    if (how.lowering == Lowering::kPrebuilt) {
      engine_ = std::make_unique<EngineFunctions>(BF_SOURCE_DIR "/models/tiny.onnx", options);
      verify = std::bind_front(&EngineFunctions::verify, engine_.get());
      verify_batch = std::bind_front(&EngineFunctions::verify_batch, engine_.get());
      side_by_side = engine_->plan().batch.side_by_side;
      return;
    }
    const build::Verifier verifier =
        build::compile(BF_SOURCE_DIR "/models/tiny.onnx", "v", options);
    for (const emit::EmittedFile& file : verifier.files)
      system::write_file(folder_.path() / ("v" + file.suffix), file.bytes);
    const build::CompilerOptions warnings{
        "", {"-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"}};
    build::build_shared(build::find_toolchain(warnings, options.planner.target), folder_.path(),
                        "v", verifier.files);
    library_ = dlopen((folder_.path() / "v.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    verify = reinterpret_cast<Verify*>(dlsym(library_, "tiny_verify"));
    verify_batch = reinterpret_cast<VerifyBatch*>(dlsym(library_, "tiny_verify_batch"));
    side_by_side = verifier.plan().batch.side_by_side;
  }
  ~Loaded() {
    if (library_ != nullptr) dlclose(library_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  std::function<Verify> verify;
  std::function<VerifyBatch> verify_batch;
  int side_by_side = 1;
  alignas(64) unsigned char workspace[1 << 16];

 private:
  test::TempFolder folder_;
  void* library_ = nullptr;
  std::unique_ptr<EngineFunctions> engine_;
};

class VerdictBatch : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "made for x86-64";
#endif
  }
};

// Boxes inside, across and outside of the cases', a few of them bad.
TEST_P(VerdictBatch, SaysWhatSingleCallsSay) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> place(-1.5F, 1.5F), width(0, 0.5F);
  int verified = 0, falsified = 0, unknown = 0, bad = 0;
  for (const char* property : {"tiny_holds", "tiny_violated", "tiny_cases"}) {
    Loaded loaded(property, GetParam());
    ASSERT_EQ(loaded.side_by_side > 1, GetParam().side_by_side);
    for (int call = 0; call < 60; ++call) {
      const auto count = static_cast<std::size_t>(1 + call % kBatch);
      std::vector<float> lower(count * kInputs), upper(count * kInputs);
      for (std::size_t i = 0; i < lower.size(); ++i) {
        lower[i] = place(random);
        upper[i] = call % 7 == 6 ? lower[i] : lower[i] + width(random) * width(random) * 4;
      }
      if (call % 5 == 4) lower[0] = std::numeric_limits<float>::quiet_NaN();
      std::vector<bf_result> results(count);
      std::vector<float> points(count * kInputs, 7);
      for (std::size_t i = 0; i < count; ++i)
        results[i] = {BF_BUDGET, 77, 77, i % 3 == 2 ? nullptr : points.data() + i * kInputs};
      std::vector<bf_status> statuses(count);
      const bf_status returned =
          loaded.verify_batch(count, lower.data(), upper.data(), results.data(), statuses.data(),
                              loaded.workspace, sizeof loaded.workspace);
      bf_status first = BF_OK;
      for (std::size_t i = 0; i < count; ++i) {
        float point[] = {7, 7};
        bf_result one = {BF_BUDGET, 77, 77, point};
        const bf_status status =
            loaded.verify(lower.data() + i * kInputs, upper.data() + i * kInputs, &one,
                          loaded.workspace, sizeof loaded.workspace);
        if (first == BF_OK) first = status;
        ASSERT_EQ(statuses[i], status);
        ASSERT_EQ(results[i].verdict, one.verdict) << property << " call " << call << " box " << i;
        ASSERT_EQ(results[i].property_case, one.property_case);
        ASSERT_EQ(results[i].clause, one.clause);
        if (results[i].counterexample != nullptr) {
          ASSERT_EQ(std::memcmp(results[i].counterexample, point, sizeof point), 0);
        }
        bad += status != BF_OK ? 1 : 0;
        verified += one.verdict == BF_VERIFIED ? 1 : 0;
        falsified += one.verdict == BF_FALSIFIED ? 1 : 0;
        unknown += one.verdict == BF_UNKNOWN ? 1 : 0;
      }
      ASSERT_EQ(returned, first);
    }
  }
  EXPECT_GT(verified, 20);
  EXPECT_GT(falsified, 5);
  EXPECT_GT(unknown, 5);
  EXPECT_GT(bad, 5);
}

TEST_P(VerdictBatch, ChecksItsArguments) {
  Loaded loaded("tiny_holds", GetParam());
  const float lower[kInputs] = {-1, -1}, upper[kInputs] = {1, 1};
  bf_result result = {BF_BUDGET, 77, 77, nullptr};
  bf_status status = BF_BLOB_STALE;
  const auto call = [&](std::size_t count, const float* low, bf_result* results,
                        bf_status* statuses, std::size_t bytes) {
    return loaded.verify_batch(count, low, upper, results, statuses, loaded.workspace, bytes);
  };
  const std::size_t bytes = sizeof loaded.workspace;
  EXPECT_EQ(call(0, lower, &result, &status, bytes), BF_BAD_COUNT);
  EXPECT_EQ(call(kBatch + 1, lower, &result, &status, bytes), BF_BAD_COUNT);
  EXPECT_EQ(call(1, nullptr, &result, &status, bytes), BF_NULL_ARGUMENT);
  EXPECT_EQ(call(1, lower, nullptr, &status, bytes), BF_NULL_ARGUMENT);
  EXPECT_EQ(call(1, lower, &result, nullptr, bytes), BF_NULL_ARGUMENT);
  EXPECT_EQ(call(1, lower, &result, &status, 1), BF_WORKSPACE_TOO_SMALL);
  EXPECT_EQ(result.verdict, BF_BUDGET);
  EXPECT_EQ(status, BF_BLOB_STALE);
  EXPECT_EQ(call(1, lower, &result, &status, bytes), BF_OK);
  EXPECT_EQ(result.verdict, BF_VERIFIED);
  EXPECT_EQ(status, BF_OK);
}

constexpr Case kWays[] = {
    {"ibp_lanes", Method::kIbp, Lowering::kVector, true},
    {"crown_lanes", Method::kCrown, Lowering::kVector, true},
    {"by_turns", Method::kCrown, Lowering::kGeneric, false},
    {"ibp_engine", Method::kIbp, Lowering::kPrebuilt, true},
    {"crown_engine", Method::kCrown, Lowering::kPrebuilt, true},
    {"alpha_crown_engine", Method::kAlphaCrown, Lowering::kPrebuilt, false},
};

INSTANTIATE_TEST_SUITE_P(Ways, VerdictBatch, testing::ValuesIn(kWays),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace bf_aot::decide
