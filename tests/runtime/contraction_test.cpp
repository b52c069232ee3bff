// Products of matrices against exact rationals: their boxes hold the values, and a backward row
// through them stays a lower bound, with the prices that the planner gives them and not without.

#include "runtime/bf/sums/contraction.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "planes_support.h"
#include "runtime/bf/sums/mixed_planes.h"

namespace bf_test {
namespace {

struct Shape {
  int batch, m, n, k;
  int out() const { return batch * m * n; }
};

struct Contraction {
  Shape shape{};
  bool convex = false;  // rows of x add up to 1
  Tensor x, y;
  std::vector<std::int32_t> of_x, of_y;  // where the factors' elements are
  Layer layer;
  std::vector<float> planes, share;  // of rows that choose their planes

  // visit(output, element of x, element of y) for all products.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (int row = 0; row < shape.batch * shape.m; ++row)
      for (int j = 0; j < shape.n; ++j)
        for (int l = 0; l < shape.k; ++l)
          visit(static_cast<std::size_t>(row * shape.n + j), x_at(row * shape.k + l),
                y_at((row / shape.m * shape.n + j) * shape.k + l));
  }
  std::size_t x_at(int place) const {
    return static_cast<std::size_t>(of_x[static_cast<std::size_t>(place)]);
  }
  std::size_t y_at(int place) const {
    return static_cast<std::size_t>(of_y[static_cast<std::size_t>(place)]);
  }
  int tables() const { return 2 * shape.out() + 4 * shape.batch * (shape.m + shape.n) * shape.k; }

  void relax(const bf::PlaneErrors& errors, bool with_table = true) {
    const auto [batch, m, n, k] = shape;
    layer.z.centre.assign(static_cast<std::size_t>(shape.out()), 7);
    layer.z.radius.assign(static_cast<std::size_t>(shape.out()), 7);
    layer.table.assign(static_cast<std::size_t>(tables()), 7);
    std::vector<double> scratch(
        static_cast<std::size_t>(bf::kContractionPanels * k * (n + 1) + 3 * n));
    const std::int32_t *const gather_x = of_x.data(), *const gather_y = of_y.data();
    // Scores are those of one point here; means_test.cpp has others.
    const std::vector<std::int32_t> score(x.centre.size(), 0);
    const double centre_s = 0;
    const float radius_s = std::numeric_limits<float>::infinity();
    bf::relax_contraction(batch, m, n, k, gather_x, gather_y, x.centre.data(), x.radius.data(),
                          y.centre.data(), y.radius.data(), convex ? score.data() : nullptr,
                          &centre_s, &radius_s, errors, scratch.data(), layer.slack.data(),
                          with_table ? layer.table.data() : nullptr, layer.z.centre.data(),
                          layer.z.radius.data());
  }

  // Shares of all kinds, and what rows that have them read.
  void mix(Random& random, const bf::PlaneErrors& errors) {
    const auto [batch, m, n, k] = shape;
    planes.assign(static_cast<std::size_t>(tables()), 7);
    const std::int32_t *const gather_x = of_x.data(), *const gather_y = of_y.data();
    const float* const offsets = layer.table.data();
    const float* const slopes_x = offsets + 2 * shape.out();
    bf::mixed_planes(batch, m, n, k, false, true, gather_x, gather_y, x.radius.data(),
                     y.radius.data(), offsets, slopes_x + batch * m * k, slopes_x, errors,
                     planes.data());
    for (int i = 0; i < shape.out() * kRows; ++i)
      share.push_back(random.below(3) == 0 ? static_cast<float>(random.below(2))
                                           : static_cast<float>(random.unit()));
  }

