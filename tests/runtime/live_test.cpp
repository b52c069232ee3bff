// Routines on live channels against those of all channels, docs/proofs/live-pixels.md.

#include "runtime/bf/sums/live.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/bf/conv/conv_live.h"
#include "tests/runtime/windows_shapes.h"

namespace bf_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The list of an image: each channel of each pixel with a chance of `percent`.
std::vector<std::int32_t> random_list(Random& random, const bf::Image& image, int percent) {
  const int pixels = bf::elements(image.batch, 1, image.size);
  const int numbers = 1 + pixels * (1 + image.channels) + bf::kListRoom;
  std::vector<std::int32_t> list(static_cast<std::size_t>(numbers), 1 << 30);
  list[0] = bf::kFewLive;
  for (int p = 0; p < pixels; ++p) {
    std::int32_t* const own = list.data() + 1 + std::ptrdiff_t{p} * (1 + image.channels);
    own[0] = 0;
    for (int c = 0; c < image.channels; ++c)
      if (random.below(100) < percent)
        own[++own[0]] = c;
      else
        own[image.channels - (c - own[0])] = c;
  }
  return list;
}

// By element: whether it is in the list.
std::vector<bool> live_elements(const bf::Image& image, const std::vector<std::int32_t>& list) {
  std::vector<bool> live(
      static_cast<std::size_t>(bf::elements(image.batch, image.channels, image.size)), false);
  int p[3] = {0, 0, 0};
  const std::int32_t* own = list.data() + 1;
  for (int n = 0; n < image.batch; ++n)
    for (p[0] = 0; p[0] < image.size[0]; ++p[0])
      for (p[1] = 0; p[1] < image.size[1]; ++p[1])
        for (p[2] = 0; p[2] < image.size[2]; ++p[2], own += 1 + image.channels)
          for (int i = 0; i < own[0]; ++i)
            live[static_cast<std::size_t>(bf::element(image.at, n, own[1 + i], p))] = true;
  return live;
}

bf::Image made_image(const bf::ConvShape& shape) {
  return bf::image_made(shape);
}

// The numbers of a pixel are all channels, each once.
void expect_dead_behind(const bf::Image& image, const std::vector<std::int32_t>& list) {
  const std::int32_t* own = list.data() + 1;
  for (int p = 0; p < bf::elements(image.batch, 1, image.size); ++p, own += 1 + image.channels) {
    std::vector<std::int32_t> channels(own + 1, own + 1 + image.channels);
    std::sort(channels.begin(), channels.end());
    for (int c = 0; c < image.channels; ++c) EXPECT_EQ(channels[static_cast<std::size_t>(c)], c);
  }
}

// Dead: the radius is 0. Not a number is live.
TEST(Live, ListsWhatIsNotConstant) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bf::Image image = made_image(random_conv_term(random, Numbers::kIntegers).shape);
    const int n = bf::elements(image.batch, image.channels, image.size);
    const float radii[] = {0.0F, 0x1p-149F, 1.0F, std::numeric_limits<float>::infinity(), kNan};
    const int percents[] = {3, 30, 80};
    const int percent = percents[seed % 3];
    std::vector<float> radius;
    std::vector<bool> expected;
    for (int j = 0; j < n; ++j) {
      const bool dead = random.below(100) < percent;
      radius.push_back(dead ? 0 : radii[random.between(1, 4)]);
      expected.push_back(!dead);
    }
    std::vector<std::int32_t> list(
        static_cast<std::size_t>(1 + n + bf::elements(image.batch, 1, image.size)));
    bf::list_live(image, n, radius.data(), list.data());
    const auto dead = std::count(expected.begin(), expected.end(), false);
    const bf::LivePixels live{list.data()};
    EXPECT_EQ(live.all(), dead < n / 8);
    EXPECT_EQ(live.many(), n - dead > n / 2);
    if (live.all()) expected.assign(expected.size(), true);
    EXPECT_EQ(live_elements(image, list), expected);
    expect_dead_behind(image, list);
  }
}

