// Log-softmax against MPFR: boxes hold the values, a backward row stays a lower bound, with the
// prices that the planner gives it and not without; and the exponentials beneath.

#include "runtime/bf/sums/log_softmax.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include "planes_support.h"

namespace bf_test {
namespace {

// A number of 500 bits.
class Real {
 public:
  Real() { mpfr_init2(x_, 500); }
  explicit Real(const mpq_class& x) : Real() { mpfr_set_q(x_, x.get_mpq_t(), MPFR_RNDN); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(x_); }
  mpfr_ptr get() { return x_; }
  // The number as a rational, or 0 where it is smaller than 2^-2000.
  mpq_class value() {
    mpq_class made;
    if (mpfr_zero_p(x_) != 0 || mpfr_get_exp(x_) < -2000) return made;
    mpfr_get_q(made.get_mpq_t(), x_);
    return made;
  }

 private:
  mpfr_t x_;
};

// z of one group, each up to 2^-400 of the largest difference.
std::vector<mpq_class> log_softmax(const std::vector<mpq_class>& x) {
  mpq_class largest = x.front();
  for (const mpq_class& each : x) largest = std::max(largest, each);
  Real sum;
  mpfr_set_zero(sum.get(), 1);
  for (const mpq_class& each : x) {
    Real power(mpq_class(each - largest));
    mpfr_exp(power.get(), power.get(), MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), power.get(), MPFR_RNDN);
  }
  mpfr_log(sum.get(), sum.get(), MPFR_RNDN);
  const mpq_class logarithm = sum.value();
  std::vector<mpq_class> z;
  for (const mpq_class& each : x) z.push_back(each - largest - logarithm);
  return z;
}

const mpq_class kMissed = exact(0x1p-300);

// Points of different scales, some far above the others.
Tensor random_logits(Random& random, int n) {
  const double spread = std::ldexp(1.0, random.between(-3, 6));
  const double width = std::ldexp(1.0, random.between(-20, 3));
  Tensor made;
  for (int i = 0; i < n; ++i) {
    made.centre.push_back(spread * (2 * random.unit() - 1));
    made.radius.push_back(random.below(6) == 0 ? 0 : static_cast<float>(width * random.unit()));
  }
  if (random.below(4) == 0) made.centre[static_cast<std::size_t>(random.below(n))] += 60;
  if (random.below(6) == 0) made.centre[static_cast<std::size_t>(random.below(n))] = -1e9;
  if (random.below(9) == 0) made.radius[static_cast<std::size_t>(random.below(n))] = 1e4F;
  return made;
}

struct Groups {
  std::vector<std::int32_t> row_start = {0}, column;
  int count() const { return static_cast<int>(row_start.size()) - 1; }
  int size() const { return static_cast<int>(column.size()); }
};

// Groups of different elements; an element may be in several groups.
Groups random_groups(Random& random, int inputs) {
  Groups made;
  for (int groups = random.between(1, 4); groups > 0; --groups) {
    std::vector<std::int32_t> members(static_cast<std::size_t>(inputs));
    std::iota(members.begin(), members.end(), 0);
    for (std::size_t i = members.size(); i > 1; --i)
      std::swap(members[i - 1],
                members[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    members.resize(static_cast<std::size_t>(random.between(1, inputs)));
    made.column.insert(made.column.end(), members.begin(), members.end());
    made.row_start.push_back(made.size());
  }
  return made;
}

std::vector<mpq_class> values(const Groups& groups, const std::vector<mpq_class>& x) {
  std::vector<mpq_class> z;
  for (std::size_t g = 0; g + 1 < groups.row_start.size(); ++g) {
    std::vector<mpq_class> members;
    for (auto k = static_cast<std::size_t>(groups.row_start[g]);
         k < static_cast<std::size_t>(groups.row_start[g + 1]); ++k)
      members.push_back(x[static_cast<std::size_t>(groups.column[k])]);
    for (mpq_class& each : log_softmax(members)) z.push_back(std::move(each));
  }
  return z;
}

void relax(const Groups& groups, const Tensor& x, const bf::PlaneErrors& errors, Layer& layer) {
  resize(layer, groups.size(), bf::kLogSoftmaxRows);
  bf::relax_log_softmax(groups.count(), groups.size(), groups.row_start.data(),
                        groups.column.data(), x.centre.data(), x.radius.data(), errors,
                        layer.slack.data(), layer.table.data(), layer.z.centre.data(),
                        layer.z.radius.data());
}

bool softmax_holds(unsigned seed, bool with_prices) {
  Random random(seed);
  const Tensor x = random_logits(random, random.between(2, 12));
  const Groups groups = random_groups(random, x.size());
  Layer layer;
  const int depth = groups.count() + 3;
  relax(groups, x, {with_prices ? gamma_float(depth) : 0, with_prices ? gamma_float(3) : 0}, layer);
  const std::vector<float> a =
      random.numbers(std::int64_t{groups.size()} * kRows, kAllNumbers[seed % 5]);
  std::vector<float> sums(2 * kRows, 0);
  layer.out = {std::vector<float>(x.centre.size() * kRows, 7)};
  bf::log_softmax_backward<kRows>(groups.count(), groups.size(), groups.row_start.data(),
                                  groups.column.data(), layer.table.data(), x.size(), a.data(),
                                  false, layer.out[0].data(), sums.data());
  bool holds = true;
  for (int trial = 0; trial < 6; ++trial) {
    const std::vector<mpq_class> point = random_point(random, x);
    const std::vector<mpq_class> z = values(groups, point);
    EXPECT_TRUE(box_holds(layer.z, z, kMissed)) << seed;
    holds = holds && rows_hold(a, z, layer, {&x}, {&point}, sums, kMissed * exact(0x1p120));
  }
  return holds;
}

TEST(LogSoftmax, Holds) {
  for (unsigned seed = 0; seed < 600; ++seed) EXPECT_TRUE(softmax_holds(seed, true)) << seed;
}

TEST(LogSoftmax, NeedsItsPrices) {
  int broken = 0;
  for (unsigned seed = 0; seed < 600; ++seed) broken += softmax_holds(seed, false) ? 0 : 1;
  EXPECT_GT(broken, 0);
}

// The box is the exact range, up to its rounding: ends are at corners.
TEST(LogSoftmax, BoxesAreTight) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Tensor x = random_logits(random, 5);
    for (float& r : x.radius) r = std::min(r, 20.0F);
    const Groups groups{{0, 5}, {0, 1, 2, 3, 4}};
    Layer layer;
    relax(groups, x, {}, layer);
    for (std::size_t k = 0; k < 5; ++k)
      for (const int side : {-1, 1}) {
        std::vector<mpq_class> corner;
        for (std::size_t j = 0; j < 5; ++j)
          corner.push_back(exact(x.centre[j]) +
                           (j == k ? side : -side) * exact(static_cast<double>(x.radius[j])));
        const mpq_class end = values(groups, corner)[k];
        const mpq_class made =
            exact(layer.z.centre[k]) + side * exact(static_cast<double>(layer.z.radius[k]));
        EXPECT_LE(
            std::fabs(mpq_class(end - made).get_d()),
            1e-6 * static_cast<double>(layer.z.radius[k]) + 1e-12 * (1 + std::fabs(end.get_d())))
            << seed;
      }
  }
}

// Logits for which planes touch what they bound: at corners where as many powers rise as fall, and
// where one of them is so far above the others that its slope is rounded.
Tensor touching_logits(Random& random) {
  const int n = random.between(2, 6);
  const float radius = random.below(4) == 0
                           ? 0
                           : static_cast<float>(std::ldexp(random.unit(), random.between(-12, 1)));
  Tensor made = {std::vector<double>(static_cast<std::size_t>(n), 0),
                 std::vector<float>(static_cast<std::size_t>(n), radius)};
  if (random.below(3) == 0) return made;
  const double apart = 40 * random.unit();
  for (int i = 1; i < n; ++i) made.centre[static_cast<std::size_t>(i)] = -apart;
  made.radius[0] = random.below(2) == 0 ? 0 : radius * 0x1p-3F;
  return made;
}

struct WholeGroup {
  Tensor x;
  std::vector<std::int32_t> column;
  explicit WholeGroup(Tensor of) : x(std::move(of)), column(x.centre.size()) {
    std::iota(column.begin(), column.end(), 0);
  }
  bf::SoftmaxGroup group() const {
    return {column.data(), 0, x.size(), x.centre.data(), x.radius.data()};
  }
};

WholeGroup random_group(unsigned seed, Random& random) {
  return WholeGroup(seed % 2 == 0 ? touching_logits(random) : random_logits(random, 5));
}

// Planes of ln sum e^x in double, before prices and roundings to float can hide what they miss.
TEST(LogSoftmax, PlanesHold) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const WholeGroup made = random_group(seed, random);
    const std::size_t n = made.x.centre.size();
    std::vector<float> below(n), above(n), scratch(n);
    const double least = bf::plane_below(made.group(), below.data());
    const double most =
        bf::plane_above(made.group(), bf::end_powers(made.group()), above.data(), scratch.data());
    for (int trial = 0; trial < 12; ++trial) {
      const std::vector<mpq_class> point = random_point(random, made.x);
      const mpq_class sum = point[0] - log_softmax(point)[0];
      mpq_class low = exact(least), high = exact(most);
      for (std::size_t k = 0; k < n; ++k) {
        const mpq_class from = point[k] - exact(made.x.centre[k]);
        low += exact(static_cast<double>(below[k])) * from;
        high += exact(static_cast<double>(above[k])) * from;
      }
      EXPECT_LE(low, sum + kMissed) << seed;
      EXPECT_GE(high, sum - kMissed) << seed;
    }
  }
}

