// Work shared by several workers: the bounds are those of the plain functions, to the bit, whoever
// does what, on random networks and graphs. The engine runs every network; generated code, with and
// without dead memory overwritten, runs one in three. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "aot/build/library.h"
#include "aot/input/json_io.h"
#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "runtime/host/thread_executor.h"
#include "tests/paths.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/random_net.h"
#include "tests/soundness/verifiers.h"

namespace bf_aot::soundness {
namespace {

using Parallel = bf_status (*)(const float*, const float*, float*, float*, void*, std::size_t,
                               const bf_executor*);

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
    config_ = planner_config(configuration.method, configuration.lowering, configuration.target);
    not_compiled_ = why_not_compiled(configuration.compiler, config_.target);
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
      for (int depth = 10; depth < 14; ++depth) add_remade(chain(depth));
    verifiers_.build({configuration.compiler, configuration.flags});
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
  static PlannerConfig tightest(const Graph& graph, PlannerConfig config) {
    config.workers = 2;  // of more the scratch takes more than the tables that it saves
    config.memory_budget = 1;
    try {
      plan_for_engine(graph, false, config);
    } catch (const CompileError& error) {
      const std::string option = "--memory-budget ", hint = error.diagnostics().front().hint;
      const std::size_t at = hint.find(option);
      config.memory_budget =
          at == std::string::npos ? 0 : std::stoll(hint.substr(at + option.size()));
    }
    return config;
  }

  void add_remade(const Graph& graph) {
    verifiers_.add(graph, false, tightest(graph, engine_config(config_)));
    if (!not_compiled_.empty()) return;
    const PlannerConfig config = tightest(graph, config_);
    add_compiled(graph, config);
    const Plan& plan = *verifiers_.subjects(verifiers_.size() - 1).back().plan;
    EXPECT_LE(plan.parallel_bytes(), config.memory_budget);
    remade_ += std::ranges::any_of(plan.domains, &DomainChoice::remade) ? 1 : 0;
  }

  void add(const Graph& graph) {
    config_.row_tile = 2 * pick(random_, 1, 4);  // so that there are several tiles
    verifiers_.add(graph, false, config_);
    constexpr std::size_t kEvery = 3;
    if (verifiers_.size() % kEvery == 0 && not_compiled_.empty()) add_compiled(graph, config_);
  }

