// Intervals of convolutions of constant shapes, against exact rationals and rows of pixels.

#include <gtest/gtest.h>

#include <cmath>

#include "intervals_exact.h"
#include "planner/lowering/lowering.h"
#include "rows_of_pixels.h"
#include "runtime/bf/conv/conv_interval.h"

namespace bf_test {
namespace {

// Tiles at the ends of rows compute the pixels alone that read through a tap; of few products,
// pixels are in lanes.

// Integers are exact in any order: as rows of pixels make them.
template <const bf::ConvShape& kShape, bool kAdd>
void expect_as_strips(const RandomTerm& term, const std::vector<float>& c,
                      const std::vector<float>& r) {
  Sums made(term.out), expected(term.out), tiled(term.out);
  bf::conv_interval<kAdd>(bf::FixedShape<kShape>{}, term.weight.data(), c.data(), r.data(),
                          made.centre.data(), made.radius.data());
  bf::conv_strips<bf::IntervalTiles<kAdd>>(
      kShape, term.weight.data(), nullptr, c.data(), r.data(),
      bf::IntervalOut{expected.centre.data(), expected.radius.data(), false});
  bf::tiled_sums<kAdd>(bf::FixedShape<kShape>{}, term.weight.data(), c.data(), r.data(),
                       tiled.centre.data(), tiled.radius.data());
  EXPECT_EQ(made.centre, expected.centre);
  EXPECT_EQ(made.radius, expected.radius);
  EXPECT_EQ(tiled.centre, expected.centre);
  EXPECT_EQ(tiled.radius, expected.radius);
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
    expect_close(sums, truth, bf_aot::LoweringPlanner::interval_depth(layer_of({term})));
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

template <const bf::ConvShape& kShape>
void check_blocks() {
  static_assert((bf::conv_block<float>(kShape).rows > 0) == (bf::kVectorBytes >= 16));
  check_fixed<kShape>();
}

TEST(Intervals, ConstantShapesOfManyChannels) {
  check_blocks<kBlockRows>();
  check_blocks<kBlockParts>();
  check_blocks<kBlockColumns>();
  check_blocks<kBlockStrided>();
  check_blocks<kBlockDilated>();
  check_blocks<kBlockGroups>();
  check_blocks<kBlockPanels>();
  check_blocks<kBlockWidePad>();
  check_blocks<kBlockVolumes>();
  check_blocks<kBlockPixelwise>();
}

// Chains, and the order of their products and of them, do not depend on how outputs are walked
// through: the engine, generated code and boards make the same bits. Products are exact here, so
// that it does not matter whether they are rounded before they are added.
template <const bf::ConvShape& kShape>
void expect_same_bits() {
  Random random(3);
  RandomTerm term = random_conv_term(random, Numbers::kIntegers, geometry_of(kShape));
  for (float& w : term.weight) w = std::ldexp(1.0F, random.between(-9, 9));
  std::vector<float> c = random.numbers(term.in, Numbers::kSpread);
  const std::vector<float> r = random.radii(term.in, Numbers::kSpread);
  Sums blocks(term.out), tiled(term.out), strips(term.out);
  bf::conv_interval<false>(kShape, term.weight.data(), c.data(), r.data(), blocks.centre.data(),
                           blocks.radius.data());
  bf::tiled_sums<false>(kShape, term.weight.data(), c.data(), r.data(), tiled.centre.data(),
                        tiled.radius.data());
  bf::conv_strips<bf::IntervalTiles<false>>(
      kShape, term.weight.data(), nullptr, c.data(), r.data(),
      bf::IntervalOut{strips.centre.data(), strips.radius.data(), false});
  EXPECT_EQ(blocks.centre, strips.centre);
  EXPECT_EQ(blocks.radius, strips.radius);
  EXPECT_EQ(tiled.centre, strips.centre);
  EXPECT_EQ(tiled.radius, strips.radius);
}

TEST(Intervals, OrderOfSumsDependsOnShapesAlone) {
  expect_same_bits<kBlockRows>();
  expect_same_bits<kBlockParts>();
  expect_same_bits<kBlockColumns>();
  expect_same_bits<kBlockStrided>();
  expect_same_bits<kBlockGroups>();
  expect_same_bits<kBlockPanels>();
  expect_same_bits<kBlockVolumes>();
}

TEST(Intervals, ConstantShapesOfFewProducts) {
  if constexpr (bf::kVectorBytes >= 16) {
    using Kind = bf::IntervalPixels<false>;
    static_assert(bf::has_pixel_lanes<Kind>(kFew, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kFewStrided, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kFewPairs, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kFewApart, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kFewWidePad, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kDepthwise, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kPooling, bf::kIntervalChain));
    static_assert(bf::has_pixel_lanes<Kind>(kVolumes, bf::kIntervalChain));
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
