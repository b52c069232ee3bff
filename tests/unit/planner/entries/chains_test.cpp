#include "runtime/bf/contract/chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "planner/lowering/lowering.h"

// The planner counts roundings by the constants that the runtime's loops end their chains by. That
// these loops do is tested in tests/runtime/chains_test.cpp.

namespace bf_aot {
namespace {

Term conv_term(std::int64_t in, std::int64_t out, std::int64_t kernel) {
  ConvGeometry g;
  g.in_channels = in;
  g.out_channels = out;
  g.in_size = g.out_size = {1, 1, 2 * kernel};
  g.kernel = {1, 1, kernel};
  Term term;
  term.map = ConvMap{g};
  return term;
}

// One chain of all products as long as there is one, then as many as hold the products.
TEST(Chains, MakeTheDepthOfBackwardConvolutions) {
  for (const std::int64_t readers :
       {1, bf::kConvChain - 1, bf::kConvChain, bf::kConvChain + 1, 3 * bf::kConvChain}) {
    const std::int64_t chain = std::min<std::int64_t>(readers, bf::kConvChain);
    const std::int64_t chains = (readers + bf::kConvChain - 1) / bf::kConvChain;
    EXPECT_EQ(LoweringPlanner::term_depth(conv_term(1, readers, 1), 1), chain + chains + 1);
    EXPECT_EQ(LoweringPlanner::term_depth(conv_term(1, readers, 1), 3), chain + chains + 3);
  }
  // Taps enter a chain as long as they fit.
  EXPECT_EQ(LoweringPlanner::term_depth(conv_term(1, 1, bf::kConvChain), 1), bf::kConvChain + 2);
  EXPECT_EQ(LoweringPlanner::term_depth(conv_term(1, 1, bf::kConvChain + 1), 1),
            1 + bf::kConvChain + 2);
}

TEST(Chains, MakeTheDepthOfIntervalConvolutions) {
  const auto depth = [](std::int64_t in, std::int64_t kernel) {
    Layer layer;
    layer.kind = LayerKind::kSum;
    layer.terms = {conv_term(in, 1, kernel)};
    return LoweringPlanner::interval_depth(layer);
  };
  EXPECT_EQ(depth(1, bf::kIntervalChain), bf::kIntervalChain + 3);
  EXPECT_EQ(depth(1, bf::kIntervalChain + 1), bf::kIntervalChain + 4);
  EXPECT_EQ(depth(bf::kIntervalChain, 3), bf::kIntervalChain + 5);
  EXPECT_EQ(depth(3 * bf::kIntervalChain, 3), bf::kIntervalChain + 11);
}

}  // namespace
}  // namespace bf_aot
