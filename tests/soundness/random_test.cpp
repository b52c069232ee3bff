// Random networks and boxes against exact arithmetic, over methods, lowerings, compilers and flags.
// The engine runs every network. Generated code runs one network in six, so that each method meets
// each family of networks in some configuration; of random schedules one network in two.
// BF_SEED=n repeats a run, BF_ROUNDS=n takes n times as many networks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "planner/reference/exact.h"
#include "planner/tuning/schedule_space.h"
#include "tests/seed.h"
#include "tests/soundness/checks.h"
#include "tests/soundness/random_net.h"
#include "tests/soundness/verifiers.h"

namespace bf_aot::soundness {
namespace {

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

// All pairs of method, lowering and compiler occur; contraction is on and off for each compiler,
// and each of them optimises all it can in some. Compiling takes nearly all of the time. GCC fuses
// products from -O2 on.
const Configuration kConfigurations[] = {
    {"ibp_generic_gcc",
     Method::kIbp,
     Lowering::kGeneric,
     "generic",
     "g++",
     {"-O1", "-ffp-contract=off"}},
    {"ibp_host_gcc", Method::kIbp, Lowering::kVector, "host", "g++", {"-O2", "-ffp-contract=fast"}},
    {"ibp_v3_clang",
     Method::kIbp,
     Lowering::kVector,
     "x86-64-v3",
     "clang++",
     {"-O1", "-ffp-contract=fast"}},
    {"ibp_sse_gcc", Method::kIbp, Lowering::kVector, "x86-64", "g++", {"-O1"}},
    {"crown_ibp_generic_clang",
     Method::kCrownIbp,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1"}},
    {"crown_ibp_v3_gcc",
     Method::kCrownIbp,
     Lowering::kVector,
     "x86-64-v3",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"crown_ibp_host_clang",
     Method::kCrownIbp,
     Lowering::kVector,
     "host",
     "clang++",
     {"-O2", "-ffp-contract=off"}},
    {"crown_generic_gcc", Method::kCrown, Lowering::kGeneric, "generic", "g++", {"-O2"}},
    {"crown_host_gcc",
     Method::kCrown,
     Lowering::kVector,
     "host",
     "g++",
     {"-O3", "-ffp-contract=fast"}},
    {"crown_v3_clang",
     Method::kCrown,
     Lowering::kVector,
     "x86-64-v3",
     "clang++",
     {"-O3", "-ffp-contract=fast"}},
    {"crown_sse_clang",
     Method::kCrown,
     Lowering::kVector,
     "x86-64",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
    {"alpha_crown_generic_gcc", Method::kAlphaCrown, Lowering::kGeneric, "generic", "g++", {"-O1"}},
    {"alpha_crown_host_clang",
     Method::kAlphaCrown,
     Lowering::kVector,
     "host",
     "clang++",
     {"-O2", "-ffp-contract=fast"}},
    {"alpha_crown_v3_gcc",
     Method::kAlphaCrown,
     Lowering::kVector,
     "x86-64-v3",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"alpha_crown_sse_gcc", Method::kAlphaCrown, Lowering::kVector, "x86-64", "g++", {"-O1"}},
    {"forward_generic_clang", Method::kForward, Lowering::kGeneric, "generic", "clang++", {"-O2"}},
    {"forward_host_gcc",
     Method::kForward,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"forward_v3_clang",
     Method::kForward,
     Lowering::kVector,
     "x86-64-v3",
     "clang++",
     {"-O3", "-ffp-contract=fast"}},
    {"forward_sse_gcc", Method::kForward, Lowering::kVector, "x86-64", "g++", {"-O1"}},
    // Any legal schedule for each kernel.
    {"ibp_tuned_host_gcc",
     Method::kIbp,
     Lowering::kTuned,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"crown_tuned_host_clang", Method::kCrown, Lowering::kTuned, "host", "clang++", {"-O2"}},
    {"crown_tuned_sse_gcc", Method::kCrown, Lowering::kTuned, "x86-64", "g++", {"-O1"}},
    {"alpha_crown_tuned_v3_gcc",
     Method::kAlphaCrown,
     Lowering::kTuned,
     "x86-64-v3",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"crown_ibp_tuned_generic_clang",
     Method::kCrownIbp,
     Lowering::kTuned,
     "generic",
     "clang++",
     {"-O1"}},
    {"auto_host_gcc",
     Method::kAuto,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"auto_generic_clang", Method::kAuto, Lowering::kGeneric, "generic", "clang++", {"-O1"}},
};

std::uint64_t seed() {
  return testing::seed_from_environment(20240531);
}

// Which of the configurations of its method it is, from 0.
int turn_of(const Configuration& configuration) {
  int turn = 0;
  for (const Configuration& other : kConfigurations) {
    if (std::string_view(other.name) == configuration.name) break;
    turn += other.method == configuration.method ? 1 : 0;
  }
  return turn;
}

// Whether the network `i` of a family has generated code in this configuration.
bool in_sample(const Configuration& configuration, int family, int i) {
  if (i % 2 != 0) return false;
  constexpr int kTurns = 3;
  return configuration.lowering == Lowering::kTuned ||
         family % kTurns == turn_of(configuration) % kTurns;
}

class RandomNetworks : public ::testing::TestWithParam<Configuration> {
 protected:
  static constexpr int kBoxesPerKind = 2;

  void SetUp() override {
    const Configuration& configuration = GetParam();
    const PlannerConfig config =
        planner_config(configuration.method, configuration.lowering, configuration.target);
    not_compiled_ = why_not_compiled(configuration.compiler, config.target);
    std::string name = configuration.name;  // each configuration has networks of its own
    name += std::to_string(seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    for (int family = 0; family < kFamilies; ++family)
      for (int i = 0; i < nets_per_family_; ++i) {
        nets_.push_back(random_net(random_, static_cast<Family>(family)));
        PlannerConfig own = config;
        if (i % 2 == 0) own.alpha = AlphaRows::kAll;
        add(own, in_sample(configuration, family, i));
      }
    if (config.lowering == Lowering::kTuned) {
      EXPECT_GE(schedules_.size(), 30U);
    }
    verifiers_.build({configuration.compiler, configuration.flags});
  }

  // The verifiers of the last network.
  void add(const PlannerConfig& config, bool sampled) {
    const Graph graph = to_graph(nets_.back());
    verifiers_.add(graph, false, config);
    PlannerConfig own = config;
    if (config.lowering == Lowering::kTuned) {
      own = with_random_schedules(graph, config, random_);
      expect_taken(graph, own);
    }
    if (sampled && not_compiled_.empty()) verifiers_.add_compiled(graph, false, own);
  }

  // The log's schedules were taken, not refused.
  void expect_taken(const Graph& graph, const PlannerConfig& config) {
    const Plan made = plan(graph, {}, "net", false, config);
    for (const Kernel& kernel : made.kernels) {
      if (!is_tunable(kernel)) continue;
      EXPECT_EQ(kernel.strategy, Lowering::kTuned) << kernel.key << ": " << kernel.reason;
      schedules_.insert(to_text(kernel.schedule));
    }
  }

  void check_box(std::size_t net, const ExactNet& exact, const FloatBox& box);
  void check(std::size_t net, const ExactNet& exact, const FloatBox& box, const Outcome& outcome);

  const int nets_per_family_ = 2 * testing::rounds_from_environment();
  Random random_;
  std::vector<Net> nets_;
  Verifiers verifiers_;
  std::string not_compiled_;  // why
  std::set<std::string> schedules_;
  int cases_ = 0, compiled_cases_ = 0;
};

void RandomNetworks::check_box(std::size_t net, const ExactNet& exact, const FloatBox& box) {
  for (const Subject& subject : verifiers_.subjects(net)) {
    SCOPED_TRACE(subject.by);
    ++(subject.compiled ? compiled_cases_ : cases_);
    ASSERT_NO_FATAL_FAILURE(check(net, exact, box, run(subject, box)));
  }
}

void RandomNetworks::check(std::size_t net, const ExactNet& exact, const FloatBox& box,
                           const Outcome& outcome) {
  ASSERT_EQ(outcome.status, BF_OK);
  check_form(nets_[net], box, outcome);
  if (GetParam().method == Method::kIbp && !HasFatalFailure()) check_intervals(exact, box, outcome);
  const std::size_t inputs = box.lower.size();
  const int most = exact.work() > 2000 ? 8 : 64;
  const int corners = inputs <= 6 ? std::min(most, 1 << inputs) : 8;
  for (int i = 0; i < corners; ++i) {
    const bool all = inputs <= 6 && corners == 1 << inputs;
    check_point(exact, corner_of(box, all ? static_cast<std::uint64_t>(i) : random_()), outcome,
                "corner");
  }
  check_point(exact, centre_of(box), outcome, "centre");
  for (int i = 0; i < 4; ++i) check_point(exact, point_of(box, random_), outcome, "inner point");
}

TEST_P(RandomNetworks, BoundsHold) {
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const ExactNet exact(nets_[net]);
    for (int kind = 0; kind < kBoxKinds; ++kind)
      for (int i = 0; i < kBoxesPerKind; ++i) {
        SCOPED_TRACE(fmt::format("BF_SEED={}, net {} ({}), box kind {}, repeat {}", seed(), net,
                                 nets_[net].label, kind, i));
        check_box(net, exact, random_box(random_, nets_[net].inputs(), kind));
        if (HasFatalFailure()) return;
      }
  }
  std::printf("%d cases by the engine, %d of generated code\n", cases_, compiled_cases_);
  EXPECT_GE(cases_, kFamilies * nets_per_family_ * kBoxKinds * kBoxesPerKind);
  if (!not_compiled_.empty()) GTEST_SKIP() << "by the engine alone: " << not_compiled_;
  EXPECT_GE(6 * compiled_cases_, cases_);
}

INSTANTIATE_TEST_SUITE_P(Configurations, RandomNetworks, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
