// A memory budget is kept, refusals name the smallest that is, and tiles of rows change no bound.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aot/engine/run/find_prebuilt.h"
#include "frontend/check_scope.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "tests/property/passes_random_graph.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/engine_call.h"

namespace bf_aot {
namespace {

Graph chain(const std::vector<int>& widths) {
  std::mt19937_64 random(1);
  soundness::Net net;
  net.label = "chain";
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    soundness::NetLayer layer;
    layer.in = widths[i];
    layer.out = widths[i + 1];
    layer.relu = i + 2 < widths.size();
    for (int k = 0; k < layer.in * layer.out; ++k)
      layer.weight.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
    layer.bias.assign(static_cast<std::size_t>(layer.out), 0.25);
    net.layers.push_back(std::move(layer));
  }
  Graph graph = soundness::to_graph(net);
  normalise(graph);
  return graph;
}

Plan plan_within(const Graph& graph, Method method, const std::string& target,
                 std::int64_t budget) {
  PlannerConfig config;
  config.method = method;
  config.target = find_target(target);
  config.memory_budget = budget;
  ModelInfo info;
  info.sha256 = std::string(64, '0');
  return plan(graph, info, "net", false, config);
}

// The budget that a refusal names.
std::int64_t smallest_budget(const Graph& graph, Method method, const std::string& target) {
  try {
    plan_within(graph, method, target, 1);
  } catch (const CompileError& error) {
    const Diagnostic& what = error.diagnostics().front();
    EXPECT_EQ(what.code, "BF2105");
    const std::string option = "--memory-budget ";
    const std::size_t at = what.hint.find(option);
    return at == std::string::npos ? 0 : std::stoll(what.hint.substr(at + option.size()));
  }
  return 0;
}

TEST(MemoryBudget, IsKeptDownToTheSmallestThatIsNamed) {
  for (const auto& widths : {std::vector<int>{5, 50, 50, 50, 5}, std::vector<int>{40, 200, 64, 10},
                             std::vector<int>{2, 3, 2}}) {
    const Graph graph = chain(widths);
    for (const char* target : {"generic", "x86-64", "x86-64-v4"}) {
      for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown}) {
        const std::int64_t free = plan_within(graph, method, target, 0).arena_bytes();
        const std::int64_t least = smallest_budget(graph, method, target);
        EXPECT_GT(least, 0);
        EXPECT_LE(least, free);
        for (const std::int64_t budget : {least, (least + free) / 2, free})
          EXPECT_LE(plan_within(graph, method, target, budget).arena_bytes(), budget);
        EXPECT_THROW(plan_within(graph, method, target, least - 1), CompileError);
      }
    }
  }
}

