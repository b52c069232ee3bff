// Verifiers on an OpenCL device: bounds hold in exact arithmetic, and are, to the bit, those of the
// same source compiled for this processor, and of groups of several items, where none fuses
// products into sums. PoCL serves as the device; without one the tests are skipped. BF_SEED=n
// repeats a run, BF_ROUNDS=n takes n times as many networks.
//
// Sources are also compiled as C++ under sanitizers, the items of a group as threads: what one item
// writes no other one reads or writes before a barrier, and nothing is read or written elsewhere.

#define BF_OPENCL_GROUPS_ON_PROCESSORS  // see GroupsShareNothing

#include "aot/emit/device/device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "aot/build/compile.h"
#include "aot/engine/device/device.h"
#include "aot/engine/device/peaks.h"
#include "aot/system/process.h"
#include "bf/core/bounds.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering/weight_tables.h"
#include "runtime/host/opencl_device.h"
#include "tests/paths.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/checks.h"
#include "tests/soundness/image_nets.h"
#include "tests/soundness/on_device.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

Method method_of(int number) {
  constexpr Method kMethods[] = {Method::kAlphaCrown, Method::kCrown, Method::kIbp,
                                 Method::kCrownIbp};
  return kMethods[static_cast<std::size_t>(number) % std::size(kMethods)];
}

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

void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

// Bounds of boxes by the source for a device as C++, with these sanitizers.
std::vector<Outcome> by_threads(const Lowered& lowered, const char* sanitizers,
                                const std::vector<FloatBox>& boxes) {
  const Plan& plan = lowered.plan();
  const TemporaryFolder folder;
  std::vector<char> weights(static_cast<std::size_t>(blob_bytes(lowered.tables(), 64)));
  for (const WeightTable& table : lowered.tables())
    if (table.same_as < 0) pack_table(plan, table, weights.data() + table.offset);
  std::vector<float> lower, upper;
  for (const FloatBox& box : boxes) {
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
  }
  const std::string text = build::device_text(lowered);
  write_file(folder.path() / "net.cl", text.data(), text.size());
  write_file(folder.path() / "weights", weights.data(), weights.size());
  write_file(folder.path() / "lower", lower.data(), lower.size() * sizeof(float));
  write_file(folder.path() / "upper", upper.data(), upper.size() * sizeof(float));
  std::vector<std::string> command = {
      system::find_program("g++").value(),
      "-std=c++20",
      "-O1",
      "-g0",
      "-ffp-contract=off",
      "-w",
      "-pthread",
      std::string("-fsanitize=") + sanitizers,
      "-fno-sanitize-recover=all",
      "-DWORDS_SOURCE=\"net.cl\"",
      "-DWORDS_ENTRY=" + plan.name + "_bounds",
      fmt::format("-DWORDS_ITEMS={}", plan.config.items),
      fmt::format("-DWORDS_INPUTS={}", plan.input_count),
      fmt::format("-DWORDS_OUTPUTS={}", plan.output_count),
      fmt::format("-DWORDS_ARENA={}", emit::device_arena_bytes(plan)),
      "-I.",
      "-I" BF_SOURCE_DIR,
      BF_SOURCE_DIR "/tests/soundness/opencl_threads.cpp",
      "-o",
      "net"};
  for (const std::vector<std::string>& each : {command, {(folder.path() / "net").string()}}) {
    const system::ProcessResult result = system::run_process(each, folder.path());
    EXPECT_EQ(result.exit_code, 0) << result.errors.substr(0, 4000);
    if (result.exit_code != 0) return {};
  }
  const auto outputs = static_cast<std::size_t>(plan.output_count);
  std::ifstream made(folder.path() / "made", std::ios::binary);
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Outcome outcome{BF_OK, std::vector<float>(outputs), std::vector<float>(outputs)};
    for (std::vector<float>* end : {&outcome.lower, &outcome.upper})
      made.read(reinterpret_cast<char*>(end->data()),
                static_cast<std::streamsize>(outputs * sizeof(float)));
    outcomes.push_back(std::move(outcome));
  }
  EXPECT_TRUE(made.good());
  return outcomes;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<FloatBox> valid_boxes(Random& random, int inputs) {
  std::vector<FloatBox> boxes;
  for (int kind = 0; kind < kBoxKinds; ++kind) {
    boxes.push_back(random_box(random, inputs, kind));
    const FloatBox& box = boxes.back();
    if (bf::check_box(box.lower.data(), box.upper.data(), inputs) != BF_OK) boxes.pop_back();
  }
  return boxes;
}

