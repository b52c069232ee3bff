// Relaxations on lanes against the same neuron by neuron: without contraction every bit is the
// same. That the scalar ones hold is tested against exact numbers elsewhere.

#include "runtime/bf/core/relax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>

#include "bf/functions/bind_near.h"
#include "terms_random.h"

namespace bf_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Relaxed {
  std::vector<float> table, radius;
  std::vector<double> centre;

  explicit Relaxed(std::size_t n) : table(6 * n, -1), radius(n, -1), centre(n, -1) {}
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Bounds of all kinds: active, dead, unstable, a point, on the edge, unknown on a side. Of some
// layers nearly all are dead, and so are whole vectors.
void fill(Random& random, std::vector<double>& centre, std::vector<float>& below,
          std::vector<float>& above) {
  const bool mostly_dead = random.below(3) == 0;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    const Numbers kind = kAllNumbers[random.below(5)];
    centre[j] = random.centres(1, kind)[0];
    below[j] = random.radii(1, kind)[0];
    above[j] = random.radii(1, kind)[0];
    if (mostly_dead && random.below(16) > 0) {
      centre[j] = -std::fabs(centre[j]) - static_cast<double>(above[j]);
      continue;
    }
    if (random.below(4) == 0) below[j] = above[j] = 0;
    if (random.below(4) == 0) above[j] = below[j];
    if (random.below(4) == 0) centre[j] = static_cast<double>(below[j]);
    if (random.below(4) == 0) centre[j] = -static_cast<double>(above[j]);
    if (random.below(8) == 0) below[j] = kInfinity;
    if (random.below(8) == 0) above[j] = kInfinity;
    if (random.below(8) == 0) above[j] = -below[j] / 2;  // tightened past the centre
    if (random.below(16) == 0) above[j] = std::numeric_limits<float>::quiet_NaN();
  }
}

// What a vector holds and what is left over.
// The slack of a layer, and a smaller one of each neuron.
std::vector<double> slack_of_rows(Random& random, int n) {
  std::vector<double> slack = {0x1p-30, 3, 0, 1.0 * n};
  for (int j = 0; j < n; ++j) slack.push_back(0x1p-30 * random.unit());
  return slack;
}

TEST(Bounds, IntervalsOnLanesAreThoseOfScalars) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int n = random.between(1, 40);
    const auto count = static_cast<std::size_t>(n);
    std::vector<float> radius = random.radii(n, kAllNumbers[random.below(5)]);
    if (random.below(4) == 0) radius[0] = kInfinity;
    if (random.below(4) == 0) radius[count - 1] = std::numeric_limits<float>::quiet_NaN();
    const double inflate = 1 + 0x1p-20 * random.unit();
    const std::vector<double> slack = slack_of_rows(random, n);
    std::vector<float> below(count), above(count), expected;
    for (std::size_t j = 0; j < count; ++j)
      expected.push_back(
          bf::float_up(static_cast<double>(radius[j]) * inflate + slack[bf::kSlack + j]));
    bf::interval_around(radius.data(), n, inflate, slack.data() + bf::kSlack, below.data(),
                        above.data());
    EXPECT_TRUE(same_bits(below, expected));
    EXPECT_TRUE(same_bits(above, expected));
    bf::interval_around(radius.data(), n, inflate, slack.data() + bf::kSlack, radius.data(),
                        radius.data());
    EXPECT_TRUE(same_bits(radius, expected));
  }
}

// In exact arithmetic: what each neuron's centre may miss is in its bounds, and in the radius that
// prices are relative to.
TEST(Bounds, IntervalsOfNeuronsHoldWhatCentresMiss) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int n = random.between(1, 40);
    const std::vector<float> radius = random.radii(n, kAllNumbers[random.below(5)]);
    const std::vector<float> magnitude = random.radii(n, kAllNumbers[random.below(5)]);
    const double inflate = 1 + 0x1p-20 * random.unit();
    const double relative = std::ldexp(random.unit(), -random.between(10, 24));
    const double absolute = random.below(3) == 0 ? 0 : std::ldexp(random.unit(), -20);
    const double pay = std::ldexp(1 + random.unit(), random.between(10, 24));
    std::vector<float> grown = radius, below = radius, above = radius;
    bf::interval_of_neurons(magnitude.data(), n, inflate, relative, absolute, pay, grown.data(),
                            below.data(), above.data());
    for (std::size_t j = 0; j < radius.size(); ++j) {
      EXPECT_EQ(std::memcmp(&below[j], &above[j], sizeof(float)), 0);
      if (!std::isfinite(below[j]) || !std::isfinite(grown[j])) continue;
      const auto number = [](float x) { return exact(static_cast<double>(x)); };
      const mpq_class own = number(magnitude[j]) * exact(relative) + exact(absolute);
      EXPECT_GE(number(below[j]), number(radius[j]) * exact(inflate) + own);
      EXPECT_GE(number(grown[j]), number(radius[j]) + own * exact(pay));
      EXPECT_LE(number(below[j]),
                (number(radius[j]) * exact(inflate) + own) * exact(1 + 0x1p-22) + exact(0x1p-148));
    }
    const float infinite[] = {kInfinity, 1}, one[] = {1, std::numeric_limits<float>::quiet_NaN()};
    float spread[] = {one[0], one[1]}, low[2], high[2];
    bf::interval_of_neurons(infinite, 2, inflate, 0x1p-24, absolute, pay, spread, low, high);
    EXPECT_TRUE(std::isinf(low[0]) && std::isinf(high[1]) && std::isinf(spread[0]));
  }
}

