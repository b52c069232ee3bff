// Outward rounding on lanes: the numbers of rounding.h, each by each.

#include "runtime/bf/core/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/bf/core/rounding.h"

namespace bf_test {
namespace {

// Zeros, the ends of subnormals and normals and of floats, ties between floats, and what is no
// number.
std::vector<double> special_numbers() {
  std::vector<double> made;
  const auto add = [&](double x) {
    for (const double y : {x, -x})
      for (const double near : {bf::next_down(y), y, bf::next_up(y)}) made.push_back(near);
  };
  for (const double x :
       {0.0, std::numeric_limits<double>::denorm_min(), 0x1p-1022, 0x1p-149, 0x1p-150, 0x1p-126,
        0x1p-127, 1.0, 1 + 0x1p-24, 1 + 0x1p-23, 1 + 3 * 0x1p-24, 0x1.fffffep127, 0x1.ffffffp127,
        0x1p128, 0x1.8p-1074, std::numeric_limits<double>::max(),
        std::numeric_limits<double>::infinity()})
    add(x);
  made.push_back(std::numeric_limits<double>::quiet_NaN());
  made.push_back(-std::numeric_limits<double>::quiet_NaN());
  return made;
}

template <typename T>
bool same(T a, T b) {  // signs of zeros count, bits of NaN do not
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

float rounded_alone(double x) {
  const volatile float nearest = static_cast<float>(x);
  return nearest;
}

template <int kLanes>
void expect_scalar_numbers() {
  using L = bf::Lanes<kLanes>;
  using Doubles = typename L::Doubles;
  using Floats = typename L::Floats;
  const std::vector<double> numbers = special_numbers();
  const int n = static_cast<int>(numbers.size());
  for (int i = 0; i < n; ++i)
    for (int first = 0; first < n; first += kLanes) {
      Doubles a = {}, b = {};
      Floats f = {};
      for (int l = 0; l < kLanes; ++l) {
        a[l] = numbers[static_cast<std::size_t>(i)];
        b[l] = numbers[static_cast<std::size_t>((first + l) % n)];
        f[l] = rounded_alone(b[l]);
      }
      const Doubles up = L::next_up(b), sum_up = L::add_up(a, b), sum_down = L::add_down(a, b);
      const Doubles less_up = L::sub_up(a, b), less_down = L::sub_down(a, b);
      const Doubles product = L::mul_up(a, b), wide = L::wide(f), size = L::size(b);
      const Floats float_up = L::float_up(b), float_down = L::float_down(b);
      const Floats after = L::next_up(f);
      for (int l = 0; l < kLanes; ++l) {
        SCOPED_TRACE(testing::Message() << a[l] << ", " << b[l]);
        EXPECT_TRUE(same<double>(up[l], bf::next_up(b[l])));
        EXPECT_TRUE(same<double>(sum_up[l], bf::add_up(a[l], b[l])));
        EXPECT_TRUE(same<double>(sum_down[l], bf::add_down(a[l], b[l])));
        EXPECT_TRUE(same<double>(less_up[l], bf::sub_up(a[l], b[l])));
        EXPECT_TRUE(same<double>(less_down[l], bf::sub_down(a[l], b[l])));
        EXPECT_TRUE(same<double>(product[l], bf::mul_up(a[l], b[l])));
        EXPECT_TRUE(same<double>(wide[l], static_cast<double>(f[l])));
        EXPECT_TRUE(same<double>(size[l], std::fabs(b[l])));
        EXPECT_TRUE(same<float>(float_up[l], bf::float_up(b[l])));
        EXPECT_TRUE(same<float>(float_down[l], bf::float_down(b[l])));
        EXPECT_TRUE(same<float>(after[l], bf::next_up(f[l])));
      }
    }
}

template <int kLanes>
void expect_any() {
  using L = bf::Lanes<kLanes>;
  for (int some = 0; some < (1 << kLanes); ++some) {
    typename L::Longs condition = {};
    for (int l = 0; l < kLanes; ++l) condition[l] = (some >> l & 1) != 0 ? -1 : 0;
    EXPECT_EQ(L::any(condition), some != 0) << some;
  }
}

// In pairs, where GCC 12 took floats for the doubles that they were made of: note [pairs of
// floats].
__attribute__((noinline)) void round_pair(const double* from, double* nearest) {
  const float first = bf::nearest_float(from[0]);
  const float second = bf::nearest_float(from[1]);
  nearest[0] = static_cast<double>(first);
  nearest[1] = static_cast<double>(second);
}

__attribute__((noinline)) void bound_pair(const double* from, float* up, float* down) {
  up[0] = bf::float_up(from[0]);
  up[1] = bf::float_up(from[1]);
  down[0] = bf::float_down(from[0]);
  down[1] = bf::float_down(from[1]);
}

TEST(Rounding, OfPairs) {
  const std::vector<double> numbers = special_numbers();
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    double nearest[2];
    float up[2], down[2];
    round_pair(numbers.data() + i, nearest);
    bound_pair(numbers.data() + i, up, down);
    for (std::size_t k = 0; k < 2; ++k) {
      const double x = numbers[i + k];
      SCOPED_TRACE(x);
      EXPECT_TRUE(same(nearest[k], static_cast<double>(rounded_alone(x))));
      if (std::isnan(x)) continue;
      EXPECT_GE(static_cast<double>(up[k]), x);
      EXPECT_LE(static_cast<double>(down[k]), x);
    }
  }
}

TEST(Lanes, RoundAsScalars) {
  if constexpr (bf::kVectorBytes >= 16) expect_scalar_numbers<2>();
  if constexpr (bf::kVectorBytes >= 32) expect_scalar_numbers<4>();
  if constexpr (bf::kVectorBytes >= 64) expect_scalar_numbers<8>();
}

TEST(Lanes, Any) {
  if constexpr (bf::kVectorBytes >= 16) expect_any<2>();
  if constexpr (bf::kVectorBytes >= 32) expect_any<4>();
  if constexpr (bf::kVectorBytes >= 64) expect_any<8>();
}

}  // namespace
}  // namespace bf_test
