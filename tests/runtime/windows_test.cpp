// Windows of images against the loops that define convolutions, and routines on windows against the
// same on whole tensors.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "runtime/bf/conv/conv_forward.h"
#include "runtime/bf/conv/starts.h"
#include "runtime/bf/sums/row_windows.h"
#include "tests/runtime/windows_shapes.h"

namespace bf_test {
namespace {

// Element -> where its coefficients are, for the pixels of a window.
std::map<int, std::ptrdiff_t> rows_inside(const bf::Image& image, const bf::Window& window) {
  std::map<int, std::ptrdiff_t> made;
  const bf::ImageStrides rows = bf::by_pixels(image.channels, image.size);
  int p[3] = {0, 0, 0};
  for (int n = 0; n < image.batch; ++n)
    for (int c = 0; c < image.channels; ++c)
      for (p[0] = window.begin[0]; p[0] < window.end[0]; ++p[0])
        for (p[1] = window.begin[1]; p[1] < window.end[1]; ++p[1])
          for (p[2] = window.begin[2]; p[2] < window.end[2]; ++p[2])
            made[static_cast<int>(bf::element(image.at, n, c, p))] = bf::element(rows, n, c, p);
  return made;
}

// The smallest window that holds what outputs of a window read, by all outputs and taps.
TEST(Windows, HoldWhatIsRead) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bf::ConvShape shape = random_conv_term(random, Numbers::kIntegers).shape;
    const bf::Window out = random_window(random, shape.out_size);
    const bf::Window in = bf::read_window(shape, out);
    for (int d = 0; d < 3; ++d) {
      int least = shape.in_size[d], most = -1;
      for (int p = out.begin[d]; p < out.end[d]; ++p)
        for (int t = 0; t < shape.kernel[d]; ++t) {
          const int q = bf::read_by(shape, d, p, t);
          if (q < 0) continue;
          least = std::min(least, q);
          most = std::max(most, q);
        }
      EXPECT_GE(in.begin[d], 0);
      EXPECT_LT(in.begin[d], in.end[d]);
      EXPECT_LE(in.end[d], shape.in_size[d]);
      if (most < 0) continue;
      EXPECT_LE(in.begin[d], least);
      EXPECT_GE(in.end[d], most + 1);
    }
  }
}

TEST(Windows, UniteAndNeurons) {
  const bf::Window a = {{0, 2, 5}, {1, 3, 9}}, b = {{0, 1, 6}, {1, 2, 11}};
  const bf::Window both = bf::unite(a, b);
  EXPECT_EQ(both.begin[1], 1);
  EXPECT_EQ(both.end[1], 3);
  EXPECT_EQ(both.begin[2], 5);
  EXPECT_EQ(both.end[2], 11);
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const bf::Image image = image_in(random_conv_term(random, Numbers::kIntegers).shape);
    const bf::Window window = random_window(random, image.size);
    std::vector<std::int32_t> corners;
    for (const auto& [element, row] : rows_inside(image, window)) corners.push_back(element);
    const bf::Window found = bf::window_of(image, corners.data(), static_cast<int>(corners.size()));
    for (int d = 0; d < 3; ++d) {
      EXPECT_EQ(found.begin[d], window.begin[d]);
      EXPECT_EQ(found.end[d], window.end[d]);
    }
  }
}

// Every open neuron once, whatever the layout.
TEST(Windows, ListsEveryNeuron) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const bf::Image image = image_in(random_conv_term(random, Numbers::kIntegers).shape);
    const int n = bf::elements(image.batch, image.channels, image.size);
    std::vector<std::int32_t> list(static_cast<std::size_t>(n));
    const auto open = [&](int j) { return j % 3 != static_cast<int>(seed % 3); };
    const int count = bf::list_image(image, open, list.data());
    const std::set<std::int32_t> found(list.begin(), list.begin() + count);
    EXPECT_EQ(static_cast<int>(found.size()), count);
    int expected = 0;
    for (int j = 0; j < n; ++j) {
      expected += open(j) ? 1 : 0;
      EXPECT_EQ(found.count(j), open(j) ? 1U : 0U);
    }
    EXPECT_EQ(count, expected);
  }
}

