// Softmax written out: where it is found, and that it stays the same function.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

// The rows {x_0, x_2} and {x_1, x_3}.
SparseAffine rows_of_two() {
  return {{0, 2, 4}, {0, 2, 1, 3}, filled({4}, 1), filled({2}, 0)};
}

// e^d over the sums of e^d, d = x - s largest of `shift`.
Graph written_out(const SparseAffine& sums, const std::vector<std::int64_t>& rows,
                  const std::vector<double>& s, const FunctionKind kind = FunctionKind::kExp) {
  Builder b({4});
  const ValueId largest = b.add(GroupMax{{0, 2, 4}, {0, 2, 1, 3}}, {b.x()}, {2});
  const ValueId negative = b.add(scale(s, {0, 0, 0, 0}), {b.map(largest, {0, 1, 0, 1})}, {4});
  const ValueId d = b.add(Binary{Binary::Kind::kAdd}, {b.x(), negative}, {4});
  const ValueId power = b.add(Unary{{kind}}, {d}, {4});
  const ValueId sum = b.add(sums, {power}, {2});
  const ValueId inverse = b.add(Unary{{FunctionKind::kReciprocal}}, {sum}, {2});
  return b.outputs({b.add(Binary{Binary::Kind::kMul}, {b.map(inverse, rows), power}, {4})});
}

const std::vector<double> kMinusOnes = {-1, -1, -1, -1};

void expect_quotient_stays(const Graph& graph) {
  Graph changed = graph;
  softmax_of_powers(changed);
  EXPECT_EQ(changed, graph);
}

TEST(SoftmaxOfPowers, IsTheSameFunctionWithoutTheLargest) {
  const Graph original = written_out(rows_of_two(), {0, 1, 0, 1}, kMinusOnes);
  Graph changed = original;
  softmax_of_powers(changed);
  verify(changed);
  EXPECT_EQ(count_ops<LogSoftmax>(changed), 1U);
  EXPECT_EQ(count_ops<GroupMax>(changed), 0U);
  const std::vector<double> x = {1, -2, 0.5, 3};
  const Tensors before = evaluate(original, {x}), after = evaluate(changed, {x});
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(before[0][k], after[0][k], 1e-12);
  EXPECT_NEAR(after[0][0], 1 / (1 + std::exp(-0.5)), 1e-12);
  EXPECT_NEAR(after[0][1], 1 / (1 + std::exp(5)), 1e-12);
}

TEST(SoftmaxOfPowers, OfTooManyDifferencesStays) {
  const Graph original = written_out(rows_of_two(), {0, 1, 0, 1}, kMinusOnes);
  Graph changed = original;
  softmax_of_powers(changed, 3);
  EXPECT_EQ(changed, original);
  softmax_of_powers(changed, 4);
  EXPECT_EQ(count_ops<LogSoftmax>(changed), 1U);
}

// What is added differs within a group: it is part of the exponents.
TEST(SoftmaxOfPowers, UnequalShiftsStay) {
  const Graph original = written_out(rows_of_two(), {0, 1, 0, 1}, {-1, -1, -2, -1});
  Graph changed = original;
  softmax_of_powers(changed);
  EXPECT_EQ(count_ops<LogSoftmax>(changed), 1U);
  EXPECT_EQ(count_ops<GroupMax>(changed), 1U);
  const std::vector<double> x = {1, -2, 0.5, 3};
  const Tensors before = evaluate(original, {x}), after = evaluate(changed, {x});
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(before[0][k], after[0][k], 1e-12);
}

TEST(SoftmaxOfPowers, OtherQuotientsStay) {
  SparseAffine doubled = rows_of_two(), shifted = rows_of_two(), inexact = rows_of_two();
  doubled.value.data[1] = 2;
  shifted.bias.data[0] = 1;
  inexact.value.error.assign(4, 0x1p-60);
  const std::vector<std::int64_t> rows = {0, 1, 0, 1};
  expect_quotient_stays(written_out(doubled, rows, kMinusOnes));
  expect_quotient_stays(written_out(shifted, rows, kMinusOnes));
  expect_quotient_stays(written_out(inexact, rows, kMinusOnes));
  expect_quotient_stays(written_out(rows_of_two(), {0, 1, 1, 1}, kMinusOnes));
  expect_quotient_stays(written_out(rows_of_two(), rows, kMinusOnes, FunctionKind::kSigmoid));
}

}  // namespace
}  // namespace bf_aot
