// Work shared by several workers: the bounds are those of the plain functions, to the bit, whoever
// does what, on random networks and graphs. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>

#include "aot/host/library.h"
#include "aot/json/json_io.h"
#include "frontend/diagnostic.h"
#include "frontend/import/importer.h"
#include "frontend/passes/pipeline.h"
#include "runtime/host/thread_executor.h"
#include "tests/paths.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/boxes.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

using Parallel = bf_status (*)(const float*, const float*, float*, float*, void*, std::size_t,
                               const bf_executor*);
using ParallelBatch = bf_status (*)(std::size_t, const float*, const float*, float*, float*,
                                    bf_status*, void*, std::size_t, const bf_executor*);

struct Configuration {
  const char* name;
  Method method;
  Lowering lowering;
  const char* target;
  const char* compiler;
  std::vector<std::string> flags;
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp_host_gcc", Method::kIbp, Lowering::kVector, "host", "g++", {"-O2"}},
    {"crown_ibp_host_clang", Method::kCrownIbp, Lowering::kVector, "host", "clang++", {"-O2"}},
    {"crown_host_gcc", Method::kCrown, Lowering::kVector, "host", "g++", {"-O3"}},
    {"crown_generic_gcc", Method::kCrown, Lowering::kGeneric, "generic", "g++", {"-O1"}},
    {"alpha_crown_host_gcc", Method::kAlphaCrown, Lowering::kVector, "host", "g++", {"-O2"}},
};

constexpr int kWorkers = 8;

std::uint64_t seed() {
  return testing::seed_from_environment(20261121);
}

class Workers : public ::testing::TestWithParam<Configuration> {
 protected:
  static constexpr int kBatch = 21;

