// Products and maxima against exact rationals: their boxes hold the values, and a backward row
// through them stays a lower bound, with the prices that the planner gives them and not without.

#include "runtime/bf/sums/planes.h"

#include <gtest/gtest.h>

#include "planes_support.h"
#include "runtime/bf/sums/mixed_planes.h"

namespace bf_test {
namespace {

// One random product layer; false when some bound does not hold. Both factors may be one tensor,
// whose coefficients are then added up.
bool product_holds(unsigned seed, bool with_prices) {
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const int n = random.between(1, 40);
  const bool square = random.below(4) == 0;
  const Tensor x = random_tensor(random, kind, random.between(1, 20));
  const Tensor y = square ? x : random_tensor(random, kind, n);
  const RandomTerm g = random_gather_term(random, n, x.size(), false, false);
  const RandomTerm h = square ? random_gather_term(random, n, x.size(), false, false)
                              : random_gather_term(random, n, n, false, random.below(2) == 0);
  Layer layer;
  resize(layer, n, bf::kProductRows);
  const int depth = g.most(true) + h.most(true) + 2;
  const bf::PlaneErrors errors{with_prices ? gamma_float(depth) : 0,
                               with_prices ? gamma_float(3) : 0};
  bf::relax_product(n, g.sources(), h.sources(), x.centre.data(), x.radius.data(), y.centre.data(),
                    y.radius.data(), 0, errors, layer.slack.data(), layer.table.data(),
                    layer.z.centre.data(), layer.z.radius.data());
  const std::vector<float> a = random.numbers(std::int64_t{n} * kRows, kind);
  std::vector<float> sums(2 * kRows, 0);
  const auto row = [&](int at) { return layer.table.data() + std::ptrdiff_t{at} * n; };
  bf::product_rows<kRows>(n, row(bf::kProductUpper), a.data(), sums.data());
  layer.out = {std::vector<float>(x.centre.size() * kRows, 7)};
  bf::product_backward<kRows>(n, g.sources(), row(bf::kUpperSlopeX), x.size(), a.data(), false,
                              layer.out[0].data());
  if (!square) layer.out.push_back(std::vector<float>(y.centre.size() * kRows, 7));
  bf::product_backward<kRows>(n, h.sources(), row(bf::kUpperSlopeY), y.size(), a.data(), square,
                              layer.out.back().data());
  bool holds = true;
  for (int trial = 0; trial < 6; ++trial) {
    const std::vector<mpq_class> px = random_point(random, x);
    const std::vector<mpq_class> py = square ? px : random_point(random, y);
    std::vector<mpq_class> z(static_cast<std::size_t>(n));
    for (const RandomTerm::Product& p : g.products) z[p.out] = px[p.in];
    for (const RandomTerm::Product& p : h.products) z[p.out] *= py[p.in];
    EXPECT_TRUE(box_holds(layer.z, z)) << seed;
    std::vector<const Tensor*> factors = {&x};
    std::vector<const std::vector<mpq_class>*> points = {&px};
    if (!square) {
      factors.push_back(&y);
      points.push_back(&py);
    }
    holds = holds && rows_hold(a, z, layer, factors, points, sums);
  }
  return holds;
}

TEST(Planes, ProductsHold) {
  for (unsigned seed = 0; seed < 400; ++seed) EXPECT_TRUE(product_holds(seed, true)) << seed;
}

TEST(Planes, ProductsNeedTheirPrices) {
  int broken = 0;
  for (unsigned seed = 0; seed < 400; ++seed) broken += product_holds(seed, false) ? 0 : 1;
  EXPECT_GT(broken, 0);
}

// What is known of |z| limits the box, and where the plane is no tighter the box is taken for it.
TEST(Planes, ProductsOfKnownMagnitude) {
  int tried = 0, flat = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const Tensor x = random_tensor(random, kAllNumbers[seed % 5], 1);
    const Tensor y = random_tensor(random, kAllNumbers[seed % 5], 1);
    const double most = std::ldexp(random.unit(), random.between(-8, 8)) + 0x1p-200;
    Layer layer;
    resize(layer, 1, bf::kProductRows);
    bf::relax_product(1, nullptr, nullptr, x.centre.data(), x.radius.data(), y.centre.data(),
                      y.radius.data(), most, {gamma_float(4), gamma_float(3)}, layer.slack.data(),
                      layer.table.data(), layer.z.centre.data(), layer.z.radius.data());
    EXPECT_LE(static_cast<double>(layer.z.radius[0]), most * (1 + 0x1p-20));
    flat += layer.table[0] == 0 && layer.table[1] == 0 ? 1 : 0;
    const std::vector<float> a = random.numbers(kRows, kAllNumbers[seed % 5]);
    std::vector<float> sums(2 * kRows, 0);
    std::vector<float> planes(4), share;  // seed % 2: rows choose their planes, but of a box
    for (int r = 0; r < kRows; ++r) share.push_back(static_cast<float>(random.unit()));
    bf::mixed_planes(1, 1, 1, 1, true, false, nullptr, nullptr, x.radius.data(), y.radius.data(),
                     layer.table.data() + bf::kProductUpper, layer.table.data(),
                     layer.table.data() + bf::kSlopeY, {gamma_float(4), gamma_float(3)},
                     planes.data());
    const bool mixed = seed % 2 == 1;
    bf::product_rows<kRows>(1, mixed ? planes.data() : layer.table.data() + bf::kProductUpper,
                            a.data(), sums.data());
    layer.out.assign(2, std::vector<float>(kRows, 7));
    for (std::size_t f = 0; f < 2; ++f)
      if (mixed)
        bf::mixed_planes_backward<kRows>(1, 1, 1, 1, f == 0, nullptr, layer.table.data() + f,
                                         planes.data() + 2 + f, share.data(), 1, a.data(), false,
                                         layer.out[f].data());
      else
        bf::product_backward<kRows>(1, nullptr, layer.table.data() + bf::kUpperSlopeX + 2 * f, 1,
                                    a.data(), false, layer.out[f].data());
    for (int trial = 0; trial < 20; ++trial) {
      const std::vector<mpq_class> px = random_point(random, x), py = random_point(random, y);
      const std::vector<mpq_class> z = {px[0] * py[0]};
      if (abs(z[0]) > exact(most)) continue;
      ++tried;
      EXPECT_TRUE(box_holds(layer.z, z)) << seed;
      EXPECT_TRUE(rows_hold(a, z, layer, {&x, &y}, {&px, &py}, sums)) << seed;
    }
  }
  EXPECT_GT(tried, 1000);
  EXPECT_GT(flat, 20);
}

TEST(Planes, ProductBoxesAreTight) {
  const double x[2] = {2, -1}, y[2] = {3, 0.5};
  const float r[2] = {1, 2}, s[2] = {0, 1};
  double centre[2];
  float radius[2];
  bf::relax_product(2, nullptr, nullptr, x, r, y, s, 0, {}, nullptr, nullptr, centre, radius);
  EXPECT_NEAR(centre[0], 6, 1e-12);  // [1, 3] 3 = [3, 9]
  EXPECT_NEAR(radius[0], 3, 1e-6);
  EXPECT_NEAR(centre[1], -1.5, 1e-12);  // [-3, 1] [-0.5, 1.5] = [-4.5, 1.5]
  EXPECT_NEAR(radius[1], 3, 1e-6);
}

// The least value of the plane below on the box is the box's lower end, and the largest of the
// plane above its upper one: of boxes of one sign, around zero, and of points.
TEST(Planes, ProductPlanesReachTheirBoxes) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    double x[1] = {8 * random.unit() - 4}, y[1] = {8 * random.unit() - 4};
    float r[1] = {static_cast<float>(2 * random.unit())};
    float s[1] = {seed % 7 == 0 ? 0 : static_cast<float>(2 * random.unit())};
    double centre[1], slack[bf::kSlack];
    float radius[1], table[bf::kProductRows];
    bf::relax_product(1, nullptr, nullptr, x, r, y, s, 0, {}, slack, table, centre, radius);
    for (const bool upper : {false, true}) {
      const auto at = [&](bf::ProductRow above, bf::ProductRow below) {
        return static_cast<double>(table[upper ? above : below]);
      };
      const double reach =
          std::abs(at(bf::kUpperSlopeX, bf::kLowerSlopeX)) * static_cast<double>(r[0]) +
          std::abs(at(bf::kUpperSlopeY, bf::kLowerSlopeY)) * static_cast<double>(s[0]);
      const double end = at(bf::kProductUpper, bf::kProductLower) + (upper ? reach : -reach);
      EXPECT_NEAR(end, static_cast<double>(upper ? radius[0] : -radius[0]), 1e-5) << seed;
    }
  }
}

