#include "aot/decide/neurons/tighten.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <limits>

namespace bf_aot::decide {
namespace {

TEST(DividedDown, IsAtMostTheQuotient) {
  for (const double bound : {-0x1p-1074, -0x3p-1074, 0x3p-1074, -0x1.8p-1022, -1.0, 0.0, 1e300})
    for (const float factor : {0x1p-60F, 0.5F, 1.0F, 4.0F, 0x1p60F}) {
      const mpq_class quotient = mpq_class(bound) / mpq_class(static_cast<double>(factor));
      EXPECT_TRUE(mpq_class(divided_down(bound, factor)) < quotient) << bound << " " << factor;
    }
  EXPECT_LT(divided_down(-0x1p-1074, 4), 0) << "no neuron is of one sign by a rounding";
}

TEST(DividedDown, ClaimsNothingOfNothing) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  EXPECT_EQ(divided_down(-kAll, 2), -kAll);
  EXPECT_FALSE(divided_down(std::numeric_limits<double>::quiet_NaN(), 2) >= -kAll);
}

}  // namespace
}  // namespace bf_aot::decide
