#include "aot/input/directed.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bf_aot::input {
namespace {

// The next double towards the exact product is on its other side, unless the product is a double.
TEST(DirectedProduct, IsNextToTheExactOne) {
  std::mt19937_64 random(3);
  int exact = 0;
  for (int n = 0; n < 20000; ++n) {
    const int bits = n % 2 == 0 ? 24 : 53;
    const auto number = [&] {
      const auto mantissa = static_cast<double>(random() >> (64 - bits));
      return std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, static_cast<int>(random() % 40));
    };
    const double a = number(), b = number();
    const mpq_class product_of = mpq_class(a) * mpq_class(b);
    const double low = product(a, b, false), high = product(a, b, true);
    ASSERT_TRUE(mpq_class(low) <= product_of && product_of <= mpq_class(high)) << a << " " << b;
    ASSERT_TRUE(low == high || step(low, true) == high) << a << " " << b;
    ASSERT_EQ(low == high, mpq_class(low) == product_of) << a << " " << b;
    exact += low == high ? 1 : 0;
  }
  EXPECT_GT(exact, 9000);
  EXPECT_LT(exact, 12000);
}

TEST(DirectedProduct, BoundsWhatUnderflows) {
  EXPECT_LT(product(0x1p-600, -0x1p-600, false), 0);
  EXPECT_GT(product(0x1p-600, 0x1p-600, true), 0);
  EXPECT_EQ(product(0, -3, false), 0);
}

}  // namespace
}  // namespace bf_aot::input