// Rows that meet an infinite box claim nothing, whatever their coefficients.
TEST(Planes, ProductsOfUnknownsClaimNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const double size : {1.0, 1e30, 1e200}) {
    for (const float r : {infinity, 1.0F}) {
      if (size == 1.0 && r == 1.0F) continue;
      const double x[1] = {size}, y[1] = {size};
      const float rx[1] = {r}, ry[1] = {0};
      double centre[1], slack[bf::kSlack];
      float radius[1], table[bf::kProductRows + 1];
      bf::relax_product(1, nullptr, nullptr, x, rx, y, ry, 0, {}, slack, table, centre, radius);
      EXPECT_EQ(radius[0], infinity);  // also where a float cannot hold it
      for (const float a : {1.0F, -1.0F}) {
        const float coefficients[2] = {a, a};
        float sums[6] = {};
        bf::product_rows<2>(1, table + bf::kProductUpper, coefficients, sums);
        const double reach = static_cast<double>(sums[2]) - static_cast<double>(sums[0]);
        EXPECT_FALSE(bf::float_up(reach) < infinity) << size << " " << r << " " << a;
      }
    }
  }
}

// ---- maxima

// Groups of as many candidates, as of a pooling layer: of numbers below `size`.
RandomTerm random_groups(Random& random, int n, int size) {
  const int count = random.between(1, 9);
  RandomTerm made;
  made.row_start = {0};
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < count; ++k) made.column.push_back(random.below(size));
    made.row_start.push_back((i + 1) * count);
  }
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < count; ++k) {
      RandomTerm::Product product{};
      product.out = static_cast<std::size_t>(i);
      product.in = static_cast<std::size_t>(made.column[static_cast<std::size_t>(i * count + k)]);
      made.products.push_back(product);
    }
  return made;
}

