// Verifiers on an OpenCL device: bounds hold in exact arithmetic, and are, to the bit, those of the
// same source compiled for this processor, and of groups of several items, where none fuses
// products into sums. PoCL serves as the device; without one the tests are skipped. BF_SEED=n
// repeats a run, BF_ROUNDS=n takes n times as many networks.

#include "aot/emit/device/device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "aot/build/compile.h"
#include "aot/build/options/language.h"
#include "aot/engine/device/device.h"
#include "aot/system/process.h"
#include "bf/core/bounds.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering/weight_tables.h"
#include "tests/paths.h"
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
  options = build::for_device(options, Language::kOpenCl, 1);
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

constexpr Method kMethods[] = {Method::kCrown, Method::kIbp, Method::kCrownIbp};

// The source for a device, compiled for this processor.
class Here {
 public:
  explicit Here(const Lowered& lowered) : plan_(lowered.plan()) {
    std::ofstream(folder_.path() / "net.c", std::ios::binary) << build::device_text(lowered);
    const system::ProcessResult result = system::run_process(
        {system::find_program("gcc").value(), "-std=gnu11", "-O1", "-ffp-contract=off", "-shared",
         "-fPIC", "-w", "-include", BF_SOURCE_DIR "/tests/soundness/opencl_words.h", "net.c", "-o",
         "net.so", "-lm"},
        folder_.path());
    if (result.exit_code != 0) throw std::runtime_error(result.errors);
    library_ = dlopen((folder_.path() / "net.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    weights_.resize(static_cast<std::size_t>(blob_bytes(lowered.tables(), 64)));
    for (const WeightTable& table : lowered.tables())
      if (table.same_as < 0) pack_table(plan_, table, weights_.data() + table.offset);
  }
  ~Here() { dlclose(library_); }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

  Outcome bounds(const FloatBox& box) const {
    using Entry = void (*)(const char*, void*, const float*, const float*, float*, float*);
    const auto outputs = static_cast<std::size_t>(plan_.output_count);
    Outcome made{BF_OK, std::vector<float>(outputs), std::vector<float>(outputs)};
    Arena arena(static_cast<std::size_t>(emit::device_arena_bytes(plan_)), 64);
    reinterpret_cast<Entry>(dlsym(library_, (plan_.name + "_bounds").c_str()))(
        weights_.data(), arena.data(), box.lower.data(), box.upper.data(), made.lower.data(),
        made.upper.data());
    EXPECT_TRUE(arena.guards_intact());
    return made;
  }

 private:
  const Plan& plan_;
  TemporaryFolder folder_;
  std::vector<char> weights_;
  void* library_ = nullptr;
};

std::vector<Outcome> on_device(const engine::Device& device, const std::vector<FloatBox>& boxes) {
  std::vector<float> lower, upper;
  for (const FloatBox& box : boxes) {
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
  }
  const auto outputs = static_cast<std::ptrdiff_t>(device.plan().output_count);
  std::vector<bf_status> statuses(boxes.size());
  std::vector<float> low(boxes.size() * static_cast<std::size_t>(outputs), 1), high(low.size(), 2);
  device.bound(false, boxes.size(), lower.data(), upper.data(), low.data(), high.data(),
               statuses.data());
  std::vector<Outcome> made;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i) * outputs;
    made.push_back({statuses[i],
                    {low.begin() + at, low.begin() + at + outputs},
                    {high.begin() + at, high.begin() + at + outputs}});
  }
  return made;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::optional<std::string> kMissing = missing_device();
    if (kMissing) GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd makes one): " << *kMissing;
    if (!has_compiler("gcc")) GTEST_SKIP() << "gcc is not installed";
  }

  // The graph's plan for devices; null where devices lack what it needs.
  static std::shared_ptr<const Lowered> planned(const Graph& graph, Method method, int items) {
    build::CompileOptions options;
    options.planner = planner_config(method, Lowering::kGeneric, "generic");
    options = build::for_device(options, Language::kOpenCl, items);
    ModelInfo info;
    info.sha256 = std::string(64, '0');
    try {
      auto lowered =
          lower(std::make_shared<const Plan>(plan(graph, info, "net", false, options.planner)));
      build::check_language(*lowered);
      return lowered;
    } catch (const CompileError&) {
      return nullptr;
    }
  }

  // Bounds boxes of all kinds, which hold points, infinite and empty boxes, in one batch; compares
  // with this processor, and with a group of `items`, if several. Returns the bounds.
  std::vector<Outcome> compare(const Graph& graph, Method method, int items,
                               const std::vector<FloatBox>& boxes) {
    const auto alone = planned(graph, method, 1);
    const Here here(*alone);
    const std::vector<Outcome> made =
        on_device(engine::Device(alone, {"opencl", 0}, kExact), boxes);
    const std::vector<Outcome> shared =
        items == 1 ? made
                   : on_device(engine::Device(planned(graph, method, items), {"opencl", 0}, kExact),
                               boxes);
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      const auto n = static_cast<int>(boxes[k].lower.size());
      EXPECT_EQ(made[k].status, bf::check_box(boxes[k].lower.data(), boxes[k].upper.data(), n));
      EXPECT_TRUE(same(made[k].lower, shared[k].lower) && same(made[k].upper, shared[k].upper))
          << items << " items, box of kind " << k;
      if (made[k].status != BF_OK) {
        EXPECT_TRUE(made[k].lower[0] == 1 && made[k].upper[0] == 2) << "written";
        continue;
      }
      const Outcome expected = here.bounds(boxes[k]);
      EXPECT_TRUE(same(made[k].lower, expected.lower) && same(made[k].upper, expected.upper))
          << "box of kind " << k;
    }
    return made;
  }

  std::vector<FloatBox> boxes_of(int inputs) {
    std::vector<FloatBox> boxes;
    for (int kind = 0; kind < kBoxKinds; ++kind) boxes.push_back(random_box(random_, inputs, kind));
    boxes.push_back({std::vector<float>(static_cast<std::size_t>(inputs), 1),
                     std::vector<float>(static_cast<std::size_t>(inputs), 0)});
    return boxes;
  }

  Random random_{testing::seed_from_environment(20261132)};
};

