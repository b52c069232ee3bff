// Rows that choose slopes: through ReLUs they stay lower bounds for any slopes in [0, 1], with the
// prices that the planner gives them and not without; the walk forward is the layers' own; steps
// stay in [0, 1], whatever they are told, and climb.

#include "runtime/bf/sums/slopes.h"

#include <gtest/gtest.h>

#include "runtime/bf/core/relax.h"
#include "terms_random.h"

namespace bf_test {
namespace {

using Kind = RandomTerm::Kind;

// Random ReLUs in their bounds, with tables as the verifier makes them.
struct Relus {
  std::vector<double> centre, out_centre;
  std::vector<float> below, above, radius, table, out_radius, slopes;
  std::vector<double> slack;  // 0
  int size() const { return static_cast<int>(centre.size()); }
};

Relus random_relus(Random& random, Numbers kind, int n, const bf::RelaxErrors& errors) {
  Relus made;
  const auto count = static_cast<std::size_t>(n);
  made.centre = random.centres(n, kind);
  made.below = random.radii(n, kind);
  made.above = random.radii(n, kind);
  made.radius = random.radii(n, kind);
  for (std::size_t j = 0; j < count; ++j)
    if (random.below(4) == 0) made.centre[j] *= 0x1p-6;  // mostly of unknown sign
  made.table.resize(6 * count);
  made.slack.resize(bf::kSlack + count);
  made.slopes.resize(8 * count);
  made.out_centre.resize(count);
  made.out_radius.resize(count);
  bf::relax(n, true, made.centre.data(), made.below.data(), made.above.data(), made.radius.data(),
            errors, made.slack.data(), made.slack.data() + bf::kSlack, made.table.data(),
            made.out_centre.data(), made.out_radius.data());
  bf::relax_slopes(n, made.centre.data(), made.below.data(), made.above.data(), made.radius.data(),
                   errors, made.slack.data() + bf::kSlack, made.table.data(),
                   made.out_centre.data(), made.out_radius.data(), made.slopes.data());
  return made;
}

std::vector<float> random_slopes(Random& random, std::int64_t count) {
  std::vector<float> made(static_cast<std::size_t>(count));
  for (float& x : made) {
    const int which = random.below(6);
    x = which == 0   ? 0.0F
        : which == 1 ? 1.0F
        : which == 2 ? static_cast<float>(std::ldexp(random.unit(), -140))
                     : static_cast<float>(random.unit());
  }
  return made;
}

// Whether sum A (relu(z) - c') >= sum Lambda (z - c) + F, for all rows at ends of the bounds, at 0
// and between.
template <int kRows>
bool rows_hold(unsigned seed, bool with_prices) {
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const int n = random.between(1, 60);
  const double offset = with_prices ? gamma_float(2) + gamma_double(2 * n + 4) : 0;
  const double slope = with_prices ? 0x1p-24 : 0;
  const Relus relus = random_relus(random, kind, n, {0, 0, 0, slope, offset, 1});
  const std::vector<float> a = random.numbers(std::int64_t{n} * kRows, kind);
  const std::vector<float> own = random_slopes(random, std::int64_t{n} * kRows);
  std::vector<float> to(a.size(), 7), sums(2 * kRows, 0);
  const int offsets = seed % 2 == 0 ? 2 : 5;
  bf::relax_free_rows<kRows>(n, relus.slopes.data(), relus.slopes.data() + offsets * n, own.data(),
                             a.data(), to.data(), sums.data());
  for (int trial = 0; trial < 4; ++trial)
    for (std::size_t r = 0; r < kRows; ++r) {
      mpq_class value = -exact(static_cast<double>(sums[r]));
      value += exact(relus.slack[2]) * exact(0x1p-147);
      for (std::size_t j = 0; j < relus.centre.size(); ++j) {
        const mpq_class low = exact(relus.centre[j]) - exact(relus.below[j]);
        const mpq_class high = exact(relus.centre[j]) + exact(relus.above[j]);
        const int where = random.below(4);
        mpq_class z = where == 0 ? low : where == 1 ? high : mpq_class(0);
        if (where == 3) z = low + (high - low) * exact(random.unit());
        if (z < low) z = low;
        if (z > high) z = high;
        const mpq_class relu = z > 0 ? z : mpq_class(0);
        value += exact(a[j * kRows + r]) * (relu - exact(relus.out_centre[j]));
        value -= exact(to[j * kRows + r]) * (z - exact(relus.centre[j]));
      }
      if (value < 0) return false;
    }
  return true;
}

TEST(Slopes, AnySlopesGiveLowerBounds) {
  for (unsigned seed = 0; seed < 400; ++seed) EXPECT_TRUE(rows_hold<4>(seed, true)) << seed;
  for (unsigned seed = 400; seed < 480; ++seed) EXPECT_TRUE(rows_hold<6>(seed, true)) << seed;
  for (unsigned seed = 480; seed < 520; ++seed) EXPECT_TRUE(rows_hold<32>(seed, true)) << seed;
}

TEST(Slopes, PricesAreNeeded) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 400; ++seed) wrong += rows_hold<4>(seed, false) ? 0 : 1;
  EXPECT_GT(wrong, 10);
}

