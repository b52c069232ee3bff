// What importers and fold_constants make of constants: values with bounds that hold.

#include "frontend/algebra/fold_node.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "frontend/functions/function_exact.h"

namespace bf_aot {
namespace {

std::optional<Constant> fold(const Op& op, const std::vector<Constant>& inputs) {
  Graph graph;
  Node node{op, {}, {}, "n"};
  std::vector<const Constant*> pointers;
  for (const Constant& each : inputs) {
    node.inputs.push_back(graph.add_value("x", each.shape));
    pointers.push_back(&each);
  }
  node.output = graph.add_value("y", inputs.at(0).shape);
  return fold_node(graph, node, pointers);
}

std::optional<Constant> apply(Function function, double x, double error = 0) {
  Constant constant{{1}, {x}, {}};
  if (error != 0) constant.error = {error};
  return fold(Unary{function}, {constant});
}

// Every f(t) with |t - x| <= error lies within the bound, and the bound is not absurd.
void expect_bound(Function function, double x, double error) {
  SCOPED_TRACE(to_string(function));
  const std::optional<Constant> folded = apply(function, x, error);
  ASSERT_TRUE(folded.has_value());
  const mpq_class value(folded->data[0]);
  const mpq_class bound(folded->error_at(0));
  for (int i = -4; i <= 4; ++i) {
    const mpq_class t = mpq_class(x) + mpq_class(error) * i / 4;
    EXPECT_LE(abs(evaluate_exact(function, t) - value), bound);
  }
  EXPECT_LE(folded->error_at(0), 100 * error + 1e-15 * (1 + std::abs(folded->data[0])));
}

TEST(FoldNode, bounds_functions_of_exact_and_inexact_numbers) {
  for (const double error : {0.0, 0x1p-60, 1e-9})
    for (const Function& function :
         {Function{FunctionKind::kSqrt}, Function{FunctionKind::kExp}, Function{FunctionKind::kLog},
          Function{FunctionKind::kReciprocal}, Function{FunctionKind::kTanh},
          Function{FunctionKind::kSigmoid}, Function{FunctionKind::kPower, -0.5},
          Function{FunctionKind::kSin}, Function{FunctionKind::kAbs}, Function{FunctionKind::kAcos},
          Function{FunctionKind::kLeakyRelu, 0.25}})
      expect_bound(function, 0.3, error);
}

TEST(FoldNode, keeps_exact_results_exact) {
  EXPECT_TRUE(apply({FunctionKind::kSqrt}, 6.25)->is_exact());
  EXPECT_EQ(apply({FunctionKind::kSqrt}, 6.25)->data[0], 2.5);
  EXPECT_TRUE(apply({FunctionKind::kReciprocal}, 8)->is_exact());
  EXPECT_TRUE(apply({FunctionKind::kExp}, 0)->is_exact());
  EXPECT_TRUE(apply({FunctionKind::kPower, 3}, 5)->is_exact());
  EXPECT_FALSE(apply({FunctionKind::kSqrt}, 2)->is_exact());
}

// tanh(1000) is 1 in a thousand digits and yet is not 1.
TEST(FoldNode, does_not_take_the_nearly_exact_for_exact) {
  EXPECT_FALSE(apply({FunctionKind::kTanh}, 1000)->is_exact());
  EXPECT_FALSE(apply({FunctionKind::kErf}, 100)->is_exact());
  EXPECT_FALSE(apply({FunctionKind::kExp}, 0x1p-1060)->is_exact());
}

TEST(FoldNode, claims_nothing_outside_of_the_domain) {
  EXPECT_FALSE(apply({FunctionKind::kSqrt}, -1).has_value());
  EXPECT_FALSE(apply({FunctionKind::kSqrt}, 0x1p-60, 0x1p-59).has_value());
  EXPECT_FALSE(apply({FunctionKind::kLog}, 0).has_value());
  EXPECT_FALSE(apply({FunctionKind::kReciprocal}, 0x1p-60, 0x1p-60).has_value());
  EXPECT_FALSE(apply({FunctionKind::kPower, 0.5}, -2).has_value());
  EXPECT_FALSE(apply({FunctionKind::kAcos}, 1, 0x1p-60).has_value());
  EXPECT_FALSE(apply({FunctionKind::kExp}, 1000).has_value());
  EXPECT_FALSE(fold(Binary{Binary::Kind::kDiv}, {{{1}, {1}, {}}, {{1}, {0}, {}}}).has_value());
}

// On the flat side of a falling function its slope elsewhere does not count.
TEST(FoldNode, knows_falling_functions) {
  const Constant flat = *apply({FunctionKind::kHardSigmoid, -1, 0.5}, 10, 1);
  EXPECT_EQ(flat.data[0], 0);
  EXPECT_TRUE(flat.is_exact());
  expect_bound({FunctionKind::kHardSigmoid, -1, 0.5}, 0.25, 0x1p-10);
}

// The number may lie on either side of the step.
TEST(FoldNode, steps_of_inexact_numbers_are_inexact) {
  const Constant near = *apply({FunctionKind::kFloor}, 3, 0x1p-52);
  EXPECT_FALSE(near.is_exact());
  EXPECT_GE(near.data[0] + near.error_at(0), 3);
  EXPECT_LE(near.data[0] - near.error_at(0), 2);
  EXPECT_TRUE(apply({FunctionKind::kFloor}, 3.5, 0x1p-52)->is_exact());
}

}  // namespace
}  // namespace bf_aot