// Sums of integers are exact: what a window's routines make is what those of the tensor make.
template <int kRows>
void check_rows(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const bf::Image image = image_in(random_conv_term(random, Numbers::kIntegers).shape);
  const int n = bf::elements(image.batch, image.channels, image.size);
  const bf::Window window = random_window(random, image.size);
  const auto places = rows_inside(image, window);
  const std::int64_t size = std::int64_t{n} * kRows;
  const std::vector<float> table = random.numbers(6 * std::int64_t{n}, Numbers::kIntegers);
  const std::vector<float> radius = random.radii(n, Numbers::kIntegers);
  const std::vector<float> before = random.numbers(size, Numbers::kIntegers);
  // The same coefficients by elements, zero outside of the window.
  std::vector<float> rows = before, flat(static_cast<std::size_t>(size), 0.0F);
  for (const auto& [element, row] : places)
    for (int r = 0; r < kRows; ++r) flat[element * kRows + r] = before[row * kRows + r];

  std::vector<float> spread(kRows), expected_spread(kRows, 0.0F);
  bf::concretize_window<kRows>(image, window, rows.data(), radius.data(), spread.data());
  for (std::size_t i = 0; i < flat.size(); ++i)
    expected_spread[i % kRows] += std::abs(flat[i]) * radius[i / kRows];
  EXPECT_EQ(spread, expected_spread);

  std::vector<float> sums(2 * kRows, 1.0F), expected_sums = sums;
  bf::relax_window<kRows>(image, window, n, table.data(), table.data() + 4 * n, rows.data(),
                          rows.data(), sums.data());
  bf::relax_rows<kRows>(n, table.data(), table.data() + 4 * n, flat.data(), flat.data(),
                        expected_sums.data());
  EXPECT_EQ(sums, expected_sums);

  std::vector<float> target = before;
  bf::clear_window<kRows>(image, window, target.data());
  bf::add_window<kRows>(image, window, rows.data(), target.data());
  std::vector<float> spread_out(static_cast<std::size_t>(size), 0.0F);
  bf::spread_window<kRows>(image, window, rows.data(), spread_out.data());
  EXPECT_EQ(spread_out, flat);
  std::set<std::ptrdiff_t> touched;
  for (const auto& [element, row] : places) {
    touched.insert(row);
    for (int r = 0; r < kRows; ++r) {
      EXPECT_EQ(rows[row * kRows + r], flat[element * kRows + r]);
      EXPECT_EQ(target[row * kRows + r], flat[element * kRows + r]);
    }
  }
  for (int j = 0; j < n; ++j)
    for (int r = 0; r < kRows && touched.count(j) == 0; ++r)
      EXPECT_EQ(target[j * kRows + r], before[j * kRows + r]);
}

TEST(Windows, RoutinesOfRows) {
  for (unsigned seed = 0; seed < 60; ++seed) check_rows<4>(seed);
  for (unsigned seed = 60; seed < 80; ++seed) check_rows<32>(seed);
}

TEST(Windows, StartOfIdentities) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const bf::Image image = image_in(random_conv_term(random, Numbers::kIntegers).shape);
    const int n = bf::elements(image.batch, image.channels, image.size);
    const auto places = rows_inside(image, bf::whole(image.size));
    std::vector<std::int32_t> neurons;
    for (int r = 0; r < 4; ++r) neurons.push_back(random.below(n));
    std::vector<float> rows(static_cast<std::size_t>(n) * 8, 0.0F), expected = rows;
    bf::identity_start<8>(image, neurons.data(), rows.data());
    for (std::size_t r = 0; r < 4; ++r) {
      expected[static_cast<std::size_t>(places.at(neurons[r])) * 8 + r] = 1;
      expected[static_cast<std::size_t>(places.at(neurons[r])) * 8 + 4 + r] = -1;
    }
    EXPECT_EQ(rows, expected);
  }
}

// ---- constant shapes: what depends on the shape alone is folded

template <const bf::ConvShape& kShape, int kRows, bool kWide>
void check_fixed(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const auto count = [](int channels, const int(&size)[3]) {
    return std::int64_t{bf::elements(1, channels, size)} * kRows;
  };
  const std::vector<float> weight =
      random.numbers(std::int64_t{kShape.out_channels} * bf::in_group(kShape) * bf::taps(kShape),
                     Numbers::kIntegers);
  const std::vector<float> from =
      random.numbers(count(kShape.out_channels, kShape.out_size), Numbers::kIntegers);
  std::vector<float> fixed =
      random.numbers(count(kShape.in_channels, kShape.in_size), Numbers::kIntegers);
  std::vector<float> expected = fixed;
  const bool all = seed % 3 == 0, add = seed % 2 == 0;
  const bf::Window out = all ? bf::whole(kShape.out_size) : random_window(random, kShape.out_size);
  const bf::Window in = all ? bf::whole(kShape.in_size) : random_window(random, kShape.in_size);
  bf::conv_backward<kRows, kWide>(bf::FixedShape<kShape>{}, weight.data(), from.data(), out, add,
                                  fixed.data(), in);
  const std::vector<float> before = expected;
  bf::conv_backward<kRows, kWide>(kShape, weight.data(), from.data(), out, add, expected.data(),
                                  in);
  EXPECT_EQ(fixed, expected);
  // Nor does any tile matter, whether it fits the channels and pixels or not.
  const auto check_tile = [&](auto tile) {
    std::vector<float> given = before;
    bf::conv_backward<kRows, kWide, decltype(tile)>(bf::FixedShape<kShape>{}, weight.data(),
                                                    from.data(), out, add, given.data(), in);
    EXPECT_EQ(given, expected);
  };
  check_tile(bf::GivenTile<3, 4, 8>{});
  check_tile(bf::GivenTile<12, 2, 5>{});
}