// Returns whether code goes by lists of what is live.
bool has_lists(const Lowered& lowered) {
  return build::device_text(lowered).find("_live = BF_INT32_AT") != std::string::npos;
}

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::optional<std::string> kMissing = missing_device();
    if (kMissing) GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd makes one): " << *kMissing;
    if (!has_compiler("gcc")) GTEST_SKIP() << "gcc is not installed";
  }

  // Bounds boxes of all kinds, which hold points, infinite and empty boxes, in one batch; compares
  // with this processor. Returns the bounds.
  std::vector<Outcome> compare(const Graph& graph, Method method,
                               const std::vector<FloatBox>& boxes) {
    const auto alone = planned(graph, method, 1);
    const Here here(*alone);
    const std::vector<Outcome> made =
        on_device(engine::Device(alone, {"opencl", 0}, kExact), boxes);
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      const auto n = static_cast<int>(boxes[k].lower.size());
      EXPECT_EQ(made[k].status, bf::check_box(boxes[k].lower.data(), boxes[k].upper.data(), n));
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
    const std::vector<Outcome> made = compare(graph, method_of(i + i / kFamilies), boxes);
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      if (made[k].status != BF_OK) continue;
      check_form(net, boxes[k], made[k]);
      check_point(exact, corner_of(boxes[k], random_()), made[k], "corner");
      check_point(exact, centre_of(boxes[k]), made[k], "centre");
      check_point(exact, point_of(boxes[k], random_), made[k], "inner point");
    }
  }
}

// Compares bounds of a group of `items` threads with those of one.
void share(const Graph& graph, Method method, int items, const char* sanitizers, Random& random,
           Norm norm = Norm::kLargest) {
  const auto alone = planned(graph, method, 1, {}, norm);
  const std::vector<FloatBox> boxes = valid_boxes(random, alone->plan().input_count);
  const Here here(*alone);
  const std::vector<Outcome> shared =
      by_threads(*planned(graph, method, items, {}, norm), sanitizers, boxes);
  ASSERT_EQ(shared.size(), boxes.size());
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    const Outcome expected = here.bounds(boxes[k]);
    EXPECT_TRUE(same(shared[k].lower, expected.lower) && same(shared[k].upper, expected.upper))
        << "box of kind " << k;
  }
}

