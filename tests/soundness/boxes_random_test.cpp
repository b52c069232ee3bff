// Random networks and batches of boxes against exact arithmetic. The engine runs every network;
// generated code, with and without dead memory overwritten, runs one in three, in each
// configuration of a method others. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>

#include "tests/seed.h"
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
  bool contracts;  // the compiler may fuse products and sums, and each kernel in its own way
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp_host_gcc", Method::kIbp, Lowering::kVector, "host", "g++", {"-O3"}, true},
    {"ibp_v3_clang",
     Method::kIbp,
     Lowering::kVector,
     "x86-64-v3",
     "clang++",
     {"-O2", "-ffp-contract=fast"},
     true},
    {"ibp_sse_clang", Method::kIbp, Lowering::kVector, "x86-64", "clang++", {"-O1"}, false},
    {"ibp_generic_gcc", Method::kIbp, Lowering::kGeneric, "generic", "g++", {"-O1"}, false},
    {"crown_ibp_host_clang",
     Method::kCrownIbp,
     Lowering::kVector,
     "host",
     "clang++",
     {"-O2", "-ffp-contract=off"},
     false},
    {"crown_ibp_sse_gcc", Method::kCrownIbp, Lowering::kVector, "x86-64", "g++", {"-O1"}, false},
    {"crown_host_gcc", Method::kCrown, Lowering::kVector, "host", "g++", {"-O3"}, true},
    {"crown_v3_gcc",
     Method::kCrown,
     Lowering::kVector,
     "x86-64-v3",
     "g++",
     {"-O2", "-ffp-contract=off"},
     false},
    {"crown_v3_clang",
     Method::kCrown,
     Lowering::kVector,
     "x86-64-v3",
     "clang++",
     {"-O2", "-ffp-contract=fast"},
     true},
    {"forward_host_gcc", Method::kForward, Lowering::kVector, "host", "g++", {"-O2"}, true},
    {"forward_v3_clang",
     Method::kForward,
     Lowering::kVector,
     "x86-64-v3",
     "clang++",
     {"-O2", "-ffp-contract=off"},
     false},
    {"forward_sse_gcc", Method::kForward, Lowering::kVector, "x86-64", "g++", {"-O2"}, false},
    {"ibp_tuned_v3_gcc", Method::kIbp, Lowering::kTuned, "x86-64-v3", "g++", {"-O2"}, true},
    {"crown_tuned_host_gcc", Method::kCrown, Lowering::kTuned, "host", "g++", {"-O2"}, true},
    {"alpha_crown_sse_gcc",
     Method::kAlphaCrown,
     Lowering::kVector,
     "x86-64",
     "g++",
     {"-O1"},
     false},
};

std::uint64_t seed() {
  return testing::seed_from_environment(20261120);
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

class RandomBatches : public ::testing::TestWithParam<Configuration> {
 protected:
  static constexpr int kBatch = 21;
  static constexpr int kNetsPerFamily = 1;
  static constexpr int kCalls = 4;
  static constexpr int kTurns = 3;  // of families in generated code

  void SetUp() override {
    const Configuration& configuration = GetParam();
    PlannerConfig config =
        planner_config(configuration.method, configuration.lowering, configuration.target);
    not_compiled_ = why_not_compiled(configuration.compiler, config.target);
    config.batch = kBatch;
    config.iterations = 3;
    std::string name = configuration.name;
    name += std::to_string(seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    for (int family = 0; family < kFamilies; ++family)
      for (int i = 0; i < kNetsPerFamily; ++i) {
        nets_.push_back(random_net(random_, static_cast<Family>(family)));
        add(config, family % kTurns == turn_of(configuration) % kTurns);
      }
    verifiers_.build({configuration.compiler, configuration.flags});
  }

  // The verifiers of the last network.
  void add(const PlannerConfig& config, bool sampled) {
    const Graph graph = to_graph(nets_.back());
    PlannerConfig by_engine = config;
    // An instruction set that cannot fuse where the configuration does not.
    if (!GetParam().contracts && config.target.name.starts_with("x86"))
      by_engine.target = find_target("x86-64");
    verifiers_.add(graph, false, by_engine);
    if (!sampled || !not_compiled_.empty()) return;
    PlannerConfig own = config;
    if (config.lowering == Lowering::kTuned) own = with_random_schedules(graph, config, random_);
    verifiers_.add_compiled(graph, false, own);
    emit::Instruments poison;
    poison.poison = 0xff;
    verifiers_.add_compiled(graph, false, own, poison);
  }

  // A status of its own for each box.
  static std::vector<Outcome> run(const Subject& subject, const std::vector<FloatBox>& boxes) {
    const Signature signature = {Purpose::kBounds, false, false, false, true};
    return call_bounds(*subject.plan, subject.callee, signature, boxes).boxes;
  }

  // A box of this kind; some have no bounds.
  FloatBox any_box(int inputs) {
    FloatBox box = random_box(random_, inputs, pick(random_, 0, kBoxKinds - 1));
    if (pick(random_, 0, 9) == 0) box.lower[0] = std::numeric_limits<float>::infinity();
    return box;
  }

  void check_exactly(const ExactNet& exact, const FloatBox& box, const Outcome& outcome);
  void check_call(const Subject& subject, const Subject* poisoned, std::size_t net,
                  const ExactNet& exact);
  void check_calls(const Subject& subject, const Subject* poisoned, std::size_t net);

  // Whether code for boxes side by side may fuse other products than code for one box.
  static bool fuses(const Subject& subject) {
    return subject.compiled ? GetParam().contracts : subject.plan->config.target.name != "x86-64";
  }

  static void expect_same(const Outcome& a, const Outcome& b, const char* what) {
    ASSERT_EQ(a.status, b.status) << what;
    ASSERT_EQ(std::memcmp(a.lower.data(), b.lower.data(), 4 * a.lower.size()), 0) << what;
    ASSERT_EQ(std::memcmp(a.upper.data(), b.upper.data(), 4 * a.upper.size()), 0) << what;
  }

  Random random_;
  std::vector<Net> nets_;
  Verifiers verifiers_;
  std::string not_compiled_;                // why
  int boxes_ = 0, bad_ = 0, in_lanes_ = 0;  // of the engine
};

void RandomBatches::check_exactly(const ExactNet& exact, const FloatBox& box,
                                  const Outcome& outcome) {
  const ExactBox interval = exact.intervals(box);
  const bool ibp = GetParam().method == Method::kIbp;
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    ASSERT_LE(outcome.lower[j], outcome.upper[j]) << "output " << j;  // also: no NaN
    if (!ibp) continue;
    ASSERT_LE(compare(outcome.lower[j], interval.lower, j), 0) << "output " << j;
    ASSERT_GE(compare(outcome.upper[j], interval.upper, j), 0) << "output " << j;
  }
  std::vector<Numbers> points = {centre_of(box)};
  for (int i = 0; i < 4; ++i) points.push_back(corner_of(box, random_()));
  for (int i = 0; i < 2; ++i) points.push_back(point_of(box, random_));
  for (const Numbers& x : points) {
    const Numbers y = exact.evaluate(x);
    for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
      ASSERT_LE(compare(outcome.lower[j], y, j), 0)
          << "output " << j << " is " << y.rational(j).get_d();
      ASSERT_GE(compare(outcome.upper[j], y, j), 0)
          << "output " << j << " is " << y.rational(j).get_d();
    }
  }
}