// The same with a float product behind: z = c + W x, |x| <= r, and sum A (relu(z) - c') >= sum C x
// + F for C = fl(W' Lambda).
bool products_hold(unsigned seed, bool with_prices) {
  constexpr std::size_t kRows = 4;
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const auto n = static_cast<std::size_t>(random.between(1, 40));
  const auto in = static_cast<std::size_t>(random.between(1, 6));
  const std::vector<float> w = random.numbers(static_cast<std::int64_t>(n * in), kind);
  const std::vector<float> r = random.radii(static_cast<std::int64_t>(in), Numbers::kEven);
  Relus relus;
  relus.table.resize(6 * n);
  relus.slopes.resize(8 * n);
  relus.out_centre.resize(n);
  relus.out_radius.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < in; ++k)
      sum += std::fabs(static_cast<double>(w[j * in + k])) * static_cast<double>(r[k]);
    relus.radius.push_back(bf::float_up(sum * (1 + 0x1p-40)));
    relus.centre.push_back((2 * random.unit() - 1) * sum);
  }
  relus.below = relus.above = relus.radius;
  relus.slack.resize(bf::kSlack + n);
  const int count = static_cast<int>(n);
  const double offset = with_prices ? gamma_float(2) + gamma_double(2 * count + 4) : 0;
  const bf::RelaxErrors errors{
      with_prices ? gamma_float(count) : 0, 0, 0, with_prices ? 0x1p-24 : 0, offset, 1};
  bf::relax(count, true, relus.centre.data(), relus.below.data(), relus.above.data(),
            relus.radius.data(), errors, relus.slack.data(), relus.slack.data() + bf::kSlack,
            relus.table.data(), relus.out_centre.data(), relus.out_radius.data());
  bf::relax_slopes(count, relus.centre.data(), relus.below.data(), relus.above.data(),
                   relus.radius.data(), errors, relus.slack.data() + bf::kSlack, relus.table.data(),
                   relus.out_centre.data(), relus.out_radius.data(), relus.slopes.data());
  const std::vector<float> a = random.numbers(static_cast<std::int64_t>(n * kRows), kind);
  const std::vector<float> own = random_slopes(random, static_cast<std::int64_t>(n * kRows));
  std::vector<float> to(a.size(), 7), sums(2 * kRows, 0), c(in * kRows, 0);
  bf::relax_free_rows<kRows>(count, relus.slopes.data(), relus.slopes.data() + 2 * n, own.data(),
                             a.data(), to.data(), sums.data());
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = 0; k < in; ++k)
      for (std::size_t row = 0; row < kRows; ++row)
        c[k * kRows + row] += w[j * in + k] * to[j * kRows + row];
  for (std::size_t row = 0; row < kRows; ++row) {
    mpq_class value = -exact(static_cast<double>(sums[row]));
    value += exact(0x1p-147) * (exact(relus.slack[2]) + count * static_cast<int>(in));
    std::vector<mpq_class> x;
    for (std::size_t k = 0; k < in; ++k) {
      x.push_back(exact(static_cast<double>(r[k])) * (random.below(3) - 1));
      value -= exact(static_cast<double>(c[k * kRows + row])) * x[k];
    }
    for (std::size_t j = 0; j < n; ++j) {
      mpq_class z = exact(relus.centre[j]);
      for (std::size_t k = 0; k < in; ++k) z += exact(static_cast<double>(w[j * in + k])) * x[k];
      value += exact(static_cast<double>(a[j * kRows + row])) *
               ((z > 0 ? z : mpq_class(0)) - exact(relus.out_centre[j]));
    }
    if (value < 0) return false;
  }
  return true;
}

TEST(Slopes, ProductsBehindAreLowerBounds) {
  for (unsigned seed = 0; seed < 600; ++seed) EXPECT_TRUE(products_hold(seed, true)) << seed;
  int wrong = 0;
  for (unsigned seed = 0; seed < 600; ++seed) wrong += products_hold(seed, false) ? 0 : 1;
  EXPECT_GT(wrong, 2);
}

// A neuron of known sign takes its own line, whatever slope a row asks for.
TEST(Slopes, KnownSignsAreFixed) {
  const double centre[] = {4, -4};
  const float below[] = {1, 1}, above[] = {1, 1}, radius[] = {1, 1};
  double slack[bf::kSlack + 2] = {}, out_centre[2];
  float table[12], out_radius[2], slopes[16];
  bf::relax(2, true, centre, below, above, radius, {0, 0, 0, 0, 0, 1}, slack, slack + bf::kSlack,
            table, out_centre, out_radius);
  bf::relax_slopes(2, centre, below, above, radius, {0, 0, 0, 0, 0, 1}, slack + bf::kSlack, table,
                   out_centre, out_radius, slopes);
  const float a[] = {3, -3, 3, -3}, own[] = {0.5F, 0.5F, 0.5F, 0.5F};
  float to[4], sums[4] = {};
  bf::relax_free_rows<2>(2, slopes, slopes + 4, own, a, to, sums);
  EXPECT_EQ(to[0], 3);
  EXPECT_EQ(to[1], -3);
  EXPECT_EQ(to[2], 0);
  EXPECT_EQ(to[3], 0);
}