// Opens OpenCL's first device, also where it is a processor and groups have several items, which
// users are refused.
class Groups {
 public:
  explicit Groups(std::shared_ptr<const Lowered> lowered) : lowered_(std::move(lowered)) {
    const Plan& plan = lowered_->plan();
    text_ = build::device_text(*lowered_);
    source_ = text_.c_str();
    weights_.resize(static_cast<std::size_t>(blob_bytes(lowered_->tables(), 64)));
    for (const WeightTable& table : lowered_->tables())
      if (table.same_as < 0) pack_table(plan, table, weights_.data() + table.offset);
    table_ = {weights_.data(), weights_.size(), 0};
    bf_device_program program = {};
    program.source = &source_;
    program.texts = 1;
    program.tables = &table_;
    program.table_count = 1;
    program.weights_bytes = weights_.size();
    program.arena_bytes = static_cast<std::size_t>(emit::device_arena_bytes(plan));
    program.items = static_cast<std::size_t>(plan.config.items);
    program.team_bytes = static_cast<std::size_t>(emit::device_team_bytes(plan));
    program.inputs = static_cast<std::size_t>(plan.input_count);
    if (bf_opencl_open(&opened_, &program, 0, kExact) == 0) throw std::runtime_error(opened_.text);
  }
  ~Groups() { bf_opencl_close(&opened_); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // The boxes must be valid: nothing checks them here.
  std::vector<Outcome> bounds(const std::vector<FloatBox>& boxes) {
    std::vector<float> lower, upper;
    for (const FloatBox& box : boxes) {
      lower.insert(lower.end(), box.lower.begin(), box.lower.end());
      upper.insert(upper.end(), box.upper.begin(), box.upper.end());
    }
    const std::string entry = lowered_->plan().name + "_bounds";
    const auto outputs = static_cast<std::size_t>(lowered_->plan().output_count);
    std::vector<float> low(boxes.size() * outputs), high(low.size());
    const std::vector<bf_status> statuses(boxes.size(), BF_OK);
    if (bf_opencl_bound(&opened_, entry.c_str(), boxes.size(), lower.data(), upper.data(), outputs,
                        low.data(), high.data(), statuses.data()) == 0)
      throw std::runtime_error(opened_.text);
    std::vector<Outcome> made;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const auto from = static_cast<std::ptrdiff_t>(i * outputs);
      const auto to = static_cast<std::ptrdiff_t>((i + 1) * outputs);
      made.push_back({BF_OK,
                      {low.begin() + from, low.begin() + to},
                      {high.begin() + from, high.begin() + to}});
    }
    return made;
  }

 private:
  std::shared_ptr<const Lowered> lowered_;
  std::string text_;
  const char* source_ = nullptr;
  std::vector<char> weights_;
  bf_device_table table_ = {};
  bf_opencl_device opened_ = {};
};

// Groups at work at once have memory of their own: boxes of all sizes take turns, in calls of many,
// and have the bits of groups of one item.
TEST_F(OnDevice, GroupsShareNothing) {
  Random random{7};
  const Graph graph = to_graph(random_net(random, Family::kTrained, {4, 12, 6}));
  const auto together = planned(graph, Method::kCrown, 64);
  ASSERT_NE(build::device_text(*together).find("team)"), std::string::npos);
  std::vector<FloatBox> boxes = valid_boxes(random, 4);
  const std::size_t kinds = boxes.size();
  while (boxes.size() < 3000) boxes.push_back(boxes[boxes.size() - kinds]);
  const std::vector<Outcome> alone =
      on_device(engine::Device(planned(graph, Method::kCrown, 1), {"opencl", 0}, kExact), boxes);
  EXPECT_THROW(engine::Device(together, {"opencl", 0}, kExact), CompileError) << "of users";
  Groups device(together);
  for (int call = 0; call < 10; ++call) {
    const std::vector<Outcome> made = device.bounds(boxes);
    std::size_t others = 0;
    for (std::size_t k = 0; k < boxes.size(); ++k)
      if (!same(made[k].lower, alone[k].lower) || !same(made[k].upper, alone[k].upper)) ++others;
    EXPECT_EQ(others, 0U) << "call " << call;
  }
}

// Groups of several items are threads, since PoCL takes minutes for some.
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
    const Method method = method_of(made);
    const auto lowered = planned(graph, method, 1);
    if (lowered == nullptr) continue;
    SCOPED_TRACE(fmt::format("graph {}", tried));
    compare(graph, method, boxes_of(lowered->plan().input_count));
    share(graph, method, made % 2 == 0 ? 64 : 7, "thread", random_);
    ++made;
  }
}

class UnderSanitizers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_compiler("gcc") || !has_compiler("g++")) GTEST_SKIP() << "gcc is not installed";
  }

  Random random_{testing::seed_from_environment(20261133)};
};

// Sums of the offsets of more than 64 neurons have another order.
TEST_F(UnderSanitizers, ItemsShareDenseLayers) {
  for (int i = 0; i < 2 * testing::rounds_from_environment(); ++i) {
    const Net net = random_net(random_, static_cast<Family>(i % kFamilies),
                               {pick(random_, 2, 6), 60, pick(random_, 40, 64), 3});
    SCOPED_TRACE(fmt::format("network {}", i));
    if (i % 2 == 0)
      share(to_graph(net), Method::kCrown, 64, "thread", random_);
    else
      share(to_graph(net), Method::kAlphaCrown, 5, "address,undefined", random_);
  }
}