void RandomBatches::check_call(const Subject& subject, const Subject* poisoned, std::size_t net,
                               const ExactNet& exact) {
  std::vector<FloatBox> boxes;
  const int count = pick(random_, 1, kBatch);
  for (int i = 0; i < count; ++i) boxes.push_back(any_box(nets_[net].inputs()));
  const std::vector<Outcome> outcomes = run(subject, boxes);
  const std::vector<Outcome> others =
      poisoned == nullptr ? std::vector<Outcome>() : run(*poisoned, boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    SCOPED_TRACE(fmt::format("box {} of {}", i, count));
    const Outcome& outcome = outcomes[i];
    if (poisoned != nullptr) expect_same(outcome, others[i], "memory of dead buffers is read");
    expect_same(outcome, run(subject, std::vector{boxes[i]})[0], "other boxes change the bounds");
    if (outcome.status != BF_OK) {
      bad_ += subject.compiled ? 0 : 1;
      ASSERT_TRUE(untouched(outcome));
      continue;
    }
    boxes_ += subject.compiled ? 0 : 1;
    const Outcome alone = soundness::run(subject, boxes[i]);
    if (!fuses(subject)) expect_same(outcome, alone, "not the bounds of one box");
    check_exactly(exact, boxes[i], outcome);
    if (HasFatalFailure()) return;
  }
}

void RandomBatches::check_calls(const Subject& subject, const Subject* poisoned, std::size_t net) {
  const bool in_lanes = subject.plan->batch.side_by_side > 1;
  in_lanes_ += in_lanes && !subject.compiled ? 1 : 0;
  // A single layer has no slopes to choose; lines of many inputs leave the caches.
  if (GetParam().method != Method::kAlphaCrown && GetParam().method != Method::kForward) {
    ASSERT_EQ(in_lanes, uses_vectors(subject.plan->config.lowering));
  }
  const ExactNet exact(nets_[net]);
  for (int i = 0; i < kCalls; ++i) {
    SCOPED_TRACE(fmt::format("BF_SEED={}, net {} ({}), {}, call {}", seed(), net, nets_[net].label,
                             subject.by, i));
    ASSERT_NO_FATAL_FAILURE(check_call(subject, poisoned, net, exact));
  }
}

TEST_P(RandomBatches, BoundsHold) {
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const std::vector<Subject> subjects = verifiers_.subjects(net);
    ASSERT_NO_FATAL_FAILURE(check_calls(subjects[0], nullptr, net));
    if (subjects.size() == 1) continue;
    ASSERT_NO_FATAL_FAILURE(check_calls(subjects[1], &subjects[2], net));
  }
  std::printf("%d boxes, %d bad ones\n", boxes_, bad_);
  if (GetParam().method == Method::kForward) {
    EXPECT_GT(2 * in_lanes_, static_cast<int>(nets_.size()));
  }
  EXPECT_GT(boxes_, 100);
  EXPECT_GT(bad_, 10);
  if (!not_compiled_.empty()) GTEST_SKIP() << "by the engine alone: " << not_compiled_;
  EXPECT_GE(kTurns * verifiers_.count_compiled(), nets_.size());
}

INSTANTIATE_TEST_SUITE_P(Configurations, RandomBatches, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
