// Ends of rows over one-hot inputs in a box, against exact arithmetic.

#include "runtime/bf/sums/one_hot.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "terms_random.h"

namespace bf_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The exact reach of row r, and the sum of |A_k| radius_k.
struct Exact {
  mpq_class reach, all;
};

Exact exact_reach(const std::vector<float>& rows, const std::vector<float>& radius, int size,
                  int count, int r) {
  Exact exact;
  const int inputs = static_cast<int>(radius.size());
  for (int first = 0; first < inputs; first += size) {
    mpq_class sum;
    std::optional<mpq_class> least;
    for (int k = first; k < first + size; ++k) {
      const float width = radius[static_cast<std::size_t>(k)];
      if (width == 0) continue;
      const mpq_class part =
          mpq_class(rows[static_cast<std::size_t>(k * count + r)]) * mpq_class(width);
      sum += part;
      exact.all += abs(part);
      if (!least || part < *least) least = part;
    }
    if (least) exact.reach += sum - 2 * *least;
  }
  return exact;
}

template <int kRows>
void check(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const int size = random.between(1, 6), inputs = size * random.between(1, 8);
  const Numbers kind = kAllNumbers[seed % std::size(kAllNumbers)];
  const std::vector<float> rows = random.numbers(std::int64_t{inputs} * kRows, kind);
  std::vector<float> radius = random.radii(inputs, kind);
  for (float& each : radius)
    if (random.below(4) == 0) each = 0;
  const std::vector<float> before = random.numbers(kRows, kind);
  std::vector<float> sums = before, spread(kRows);
  const double slack = 0x1p-22 + (inputs + 16) * 0x1p-50;
  bf::concretize_one_hot<kRows>(rows.data(), radius.data(), inputs, size, slack, sums.data(),
                                spread.data());
  for (int r = 0; r < kRows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (!std::isfinite(spread[i]) || !std::isfinite(sums[i]) || !std::isfinite(before[i])) continue;
    EXPECT_GE(spread[i], 0);
    const Exact exact = exact_reach(rows, radius, size, kRows, r);
    const mpq_class found = mpq_class(spread[i]) - mpq_class(sums[i]) + mpq_class(before[i]);
    ASSERT_GE(found, exact.reach);
    const mpq_class most = exact.reach + exact.all * mpq_class(0x1p-21) +
                           (abs(exact.reach) + abs(mpq_class(before[i]))) * mpq_class(0x1p-22);
    ASSERT_LE(found, most + mpq_class(0x1p-140));
  }
}

TEST(OneHot, ReachIsThatOfTheWorstElement) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    check<2>(seed);
    check<32>(seed);
  }
}

// The last two groups' reaches cancel, and the sum of all loses the first group's.
TEST(OneHot, SumsThatLoseAGroupArePaidFor) {
  const float radius[] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
  float rows[18] = {};
  for (int k = 0; k < 3; ++k) {
    rows[2 * k] = k == 0 ? 0x1p-60F : 0;  // its reach is 2^-61
    rows[2 * (3 + k)] = 1;
    rows[2 * (6 + k)] = -1;
  }
  for (const bool pays : {true, false}) {
    float sums[2] = {}, spread[2] = {};
    bf::concretize_one_hot<2>(rows, radius, 9, 3, pays ? 0x1p-22 : 0, sums, spread);
    EXPECT_EQ(spread[0] >= 0x1p-61F, pays);
  }
}

TEST(OneHot, KeepWhatIsNoNumber) {
  const float radius[] = {0.5F, 0.5F};
  for (const float bad : {kInf, -kInf, std::nanf("")})
    for (int at = 0; at < 2; ++at) {
      float rows[] = {1, 1, 1, 1};
      rows[2 * at] = bad;
      float sums[] = {0, 0}, spread[] = {0, 0};
      bf::concretize_one_hot<2>(rows, radius, 2, 2, 0x1p-22, sums, spread);
      EXPECT_EQ(spread[0], kInf);
      EXPECT_EQ(spread[1], 0x1p-22F);
    }
}

}  // namespace
}  // namespace bf_test