// Those that some window chose, once however many did, but for dead ones; in any order of windows.
TEST(Live, ListsWhatMaximaChose) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bf::Image image = made_image(random_conv_term(random, Numbers::kIntegers).shape);
    const int n = bf::elements(image.batch, image.channels, image.size);
    std::vector<float> radius;
    for (int j = 0; j < n; ++j) radius.push_back(random.below(3) == 0 ? 0.0F : 1.0F);
    if (seed % 4 == 0) radius[0] = kNan;
    if (seed % 5 == 0) std::fill(radius.begin(), radius.end(), 1.0F);
    const int windows[] = {1, n / 4 + 1, n, 8 * n};  // of 8 n all are chosen, or nearly
    std::vector<std::int32_t> choice;
    std::vector<bool> expected(static_cast<std::size_t>(n), false);
    for (int i = 0; i < windows[seed % 4]; ++i) {
      const int chosen = random.below(n);
      choice.push_back(chosen);
      if (radius[static_cast<std::size_t>(chosen)] != 0)
        expected[static_cast<std::size_t>(chosen)] = true;
    }
    if (seed % 2 == 0) std::sort(choice.begin(), choice.end());
    std::vector<std::int32_t> list(
        static_cast<std::size_t>(1 + n + bf::elements(image.batch, 1, image.size)), 1 << 30);
    bf::list_chosen(image, n, radius.data(), static_cast<int>(choice.size()), choice.data(),
                    list.data());
    const auto dead = std::count(expected.begin(), expected.end(), false);
    const bf::LivePixels live{list.data()};
    EXPECT_EQ(live.all(), dead < n / 8);
    EXPECT_EQ(live.many(), n - dead > n / 2);
    if (live.all()) expected.assign(expected.size(), true);
    EXPECT_EQ(live_elements(image, list), expected);
    expect_dead_behind(image, list);
    const std::int32_t* own = list.data() + 1;
    for (int p = 0; p < bf::elements(image.batch, 1, image.size); ++p, own += 1 + image.channels)
      EXPECT_TRUE(std::is_sorted(own + 1, own + 1 + own[0]));
  }
}

// Where coefficients of an element are, in rows.
std::vector<std::ptrdiff_t> places(const bf::Image& image, const bf::ImageStrides& rows) {
  std::vector<std::ptrdiff_t> made(
      static_cast<std::size_t>(bf::elements(image.batch, image.channels, image.size)));
  int p[3] = {0, 0, 0};
  for (int n = 0; n < image.batch; ++n)
    for (int c = 0; c < image.channels; ++c)
      for (p[0] = 0; p[0] < image.size[0]; ++p[0])
        for (p[1] = 0; p[1] < image.size[1]; ++p[1])
          for (p[2] = 0; p[2] < image.size[2]; ++p[2])
            made[static_cast<std::size_t>(bf::element(image.at, n, c, p))] =
                bf::element(rows, n, c, p);
  return made;
}

template <int kRows>
void check_clear(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const bf::Image image = made_image(random_conv_term(random, Numbers::kIntegers).shape);
  const bf::ImageStrides rows = seed % 2 == 0 ? bf::by_pixels(image) : image.at;
  const std::vector<std::int32_t> list = random_list(random, image, 40);
  const std::vector<bool> live = live_elements(image, list);
  const std::vector<std::ptrdiff_t> place = places(image, rows);
  std::vector<float> coefficients(place.size() * kRows, kNan);
  bf::clear_live<kRows>(image, rows, bf::whole(image.size), bf::LivePixels{list.data()},
                        coefficients.data());
  for (std::size_t j = 0; j < place.size(); ++j)
    for (int r = 0; r < kRows; ++r) {
      const float left = coefficients[static_cast<std::size_t>(place[j] * kRows + r)];
      EXPECT_EQ(left == 0, live[j]);  // the others stay as they are
    }
}

TEST(Live, ClearsWhatIsListed) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    check_clear<2>(seed);
    check_clear<16>(seed);
  }
}

// Sums of integers are exact. Tables of dead neurons are zero; their coefficients are NaN, and
// stay.
template <int kRows>
void check_relaxation(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const bf::Image image = made_image(random_conv_term(random, Numbers::kIntegers).shape);
  const bool by_pixels = seed % 2 == 0;
  const bf::ImageStrides rows = by_pixels ? bf::by_pixels(image) : image.at;
  const int n = bf::elements(image.batch, image.channels, image.size);
  const auto list = random_list(random, image, random.below(101));
  const std::vector<bool> live = live_elements(image, list);
  const auto place = places(image, rows);
  std::vector<float> table = random.numbers(6 * std::int64_t{n}, Numbers::kIntegers);
  std::vector<float> flat = random.numbers(std::int64_t{n} * kRows, Numbers::kIntegers);
  std::vector<float> from(flat.size(), kNan);
  for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
    for (std::size_t row = 0; row < 6 && !live[j]; ++row)
      table[row * static_cast<std::size_t>(n) + j] = 0;
    for (std::size_t r = 0; r < kRows && live[j]; ++r)
      from[static_cast<std::size_t>(place[j]) * kRows + r] = flat[j * kRows + r];
  }
  std::vector<float> sums(2 * kRows, 1.0F), expected_sums = sums;
  const bool zeros = random.below(2) == 0;
  bf::relax_pixels<kRows>(image, rows, bf::whole(image.size), n, table.data(), table.data() + 4 * n,
                          bf::LivePixels{list.data()}, zeros, from.data(), from.data(),
                          sums.data());
  bf::relax_rows<kRows>(n, table.data(), table.data() + 4 * n, flat.data(), flat.data(),
                        expected_sums.data());
  EXPECT_EQ(sums, expected_sums);
  for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j)
    for (std::size_t r = 0; r < kRows; ++r) {
      const float made = from[static_cast<std::size_t>(place[j]) * kRows + r];
      EXPECT_TRUE(live[j] ? made == flat[j * kRows + r] : zeros ? made == 0 : std::isnan(made));
    }
}

