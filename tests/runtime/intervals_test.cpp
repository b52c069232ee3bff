// The interval pass through sum layers against exact rationals, with the number of roundings that
// the planner counts.

#include "runtime/bf/sums/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "intervals_exact.h"
#include "planner/lowering/lowering.h"
#include "runtime/bf/conv/conv_interval.h"

namespace bf_test {
namespace {

using Kind = RandomTerm::Kind;

template <bool kAdd>
void pass(const RandomTerm& term, const std::vector<float>& c, const std::vector<float>& r,
          Sums& sums) {
  switch (term.kind) {
    case Kind::kConv:
      return bf::conv_interval<kAdd>(term.shape, term.weight.data(), c.data(), r.data(),
                                     sums.centre.data(), sums.radius.data());
    case Kind::kSparse:
      return bf::sparse_interval<kAdd>(term.out, term.row_start.data(), term.column.data(),
                                       term.weight.data(), c.data(), r.data(), sums.centre.data(),
                                       sums.radius.data());
    case Kind::kGather:
      return bf::gather_interval<kAdd>(term.out, term.sources(), c.data(), r.data(),
                                       sums.centre.data(), sums.radius.data());
  }
}

TEST(Intervals, SumsKeepTheirRoundings) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    std::vector<RandomTerm> terms = {random.below(2) == 0
                                         ? random_conv_term(random, kind)
                                         : random_term(random, kind, random.between(1, 60))};
    for (int more = random.between(0, 2); more > 0; --more)
      terms.push_back(random_term(random, kind, terms.front().out));
    Sums sums(terms.front().out);
    Exact truth(sums.centre.size());
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const std::vector<float> c = random.numbers(terms[t].in, kind);
      const std::vector<float> r = random.radii(terms[t].in, kind);
      if (t == 0)
        pass<false>(terms[t], c, r, sums);
      else
        pass<true>(terms[t], c, r, sums);
      truth.add(terms[t], c, r);
    }
    expect_close(sums, truth, bf_aot::LoweringPlanner::interval_depth(layer_of(terms)));
  }
}

bf_aot::ConvGeometry square(int groups, int in, int out, int size, int kernel) {
  bf_aot::ConvGeometry g;
  g.groups = groups;
  g.in_channels = in * groups;
  g.out_channels = out * groups;
  g.in_size = {1, size, size};
  g.out_size = {1, size, size};
  g.kernel = {1, kernel, kernel};
  g.pad = {0, kernel / 2, kernel / 2};
  g.in = {0, g.in_channels * size * size, size * size, {size * size, size, 1}};
  g.out = {0, g.out_channels * size * size, size * size, {size * size, size, 1}};
  return g;
}

