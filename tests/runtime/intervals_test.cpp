// The interval pass through sum layers against exact rationals, with the number of roundings that
// the planner counts.

#include "runtime/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/error_terms.h"
#include "planner/lowering.h"
#include "runtime/conv_interval.h"
#include "terms_random.h"

namespace bf_test {
namespace {

using Kind = RandomTerm::Kind;

struct Sums {
  std::vector<float> centre, radius;

  explicit Sums(int out)
      : centre(static_cast<std::size_t>(out), 7), radius(static_cast<std::size_t>(out), 7) {}
};

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

bf::Layer layer_of(const std::vector<RandomTerm>& terms) {
  bf::Layer layer;
  layer.kind = bf::LayerKind::kSum;
  for (const RandomTerm& term : terms) {
    bf::Term made;
    if (term.kind == Kind::kConv) made.map = bf::ConvMap{term.geometry};
    if (term.kind == Kind::kSparse) made.map = bf::SparseMap{term.row_start, term.column};
    if (term.kind == Kind::kGather) made.map = bf::GatherMap{};
    if (!term.products.empty()) made.row_entries = term.most(false);
    layer.terms.push_back(std::move(made));
  }
  return layer;
}

// Exact sums, the centres' of magnitudes, and the number of products.
struct Exact {
  std::vector<mpq_class> centre, size, radius;
  std::vector<int> products;

  explicit Exact(std::size_t out) : centre(out), size(out), radius(out), products(out) {}

