// Balls of layers and gains of rows, against exact arithmetic.

#include "runtime/bf/sums/ball_layers.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "runtime/bf/core/relax.h"
#include "terms_random.h"

namespace bf_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

mpq_class squares_of(const std::vector<float>& numbers) {
  mpq_class sum;
  for (const float x : numbers) sum += mpq_class(x) * mpq_class(x);
  return sum;
}

TEST(BallTerm, IsTheLeastOfBothReachesTimesTheNorm) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const Numbers kind = kAllNumbers[static_cast<std::size_t>(round) % std::size(kAllNumbers)];
    const int in = random.between(1, 30), out = random.between(1, 12);
    const std::vector<float> radius = random.radii(in, kind), rows = random.radii(out, kind);
    const double norm = std::fabs(static_cast<double>(random.number(kind)));
    const double reach_in = std::ldexp(random.unit(), random.between(-20, 20));
    double reach = 0;
    std::vector<float> half(static_cast<std::size_t>(out));
    bf::ball_term(in, radius.data(), &reach_in, 1, norm, out, rows.data(), false, &reach,
                  half.data());
    const double before = reach;
    // |radius| < reach_in by the exact squares
    const mpq_class squares = squares_of(radius), given = mpq_class(reach_in) * reach_in;
    const mpq_class least = squares < given ? squares : given;
    const mpq_class exact_reach = mpq_class(norm) * mpq_class(norm) * least;
    ASSERT_GE(mpq_class(reach) * reach, exact_reach);
    for (int j = 0; j < out; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (!std::isfinite(half[at])) continue;
      ASSERT_GE(mpq_class(half[at]) * half[at], mpq_class(rows[at]) * rows[at] * least);
    }
    // Another term adds to it.
    bf::ball_term(in, radius.data(), &reach_in, 1, norm, out, rows.data(), true, &reach,
                  half.data());
    ASSERT_GE(mpq_class(reach), 2 * mpq_class(before) * (1 - mpq_class(0x1p-30)));
  }
}

TEST(BallTerm, TakesTheLargestRadiusOfInputs) {
  const float radius[] = {0.5F, 2, 1}, rows[] = {3, 0};
  double reach = 0;
  float half[2];
  bf::ball_term(3, radius, nullptr, 1.25, 4, 2, rows, false, &reach, half);
  EXPECT_GE(reach, 10);
  EXPECT_LE(reach, 10.001);
  EXPECT_GE(half[0], 7.5F);
  EXPECT_LE(half[0], 7.501F);
  const float unknown[] = {0.5F, kInf, 1};
  bf::ball_term(3, unknown, nullptr, 1, 4, 2, rows, false, &reach, half);
  EXPECT_FALSE(reach < 1e300);
}

TEST(MeetBall, KeepsTheTighterBoundAndAddsWhatCentresMiss) {
  const float half[] = {1, 3};
  const double row[] = {0.25, 0.5};
  float below[] = {2, 2}, above[] = {1, kInf};
  double reach = 2;
  bf::meet_ball(2, half, row, below, above, &reach);
  EXPECT_GE(below[0], 1.25F);
  EXPECT_LE(below[0], 1.26F);
  EXPECT_EQ(below[1], 2);
  EXPECT_EQ(above[0], 1);
  EXPECT_GE(above[1], 3.5F);
  EXPECT_GE(reach, 2 + std::sqrt(0.3125));
  EXPECT_LE(reach, 2 + std::sqrt(0.3125) + 1e-5);
}

// ---- gains

// A layer of neurons with bounds about centres, lines as relax_at_points() makes them, and rows.
struct Layer {
  int n;
  std::vector<double> centre;
  std::vector<float> below, above, table, rows;
};

constexpr int kRows = 8;

Layer random_layer(Random& random, int n, Numbers kind) {
  Layer made{n, {}, {}, {}, {}, {}};
  for (int j = 0; j < n; ++j) {
    const double scale = std::ldexp(1.0, random.between(-3, 3));
    made.centre.push_back(scale * (2 * random.unit() - 1));
    made.below.push_back(static_cast<float>(scale * 2 * random.unit()));
    made.above.push_back(static_cast<float>(scale * 2 * random.unit()));
  }
  made.table.resize(static_cast<std::size_t>(6 * n));
  std::vector<float> radius(static_cast<std::size_t>(n)), radius_out = radius;
  std::vector<double> row(static_cast<std::size_t>(n)), centre_out = row;
  double slack[4] = {};
  bf::relax_at_points(n, true, made.centre.data(), made.below.data(), made.above.data(),
                      radius.data(), {}, slack, row.data(), made.table.data(), centre_out.data(),
                      radius_out.data());
  made.rows = random.numbers(std::int64_t{n} * kRows, kind);
  return made;
}