// One product that a float sum cannot add the others to: of a chain too long more is lost than the
// planner allows for.
TEST(Intervals, ChainsAreAsShortAsPlanned) {
  for (const int in : {1, 3, 16, 48, 64, 70, 130})
    for (const int kernel : {1, 3, 9})
      for (const int out : {1, 8, 20}) {
        if (in * kernel * kernel * out > 12000) continue;
        SCOPED_TRACE(::testing::Message() << in << " " << kernel << " " << out);
        RandomTerm term;
        term.geometry = square(1, in, out, 11, kernel);
        term.shape = shape_of(term.geometry);
        term.out = static_cast<int>(term.geometry.out_count());
        term.in = static_cast<int>(term.geometry.in_count());
        term.weight.assign(static_cast<std::size_t>(in * out * kernel * kernel), 1);
        for_each_product(term.geometry, [&](std::int64_t o, std::int64_t, std::int64_t i) {
          term.products.push_back({static_cast<std::size_t>(o), static_cast<std::size_t>(i), 1, 0});
        });
        std::vector<float> c(static_cast<std::size_t>(term.in), 0x1.f8p-25F);
        c[5 * 11 + 5] = 1;  // of the first channel
        Sums sums(term.out);
        pass<false>(term, c, c, sums);
        Exact truth(sums.centre.size());
        truth.add(term, c, c);
        expect_close(sums, truth, bf_aot::LoweringPlanner::interval_depth(layer_of({term})));
      }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

mpq_class value(float x) {
  return exact(static_cast<double>(x));
}

mpq_class relu(const mpq_class& x, bool on) {
  return on && x < 0 ? mpq_class(0) : x;
}

// The constants pay for the roundings of finish_interval() and write_interval() alone; gamma for
// readers and the centre's rounding.
TEST(Intervals, ActivationsHoldWhatSumsSay) {
  constexpr int kCount = 19;  // vectors, and some neurons more
  const bf::IntervalErrors errors = {1 + 0x1p-21F, 0x1.000008p-23F, 0x1p-100F};
  const float readers = 0x1p-18F, gamma = (readers + 0x1p-24F) * (1 + 0x1p-21F);
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool on = random.below(2) == 0;
    const Numbers kind = kAllNumbers[seed % 5];
    const std::vector<float> m = random.numbers(kCount, kind), spread = random.radii(kCount, kind);
    const std::vector<float> bias = random.numbers(kCount, kind);
    std::vector<float> centre = m, radius = spread, lower(kCount), upper(kCount);
    bf::write_interval(kCount, on, bias.data(), 1, errors, m.data(), spread.data(), lower.data(),
                       upper.data());
    bf::finish_interval(kCount, on, bias.data(), 1, errors, gamma, centre.data(), radius.data());
    for (std::size_t j = 0; j < kCount; ++j) {
      const mpq_class z = value(m[j]) + value(bias[j]), reach = value(spread[j]);
      const mpq_class low = relu(z - reach, on), high = relu(z + reach, on);
      EXPECT_LE(value(lower[j]), low) << j;
      EXPECT_GE(value(upper[j]), high) << j;
      const mpq_class c = value(centre[j]), r = value(radius[j]) + exact(0x1p-149);
      EXPECT_GE(r, high - c + value(readers) * abs(c)) << j;
      EXPECT_GE(r, c - low + value(readers) * abs(c)) << j;
    }
  }
}

// Neurons side by side that share a bias, as those of a channel: as if each had its own.
TEST(Intervals, ChannelsShareTheirBias) {
  const bf::IntervalErrors errors = {1 + 0x1p-21F, 0x1.000008p-23F, 0x1p-100F};
  for (const int run : {2, 16, 19, 48})
    for (const bool on : {false, true}) {
      SCOPED_TRACE(run);
      constexpr int kChannels = 3;
      const int count = kChannels * run;
      Random random(static_cast<unsigned>(run));
      const std::vector<float> m = random.numbers(count, Numbers::kEven);
      const std::vector<float> spread = random.radii(count, Numbers::kEven);
      const std::vector<float> bias = random.numbers(kChannels, Numbers::kEven);
      std::vector<float> own;
      for (int i = 0; i < count; ++i) own.push_back(bias[static_cast<std::size_t>(i / run)]);
      const auto finish = [&](const std::vector<float>& biases, int each) {
        std::vector<std::vector<float>> made = {m, spread, m, m};
        bf::finish_interval(count, on, biases.data(), each, errors, 0x1p-20F, made[0].data(),
                            made[1].data());
        bf::write_interval(count, on, biases.data(), each, errors, m.data(), spread.data(),
                           made[2].data(), made[3].data());
        return made;
      };
      EXPECT_EQ(finish(bias, run), finish(own, 1));
      EXPECT_NE(finish(bias, run), finish(std::vector<float>(own.size(), 0), 1));
    }
}