TEST(Bounds, MagnitudesAreRoundedUp) {
  const double centre[] = {-1 - 0x1p-40, 0, 0x1p-160, -3, 1e300};
  float magnitude[5];
  bf::magnitudes(centre, 5, magnitude);
  EXPECT_EQ(magnitude[0], 1 + 0x1p-23F);
  EXPECT_EQ(magnitude[1], 0);
  EXPECT_EQ(magnitude[2], 0x1p-149F);
  EXPECT_EQ(magnitude[3], 3);
  EXPECT_EQ(magnitude[4], kInfinity);
}

// How often offsets do not pay for what a row may lose, of random ones with the given factor, in
// exact arithmetic: A x slope rounded up, and the error of a float sum of offsets.
int unpaid(double (*factor)(double gamma)) {
  int count = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    const double gamma = std::ldexp(1 + random.unit(), -random.between(3, 24));  // to 1/4
    const double scale = std::ldexp(1.0, random.between(-150, 100));
    const double offsets[2] = {(2 * random.unit() - 1) * scale, (2 * random.unit() - 1) * scale};
    const double lost =
        random.below(4) == 0 ? 0 : std::ldexp(random.unit(), -random.between(0, 30));
    const double most = std::max(std::fabs(offsets[0]), std::fabs(offsets[1]));
    const double price = (lost * scale + gamma * most) * factor(gamma);
    float paid[2];
    bf::put_offsets(offsets[0], offsets[1], price, 1, paid);
    for (int side = 0; side < 2; ++side) {
      const mpq_class offset = exact(static_cast<double>(paid[side]));
      const mpq_class moved = (side == 0 ? 1 : -1) * mpq_class(offset - exact(offsets[side]));
      const mpq_class asked =
          exact(lost * scale) * exact(1 + 0x1p-24) + exact(gamma) * mpq_class(abs(offset));
      if (moved < asked) ++count;
    }
  }
  return count;
}

TEST(Bounds, OffsetsPayForWhatRowsLose) {
  EXPECT_EQ(unpaid(bf::price_factor), 0);
  EXPECT_GT(unpaid([](double) { return bf::kDoubleSlack; }), 500);
  EXPECT_GT(unpaid([](double gamma) { return 1 + gamma / 2; }), 100);
}

// The sums of a tile of rows, some of them unknown, and the factors that a plan would give.
struct TileSums {
  std::vector<float> sums;  // [offsets, spreads][of +z, of -z]
  std::vector<double> row;  // what each neuron's centre may miss
  bf::RowErrors errors;
};