  void SetUp() override {
    const Configuration& configuration = GetParam();
    if (!has_compiler(configuration.compiler))
      GTEST_SKIP() << configuration.compiler << " is not installed";
    config_ = planner_config(configuration.method, configuration.lowering, configuration.target);
    if (!cli::runs_here(config_.target))
      GTEST_SKIP() << "no " << config_.target.name << " processor";
    config_.batch = kBatch;
    config_.iterations = 3;
    config_.workers = kWorkers;
    std::string name = configuration.name;
    name += std::to_string(seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    for (int family = 0; family < kFamilies; ++family)
      add(to_graph(random_net(random_, static_cast<Family>(family))));
    for (int made = 0; made < 3 * testing::rounds_from_environment();)
      made += add_random_graph() ? 1 : 0;
    if (makes_anew())
      for (int depth = 8; depth < 12; ++depth) add_remade(chain(depth));
    batch_.build({configuration.compiler, configuration.flags});
  }

  bool makes_anew() const {
    return config_.method == Method::kCrown && config_.lowering == Lowering::kGeneric;
  }

  // Deep and narrow: most of the workspace is relaxations.
  Graph chain(int depth) {
    Net net;
    net.label = "chain";
    for (int i = 0; i < depth; ++i) {
      NetLayer layer;
      layer.in = i == 0 ? 4 : 24;
      layer.out = i + 1 == depth ? 3 : 24;
      layer.relu = i + 1 < depth;
      for (int k = 0; k < layer.in * layer.out; ++k)
        layer.weight.push_back(std::uniform_real_distribution<float>(-1, 1)(random_));
      layer.bias.assign(static_cast<std::size_t>(layer.out), 0.25);
      net.layers.push_back(std::move(layer));
    }
    Graph graph = to_graph(net);
    normalise(graph);
    return graph;
  }

  // Under the smallest budget that works, which a refusal names: relaxations made anew lie in the
  // workers' own scratch.
  void add_remade(const Graph& graph) {
    PlannerConfig config = config_;
    config.workers = 2;  // of more the scratch takes more than the tables that it saves
    ModelInfo info;
    info.sha256 = std::string(64, '0');
    config.memory_budget = 1;
    try {
      plan(graph, info, "net", false, config);
    } catch (const CompileError& error) {
      const std::string option = "--memory-budget ", hint = error.diagnostics().front().hint;
      const std::size_t at = hint.find(option);
      if (at == std::string::npos) return;
      config.memory_budget = std::stoll(hint.substr(at + option.size()));
    }
    const Plan tight = plan(graph, info, "net", false, config);
    EXPECT_LE(tight.parallel_bytes(), config.memory_budget);
    if (std::ranges::none_of(tight.domains, &DomainChoice::remade)) return;
    batch_.add(graph, false, config);
    batch_.add(graph, false, config, {static_cast<unsigned char>(0xff)});
    ++remade_;
  }

  void add(const Graph& graph) {
    Instruments poison;
    poison.poison = 0xff;
    config_.row_tile = 2 * pick(random_, 1, 4);  // so that there are several tiles
    batch_.add(graph, false, config_);
    batch_.add(graph, false, config_, poison);
  }

  bool add_random_graph() {
    Graph graph = testing::random_graph(random_, testing::Numbers::kFloats, pick(random_, 4, 14));
    try {
      normalise(graph);
      add(graph);
    } catch (const CompileError&) {
      return false;
    }
    return true;
  }

  Outcome run(std::size_t verifier, const FloatBox& box, const bf_executor* executor,
              std::size_t workers) const {
    const Plan& plan = batch_.plan(verifier);
    const auto outputs = static_cast<std::size_t>(plan.output_count);
    const std::size_t bytes = static_cast<std::size_t>(plan.arena_bytes()) +
                              (workers - 1) * static_cast<std::size_t>(plan.worker_bytes());
    Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
    arena.fill(0xaa);
    Outcome outcome{BF_OK, std::vector<float>(outputs, kNotWritten),
                    std::vector<float>(outputs, kNotWritten)};
    const auto bounds = reinterpret_cast<Parallel>(batch_.symbol(verifier, "_bounds_parallel"));
    outcome.status = bounds(box.lower.data(), box.upper.data(), outcome.lower.data(),
                            outcome.upper.data(), arena.data(), bytes, executor);
    EXPECT_TRUE(arena.guards_intact());
    return outcome;
  }

  BatchCall run(std::size_t verifier, const std::vector<FloatBox>& boxes,
                const bf_executor* executor, std::size_t workers) const {
    const Plan& plan = batch_.plan(verifier);
    BatchCall call(plan, static_cast<std::size_t>(plan.output_count), boxes);
    const std::size_t bytes = workers * call.bytes;
    Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
    arena.fill(0xaa);
    const auto bounds =
        reinterpret_cast<ParallelBatch>(batch_.symbol(verifier, "_bounds_batch_parallel"));
    call.status =
        bounds(call.count(), call.lower.data(), call.upper.data(), call.out_lower.data(),
               call.out_upper.data(), call.statuses.data(), arena.data(), bytes, executor);
    EXPECT_TRUE(arena.guards_intact());
    return call;
  }

  static void expect_same(const Outcome& a, const Outcome& b, const std::string& what) {
    ASSERT_EQ(a.status, b.status) << what;
    ASSERT_EQ(std::memcmp(a.lower.data(), b.lower.data(), 4 * a.lower.size()), 0) << what;
    ASSERT_EQ(std::memcmp(a.upper.data(), b.upper.data(), 4 * a.upper.size()), 0) << what;
  }

  // Calls `check` with executors of all habits and numbers of workers, and with threads.
  template <typename Check>
  void with_executors(const Check& check) {
    check(nullptr, 1, "nobody else");
    for (int habit = 0; habit < kHabits; ++habit)
      for (const std::size_t workers : {1, 2, 3, kWorkers}) {
        const SerialExecutor executor(static_cast<Habit>(habit), workers);
        check(executor.get(), workers, fmt::format("habit {}, {} workers", habit, workers));
        shared_ += executor.runs();
      }
    for (const auto& threads : threads_)
      check(threads->get(), std::min<std::size_t>(threads->get()->workers, kWorkers),
            fmt::format("{} threads", threads->get()->workers));
  }

  void check_boxes();
  void check_batches();
  void check_refusals();
  void check_upward();

  bool rows(std::size_t verifier) const { return batch_.plan(verifier).parallel.workers > 1; }

  PlannerConfig config_;
  Random random_;
  Batch batch_;
  int remade_ = 0;          // verifiers that make relaxations anew
  std::size_t shared_ = 0;  // runs of serial executors
  const std::unique_ptr<bf::host::ThreadExecutor> threads_[4] = {
      std::make_unique<bf::host::ThreadExecutor>(1), std::make_unique<bf::host::ThreadExecutor>(2),
      std::make_unique<bf::host::ThreadExecutor>(3),
      std::make_unique<bf::host::ThreadExecutor>(11)};
};

void Workers::check_boxes() {
  std::size_t with_rows = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    EXPECT_EQ(batch_.has_symbol(i, "_bounds_parallel"), rows(i));
    if (!rows(i)) continue;
    ++with_rows;
    for (int k = 0; k < 3; ++k) {
      const FloatBox box = random_box(random_, batch_.plan(i).input_count, pick(random_, 0, 11));
      const Outcome plain = batch_.run(i - i % 2, box);
      expect_same(batch_.run(i, box), plain, "memory of dead buffers is read");
      with_executors([&](const bf_executor* executor, std::size_t workers, const std::string& who) {
        expect_same(run(i, box, executor, workers), plain,
                    fmt::format("BF_SEED={}, verifier {}, box {}: {}", seed(), i, k, who));
      });
      if (HasFatalFailure()) return;
    }
  }
  const bool ibp = GetParam().method == Method::kIbp;
  EXPECT_EQ(with_rows > 0, !ibp);
  EXPECT_EQ(shared_ > 100, !ibp);
}