// Ends a few roundings apart, whose middle is no float.
TEST(Intervals, CentresPayForTheirRounding) {
  constexpr int kCount = 19;
  const bf::IntervalErrors exact_spread = {1, 0, 0};
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool on = random.below(2) == 0;
    const float readers = random.below(2) == 0 ? 0 : 0x1p-18F;
    const float gamma = (readers + 0x1p-24F) * (1 + 0x1p-21F);
    std::vector<float> z(kCount), spread(kCount);
    for (std::size_t j = 0; j < kCount; ++j) {
      z[j] = (random.below(2) == 0 ? -1.0F : 1.0F) + 0x1p-23F * static_cast<float>(random.below(4));
      spread[j] = 0x1p-25F * static_cast<float>(random.below(12));
    }
    std::vector<float> centre = z, radius = spread;
    bf::finish_interval(kCount, on, nullptr, 1, exact_spread, gamma, centre.data(), radius.data());
    for (std::size_t j = 0; j < kCount; ++j) {
      const mpq_class low = relu(value(z[j] - spread[j]), on);
      const mpq_class high = relu(value(z[j] + spread[j]), on);
      const mpq_class c = value(centre[j]), paid = value(readers) * abs(c);
      EXPECT_GE(value(radius[j]), high - c + paid) << j;
      EXPECT_GE(value(radius[j]), c - low + paid) << j;
    }
  }
}

// Groups of random size over `in` candidates.
bf_aot::SparseMap random_groups(Random& random, int rows, int in) {
  bf_aot::SparseMap map{{0}, {}};
  for (int i = 0; i < rows; ++i) {
    for (int count = random.between(1, 6); count > 0; --count)
      map.column.push_back(random.below(in));
    map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
  }
  return map;
}

// The planner's constants, of readers that need gamma.
bf::IntervalErrors max_errors(float gamma) {
  return {1 + 0x1p-21F, gamma + 0x1p-22F, 0x1p-100F};
}

// Of candidates whose radii may have lost 2^-148, with what readers need.
TEST(Intervals, MaximaHoldWhatCandidatesSay) {
  constexpr int kRows = 20, kIn = 16;
  const float gamma = 0x1p-18F;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    const std::vector<float> c = random.numbers(kIn, kind);
    std::vector<float> r = random.radii(kIn, kind);
    if (seed % 3 == 0) std::fill(r.begin(), r.end(), 0.0F);
    const bf_aot::SparseMap map = random_groups(random, kRows, kIn);
    Sums made(kRows);
    bf::max_interval(kRows, map.row_start.data(), map.column.data(), c.data(), r.data(),
                     max_errors(gamma), made.centre.data(), made.radius.data());
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto at = [&](std::int32_t k) { return static_cast<std::size_t>(map.column[k]); };
      mpq_class low, high;
      for (std::int32_t k = map.row_start[i]; k < map.row_start[i + 1]; ++k) {
        const mpq_class reach = value(r[at(k)]) + exact(0x1p-148);
        const mpq_class below = value(c[at(k)]) - reach, above = value(c[at(k)]) + reach;
        if (k == map.row_start[i] || below > low) low = below;
        if (k == map.row_start[i] || above > high) high = above;
      }
      const mpq_class middle = value(made.centre[i]), paid = value(gamma) * abs(middle);
      EXPECT_GE(value(made.radius[i]), high - middle + paid) << i;
      EXPECT_GE(value(made.radius[i]), middle - low + paid) << i;
      const mpq_class size = abs(low) + abs(high);
      EXPECT_LE(value(made.radius[i]),
                (high - low) / 2 + 2 * paid + exact(0x1p-20) * size + exact(0x1p-99))
          << i;
    }
  }
}

// Whether the maximum of two candidates holds their upper ends, where radii may have lost 2^-148.
bool holds_upper_ends(const float (&c)[2], const float (&r)[2], const bf::IntervalErrors& errors) {
  const std::int32_t row_start[] = {0, 2}, column[] = {0, 1};
  Sums made(1);
  bf::max_interval(1, row_start, column, c, r, errors, made.centre.data(), made.radius.data());
  const mpq_class reach = value(made.centre[0]) + value(made.radius[0]) - exact(0x1p-148);
  return reach >= value(c[0]) + value(r[0]) && reach >= value(c[1]) + value(r[1]);
}

