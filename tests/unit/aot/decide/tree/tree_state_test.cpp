#include "aot/decide/tree/tree_state.h"

#include <gtest/gtest.h>

namespace bf_aot::decide::tree {
namespace {

TEST(KraftSum, IsExactWhereDoublesAreNot) {
  KraftSum sum;
  EXPECT_TRUE(sum.is_zero());
  EXPECT_EQ(sum.value(), 0);
  for (std::uint32_t depth = 1; depth <= 200; ++depth) sum.add(depth);
  EXPECT_FALSE(sum.is_one());
  EXPECT_GE(sum.approximate(), 1 - 0x1p-53);
  sum.add(200);
  EXPECT_TRUE(sum.is_one());
  sum.add(kMostDepth);
  EXPECT_FALSE(sum.is_one());
  EXPECT_EQ(sum.leaves(), 202u);
}

TEST(KraftSum, OfAllLeavesOfADepthIsOne) {
  KraftSum one, two;
  one.add(3, 5);
  two.add(3, 3);
  two.add(0, 0);
  one.add(two);
  EXPECT_TRUE(one.is_one());
  EXPECT_EQ(one.counts(), (std::vector<std::uint64_t>{0, 0, 0, 8}));
}

TEST(TreeState, IsVerifiedByClosedLeavesAlone) {
  TreeState state = start_of({{std::byte{1}}, {std::byte{2}}});
  EXPECT_EQ(state.open.size(), 2u);
  EXPECT_EQ(state.open.back().root, 0u);
  EXPECT_TRUE(is_whole(state));
  EXPECT_FALSE(is_verified(state));
  state.open.pop_back();
  EXPECT_FALSE(is_whole(state));
  state.roots[0].closed.add(0);
  EXPECT_TRUE(is_whole(state));
  EXPECT_TRUE(is_verified(state, 0));
  EXPECT_FALSE(is_verified(state, 1));
  EXPECT_EQ(closed_part(state), 0.5);
  state.open.clear();
  state.roots[1].stuck.add(1);
  state.roots[1].closed.add(1);
  EXPECT_TRUE(is_whole(state));
  EXPECT_FALSE(is_verified(state));
}

}  // namespace
}  // namespace bf_aot::decide::tree
