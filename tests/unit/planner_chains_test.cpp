#include <gtest/gtest.h>

#include "planner/lowering.h"
#include "runtime/backward.h"

// What the planner counts roundings for is what the runtime's loops do.

namespace bf {
namespace {

TEST(Chains, AreAsLongAsTheRuntimes) {
  EXPECT_EQ(LoweringPlanner::kLineChain, kSumChain);
}

}  // namespace
}  // namespace bf