// Sums of integers are exact: tiles of pixels and channels make what rows of pixels make.
template <const bf::ConvShape& kShape>
void check_centres(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const int in = bf::elements(1, kShape.in_channels, kShape.in_size);
  const int out = bf::elements(1, kShape.out_channels, kShape.out_size);
  const int count = kShape.out_channels * bf::in_group(kShape) * bf::taps(kShape);
  const std::vector<float> weight = random.numbers(count, Numbers::kIntegers);
  const std::vector<float> residual = random.numbers(count, Numbers::kIntegers);
  const float* const rest = seed % 2 == 0 ? residual.data() : nullptr;
  const std::vector<double> centre = random.centres(in, Numbers::kIntegers);
  const std::vector<float> radius = random.radii(in, Numbers::kIntegers);
  std::vector<double> made = random.centres(out, Numbers::kIntegers), expected = made;
  std::vector<float> spread = random.radii(out, Numbers::kIntegers), expected_spread = spread;
  bf::conv_centre(bf::FixedShape<kShape>{}, weight.data(), rest, centre.data(), radius.data(), 1,
                  made.data(), spread.data());
  const bf::CentreOut out_at = {expected.data(), expected_spread.data(), 1};
  if (rest != nullptr)
    bf::conv_strips<bf::CentreTiles<true>>(kShape, weight.data(), rest, centre.data(),
                                           radius.data(), out_at);
  else
    bf::conv_strips<bf::CentreTiles<false>>(kShape, weight.data(), rest, centre.data(),
                                            radius.data(), out_at);
  EXPECT_EQ(made, expected);
  EXPECT_EQ(spread, expected_spread);
}

// Radii round up whether the nearest float is too small or not; what is no number is infinite.
TEST(Windows, RadiiOfVectorsRoundUp) {
  constexpr int kLanes = bf::CentreTiles<false>::kLanes;
  using Doubles = bf::VectorOf<double, kLanes>::type;
  Random random(1);
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> sums = {
      0,           0x1p-160,        1,        1 + 0x1p-30,
      1 + 0x1p-24, 0x1.fffffefp127, infinity, std::numeric_limits<double>::quiet_NaN()};
  for (int i = 0; i < 1000; ++i)
    sums.push_back(std::ldexp(random.unit(), random.between(-160, 130)));
  for (const double sum : sums)
    for (const float before : {0.0F, 1.5F, 0x1p-149F}) {
      std::vector<double> centre(kLanes, 0.0);
      std::vector<float> radius(kLanes, before);
      float expected = before;
      double ignored = 0;
      bf::add_terms<kLanes>(Doubles{}, sum + Doubles{}, 1,
                            {centre.data(), radius.data(), bf::kSumSlack});
      bf::add_term(0, sum, 2, bf::kSumSlack, &ignored, &expected);
      for (const float made : radius) EXPECT_EQ(made, expected) << sum;
    }
}

template <const bf::ConvShape& kShape>
void check_all() {
  for (unsigned seed = 0; seed < 12; ++seed) check_centres<kShape>(seed);
  for (unsigned seed = 0; seed < 12; ++seed) {
    check_fixed<kShape, 32, false>(seed);
    check_fixed<kShape, 16, false>(seed);
    check_fixed<kShape, 32, true>(seed);
    check_fixed<kShape, 6, false>(seed);
  }
}

TEST(Windows, ConstantShapes) {
  for (unsigned seed = 0; seed < 12; ++seed) check_centres<kWide>(seed);
  check_all<kFirst>();
  check_all<kDeep>();
  check_all<kDilated>();
  check_all<kGrouped>();
  check_all<kTransposed>();
  check_all<kPointwise>();
  check_all<kDepthwise>();
  check_all<kMultiplied>();
  check_all<kSpread>();
}

}  // namespace
}  // namespace bf_test