// mixed: rows choose the candidates that stand for the maximum from below.
bool max_holds(unsigned seed, bool with_prices, bool mixed = false) {
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const int n = random.between(1, 30);
  Tensor x = random_tensor(random, kind, random.between(1, 12));
  if (seed % 3 == 0)  // narrow boxes: some choices are exact
    for (float& r : x.radius) r *= 0.01F;
  const RandomTerm map = seed % 2 == 0 ? random_sparse_term(random, kind, n, x.size())
                                       : random_groups(random, n, x.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    if (map.row_start[i] == map.row_start[i + 1]) return true;  // rows are never empty
  Layer layer;
  resize(layer, n, 3);
  std::vector<std::int32_t> choice(static_cast<std::size_t>(n), -1);
  const int readers = mixed ? static_cast<int>(map.column.size()) : n;
  const bf::PlaneErrors errors{with_prices ? gamma_float(readers + 2) : 0,
                               with_prices ? gamma_float(3) : 0};
  bf::relax_max(n, map.row_start.data(), map.column.data(), x.centre.data(), x.radius.data(),
                errors, layer.slack.data(), layer.table.data(), choice.data(),
                layer.z.centre.data(), layer.z.radius.data());
  const std::vector<float> a = random.numbers(std::int64_t{n} * kRows, kind);
  std::vector<float> sums(2 * kRows, 0);
  layer.out = {std::vector<float>(x.centre.size() * kRows, 7)};
  if (mixed) {
    std::vector<float> candidates(map.column.size()), share;
    for (std::size_t i = 0; i < map.column.size() * kRows; ++i)
      share.push_back(random.below(3) == 0 ? static_cast<float>(random.below(2))
                                           : static_cast<float>(random.unit()));
    bf::mixed_maxima(n, map.row_start.data(), map.column.data(), x.centre.data(), x.radius.data(),
                     layer.z.centre.data(), layer.z.radius.data(), errors, candidates.data());
    bf::mixed_maxima_backward<kRows>(n, map.row_start.data(), map.column.data(), layer.table.data(),
                                     choice.data(), candidates.data(), share.data(), x.size(),
                                     a.data(), false, layer.out[0].data(), sums.data());
  } else {
    bf::max_backward<kRows>(n, layer.table.data(), choice.data(), x.size(), a.data(), false,
                            layer.out[0].data(), sums.data());
  }
  bool holds = true;
  for (int trial = 0; trial < 6; ++trial) {
    const std::vector<mpq_class> point = random_point(random, x);
    std::vector<mpq_class> z(static_cast<std::size_t>(n));
    std::vector<bool> seen(z.size(), false);
    for (const RandomTerm::Product& p : map.products) {
      if (!seen[p.out] || point[p.in] > z[p.out]) z[p.out] = point[p.in];
      seen[p.out] = true;
    }
    EXPECT_TRUE(box_holds(layer.z, z)) << seed;
    holds = holds && rows_hold(a, z, layer, {&x}, {&point}, sums);
  }
  return holds;
}

TEST(Planes, MaximaHold) {
  for (unsigned seed = 0; seed < 600; ++seed) EXPECT_TRUE(max_holds(seed, true)) << seed;
}

TEST(Planes, MixedMaximaHold) {
  for (unsigned seed = 0; seed < 600; ++seed) EXPECT_TRUE(max_holds(seed, true, true)) << seed;
}

TEST(Planes, MixedMaximaNeedTheirPrices) {
  int broken = 0;
  for (unsigned seed = 0; seed < 600; ++seed) broken += max_holds(seed, false, true) ? 0 : 1;
  EXPECT_GT(broken, 0);
}

// Without shares the rows are those of the chosen candidates.
TEST(Planes, MixedMaximaBeginWithTheChoice) {
  const double centre[3] = {1, 2, 1.5};
  const float radius[3] = {1, 0.5F, 0.25F};
  const std::int32_t row_start[2] = {0, 3};
  const std::int32_t column[3] = {0, 1, 2};
  double z[1], slack[bf::kSlack];
  float r[1], table[3], candidates[3];
  std::int32_t choice[1];
  bf::relax_max(1, row_start, column, centre, radius, {}, slack, table, choice, z, r);
  bf::mixed_maxima(1, row_start, column, centre, radius, z, r, {}, candidates);
  const float a[2] = {3, -3};
  const float none[6] = {}, some[6] = {0.5F, 0.5F, 7, 7, 0.25F, 0.25F};
  float out[6], sums[6] = {};
  bf::mixed_maxima_backward<2>(1, row_start, column, table, choice, candidates, none, 3, a, false,
                               out, sums);
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{0, 0, 3, 0, 0, 0}));
  bf::mixed_maxima_backward<2>(1, row_start, column, table, choice, candidates, some, 3, a, false,
                               out, sums);
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{1.5F, 0, 1.125F, 0, 0.375F, 0}));
}

