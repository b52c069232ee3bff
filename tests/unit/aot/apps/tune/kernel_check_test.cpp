#include "aot/apps/tune/kernel_check.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "aot/apps/tune/tune_measure.h"
#include "aot/build/cache.h"
#include "aot/build/frontend_result.h"
#include "aot/system/files.h"
#include "planner/planner.h"
#include "planner/tuning/schedule_space.h"
#include "tests/paths.h"

// The oracle that schedules are checked against: right kernels pass, wrong ones are found.
namespace bf_aot::apps {
namespace {

Plan planned(Method method, int batch) {
  build::CompileOptions options;
  options.planner.method = method;
  options.planner.target = find_target("host");
  options.planner.batch = batch;
  const build::FrontendResult front = build::run_frontend(
      std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx", options);
  return build::run_planner(front, "net", options)->plan();
}

KernelLibrary load(const system::Staging& staging, KernelSource source) {
  const build::Toolchain toolchain = build::find_toolchain({}, find_target("host"));
  staging.write("kernels.cpp", source.text);
  build::build_shared(toolchain, staging.folder(), "kernels", {{".cpp", source.text}});
  return {staging.folder() / "kernels.so", source};
}

TEST(KernelCheck, RightKernelsPass) {
  const system::Staging staging(std::filesystem::temp_directory_path());
  for (const Method method : {Method::kIbp, Method::kCrown})
    for (const int batch : {1, 32}) {
      std::vector<Kernel> kernels;
      for (const Kernel& kernel : planned(method, batch).kernels)
        if (is_tunable(kernel)) kernels.push_back(kernel);
      const KernelLibrary library = load(staging, kernel_source(kernels, find_target("host")));
      for (const LoadedKernel& loaded : library.kernels())
        for (const std::uint64_t seed : {1, 2})
          EXPECT_EQ(KernelCheck(loaded, seed, 3).failure(loaded), "") << loaded.kernel.key;
    }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << "\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Damage {
  const char* name;
  Method method;
  KernelKind kind;
  const char* from;
  const char* to;
};

class DamagedKernels : public ::testing::TestWithParam<Damage> {};

// Of two kernels the second is damaged in its text.
TEST_P(DamagedKernels, AreFound) {
  const Damage& damage = GetParam();
  const Plan plan = planned(damage.method, 1);
  const auto found = std::ranges::find_if(plan.kernels, [&](const Kernel& kernel) {
    return kernel.kind == damage.kind && !kernel.head && !kernel.plain && kernel.in > 8;
  });
  ASSERT_NE(found, plan.kernels.end());
  Kernel wrong = *found;
  wrong.function += "_wrong";
  KernelSource source = kernel_source({*found, wrong}, find_target("host"));
  const std::size_t second = source.text.find("BF_KERNEL " + wrong.function);
  ASSERT_NE(second, std::string::npos);
  source.text =
      source.text.substr(0, second) + replaced(source.text.substr(second), damage.from, damage.to);
  const system::Staging staging(std::filesystem::temp_directory_path());
  const nlohmann::json result =
      nlohmann::json::parse(check_and_time(load(staging, source), 1, 1, 1 << 20));
  EXPECT_FALSE(result[0].contains("error")) << result[0];
  EXPECT_TRUE(result[1].contains("error")) << damage.name;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, DamagedKernels,
    ::testing::Values(
        Damage{"shorter_sum", Method::kCrown, KernelKind::kCentreAffine, "< 50", "< 49"},
        Damage{"signed_weight", Method::kCrown, KernelKind::kCentreAffine, "magnitude(w)", "w"},
        Damage{"signed_interval", Method::kIbp, KernelKind::kIntervalAffine, "magnitude(w)", "w"},
        Damage{"no_bias", Method::kIbp, KernelKind::kIntervalAffine, "bias +", "centre +"},
        Damage{"subtracted_product", Method::kCrown, KernelKind::kBackwardAffine, "+= w * a",
               "-= w * a"},
        Damage{"other_slopes", Method::kCrown, KernelKind::kBackwardAffine,
               "slope_upper : slope_lower", "slope_lower : slope_upper"},
        Damage{"other_offsets", Method::kCrown, KernelKind::kBackwardAffine,
               "offset_upper : offset_lower", "offset_lower : offset_upper"},
        Damage{"beyond_the_end", Method::kCrown, KernelKind::kBackwardAffine, "store(sums + ",
               "store(sums + 64 + "}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::apps
