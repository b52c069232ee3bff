// Quadratic forms as squares: exactly the same form, fewer products, better bounds.

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/products/quadratic_form.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

QuadraticForm expanded(const SumOfSquares& of) {
  const std::size_t n = of.linear.size();
  QuadraticForm made = zero_form(n);
  made.constant = of.constant;
  made.linear = of.linear;
  for (const ShiftedSquare& square : of.squares) {
    QuadraticForm argument = zero_form(n);
    argument.constant = square.shift;
    argument.linear = square.a;
    add_multiple(square.factor, product_of(argument, argument), made);
  }
  return made;
}

void expect_same(const QuadraticForm& a, const QuadraticForm& b) {
  EXPECT_EQ(a.constant, b.constant);
  EXPECT_EQ(a.linear, b.linear);
  EXPECT_EQ(a.square, b.square);
}

// Sums of `products` products of random linear functions, of which some are equal.
QuadraticForm random_form(std::size_t n, int products, std::mt19937& random) {
  std::uniform_real_distribution<double> number(-2, 2);
  const auto argument = [&] {
    QuadraticForm made = zero_form(n);
    made.constant = number(random);
    for (mpq_class& x : made.linear) x = number(random);
    return made;
  };
  QuadraticForm made = zero_form(n);
  for (int i = 0; i < products; ++i) {
    const QuadraticForm a = argument();
    add_multiple(mpq_class(number(random)), product_of(a, i % 2 == 0 ? a : argument()), made);
  }
  add_multiple(1, argument(), made);
  return made;
}

TEST(QuadraticForm, SquaresAddUpToItExactly) {
  std::mt19937 random(1);
  for (std::size_t n = 1; n <= 6; ++n)
    for (const int products : {1, 2, 3, 20}) {
      SCOPED_TRACE(::testing::Message() << n << " variables, " << products << " products");
      const QuadraticForm form = random_form(n, products, random);
      const auto made = as_squares(form);
      ASSERT_TRUE(made);
      EXPECT_LE(made->squares.size(), n);
      expect_same(expanded(*made), form);
    }
}

// A form of fewer dimensions has as many squares, and its slope elsewhere stays.
TEST(QuadraticForm, FormsOfLowRank) {
  QuadraticForm a = zero_form(3);
  a.linear = {1, 2, -1};
  QuadraticForm form = product_of(a, a);
  form.linear[2] += 5;
  const auto made = as_squares(form);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->squares.size(), 1U);
  expect_same(expanded(*made), form);
  QuadraticForm none = zero_form(2);
  none.square.resize(3);
  EXPECT_TRUE(as_squares(none)->squares.empty());
}

// 2 x y = ((x + y)^2 - (x - y)^2) / 2 has no elimination without exchanging rows.
TEST(QuadraticForm, ProductsHaveAxes) {
  const QuadraticForm form = product_of(variable_form(2, 0), variable_form(2, 1));
  const auto made = as_squares(form);
  ASSERT_TRUE(made);
  expect_same(expanded(*made), form);
  EXPECT_NEAR(made->spread, 2, 1e-5);  // as the product's own: from -1 to 1
}

// y = sum of signs_k (w_k x)^2
Graph sum_of_squares(const Affine& w, const std::vector<double>& signs, std::int64_t inputs) {
  const auto count = static_cast<std::int64_t>(signs.size());
  Builder b({inputs});
  const ValueId a = b.add(w, {b.x()}, {count});
  const ValueId p = b.add(Unary{{FunctionKind::kPower, 2}}, {a}, {count});
  return b.outputs({b.add(affine(1, count, signs, {0.5}), {p}, {1})});
}

Graph with_squares(Graph graph) {
  quadratic_forms(graph);
  verify(graph);
  return graph;
}

TEST(QuadraticForms, SquaresOfBothSignsBecomeFew) {
  const Affine w = affine(4, 2, {1, 2, 2, 1, 1, -1, 0.5, 3}, {0, 1, 0, -1});
  const Graph before = sum_of_squares(w, {1, -1, 1, -0.5}, 2);
  const Graph after = with_squares(before);
  EXPECT_EQ(only<Unary>(after).function, (Function{FunctionKind::kPower, 2}));
  EXPECT_EQ(element_count(after.value(after.nodes[0].output).shape), 2);
  for (const double x : {-1.0, 0.25, 2.0})
    for (const double y : {-0.5, 1.5}) {
      const double exact = evaluate(before, {{x, y}})[0][0];
      EXPECT_NEAR(evaluate(after, {{x, y}})[0][0], exact, 1e-12 * (1 + std::fabs(exact)));
    }
}