  // Rows through the planes of the table, or through those that they chose, and their sums.
  std::vector<float> pull_back(const std::vector<float>& a) {
    const auto [batch, m, n, k] = shape;
    std::vector<float> sums(2 * kRows, 0);
    const float* const slopes_x = layer.table.data() + 2 * shape.out();
    const float* const slopes_y = slopes_x + batch * m * k;
    if (!share.empty()) return pull_back_mixed(a, slopes_x, slopes_y);
    bf::product_rows<kRows>(shape.out(), layer.table.data(), a.data(), sums.data());
    layer.out = {std::vector<float>(x.centre.size() * kRows, 7),
                 std::vector<float>(y.centre.size() * kRows, 7)};
    const std::int32_t *const gather_x = of_x.data(), *const gather_y = of_y.data();
    const int count_x = batch * m * k, count_y = batch * n * k;
    const float* const table_x = slopes_y + count_y;
    const float* const table_y = table_x + 3 * count_x;
    bf::contraction_backward<kRows>(batch, m, n, k, true, gather_x, table_y, table_y + count_y,
                                    table_x + 2 * count_x, x.size(), a.data(), false,
                                    layer.out[0].data());
    bf::contraction_backward<kRows>(batch, n, m, k, false, gather_y, table_x, table_x + count_x,
                                    table_y + 2 * count_y, y.size(), a.data(), false,
                                    layer.out[1].data());
    return sums;
  }

 private:
  std::vector<float> pull_back_mixed(const std::vector<float>& a, const float* slopes_x,
                                     const float* slopes_y) {
    const auto [batch, m, n, k] = shape;
    std::vector<float> sums(2 * kRows, 0);
    const float* const radii_y = planes.data() + 2 * shape.out();
    const float* const radii_x = radii_y + batch * n * k;
    bf::product_rows<kRows>(shape.out(), planes.data(), a.data(), sums.data());
    layer.out = {std::vector<float>(x.centre.size() * kRows, 7),
                 std::vector<float>(y.centre.size() * kRows, 7)};
    const std::int32_t *const gather_x = of_x.data(), *const gather_y = of_y.data();
    bf::mixed_planes_backward<kRows>(batch, m, n, k, true, gather_x, slopes_y, radii_y,
                                     share.data(), x.size(), a.data(), false, layer.out[0].data());
    bf::mixed_planes_backward<kRows>(batch, n, m, k, false, gather_y, slopes_x, radii_x,
                                     share.data(), y.size(), a.data(), false, layer.out[1].data());
    return sums;
  }
};

Contraction random_contraction(Random& random, Numbers kind) {
  Contraction made;
  made.shape = {random.between(1, 2), random.between(1, 4), random.between(1, 11),
                random.between(1, 9)};
  made.x = random_tensor(random, kind, random.between(1, 20));
  made.y = random_tensor(random, kind, random.between(1, 20));
  const auto [batch, m, n, k] = made.shape;
  for (int i = 0; i < batch * m * k; ++i) made.of_x.push_back(random.below(made.x.size()));
  for (int i = 0; i < batch * n * k; ++i) made.of_y.push_back(random.below(made.y.size()));
  return made;
}

// How often the most read element is read.
int most(const std::vector<std::int32_t>& elements) {
  std::vector<int> count(64, 0);
  for (const std::int32_t element : elements) ++count[static_cast<std::size_t>(element)];
  return *std::max_element(count.begin(), count.end());
}

bool hold_at_points(Random& random, Contraction& made, const std::vector<float>& a) {
  const std::vector<float> sums = made.pull_back(a);
  bool holds = true;
  for (int trial = 0; trial < 6; ++trial) {
    const std::vector<mpq_class> px = random_point(random, made.x),
                                 py = random_point(random, made.y);
    std::vector<mpq_class> z(static_cast<std::size_t>(made.shape.out()), 0);
    made.for_each([&](std::size_t i, std::size_t g, std::size_t h) { z[i] += px[g] * py[h]; });
    EXPECT_TRUE(box_holds(made.layer.z, z));
    holds = holds && rows_hold(a, z, made.layer, {&made.x, &made.y}, {&px, &py}, sums);
  }
  return holds;
}

// mixed: with planes that the rows choose.
bool contraction_holds(unsigned seed, bool with_prices, bool mixed = false) {
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  Contraction made = random_contraction(random, kind);
  const int depth = std::max(most(made.of_x) * made.shape.n, most(made.of_y) * made.shape.m) + 2;
  const bf::PlaneErrors errors = {with_prices ? gamma_float(depth) : 0,
                                  with_prices ? gamma_float(3) : 0};
  made.relax(errors);
  if (mixed) made.mix(random, errors);
  return hold_at_points(random, made, random.numbers(std::int64_t{made.shape.out()} * kRows, kind));
}

TEST(Contraction, Holds) {
  for (unsigned seed = 0; seed < 400; ++seed) EXPECT_TRUE(contraction_holds(seed, true)) << seed;
}

TEST(Contraction, NeedsItsPrices) {
  int broken = 0;
  for (unsigned seed = 0; seed < 400; ++seed) broken += contraction_holds(seed, false) ? 0 : 1;
  EXPECT_GT(broken, 0);
}

TEST(Contraction, MixturesHold) {
  for (unsigned seed = 0; seed < 400; ++seed)
    EXPECT_TRUE(contraction_holds(seed, true, true)) << seed;
}

TEST(Contraction, MixturesNeedTheirPrices) {
  int broken = 0;
  for (unsigned seed = 0; seed < 400; ++seed)
    broken += contraction_holds(seed, false, true) ? 0 : 1;
  EXPECT_GT(broken, 0);
}

// Planes reach the boxes of sums of products whose factors are read once.
TEST(Contraction, PlanesReachTheirBoxes) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Contraction made;
    made.shape = {1, 1, 1, random.between(1, 9)};
    for (int l = 0; l < made.shape.k; ++l) {
      made.of_x.push_back(l);
      made.of_y.push_back(l);
      for (Tensor* const factor : {&made.x, &made.y}) {
        factor->centre.push_back(8 * random.unit() - 4);
        factor->radius.push_back(random.below(7) == 0 ? 0 : static_cast<float>(random.unit() * 2));
      }
    }
    made.relax({});
    const std::vector<float> sums = made.pull_back({1, 1, -1, -1});
    for (std::size_t row = 0; row < kRows; ++row) {
      double end = static_cast<double>(sums[row]);
      for (std::size_t l = 0; l < made.x.centre.size(); ++l) {
        const auto over = [&](int f) {
          return std::abs(
              static_cast<double>(made.layer.out[static_cast<std::size_t>(f)][l * kRows + row]));
        };
        end -= over(0) * static_cast<double>(made.x.radius[l]) +
               over(1) * static_cast<double>(made.y.radius[l]);
      }
      EXPECT_NEAR(end, static_cast<double>(-made.layer.z.radius[0]), 1e-4) << seed;
    }
  }
}

