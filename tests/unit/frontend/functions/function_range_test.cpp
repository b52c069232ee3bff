#include "frontend/functions/function_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "frontend/functions/composite/expression.h"
#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot {
namespace {

Function example_of(FunctionKind kind) {
  const int parameters = facts_of(kind).parameters;
  return {kind, parameters > 0 ? 0.5 : 0, parameters > 1 ? 2.0 : 0};
}

// evaluate_exact() misses by at most this, relative to max(1, |f|).
mpq_class own_error(const mpq_class& value) {
  mpq_class error = std::max(mpq_class(1), mpq_class(abs(value)));
  mpq_div_2exp(error.get_mpq_t(), error.get_mpq_t(), 200);
  return error;
}

TEST(FunctionRange, HoldsValuesOfEveryFunction) {
  std::mt19937 random(20261127);
  std::uniform_int_distribution<int> numerator(-4000, 4000);
  for (std::size_t k = 0; k < kFunctionKinds; ++k) {
    const Function f = example_of(static_cast<FunctionKind>(k));
    int known = 0;
    for (int trial = 0; trial < 60; ++trial) {
      const int scale = trial % 2 == 0 ? 3000 : 64;
      mpq_class low(numerator(random), scale), high(numerator(random), scale);
      low.canonicalize();
      high.canonicalize();
      if (low > high) std::swap(low, high);
      const auto range = exact_range(f, low, high);
      if (!range) continue;
      ++known;
      for (int i = 0; i <= 8; ++i) {
        const mpq_class x = low + (high - low) * i / 8;
        const auto value = find_exact(f, x);
        ASSERT_TRUE(value.has_value()) << to_string(f);
        EXPECT_LE(range->low, *value + own_error(*value)) << to_string(f) << " at " << x;
        EXPECT_GE(range->high, *value - own_error(*value)) << to_string(f) << " at " << x;
      }
    }
    EXPECT_TRUE(facts_of(f.kind).monotony(f) != Monotony::kRises || known > 0) << to_string(f);
  }
}

TEST(FunctionRange, EndsAreExactWhereAValueIs) {
  const auto range = exact_range({FunctionKind::kSigmoid}, 0, 1000);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->low, mpq_class(1, 2));
  EXPECT_EQ(range->high, 1);
}

TEST(FunctionRange, NeverLeavesTheValuesOfTheFunction) {
  EXPECT_EQ(exact_range({FunctionKind::kTanh}, -1000, 1000)->high, 1);
  EXPECT_EQ(exact_range({FunctionKind::kTanh}, -1000, 1000)->low, -1);
  EXPECT_EQ(exact_range({FunctionKind::kExp}, -1000, 0)->low, 0);
  EXPECT_EQ(exact_range({FunctionKind::kExp}, -1000, 0)->high, 1);
  EXPECT_EQ(exact_range({FunctionKind::kSin}, -1000, 1000)->high, 1);
  EXPECT_EQ(exact_range({FunctionKind::kCosh}, -2, 1)->low, 1);
}

// Rationals of such values would have hundreds of millions of bits.
TEST(FunctionRange, StaysSmallFarFromZero) {
  const auto range = exact_range({FunctionKind::kExp}, -1000000, 0);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->low, 0);
  EXPECT_FALSE(exact_range({FunctionKind::kExp}, 0, 1000000).has_value());
}

TEST(FunctionRange, SaysNothingBeyondTheDomainAndOfUnknownTurns) {
  EXPECT_FALSE(exact_range({FunctionKind::kLog}, 0, 1).has_value());
  EXPECT_FALSE(exact_range({FunctionKind::kReciprocal}, -1, 1).has_value());
  EXPECT_FALSE(exact_range({FunctionKind::kGelu}, -1, 1).has_value());
}

Function composite_of(const Expression& e, int term) {
  Function f{FunctionKind::kComposite};
  f.composite = Composite::of(e.parts(term).steps);
  return f;
}

TEST(FunctionRange, OfExpressions) {
  Expression e;
  const int cubic = e.sum(e.product(e.product(0, 0), 0), e.line(0, {-2, 0}, {}));
  const Function f = composite_of(e, cubic);
  ASSERT_NE(f.composite, nullptr);
  std::mt19937 random(9);
  for (int trial = 0; trial < 200; ++trial) {
    const mpq_class low = mpq_class(static_cast<int>(random() % 97) - 48) / 7;
    const mpq_class high = low + mpq_class(static_cast<int>(random() % 9)) / 5;
    const auto range = exact_range(f, low, high);
    ASSERT_TRUE(range.has_value());
    for (int i = 0; i <= 8; ++i) {
      const mpq_class x = low + (high - low) * i / 8, y = x * x * x - 2 * x;
      EXPECT_LE(range->low, y);
      EXPECT_GE(range->high, y);
    }
    EXPECT_TRUE(low < high || range->low == range->high);
  }

  // Lines are exact on both sides of where they meet, a step at its own value.
  const int folded = e.sum(e.maximum(0, e.line(0, {-3, 0}, {})),
                           *e.function({FunctionKind::kStepAt}, e.line(0, {1, 0}, {-2, 0})));
  const Function g = composite_of(e, folded);
  ASSERT_NE(g.composite, nullptr);
  EXPECT_EQ(exact_range(g, mpq_class(-1, 3), mpq_class(1, 3))->low, 0);
  EXPECT_EQ(exact_range(g, mpq_class(-1, 3), mpq_class(1, 3))->high, 1);
  EXPECT_EQ(exact_range(g, 2, 2)->low, 3);
  EXPECT_EQ(exact_range(g, 1, 2)->high, 3);
  EXPECT_EQ(exact_range(g, 1, mpq_class(7, 4))->high, mpq_class(7, 4));
  EXPECT_FALSE(exact_range(f, 0, mpq_class("1000000000000000000000000000000")).has_value());
}

}  // namespace
}  // namespace bf_aot
