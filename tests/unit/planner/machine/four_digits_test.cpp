#include "planner/machine/four_digits.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bf_aot {
namespace {

TEST(FourDigits, AreRoundedToNearest) {
  EXPECT_EQ(four_digits(0.123456), 0.1235);
  EXPECT_EQ(four_digits(-98765), -98760);  // the even one of two as near
  EXPECT_EQ(four_digits(1e-310), 1e-310);
  EXPECT_EQ(four_digits(0), 0);
  EXPECT_EQ(four_digits(HUGE_VAL), HUGE_VAL);
}

}  // namespace
}  // namespace bf_aot