// x' M x as two products of matrices: a contraction.
TEST(QuadraticForms, ProductsOfMatricesAreForms) {
  Builder b({3});
  const ValueId m = b.add(affine(3, 3, {2, 1, 0, 1, 2, 1, 0, 1, 2}, {0, 0, 0}), {b.x()}, {3});
  const Graph before =
      b.outputs({b.add(Contraction{1, 1, 1, 3, {0, 1, 2}, {0, 1, 2}}, {m, b.x()}, {1})});
  const Graph after = with_squares(before);
  EXPECT_EQ(count_ops<Contraction>(after), 0U);
  EXPECT_EQ(count_ops<Unary>(after), 1U);
  const std::vector<double> x = {0.5, -1, 2};
  EXPECT_NEAR(evaluate(after, {x})[0][0], evaluate(before, {x})[0][0], 1e-12);
}

TEST(QuadraticForms, WhatGainsNothingStays) {
  const auto expect_kept = [](const Graph& graph) { EXPECT_EQ(with_squares(graph), graph); };
  // Squares of the inputs themselves, and fewer squares than variables.
  expect_kept(sum_of_squares(affine(2, 2, {1, 0, 0, 1}, {0, 0}), {1, -1}, 2));
  expect_kept(sum_of_squares(affine(1, 3, {1, 2, 3}, {0}), {1}, 3));
  // Squares of one sign, as norms are made of.
  expect_kept(sum_of_squares(affine(3, 2, {1, 2, 2, 1, 1, -1}, {0, 0, 0}), {1, 2, 0.5}, 2));
  expect_kept(sum_of_squares(affine(3, 2, {1, 2, 2, 1, 1, -1}, {0, 0, 0}), {-1, -2, -0.5}, 2));
  // Numbers near the ends of the floats.
  expect_kept(sum_of_squares(affine(3, 2, {1e20, 2e20, 2e20, 1e20, 1e20, -1e20}, {0, 0, 0}),
                             {1, -1, 1}, 2));
  expect_kept(
      sum_of_squares(affine(3, 2, {1, 2, 2, 1, 1, -1}, {0, 0, 0}), {1e-35, -1e-35, 1e-35}, 2));
  // Constants that are not exact.
  Affine w = affine(4, 2, {1, 2, 2, 1, 1, -1, 0.5, 3}, {0, 1, 0, -1});
  w.weight.error.assign(8, 0x1p-60);
  expect_kept(sum_of_squares(w, {1, -1, 1, -0.5}, 2));
  // Cubes.
  Builder b({2});
  const ValueId a = b.add(affine(4, 2, {1, 2, 2, 1, 1, -1, 0.5, 3}, {0, 0, 0, 0}), {b.x()}, {4});
  const ValueId p = b.add(Unary{{FunctionKind::kPower, 3}}, {a}, {4});
  expect_kept(b.outputs({b.add(affine(1, 4, {1, -1, 1, -1}, {0}), {p}, {1})}));
}

// A form that another layer reads, and one of many variables.
TEST(QuadraticForms, OfATensorInside) {
  Builder b({2});
  const ValueId r = b.relu(b.x());
  const ValueId a = b.add(affine(4, 2, {1, 2, 2, 1, 1, -1, 0.5, 3}, {0, 1, 0, -1}), {r}, {4});
  const ValueId p = b.add(Unary{{FunctionKind::kPower, 2}}, {a}, {4});
  const ValueId s = b.add(affine(1, 4, {1, -1, 1, -0.5}, {0}), {p}, {1});
  const Graph before = b.outputs({b.add(Unary{{FunctionKind::kExp}}, {s}, {1})});
  const Graph after = with_squares(before);
  EXPECT_NE(after, before);
  EXPECT_NEAR(evaluate(after, {{0.25, -1}})[0][0], evaluate(before, {{0.25, -1}})[0][0], 1e-12);
  Builder c({20});
  const ValueId wide = c.add(affine(1, 20, std::vector<double>(20, 1), {0}), {c.x()}, {1});
  const Graph many = c.outputs({c.add(Unary{{FunctionKind::kPower, 2}}, {wide}, {1})});
  EXPECT_EQ(with_squares(many), many);
}

}  // namespace
}  // namespace bf_aot