void Workers::check_batches() {
  const std::size_t before = shared_;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    std::vector<FloatBox> boxes;
    for (int k = i % 4 < 2 ? 3 : kBatch; k > 0; --k) {
      boxes.push_back(random_box(random_, batch_.plan(i).input_count, pick(random_, 0, 11)));
      if (pick(random_, 0, 9) == 0) boxes.back().lower[0] = std::nanf("");
    }
    const Plan& plan = batch_.plan(i);
    BatchCall plain(plan, static_cast<std::size_t>(plan.output_count), boxes);
    plain.run(reinterpret_cast<BoundsBatch>(batch_.symbol(i, "_bounds_batch")));
    with_executors([&](const bf_executor* executor, std::size_t workers, const std::string& who) {
      const BatchCall call = run(i, boxes, executor, workers);
      ASSERT_EQ(call.status, plain.status) << who;
      for (std::size_t b = 0; b < boxes.size(); ++b)
        expect_same(call.outcome(b), plain.outcome(b),
                    fmt::format("BF_SEED={}, verifier {}, box {}: {}", seed(), i, b, who));
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(shared_, before + 100);
}

void Workers::check_refusals() {
  for (std::size_t i = 0; i < batch_.size(); i += 2) {
    if (batch_.plan(i).parallel.workers != kWorkers) continue;
    const FloatBox box = random_box(random_, batch_.plan(i).input_count, 6);
    const SerialExecutor good(Habit::kInOrder, 2);
    bf_executor executor = *good.get();
    executor.workers = 0;
    EXPECT_EQ(run(i, box, &executor, 2).status, BF_BAD_EXECUTOR);
    EXPECT_EQ(run(i, box, &executor, 2).lower[0], kNotWritten);
    EXPECT_EQ(run(i, {box}, &executor, 2).status, BF_BAD_EXECUTOR);
    executor = {nullptr, nullptr, 2};
    EXPECT_EQ(run(i, box, &executor, 2).status, BF_BAD_EXECUTOR);
    EXPECT_EQ(run(i, box, good.get(), 1).status, BF_WORKSPACE_TOO_SMALL);
    const SerialExecutor crowd(Habit::kInOrder, 1000);
    EXPECT_EQ(run(i, box, crowd.get(), kWorkers).status, batch_.run(i, box).status);
    EXPECT_EQ(run(i, box, crowd.get(), kWorkers - 1).status, BF_WORKSPACE_TOO_SMALL);
  }
  check_upward();
}

// Tiles that such an executor leaves are nobody's: no call says BF_OK, nor does a box of a batch.
void Workers::check_upward() {
  std::size_t left = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const FloatBox box = random_box(random_, batch_.plan(i).input_count, 6);
    if (rows(i)) {
      const SerialExecutor executor(Habit::kStaysUp, 3);
      const bf_status status = run(i, box, executor.get(), 3).status;
      std::fesetround(FE_TONEAREST);
      left += executor.runs();
      if (executor.runs() > 0) {
        EXPECT_EQ(status, BF_FLOAT_ENVIRONMENT);
      }
    }
    const SerialExecutor executor(Habit::kStaysUp, 3);
    const BatchCall call = run(i, std::vector<FloatBox>(kBatch, box), executor.get(), 3);
    std::fesetround(FE_TONEAREST);
    left += executor.runs();
    if (executor.runs() == 0) continue;
    EXPECT_EQ(call.status, BF_FLOAT_ENVIRONMENT);
    for (const bf_status status : call.statuses) EXPECT_NE(status, BF_OK);
  }
  EXPECT_GT(left, 0u);
}

TEST_P(Workers, ChangeNoBit) {
  EXPECT_EQ(remade_ > 2, makes_anew()) << remade_;
  check_boxes();
  if (!HasFatalFailure()) check_batches();
  if (!HasFatalFailure()) check_refusals();
}

// Convolutions with windows and wide sums, of real size: on golden boxes.
class WorkersOn : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WorkersOn, RealNetworksChangeNoBit) {
  const char* given = std::getenv("BF_SHARED");
  const std::filesystem::path shared =
      given != nullptr ? given : std::filesystem::path(BF_SOURCE_DIR) / ".." / "shared";
  const std::filesystem::path model = shared / "corpus" / GetParam().first;
  const std::filesystem::path boxes = shared / "golden" / GetParam().second;
  if (!std::filesystem::exists(model) || !std::filesystem::exists(boxes))
    GTEST_SKIP() << "no " << model << ": set BF_SHARED to the folder that holds corpus/";
  ImportedModel imported = import_model(model);
  normalise(imported.graph);
  PlannerConfig config = planner_config(Method::kCrown, Lowering::kVector, "host");
  config.workers = kWorkers;
  Batch batch;
  batch.add(imported.graph, false, config);
  batch.build({"g++", {"-O2"}});
  const Plan& plan = batch.plan(0);
  const cli::Golden golden = cli::read_golden(boxes, plan.input_count, plan.output_count);
  const auto bounds = reinterpret_cast<Parallel>(batch.symbol(0, "_bounds_parallel"));
  const auto bytes = static_cast<std::size_t>(plan.parallel_bytes());
  Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
  const auto outputs = static_cast<std::size_t>(plan.output_count);
  for (const auto& named : golden.boxes) {
    const cli::FloatBox box = cli::round_outward(named.file, plan.input_count);
    const Outcome plain = batch.run(0, {box.lower, box.upper});
    for (const std::size_t workers : {1, 2, 3, kWorkers}) {
      const bf::host::ThreadExecutor threads(workers);
      const SerialExecutor reversed(Habit::kReversed, workers);
      for (const bf_executor* executor : {threads.get(), reversed.get()}) {
        Outcome outcome{BF_OK, std::vector<float>(outputs), std::vector<float>(outputs)};
        arena.fill(0xff);
        outcome.status = bounds(box.lower.data(), box.upper.data(), outcome.lower.data(),
                                outcome.upper.data(), arena.data(), bytes, executor);
        ASSERT_TRUE(arena.guards_intact());
        ASSERT_EQ(outcome.status, plain.status);
        ASSERT_EQ(std::memcmp(outcome.lower.data(), plain.lower.data(), 4 * outputs), 0);
        ASSERT_EQ(std::memcmp(outcome.upper.data(), plain.upper.data(), 4 * outputs), 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, WorkersOn,
    ::testing::Values(std::pair("cifar10_resnet/onnx/resnet_2b.onnx", "cifar10_resnet_2b.json"),
                      std::pair("mnist_fc/onnx/mnist-net_256x4.onnx.gz", "mnistfc_256x4.json"),
                      std::pair("verivital/onnx/Convnet_maxpool.onnx", "verivital_maxpool.json")));

std::string name_of(const ::testing::TestParamInfo<Configuration>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Soundness, Workers, ::testing::ValuesIn(kConfigurations), name_of);

}  // namespace
}  // namespace bf_aot::soundness