template <int kRows>
void check_walk(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const RandomTerm term = seed % 4 < 2 ? random_conv_term(random, Numbers::kIntegers)
                                       : random_term(random, Numbers::kIntegers, 30);
  const bool add = seed % 2 == 0;
  const std::vector<float> from = random.numbers(std::int64_t{term.in} * kRows, Numbers::kIntegers);
  std::vector<float> to = random.numbers(std::int64_t{term.out} * kRows, Numbers::kIntegers);
  std::vector<float> expected(to.size(), 0);
  if (add) expected = to;
  for (const RandomTerm::Product& p : term.products)
    for (std::size_t r = 0; r < kRows; ++r)
      expected[p.out * kRows + r] += static_cast<float>(p.weight) * from[p.in * kRows + r];
  switch (term.kind) {
    case Kind::kConv:
      bf::conv_values<kRows>(term.shape, term.weight.data(), from.data(), add, to.data());
      break;
    case Kind::kSparse:
      bf::sparse_values<kRows>(term.out, term.row_start.data(), term.column.data(),
                               term.weight.data(), from.data(), add, to.data());
      break;
    case Kind::kGather:
      bf::gather_values<kRows>(term.out, term.sources(), from.data(), add, to.data());
      break;
  }
  EXPECT_EQ(to, expected);
}

TEST(Slopes, WalksThroughTerms) {
  for (unsigned seed = 0; seed < 160; ++seed) check_walk<8>(seed);
  for (unsigned seed = 160; seed < 200; ++seed) check_walk<2>(seed);
  for (unsigned seed = 200; seed < 220; ++seed) check_walk<32>(seed);
}

template <int kRows>
void check_dense(int in, int out, int panel) {
  Random random(static_cast<unsigned>(in * 100 + out));
  const int panels = (out + panel - 1) / panel;
  const std::vector<float> weight =
      random.numbers(std::int64_t{panels} * panel * in, Numbers::kIntegers);
  const std::vector<float> from = random.numbers(std::int64_t{in} * kRows, Numbers::kIntegers);
  std::vector<float> to(static_cast<std::size_t>(out) * kRows, 7);
  bf::dense_values<kRows>(weight.data(), in, out, panel, from.data(), to.data());
  for (int j = 0; j < out; ++j)
    for (int r = 0; r < kRows; ++r) {
      float sum = 0;
      for (int k = 0; k < in; ++k)
        sum += weight[static_cast<std::size_t>((j / panel * in + k) * panel + j % panel)] *
               from[static_cast<std::size_t>(k * kRows + r)];
      ASSERT_EQ(to[static_cast<std::size_t>(j * kRows + r)], sum) << j << " " << r;
    }
}

TEST(Slopes, WalksThroughDenseLayers) {
  check_dense<16>(7, 50, 64);
  check_dense<32>(5, 70, 64);
  check_dense<4>(9, 5, 4);
  check_dense<2>(3, 11, 8);
}

// One ReLU of z in [-1, 1] that enters with coefficient 1, at the corner where z is `value`.
float slope_after(int steps, float value, float first) {
  const float slopes[8] = {0.5F, -1, 0.5F, 0, 0, 0, 0, 0};
  const float a[2] = {1, 1};
  float slope[2] = {first, first}, mean[2] = {0, 0}, square[2] = {0, 0};
  bf::SlopeAscent ascent;
  for (int i = 0; i < steps; ++i) {
    float values[2] = {value, value};
    ascent.next();
    bf::step_slopes<2>(1, slopes, ascent, a, slope, mean, square, values);
    EXPECT_EQ(slope[0], slope[1]);
    EXPECT_TRUE(slope[0] >= 0 && slope[0] <= 1) << slope[0];
  }
  return slope[0];
}

TEST(Slopes, StepsClimbWithinTheirRange) {
  EXPECT_NEAR(slope_after(1, 0.3F, 0.5F), 0.6, 1e-4);  // Adam's first step is the rate
  EXPECT_NEAR(slope_after(1, -2e-10F, 0.5F), 0.4, 1e-4);
  EXPECT_EQ(slope_after(30, 1, 0), 1);
  EXPECT_EQ(slope_after(30, -1, 1), 0);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {infinity, -infinity, std::nanf(""), 3e38F, -3e38F})
    slope_after(8, value, 0.5F);
}

TEST(Slopes, InverseRoots) {
  for (float x = 0x1p-120F; x < 0x1p126F; x *= 1.37F) {
    const float root = bf::inverse_root<float, std::int32_t>(x);
    EXPECT_NEAR(static_cast<double>(root) * std::sqrt(static_cast<double>(x)), 1, 1e-6) << x;
  }
}

}  // namespace
}  // namespace bf_test