// Ends of boxes in double hold the values at the corners that they stand for.
TEST(LogSoftmax, EndsOfBoxesHold) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const WholeGroup made = random_group(seed, random);
    const bf::EndPowers powers = bf::end_powers(made.group());
    for (std::size_t k = 0; k < made.x.centre.size(); ++k) {
      double ends[2];
      bf::log_softmax_boxes<1>(made.group(), powers, static_cast<int>(k), &ends[0], &ends[1]);
      for (const int side : {-1, 1}) {
        std::vector<mpq_class> corner;
        for (std::size_t j = 0; j < made.x.centre.size(); ++j)
          corner.push_back(exact(made.x.centre[j]) +
                           (j == k ? side : -side) * exact(static_cast<double>(made.x.radius[j])));
        const mpq_class beyond = log_softmax(corner)[k] - exact(ends[side > 0 ? 1 : 0]);
        EXPECT_LE(side * beyond, kMissed) << seed << ", " << k << ", " << side;
      }
    }
  }
}

// The winner at 60 apart is within 1e-6 of 1, and what loses has finite bounds.
TEST(LogSoftmax, FarApart) {
  const Tensor x = {{60, 0, -1e9}, {0.5F, 0.5F, 0.5F}};
  Layer layer;
  relax({{0, 3}, {0, 1, 2}}, x, {}, layer);
  EXPECT_LT(std::fabs(layer.z.centre[0]) + static_cast<double>(layer.z.radius[0]), 1e-6);
  EXPECT_NEAR(layer.z.centre[1], -60, 1e-9);
  EXPECT_NEAR(static_cast<double>(layer.z.radius[1]), 1, 1e-6);
  EXPECT_NEAR(layer.z.centre[2], -1e9 - 60, 1);
}

