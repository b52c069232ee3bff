// Logarithms of sums of powers, written by log-softmax: where they are found, and that they stay
// the same function.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

// The rows {x_0, x_2}, {x_0, x_1, x_3} of ln sum e^x.
SparseAffine two_rows() {
  return {{0, 2, 5}, {0, 2, 0, 1, 3}, filled({5}, 1), filled({2}, 0)};
}

Graph log_of(SparseAffine sums, const Function& outer = {FunctionKind::kLog},
             const Function& inner = {FunctionKind::kExp}) {
  Builder b({4});
  const std::int64_t rows = sums.rows();
  const ValueId powers = b.add(Unary{inner}, {b.x()}, {4});
  const ValueId sum = b.add(std::move(sums), {powers}, {rows});
  return b.outputs({b.add(Unary{outer}, {sum}, {rows})});
}

void expect_powers_stay(const Graph& graph) {
  Graph changed = graph;
  log_sum_exp(changed);
  EXPECT_EQ(changed, graph);
}

TEST(LogSumExp, IsTheSameFunction) {
  const Graph original = log_of(two_rows());
  Graph changed = original;
  log_sum_exp(changed);
  verify(changed);
  EXPECT_EQ(count_ops<LogSoftmax>(changed), 1U);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::uniform_real_distribution<double> number(-600, 600);
    std::vector<double> x(4);
    for (double& element : x) element = i % 2 == 0 ? number(random) : number(random) / 200;
    const Tensors before = evaluate(original, {x}), after = evaluate(changed, {x});
    for (std::size_t k = 0; k < 2; ++k) {
      const double tolerance = 1e-11 + 1e-14 * std::fabs(before[0][k]);
      EXPECT_NEAR(before[0][k], after[0][k], tolerance);
    }
  }
}

// ln(e^x_0 + e^x_2) by hand, also where the powers are no doubles.
TEST(LogSumExp, ValuesByHand) {
  Graph graph = log_of(two_rows());
  log_sum_exp(graph);
  for (const double at : {0.0, -7000.0, 7000.0, 1e30})
    EXPECT_NEAR(evaluate(graph, {{at, at, at, at}})[0][0], at + std::log(2), 1e-10);
}

TEST(LogSumExp, OtherSumsAndFunctionsStay) {
  SparseAffine doubled = two_rows(), shifted = two_rows();
  doubled.value.data[1] = 2;
  shifted.bias.data[0] = 1;
  SparseAffine inexact = two_rows();
  inexact.value.error.assign(5, 0x1p-60);
  expect_powers_stay(log_of(doubled));
  expect_powers_stay(log_of(shifted));
  expect_powers_stay(log_of(inexact));
  expect_powers_stay(log_of({{0, 1, 3}, {0, 1, 2}, filled({3}, 1), filled({2}, 0)}));
  expect_powers_stay(log_of(two_rows(), {FunctionKind::kSqrt}));
  expect_powers_stay(log_of(two_rows(), {FunctionKind::kLog}, {FunctionKind::kSigmoid}));
}

// What else reads the powers keeps them.
TEST(LogSumExp, PowersWithOtherReadersStay) {
  Builder b({4});
  const ValueId powers = b.add(Unary{{FunctionKind::kExp}}, {b.x()}, {4});
  const ValueId sum = b.add(two_rows(), {powers}, {2});
  Graph graph = b.outputs({b.add(Unary{{FunctionKind::kLog}}, {sum}, {2}), sum});
  log_sum_exp(graph);
  verify(graph);
  const Tensors y = evaluate(graph, {{1, 2, 3, 4}});
  EXPECT_NEAR(y[1][0], std::exp(1) + std::exp(3), 1e-12);
  EXPECT_NEAR(y[0][0], std::log(y[1][0]), 1e-11);
}

}  // namespace
}  // namespace bf_aot
