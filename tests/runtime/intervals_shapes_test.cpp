// Intervals of convolutions of constant shapes, against exact rationals and rows of pixels.

#include <gtest/gtest.h>

#include "intervals_exact.h"
#include "planner/lowering.h"
#include "runtime/conv_interval.h"

namespace bf_test {
namespace {

// Tiles at the ends of rows compute the pixels alone that read through a tap; of few products,
// pixels are in lanes.

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
constexpr bf::ConvShape kPooling = rows_of(4, 1, 1, {54, 3, 3, 1, 0, false});
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

// Windows side by side: whole vectors, one that ends within another, one of few lanes, more than a
// tile of them, rows of which some inputs enter no window.
constexpr bf::ConvShape kPairs = rows_of(4, 1, 1, {54, 2, 2, 1, 0, false});
constexpr bf::ConvShape kFours = rows_of(3, 1, 1, {27, 4, 4, 1, 0, false});
constexpr bf::ConvShape kEights = rows_of(2, 1, 1, {40, 8, 8, 1, 0, false});
constexpr bf::ConvShape kShort = rows_of(2, 1, 1, {7, 2, 2, 1, 0, false});
constexpr bf::ConvShape kOneWindow = rows_of(2, 1, 1, {4, 4, 4, 1, 0, false});
constexpr bf::ConvShape kLong = rows_of(1, 1, 1, {150, 2, 2, 1, 0, false});
constexpr bf::ConvShape kMixed = rows_of(2, 3, 2, {24, 4, 4, 1, 0, false});
constexpr bf::ConvShape kPooledVolumes = volumes(rows_of(1, 2, 3, {21, 2, 2, 1, 0, false}));

template <const bf::ConvShape& kShape>
void check_pooling() {
  static_assert(bf::has_pooled_windows(kShape, bf::kIntervalChain));
  constexpr int kLeast = kShape.kernel[2] > 4 ? 32 : 16;  // bytes of vectors that have lanes for it
  static_assert((bf::pooling_lanes(kShape).lanes > 0) == (bf::kVectorBytes >= kLeast));
  check_fixed<kShape>();
}

TEST(Intervals, ConstantShapesOfPooling) {
  check_pooling<kPairs>();
  check_pooling<kFours>();
  check_pooling<kEights>();
  check_pooling<kShort>();
  check_pooling<kOneWindow>();
  check_pooling<kLong>();
  check_pooling<kMixed>();
  check_pooling<kPooledVolumes>();
}

}  // namespace
}  // namespace bf_test
