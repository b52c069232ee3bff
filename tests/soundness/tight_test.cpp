// Networks where the exact answer is known, and where the bounds must be close to it besides
// containing it: the exact range of networks with one input, and CROWN in rational arithmetic.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/reference/exact.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

float random_in(Random& random, double low, double high) {
  return static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
}

NetLayer random_layer(Random& random, int in, int out, bool relu) {
  NetLayer layer;
  layer.in = in;
  layer.out = out;
  layer.relu = relu;
  for (int i = 0; i < in * out; ++i)
    layer.weight.push_back(random_in(random, -2, 2) / std::sqrt(static_cast<float>(in)));
  for (int i = 0; i < out; ++i) layer.bias.push_back(random_in(random, -1, 1));
  return layer;
}

// One input, some hidden layers, two outputs.
Net one_input_net(Random& random, int layers) {
  Net net;
  net.label = "one input, layers " + std::to_string(layers);
  int in = 1;
  for (int i = 0; i < layers; ++i) {
    const int out = pick(random, 1, 6);
    net.layers.push_back(random_layer(random, in, out, true));
    in = out;
  }
  net.layers.push_back(random_layer(random, in, 2, false));
  return net;
}

// Output 0 has weights >= 0 on relu: its upper chords touch at both ends of the input. Output 1 is
// its negation. A positive radius keeps every neuron unstable or not, as it comes.
Net chord_net(Random& random) {
  Net net = one_input_net(random, 1);
  net.label = "chords";
  NetLayer& last = net.layers.back();
  for (int k = 0; k < last.in; ++k) {
    double& up = last.weight[static_cast<std::size_t>(k)];
    up = std::abs(up);
    last.weight[static_cast<std::size_t>(last.in + k)] = -up;
  }
  return net;
}

// All neurons are active on [-1, 1]: the network is affine there.
Net stable_net(Random& random, int layers) {
  Net net = one_input_net(random, layers);
  net.label = "stable";
  for (NetLayer& layer : net.layers)
    for (double& b : layer.bias) b = random_in(random, 64, 256) * (layer.relu ? 1 : 0);
  return net;
}

FloatBox interval(Random& random, int kind) {
  const float centre = random_in(random, -0.5, 0.5);
  const float radius = std::ldexp(random_in(random, 0.25, 0.5), -4 * (kind % 5));
  return {{centre - radius}, {centre + radius}};
}

// How near the bounds come to the exact range.
enum class Tightness { kNone, kUpper, kBoth };

struct RangeCase {
  Net net;
  Tightness tightness = Tightness::kNone;
};

struct TightConfiguration {
  const char* name;
  Lowering lowering;
  const char* target;
};

std::ostream& operator<<(std::ostream& out, const TightConfiguration& configuration) {
  return out << configuration.name;
}

class Tight : public ::testing::TestWithParam<TightConfiguration> {
 protected:
  void SetUp() override {
    config_ = planner_config(Method::kCrown, GetParam().lowering, GetParam().target);
  }

  void build() { batch_.build({"g++", {"-O1"}}); }

  PlannerConfig config_;
  Batch batch_;
  Random random_{17};
};

// What float rounding may add: some 2^-24 of the magnitudes that were summed.
void expect_near(double bound, const mpq_class& exact, double magnitude, const char* what) {
  const mpq_class gap = abs(mpq_class(bound) - exact);
  EXPECT_LE(gap.get_d(), 0x1p-20 * magnitude) << what << " is looser than rounding explains";
}

