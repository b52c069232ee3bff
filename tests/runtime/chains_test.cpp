// Chains of float32 sums are no longer than contract/chains.h says, measured in the results.
//
// One term is 2^24, the others are 1: an accumulator that holds 2^24 loses each 1 that it takes in,
// as 2^24 + 1 is halfway to 2^24 + 2, the odd neighbour. Other chains add up to integers, of which
// 2^24 loses 1 at most. So what a sum lost is how many terms went to the accumulator of 2^24 after
// it, give or take 1 for each chain: most of a chain when its first term is 2^24.

#include "runtime/bf/contract/chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "rows_of_pixels.h"
#include "runtime/bf/conv/conv_interval.h"
#include "runtime/bf/conv/conv_live.h"
#include "runtime/bf/sums/backward.h"

namespace bf_test {
namespace {

constexpr float kLarge = 0x1p24F;

struct Lost {
  int terms;        // of the sum
  int most = 0;     // lost with some term of the sum large
  int longest = 0;  // chain by the contract
  int chains = 0;
};

void expect_longest(const Lost& lost) {
  EXPECT_LE(lost.most, lost.longest - 1 + lost.chains);
  EXPECT_GE(lost.most, lost.longest - 1 - lost.chains);  // else nothing was measured
}

void note(double sum, Lost& lost) {
  const double all = static_cast<double>(kLarge) + lost.terms - 1;
  lost.most = std::max(lost.most, static_cast<int>(all - sum));
}

// ---- backward rows through a convolution, of one position that reads all taps

constexpr bf::ConvShape pixel(int in, int out, int kernel) {
  bf::ConvShape shape = {1,
                         1,
                         in,
                         out,
                         {1, 1, 1},
                         {1, 1, kernel},
                         {1, 1, kernel},
                         {1, 1, 1},
                         {1, 1, 1},
                         {0, 0, kernel - 1},
                         false,
                         {0, 0, 1, {1, 1, 1}},
                         {0, 0, kernel, {kernel, kernel, 1}}};
  return shape;
}

template <const bf::ConvShape& kShape>
void check_backward() {
  constexpr int kRows = 8;
  const int readers = bf::out_group(kShape), taps = bf::taps(kShape), products = readers * taps;
  const bf::Chain chain = bf::conv_chain(bf::FixedShape<kShape>{});
  const std::int64_t in_taps[3] = {1, 1, taps};
  const auto depth = static_cast<int>(bf::conv_depth(readers, in_taps));
  const std::vector<float> weight(static_cast<std::size_t>(products * kShape.in_channels), 1.0F);
  Lost dense = {products, 0, chain.products, depth - chain.products - 1}, listed = dense;
  const bf::Window from = bf::whole(kShape.out_size), to = bf::whole(kShape.in_size);
  for (int large = 0; large < products; ++large) {
    std::vector<float> in(static_cast<std::size_t>(products) * kRows, 1.0F);
    for (std::size_t r = 0; r < kRows; ++r)
      in[static_cast<std::size_t>(large) * kRows + r] = kLarge;
    std::vector<float> out(static_cast<std::size_t>(kShape.in_channels) * kRows);
    bf::conv_backward<kRows, false>(bf::FixedShape<kShape>{}, weight.data(), in.data(), from, false,
                                    out.data(), to);
    note(static_cast<double>(out[0]), dense);
    bf::live_gather<kRows, false, bf::PortableTile>(
        bf::FixedShape<kShape>{}, weight.data(), in.data(), bf::AllLive{}, from,
        bf::StoredRows<kRows>(kShape, false, out.data()), bf::AllLive{}, to);
    note(static_cast<double>(out[0]), listed);
  }
  expect_longest(dense);
  expect_longest(listed);
}

constexpr bf::ConvShape kShort = pixel(2, 4, 5);
constexpr bf::ConvShape kWholeTaps = pixel(3, 2 * bf::kConvChain / 3, 4);
constexpr bf::ConvShape kPartsOfTaps = pixel(2, 2 * bf::kConvChain, 3);
constexpr bf::ConvShape kOneChain = pixel(2, bf::kConvChain / 4, 4);

TEST(Chains, OfBackwardConvolutions) {
  check_backward<kShort>();
  check_backward<kWholeTaps>();
  check_backward<kPartsOfTaps>();
  check_backward<kOneChain>();
}

// ---- intervals of a convolution

constexpr bf::ConvShape kTapsTogether = rows_of(1, 20, 8, {9, 3, 1, 1, 1, false});
constexpr bf::ConvShape kTapsApart = rows_of(1, bf::kIntervalChain, 8, {9, 3, 1, 1, 1, false});
constexpr bf::ConvShape kPartsOfATap =
    rows_of(1, 2 * bf::kIntervalChain, 8, {9, 3, 1, 1, 1, false});
constexpr bf::ConvShape kAsStrips = rows_of(1, 40, 2, {9, 3, 1, 1, 1, false});

template <const bf::ConvShape& kShape>
void check_interval() {
  const int group = bf::in_group(kShape), length = bf::elements(1, group, kShape.in_size);
  const std::vector<float> weight(
      static_cast<std::size_t>(group * bf::taps(kShape) * kShape.out_channels), 1.0F);
  const auto together = static_cast<int>(bf::interval_taps(group));
  Lost lost = {};
  lost.terms = group * 2 * 3;  // two rows of pixels, three taps of each
  lost.longest = std::min(group, bf::kIntervalChain) * std::min(together, 3);
  lost.chains = static_cast<int>(bf::interval_depth(group, bf::taps(kShape))) - lost.longest - 1;
  // Behind the borders, all taps of the rows are read by a pixel in the middle.
  const int middle = kShape.out_size[2] / 2;
  for (int channel = 0; channel < group; ++channel)
    for (int tap = 0; tap < 6; ++tap) {
      std::vector<float> in(static_cast<std::size_t>(length), 1.0F);
      const int p[3] = {0, tap / 3, middle + tap % 3 - 1};
      in[static_cast<std::size_t>(bf::element(kShape.in, 0, channel, p))] = kLarge;
      const auto outs =
          static_cast<std::size_t>(bf::elements(1, kShape.out_channels, kShape.out_size));
      std::vector<float> centre(outs), radius(outs);
      bf::conv_interval<false>(bf::FixedShape<kShape>{}, weight.data(), in.data(), in.data(),
                               centre.data(), radius.data());
      const int at[3] = {0, 0, middle};
      const auto out = static_cast<std::size_t>(bf::element(kShape.out, 0, 1, at));
      note(static_cast<double>(centre[out]), lost);
      EXPECT_EQ(centre[out], radius[out]);
    }
  expect_longest(lost);
}

TEST(Chains, OfIntervalConvolutions) {
  check_interval<kTapsTogether>();
  check_interval<kTapsApart>();
  check_interval<kPartsOfATap>();
  check_interval<kAsStrips>();
}

// ---- offsets of a layer's lines

TEST(Chains, OfOffsets) {
  constexpr int kRows = 8, kNeurons = 5 * bf::kSumChain + 3;
  Lost lost = {kNeurons, 0, bf::kSumChain, 0};
  std::vector<float> table(static_cast<std::size_t>(kNeurons) * bf::kRelaxRows, 1.0F);
  for (int large = 0; large < kNeurons; ++large) {
    std::vector<float> from(static_cast<std::size_t>(kNeurons) * kRows, 1.0F), to(from.size());
    for (std::size_t r = 0; r < kRows; ++r)
      from[static_cast<std::size_t>(large) * kRows + r] = kLarge;
    std::vector<float> sums(2 * kRows, 0.0F);
    bf::relax_rows<kRows>(kNeurons, table.data(), table.data() + bf::kOffsetUpper * kNeurons,
                          from.data(), to.data(), sums.data());
    // The sum of chains, in double, is rounded to float once: an even number.
    note(static_cast<double>(sums[0]), lost);
  }
  EXPECT_LE(lost.most, lost.longest);
  EXPECT_GE(lost.most, lost.longest - 2);
}

}  // namespace
}  // namespace bf_test