TEST(Live, Relaxations) {
  for (unsigned seed = 0; seed < 60; ++seed) check_relaxation<4>(seed);
  for (unsigned seed = 60; seed < 80; ++seed) check_relaxation<32>(seed);
}

TEST(Live, Identities) {
  constexpr int kRows = 6;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bf::Image image = made_image(random_conv_term(random, Numbers::kIntegers).shape);
    const bf::ImageStrides rows = seed % 2 == 0 ? bf::by_pixels(image) : image.at;
    const int n = bf::elements(image.batch, image.channels, image.size);
    const bf::Window window = random_window(random, image.size);
    const auto list = random_list(random, image, 50);
    const std::vector<bool> live = live_elements(image, list);
    const auto from_place = places(image, bf::by_pixels(image)), place = places(image, rows);
    std::vector<float> from(static_cast<std::size_t>(n) * kRows, kNan);
    std::vector<float> to = random.numbers(std::int64_t{n} * kRows, Numbers::kIntegers);
    std::vector<float> expected = to;
    int p[3] = {0, 0, 0};
    for (int b = 0; b < image.batch; ++b)
      for (int c = 0; c < image.channels; ++c)
        for (p[0] = window.begin[0]; p[0] < window.end[0]; ++p[0])
          for (p[1] = window.begin[1]; p[1] < window.end[1]; ++p[1])
            for (p[2] = window.begin[2]; p[2] < window.end[2]; ++p[2]) {
              const auto j = static_cast<std::size_t>(bf::element(image.at, b, c, p));
              for (std::size_t r = 0; r < kRows && live[j]; ++r) {
                const float a = static_cast<float>(random.between(-9, 9));
                from[static_cast<std::size_t>(from_place[j]) * kRows + r] = a;
                expected[static_cast<std::size_t>(place[j]) * kRows + r] += a;
              }
            }
    bf::add_live<kRows>(image, rows, window, bf::LivePixels{list.data()}, from.data(), to.data());
    EXPECT_EQ(to, expected);
  }
}

// The sum of |A_k| radius_k over a window, which conv_spread() makes of coefficients that it does
// not store. Radii are 0 or 1, of integers of three elements, else of one: no sum is rounded.
template <int kRows, bool kWide, typename Shape, typename Sources>
void check_spread(Shape fixed, const float* weight, const float* from, const float* zeroed,
                  Sources sources, const bf::Window& made_in, const bf::Window& read, Numbers kind,
                  Random& random) {
  const bf::ConvShape& shape = fixed;
  bf::Image image = {shape.batch, shape.in_channels, {}, shape.in};
  std::copy(std::begin(shape.in_size), std::end(shape.in_size), image.size);
  const int n = bf::elements(image.batch, image.channels, image.size);
  std::vector<float> rows(static_cast<std::size_t>(n) * kRows, 0.0F);  // 0 outside of the window
  bf::conv_backward<kRows, kWide>(fixed, weight, zeroed, made_in, false, rows.data(), read);
  const bf::ImageStrides at = random.below(2) == 0 ? bf::by_pixels(image) : shape.in;
  const std::vector<std::ptrdiff_t> place = places(image, at);
  std::vector<float> radius(static_cast<std::size_t>(n), 0.0F), expected(kRows, 0.0F);
  for (int i = 0; i < (kind == Numbers::kIntegers ? 3 : 1); ++i) {
    const auto j = static_cast<std::size_t>(random.below(n));
    if (radius[static_cast<std::size_t>(place[j])] != 0) continue;
    radius[static_cast<std::size_t>(place[j])] = 1;
    for (std::size_t r = 0; r < kRows; ++r) expected[r] += std::abs(rows[j * kRows + r]);
  }
  std::vector<float> spread(kRows, kNan), of_list = spread;
  bf::conv_spread<kRows, kWide>(fixed, weight, zeroed, made_in, at, radius.data(), spread.data(),
                                read);
  bf::conv_spread_live<kRows, kWide>(fixed, weight, from, sources, made_in, at, radius.data(),
                                     of_list.data(), read);
  EXPECT_EQ(spread, expected);
  EXPECT_EQ(of_list, expected);
}

