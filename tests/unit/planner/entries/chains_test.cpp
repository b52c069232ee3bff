#include <gtest/gtest.h>

#include "planner/lowering/lowering.h"
#include "runtime/bf/sums/backward.h"

// What the planner counts roundings for is what the runtime's loops do.

namespace bf_aot {
namespace {

TEST(Chains, AreAsLongAsTheRuntimes) {
  EXPECT_EQ(LoweringPlanner::kLineChain, bf::kSumChain);
}

}  // namespace
}  // namespace bf_aot