// A row takes another candidate where that is larger at its point.
TEST(Planes, StepsOfMaximaFindTheLargerCandidate) {
  const double centre[2] = {0, 0};
  const float radius[2] = {1, 1};
  const std::int32_t row_start[2] = {0, 2};
  const std::int32_t column[2] = {0, 1};
  double z[1], slack[bf::kSlack];
  float r[1], table[3], candidates[2];
  std::int32_t choice[1];
  bf::relax_max(1, row_start, column, centre, radius, {}, slack, table, choice, z, r);
  ASSERT_EQ(choice[0], 0);
  bf::mixed_maxima(1, row_start, column, centre, radius, z, r, {}, candidates);
  const float a[2] = {1, 1}, from[4] = {-1, 1, 1, -1};
  float share[4] = {}, mean[4] = {}, square[4] = {}, values[2];
  bf::SlopeAscent ascent;
  for (int step = 0; step < 20; ++step) {
    ascent.next();
    bf::step_maxima<2>(1, row_start, column, table, choice, candidates, ascent, from, a, share,
                       mean, square, values);
  }
  EXPECT_EQ(share[2], 1);  // of the second candidate, in the first row
  EXPECT_EQ(share[3], 0);
  EXPECT_NEAR(values[0], 1, 0.2);
  EXPECT_NEAR(values[1], 1, 1e-6);
}

