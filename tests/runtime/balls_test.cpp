// Ends of rows in the ball of a box, against exact arithmetic.

#include "runtime/bf/sums/balls.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "terms_random.h"

namespace bf_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(RootAbove, IsTheRootAndHardlyMore) {
  Random random(3);
  const mpq_class less = 1 - mpq_class(0x1p-51), more = 1 + mpq_class(0x1p-34);
  for (int i = 0; i < 20000; ++i) {
    const float x = std::ldexp(1.0F + static_cast<float>(random.below(1 << 23)) * 0x1p-23F,
                               random.between(-126, 127));
    const mpq_class root = bf::root_above(x), square = root * root;
    ASSERT_GE(square, mpq_class(x) * less * less) << x;
    ASSERT_LE(square, mpq_class(x) * more * more) << x;
  }
  EXPECT_EQ(bf::root_above(kInf), static_cast<double>(kInf));
  EXPECT_TRUE(std::isnan(bf::root_above(std::nanf(""))));
}

// With the factors that the planner gives (docs/proofs/balls.md): never less than the exact value;
// and hardly more.
template <int kRows>
void check(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const int inputs = random.between(1, 40);
  const Numbers kind = kAllNumbers[seed % std::size(kAllNumbers)];
  const std::vector<float> rows = random.numbers(std::int64_t{inputs} * kRows, kind);
  const std::vector<float> radius = random.radii(inputs, kind);
  std::vector<float> euclid(kRows), cross(kRows);
  bf::concretize_euclid<kRows>(rows.data(), radius.data(), inputs, euclid.data());
  bf::concretize_sum<kRows>(rows.data(), radius.data(), inputs, cross.data());
  const mpq_class unit(0x1p-24);
  const mpq_class euclid_factor = 1 + mpq_class(inputs + 9) * unit, cross_factor = 1 + 5 * unit;
  for (int r = 0; r < kRows; ++r) {
    mpq_class squares, largest;
    for (int k = 0; k < inputs; ++k) {
      const auto at = static_cast<std::size_t>(k * kRows + r);
      const mpq_class part =
          abs(mpq_class(rows[at])) * mpq_class(radius[static_cast<std::size_t>(k)]);
      squares += part * part;
      if (part > largest) largest = part;
    }
    const auto i = static_cast<std::size_t>(r);
    if (std::isfinite(euclid[i])) {
      const mpq_class bound = mpq_class(euclid[i]) * euclid_factor;
      EXPECT_GE(bound * bound, squares) << r;
      const mpq_class most = mpq_class(euclid[i]) * (1 - mpq_class(inputs + 9) * unit);
      EXPECT_LE(most * most, squares + mpq_class(0x1p-100)) << r;
    }
    if (std::isfinite(cross[i])) {
      EXPECT_GE(mpq_class(cross[i]) * cross_factor + mpq_class(0x1p-149), largest) << r;
      EXPECT_LE(mpq_class(cross[i]) * (1 - 2 * unit) - mpq_class(0x1p-149), largest) << r;
    }
  }
}

TEST(Balls, RowsEndAboveTheNormAndHardlyMore) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    check<2>(seed);
    check<8>(seed);
    check<16>(seed);
    check<32>(seed);
  }
}

// No claim is made of a row whose coefficients are not finite.
TEST(Balls, WhatIsNotFiniteStaysSo) {
  for (const float bad : {kInf, -kInf, std::nanf("")})
    for (const float r : {0.0F, 1.0F})
      for (int place = 0; place < 3; ++place) {
        float rows[6] = {1, 1, 1, 1, 1, 1}, radius[3] = {1, 1, 1}, spread[2] = {};
        rows[2 * place] = bad;
        radius[place] = r;
        bf::concretize_euclid<2>(rows, radius, 3, spread);
        EXPECT_FALSE(std::isfinite(spread[0]));
        EXPECT_TRUE(std::isfinite(spread[1]));
        bf::concretize_sum<2>(rows, radius, 3, spread);
        EXPECT_FALSE(std::isfinite(spread[0]));
        EXPECT_EQ(spread[1], 1);
      }
}

}  // namespace
}  // namespace bf_test