// |A| times the gap between the line of A's sign and the ReLU, at z = centre + d: of lines that are
// as near as any of their slopes can be over the neuron's interval.
mpq_class gap(const Layer& layer, int j, int r, const mpq_class& d) {
  const auto at = static_cast<std::size_t>(j);
  const mpq_class a(layer.rows[at * kRows + static_cast<std::size_t>(r)]);
  const mpq_class z = mpq_class(layer.centre[at]) + d;
  const mpq_class low = mpq_class(layer.centre[at]) - mpq_class(layer.below[at]);
  const mpq_class high = mpq_class(layer.centre[at]) + mpq_class(layer.above[at]);
  if (low >= 0 || high <= 0) return 0;
  const mpq_class relu = z > 0 ? z : mpq_class(0);
  if (a >= 0) return a * (relu - mpq_class(layer.table[static_cast<std::size_t>(layer.n + j)]) * z);
  const mpq_class s(layer.table[at]);
  const mpq_class at_low = -s * low, at_high = (1 - s) * high;
  return -a * (s * z + (at_low > at_high ? at_low : at_high) - relu);
}

// The exact sum of all gaps at a point that is moved into the ball and the neurons' intervals.
mpq_class gaps_at(const Layer& layer, int r, const std::vector<double>& point, double reach) {
  double square = 0;
  std::vector<double> d = point;
  for (int j = 0; j < layer.n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    d[at] = std::clamp(d[at], -static_cast<double>(layer.below[at]),
                       static_cast<double>(layer.above[at]));
    square += d[at] * d[at];
  }
  const double scale = square > reach * reach ? reach / std::sqrt(square) * (1 - 0x1p-40) : 1;
  mpq_class sum;
  for (int j = 0; j < layer.n; ++j)
    sum += gap(layer, j, r, mpq_class(d[static_cast<std::size_t>(j)]) * mpq_class(scale));
  return sum;
}

// Points where the sum is small: towards the ends where lines touch, by steps of many sizes.
std::vector<double> towards_touch(const Layer& layer, int r, double multiplier, Random& random) {
  std::vector<double> d;
  for (int j = 0; j < layer.n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const auto a = static_cast<double>(layer.rows[at * kRows + static_cast<std::size_t>(r)]);
    const double slope = static_cast<double>(layer.table[at]);
    const bool left = random.below(3) == 0
                          ? random.below(2) == 0
                          : layer.below[at] * slope < layer.above[at] * (1 - slope);
    double to =
        a >= 0 ? -layer.centre[at] : static_cast<double>(left ? -layer.below[at] : layer.above[at]);
    const double most = std::fabs(a) * multiplier;
    if (std::fabs(to) > most) to = std::copysign(most, to);
    d.push_back(to);
  }
  return d;
}

TEST(BallGain, IsNotMoreThanTheLeastSumOfGaps) {
  Random random(7);
  int gained = 0, near = 0;
  for (int round = 0; round < 60; ++round) {
    const int n = random.between(1, 50);
    const Layer layer = random_layer(
        random, n, kAllNumbers[static_cast<std::size_t>(round) % std::size(kAllNumbers)]);
    const double reach = std::ldexp(1 + random.unit(), random.between(-6, 3));
    std::vector<float> gain(kRows);
    bf::ball_gain<kRows>(n, layer.centre.data(), layer.below.data(), layer.above.data(),
                         layer.table.data(), &reach, layer.rows.data(), gain.data());
    for (int r = 0; r < kRows; ++r) {
      const float found = gain[static_cast<std::size_t>(r)];
      ASSERT_TRUE(std::isfinite(found) && found >= 0);
      if (found == 0) continue;
      ++gained;
      bool close = false;
      for (int p = 0; p < 20; ++p) {
        const double multiplier = std::ldexp(reach, p - 8);
        const mpq_class sum = gaps_at(layer, r, towards_touch(layer, r, multiplier, random), reach);
        ASSERT_LE(mpq_class(found), sum) << round << " " << r << " " << p;
        close = close || sum <= mpq_class(found) * mpq_class(1.1);
      }
      near += close ? 1 : 0;
    }
  }
  std::printf("%d rows gain, %d of them at least 0.9 of the least sum\n", gained, near);
  EXPECT_GT(gained, 100);
  EXPECT_GT(near, gained / 10);
}

