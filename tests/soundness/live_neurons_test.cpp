// Lists of live neurons leave out nothing but zeros: with and without them bounds are the same to
// the bit, on networks where all, most, some or none of the neurons are 0 on the whole box, also
// when what is left out is overwritten. BF_SEED=n repeats a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "aot/build/library.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class LiveNeurons : public ::testing::TestWithParam<Method> {
 protected:
  static constexpr int kNets = 12;
  static constexpr int kVariants = 3;

  // Listed; the same with dead memory overwritten; not listed.
  void add(const Net& net, const PlannerConfig& config) {
    for (int variant = 0; variant < kVariants; ++variant) {
      PlannerConfig one = config;
      if (variant == 2) one.disabled_passes = {"live-neurons"};
      emit::Instruments instruments;
      if (variant == 1) instruments.poison = static_cast<unsigned char>(0xff);  // NaN
      batch_.add(to_graph(net), false, one, instruments);
    }
    nets_.push_back(net);
  }

  // Every third one has a layer so wide that passes forward list what it reads for it alone.
  Net next_net() {
    if (nets_.size() % 3 != 0) return random_net(random_, Family::kSleepy);
    const std::vector<int> widths = {pick(random_, 1, 9), pick(random_, 16, 70),
                                     pick(random_, 512, 530), pick(random_, 1, 40),
                                     pick(random_, 1, 9)};
    return random_net(random_, Family::kSleepy, widths);
  }

  std::size_t lists(std::size_t number) const {
    const std::vector<Step>& steps = batch_.plan(number).entries[0].steps;
    return static_cast<std::size_t>(std::ranges::count_if(
        steps, [](const Step& step) { return std::holds_alternative<ListLive>(step); }));
  }

  const std::uint64_t seed_ = testing::seed_from_environment(20261122);
  Random random_{seed_};
  std::vector<Net> nets_;
  Batch batch_;
};

TEST_P(LiveNeurons, ChangeNoBit) {
  const PlannerConfig config = planner_config(GetParam(), Lowering::kVector, "host");
  if (config.target.vector_bytes <= 4) GTEST_SKIP() << "scalar targets have no lists";
  while (nets_.size() < kNets) add(next_net(), config);
  // Without fused products: the compiler may fuse those of two loops in different ways.
  batch_.build({"g++", {"-O2", "-ffp-contract=off"}});
  std::size_t listed = 0;
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    listed += lists(net * kVariants);
    EXPECT_EQ(lists(net * kVariants + 2), 0U);
    for (const int kind : {1, 3, 4, 2, 5, 11}) {
      const FloatBox box = random_box(random_, nets_[net].inputs(), kind);
      const Outcome plain = batch_.run(net * kVariants + 2, box);
      ASSERT_EQ(plain.status, BF_OK);
      for (std::size_t variant = 0; variant < 2; ++variant) {
        const Outcome outcome = batch_.run(net * kVariants + variant, box);
        EXPECT_EQ(outcome.status, BF_OK);
        EXPECT_TRUE(same_bits(outcome.lower, plain.lower) && same_bits(outcome.upper, plain.upper))
            << "BF_SEED=" << seed_ << ", " << nets_[net].label << ", box kind " << kind
            << ", variant " << variant;
      }
    }
  }
  EXPECT_GT(listed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Methods, LiveNeurons,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                           Method::kAlphaCrown),
                         [](const auto& test) { return test_name(to_string(test.param)); });

}  // namespace
}  // namespace bf_aot::soundness