  void add(const RandomTerm& term, const std::vector<float>& c, const std::vector<float>& r) {
    for (const RandomTerm::Product& p : term.products) {
      const mpq_class value = exact(p.weight) * exact(static_cast<double>(c[p.in]));
      centre[p.out] += value;
      size[p.out] += abs(value);
      radius[p.out] += abs(exact(p.weight)) * exact(static_cast<double>(r[p.in]));
      ++products[p.out];
    }
  }
};

void expect_close(const Sums& sums, const Exact& truth, int depth) {
  for (std::size_t i = 0; i < sums.centre.size(); ++i) {
    const mpq_class underflow = exact(truth.products[i] * 0x1p-150);
    const mpq_class miss = abs(exact(static_cast<double>(sums.centre[i])) - truth.centre[i]);
    EXPECT_LE(miss, exact(bf::gamma_float(depth)) * truth.size[i] + underflow) << i;
    const auto reach = static_cast<double>(sums.radius[i]);
    EXPECT_LE(truth.radius[i], (exact(reach) + underflow) * exact(bf::inflate_float(depth))) << i;
    EXPECT_LE(exact(reach), truth.radius[i] * exact(1 + bf::gamma_float(depth)) + underflow) << i;
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
    expect_close(sums, truth, bf::LoweringPlanner::interval_depth(layer_of(terms)));
  }
}

bf::ConvGeometry square(int groups, int in, int out, int size, int kernel) {
  bf::ConvGeometry g;
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
        expect_close(sums, truth, bf::LoweringPlanner::interval_depth(layer_of({term})));
      }
}

// ---- constant shapes: tiles at the ends of rows compute the pixels alone that read through a tap;
// of few products, pixels are in lanes

struct Row {
  int size, kernel, stride, dilation, pad;
  bool transposed;
};

// Two rows of pixels, or what a transposed convolution makes of them.
constexpr bf::ConvShape rows_of(int groups, int in, int out, Row row, bool by_pixels = false) {
  const int reach = (row.kernel - 1) * row.dilation;
  const int made = row.transposed ? (row.size - 1) * row.stride + reach + 1 - 2 * row.pad
                                  : (row.size + 2 * row.pad - reach - 1) / row.stride + 1;
  const bf::ConvShape shape = {1,
                               groups,
                               groups * in,
                               groups * out,
                               {1, 2, row.size},
                               {1, 2, made},
                               {1, 3, row.kernel},
                               {1, 1, row.stride},
                               {1, 1, row.dilation},
                               {0, 1, row.pad},
                               row.transposed,
                               {0, 0, 2 * row.size, {0, row.size, 1}},
                               {0, 0, 2 * made, {0, made, 1}}};
  return by_pixels ? bf::by_pixels(shape, true, true) : shape;
}

bf::ConvGeometry geometry_of(const bf::ConvShape& shape) {
  bf::ConvGeometry g;
  g.batch = shape.batch;
  g.groups = shape.groups;
  g.in_channels = shape.in_channels;
  g.out_channels = shape.out_channels;
  g.transposed = shape.transposed;
  g.in = {shape.in.offset, shape.in.batch, shape.in.channel, {}};
  g.out = {shape.out.offset, shape.out.batch, shape.out.channel, {}};
  for (std::size_t d = 0; d < 3; ++d) {
    g.in_size[d] = shape.in_size[d];
    g.out_size[d] = shape.out_size[d];
    g.kernel[d] = shape.kernel[d];
    g.stride[d] = shape.stride[d];
    g.dilation[d] = shape.dilation[d];
    g.pad[d] = shape.pad[d];
    g.in.spatial[d] = shape.in.spatial[d];
    g.out.spatial[d] = shape.out.spatial[d];
  }
  return g;
}

// Integers are exact in any order: as rows of pixels make them.
template <const bf::ConvShape& kShape, bool kAdd>
void expect_as_strips(const RandomTerm& term, const std::vector<float>& c,
                      const std::vector<float>& r) {
  Sums made(term.out), expected(term.out);
  bf::conv_interval<kAdd>(bf::FixedShape<kShape>{}, term.weight.data(), c.data(), r.data(),
                          made.centre.data(), made.radius.data());
  bf::conv_strips<bf::IntervalTiles<kAdd>>(
      kShape, term.weight.data(), nullptr, c.data(), r.data(),
      bf::IntervalOut{expected.centre.data(), expected.radius.data(), false});
  EXPECT_EQ(made.centre, expected.centre);
  EXPECT_EQ(made.radius, expected.radius);
}

template <const bf::ConvShape& kShape>
void check_fixed() {
  for (const Numbers kind : {Numbers::kIntegers, Numbers::kSpread, Numbers::kCancelling}) {
    Random random(1);
    const RandomTerm term = random_conv_term(random, kind, geometry_of(kShape));
    const std::vector<float> c = random.numbers(term.in, kind), r = random.radii(term.in, kind);
    if (kind == Numbers::kIntegers) {
      expect_as_strips<kShape, false>(term, c, r);
      expect_as_strips<kShape, true>(term, c, r);
      continue;
    }
    Sums sums(term.out);
    bf::conv_interval<false>(bf::FixedShape<kShape>{}, term.weight.data(), c.data(), r.data(),
                             sums.centre.data(), sums.radius.data());
    Exact truth(sums.centre.size());
    truth.add(term, c, r);
    expect_close(sums, truth, bf::LoweringPlanner::interval_depth(layer_of({term})));
  }
}

constexpr bf::ConvShape kOneTile = rows_of(1, 16, 17, {8, 3, 1, 1, 1, false});
constexpr bf::ConvShape kEnds = rows_of(1, 8, 20, {14, 3, 1, 1, 1, false});
constexpr bf::ConvShape kStrided = rows_of(1, 6, 8, {32, 4, 2, 1, 1, false});
constexpr bf::ConvShape kMiddle = rows_of(1, 5, 17, {27, 5, 1, 2, 4, false});
constexpr bf::ConvShape kSingle = rows_of(1, 8, 7, {9, 3, 1, 1, 1, false});
constexpr bf::ConvShape kLongKernel = rows_of(1, 2, 16, {30, 19, 1, 1, 9, false});
constexpr bf::ConvShape kShortRow = rows_of(1, 4, 6, {5, 9, 1, 1, 4, false});
constexpr bf::ConvShape kWidePad = rows_of(1, 8, 5, {4, 3, 1, 1, 7, false});
constexpr bf::ConvShape kNoPad = rows_of(1, 12, 18, {21, 3, 1, 1, 0, false});
constexpr bf::ConvShape kChannels = rows_of(1, 70, 28, {11, 3, 2, 1, 1, false});
constexpr bf::ConvShape kGroups = rows_of(3, 8, 6, {17, 3, 1, 1, 1, false});
constexpr bf::ConvShape kUp = rows_of(1, 5, 9, {8, 3, 2, 1, 1, true});
constexpr bf::ConvShape kCrowdedPlanes = rows_of(1, 8, 4, {256, 3, 1, 1, 1, false});
constexpr bf::ConvShape kPixelwise = rows_of(1, 6, 21, {13, 3, 1, 1, 1, false}, true);

TEST(Intervals, ConstantShapes) {
  check_fixed<kOneTile>();
  check_fixed<kEnds>();
  check_fixed<kStrided>();
  check_fixed<kMiddle>();
  check_fixed<kSingle>();
  check_fixed<kLongKernel>();
  check_fixed<kShortRow>();
  check_fixed<kWidePad>();
  check_fixed<kNoPad>();
  check_fixed<kChannels>();
  check_fixed<kGroups>();
  check_fixed<kUp>();
  check_fixed<kCrowdedPlanes>();
  check_fixed<kPixelwise>();
}

// Four rows of a volume of two images.
constexpr bf::ConvShape volumes(bf::ConvShape shape) {
  const int in = shape.in_size[2], out = shape.out_size[2];
  shape.batch = shape.in_size[0] = shape.out_size[0] = 2;
  shape.in = {0, 4 * in * shape.in_channels, 4 * in, {2 * in, in, 1}};
  shape.out = {0, 4 * out * shape.out_channels, 4 * out, {2 * out, out, 1}};
  return shape;
}

constexpr bf::ConvShape kFew = rows_of(1, 3, 20, {31, 3, 1, 1, 1, false});
constexpr bf::ConvShape kFewStrided = rows_of(1, 3, 8, {32, 4, 2, 1, 1, false});
constexpr bf::ConvShape kFewPairs = rows_of(1, 2, 5, {64, 5, 2, 1, 2, false});
constexpr bf::ConvShape kFewApart = rows_of(1, 2, 9, {37, 3, 3, 2, 2, false});
constexpr bf::ConvShape kFewWidePad = rows_of(1, 2, 11, {3, 3, 1, 1, 7, false});
constexpr bf::ConvShape kDepthwise = rows_of(5, 1, 1, {9, 3, 1, 1, 1, false});
constexpr bf::ConvShape kPooling = rows_of(4, 1, 1, {54, 2, 2, 1, 0, false});
constexpr bf::ConvShape kVolumes = volumes(rows_of(1, 2, 5, {15, 3, 1, 1, 1, false}));

TEST(Intervals, ConstantShapesOfFewProducts) {
  if constexpr (bf::kVectorBytes >= 16) {
    static_assert(bf::has_pixel_lanes(kFew, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kFewStrided, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kFewPairs, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kFewApart, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kFewWidePad, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kDepthwise, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kPooling, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes(kVolumes, bf::kIntervalChain));
  }
  check_fixed<kFew>();
  check_fixed<kFewStrided>();
  check_fixed<kFewPairs>();
  check_fixed<kFewApart>();
  check_fixed<kFewWidePad>();
  check_fixed<kDepthwise>();
  check_fixed<kPooling>();
  check_fixed<kVolumes>();
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

mpq_class value(float x) {
  return exact(static_cast<double>(x));
}

mpq_class relu(const mpq_class& x, bool on) {
  return on && x < 0 ? mpq_class(0) : x;
}

// The constants pay for the roundings of finish_interval() and write_interval() alone.
TEST(Intervals, ActivationsHoldWhatSumsSay) {
  const bf::IntervalErrors errors = {1 + 0x1p-21F, 0x1p-22F, 0x1p-100F};
  const float gamma = 0x1p-18F;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool on = random.below(2) == 0;
    const Numbers kind = kAllNumbers[seed % 5];
    const std::vector<float> m = random.numbers(16, kind), spread = random.radii(16, kind);
    std::vector<double> bias;
    for (const float b : random.numbers(16, kind)) bias.push_back(static_cast<double>(b));
    std::vector<float> centre = m, radius = spread, lower(16), upper(16);
    bf::write_interval(16, on, bias.data(), errors, m.data(), spread.data(), lower.data(),
                       upper.data());
    bf::finish_interval(16, on, bias.data(), errors, gamma, centre.data(), radius.data());
    for (std::size_t j = 0; j < 16; ++j) {
      const mpq_class z = value(m[j]) + exact(bias[j]), reach = value(spread[j]);
      const mpq_class low = relu(z - reach, on), high = relu(z + reach, on);
      EXPECT_LE(value(lower[j]), low) << j;
      EXPECT_GE(value(upper[j]), high) << j;
      const mpq_class c = value(centre[j]), r = value(radius[j]) + exact(0x1p-149);
      EXPECT_GE(r, high - c + value(gamma) * abs(c)) << j;
      EXPECT_GE(r, c - low + value(gamma) * abs(c)) << j;
    }
  }
}

// Groups of random size over `in` candidates.
bf::SparseMap random_groups(Random& random, int rows, int in) {
  bf::SparseMap map{{0}, {}};
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

// Of candidates whose radii may have lost 2^-149, with what readers need.
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
    const bf::SparseMap map = random_groups(random, kRows, kIn);
    Sums made(kRows);
    bf::max_interval(kRows, map.row_start.data(), map.column.data(), c.data(), r.data(),
                     max_errors(gamma), made.centre.data(), made.radius.data());
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto at = [&](std::int32_t k) { return static_cast<std::size_t>(map.column[k]); };
      mpq_class low, high;
      for (std::int32_t k = map.row_start[i]; k < map.row_start[i + 1]; ++k) {
        const mpq_class reach = value(r[at(k)]) + exact(0x1p-149);
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

// Groups of equal form, and the same as a table.
constexpr bf::MaxGroups kPooled = {0, {1, 3, 6, 6}, {0, 729, 108, 4}, {1, 1, 4, 4}, {0, 0, 27, 1}};
constexpr bf::MaxGroups kOverlapping = {
    2, {1, 1, 5, 5}, {0, 0, 22, 2}, {1, 1, 3, 3}, {0, 0, 11, 1}};
constexpr bf::MaxGroups kChannelsLast = {
    0, {1, 4, 4, 6}, {0, 96, 12, 1}, {1, 2, 2, 1}, {0, 48, 6, 0}};
constexpr bf::MaxGroups kLong = {1, {1, 1, 2, 300}, {0, 0, 601, 2}, {1, 1, 1, 3}, {0, 0, 0, 1}};

bf::SparseMap candidates_of(const bf::MaxGroups& groups) {
  const auto visit = [](const int(&count)[4], const int(&stride)[4], auto each) {
    for (int a = 0; a < count[0]; ++a)
      for (int b = 0; b < count[1]; ++b)
        for (int c = 0; c < count[2]; ++c)
          for (int d = 0; d < count[3]; ++d)
            each(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]);
  };
  bf::SparseMap map{{0}, {}};
  visit(groups.count, groups.stride, [&](int first) {
    visit(groups.taps, groups.tap_stride,
          [&](int tap) { map.column.push_back(groups.first + first + tap); });
    map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
  });
  return map;
}

template <const bf::MaxGroups& kGroups>
void expect_same_maxima() {
  const bf::SparseMap map = candidates_of(kGroups);
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
        bf::write_interval(1, false, nullptr, none, &sums->centre[i], &sums->radius[i], &lower,
                           &upper);
        EXPECT_EQ(lower, -kInfinity) << i;
        EXPECT_EQ(upper, kInfinity) << i;
      }
  }
}

// Overflow and NaN: nothing is known, whatever comes after.
TEST(Intervals, WhatIsNotFiniteKnowsNothing) {
  const bf::IntervalErrors errors = {1, 0x1p-22F, 0x1p-100F};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::max();
  const float sums[] = {kInfinity, -kInfinity, nan, 0, 0, most};
  const float spreads[] = {0, 0, 0, kInfinity, nan, most};
  for (const bool on : {false, true})
    for (int j = 0; j < 6; ++j) {
      SCOPED_TRACE(j);
      float lower = 1, upper = 1;
      bf::write_interval(1, on, nullptr, errors, sums + j, spreads + j, &lower, &upper);
      EXPECT_EQ(lower, on ? 0 : -kInfinity);
      EXPECT_EQ(upper, kInfinity);
      std::vector<float> c = {sums[j], 1}, r = {spreads[j], 0};
      bf::finish_interval(1, on, nullptr, errors, 0, c.data(), r.data());
      RandomTerm row;  // 0 x + 1 y: a product with what nothing is known of
      row.row_start = {0, 2};
      row.column = {0, 1};
      row.weight = {0, 1};
      float centre = 1, radius = 1;
      bf::sparse_interval<false>(1, row.row_start.data(), row.column.data(), row.weight.data(),
                                 c.data(), r.data(), &centre, &radius);
      bf::write_interval(1, false, nullptr, errors, &centre, &radius, &lower, &upper);
      EXPECT_EQ(lower, -kInfinity);
      EXPECT_EQ(upper, kInfinity);
    }
}

}  // namespace
}  // namespace bf_test
