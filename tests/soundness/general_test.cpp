// Random graphs of all operators (sums of convolutions and sparse maps, products, maxima,
// functions, values with several readers) against exact arithmetic on the graph as imported: what
// the passes, the planner, the emitter and the runtime make of it together. The engine runs every
// graph. Generated code runs, in each configuration, the graphs that bring a kind of layer or of
// term that no graph before them has, and one graph in ten. BF_SEED=n repeats a run, BF_ROUNDS=n
// takes n times as many networks.

#include "tests/soundness/general.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <set>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/seed.h"
#include "tests/soundness/verifiers.h"

namespace bf_aot::soundness {
namespace {

using testing::Numbers;

struct Configuration {
  const char* name;
  Method method;
  Lowering lowering;
  const char* target;
  const char* compiler;
  std::vector<std::string> flags;
  bool float_sums = false;  // networks whose intervals go through sums and maxima in float32
  bool doubles = true;      // else as planned for processors whose doubles are a library
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp_generic_gcc", Method::kIbp, Lowering::kGeneric, "generic", "g++", {"-O1"}},
    {"ibp_host_clang", Method::kIbp, Lowering::kVector, "host", "clang++", {"-O1"}},
    {"float_ibp_generic_gcc",
     Method::kIbp,
     Lowering::kGeneric,
     "generic",
     "g++",
     {"-O1", "-ffp-contract=off"},
     true},
    {"float_ibp_v3_gcc", Method::kIbp, Lowering::kVector, "x86-64-v3", "g++", {"-O2"}, true},
    {"float_ibp_host_clang", Method::kIbp, Lowering::kVector, "host", "clang++", {"-O1"}, true},
    {"no_doubles_generic_gcc",
     Method::kIbp,
     Lowering::kGeneric,
     "generic",
     "g++",
     {"-O1", "-ffp-contract=off"},
     true,
     false},
    {"no_doubles_host_clang",
     Method::kIbp,
     Lowering::kVector,
     "host",
     "clang++",
     {"-O2", "-ffp-contract=fast"},
     true,
     false},
    {"float_ibp_host_gcc",
     Method::kIbp,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"},
     true},
    {"crown_ibp_v3_gcc", Method::kCrownIbp, Lowering::kVector, "x86-64-v3", "g++", {"-O1"}},
    {"crown_ibp_generic_clang",
     Method::kCrownIbp,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
    {"crown_host_gcc",
     Method::kCrown,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"crown_generic_gcc", Method::kCrown, Lowering::kGeneric, "generic", "g++", {"-O1"}},
    {"crown_tuned_host_gcc", Method::kCrown, Lowering::kTuned, "host", "g++", {"-O2"}},
    {"crown_tuned_sse_gcc", Method::kCrown, Lowering::kTuned, "x86-64", "g++", {"-O1"}},
    {"crown_prebuilt_v3_gcc", Method::kCrown, Lowering::kPrebuilt, "x86-64-v3", "g++", {"-O1"}},
    {"alpha_crown_host_gcc",
     Method::kAlphaCrown,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"alpha_crown_generic_clang",
     Method::kAlphaCrown,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
    {"auto_host_gcc",
     Method::kAuto,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"auto_generic_clang",
     Method::kAuto,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
};

bool has_float_sums(const Plan& plan) {
  return std::ranges::any_of(plan.entries.front().steps, [](const Step& step) {
    return std::holds_alternative<IntervalSum>(step);
  });
}

class GeneralNetworks : public ::testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    const Configuration& configuration = GetParam();
    PlannerConfig config =
        planner_config(configuration.method, configuration.lowering, configuration.target);
    if (!configuration.doubles) config.target.float_unit = FloatUnit::kSingle;
    not_compiled_ = why_not_compiled(configuration.compiler, config.target);
    const std::uint64_t seed = testing::seed_from_environment(20261120);
    std::string name = configuration.name;  // each configuration has networks of its own
    name += std::to_string(seed);
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
    constexpr std::size_t kMostTries = 100;  // for each network
    for (std::size_t tries = 0; examples_.size() < nets_; ++tries) {
      ASSERT_LT(tries, kMostTries * nets_) << "the planner takes none of these networks";
      add_network(config);
    }
    verifiers_.build({configuration.compiler, configuration.flags});
  }

  // A graph that the planner takes; those with a constant output are left out, for example.
  void add_network(PlannerConfig config) {
    if (examples_.size() % 2 == 0) config.alpha = AlphaRows::kAll;
    const Numbers numbers = examples_.size() % 3 == 0 ? Numbers::kSmallIntegers : Numbers::kFloats;
    Example example = random_example(random_, numbers);
    if (example.divides) return;
    // Whose plans have no sums in floats.
    if (numbers == Numbers::kFloats && examples_.size() % 4 == 1 && !GetParam().float_sums)
      append_log_sum_exp(random_, example);
    Graph graph = example.graph;
    try {
      normalise(graph);
      const bool tuned = config.lowering == Lowering::kTuned;
      const PlannerConfig own = tuned ? with_random_schedules(graph, config, random_) : config;
      const Plan made = plan(graph, {}, "net", false, own);
      if (GetParam().float_sums && !has_float_sums(made)) return;
      verifiers_.add(graph, false, config);
      if (GetParam().float_sums) {
        EXPECT_TRUE(has_float_sums(verifiers_.plan(verifiers_.size() - 1)));
      }
      const bool sampled = brings_a_kind(made) || examples_.size() % 10 == 0;
      if (sampled && not_compiled_.empty()) verifiers_.add_compiled(graph, false, own);
    } catch (const CompileError& error) {
      ++refused_[error.diagnostics().front().code];
      return;
    }
    examples_.push_back(std::move(example));
  }

  // Whether some kind of layer or term has not been in a plan before.
  bool brings_a_kind(const Plan& plan) {
    const std::size_t before = kinds_.size() + maps_.size();
    for (const Layer& layer : plan.layers) {
      kinds_.insert(static_cast<int>(layer.kind));
      for (const Term& term : layer.terms) maps_.insert(static_cast<int>(term.map.index()));
    }
    return kinds_.size() + maps_.size() > before;
  }

  void check_box(std::size_t net, const FloatBox& box);
  void check(std::size_t net, const FloatBox& box, const Outcome& outcome);

  const std::size_t nets_ = 20 * static_cast<std::size_t>(testing::rounds_from_environment());
  std::mt19937_64 random_;
  std::vector<Example> examples_;
  std::map<std::string, int> refused_;
  std::set<int> kinds_, maps_;
  Verifiers verifiers_;
  std::string not_compiled_;  // why
  int finite_ = 0, bounds_ = 0;
};

void GeneralNetworks::check_box(std::size_t net, const FloatBox& box) {
  for (const Subject& subject : verifiers_.subjects(net)) {
    SCOPED_TRACE(subject.by);
    ASSERT_NO_FATAL_FAILURE(check(net, box, run(subject, box)));
  }
}

void GeneralNetworks::check(std::size_t net, const FloatBox& box, const Outcome& outcome) {
  ASSERT_EQ(outcome.status, BF_OK);
  check_order(outcome);
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    ++bounds_;
    finite_ += std::isfinite(outcome.lower[j]) && std::isfinite(outcome.upper[j]) ? 1 : 0;
  }
  for (int i = 0; i < 6 && !HasFatalFailure(); ++i)
    check_values(examples_[net], evaluate_at(examples_[net], random_point_of(box, random_)),
                 outcome);
}

TEST_P(GeneralNetworks, BoundsHold) {
  for (std::size_t net = 0; net < examples_.size(); ++net)
    for (int i = 0; i < 6; ++i) {
      SCOPED_TRACE(fmt::format("net {}, box {}", net, i));
      check_box(net, random_general_box(random_, verifiers_.plan(net).input_count));
      if (HasFatalFailure()) {
        std::printf("%s\n", to_string(examples_[net].graph).c_str());
        return;
      }
    }
  for (const auto& [code, count] : refused_) std::printf("%s: %d graphs\n", code.c_str(), count);
  std::printf("%d of %d bounds are finite\n", finite_, bounds_);
  EXPECT_GT(finite_, bounds_ * 3 / 4);
  EXPECT_EQ(kinds_.size(), GetParam().float_sums ? GetParam().doubles ? 3U : 4U : 6U)
      << "some kind of layer does not occur";
  EXPECT_EQ(maps_.size(), 3U) << "some kind of term does not occur";
  std::printf("%zu of %zu graphs in generated code, too\n", verifiers_.count_compiled(),
              verifiers_.size());
  if (!not_compiled_.empty()) GTEST_SKIP() << "by the engine alone: " << not_compiled_;
  EXPECT_GE(10 * verifiers_.count_compiled(), verifiers_.size());
}

INSTANTIATE_TEST_SUITE_P(Configurations, GeneralNetworks, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
