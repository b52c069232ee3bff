// Means whose weights are the softmax of scores, against all corners of the scores' and values'
// boxes, with powers of MPFR.

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <optional>

#include "planes_support.h"
#include "runtime/bf/sums/contraction.h"

namespace bf_test {
namespace {

// Values' corners have powers up to 2^-400 of themselves.
const mpq_class kMissed = exact(0x1p-300);

mpq_class power(const mpq_class& x) {
  mpfr_t made;
  mpfr_init2(made, 500);
  mpfr_set_q(made, x.get_mpq_t(), MPFR_RNDN);
  mpfr_exp(made, made, MPFR_RNDN);
  mpq_class value;
  if (mpfr_zero_p(made) == 0) mpfr_get_q(value.get_mpq_t(), made);
  mpfr_clear(made);
  return value;
}

// Rows of shares in order, each the softmax of its own scores but for those that are masked.
struct Means {
  int m = 1, n = 1, k = 1;
  Tensor scores, values, shares, z;
  std::vector<std::int32_t> score, of_x, of_y;

  std::size_t at(int row, int l) const { return static_cast<std::size_t>(row * k + l); }
  std::size_t value_at(int column, int l) const {
    return static_cast<std::size_t>(of_y[at(column, l)]);
  }

  void relax(bool with_table = false) {
    z = {std::vector<double>(static_cast<std::size_t>(m * n), 7),
         std::vector<float>(static_cast<std::size_t>(m * n), 7)};
    std::vector<double> scratch(
        static_cast<std::size_t>(bf::kContractionPanels * k * (n + 1) + 3 * n));
    std::vector<float> table(static_cast<std::size_t>(2 * m * n + 4 * (m + n) * k));
    double slack[4];
    const std::int32_t *const gather_x = of_x.data(), *const gather_y = of_y.data();
    bf::relax_contraction(1, m, n, k, gather_x, gather_y, shares.centre.data(),
                          shares.radius.data(), values.centre.data(), values.radius.data(),
                          score.data(), scores.centre.data(), scores.radius.data(), {},
                          scratch.data(), slack, with_table ? table.data() : nullptr,
                          z.centre.data(), z.radius.data());
  }
};

Means random_means(Random& random, int k, double spread, double width) {
  Means made;
  made.m = random.between(1, 3);
  made.n = random.between(1, 19);
  made.k = k;
  for (int i = 0; i < made.m * k; ++i) {
    made.scores.centre.push_back(spread * (2 * random.unit() - 1));
    made.scores.radius.push_back(random.below(6) == 0 ? 0
                                                      : static_cast<float>(width * random.unit()));
    made.of_x.push_back(i);
    made.score.push_back(i % k > 0 && random.below(5) == 0 ? -1 : i);
    made.shares.centre.push_back(0.5);
    made.shares.radius.push_back(0.5F);
  }
  made.values = random_tensor(random, Numbers::kEven, random.between(1, 30));
  for (int i = 0; i < made.n * k; ++i) made.of_y.push_back(random.below(made.values.size()));
  return made;
}

struct Range {
  mpq_class low, high;
};

// The range of a mean over all corners.
Range range_of(const Means& of, int row, int column) {
  struct Weight {
    mpq_class least, most, low, high;  // powers of the score's ends; ends of its value
  };
  std::vector<Weight> weights;
  for (int l = 0; l < of.k; ++l) {
    const std::int32_t s = of.score[of.at(row, l)];
    if (s < 0) continue;
    const auto score = static_cast<std::size_t>(s);
    const std::size_t value = of.value_at(column, l);
    const mpq_class c = exact(of.scores.centre[score]), y = exact(of.values.centre[value]);
    const mpq_class r = exact(static_cast<double>(of.scores.radius[score]));
    const mpq_class t = exact(static_cast<double>(of.values.radius[value]));
    weights.push_back({power(c - r), power(c + r), y - t, y + t});
  }
  std::optional<Range> made;
  for (std::size_t corner = 0; corner < std::size_t{1} << weights.size(); ++corner) {
    mpq_class sum = 0, low = 0, high = 0;
    for (std::size_t l = 0; l < weights.size(); ++l) {
      const mpq_class& weight = (corner >> l & 1) != 0 ? weights[l].most : weights[l].least;
      sum += weight;
      low += weight * weights[l].low;
      high += weight * weights[l].high;
    }
    low /= sum;
    high /= sum;
    if (!made) made = {low, high};
    made->low = std::min(made->low, low);
    made->high = std::max(made->high, high);
  }
  return *made;
}

// Boxes hold the exact ranges and are no wider than these by 1e-6 of the values' size.
void expect_exact(const Means& made, int row, int column) {
  const auto at = static_cast<std::size_t>(row * made.n + column);
  const mpq_class centre = exact(made.z.centre[at]);
  const mpq_class radius = exact(static_cast<double>(made.z.radius[at]));
  const Range range = range_of(made, row, column);
  EXPECT_LE(centre - radius, range.low + kMissed);
  EXPECT_GE(centre + radius, range.high - kMissed);
  mpq_class size = 0;
  for (int l = 0; l < made.k; ++l) {
    const std::size_t value = made.value_at(column, l);
    size = std::max(size, mpq_class(abs(exact(made.values.centre[value])) +
                                    exact(static_cast<double>(made.values.radius[value]))));
  }
  EXPECT_LE(mpq_class(2 * radius), mpq_class(range.high - range.low + size / 1000000));
}

TEST(Means, AreExactOverScores) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const double spread = std::ldexp(1.0, random.between(-3, 6));
    Means made =
        random_means(random, random.between(1, 7), spread, std::ldexp(1.0, random.between(-12, 7)));
    made.relax(seed % 2 == 0);
    for (int row = 0; row < made.m; ++row)
      for (int column = 0; column < made.n; ++column) expect_exact(made, row, column);
  }
}