// Coefficients of outputs that are not live are NaN here and 0 for conv_backward(). Sums of one
// chain are the same but for zeros, to the bit; others of integers.
template <int kRows, bool kWide, typename Shape>
void check_conv(Shape fixed, const std::vector<float>& weight, unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const bf::ConvShape& shape = fixed;
  const bool one_chain =
      kWide || bf::taps(shape) * bf::out_group(shape) <= bf::conv_chain(shape).products;
  const Numbers kind = one_chain ? Numbers::kEven : Numbers::kIntegers;
  bf::Image in = {shape.batch, shape.in_channels, {}, shape.in};
  std::copy(std::begin(shape.in_size), std::end(shape.in_size), in.size);
  const bf::Image out = bf::image_made(shape);
  const int percents[] = {0, 20, 50, 90, 100};
  auto sources = random_list(random, out, percents[random.below(5)]);
  if (random.below(4) == 0) sources[0] = bf::kManyLive;  // then dead coefficients may be read
  const auto targets = random_list(random, in, percents[random.below(5)]);
  const bool of_sources = shape.groups == 1 && random.below(4) > 0;
  const bool of_targets = random.below(4) > 0;
  const std::vector<bool> live_out = live_elements(out, sources);
  const std::vector<bool> live_in = live_elements(in, targets);
  const auto count = [](const bf::Image& image) {
    return std::int64_t{bf::elements(image.batch, image.channels, image.size)} * kRows;
  };
  std::vector<float> from = random.numbers(count(out), kind), zeroed = from;
  for (std::size_t i = 0; i < from.size() && of_sources; ++i)
    if (!live_out[i / kRows]) zeroed[i] = 0, from[i] = sources[0] == bf::kManyLive ? 0 : kNan;
  std::vector<float> made = random.numbers(count(in), kind), expected = made;
  const std::vector<float> before = made;
  const bool whole = seed % 3 == 0, add = seed % 2 == 0;
  const bf::Window made_in =
      whole ? bf::whole(shape.out_size) : random_window(random, shape.out_size);
  const bf::Window read = whole ? bf::whole(shape.in_size) : random_window(random, shape.in_size);
  const auto run = [&](auto live_sources, auto live_targets) {
    bf::conv_backward_live<kRows, kWide>(fixed, weight.data(), from.data(), live_sources, made_in,
                                         add, made.data(), live_targets, read);
  };
  const bf::LivePixels source_list{sources.data()}, target_list{targets.data()};
  if (of_sources && of_targets)
    run(source_list, target_list);
  else if (of_sources)
    run(source_list, bf::AllLive{});
  else if (of_targets)
    run(bf::AllLive{}, target_list);
  else
    run(bf::AllLive{}, bf::AllLive{});
  bf::conv_backward<kRows, kWide>(fixed, weight.data(), zeroed.data(), made_in, add,
                                  expected.data(), read);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const bool passed = !of_targets || live_in[i / kRows];
    EXPECT_EQ(made[i], passed ? expected[i] : before[i]) << i;
  }
  const auto spread = [&](auto live_sources) {
    check_spread<kRows, kWide>(fixed, weight.data(), from.data(), zeroed.data(), live_sources,
                               made_in, read, kind, random);
  };
  if (of_sources)
    spread(source_list);
  else
    spread(bf::AllLive{});
}

// Lists are by element here: the image's places in memory are those of its coefficients.
TEST(Live, RandomConvolutions) {
  int checked = 0;
  for (unsigned seed = 0; checked < 300; ++seed) {
    Random random(seed);
    const RandomTerm term = random_conv_term(random, Numbers::kIntegers);
    if (term.shape.groups != 1 && !bf::is_depthwise(term.shape)) continue;
    ++checked;
    check_conv<4, false>(term.shape, term.weight, seed);
    check_conv<32, false>(term.shape, term.weight, seed);
    check_conv<16, true>(term.shape, term.weight, seed);
  }
}

