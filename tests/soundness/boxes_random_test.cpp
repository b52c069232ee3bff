// Random networks and batches of boxes against exact arithmetic. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>

#include "aot/host/library.h"
#include "tests/seed.h"
#include "tests/soundness/boxes.h"
#include "tests/soundness/random_net.h"

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

class RandomBatches : public ::testing::TestWithParam<Configuration> {
 protected:
  static constexpr int kBatch = 21;
  static constexpr int kNetsPerFamily = 1;
  static constexpr int kCalls = 4;

  void SetUp() override {
    const Configuration& configuration = GetParam();
    if (!has_compiler(configuration.compiler))
      GTEST_SKIP() << configuration.compiler << " is not installed";
    PlannerConfig config =
        planner_config(configuration.method, configuration.lowering, configuration.target);
    if (!cli::runs_here(config.target)) GTEST_SKIP() << "no " << config.target.name << " processor";
    config.batch = kBatch;
    config.iterations = 3;
    std::string name = configuration.name;
    name += std::to_string(seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    Instruments poison;
    poison.poison = 0xff;
    for (int family = 0; family < kFamilies; ++family)
      for (int i = 0; i < kNetsPerFamily; ++i) {
        nets_.push_back(random_net(random_, static_cast<Family>(family)));
        PlannerConfig one = config;
        if (config.lowering == Lowering::kTuned)
          one = with_random_schedules(to_graph(nets_.back()), config, random_);
        batch_.add(to_graph(nets_.back()), false, one);
        batch_.add(to_graph(nets_.back()), false, one, poison);
      }
    batch_.build({configuration.compiler, configuration.flags});
  }

  BatchCall run(std::size_t verifier, const std::vector<FloatBox>& boxes) {
    const Plan& plan = batch_.plan(verifier);
    BatchCall call(plan, static_cast<std::size_t>(plan.output_count), boxes);
    call.run(reinterpret_cast<BoundsBatch>(batch_.symbol(verifier, "_bounds_batch")));
    EXPECT_TRUE(call.arena.guards_intact());
    return call;
  }

  // A box of this kind; some have no bounds.
  FloatBox any_box(int inputs) {
    FloatBox box = random_box(random_, inputs, pick(random_, 0, kBoxKinds - 1));
    if (pick(random_, 0, 9) == 0) box.lower[0] = std::numeric_limits<float>::infinity();
    return box;
  }

  void check_exactly(const ExactNet& exact, const FloatBox& box, const Outcome& outcome);
  void check_call(std::size_t net, const ExactNet& exact);

  static void expect_same(const Outcome& a, const Outcome& b, const char* what) {
    ASSERT_EQ(a.status, b.status) << what;
    ASSERT_EQ(std::memcmp(a.lower.data(), b.lower.data(), 4 * a.lower.size()), 0) << what;
    ASSERT_EQ(std::memcmp(a.upper.data(), b.upper.data(), 4 * a.upper.size()), 0) << what;
  }

  Random random_;
  std::vector<Net> nets_;
  Batch batch_;
  int boxes_ = 0, bad_ = 0, in_lanes_ = 0;
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

void RandomBatches::check_call(std::size_t net, const ExactNet& exact) {
  const std::size_t verifier = 2 * net;
  std::vector<FloatBox> boxes;
  const int count = pick(random_, 1, kBatch);
  for (int i = 0; i < count; ++i) boxes.push_back(any_box(nets_[net].inputs()));
  const BatchCall call = run(verifier, boxes);
  const BatchCall poisoned = run(verifier + 1, boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    SCOPED_TRACE(fmt::format("box {} of {}", i, count));
    const Outcome outcome = call.outcome(i);
    expect_same(outcome, poisoned.outcome(i), "memory of dead buffers is read");
    expect_same(outcome, run(verifier, {boxes[i]}).outcome(0), "other boxes change the bounds");
    if (outcome.status != BF_OK) {
      ++bad_;
      ASSERT_TRUE(call.untouched(i));
      continue;
    }
    ++boxes_;
    const Outcome alone = batch_.run(verifier, boxes[i]);
    if (!GetParam().contracts) expect_same(outcome, alone, "not the bounds of one box");
    check_exactly(exact, boxes[i], outcome);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RandomBatches, BoundsHold) {
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const bool in_lanes = batch_.plan(2 * net).batch.side_by_side > 1;
    in_lanes_ += in_lanes ? 1 : 0;
    // A single layer has no slopes to choose; lines of many inputs leave the caches.
    if (GetParam().method != Method::kAlphaCrown && GetParam().method != Method::kForward) {
      ASSERT_EQ(in_lanes, uses_vectors(GetParam().lowering));
    }
    const ExactNet exact(nets_[net]);
    for (int i = 0; i < kCalls; ++i) {
      SCOPED_TRACE(
          fmt::format("BF_SEED={}, net {} ({}), call {}", seed(), net, nets_[net].label, i));
      check_call(net, exact);
      if (HasFatalFailure()) return;
    }
  }
  std::printf("%d boxes, %d bad ones\n", boxes_, bad_);
  if (GetParam().method == Method::kForward) {
    EXPECT_GT(2 * in_lanes_, static_cast<int>(nets_.size()));
  }
  EXPECT_GT(boxes_, 100);
  EXPECT_GT(bad_, 10);
}

INSTANTIATE_TEST_SUITE_P(Configurations, RandomBatches, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