// x y over [-1, 1]^2 from above, at the corner where x + y is 2: the plane in the middle has 1
// there, as has every mixture; at (1, -1) McCormick's have -1 and 3 - 2 = 1.
TEST(Contraction, SharesChooseMcCormicksPlanes) {
  Contraction made;
  made.shape = {1, 1, 1, 1};
  made.x = {{0}, {1}};
  made.y = {{0}, {1}};
  made.of_x = made.of_y = {0};
  made.relax({});
  Random random(1);
  made.mix(random, {});
  made.share = {0, 1, 0, 1};
  const std::vector<float> sums = made.pull_back({1, 1, -1, -1});
  EXPECT_EQ(made.layer.out[0], (std::vector<float>{-1, 1, 1, -1}));
  EXPECT_EQ(made.layer.out[1], (std::vector<float>{-1, 1, -1, 1}));
  for (std::size_t r = 0; r < kRows; ++r) EXPECT_NEAR(static_cast<double>(sums[r]), -1, 1e-6);
}

// Steps along the gradient find the planes that are best where rows are least.
TEST(Contraction, StepsImproveShares) {
  Contraction made;
  made.shape = {1, 1, 1, 1};
  made.x = {{0}, {1}};
  made.y = {{0}, {1}};
  made.of_x = made.of_y = {0};
  made.relax({});
  Random random(1);
  made.mix(random, {});
  made.share.assign(kRows, 0.5F);
  const std::int32_t* const gather = made.of_x.data();
  const float* const slopes = made.layer.table.data() + 2;
  std::vector<float> mean(kRows, 0), square(kRows, 0), values(kRows, 7);
  const std::vector<float> a = {1, 1, -1, -1}, x = {1, -1, 1, -1}, y = {1, -1, -1, 1};
  bf::SlopeAscent ascent;
  for (int step = 0; step < 20; ++step) {
    ascent.next();
    bf::step_planes<kRows>(1, 1, 1, 1, gather, gather, slopes + 1, slopes, made.planes.data(),
                           ascent, x.data(), y.data(), a.data(), made.share.data(), mean.data(),
                           square.data(), values.data());
  }
  // x y = 1 at (1, 1) and (-1, -1), where x + y - 1 and -x - y - 1 are 1; -1 at (1, -1).
  EXPECT_EQ(made.share, (std::vector<float>{1, 0, 0, 1}));
  for (std::size_t r = 0; r < kRows; ++r)
    EXPECT_NEAR(static_cast<double>(values[r]), static_cast<double>(x[r] * y[r]), 0.2);
}