TEST_F(OnDevice, BoundsOfDenseNetworksHold) {
  for (int i = 0; i < kFamilies * testing::rounds_from_environment(); ++i) {
    // Small ones: a device's compiler takes seconds for each.
    const std::vector<int> widths = {pick(random_, 1, 5), pick(random_, 3, 20),
                                     pick(random_, 3, 20), pick(random_, 1, 4)};
    const Net net = random_net(random_, static_cast<Family>(i % kFamilies), widths);
    SCOPED_TRACE(fmt::format("network {} of family {}", i, i % kFamilies));
    const ExactNet exact(net);
    const Graph graph = to_graph(net);
    const std::vector<FloatBox> boxes = boxes_of(net.inputs());
    const std::vector<Outcome> made =
        compare(graph, kMethods[(i + i / kFamilies) % 3], i % 4 == 0 ? 5 : 1, boxes);
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      if (made[k].status != BF_OK) continue;
      check_form(net, boxes[k], made[k]);
      check_point(exact, corner_of(boxes[k], random_()), made[k], "corner");
      check_point(exact, centre_of(boxes[k]), made[k], "centre");
      check_point(exact, point_of(boxes[k], random_), made[k], "inner point");
    }
  }
}

TEST_F(OnDevice, RandomGraphsHaveTheBitsOfThisProcessor) {
  int made = 0;
  for (int tried = 0; made < 4 * testing::rounds_from_environment(); ++tried) {
    ASSERT_LT(tried, 400) << "devices have nearly nothing";
    Graph graph =
        testing::random_graph(random_, testing::Numbers::kFloats, testing::pick(random_, 2, 10));
    try {
      normalise(graph);
    } catch (const CompileError&) {
      continue;
    }
    const Method method = kMethods[made % 3];
    const auto lowered = planned(graph, method, 1);
    if (lowered == nullptr) continue;
    SCOPED_TRACE(fmt::format("graph {}", tried));
    compare(graph, method, made % 2 == 0 ? 64 : 7, boxes_of(lowered->plan().input_count));
    ++made;
  }
}

}  // namespace
}  // namespace bf_aot::soundness
