// Rows that mix lines of functions: through any function they stay lower bounds for any shares,
// with the prices that the planner gives them and not without; steps climb to the best line.

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "frontend/functions/function_facts.h"
#include "runtime/bf/functions/mixtures.h"
#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf_aot::Function;
using bf_aot::FunctionKind;

constexpr int kRows = 4;

struct MixedLayer {
  std::vector<double> centre, out_centre;
  std::vector<float> below, above, radius, table, out_radius, knots;
  std::vector<double> slack = {0x1p-40, 3.5, 0, 0};  // then each neuron's own
  int size() const { return static_cast<int>(centre.size()); }
};

double fraction(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

MixedLayer mixed_layer(const bf::FunctionView& f, std::mt19937_64& random,
                       const bf::RelaxErrors& errors) {
  MixedLayer made;
  const auto n = static_cast<std::size_t>(1 + random() % 12);
  for (std::size_t j = 0; j < n; ++j) {
    made.centre.push_back((fraction(random) - 0.4) * 12);
    const double width = std::exp2(fraction(random) * 30 - 27);
    made.below.push_back(static_cast<float>(fraction(random) * width));
    made.above.push_back(static_cast<float>(fraction(random) * width));
    made.radius.push_back(static_cast<float>(width * 1.5));
  }
  made.slack.resize(bf::kSlack + n, 0x1p-40);
  made.table.resize(6 * n);
  made.knots.resize(bf::kKnotNumbers * n);
  made.out_centre.resize(n);
  made.out_radius.resize(n);
  bf::relax(made.size(), f, made.centre.data(), made.below.data(), made.above.data(),
            made.radius.data(), errors, made.slack.data(), made.slack.data() + bf::kSlack,
            made.table.data(), made.out_centre.data(), made.out_radius.data());
  bf::relax_knots(made.size(), f, made.centre.data(), made.below.data(), made.above.data(),
                  made.radius.data(), errors, made.slack.data() + bf::kSlack,
                  made.out_centre.data(), made.out_radius.data(), made.knots.data());
  return made;
}

std::vector<float> random_shares(std::mt19937_64& random, std::size_t count) {
  std::vector<float> made(count);
  for (float& x : made) {
    const std::uint64_t which = random() % 6;
    x = which == 0   ? 0.0F
        : which == 1 ? 1.0F
        : which == 2 ? static_cast<float>(random() % 17) / 16
        : which == 3 ? static_cast<float>(std::ldexp(fraction(random), -140))
                     : static_cast<float>(fraction(random));
  }
  return made;
}

std::vector<float> random_coefficients(std::mt19937_64& random, std::size_t count) {
  std::vector<float> made(count);
  for (float& x : made)
    x = random() % 8 == 0 ? 0.0F
                          : static_cast<float>(std::ldexp(2 * fraction(random) - 1,
                                                          static_cast<int>(random() % 40) - 20));
  return made;
}

mpq_class rational(const Number& x) {
  mpq_class made;
  mpfr_get_q(made.get_mpq_t(), x);
  return made;
}

// The least of sum A (f(z) - c') - sum Lambda (z - c) - F over points z, for one row; what the
// oracle's error and underflow may take is added.
mpq_class least_left(const Function& function, const MixedLayer& layer, std::mt19937_64& random,
                     const std::vector<float>& a, const std::vector<float>& to, float sum,
                     std::size_t row) {
  mpq_class value = -mpq_class(sum);
  value += mpq_class(layer.slack[2]) * mpq_class(0x1p-147);
  for (std::size_t j = 0; j < layer.centre.size(); ++j) {
    const double low = layer.centre[j] - static_cast<double>(layer.below[j]);
    const double high = layer.centre[j] + static_cast<double>(layer.above[j]);
    const mpq_class centre(layer.centre[j]);
    const std::size_t at = j * kRows + row;
    std::optional<mpq_class> least;
    for (int trial = 0; trial < 5; ++trial) {
      const double z = trial == 0 ? low : trial == 1 ? high : low + (high - low) * fraction(random);
      if (mpq_class(z) < centre - mpq_class(layer.below[j]) ||
          mpq_class(z) > centre + mpq_class(layer.above[j]))
        continue;
      const mpq_class f = rational(exact_value(function, z));
      const mpq_class part = mpq_class(a[at]) * (f - mpq_class(layer.out_centre[j])) -
                             mpq_class(to[at]) * (mpq_class(z) - centre) +
                             abs(mpq_class(a[at]) * f) * mpq_class(0x1p-290);
      if (!least || part < *least) least = part;
    }
    if (least) value += *least;
  }
  return value;
}

// Whether all rows hold; rows that are not finite claim nothing.
bool rows_hold(const Function& function, const bf::FunctionView& view, unsigned seed,
               bool with_prices) {
  std::mt19937_64 random(seed);
  const double offset = with_prices ? 0x1p-22 : 0;
  const MixedLayer layer =
      mixed_layer(view, random, {0, 0, 0, with_prices ? 0x1p-24 : 0, offset, 1});
  const std::size_t count = layer.centre.size() * kRows;
  const std::vector<float> a = random_coefficients(random, count);
  const std::vector<float> share = random_shares(random, count);
  std::vector<float> to(count), sums(kRows, 0);
  const int offsets = seed % 2 == 0 ? bf::kKnotOffsetUpper : bf::kKnotWideUpper;
  bf::relax_mixtures<kRows>(layer.size(), layer.knots.data(), offsets, share.data(), a.data(),
                            to.data(), sums.data());
  for (std::size_t row = 0; row < kRows; ++row) {
    bool finite = std::isfinite(sums[row]);
    for (std::size_t j = 0; j < layer.centre.size(); ++j)
      finite = finite && std::isfinite(to[j * kRows + row]);
    if (finite && least_left(function, layer, random, a, to, sums[row], row) < 0) return false;
  }
  return true;
}

TEST(FunctionMixtures, AnySharesGiveLowerBounds) {
  for (const Function& function : functions_to_test()) {
    SCOPED_TRACE(bf_aot::to_string(function));
    const Held held(function);
    for (unsigned seed = 0; seed < 10; ++seed)
      EXPECT_TRUE(rows_hold(function, held.view(), seed, true)) << seed;
  }
}

TEST(FunctionMixtures, PricesAreNeeded) {
  int wrong = 0;
  for (const Function& function : functions_to_test()) {
    const Held held(function);
    for (unsigned seed = 0; seed < 6; ++seed)
      wrong += rows_hold(function, held.view(), seed, false) ? 0 : 1;
  }
  EXPECT_GT(wrong, 10);
}

// One neuron that is its input: the best bound of a row is the function's least value, at an end.
TEST(FunctionMixtures, StepsFindTheBestLine) {
  const Held held(Function{FunctionKind::kSigmoid});
  const double centre = 0;
  const float width = 2, spread = 2;
  double out_centre = 0;
  float table[6], out_radius = 0, knots[bf::kKnotNumbers];
  double slack[bf::kSlack + 1] = {};
  bf::relax(1, held.view(), &centre, &width, &width, &spread, {0, 0, 0, 0, 0, 1}, slack,
            slack + bf::kSlack, table, &out_centre, &out_radius);
  bf::relax_knots(1, held.view(), &centre, &width, &width, &spread, {0, 0, 0, 0, 0, 1},
                  slack + bf::kSlack, &out_centre, &out_radius, knots);
  const float a[kRows] = {1, -1, 0.5F, -0.5F};
  float share[kRows], mean[kRows] = {}, square[kRows] = {}, to[kRows], values[kRows];
  bf::start_shares<kRows>(1, share);
  bf::SlopeAscent ascent;
  double first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    float sums[kRows] = {};
    bf::relax_mixtures<kRows>(1, knots, bf::kKnotOffsetUpper, share, a, to, sums);
    last = static_cast<double>(sums[0]) - 2 * std::fabs(static_cast<double>(to[0])) + out_centre;
    if (step == 0) first = last;
    ascent.next();
    bf::corner_values<kRows>(1, &width, to, values);
    bf::step_shares<kRows>(1, knots, ascent, a, share, mean, square, values);
  }
  const double least = 1 / (1 + std::exp(2.0));
  EXPECT_LT(first, least - 0.01);
  EXPECT_GT(last, least - 0.001);
  EXPECT_LE(last, least);
}

// Whatever the gradient, shares stay in [0, 1].
TEST(FunctionMixtures, SharesStayInRange) {
  const Held held(Function{FunctionKind::kTanh});
  std::mt19937_64 random(1);
  const MixedLayer layer = mixed_layer(held.view(), random, {0, 0, 0, 0, 0, 1});
  const auto count = static_cast<std::size_t>(layer.size()) * kRows;
  std::vector<float> share(count, 0.5F), mean(count, 0), square(count, 0), a(count);
  bf::SlopeAscent ascent;
  for (int step = 0; step < 30; ++step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t which = random() % 5;
      values[i] = which == 0   ? NAN
                  : which == 1 ? INFINITY
                               : static_cast<float>((fraction(random) - 0.5) * 1e30);
      a[i] = which == 2 ? NAN : static_cast<float>((fraction(random) - 0.5) * 1e20);
    }
    ascent.next();
    bf::step_shares<kRows>(layer.size(), layer.knots.data(), ascent, a.data(), share.data(),
                           mean.data(), square.data(), values.data());
    for (const float x : share) ASSERT_TRUE(x >= 0 && x <= 1);
  }
}

}  // namespace
}  // namespace bf_test