TEST(MemoryBudget, ShrinksTilesAndSaysWhy) {
  const Graph graph = chain({40, 200, 64, 10});
  const std::int64_t least = smallest_budget(graph, Method::kCrown, "x86-64-v4");
  const Plan free = plan_within(graph, Method::kCrown, "x86-64-v4", 0);
  const Plan tight = plan_within(graph, Method::kCrown, "x86-64-v4", least);
  ASSERT_LT(least, free.arena_bytes());
  bool told = false;
  for (const Rejected& rejected : tight.rejected)
    told = told || rejected.candidate.find("rows in tiles of 32") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST(MemoryBudget, ChangesNoBound) {
  const Graph graph = chain({6, 60, 40, 4});
  std::mt19937_64 random(2);
  const std::pair<Lowering, Norm> kinds[] = {{Lowering::kGeneric, Norm::kLargest},
                                             {Lowering::kVector, Norm::kLargest},
                                             {Lowering::kGeneric, Norm::kEuclid}};
  for (const auto& [lowering, norm] : kinds) {
    soundness::Batch batch;
    for (const bool tight : {false, true}) {
      // Balls tighten neurons of intervals, too.
      const Method method = norm == Norm::kLargest ? Method::kCrown : Method::kCrownIbp;
      PlannerConfig config = soundness::planner_config(method, lowering, "x86-64");
      config.norm = norm;
      if (tight) {
        config.memory_budget = 1;
        try {
          batch.add(graph, false, config);
          ADD_FAILURE() << "one byte is enough";
        } catch (const CompileError& error) {
          const std::string& hint = error.diagnostics().front().hint;
          config.memory_budget = std::stoll(hint.substr(hint.find("--memory-budget ") + 16));
        }
      }
      batch.add(graph, false, config);
    }
    ASSERT_LT(batch.plan(1).arena_bytes(), batch.plan(0).arena_bytes());
    batch.build({"g++", {"-O2"}});
    std::uniform_real_distribution<float> unit(-1, 1);
    for (int k = 0; k < 20; ++k) {
      soundness::FloatBox box;
      for (int i = 0; i < 6; ++i) {
        const float centre = unit(random);
        box.lower.push_back(centre - 0.1F);
        box.upper.push_back(centre + 0.1F);
      }
      const soundness::Outcome a = batch.run(0, box), b = batch.run(1, box);
      EXPECT_EQ(0, std::memcmp(a.lower.data(), b.lower.data(), 4 * a.lower.size()));
      EXPECT_EQ(0, std::memcmp(a.upper.data(), b.upper.data(), 4 * a.upper.size()));
    }
  }
}

// ---- relaxations that are made anew

int count_remade(const Plan& plan) {
  return static_cast<int>(std::ranges::count(plan.domains, true, &DomainChoice::remade));
}

TEST(MemoryBudget, MakesRelaxationsAnewWhereTilesAreNotEnough) {
  const Graph graph = chain({5, 50, 50, 50, 50, 50, 50, 5});
  for (const char* target : {"generic", "x86-64-v4"}) {
    for (const Method method : {Method::kCrownIbp, Method::kCrown}) {
      PlannerConfig config;
      config.method = method;
      config.target = find_target(target);
      config.row_tile = 2;
      ModelInfo info;
      info.sha256 = std::string(64, '0');
      const std::int64_t stored = plan(graph, info, "net", false, config).arena_bytes();
      const std::int64_t least = smallest_budget(graph, method, target);
      EXPECT_LT(least, stored);
      EXPECT_EQ(count_remade(plan_within(graph, method, target, stored)), 0);
      int before = 1 << 20;
      for (int k = 0; k <= 8; ++k) {  // more memory, no more to make anew
        const Plan fits = plan_within(graph, method, target, least + (stored - least) * k / 8);
        EXPECT_LE(count_remade(fits), before);
        before = count_remade(fits);
        EXPECT_EQ(k<8, before> 0);
      }
    }
  }
}

TEST(MemoryBudget, SaysWhatIsMadeAnew) {
  const Graph graph = chain({5, 50, 50, 50, 50, 50, 50, 5});
  const std::int64_t least = smallest_budget(graph, Method::kCrownIbp, "generic");
  const Plan tight = plan_within(graph, Method::kCrownIbp, "generic", least);
  int told = 0;
  for (const Rejected& rejected : tight.rejected)
    told += rejected.candidate.find("its relaxation is stored") != std::string::npos ? 1 : 0;
  EXPECT_EQ(told, count_remade(tight));
  for (const DomainChoice& choice : tight.domains) {
    if (!choice.remade) continue;
    const std::string table = tight.layer(choice.layer).name;
    for (const Buffer& buffer : tight.entries[0].buffers) {
      if (buffer.name == table + "_relaxation") {
        EXPECT_EQ(buffer.first, buffer.last);
      }
    }
  }
}

// With the smallest workspace, as planned and with all dead memory overwritten, the bounds of
// random networks are those of the workspace that was asked for, to the bit.
class RemadeRelaxations : public ::testing::TestWithParam<Method> {};

std::optional<PlannerConfig> tightest(const Graph& graph, PlannerConfig config) {
  ModelInfo info;
  info.sha256 = std::string(64, '0');
  config.memory_budget = 1;
  try {
    plan(graph, info, "net", false, config);
  } catch (const CompileError& error) {
    const Diagnostic& what = error.diagnostics().front();
    if (what.code != "BF2105") return std::nullopt;
    config.memory_budget = std::stoll(what.hint.substr(what.hint.find("--memory-budget ") + 16));
    return config;
  }
  return std::nullopt;
}

TEST_P(RemadeRelaxations, ChangeNoBound) {
  constexpr int kNets = 8;
  std::mt19937_64 random(3);
  soundness::Batch batch;
  std::vector<Graph> graphs = {chain({6, 40, 30, 40, 20, 4}), chain({3, 24, 24, 24, 24, 24, 5})};
  while (graphs.size() < 200) {
    graphs.push_back(
        testing::random_graph(random, testing::Numbers::kFloats, testing::pick(random, 8, 20)));
    try {
      normalise(graphs.back());
    } catch (const CompileError&) {
      graphs.pop_back();
    }
  }
  const auto lowering = [&] {
    return batch.size() % 8 == 0 ? Lowering::kGeneric : Lowering::kVector;
  };
  for (const Graph& graph : graphs) {
    const PlannerConfig config = soundness::planner_config(
        GetParam(), lowering(), lowering() == Lowering::kGeneric ? "generic" : "x86-64");
    const std::optional<PlannerConfig> tight = tightest(graph, config);
    if (!tight || batch.size() >= 4 * kNets) continue;
    ModelInfo info;
    info.sha256 = std::string(64, '0');
    if (count_remade(plan(graph, info, "net", false, *tight)) == 0) continue;
    batch.add(graph, false, config);
    batch.add(graph, false, *tight);
    for (const unsigned char poison : {0xaa, 0x7f}) batch.add(graph, false, *tight, {poison});
  }
  ASSERT_EQ(batch.size(), 4 * kNets);
  batch.build({"g++", {"-O2"}});
  std::uniform_real_distribution<float> unit(-1, 1);
  for (std::size_t net = 0; net < batch.size(); net += 4) {
    for (int k = 0; k < 10; ++k) {
      const float radius = std::ldexp(1.0F, testing::pick(random, -8, 0));
      soundness::FloatBox box;
      for (int i = 0; i < batch.plan(net).input_count; ++i) {
        const float centre = unit(random);
        box.lower.push_back(centre - radius);
        box.upper.push_back(centre + radius);
      }
      const soundness::Outcome expected = batch.run(net, box);
      for (std::size_t v = 1; v < 4; ++v) {
        const soundness::Outcome outcome = batch.run(net + v, box);
        EXPECT_EQ(outcome.status, expected.status);
        ASSERT_EQ(outcome.lower.size(), expected.lower.size());
        const std::size_t bytes = 4 * expected.lower.size();
        EXPECT_EQ(0, std::memcmp(outcome.lower.data(), expected.lower.data(), bytes));
        EXPECT_EQ(0, std::memcmp(outcome.upper.data(), expected.upper.data(), bytes));
      }
    }
  }
}

// The engine's code for all instruction sets.
TEST(RemadeByTheEngine, RelaxationsFuseNoProducts) {
  for (const std::string& target : soundness::engine_targets()) {
    SCOPED_TRACE(target);
    EXPECT_FALSE(engine::find_prebuilt(target)->relax_fuses());
  }
}

TEST(RemadeByTheEngine, FusedCodeIsRefused) {
  const Graph graph = chain({6, 50, 50, 50, 50, 50, 50, 5});
  for (const std::string& target : soundness::engine_targets()) {
    PlannerConfig config = soundness::planner_config(Method::kCrown, Lowering::kPrebuilt, target);
    const std::optional<PlannerConfig> tight = tightest(graph, config);
    ASSERT_TRUE(tight);
    const auto stored = soundness::plan_for_engine(graph, false, config);
    const auto remade = soundness::plan_for_engine(graph, false, *tight);
    ASSERT_GT(count_remade(*remade), 0);
    engine::Prebuilt fused = *engine::find_prebuilt(target);
    fused.relax_fuses = [] { return true; };
    EXPECT_NO_THROW(engine::Engine(lower(stored), fused));
    const ThrowingChecks checks;
    EXPECT_THROW(engine::Engine(lower(remade), fused), InternalError);
  }
}

// By an instruction set that cannot fuse, all bits are the same.
TEST(RemadeByTheEngine, TheBoundsAreThoseOfStoredTables) {
#if defined(__x86_64__)
  const Graph graph = chain({6, 50, 50, 50, 50, 50, 50, 5});
  for (const Method method : {Method::kCrownIbp, Method::kCrown}) {
    PlannerConfig config = soundness::planner_config(method, Lowering::kPrebuilt, "x86-64");
    const std::optional<PlannerConfig> tight = tightest(graph, config);
    ASSERT_TRUE(tight);
    const engine::Engine stored(lower(soundness::plan_for_engine(graph, false, config)));
    const engine::Engine remade(lower(soundness::plan_for_engine(graph, false, *tight)));
    ASSERT_GT(count_remade(remade.plan()), 0);
    std::mt19937_64 random(5);
    std::uniform_real_distribution<float> unit(-1, 1);
    for (int k = 0; k < 100; ++k) {
      const float radius = std::ldexp(1.0F, -k % 9);
      soundness::FloatBox box;
      for (int i = 0; i < 6; ++i) {
        const float centre = unit(random);
        box.lower.push_back(centre - radius);
        box.upper.push_back(centre + radius);
      }
      const auto bounds = [&](const engine::Engine& of) {
        return soundness::call_bounds(of.plan(), soundness::callee_of(of), {}, {box});
      };
      const soundness::Called a = bounds(stored), b = bounds(remade);
      ASSERT_EQ(a.status, BF_OK);
      ASSERT_EQ(b.status, BF_OK);
      EXPECT_EQ(a.boxes[0].lower, b.boxes[0].lower);
      EXPECT_EQ(a.boxes[0].upper, b.boxes[0].upper);
    }
  }
#else
  GTEST_SKIP() << "the engine's code for this processor may fuse elsewhere";
#endif
}

// A compiler that may fuse products into sums does not where steps stand twice.
TEST_P(RemadeRelaxations, ForbidFusing) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "no fused multiply-adds on this machine";
  const Graph graph = chain({6, 40, 30, 40, 20, 40, 4});
  PlannerConfig config = soundness::planner_config(GetParam(), Lowering::kGeneric, "generic");
  const std::optional<PlannerConfig> tight = tightest(graph, config);
  ASSERT_TRUE(tight);
  soundness::Batch stored, remade, fused;
  stored.add(graph, false, config);
  remade.add(graph, false, *tight);
  fused.add(graph, false, config);
  ASSERT_GT(count_remade(remade.plan(0)), 0);
  stored.build({"g++", {"-O2", "-mavx2", "-mfma", "-ffp-contract=off"}});
  for (soundness::Batch* batch : {&remade, &fused})
    batch->build({"g++", {"-O2", "-mavx2", "-mfma", "-ffp-contract=fast"}});
  std::mt19937_64 random(4);
  std::uniform_real_distribution<float> unit(-1, 1);
  int other = 0;  // without the pragma results do change: the flags do what they should
  for (int k = 0; k < 20; ++k) {
    soundness::FloatBox box;
    for (int i = 0; i < 6; ++i) {
      const float centre = unit(random);
      box.lower.push_back(centre - 0.05F);
      box.upper.push_back(centre + 0.05F);
    }
    const soundness::Outcome a = stored.run(0, box), b = remade.run(0, box), c = fused.run(0, box);
    EXPECT_EQ(a.lower, b.lower);
    EXPECT_EQ(a.upper, b.upper);
    other += a.lower != c.lower || a.upper != c.upper ? 1 : 0;
  }
  EXPECT_GT(other, 0);
#else
  GTEST_SKIP() << "for x86-64";
#endif
}