// The interval [-1, 1 + 2^-23] has a centre from which 1 + 2^-24 is rounded to 1; the end 1 + 2^-30
// is rounded to 1; a radius that became 0 was more.
TEST(Intervals, MaximaNeedTheirConstants) {
  const bf::IntervalErrors all = max_errors(0);
  bf::IntervalErrors no_inflate = all, no_relative = all, no_absolute = all;
  no_inflate.inflate = 1;
  no_relative.relative = 0;
  no_absolute.absolute = 0;
  const float zeros[] = {0, 0}, ones[] = {1, 1};
  const float around[] = {1, 1 + 0x1p-23F}, tiny[] = {0x1p-30F, 0};
  EXPECT_TRUE(holds_upper_ends(zeros, around, all));
  EXPECT_FALSE(holds_upper_ends(zeros, around, no_inflate));
  EXPECT_TRUE(holds_upper_ends(ones, tiny, all));
  EXPECT_FALSE(holds_upper_ends(ones, tiny, no_relative));
  EXPECT_TRUE(holds_upper_ends(zeros, zeros, all));
  EXPECT_FALSE(holds_upper_ends(zeros, zeros, no_absolute));
}

// Groups of equal form, and the same as a table.
constexpr bf::MaxGroups kPooled = {0, {1, 3, 6, 6}, {0, 729, 108, 4}, {1, 1, 4, 4}, {0, 0, 27, 1}};
constexpr bf::MaxGroups kOverlapping = {
    2, {1, 1, 5, 5}, {0, 0, 22, 2}, {1, 1, 3, 3}, {0, 0, 11, 1}};
constexpr bf::MaxGroups kChannelsLast = {
    0, {1, 4, 4, 6}, {0, 96, 12, 1}, {1, 2, 2, 1}, {0, 48, 6, 0}};
constexpr bf::MaxGroups kLong = {1, {1, 1, 2, 300}, {0, 0, 601, 2}, {1, 1, 1, 3}, {0, 0, 0, 1}};

bf_aot::SparseMap candidates_of(const bf::MaxGroups& groups) {
  const auto visit = [](const int(&count)[4], const int(&stride)[4], auto each) {
    for (int a = 0; a < count[0]; ++a)
      for (int b = 0; b < count[1]; ++b)
        for (int c = 0; c < count[2]; ++c)
          for (int d = 0; d < count[3]; ++d)
            each(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]);
  };
  bf_aot::SparseMap map{{0}, {}};
  visit(groups.count, groups.stride, [&](int first) {
    visit(groups.taps, groups.tap_stride,
          [&](int tap) { map.column.push_back(groups.first + first + tap); });
    map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
  });
  return map;
}

template <const bf::MaxGroups& kGroups>
void expect_same_maxima() {
  const bf_aot::SparseMap map = candidates_of(kGroups);
  const int in = *std::max_element(map.column.begin(), map.column.end()) + 1;
  const int rows = static_cast<int>(map.row_start.size()) - 1;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<float> c = random.numbers(in, kAllNumbers[seed % 5]);
    std::vector<float> r = random.radii(in, kAllNumbers[seed % 5]);
    if (seed % 2 == 0) r[static_cast<std::size_t>(random.below(in))] = kInfinity;
    if (seed % 4 == 0)
      c[static_cast<std::size_t>(random.below(in))] = std::numeric_limits<float>::quiet_NaN();
    Sums made(rows), expected(rows);
    bf::max_interval<kGroups>(c.data(), r.data(), max_errors(0x1p-18F), made.centre.data(),
                              made.radius.data());
    bf::max_interval(rows, map.row_start.data(), map.column.data(), c.data(), r.data(),
                     max_errors(0x1p-18F), expected.centre.data(), expected.radius.data());
    EXPECT_EQ(made.centre, expected.centre);
    EXPECT_EQ(made.radius, expected.radius);
  }
}