// Sums over the box are the same to the bit, whatever the register tile, the window, as long as it
// holds all that is not 0, and with lists. Coefficients are integers, radii are not.
template <const bf::ConvShape& kShape, int kRows, bool kWide>
void check_order(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const bf::Image out = bf::image_made(kShape);
  bf::Image in = {kShape.batch, kShape.in_channels, {}, kShape.in};
  std::copy(std::begin(kShape.in_size), std::end(kShape.in_size), in.size);
  const auto count = [](const bf::Image& image) {
    return std::int64_t{bf::elements(image.batch, image.channels, image.size)};
  };
  const std::vector<float> weight =
      random.numbers(std::int64_t{kShape.out_channels} * bf::in_group(kShape) * bf::taps(kShape),
                     Numbers::kIntegers);
  const std::vector<float> from = random.numbers(count(out) * kRows, Numbers::kIntegers);
  const auto n = static_cast<std::size_t>(count(in));
  const std::vector<float> radii = random.radii(static_cast<int>(n), Numbers::kEven);
  const bf::Window made = bf::whole(kShape.out_size), whole = bf::whole(kShape.in_size);
  const bf::Window read = random_window(random, kShape.in_size);
  std::vector<float> radius(n, 0.0F);
  int p[3] = {0, 0, 0};
  for (int c = 0; c < kShape.in_channels; ++c)
    for (p[1] = read.begin[1]; p[1] < read.end[1]; ++p[1])
      for (p[2] = read.begin[2]; p[2] < read.end[2]; ++p[2]) {
        const auto k = static_cast<std::size_t>(bf::element(kShape.in, 0, c, p));
        radius[k] = radii[k];
      }
  const bf::FixedShape<kShape> fixed{};
  const auto spread = [&](auto tile, auto shape, const bf::Window& window) {
    std::vector<float> sums(kRows, kNan);
    bf::conv_spread<kRows, kWide, decltype(tile)>(shape, weight.data(), from.data(), made,
                                                  kShape.in, radius.data(), sums.data(), window);
    return sums;
  };
  const std::vector<float> expected = spread(bf::GivenTile<1, 1, 1>{}, fixed, whole);
  EXPECT_EQ(spread(bf::PortableTile{}, fixed, whole), expected);
  EXPECT_EQ(spread(bf::PortableTile{}, fixed, read), expected);
  EXPECT_EQ(spread(bf::GivenTile<2, 2, 6>{}, fixed, whole), expected);
  EXPECT_EQ(spread(bf::GivenTile<4, 3, 2>{}, fixed, read), expected);
  EXPECT_EQ(spread(bf::PortableTile{}, kShape, read), expected);
  if (kShape.groups != 1) return;
  const auto sources = random_list(random, out, 100);
  std::vector<float> sums(kRows, kNan);
  bf::conv_spread_live<kRows, kWide>(fixed, weight.data(), from.data(),
                                     bf::LivePixels{sources.data()}, made, kShape.in, radius.data(),
                                     sums.data(), read);
  EXPECT_EQ(sums, expected);
}

template <const bf::ConvShape& kShape>
void check_orders() {
  for (unsigned seed = 0; seed < 6; ++seed) {
    check_order<kShape, 32, false>(seed);
    check_order<kShape, 6, false>(seed);
    check_order<kShape, 24, true>(seed);
  }
}

TEST(Live, SpreadsComeInOneOrder) {
  check_orders<kFirst>();
  check_orders<kDilated>();
  check_orders<kTransposed>();
  check_orders<kGrouped>();
  check_orders<kDepthwise>();
  check_orders<kWide>();
}

template <const bf::ConvShape& kShape, bool kAllRows = false>
void check_fixed() {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Random random(seed);
    const std::int64_t count =
        std::int64_t{kShape.out_channels} * bf::in_group(kShape) * bf::taps(kShape);
    const std::vector<float> weight = random.numbers(count, Numbers::kIntegers);
    check_conv<32, false>(bf::FixedShape<kShape>{}, weight, seed);
    if constexpr (kAllRows) {
      check_conv<64, false>(bf::FixedShape<kShape>{}, weight, seed);
      check_conv<24, true>(bf::FixedShape<kShape>{}, weight, seed);
      check_conv<6, false>(bf::FixedShape<kShape>{}, weight, seed);
    }
  }
}

TEST(Live, ConstantShapes) {
  check_fixed<kFirst, true>();
  check_fixed<kDeep>();
  check_fixed<kDilated>();
  check_fixed<kTransposed>();
  check_fixed<kPointwise>();
  check_fixed<kDepthwise, true>();
  check_fixed<kSpread>();
}

}  // namespace
}  // namespace bf_test