// Scores of width 2, as many as corners allow.
TEST(Means, AreExactOfTwelveScores) {
  Random random(12);
  Means made = random_means(random, 12, 2, 1);
  made.relax();
  for (const int column : {0, made.n - 1}) expect_exact(made, made.m - 1, column);
}

// Copies of a value have its box, however wide scores are.
TEST(Means, OfEqualValuesAreTheirBox) {
  Random random(3);
  Means made = random_means(random, 9, 3, 5);
  std::fill(made.of_y.begin(), made.of_y.end(), 0);
  made.relax();
  for (std::size_t i = 0; i < made.z.centre.size(); ++i) {
    EXPECT_NEAR(made.z.centre[i], made.values.centre[0], 1e-12);
    EXPECT_NEAR(static_cast<double>(made.z.radius[i]), static_cast<double>(made.values.radius[0]),
                1e-6);
  }
}

Means two_values() {
  Means made;
  made.k = 2;
  made.scores = {{0, 0}, {1, 1}};
  made.values = {{-1, 1}, {0, 0}};
  made.shares = {{0.5, 0.5}, {0.5F, 0.5F}};
  made.score = made.of_x = made.of_y = {0, 1};
  return made;
}

// The share of one of two scores in [-1, 1] is the logistic function of their difference, at most
// 2; the mean of -1 and 1 is tanh of half of it.
TEST(Means, ByHand) {
  Means made = two_values();
  made.relax();
  EXPECT_NEAR(made.z.centre[0], 0, 1e-12);
  EXPECT_NEAR(static_cast<double>(made.z.radius[0]), std::tanh(1.0), 1e-7);
}

// A share of 0, as that of a masked score, keeps its value out of the mean.
TEST(Means, OfMaskedScoresLeaveTheirValuesOut) {
  Means made = two_values();
  made.k = 3;
  made.shares = {{0.5, 0.5, 0}, {0.5F, 0.5F, 0}};
  made.values = {{-1, 1, 100}, {0, 0, 7}};
  made.score = {0, 1, -1};
  made.of_x = made.of_y = {0, 1, 2};
  made.relax();
  EXPECT_NEAR(made.z.centre[0], 0, 1e-12);
  EXPECT_NEAR(static_cast<double>(made.z.radius[0]), std::tanh(1.0), 1e-7);
}

// Scores too wide for their powers, and of which nothing is known, leave the hull of the values.
TEST(Means, OfWideScoresLieInTheHull) {
  for (const float radius : {700.0F, 1e30F, std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()}) {
    Means made = two_values();
    made.scores.radius = {radius, 0};
    made.relax();
    EXPECT_NEAR(made.z.centre[0], 0, 1e-12) << radius;
    EXPECT_NEAR(static_cast<double>(made.z.radius[0]), 1, 1e-6) << radius;
  }
}

// A value of which nothing is known makes its columns unknown, and no others.
TEST(Means, OfUnknownValues) {
  Means made = two_values();
  made.n = 2;
  made.values = {{-1, 1, 0}, {0, 0, std::numeric_limits<float>::infinity()}};
  made.of_y = {0, 2, 0, 1};
  made.relax();
  EXPECT_EQ(made.z.radius[0], std::numeric_limits<float>::infinity());
  EXPECT_NEAR(static_cast<double>(made.z.radius[1]), std::tanh(1.0), 1e-7);
}

}  // namespace
}  // namespace bf_test
