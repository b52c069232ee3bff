// How backward rows begin: which neurons have them, and their first coefficients.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/bf/core/bounds.h"
#include "runtime/bf/dense/first_link.h"
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

#if defined(__AVX512F__)

// A layer of kIn inputs and kOut neurons below that of the rows.
template <int kPairs, int kIn, int kOut, int kPanel, int kStartPanel, int kChunk, bool kListed>
void expect_first_link(unsigned seed) {
  SCOPED_TRACE(seed);
  constexpr int kRows = 2 * kPairs, kRowsOut = 100;
  const auto padded = [](int n, int panel) { return (n + panel - 1) / panel * panel; };
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const std::vector<float> start = random.numbers(padded(kRowsOut, kStartPanel) * kOut, kind);
  const std::vector<float> weight = random.numbers(padded(kOut, kPanel) * kIn, kind);
  std::vector<float> table = random.numbers(4 * kOut, kind);
  for (std::size_t i = 0; i < 2 * kOut; ++i) table[i] = 0.5F * static_cast<float>(random.below(3));
  const std::vector<std::int32_t> neurons = random_list(random, kPairs, kRowsOut);
  std::vector<bool> is_live(kOut, true);
  for (std::size_t j = 0; kListed && j < kOut; ++j) is_live[j] = random.below(3) > 0;
  std::vector<std::int32_t> live(2 + kOut + (kOut + bf::kListUnit - 1) / bf::kListUnit);
  bf::list_if(
      kOut, [&](int j) { return is_live[static_cast<std::size_t>(j)]; }, live.data());

  const std::vector<float> before = random.numbers(kRows, kind);
  std::vector<float> sums = before, result(kIn * kRows, std::nanf(""));
  bf::first_link<kPairs, kIn, kOut, kPanel, kStartPanel, kChunk, kListed>(
      start.data(), neurons.data(), weight.data(), table.data(), sums.data(), result.data(),
      kListed ? live.data() : nullptr);

  // As start_rows() and the plan's error terms have it.
  std::vector<float> first(kOut * kRows);
  bf::start_rows<kPairs>(start.data(), kOut, kStartPanel, neurons.data(), first.data());
  const int blocks = (kOut + kChunk - 1) / kChunk;
  const mpq_class gamma = exact(gamma_float(kChunk + blocks + 1));
  const mpq_class underflow = exact(0x1p-150) * (kOut + 1);
  for (std::size_t r = 0; r < kRows; ++r) {
    mpq_class offset = exact(static_cast<double>(before[r])), size = abs(offset);
    std::vector<mpq_class> sum(kIn), sum_size(kIn);
    for (std::size_t j = 0; j < kOut; ++j) {
      if (!is_live[j]) continue;
      const float a = first[j * kRows + r];
      const std::size_t side = a < 0 ? 0 : 1;
      const mpq_class part = exact(a) * exact(static_cast<double>(table[(2 + side) * kOut + j]));
      offset += part;
      size += abs(part);
      const mpq_class relaxed = exact(static_cast<double>(a * table[side * kOut + j]));
      for (std::size_t k = 0; k < kIn; ++k) {
        const std::size_t at = (j / kPanel * kIn + k) * kPanel + j % kPanel;
        const mpq_class product = exact(static_cast<double>(weight[at])) * relaxed;
        sum[k] += product;
        sum_size[k] += abs(product);
      }
    }
    ASSERT_LE(abs(exact(static_cast<double>(sums[r])) - offset), gamma * size + underflow) << r;
    for (std::size_t k = 0; k < kIn; ++k) {
      const mpq_class miss = abs(exact(static_cast<double>(result[k * kRows + r])) - sum[k]);
      ASSERT_LE(miss, gamma * sum_size[k] + underflow) << r << " " << k;
      if (kind == Numbers::kIntegers) {
        ASSERT_EQ(miss, 0) << r << " " << k;
      }
    }
  }
}

TEST(FirstLink, IsTheStartAndTheLinkBehindIt) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    expect_first_link<16, 5, 50, 64, 64, 64, false>(seed);
    expect_first_link<16, 8, 70, 64, 64, 64, true>(seed);
    expect_first_link<16, 12, 256, 64, 48, 64, true>(seed);
    expect_first_link<8, 1, 20, 32, 16, 32, false>(seed);
    expect_first_link<8, 3, 90, 64, 64, 64, true>(seed);
    expect_first_link<16, 2, 64, 64, 20, 64, false>(seed);  // no whole vectors: one by one
  }
}

#endif

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