// Rows of one coefficient, 1 or -1, over elements that are read once: no sum is rounded.
Contraction rows_of_one(Random& random, unsigned seed, std::vector<float>& a) {
  const Numbers kind = kAllNumbers[seed % 5];
  Contraction made;
  made.shape = {1, random.between(1, 3), random.between(1, 9), random.between(1, 9)};
  const auto [batch, m, n, k] = made.shape;
  made.x = random_tensor(random, kind, m * k);
  made.y = random_tensor(random, kind, n * k);
  made.of_x.resize(made.x.centre.size());
  made.of_y.resize(made.y.centre.size());
  std::iota(made.of_x.begin(), made.of_x.end(), 0);
  std::iota(made.of_y.begin(), made.of_y.end(), 0);
  if (seed % 3 == 0) {
    std::fill(made.x.radius.begin(), made.x.radius.end(), 0.0F);
    std::fill(made.y.radius.begin(), made.y.radius.end(), 0.0F);
  }
  made.relax({});
  a.assign(static_cast<std::size_t>(made.shape.out()) * kRows, 0);
  for (std::size_t r = 0; r < kRows; ++r)
    a[static_cast<std::size_t>(random.below(made.shape.out())) * kRows + r] =
        random.below(2) == 0 ? -1.0F : 1.0F;
  return made;
}

// Planes hold without prices then. Of points, boxes are what their sums lose.
TEST(Contraction, RowsThatNothingRoundsNeedNoPrices) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<float> a;
    Contraction made = rows_of_one(random, seed, a);
    EXPECT_TRUE(hold_at_points(random, made, a));
  }
}

// The offsets of planes whose slopes nothing rounds, to nearest.
std::vector<float> bare_offsets(const Contraction& made) {
  const auto out = static_cast<std::size_t>(made.shape.out());
  std::vector<double> middle(out, 0), rest(out, 0);
  made.for_each([&](std::size_t i, std::size_t g, std::size_t h) {
    middle[i] += made.x.centre[g] * made.y.centre[h];
    rest[i] += static_cast<double>(made.x.radius[g]) * static_cast<double>(made.y.radius[h]);
  });
  std::vector<float> offsets(2 * out);
  for (std::size_t i = 0; i < out; ++i) {
    offsets[i] = static_cast<float>(middle[i] - made.layer.z.centre[i] + rest[i]);
    offsets[out + i] = static_cast<float>(middle[i] - made.layer.z.centre[i] - rest[i]);
  }
  return offsets;
}

// Slopes are rounded, also those that rows choose, and pay for that whatever else is rounded.
TEST(Contraction, RoundedSlopesArePriced) {
  int broken[2] = {};
  for (unsigned seed = 0; seed < 1200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<float> a;
    Contraction made = rows_of_one(random, seed, a);
    const bool mixed = seed % 2 == 0;
    if (mixed) made.mix(random, {});
    EXPECT_TRUE(hold_at_points(random, made, a));
    std::vector<float>& table = mixed ? made.planes : made.layer.table;
    std::ranges::copy(bare_offsets(made), table.begin());
    broken[mixed ? 1 : 0] += hold_at_points(random, made, a) ? 0 : 1;
  }
  EXPECT_GT(broken[0], 0);
  EXPECT_GT(broken[1], 0);
}

