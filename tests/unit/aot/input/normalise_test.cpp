#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <string_view>

#include "aot/input/dataset.h"
#include "frontend/diagnostic.h"

namespace bf_aot::input {
namespace {

vnnlib::Number number(std::string_view text) {
  vnnlib::Number result;
  EXPECT_EQ(vnnlib::parse_number(text, result), vnnlib::NumberError::kNone) << std::string(text);
  return result;
}

ModelSamples samples_of(const std::vector<double>& values) {
  ModelSamples samples;
  samples.inputs = values.size();
  samples.values = values;
  samples.channel.assign(values.size(), 0);
  return samples;
}

// Every end of the float box is outside of the exact one, and the second float from it inside: the
// first where rounding to double in between made nothing a float. Inner ends are inside.
void expect_tight(float end, double inner, const mpq_class& exact, bool upper) {
  const auto side = [&](double x) -> mpq_class {
    return upper ? mpq_class(x) - exact : exact - mpq_class(x);
  };
  EXPECT_GE(side(static_cast<double>(end)), 0);
  const float inward = upper ? -INFINITY : INFINITY;
  EXPECT_LE(side(static_cast<double>(std::nextafterf(std::nextafterf(end, inward), inward))), 0);
  EXPECT_LE(side(inner), 0);
}

TEST(Normalise, EndsAreTheFloatsAroundTheExactBox) {
  std::mt19937 random(11);
  const std::vector<std::string> radii = {"0", "0.03", "0.1", "1e-9", "0.25", "3"};
  const std::vector<std::string> scales = {"", "255", "16", "0.7"};
  const std::vector<std::string> means = {"", "0.1307", "-3", "0.485"};
  const std::vector<std::string> deviations = {"", "0.3081", "2", "0.229"};
  for (int trial = 0; trial < 4000; ++trial) {
    const std::string& eps = radii[random() % radii.size()];
    const std::string& scale = scales[random() % scales.size()];
    const std::string& mean = means[random() % means.size()];
    const std::string& deviation = deviations[random() % deviations.size()];
    const bool clip = random() % 2 == 0;
    const double value = random() % 2 == 0 ? static_cast<double>(random() % 17)
                                           : std::ldexp(static_cast<double>(random()), -32);
    Normalisation n;
    if (!scale.empty()) n.scale = number(scale);
    if (!mean.empty()) n.mean = {number(mean)};
    if (!deviation.empty()) n.deviation = {number(deviation)};
    if (clip) n.range = {number("0"), number("30.1")};

    const SampleBox box = perturb(samples_of({value}), 0, number(eps), n, "test");
    const mpq_class middle =
        mpq_class(value) / (scale.empty() ? mpq_class(1) : vnnlib::exact(number(scale)));
    const mpq_class radius = vnnlib::exact(number(eps));
    mpq_class lower = middle - radius, upper = middle + radius;
    if (clip) {
      lower = std::max(lower, mpq_class(0));
      upper = std::min(upper, vnnlib::exact(number("30.1")));
    }
    const auto normalised = [&](const mpq_class& x) {
      const mpq_class moved = x - (mean.empty() ? mpq_class(0) : vnnlib::exact(number(mean)));
      return mpq_class(moved /
                       (deviation.empty() ? mpq_class(1) : vnnlib::exact(number(deviation))));
    };
    SCOPED_TRACE("value " + std::to_string(value) + " eps " + eps + " scale " + scale + " mean " +
                 mean + " std " + deviation);
    expect_tight(box.lower[0], box.inner_lower[0], normalised(lower), false);
    expect_tight(box.upper[0], box.inner_upper[0], normalised(upper), true);
    EXPECT_LE(box.lower[0], box.sample[0]);
    EXPECT_LE(box.sample[0], box.upper[0]);
    if (scale.empty() && mean.empty() && deviation.empty() && (eps == "0" || eps == "0.25")) {
      EXPECT_EQ(box.inner_lower[0], lower.get_d());  // nothing is rounded
      EXPECT_EQ(box.inner_upper[0], upper.get_d() == upper ? upper.get_d() : box.inner_upper[0]);
    }
  }
}

TEST(Normalise, OwnBoxesAreRoundedOutward) {
  ModelSamples samples = samples_of({0.1, 0.2});
  samples.lower = {0.15, -1};
  samples.upper = {0.3, 7};
  Normalisation n;
  n.mean = {number("0.1")};
  n.deviation = {number("3")};
  const SampleBox box = own_box(samples, 0, n, "test");
  const auto exact = [](double x) {
    return mpq_class((mpq_class(x) - vnnlib::exact(number("0.1"))) / 3);
  };
  expect_tight(box.lower[0], box.inner_lower[0], exact(0.15), false);
  expect_tight(box.upper[0], box.inner_upper[0], exact(0.3), true);
  expect_tight(box.lower[1], box.inner_lower[1], exact(-1), false);
  expect_tight(box.upper[1], box.inner_upper[1], exact(7), true);

  samples.lower = {0.4, -1};
  EXPECT_THROW((void)own_box(samples, 0, n, "test"), CompileError);
}

TEST(Normalise, RefusesValuesThatDoNotFit) {
  Normalisation n;
  n.range = {number("0"), number("1")};
  const auto code = [&](double value) {
    try {
      (void)perturb(samples_of({value}), 0, number("0.1"), n, "x.npy, sample 3");
    } catch (const CompileError& error) {
      return error.diagnostics().front().code + " " + error.diagnostics().front().where;
    }
    return std::string();
  };
  EXPECT_EQ(code(1), "");
  EXPECT_EQ(code(1.5), "BF3016 x.npy, sample 3, input 0");
  EXPECT_EQ(code(NAN), "BF3016 x.npy, sample 3, input 0");
  n.range.reset();
  EXPECT_EQ(code(INFINITY), "BF3016 x.npy, sample 3, input 0");
  EXPECT_EQ(code(1e39), "BF3007 x.npy, sample 3, input 0");
}

}  // namespace
}  // namespace bf_aot::input