// Side by side as alone: the same boxes, tables and choices.
TEST(Planes, MaximaSideBySide) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    const int n = random.between(1, 40);
    Tensor x = random_tensor(random, kind, random.between(1, 40));
    if (seed % 7 == 0) x.radius.front() = std::numeric_limits<float>::infinity();
    if (seed % 11 == 0) x.centre.back() = std::numeric_limits<double>::quiet_NaN();
    if (seed % 13 == 0) x.centre.back() = -std::numeric_limits<double>::infinity();
    const RandomTerm map = random_groups(random, n, x.size());
    const auto rows = static_cast<std::size_t>(n);
    std::vector<double> centre(rows);
    std::vector<float> radius(rows), table(3 * rows);
    std::vector<std::int32_t> choice(rows);
    const bf::PlaneErrors errors{gamma_float(n + 2), gamma_float(3)};
    double slack[bf::kSlack];
    bf::relax_max(n, map.row_start.data(), map.column.data(), x.centre.data(), x.radius.data(),
                  errors, slack, table.data(), choice.data(), centre.data(), radius.data());
    for (std::size_t i = 0; i < rows; ++i) {
      double z[1];
      float r[1], own[3];
      std::int32_t k[1];
      bf::relax_max(1, map.row_start.data() + i, map.column.data(), x.centre.data(),
                    x.radius.data(), errors, slack, own, k, z, r);
      EXPECT_EQ(z[0], centre[i]);
      EXPECT_EQ(r[0], radius[i]);
      for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(own[t], table[t * rows + i]);
      EXPECT_EQ(k[0], choice[i]);
    }
  }
}

TEST(Planes, MaximaNeedTheirPrices) {
  int broken = 0;
  for (unsigned seed = 0; seed < 600; ++seed) broken += max_holds(seed, false) ? 0 : 1;
  EXPECT_GT(broken, 0);
}

TEST(Planes, MaximaChoose) {
  // x0 in [0, 2], x1 in [1.5, 2.5], x2 in [-1, 0], x3 in [1, 1.5]
  const double centre[4] = {1, 2, -0.5, 1.25};
  const float radius[4] = {1, 0.5F, 0.5F, 0.25F};
  const std::int32_t row_start[4] = {0, 2, 4, 5};
  const std::int32_t column[5] = {0, 1, 1, 3, 2};
  double z[3], slack[bf::kSlack];
  float r[3], table[9];
  std::int32_t choice[3];
  bf::relax_max(3, row_start, column, centre, radius, {}, slack, table, choice, z, r);
  EXPECT_EQ(choice[0], 1);
  EXPECT_EQ(table[6], 1);  // x0 reaches above 1.5
  EXPECT_NEAR(z[0], 2, 1e-12);
  EXPECT_NEAR(r[0], 0.5, 1e-6);
  EXPECT_EQ(choice[1], 1);
  EXPECT_EQ(choice[2], 2);
  EXPECT_EQ(table[8], 0);  // alone
  EXPECT_EQ(z[2], -0.5);
  EXPECT_EQ(r[2], 0.5F);
}

// A candidate of which nothing is known: no upper bound, and the lower bound of the other.
TEST(Planes, MaximaOfUnknownsClaimNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  const double centre[2] = {0, 5};
  const float radius[2] = {infinity, 1};
  const std::int32_t row_start[2] = {0, 2};
  const std::int32_t column[2] = {0, 1};
  double z[1], slack[bf::kSlack];
  float r[1], table[3];
  std::int32_t choice[1];
  bf::relax_max(1, row_start, column, centre, radius, {}, slack, table, choice, z, r);
  EXPECT_EQ(r[0], infinity);
  EXPECT_EQ(table[0], infinity);
  EXPECT_EQ(choice[0], 1);
  const float coefficients[2] = {-1, 1};
  float out[4], sums[6] = {};
  bf::max_backward<2>(1, table, choice, 2, coefficients, false, out, sums);
  EXPECT_EQ(sums[0], -infinity);
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[3], 1);
}

}  // namespace
}  // namespace bf_test