TileSums random_sums(Random& random, int pairs, std::size_t neurons) {
  TileSums made;
  for (std::size_t i = 0; i < neurons; ++i) made.row.push_back(0x1p-40 * random.unit());
  for (int part = 0; part < 2; ++part) {
    const Numbers kind = kAllNumbers[random.below(5)];
    const std::vector<float> more =
        part == 0 ? random.numbers(2 * pairs, kind) : random.radii(2 * pairs, kind);
    made.sums.insert(made.sums.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < made.sums.size(); ++i)
    if (random.below(12) == 0)
      made.sums[i] = random.below(2) == 0 ? std::numeric_limits<float>::quiet_NaN()
                     : i < 2 * static_cast<std::size_t>(pairs) ? -kInfinity
                                                               : kInfinity;
  made.errors = {1 + 0x1p-18 * random.unit(), 0x1p-20 * random.unit(), 1 + 0x1p-18 * random.unit(),
                 0x1p-40 * random.unit(), made.row.data()};
  return made;
}

// How far row `row` says that its neuron may lie from its centre, in numbers of type T.
template <class T>
T reach_of(const TileSums& tile, int pairs, int row, std::size_t neuron, float radius) {
  const auto at = [&](int part) {
    return T(static_cast<double>(tile.sums[static_cast<std::size_t>(2 * pairs * part + row)]));
  };
  const bf::RowErrors& e = tile.errors;
  const T own = T(e.weight_relative) * T(static_cast<double>(radius)) * T(e.inflate) +
                (T(e.row[neuron]) + T(e.absolute));
  const T loss = at(1) * T(e.concretize_inflate) + own;
  if constexpr (std::is_same_v<T, double>)
    return bf::sub_up(loss * bf::kDoubleSlack, at(0));
  else
    return loss - at(0);
}

bool is_known(const TileSums& tile, int pairs, int row) {
  for (int part = 0; part < 2; ++part)
    if (!std::isfinite(tile.sums[static_cast<std::size_t>(2 * pairs * part + row)])) return false;
  return true;
}

// Whole vectors of rows and what is left over: bounds that hold in exact arithmetic, those of
// scalars to the bit, and no others than those of the rows' neurons.
TEST(Bounds, RowsTightenOnLanesAsByScalars) {
  constexpr std::size_t kNeurons = 40;
  int tightened = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int pairs = random.between(1, 24), count = random.between(1, pairs);
    const TileSums tile = random_sums(random, pairs, kNeurons);
    const std::vector<float> radius = random.radii(kNeurons, kAllNumbers[random.below(5)]);
    std::vector<std::int32_t> neurons(kNeurons);
    std::iota(neurons.begin(), neurons.end(), 0);
    std::shuffle(neurons.begin(), neurons.end(), std::mt19937(seed));
    std::vector<float> bounds[2], expected[2];
    for (int side = 0; side < 2; ++side) {
      bounds[side] = random.radii(kNeurons, kAllNumbers[random.below(5)]);
      if (random.below(3) == 0) bounds[side].assign(kNeurons, kInfinity);
      expected[side] = bounds[side];
      for (int r = 0; r < count; ++r) {
        const int row = side * pairs + r;
        const auto i = static_cast<std::size_t>(neurons[static_cast<std::size_t>(r)]);
        const float reach = bf::float_up(reach_of<double>(tile, pairs, row, i, radius[i]));
        if (!(reach < bounds[side][i])) continue;
        expected[side][i] = reach;
        ++tightened;
        ASSERT_TRUE(is_known(tile, pairs, row));
        EXPECT_GE(exact(static_cast<double>(reach)),
                  reach_of<mpq_class>(tile, pairs, row, i, radius[i]));
      }
    }
    bf::tighten_rows(neurons.data(), count, pairs, tile.sums.data(), tile.errors, radius.data(),
                     bounds[0].data(), bounds[1].data());
    for (int side = 0; side < 2; ++side) EXPECT_TRUE(same_bits(bounds[side], expected[side]));
  }
  EXPECT_GT(tightened, 1000);
}

TEST(Bounds, BoxesOnLanesAreThoseOfScalars) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int n = random.between(1, 40);
    const auto count = static_cast<std::size_t>(n);
    std::vector<float> lower, upper, radius(count), radii;
    std::vector<double> centre(count), centres;
    for (int i = 0; i < n; ++i) {
      const Numbers kind = kAllNumbers[random.below(5)];
      const auto middle = static_cast<float>(random.centres(1, kind)[0]);
      lower.push_back(middle - random.radii(1, kind)[0]);
      upper.push_back(random.below(8) == 0 ? lower.back() : middle + random.radii(1, kind)[0]);
      const double l = static_cast<double>(lower.back()), h = static_cast<double>(upper.back());
      const float reach = bf::float_up(0.5 * bf::exact_sum_up(h, -l));
      const double r = static_cast<double>(reach);
      centres.push_back(h >= -l ? h - r : l + r);
      radii.push_back(reach);
      EXPECT_LE(exact(centres.back()) - exact(r), exact(l));
      EXPECT_GE(exact(centres.back()) + exact(r), exact(h));
      // The larger end stays, and the width is no more than a float can say.
      EXPECT_TRUE(h >= -l ? exact(centres.back()) + exact(r) == exact(h)
                          : exact(centres.back()) - exact(r) == exact(l));
      EXPECT_TRUE(r == 0 ||
                  2 * exact(static_cast<double>(bf::next_down(reach))) < exact(h) - exact(l));
    }
    bf::bind_box(lower.data(), upper.data(), n, centre.data(), radius.data());
    EXPECT_TRUE(same_bits(centre, centres));
    EXPECT_TRUE(same_bits(radius, radii));
  }
}