// Items copy weights of several tiles of columns, and of several blocks of terms, to memory of the
// group. The order of sums is another one than of one item, so that exact points judge the bounds,
// and widths say that nothing was left out.
TEST_F(UnderSanitizers, ItemsShareWeights) {
  const Net net = random_net(random_, Family::kTrained, {5, 150, 80, 20, 3});
  const Graph graph = to_graph(net);
  const auto together = planned(graph, Method::kCrown, 64),
             alone = planned(graph, Method::kCrown, 1);
  const std::string text = build::device_text(*together);
  for (const char* part : {"= team->staged;", "; columns += ", "; block += 64)"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  const ExactNet exact(net);
  const Here here(*alone);
  std::vector<FloatBox> boxes;
  for (const float reach : {0.01f, 0.1f, 1.0f})
    boxes.push_back({std::vector<float>(5, 0.5f - reach), std::vector<float>(5, 0.5f + reach)});
  const std::vector<Outcome> made = by_threads(*together, "thread", boxes);
  ASSERT_EQ(made.size(), boxes.size());
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    check_point(exact, corner_of(boxes[k], random_()), made[k], "corner");
    check_point(exact, centre_of(boxes[k]), made[k], "centre");
    check_point(exact, point_of(boxes[k], random_), made[k], "inner point");
    const Outcome expected = here.bounds(boxes[k]);
    for (std::size_t j = 0; j < made[k].lower.size(); ++j) {
      const float width = expected.upper[j] - expected.lower[j];
      EXPECT_NEAR(made[k].lower[j], expected.lower[j], width / 1000);
      EXPECT_NEAR(made[k].upper[j], expected.upper[j], width / 1000);
    }
  }
}

TEST_F(UnderSanitizers, ItemsShareBalls) {
  const Graph graph =
      to_graph(random_net(random_, Family::kTrained, {pick(random_, 4, 8), 30, 20, 3}));
  const std::string text =
      build::device_text(*planned(graph, Method::kCrown, 9, {}, Norm::kEuclid));
  EXPECT_GT(text.rfind("bf_ball_gain("), text.find("// ---- entry points"));
  EXPECT_EQ(text.find("BF_ONCE bf_ball"), std::string::npos) << "one item does it all";
  share(graph, Method::kCrown, 9, "thread", random_, Norm::kEuclid);
}

TEST_F(UnderSanitizers, ItemsShareLayersOfAllKinds) {
  int made = 0;
  for (int tried = 0; made < 3 * testing::rounds_from_environment(); ++tried) {
    ASSERT_LT(tried, 400) << "devices have nearly nothing";
    Graph graph =
        testing::random_graph(random_, testing::Numbers::kFloats, testing::pick(random_, 4, 10));
    try {
      normalise(graph);
    } catch (const CompileError&) {
      continue;
    }
    const Method method = method_of(made);
    if (planned(graph, method, 1) == nullptr) continue;
    SCOPED_TRACE(fmt::format("graph {}", tried));
    share(graph, method, 6, made % 3 != 1 ? "thread" : "address,undefined", random_);
    ++made;
  }
}

// On boxes where each neuron is dead or active, so that a list that misses one makes a bound wrong.
TEST_F(UnderSanitizers, ListsPassByWhatIsDead) {
  Random random{5};
  int listed = 0;
  for (std::size_t i = 0; i < image_nets().size(); ++i) {
    const ImageNet& example = image_nets()[i];
    SCOPED_TRACE(example.name);
    const Graph graph = example.make();
    const auto alone = planned(graph, Method::kCrown, 1);
    ASSERT_NE(alone, nullptr);
    listed += has_lists(*alone) ? 1 : 0;
    const FloatBox box = small_box(random, alone->plan().input_count, example.reach);
    const Outcome made = Here(*alone).bounds(box);
    if (i % 6 == 0) {
      const std::vector<Outcome> shared =
          by_threads(*planned(graph, Method::kCrown, 64), "thread", {box});
      ASSERT_EQ(shared.size(), 1U);
      EXPECT_TRUE(same(made.lower, shared[0].lower) && same(made.upper, shared[0].upper));
    }
    const std::vector<std::vector<float>> points = corners(graph, box);
    for (std::size_t j = 0; j < made.lower.size(); ++j) {
      const mpq_class least = exact_values(graph, points[2 * j])[j];
      const mpq_class most = exact_values(graph, points[2 * j + 1])[j];
      const mpq_class lower = made.lower[j], upper = made.upper[j];
      EXPECT_LE(lower, least);
      EXPECT_GE(upper, most);
      EXPECT_LE(upper - lower, (most - least) * 5 / 4);  // what a list leaves out is more
    }
  }
  EXPECT_EQ(listed, image_nets().size());
}

// Runs a compiler, or what it made.
void expect_success(const std::vector<std::string>& command, const std::filesystem::path& folder) {
  const system::ProcessResult result = system::run_process(command, folder);
  EXPECT_EQ(result.exit_code, 0) << (result.errors + result.output).substr(0, 4000);
}

TEST_F(UnderSanitizers, GroupsMeasurePeaks) {
  for (const auto& [items, sanitizers] : {std::pair{1, "address,undefined"}, {6, "thread"}}) {
    SCOPED_TRACE(fmt::format("{} items", items));
    const TemporaryFolder folder;
    const std::string text = engine::peaks_text(Language::kOpenCl, static_cast<std::size_t>(items));
    write_file(folder.path() / "peaks.cl", text.data(), text.size());
    expect_success(
        {system::find_program("g++").value(), "-std=c++20", "-O1", "-g0", "-w", "-pthread",
         std::string("-fsanitize=") + sanitizers, "-fno-sanitize-recover=all",
         "-DWORDS_SOURCE=\"peaks.cl\"", fmt::format("-DWORDS_ITEMS={}", items), "-I.",
         "-I" BF_SOURCE_DIR, BF_SOURCE_DIR "/tests/soundness/peaks_threads.cpp", "-o", "peaks"},
        folder.path());
    expect_success({(folder.path() / "peaks").string()}, folder.path());
  }
}

TEST(SourcesOfPeaks, AreOpenClOfVectorsOfAnyWidth) {
  const auto clang = system::find_program("clang");
  if (!clang) GTEST_SKIP() << "clang is not installed";
  for (const auto& [items, lanes] : {std::pair{64, 1}, {1, 1}, {1, 2}, {1, 4}, {1, 16}}) {
    SCOPED_TRACE(fmt::format("{} items, {} lanes", items, lanes));
    const TemporaryFolder folder;
    const std::string text = engine::peaks_text(Language::kOpenCl, static_cast<std::size_t>(items));
    write_file(folder.path() / "peaks.cl", text.data(), text.size());
    std::vector<std::string> command = {*clang,          "-x",      "cl",
                                        "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
                                        "-fsyntax-only", "peaks.cl"};
    if (lanes > 1)
      for (const auto& each :
           {fmt::format("-DBF_LANES={}", lanes), fmt::format("-DBF_WIDE_LANES={}", lanes / 2)})
        command.push_back(each);
    expect_success(command, folder.path());
  }
}

TEST(SourcesOfPeaks, AreCuda) {
  auto nvcc = system::find_program("nvcc");
  if (!nvcc) nvcc = system::find_program("/usr/local/cuda/bin/nvcc");
  if (!nvcc) GTEST_SKIP() << "nvcc is not installed";
  const TemporaryFolder folder;
  const std::string text = engine::peaks_text(Language::kCuda, 64);
  write_file(folder.path() / "peaks.cu", text.data(), text.size());
  expect_success({*nvcc, "-arch=sm_90", "-std=c++17", "-ptx", "peaks.cu"}, folder.path());
}

}  // namespace
}  // namespace bf_aot::soundness