// Bounds of the elements that a mask leaves do not depend on the radius of one that it hides.
TEST(LogSoftmax, HiddenElementsCostNothing) {
  Layer with, without;
  relax({{0, 3}, {0, 1, 2}}, {{1, 2, -3.4e38}, {0.1F, 0.1F, 1e24F}}, {}, with);
  relax({{0, 2}, {0, 1}}, {{1, 2}, {0.1F, 0.1F}}, {}, without);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(with.z.centre[k], without.z.centre[k], 1e-13);
    EXPECT_NEAR(static_cast<double>(with.z.radius[k]), static_cast<double>(without.z.radius[k]),
                1e-7);
    for (std::size_t row = 0; row < bf::kLogSoftmaxRows; ++row)
      EXPECT_NEAR(static_cast<double>(with.table[3 * row + k]),
                  static_cast<double>(without.table[2 * row + k]), 1e-7)
          << row;
  }
}

TEST(LogSoftmax, GroupsOfOneAreZero) {
  Layer layer;
  relax({{0, 1}, {0}}, {{5}, {2}}, {}, layer);
  EXPECT_EQ(layer.z.centre[0], 0);
  EXPECT_EQ(layer.z.radius[0], 0);
  EXPECT_EQ(layer.table, (std::vector<float>{1, 1, layer.table[2], layer.table[3]}));
}