// clang's flag overrules the pragma: the bits of both places may differ then, so no call is served.
TEST_P(RemadeRelaxations, RefuseWhereProductsAreFused) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "no fused multiply-adds on this machine";
  if (!soundness::has_compiler("clang++")) GTEST_SKIP() << "clang++ is not installed";
  const Graph graph = chain({6, 40, 30, 40, 20, 40, 4});
  PlannerConfig config = soundness::planner_config(GetParam(), Lowering::kGeneric, "generic");
  const std::optional<PlannerConfig> tight = tightest(graph, config);
  ASSERT_TRUE(tight);
  const soundness::FloatBox box{std::vector<float>(6, -0.05F), std::vector<float>(6, 0.05F)};
  for (const std::string contract : {"fast", "on", "off"}) {
    soundness::Batch stored, remade;
    stored.add(graph, false, config);
    remade.add(graph, false, *tight);
    ASSERT_GT(count_remade(remade.plan(0)), 0);
    for (soundness::Batch* batch : {&stored, &remade})
      batch->build({"clang++", {"-O1", "-mavx2", "-mfma", "-ffp-contract=" + contract}});
    EXPECT_EQ(stored.run(0, box).status, BF_OK) << contract;
    EXPECT_EQ(remade.run(0, box).status, contract == "fast" ? BF_FLOAT_ENVIRONMENT : BF_OK)
        << contract;
  }
#else
  GTEST_SKIP() << "for x86-64";
#endif
}

INSTANTIATE_TEST_SUITE_P(Methods, RemadeRelaxations,
                         ::testing::Values(Method::kCrownIbp, Method::kCrown));

}  // namespace
}  // namespace bf_aot