TEST(Bounds, NearEndsOfBoxesStay) {
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  int kept = 0, rounded = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<float> ends;
    for (int i = 0; i < 2; ++i) {
      const float size = std::ldexp(1 + std::ldexp(static_cast<float>(random.below(1 << 23)), -23),
                                    random.between(-150, 127));
      const float special[] = {0, kLeast, bf::kMaxFloat, 1, size};
      const float x = random.below(4) == 0 ? special[random.below(5)] : size;
      ends.push_back(random.below(2) == 0 ? x : -x);
    }
    if (random.below(8) == 0) ends[1] = std::nextafter(ends[0], ends[1]);
    if (random.below(8) == 0) ends[1] = ends[0];
    const auto [lower, upper] = std::minmax(ends[0], ends[1]);
    double centre = 0, far_centre = 0;
    float radius = 0, far_radius = 0;
    bf::bind_near_box(&lower, &upper, 1, &centre, &radius);
    const mpq_class r = exact(static_cast<double>(radius)), low = exact(centre) - r,
                    high = exact(centre) + r;
    const mpq_class l = exact(static_cast<double>(lower)), h = exact(static_cast<double>(upper));
    ASSERT_LE(low, l);
    ASSERT_GE(high, h);
    if (lower < 0 && upper > 0) {
      bf::bind_box(&lower, &upper, 1, &far_centre, &far_radius);
      EXPECT_EQ(centre, far_centre);
      EXPECT_EQ(radius, far_radius);
      continue;
    }
    const mpq_class& near = lower >= 0 ? l : h;
    const mpq_class& own = lower >= 0 ? low : high;
    EXPECT_GE(own * (lower >= 0 ? 1 : -1), 0);
    const mpq_class width = h - l;
    EXPECT_LE(2 * r, width * (1 + exact(0x1p-22)) + exact(0x1p-147));
    if (own == near)
      ++kept;
    else if (width < abs(near) * exact(0x1p28))  // whose sums doubles hold
      ADD_FAILURE() << lower << " " << upper;
    else
      ++rounded;
  }
  EXPECT_GT(kept, 800);
  EXPECT_GT(rounded, 400);
}

TEST(Relax, LanesDoWhatScalarsDo) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int n = random.between(1, 40);
    const auto count = static_cast<std::size_t>(n);
    std::vector<double> centre(count);
    std::vector<float> below(count), above(count);
    fill(random, centre, below, above);
    const std::vector<float> radius = random.radii(n, Numbers::kEven);
    const bool relu = random.below(3) > 0;
    const bf::RelaxErrors errors = {0x1p-18, 0x1p-47, 0x1p-24, 0x1p-24, 0x1p-20, 1 + 0x1p-20};
    const std::vector<double> slack = slack_of_rows(random, n);
    Relaxed lanes(count), scalars(count), boxes(count);
    std::vector<double> made = slack;
    bf::relax(n, relu, centre.data(), below.data(), above.data(), radius.data(), errors,
              made.data(), made.data() + bf::kSlack, lanes.table.data(), lanes.centre.data(),
              lanes.radius.data());
    double reach[bf::kPartialSums] = {};
    const bf::NeuronsView z = {centre.data(), below.data(), above.data(), radius.data()};
    const bf::RelaxedView out = {scalars.table.data(), n, scalars.centre.data(),
                                 scalars.radius.data()};
    for (int j = 0; j < n; ++j)
      reach[j % bf::kPartialSums] += bf::relax_neuron<false>(
          j, relu, z, errors, slack[static_cast<std::size_t>(bf::kSlack + j)], out);
    for (int s = 1; s < bf::kPartialSums; ++s) reach[0] += reach[s];
    EXPECT_TRUE(same_bits(lanes.table, scalars.table));
    EXPECT_TRUE(same_bits(lanes.centre, scalars.centre));
    EXPECT_TRUE(same_bits(lanes.radius, scalars.radius));
    const double expected = (n * (1 + slack[1]) + reach[0]) * (1 + 0x1p-20);
    EXPECT_TRUE(made[2] == expected || (made[2] != made[2] && expected != expected));

    bf::relax_box(n, relu, centre.data(), below.data(), above.data(), boxes.centre.data(),
                  boxes.radius.data());
    EXPECT_TRUE(same_bits(boxes.centre, scalars.centre));
    EXPECT_TRUE(same_bits(boxes.radius, scalars.radius));

    // In place, as plans have it.
    std::vector<double> own = centre;
    std::vector<float> spread = below;
    bf::relax_box(n, relu, own.data(), spread.data(), above.data(), own.data(), spread.data());
    EXPECT_TRUE(same_bits(own, scalars.centre));
    EXPECT_TRUE(same_bits(spread, scalars.radius));
  }
}

}  // namespace
}  // namespace bf_test