TEST(LogSoftmax, OfUnknownsClaimsNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float radius : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
    Layer layer;
    relax({{0, 2, 4}, {0, 1, 2, 1}}, {{1, 2, 3}, {radius, 1, 1}}, {}, layer);
    EXPECT_EQ(layer.z.radius[0], infinity);
    EXPECT_EQ(layer.table[bf::kLogSoftmaxUpper * 4], infinity);
    EXPECT_EQ(layer.table[bf::kLogSoftmaxLower * 4], -infinity);
    EXPECT_LT(layer.z.radius[2], 4);
  }
}

// Members side by side as alone.
TEST(LogSoftmax, SideBySide) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Tensor x = random_logits(random, 9);
    const bf::SoftmaxGroup group = {nullptr, 0, 9, x.centre.data(), x.radius.data()};
    std::vector<std::int32_t> column(9);
    std::iota(column.begin(), column.end(), 0);
    const bf::SoftmaxGroup all = {column.data(), group.begin, group.end, group.centre,
                                  group.radius};
    const bf::EndPowers powers = bf::end_powers(all);
    Layer layer;
    relax({{0, 9}, column}, x, {}, layer);
    for (int k = 0; k < 9; ++k) {
      double low, high, centre;
      float radius;
      bf::log_softmax_boxes<1>(all, powers, k, &low, &high);
      bf::store_box(low, high, &centre, &radius);
      EXPECT_NEAR(layer.z.centre[static_cast<std::size_t>(k)], centre,
                  1e-12 * (1 + std::fabs(centre)));
    }
  }
}

// Directed values of e^x and ln x, over their whole ranges.
TEST(Powers, HoldAndAreTight) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const double x = i < 4 ? std::array{0.0, -0.0, -690.0, 690.0}[static_cast<std::size_t>(i)]
                           : std::ldexp(2 * random.unit() - 1, random.between(-30, 9)) * 1.3;
    Real power(exact(x));
    mpfr_exp(power.get(), power.get(), MPFR_RNDN);
    const mpq_class value = power.value();
    EXPECT_LE(exact(bf::Powers<1>::down(x)), value) << x;
    EXPECT_GE(exact(bf::Powers<1>::up(x)), value) << x;
    EXPECT_LE(exact(bf::Powers<1>::up(x)), value * exact(1 + 0x1p-45)) << x;
    if (x == 0) {
      EXPECT_EQ(bf::Powers<1>::up(x), 1);
    }
  }
  EXPECT_EQ(bf::Powers<1>::down(-1e9), 0);
  EXPECT_EQ(bf::Powers<1>::up(-1e9), 0x1p-990);
  for (int i = 0; i < 20000; ++i) {
    const double x = i == 0     ? 1
                     : i < 9000 ? 1 + std::ldexp(2 * random.unit() - 1, random.between(-50, -1))
                                : std::ldexp(1 + random.unit(), random.between(-990, 1000));
    Real logarithm(exact(x));
    mpfr_log(logarithm.get(), logarithm.get(), MPFR_RNDN);
    const mpq_class value = logarithm.value();
    EXPECT_LE(exact(bf::Powers<1>::log_down(x)), value) << x;
    EXPECT_GE(exact(bf::Powers<1>::log_up(x)), value) << x;
    EXPECT_LE(abs(exact(bf::Powers<1>::log_up(x)) - value), abs(value) * exact(0x1p-45)) << x;
  }
}

}  // namespace
}  // namespace bf_test
