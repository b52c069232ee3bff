#include "planner/network/exact_centre.h"

#include <gtest/gtest.h>

#include "planner/network/linear_terms.h"

namespace bf_aot {
namespace {

Layer sum_of(std::vector<Term> terms, std::optional<Function> function = std::nullopt) {
  Layer layer;
  layer.kind = LayerKind::kSum;
  layer.out = 1;
  layer.terms = std::move(terms);
  layer.function = function;
  layer.bias = {0};
  return layer;
}

// x clipped to +-limit, rounded, then added to itself: is the last sum exact?
bool is_exact_sum_of_rounded(double limit) {
  Plan plan;
  plan.input_count = 1;
  plan.layers.push_back(
      sum_of({identity_term(-1, 1)}, Function{FunctionKind::kClip, -limit, limit}));
  plan.layers.push_back(sum_of({identity_term(0, 1)}, Function{FunctionKind::kRound, 1, 0}));
  plan.layers.push_back(sum_of({identity_term(1, 1), identity_term(1, 1)}));
  find_exact_centres(plan);
  return plan.layers[2].exact_centre;
}

TEST(ExactCentre, SumsOfSmallIntegersRoundNothing) {
  EXPECT_TRUE(is_exact_sum_of_rounded(255));
  EXPECT_TRUE(is_exact_sum_of_rounded(0x1p40));
}

// Beyond 2^50 the staircases of the runtime have ends that are no integers.
TEST(ExactCentre, SumsOfLargeIntegersMayRound) {
  EXPECT_FALSE(is_exact_sum_of_rounded(0x1p50));
  EXPECT_FALSE(is_exact_sum_of_rounded(0x1p49));
}

TEST(ExactCentre, CopiesRoundNothing) {
  Plan plan;
  plan.input_count = 1;
  plan.layers.push_back(sum_of({identity_term(-1, 1)}));
  plan.layers.push_back(sum_of({identity_term(-1, 1), identity_term(-1, 1)}));
  plan.layers.push_back(sum_of({identity_term(-1, 1)}));
  plan.layers.back().bias = {0.5};
  find_exact_centres(plan);
  EXPECT_TRUE(plan.layers[0].exact_centre);
  EXPECT_FALSE(plan.layers[1].exact_centre);
  EXPECT_FALSE(plan.layers[2].exact_centre);
}

// x clipped and rounded, added to itself, and that sum to itself: is the last sum exact?
bool is_exact_sum_of_sums(Method method, bool read_by_maxima) {
  Plan plan;
  plan.config.method = method;
  plan.input_count = 1;
  plan.layers.push_back(sum_of({identity_term(-1, 1)}, Function{FunctionKind::kClip, -3, 3}));
  plan.layers.push_back(sum_of({identity_term(0, 1)}, Function{FunctionKind::kFloor}));
  plan.layers.push_back(sum_of({identity_term(1, 1), identity_term(1, 1)}));
  plan.layers.push_back(sum_of({identity_term(2, 1), identity_term(2, 1)}));
  if (read_by_maxima) {
    plan.layers.push_back(sum_of({identity_term(2, 1)}));
    plan.layers.back().kind = LayerKind::kMax;
  }
  find_exact_centres(plan);
  return plan.layers[3].exact_centre;
}

TEST(ExactCentre, SumsOfExactSums) {
  EXPECT_TRUE(is_exact_sum_of_sums(Method::kIbp, false));
  EXPECT_TRUE(is_exact_sum_of_sums(Method::kCrown, false));
}

// Lines that go forward, and backward bounds of what maxima read, move ends off the grid.
TEST(ExactCentre, NotOfSumsThatAreTightened) {
  EXPECT_FALSE(is_exact_sum_of_sums(Method::kForward, false));
  EXPECT_FALSE(is_exact_sum_of_sums(Method::kCrown, true));
}

// The ends of clipped values are where the box puts them, not on a grid.
TEST(ExactCentre, OnlyStepFunctionsMakeAGrid) {
  Plan plan;
  plan.input_count = 1;
  plan.layers.push_back(sum_of({identity_term(-1, 1)}, Function{FunctionKind::kClip, 0, 1}));
  plan.layers.push_back(sum_of({identity_term(0, 1), identity_term(0, 1)}));
  find_exact_centres(plan);
  EXPECT_FALSE(plan.layers[1].exact_centre);
}

}  // namespace
}  // namespace bf_aot
