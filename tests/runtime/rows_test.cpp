// How backward rows begin: which neurons have them, and their first coefficients.

#include <gtest/gtest.h>

#include <limits>

#include "runtime/bounds.h"
#include "terms_random.h"

namespace bf_test {
namespace {

// Neighbours, also across panels, a neuron again and again as at a list's end, some of those that
// follow each other, or any.
std::vector<std::int32_t> random_list(Random& random, int pairs, int out) {
  std::vector<std::int32_t> list(static_cast<std::size_t>(pairs));
  const int first = random.below(out), kind = random.below(4);
  int next = first;
  for (int r = 0; r < pairs; ++r) {
    list[static_cast<std::size_t>(r)] = kind == 0   ? std::min(first + r, out - 1)
                                        : kind == 1 ? first
                                        : kind == 2 ? next
                                                    : random.below(out);
    next = std::min(next + 1 + random.below(4), out - 1);
  }
  return list;
}

template <int kPairs>
void expect_weights(Random& random) {
  // Whole vectors of any target, or not.
  const int panel = random.below(2) == 0 ? random.between(1, 20) : 16 * random.between(1, 4);
  const int in = random.between(1, 9), out = random.between(1, 3 * panel + 10);
  const int panels = (out + panel - 1) / panel;
  const std::vector<float> weight = random.numbers(panels * panel * in, Numbers::kEven);
  const std::vector<std::int32_t> list = random_list(random, kPairs, out);
  std::vector<float> made(static_cast<std::size_t>(2 * kPairs * in));
  bf::start_rows<kPairs>(weight.data(), in, panel, list.data(), made.data());
  for (int k = 0; k < in; ++k)
    for (int r = 0; r < kPairs; ++r) {
      const int i = list[static_cast<std::size_t>(r)];
      const float w = weight[static_cast<std::size_t>((i / panel * in + k) * panel + i % panel)];
      const auto at = static_cast<std::size_t>(2 * kPairs * k + r);
      EXPECT_EQ(made[at], w);
      EXPECT_EQ(made[at + kPairs], -w);
    }
}

TEST(StartRows, AreTheWeightsOfTheListedNeurons) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    expect_weights<1>(random);
    expect_weights<4>(random);
    expect_weights<8>(random);
    expect_weights<12>(random);
    expect_weights<16>(random);
    expect_weights<32>(random);
  }
}

TEST(ListUnstable, HoldsWhatOutwardBoundsLeaveOpen) {
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const double least = std::numeric_limits<double>::denorm_min();
  std::vector<double> centre;
  std::vector<float> below, above;
  for (const double c : {0.0, -0.0, least, -least, 1.0, -1.0, 1 + 0x1p-52, -1 - 0x1p-52})
    for (const float b : {0.0f, -0.0f, kLeast, -kLeast, 1.0f, -1.0f, kInfinity, kNaN})
      for (const float a : {0.0f, -0.0f, kLeast, -kLeast, 1.0f, -1.0f, kInfinity, kNaN}) {
        centre.push_back(c);
        below.push_back(b);
        above.push_back(a);
      }
  std::vector<std::int32_t> expected, list(centre.size());
  for (std::size_t j = 0; j < centre.size(); ++j)
    if (bf::sub_down(centre[j], static_cast<double>(below[j])) < 0 &&
        bf::add_up(centre[j], static_cast<double>(above[j])) > 0)
      expected.push_back(static_cast<std::int32_t>(j));
  const int n = static_cast<int>(centre.size());
  list.resize(static_cast<std::size_t>(
      bf::list_unstable(centre.data(), below.data(), above.data(), n, list.data())));
  EXPECT_EQ(list, expected);
  EXPECT_FALSE(expected.empty());
}

}  // namespace
}  // namespace bf_test
