// Planes below and above products, against exact arithmetic.

#include "aot/decide/neurons/lanes/product_lanes.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace bf_aot::decide {
namespace {

struct Rectangle {
  double x_low, x_high, y_low, y_high;
};

// The same in all lanes.
struct Ends {
  std::array<float, kLanes> x_low, x_high, y_low, y_high;

  explicit Ends(const Rectangle& r) {
    x_low.fill(static_cast<float>(r.x_low));
    x_high.fill(static_cast<float>(r.x_high));
    y_low.fill(static_cast<float>(r.y_low));
    y_high.fill(static_cast<float>(r.y_high));
  }
  ProductNeuron neuron() const {
    return {x_low.data(), x_high.data(), y_low.data(), y_high.data()};
  }
};

class ProductPlanesTest : public testing::Test {
 protected:
  double number() {
    return std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random_),
                      static_cast<int>(random_() % 21) - 10);
  }

  Rectangle rectangle() {
    Rectangle made = {number(), number(), number(), number()};
    if (made.x_low > made.x_high) std::swap(made.x_low, made.x_high);
    if (made.y_low > made.y_high) std::swap(made.y_low, made.y_high);
    if (random_() % 4 == 0) made.y_high = made.y_low;
    return made;
  }

  float choice() {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr std::array<float, 8> kSome = {0, 1, 0.5F, 0.1F, -1, 2, kNan, 1e-30F};
    const std::size_t which = random_() % 12;
    return which < kSome.size() ? kSome.at(which)
                                : std::uniform_real_distribution<float>(0, 1)(random_);
  }

  std::mt19937_64 random_{1};
};

// A x y >= the plane at every point, but for what neuron-splits.md says that a product pays for.
TEST_F(ProductPlanesTest, AreOnTheirSideForAnyChoice) {
  int touched = 0, rounded = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Rectangle r = rectangle();
    const double a = number();
    const ProductProof made = prove_product(a, choice(), r.x_low, r.x_high, r.y_low, r.y_high);
    const double x_most = std::max(std::fabs(r.x_low), std::fabs(r.x_high));
    const double y_most = std::max(std::fabs(r.y_low), std::fabs(r.y_high));
    const mpq_class paid = mpq_class(std::fabs(a)) * mpq_class(x_most) * mpq_class(y_most) *
                           mpq_class(4 * 5 * 0x1p-53);
    for (int k = 0; k < 5; ++k) {
      const double share = std::uniform_real_distribution<double>(0, 1)(random_);
      const mpq_class x = k == 4 ? mpq_class(r.x_low + share * (r.x_high - r.x_low))
                                 : mpq_class(k % 2 == 0 ? r.x_low : r.x_high);
      const mpq_class y =
          k == 4 ? mpq_class(std::clamp(r.y_low + share * (r.y_high - r.y_low), r.y_low, r.y_high))
                 : mpq_class(k < 2 ? r.y_low : r.y_high);
      if (x < mpq_class(r.x_low) || x > mpq_class(r.x_high)) continue;
      const mpq_class lost = mpq_class(a) * x * y - mpq_class(made.over_x) * x -
                             mpq_class(made.over_y) * y - mpq_class(made.offset);
      ASSERT_TRUE(lost >= -paid) << "round " << round << ", point " << k;
      rounded += lost < 0 ? 1 : 0;
      touched += k < 4 && lost <= paid ? 1 : 0;
    }
  }
  EXPECT_GT(rounded, 1000) << "rounding has to be paid for";
  EXPECT_GT(touched, 20'000) << "planes touch the product at corners";
}

TEST_F(ProductPlanesTest, LanesMakeTheSamePlanes) {
  for (int round = 0; round < 500; ++round) {
    const Rectangle r = rectangle();
    const Ends ends(r);
    const ProductNeuron n = ends.neuron();
    std::array<float, kLanes> over_p, below, above, over_x = {}, over_y = {}, bounds = {}, x, y, p;
    for (std::size_t k = 0; k < kLanes; ++k) {
      over_p[k] = static_cast<float>(number());
      below[k] = std::uniform_real_distribution<float>(0, 1)(random_);
      above[k] = std::uniform_real_distribution<float>(0, 1)(random_);
      x[k] = static_cast<float>(number());
      y[k] = static_cast<float>(number());
    }
    const ProductChoices choices = {below.data(), above.data()};
    pass_product(n, over_p.data(), choices, over_x.data(), over_y.data(), bounds.data());
    apply_product(n, over_p.data(), x.data(), y.data(), choices, p.data());
    for (std::size_t k = 0; k < kLanes; ++k) {
      const auto a = static_cast<double>(over_p[k]);
      const ProductProof made =
          prove_product(a, a < 0 ? above[k] : below[k], static_cast<double>(n.x_low[k]),
                        static_cast<double>(n.x_high[k]), static_cast<double>(n.y_low[k]),
                        static_cast<double>(n.y_high[k]));
      const double most = 1e-5 * (1 + std::fabs(a) * 4096 * 4096);
      EXPECT_NEAR(static_cast<double>(over_x[k]), made.over_x, most);
      EXPECT_NEAR(static_cast<double>(over_y[k]), made.over_y, most);
      EXPECT_NEAR(static_cast<double>(bounds[k]), made.offset, most);
      EXPECT_NEAR(a * static_cast<double>(p[k]),
                  made.over_x * static_cast<double>(x[k]) +
                      made.over_y * static_cast<double>(y[k]) + made.offset,
                  most);
    }
  }
}

// The least of A x y where x = y is in [1, 3] and A = 1: planes that touch it there are the best.
TEST_F(ProductPlanesTest, StepsFindTheBestMixture) {
  const Ends ends({1, 3, 1, 3});
  const ProductNeuron n = ends.neuron();
  std::array<float, kLanes> over_p, below, above, rates, x, p;
  std::array<float, 2 *kLanes> mean = {}, largest = {};
  over_p.fill(1);
  below.fill(0.5F);
  above.fill(0.5F);
  rates.fill(0.1F);
  x.fill(1.25F);  // nearer to the low ends, so that the first plane is above the second
  for (int step = 0; step < 40; ++step)
    step_product(n, rates.data(), over_p.data(), x.data(), x.data(), {below.data(), above.data()},
                 mean.data(), largest.data(), p.data());
  for (std::size_t k = 0; k < kLanes; ++k) {
    EXPECT_EQ(below[k], 0);
    EXPECT_EQ(above[k], 0.5F) << "the plane above does not matter";
    EXPECT_FLOAT_EQ(p[k], 1.5F);
  }
}

// Factors that are one number: both coefficients go to it.
TEST_F(ProductPlanesTest, OfANumberWithItself) {
  const Ends ends({-1, 2, -1, 2});
  const ProductNeuron n = ends.neuron();
  std::array<float, kLanes> over_p, choice, over_x = {}, bounds = {};
  over_p.fill(2);
  choice.fill(0);
  pass_product(n, over_p.data(), {choice.data(), choice.data()}, over_x.data(), over_x.data(),
               bounds.data());
  EXPECT_EQ(over_x[0], -4);  // 2 (-x - x - 1)
  EXPECT_EQ(bounds[0], -2);
}

}  // namespace
}  // namespace bf_aot::decide