  void add_compiled(const Graph& graph, const PlannerConfig& config) {
    verifiers_.add_compiled(graph, false, config);
    verifiers_.add_compiled(graph, false, config, {static_cast<unsigned char>(0xff)});
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

  // Of memory for so many workers.
  static Outcome run(const Subject& subject, const FloatBox& box, const bf_executor* executor,
                     std::size_t workers) {
    Signature signature;
    signature.parallel = true;
    const CallWith with = {nullptr, executor, 0xaa, workers};
    return call_bounds(*subject.plan, subject.callee, signature, {box}, with).boxes.front();
  }

  static Called run(const Subject& subject, const std::vector<FloatBox>& boxes,
                    const bf_executor* executor, std::size_t workers) {
    Signature signature;
    signature.batch = signature.parallel = true;
    const CallWith with = {nullptr, executor, 0xaa, workers};
    return call_bounds(*subject.plan, subject.callee, signature, boxes, with);
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

  // Of a network's verifiers: calls check(subject, the one whose bounds it must have).
  template <typename Check>
  void for_each_subject(const Check& check) const {
    for (std::size_t net = 0; net < verifiers_.size(); ++net) {
      const std::vector<Subject> subjects = verifiers_.subjects(net);
      for (const Subject& subject : subjects) {
        SCOPED_TRACE(fmt::format("BF_SEED={}, network {}, {}", seed(), net, subject.by));
        check(subject, subjects[subject.compiled ? 1 : 0]);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }

  void check_boxes();
  void check_batches();
  void check_refusals();
  void check_refusals(const Subject& subject);
  void check_upward();

  static bool rows(const Subject& subject) { return subject.plan->parallel.workers > 1; }

  PlannerConfig config_;
  Random random_;
  Verifiers verifiers_;
  std::string not_compiled_;  // why
  int remade_ = 0;            // generated verifiers that make relaxations anew
  std::size_t shared_ = 0;    // runs of serial executors
  const std::unique_ptr<bf::host::ThreadExecutor> threads_[4] = {
      std::make_unique<bf::host::ThreadExecutor>(1), std::make_unique<bf::host::ThreadExecutor>(2),
      std::make_unique<bf::host::ThreadExecutor>(3),
      std::make_unique<bf::host::ThreadExecutor>(11)};
};

void Workers::check_boxes() {
  std::size_t with_rows = 0;
  for_each_subject([&](const Subject& subject, const Subject& as) {
    Signature parallel;
    parallel.parallel = true;
    EXPECT_EQ(has_function(*subject.plan, parallel), rows(subject));
    if (subject.compiled) {
      EXPECT_EQ(verifiers_.batch().has_symbol(subject.number, "_bounds_parallel"), rows(subject));
    }
    if (!rows(subject)) return;
    ++with_rows;
    for (int k = 0; k < 3; ++k) {
      const FloatBox box = random_box(random_, subject.plan->input_count, pick(random_, 0, 11));
      const Outcome plain = soundness::run(as, box);
      expect_same(soundness::run(subject, box), plain, "memory of dead buffers is read");
      with_executors([&](const bf_executor* executor, std::size_t workers, const std::string& who) {
        expect_same(run(subject, box, executor, workers), plain, fmt::format("box {}: {}", k, who));
      });
      if (HasFatalFailure()) return;
    }
  });
  const bool ibp = GetParam().method == Method::kIbp;
  EXPECT_EQ(with_rows > 0, !ibp);
  EXPECT_EQ(shared_ > 100, !ibp);
}

void Workers::check_batches() {
  const std::size_t before = shared_;
  int call = 0;
  for_each_subject([&](const Subject& subject, const Subject& /*as*/) {
    std::vector<FloatBox> boxes;
    for (int k = call++ % 4 < 2 ? 3 : kBatch; k > 0; --k) {
      boxes.push_back(random_box(random_, subject.plan->input_count, pick(random_, 0, 11)));
      if (pick(random_, 0, 9) == 0) boxes.back().lower[0] = std::nanf("");
    }
    Signature batch;
    batch.batch = true;
    const Called plain = call_bounds(*subject.plan, subject.callee, batch, boxes);
    with_executors([&](const bf_executor* executor, std::size_t workers, const std::string& who) {
      const Called called = run(subject, boxes, executor, workers);
      ASSERT_EQ(called.status, plain.status) << who;
      for (std::size_t b = 0; b < boxes.size(); ++b)
        expect_same(called.boxes[b], plain.boxes[b], fmt::format("box {}: {}", b, who));
    });
  });
  EXPECT_GT(shared_, before + 100);
}

void Workers::check_refusals() {
  for_each_subject([&](const Subject& subject, const Subject& /*as*/) { check_refusals(subject); });
  check_upward();
}

void Workers::check_refusals(const Subject& subject) {
  if (subject.plan->parallel.workers != kWorkers) return;
  const FloatBox box = random_box(random_, subject.plan->input_count, 6);
  const SerialExecutor good(Habit::kInOrder, 2);
  bf_executor executor = *good.get();
  executor.workers = 0;
  EXPECT_EQ(run(subject, box, &executor, 2).status, BF_BAD_EXECUTOR);
  EXPECT_TRUE(untouched(run(subject, box, &executor, 2)));
  EXPECT_EQ(run(subject, std::vector{box}, &executor, 2).status, BF_BAD_EXECUTOR);
  executor = {nullptr, nullptr, 2};
  EXPECT_EQ(run(subject, box, &executor, 2).status, BF_BAD_EXECUTOR);
  EXPECT_EQ(run(subject, box, good.get(), 1).status, BF_WORKSPACE_TOO_SMALL);
  const SerialExecutor crowd(Habit::kInOrder, 1000);
  EXPECT_EQ(run(subject, box, crowd.get(), kWorkers).status, soundness::run(subject, box).status);
  EXPECT_EQ(run(subject, box, crowd.get(), kWorkers - 1).status, BF_WORKSPACE_TOO_SMALL);
}

// Tiles that such an executor leaves are nobody's: no call says BF_OK, nor does a box of a batch.
void Workers::check_upward() {
  std::size_t left = 0;
  for_each_subject([&](const Subject& subject, const Subject& /*as*/) {
    const FloatBox box = random_box(random_, subject.plan->input_count, 6);
    if (rows(subject)) {
      const SerialExecutor executor(Habit::kStaysUp, 3);
      const bf_status status = run(subject, box, executor.get(), 3).status;
      std::fesetround(FE_TONEAREST);
      left += executor.runs();
      if (executor.runs() > 0) {
        EXPECT_EQ(status, BF_FLOAT_ENVIRONMENT);
      }
    }
    const SerialExecutor executor(Habit::kStaysUp, 3);
    const Called called = run(subject, std::vector<FloatBox>(kBatch, box), executor.get(), 3);
    std::fesetround(FE_TONEAREST);
    left += executor.runs();
    if (executor.runs() == 0) return;
    EXPECT_EQ(called.status, BF_FLOAT_ENVIRONMENT);
    for (const Outcome& outcome : called.boxes) EXPECT_NE(outcome.status, BF_OK);
  });
  EXPECT_GT(left, 0u);
}

TEST_P(Workers, ChangeNoBit) {
  EXPECT_EQ(remade_ > 2, makes_anew() && not_compiled_.empty()) << remade_;
  check_boxes();
  if (!HasFatalFailure()) check_batches();
  if (!HasFatalFailure()) check_refusals();
  if (!not_compiled_.empty()) GTEST_SKIP() << "by the engine alone: " << not_compiled_;
  EXPECT_GE(3 * verifiers_.count_compiled(), verifiers_.size());
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
  const input::Golden golden = input::read_golden(boxes, plan.input_count, plan.output_count);
  const auto bounds = reinterpret_cast<Parallel>(batch.symbol(0, "_bounds_parallel"));
  const auto bytes = static_cast<std::size_t>(plan.parallel_bytes());
  Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
  const auto outputs = static_cast<std::size_t>(plan.output_count);
  for (const auto& named : golden.boxes) {
    const input::FloatBox box = input::round_outward(named.file, plan.input_count);
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
