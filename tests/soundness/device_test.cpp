// Verifiers on an OpenCL device beside those in C99 of the same networks: bounds and statuses are
// the same to the bit where neither fuses products into sums. PoCL serves as the device, which
// compiles for this processor; without a device the tests are skipped. BF_SEED=n repeats a run.

#include "aot/build/device/device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "aot/build/compile.h"
#include "aot/build/options/language.h"
#include "aot/engine/device/device.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/checks.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

constexpr char kExact[] = "-D BF_NO_CONTRACTION";

// Why there is no device to test with; nothing where there is one.
std::optional<std::string> missing_device() {
  const Graph graph = to_graph(Net{"one", {dense_layer(1, 1, {1})}});
  build::CompileOptions options;
  options.planner = planner_config(Method::kIbp, Lowering::kGeneric, "generic");
  options = build::for_device(options, Language::kOpenCl);
  ModelInfo info;
  info.sha256 = std::string(64, '0');
  try {
    const engine::Device device(
        lower(std::make_shared<const Plan>(plan(graph, info, "net", false, options.planner))),
        {"opencl", 0});
    return std::nullopt;
  } catch (const CompileError& error) {
    const std::string text = error.what();
    if (text.find("BF3340") == std::string::npos) throw;
    return text;
  }
}

// The bounds of boxes in order.
struct Made {
  std::vector<bf_status> statuses;
  std::vector<float> lower, upper;
};

struct Configuration {
  const char* name;
  Method method;
  Semantics semantics;
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp", Method::kIbp, Semantics::kReal},
    {"crown_ibp", Method::kCrownIbp, Semantics::kReal},
    {"crown", Method::kCrown, Semantics::kReal},
    {"crown_float32", Method::kCrown, Semantics::kFloat32},
};

class OnDevice : public ::testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    static const std::optional<std::string> kMissing = missing_device();
    if (kMissing) GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd makes one): " << *kMissing;
  }

  PlannerConfig config(Language language) const {
    build::CompileOptions options;
    options.planner = planner_config(GetParam().method, Lowering::kGeneric, "generic");
    options.planner.semantics = GetParam().semantics;
    if (is_of_device(language)) return build::for_device(options, language).planner;
    return options.planner;
  }

  // The network's plan for devices; null where devices lack what it needs.
  std::shared_ptr<const Lowered> planned(const Graph& graph, const std::string& name) const {
    ModelInfo info;
    info.sha256 = std::string(64, '0');
    try {
      auto lowered = lower(
          std::make_shared<const Plan>(plan(graph, info, name, false, config(Language::kOpenCl))));
      build::check_language(*lowered);
      return lowered;
    } catch (const CompileError&) {
      return nullptr;
    }
  }

  bool add(const Graph& graph) {
    auto lowered = planned(graph, fmt::format("net_{}", host_.size()));
    if (lowered == nullptr) return false;
    devices_.push_back(std::make_unique<engine::Device>(std::move(lowered),
                                                        build::DeviceName{"opencl", 0}, kExact));
    host_.add(graph, false, config(Language::kCpp));
    return true;
  }

  static Made on_device(const engine::Device& device, const std::vector<FloatBox>& boxes) {
    Made made;
    std::vector<float> lower, upper;
    for (const FloatBox& box : boxes) {
      lower.insert(lower.end(), box.lower.begin(), box.lower.end());
      upper.insert(upper.end(), box.upper.begin(), box.upper.end());
    }
    const auto outputs = static_cast<std::size_t>(device.plan().output_count);
    made.statuses.resize(boxes.size());
    made.lower.assign(boxes.size() * outputs, 1);
    made.upper.assign(boxes.size() * outputs, 2);
    device.bound(false, boxes.size(), lower.data(), upper.data(), made.lower.data(),
                 made.upper.data(), made.statuses.data());
    return made;
  }

  // Compares on boxes of all kinds, which hold points, infinite and empty boxes, in one batch.
  void compare(Random& random) {
    host_.build({"g++", {"-O1", "-ffp-contract=off"}});
    for (std::size_t i = 0; i < host_.size(); ++i) {
      const Plan& plan = host_.plan(i);
      std::vector<FloatBox> boxes;
      for (int kind = 0; kind < kBoxKinds; ++kind)
        boxes.push_back(random_box(random, plan.input_count, kind));
      const Made made = on_device(*devices_[i], boxes);
      const auto outputs = static_cast<std::size_t>(plan.output_count);
      for (std::size_t k = 0; k < boxes.size(); ++k) {
        const auto bytes = static_cast<std::size_t>(plan.arena_bytes());
        Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
        std::vector<float> lower(outputs, 1), upper(outputs, 2);
        const bf_status status = host_.bounds(i)(boxes[k].lower.data(), boxes[k].upper.data(),
                                                 lower.data(), upper.data(), arena.data(), bytes);
        EXPECT_EQ(made.statuses[k], status) << plan.name << ", box of kind " << k;
        for (std::size_t j = 0; j < outputs; ++j) {
          EXPECT_TRUE(same(made.lower[k * outputs + j], lower[j]) &&
                      same(made.upper[k * outputs + j], upper[j]))
              << plan.name << ", box of kind " << k << ", output " << j << ": "
              << made.lower[k * outputs + j] << " to " << made.upper[k * outputs + j]
              << " on the device, " << lower[j] << " to " << upper[j] << " here";
        }
      }
    }
  }

  static bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  std::vector<std::unique_ptr<engine::Device>> devices_;
  Batch host_;
};

TEST_P(OnDevice, DenseNetworksHaveTheBitsOfC) {
  Random random(testing::seed_from_environment(20261132));
  for (int family = 0; family < kFamilies; ++family)
    ASSERT_TRUE(add(to_graph(random_net(random, static_cast<Family>(family)))));
  compare(random);
}

TEST_P(OnDevice, RandomGraphsHaveTheBitsOfC) {
  Random random(testing::seed_from_environment(20261133));
  for (int tried = 0; host_.size() < 6; ++tried) {
    ASSERT_LT(tried, 400) << "devices have nearly nothing";
    Graph graph =
        testing::random_graph(random, testing::Numbers::kFloats, testing::pick(random, 2, 10));
    try {
      normalise(graph);
    } catch (const CompileError&) {
      continue;
    }
    (void)add(graph);
  }
  compare(random);
}

INSTANTIATE_TEST_SUITE_P(Methods, OnDevice, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