// One neuron: the least gap of the ball is where it is nearest to the end that the line touches.
TEST(BallGain, OfOneNeuronIsItsLeastGap) {
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    const Layer layer = random_layer(random, 1, Numbers::kEven);
    const double low = layer.centre[0] - static_cast<double>(layer.below[0]);
    const double high = layer.centre[0] + static_cast<double>(layer.above[0]);
    if (low >= 0 || high <= 0) continue;
    const double reach = 0.3 * random.unit() * std::fabs(layer.centre[0]);
    std::vector<float> gain(kRows);
    bf::ball_gain<kRows>(1, layer.centre.data(), layer.below.data(), layer.above.data(),
                         layer.table.data(), &reach, layer.rows.data(), gain.data());
    for (int r = 0; r < kRows; ++r) {
      mpq_class least = gap(layer, 0, r, 0);
      for (const double d : {-reach, reach}) {
        const double inside = std::clamp(d, -static_cast<double>(layer.below[0]),
                                         static_cast<double>(layer.above[0]));
        const mpq_class there = gap(layer, 0, r, mpq_class(inside));
        if (there < least) least = there;
      }
      const mpq_class found(gain[static_cast<std::size_t>(r)]);
      EXPECT_LE(found, least);
      EXPECT_GE(found, least * mpq_class(0.9) - mpq_class(0x1p-20)) << layer.centre[0];
    }
  }
}

TEST(BallGain, OfWhatIsNotKnownIsNothing) {
  const double centre[] = {0.5, -0.5}, known = 1;
  float below[] = {kInf, 1}, above[] = {1, std::nanf("")};
  const float table[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  const float rows[] = {1, kInf, -1, std::nanf(""), -2, 3, -kInf, 0x1p-140F,
                        1, kInf, -1, std::nanf(""), -2, 3, -kInf, 0x1p-140F};
  for (const double reach : {known, static_cast<double>(kInf), std::nan(""), 0.0}) {
    std::vector<float> gain(kRows);
    bf::ball_gain<kRows>(2, centre, below, above, table, &reach, rows, gain.data());
    for (const float each : gain) EXPECT_TRUE(std::isfinite(each) && each >= 0);
    if (reach == known) continue;
    for (const float each : gain) EXPECT_EQ(each, 0);
  }
}

TEST(TakeBallGain, RoundsDown) {
  const float gain[] = {0x1p-30F, 0, 1, 2};
  float sums[] = {1, 3, -kInf, 5};
  bf::take_ball_gain<4>(gain, sums);
  EXPECT_LE(sums[0], 1 + 0x1p-30);
  EXPECT_GE(sums[0], 1 - 0x1p-23);
  EXPECT_EQ(sums[1], 3);
  EXPECT_EQ(sums[2], -kInf);
  EXPECT_LE(sums[3], 7);
}

// ---- centres

TEST(RelaxAtPoints, ClaimNothingOfEndsThatAreInfinite) {
  const double centre = 5;
  const float below = 1, above = kInf;
  float table[6], radius = 1, radius_out = 0;
  double slack[4] = {}, row = 0, centre_out = 0;
  bf::relax_at_points(1, true, &centre, &below, &above, &radius, {}, slack, &row, table,
                      &centre_out, &radius_out);
  EXPECT_EQ(table[bf::kOffsetUpper], kInf);
  EXPECT_EQ(radius_out, kInf);
}

TEST(RelaxAtPoints, LinesHoldAboutTheCentreOfZ) {
  Random random(9);
  for (int round = 0; round < 500; ++round) {
    const bool relu = round % 4 != 0;
    const double centre = std::ldexp(2 * random.unit() - 1, random.between(-4, 4));
    const auto below = static_cast<float>(std::ldexp(random.unit(), random.between(-6, 4)));
    const auto above = static_cast<float>(std::ldexp(random.unit(), random.between(-6, 4)));
    float table[6], radius = 1, radius_out = 0;
    double slack[4] = {}, row = 0, centre_out = 0;
    bf::relax_at_points(1, relu, &centre, &below, &above, &radius, {}, slack, &row, table,
                        &centre_out, &radius_out);
    const mpq_class low = mpq_class(centre) - mpq_class(below);
    const mpq_class high = mpq_class(centre) + mpq_class(above);
    const bool dead = relu && high <= 0;
    const double point = relu && (dead || centre < 0) ? 0 : centre;
    EXPECT_EQ(centre_out, point);
    for (const mpq_class& z : {low, high, mpq_class(centre), mpq_class((low + high) / 2)}) {
      const mpq_class a = relu && z < 0 ? mpq_class(0) : z;
      const mpq_class d = z - mpq_class(centre), from = a - mpq_class(centre_out);
      EXPECT_LE(from, mpq_class(table[bf::kSlopeUpper]) * d + mpq_class(table[bf::kOffsetUpper]));
      EXPECT_GE(from, mpq_class(table[bf::kSlopeLower]) * d + mpq_class(table[bf::kOffsetLower]));
      EXPECT_LE(abs(from), mpq_class(radius_out));
    }
  }
}

}  // namespace
}  // namespace bf_test
