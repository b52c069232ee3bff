#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/stride_gathers.h"

namespace bf {
namespace {

using Sources = std::vector<std::int32_t>;

Sources enumerate(const StridedView& view) {
  Sources made;
  for (std::int32_t a = 0; a < view.count[0]; ++a)
    for (std::int32_t b = 0; b < view.count[1]; ++b)
      for (std::int32_t c = 0; c < view.count[2]; ++c)
        for (std::int32_t d = 0; d < view.count[3]; ++d)
          made.push_back(view.offset + a * view.stride[0] + b * view.stride[1] +
                         c * view.stride[2] + d * view.stride[3]);
  return made;
}

void expect_view(const Sources& source) {
  const auto view = strided_view(source);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(enumerate(*view), source);
}

TEST(StridedViews, FindTransposesSlicesAndRepetitions) {
  expect_view({7});
  expect_view({0, 1, 2, 3});                    // identity
  expect_view({5, 4, 3});                       // reversed
  expect_view({0, 3, 1, 4, 2, 5});              // a 2x3 matrix transposed
  expect_view({2, 3, 6, 7, 10, 11});            // two columns of each row
  expect_view({4, 4, 4, 4});                    // broadcast
  expect_view({0, 0, 1, 1, 2, 2});              // each element twice
  expect_view({0, 1, 0, 1, 0, 1});              // the tensor three times
  expect_view({0, 6, 12, 1, 7, 13, 2, 8, 14});  // strides of a plane
  expect_view({0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29});
}

TEST(StridedViews, FindEveryNestOfFourLoops) {
  std::uint32_t state = 7;
  const auto below = [&](std::uint32_t n) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::int32_t>((state >> 8U) % n);
  };
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    StridedView made;
    made.offset = 200 + below(5);
    for (std::size_t k = 0; k < 4; ++k) {
      made.count[k] = 1 + below(4);
      made.stride[k] = below(9) - 4;
    }
    const Sources source = enumerate(made);
    const auto view = strided_view(source);
    if (!view) continue;  // dimensions may merge in ways that hide the nest
    ++found;
    EXPECT_EQ(enumerate(*view), source);
  }
  EXPECT_GT(found, 150);
}

TEST(StridedViews, RefuseWhatNoNestEnumerates) {
  EXPECT_FALSE(strided_view({}).has_value());
  EXPECT_FALSE(strided_view({0, 1, 3}).has_value());
  EXPECT_FALSE(strided_view({0, -1, 2}).has_value());  // holes
  EXPECT_FALSE(strided_view({0, 1, 2, 3, 4, 6}).has_value());
  EXPECT_FALSE(strided_view({3, 1, 4, 1, 5, 9, 2, 6}).has_value());
}

}  // namespace
}  // namespace bf