// Points of the simplex in the box of x, whose centres are one: rows of x do not share elements.
Contraction random_means(Random& random, Numbers kind) {
  Contraction made = random_contraction(random, kind);
  const auto [batch, m, n, k] = made.shape;
  made.convex = true;
  made.x = {};
  for (int row = 0; row < batch * m; ++row) {
    double sum = 0;
    std::vector<double> p;
    for (int l = 0; l < k; ++l) sum += p.emplace_back(random.below(64));
    for (double& each : p) made.x.centre.push_back(sum > 0 ? each / sum : 1.0 / k);
  }
  for (std::size_t i = 0; i < made.of_x.size(); ++i) {
    made.of_x[i] = static_cast<std::int32_t>(i);
    made.x.radius.push_back(static_cast<float>(random.unit()) * (random.below(2) == 0 ? 0.01F : 1));
  }
  return made;
}

// A point near the centre whose rows add up to 1 exactly: mass moves between two elements. Nothing
// where the box has none.
std::optional<std::vector<mpq_class>> random_rows(Random& random, const Contraction& made) {
  std::vector<mpq_class> point;
  const auto k = static_cast<std::size_t>(made.shape.k);
  for (std::size_t first = 0; first < made.x.centre.size(); first += k) {
    mpq_class sum = 0;
    for (std::size_t l = 0; l < k; ++l) sum += point.emplace_back(exact(made.x.centre[first + l]));
    point[first] += 1 - sum;
    for (int moves = 0; moves < 4; ++moves) {
      const std::size_t from = first + static_cast<std::size_t>(random.below(static_cast<int>(k)));
      const std::size_t to = first + static_cast<std::size_t>(random.below(static_cast<int>(k)));
      const mpq_class reach = exact(0.9 * random.unit());
      mpq_class mass = std::min<mpq_class>({mpq_class(point[from]),
                                            exact(static_cast<double>(made.x.radius[from])),
                                            exact(static_cast<double>(made.x.radius[to]))});
      mass *= reach / 4;
      point[from] -= mass;
      point[to] += mass;
    }
    for (std::size_t l = first; l < first + k; ++l)
      if (point[l] < 0 ||
          abs(point[l] - exact(made.x.centre[l])) > exact(static_cast<double>(made.x.radius[l])))
        return std::nullopt;
  }
  return point;
}

bool means_hold(unsigned seed, int& tried) {
  Random random(seed);
  Contraction made = random_means(random, kAllNumbers[seed % 5]);
  const int depth = std::max(made.shape.n, most(made.of_y) * made.shape.m) + 2;
  made.relax({gamma_float(depth), gamma_float(3)});
  if (seed % 2 == 0) made.mix(random, {gamma_float(depth), gamma_float(3)});
  const std::vector<float> a =
      random.numbers(std::int64_t{made.shape.out()} * kRows, kAllNumbers[seed % 5]);
  const std::vector<float> sums = made.pull_back(a);
  bool holds = true;
  for (int trial = 0; trial < 6; ++trial) {
    const auto px = random_rows(random, made);
    if (!px) continue;
    ++tried;
    const std::vector<mpq_class> py = random_point(random, made.y);
    std::vector<mpq_class> z(static_cast<std::size_t>(made.shape.out()), 0);
    made.for_each([&](std::size_t i, std::size_t g, std::size_t h) { z[i] += (*px)[g] * py[h]; });
    EXPECT_TRUE(box_holds(made.layer.z, z)) << seed;
    holds = holds && rows_hold(a, z, made.layer, {&made.x, &made.y}, {&*px, &py}, sums);
  }
  return holds;
}

TEST(Contraction, MeansHold) {
  int tried = 0;
  for (unsigned seed = 0; seed < 400; ++seed) EXPECT_TRUE(means_hold(seed, tried)) << seed;
  EXPECT_GT(tried, 500);
}