TEST(Intervals, MaximaOfEqualGroupsAreThoseOfTheTable) {
  expect_same_maxima<kPooled>();
  expect_same_maxima<kOverlapping>();
  expect_same_maxima<kChannelsLast>();
  expect_same_maxima<kLong>();
}

// One candidate of which nothing is known, first or last, or ends beyond the floats.
TEST(Intervals, MaximaOfWhatIsNotFiniteKnowNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::max();
  const float centres[] = {kInfinity, -kInfinity, nan, 0, 0, most, -most};
  const float radii[] = {0, 0, 0, kInfinity, nan, most, most};
  const std::int32_t row_start[] = {0, 2, 4, 5}, column[] = {0, 1, 1, 0, 0};
  const bf::IntervalErrors none = {1, 0, 0};
  for (int j = 0; j < 7; ++j) {
    SCOPED_TRACE(j);
    const float c[] = {centres[j], 1}, r[] = {radii[j], 1};
    Sums made(3), again(3);
    bf::max_interval(3, row_start, column, c, r, max_errors(0), made.centre.data(),
                     made.radius.data());
    bf::max_interval(3, row_start, column, made.centre.data(), made.radius.data(), max_errors(0),
                     again.centre.data(), again.radius.data());
    for (const Sums* sums : {&made, &again})
      for (std::size_t i = 0; i < 3; ++i) {
        float lower = 1, upper = 1;
        bf::write_interval(1, false, nullptr, 1, none, &sums->centre[i], &sums->radius[i], &lower,
                           &upper);
        EXPECT_EQ(lower, -kInfinity) << i;
        EXPECT_EQ(upper, kInfinity) << i;
      }
  }
}

// Overflow and NaN: nothing is known, whatever comes after; of one neuron, and in lanes of many.
TEST(Intervals, WhatIsNotFiniteKnowsNothing) {
  constexpr std::size_t kCount = 17;
  const bf::IntervalErrors errors = {1, 0x1p-22F, 0x1p-100F};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::max();
  const float sums[] = {kInfinity, -kInfinity, nan, 0, 0, most};
  const float spreads[] = {0, 0, 0, kInfinity, nan, most};
  for (const bool on : {false, true})
    for (int j = 0; j < 6; ++j) {
      SCOPED_TRACE(j);
      const std::vector<float> sum(kCount, sums[j]), spread(kCount, spreads[j]);
      std::vector<float> lower(kCount, 1), upper(kCount, 1);
      bf::write_interval(kCount, on, nullptr, 1, errors, sum.data(), spread.data(), lower.data(),
                         upper.data());
      EXPECT_EQ(lower, std::vector<float>(kCount, on ? 0 : -kInfinity));
      EXPECT_EQ(upper, std::vector<float>(kCount, kInfinity));
      std::vector<float> c = sum, r = spread;
      bf::finish_interval(kCount, on, nullptr, 1, errors, 0, c.data(), r.data());
      for (std::size_t i = 0; i < kCount; ++i) {
        const float pair_c[] = {c[i], 1}, pair_r[] = {r[i], 0};
        const std::int32_t row_start[] = {0, 2}, column[] = {0, 1};
        const float weight[] = {0, 1};  // a product with what nothing is known of
        float centre = 1, radius = 1;
        bf::sparse_interval<false>(1, row_start, column, weight, pair_c, pair_r, &centre, &radius);
        bf::write_interval(1, false, nullptr, 1, errors, &centre, &radius, &lower[i], &upper[i]);
      }
      EXPECT_EQ(lower, std::vector<float>(kCount, -kInfinity));
      EXPECT_EQ(upper, std::vector<float>(kCount, kInfinity));
    }
}

}  // namespace
}  // namespace bf_test
