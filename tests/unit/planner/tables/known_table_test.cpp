// Tables that are constants of the program are those that MPFR makes.

#include "planner/tables/known_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/functions/composite/expression.h"
#include "frontend/functions/function_facts.h"
#include "planner/tables/usual_composites.h"

namespace bf_aot {
namespace {

TEST(KnownTables, AreTheTablesThatAreComputed) {
  ASSERT_GT(known_tables().size(), 20U);
  for (const KnownTable& known : known_tables()) {
    const bool composite = known.kind == FunctionKind::kComposite;
    const Function function = composite ? usual_composites().at(static_cast<std::size_t>(known.a))
                                        : Function{known.kind, known.a, known.b};
    SCOPED_TRACE(to_string(function));
    EXPECT_EQ(find_known_table(function), compute_function_table(function));
  }
}

TEST(KnownTables, HoldWithinLimits) {
  Function root = {FunctionKind::kSqrt};
  root.least = 0;
  root.most = 4;
  const auto known = find_known_table(root);
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, compute_function_table(root));
  EXPECT_EQ(make_function_table(root), *known);
}

// A smooth function without parameters takes time.
TEST(KnownTables, HoldAllFunctionsWithoutParameters) {
  for (const FunctionFacts& facts : function_facts())
    if (facts.parameters == 0 && facts.real != nullptr) {
      EXPECT_TRUE(find_known_table({facts.kind})) << facts.name;
    }
}

TEST(KnownTables, HoldUsualComposites) {
  for (const Function& usual : usual_composites()) {
    EXPECT_TRUE(find_known_table(usual));
    Function limited = usual;
    limited.most = 2;
    EXPECT_TRUE(find_known_table(limited));
  }
  Expression e;
  Function other{FunctionKind::kComposite};
  other.composite =
      Composite::of(e.parts(e.product(0, *e.function({FunctionKind::kErf}, 0))).steps);
  ASSERT_NE(other.composite, nullptr);
  EXPECT_FALSE(find_known_table(other));
}

TEST(KnownTables, OtherParametersAreOtherFunctions) {
  EXPECT_TRUE(find_known_table({FunctionKind::kElu, 1}));
  const Function other = {FunctionKind::kElu, 0.75};
  EXPECT_FALSE(find_known_table(other));
  EXPECT_EQ(make_function_table(other), compute_function_table(other));
  EXPECT_FALSE(find_known_table({FunctionKind::kTanh, 0, 0, 1}));
}

TEST(KnownTables, ThoseThatAreMadeHoldWithinLimits) {
  Function limited = {FunctionKind::kElu, 0.625};
  const FunctionTable all = make_function_table(limited);
  limited.least = -1;
  limited.most = 3;
  const FunctionTable table = make_function_table(limited);
  EXPECT_EQ(table.function, limited);
  EXPECT_EQ(table, compute_function_table(limited));
  EXPECT_EQ(table.coefficients, all.coefficients);
}

}  // namespace
}  // namespace bf_aot
