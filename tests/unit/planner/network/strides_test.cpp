#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/network/max_groups.h"
#include "planner/network/stride_gathers.h"

namespace bf_aot {
namespace {

using Sources = std::vector<std::int32_t>;

void expect_view(const Sources& source) {
  const auto view = strided_view(source);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(elements_of(*view), source);
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
    const Sources source = elements_of(made);
    const auto view = strided_view(source);
    if (!view) continue;  // dimensions may merge in ways that hide the nest
    ++found;
    EXPECT_EQ(elements_of(*view), source);
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

// Windows of kernel x kernel, `stride` apart, on `channels` images of size x size, whose channels
// and pixels are so far apart.
SparseMap pooling(int channels, int size, int kernel, int stride, int channel, int pixel) {
  SparseMap map{{0}, {}};
  for (int c = 0; c < channels; ++c)
    for (int y = 0; y + kernel <= size; y += stride)
      for (int x = 0; x + kernel <= size; x += stride) {
        for (int a = 0; a < kernel; ++a)
          for (int b = 0; b < kernel; ++b)
            map.column.push_back(c * channel + ((y + a) * size + x + b) * pixel);
        map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
      }
  return map;
}

TEST(GroupViews, FindPooling) {
  const auto expect_groups = [](const SparseMap& map, std::int32_t last) {
    const auto found = max_groups(map);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(candidates_of(*found), map);
    EXPECT_EQ(found->taps.count[3], last);
  };
  expect_groups(pooling(3, 27, 4, 4, 729, 1), 4);
  expect_groups(pooling(2, 9, 3, 2, 81, 1), 3);   // windows overlap
  expect_groups(pooling(3, 8, 8, 8, 64, 1), 64);  // of whole images
}

// In images whose channels lie together those of a pixel are neighbours.
TEST(GroupViews, FindPoolingOfChannelsThatLieTogether) {
  SparseMap map{{0}, {}};
  for (int y = 0; y < 4; y += 2)
    for (int x = 0; x < 4; x += 2)
      for (int c = 0; c < 5; ++c) {
        for (int t = 0; t < 4; ++t) map.column.push_back(((y + t / 2) * 4 + x + t % 2) * 5 + c);
        map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
      }
  const auto found = max_groups(map);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(candidates_of(*found), map);
  EXPECT_EQ(found->taps.count[3], 1);
}

TEST(GroupViews, AreNotOfOtherGroups) {
  SparseMap map = pooling(3, 8, 2, 2, 64, 1);
  map.column[5] += 1;
  EXPECT_FALSE(max_groups(map).has_value());
  map = pooling(3, 8, 2, 2, 64, 1);
  map.column.pop_back();  // of fewer candidates
  --map.row_start.back();
  EXPECT_FALSE(max_groups(map).has_value());
  EXPECT_FALSE(max_groups(pooling(1, 24, 2, 6, 576, 1)).has_value());  // far apart
  EXPECT_FALSE(max_groups({{0, 2}, {1, 2}}).has_value());              // one group
}

}  // namespace
}  // namespace bf_aot