// A mean of numbers in [2, 4] lies there too, whatever is known of its weights.
TEST(Contraction, MeansLieInTheHull) {
  Contraction made;
  made.shape = {1, 1, 1, 3};
  made.convex = true;
  made.x = {{0.5, 0.5, 0.5}, {0.5F, 0.5F, std::numeric_limits<float>::infinity()}};
  made.y = {{3, 3, 3.5}, {1, 0.5F, 0.5F}};
  made.of_x = made.of_y = {0, 1, 2};
  made.relax({});
  EXPECT_NEAR(made.layer.z.centre[0], 3, 1e-12);
  EXPECT_NEAR(static_cast<double>(made.layer.z.radius[0]), 1, 1e-6);
  made.x.radius = {0, 0, 0};
  made.y.radius = {0, 0, 0};
  made.relax({});  // slopes over x: 3, 3, 3.5 less their mean
  EXPECT_NEAR(static_cast<double>(made.layer.table[5]), -1.0 / 6, 1e-6);
  EXPECT_NEAR(static_cast<double>(made.layer.table[7]), 1.0 / 3, 1e-6);
}

// Boxes without a table are those with one.
TEST(Contraction, BoxesAlone) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Contraction made = random_contraction(random, kAllNumbers[seed % 5]);
    made.relax({});
    const Tensor with = made.layer.z;
    made.relax({}, false);
    EXPECT_EQ(made.layer.z.centre, with.centre);
    EXPECT_EQ(made.layer.z.radius, with.radius);
  }
}

// [1, 3] [2, 4] + [-1, 1] [-2, 0] lies in [2 - 2, 12 + 2], as one computes by hand.
TEST(Contraction, BoxByHand) {
  Contraction made;
  made.shape = {1, 1, 1, 2};
  made.x = {{2, 0}, {1, 1}};
  made.y = {{3, -1}, {1, 1}};
  made.of_x = made.of_y = {0, 1};
  made.relax({});
  EXPECT_NEAR(made.layer.z.centre[0], 7, 1e-12);
  EXPECT_NEAR(static_cast<double>(made.layer.z.radius[0]), 7, 1e-6);
  // Offsets are the distances of the planes from the box's centre. Behind them are the centres;
  // then slopes, radii and half ratios of x, and of y.
  const std::vector<float> numbers = {2,    0, 3,    -1,    1.5F, 0, 1,    1,
                                      0.5F, 0, 2.5F, -0.5F, 1,    1, 0.5F, -0.5F};
  EXPECT_EQ(std::vector<float>(made.layer.table.begin() + 2, made.layer.table.end()), numbers);
  EXPECT_NEAR(static_cast<double>(made.layer.table[0]), 6 + 2 - 7, 2e-6);
  EXPECT_NEAR(static_cast<double>(made.layer.table[1]), 6 - 2 - 7, 2e-6);
}

// A factor of which nothing is known, or whose centre no float is near.
TEST(Contraction, OfUnknownsClaimsNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int kind : {0, 1, 2}) {
    Contraction made;
    made.shape = {1, 1, 2, 2};
    made.x = {{0, 1}, {1, 1}};
    made.y = {{3, 4}, {1, 1}};
    made.of_x = {0, 1};
    made.of_y = {0, 0, 1, 1};
    if (kind == 0) made.y.radius[0] = infinity;
    if (kind == 1) made.y.radius[0] = std::numeric_limits<float>::quiet_NaN();
    if (kind == 2) made.y.centre[0] = 1e300;
    made.relax({});
    if (kind < 2) {
      EXPECT_EQ(made.layer.z.radius[0], infinity) << kind;
    }
    EXPECT_EQ(made.layer.table[0], infinity) << kind;
    EXPECT_EQ(made.layer.table[2], -infinity) << kind;
    EXPECT_LT(made.layer.z.radius[1], infinity);
    EXPECT_LT(made.layer.table[1], infinity);
  }
}

}  // namespace
}  // namespace bf_test