TEST_P(Tight, ExactRangesOfOneInput) {
  std::vector<RangeCase> cases;
  for (int i = 0; i < 5; ++i)
    for (int layers = 1; layers <= 3; ++layers) {
      cases.push_back({one_input_net(random_, layers), Tightness::kNone});
      cases.push_back({stable_net(random_, layers), Tightness::kBoth});
      if (layers == 1) cases.push_back({chord_net(random_), Tightness::kUpper});
    }
  for (const RangeCase& made : cases) batch_.add(made.net, config_);
  build();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ExactNet exact(cases[i].net);
    for (int kind = 0; kind < 10; ++kind) {
      SCOPED_TRACE(fmt::format("net {} ({}), box {}", i, cases[i].net.label, kind));
      const FloatBox box = interval(random_, kind);
      const std::vector<Range> ranges = exact.ranges(box.lower[0], box.upper[0]);
      const Outcome outcome = batch_.run(i, box);
      ASSERT_EQ(outcome.status, BF_OK);
      for (std::size_t j = 0; j < ranges.size(); ++j) {
        const double lower = outcome.lower[j];
        const double upper = outcome.upper[j];
        ASSERT_TRUE(std::isfinite(lower) && std::isfinite(upper));
        EXPECT_LE(mpq_class(lower), ranges[j].lower) << "output " << j;
        EXPECT_GE(mpq_class(upper), ranges[j].upper) << "output " << j;
        const double magnitude = 8 + 1e3 * (cases[i].tightness == Tightness::kBoth);
        const bool chords = cases[i].tightness == Tightness::kUpper;
        if (cases[i].tightness == Tightness::kBoth || (chords && j == 0))
          expect_near(upper, ranges[j].upper, magnitude, "upper bound");
        if (cases[i].tightness == Tightness::kBoth || (chords && j == 1))
          expect_near(lower, ranges[j].lower, magnitude, "lower bound");
      }
    }
  }
}

// A neuron whose lower slope is chosen by next to nothing.
bool has_tie(const reference::ExactBounds& exact) {
  for (const reference::ExactLayerBounds& layer : exact.layers)
    for (std::size_t j = 0; j < layer.lower.size(); ++j) {
      const mpq_class sum = abs(layer.lower[j] + layer.upper[j]);
      if (sum <= mpq_class(1, 10000) * (layer.upper[j] - layer.lower[j])) return true;
    }
  return false;
}

// One hidden layer: its bounds contain the exact ones, so its lines lie outside of the exact
// method's lines, and so do the outputs' bounds, unless a lower slope is chosen differently.
TEST_P(Tight, OneHiddenLayerContainsExactCrown) {
  std::vector<Net> nets;
  for (int i = 0; i < 24; ++i) {
    const int inputs = pick(random_, 1, 9);
    const int hidden = pick(random_, 1, i % 4 == 0 ? 40 : 9);
    Net net;
    net.label = fmt::format("{}-{}-2", inputs, hidden);
    net.layers = {random_layer(random_, inputs, hidden, true),
                  random_layer(random_, hidden, 2, false)};
    batch_.add(net, config_);
    nets.push_back(std::move(net));
  }
  build();
  int compared = 0;
  for (std::size_t i = 0; i < nets.size(); ++i)
    for (int kind = 0; kind < 10; ++kind) {
      SCOPED_TRACE(fmt::format("net {} ({}), box {}", i, nets[i].label, kind));
      FloatBox box;
      std::vector<mpq_class> lower, upper;
      for (int k = 0; k < nets[i].inputs(); ++k) {
        const FloatBox side = interval(random_, kind);
        box.lower.push_back(side.lower[0]);
        box.upper.push_back(side.upper[0]);
        lower.emplace_back(side.lower[0]);
        upper.emplace_back(side.upper[0]);
      }
      const Plan& plan = batch_.plan(i);
      const reference::ExactBounds exact =
          reference::execute_exact(plan, *plan.find_entry(EntryKind::kBounds), lower, upper);
      if (has_tie(exact)) continue;
      ++compared;
      const Outcome outcome = batch_.run(i, box);
      for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
        const double low = outcome.lower[j];
        const double high = outcome.upper[j];
        EXPECT_LE(mpq_class(low), exact.lower[j]) << "output " << j;
        EXPECT_GE(mpq_class(high), exact.upper[j]) << "output " << j;
        expect_near(low, exact.lower[j], 16, "lower bound");
        expect_near(high, exact.upper[j], 16, "upper bound");
      }
    }
  std::printf("%d boxes compared\n", compared);
  EXPECT_GE(compared, 200);
}

const TightConfiguration kTightConfigurations[] = {{"generic", Lowering::kGeneric, "generic"},
                                                   {"host", Lowering::kVector, "host"}};

INSTANTIATE_TEST_SUITE_P(Lowerings, Tight, ::testing::ValuesIn(kTightConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
