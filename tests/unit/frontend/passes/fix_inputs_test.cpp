// Inputs that a property fixes: which they are, and that a network of the others is the same.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

// Of four inputs and one output; the text is about the inputs.
Property property_of(const std::string& inputs,
                     const std::string& clauses = "(assert (>= Y_0 1))") {
  std::string text = "(declare-const Y_0 Real)";
  for (int i = 0; i < 4; ++i) text += "(declare-const X_" + std::to_string(i) + " Real)";
  return parse_property(text + inputs + clauses, "p.vnnlib");
}

constexpr char kTwoVary[] =
    "(assert (<= 0.1 X_0 0.1))(assert (<= -1 X_1 1))(assert (<= 0.5 X_2 0.5))(assert (<= 2 X_3 3))";

TEST(FixedInputs, AreThoseOfOneValue) {
  const auto fixed = find_fixed_inputs(property_of(kTwoVary));
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->free, (std::vector<std::int64_t>{1, 3}));
  EXPECT_TRUE(fixed->is_fixed(0) && !fixed->is_fixed(1) && fixed->is_fixed(2));
  EXPECT_EQ(fixed->value[2], 0.5);
  EXPECT_EQ(fixed->error[2], 0);
  const mpq_class tenth(1, 10);
  EXPECT_LE(abs(tenth - fixed->value[0]), mpq_class(fixed->error[0]));
  EXPECT_LT(fixed->error[0], 1e-16);
  EXPECT_EQ(fixed->whole({7, 8}), (std::vector<double>{fixed->value[0], 7, 0.5, 8}));
}

TEST(FixedInputs, OfAllCasesAtOnce) {
  const char* const one =
      "(and (<= 0.1 X_0 0.1)(<= 1 X_1 1)(<= 0.5 X_2 0.5)(<= 2 X_3 3)(>= Y_0 1))";
  const std::string same = std::string("(assert (or ") + one;
  const auto fixed = find_fixed_inputs(
      property_of("", same + "(and (<= 0.1 X_0 0.1)(<= 2 X_1 2)(<= 0.5 X_2 0.5)(<= 0 X_3 1)"
                             "(>= Y_0 1))))"));
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->free, (std::vector<std::int64_t>{1, 3})) << "X_1 is 1, and 2";
}

TEST(FixedInputs, OnlyWhereTheyAreHalfAndConditionsAreOnOutputs) {
  const auto found = [](const std::string& inputs, const std::string& more = "") {
    return find_fixed_inputs(property_of(inputs, "(assert (>= Y_0 1))" + more)).has_value();
  };
  EXPECT_TRUE(found(kTwoVary));
  EXPECT_FALSE(found(kTwoVary, "(assert (>= (+ Y_0 X_1) 2))"));
  EXPECT_FALSE(
      found("(assert (<= 1 X_0 1))(assert (<= 0 X_1 1))(assert (<= 0 X_2 1))"
            "(assert (<= 2 X_3 3))"));
  EXPECT_FALSE(
      found("(assert (<= 1 X_0 1))(assert (<= 1 X_1 1))(assert (<= 1 X_2 1))"
            "(assert (<= 1 X_3 1))"))
      << "a network has inputs";
}

TEST(FixedInputs, ThePropertyOfTheOthers) {
  const Property all = property_of(
      "(assert (<= 0.1 X_0 0.1))(assert (<= -1 X_1 1))(assert (<= 0.5 X_2 0.5))"
      "(assert (<= 0.3 X_3 0.3))",
      "(assert (>= Y_0 1))");
  FixedInputs fixed = *find_fixed_inputs(all);
  ASSERT_EQ(fixed.free, (std::vector<std::int64_t>{1}));
  fixed.free = {1, 3};  // as if another case said so
  const Property free = with_free_inputs(all, fixed);
  EXPECT_EQ(free.input_count, 2);
  EXPECT_EQ(free.cases[0].clauses, all.cases[0].clauses);
  EXPECT_EQ(free.cases[0].box.lower[0], -1);
  EXPECT_EQ(free.cases[0].box.upper[1], all.cases[0].box.upper[3]);
  EXPECT_EQ(free.cases[0].inner.lower[1], all.cases[0].inner.lower[3]);
  EXPECT_EQ(free.cases[0].between, (LinearForm{{1, mpq_class(3, 10)}}));
}

// y = relu(W x + b) added up.
Graph network() {
  Builder b({4});
  const ValueId h =
      b.relu(b.add(affine(3, 4, {1, -2, 3, 0.5, -1, 1, 0.25, 2, 4, 1, -1, -0.5}, {0.5, -0.25, 1}),
                   {b.x()}, {3}));
  return b.outputs({b.add(affine(1, 3, {1, -1, 2}, {0.125}), {h}, {1})});
}

TEST(FixInputs, TheNetworkOfTheFreeInputsIsTheSame) {
  const FixedInputs fixed = {{1, 3}, {0.5, 9, -0.25, 9}, {0, 9, 0, 9}};
  Graph graph = network();
  join_inputs(graph);
  fix_inputs(graph, fixed);
  verify(graph);
  Graph folded = graph;
  normalise(folded);
  EXPECT_EQ(count_ops<SparseAffine>(folded), 0U);
  for (double x1 = -2; x1 <= 2; x1 += 0.5)
    for (double x3 = -2; x3 <= 2; x3 += 0.5) {
      const auto expected = evaluate(network(), {fixed.whole({x1, x3})});
      EXPECT_EQ(evaluate(graph, {{x1, x3}}), expected);
      EXPECT_EQ(evaluate(folded, {{x1, x3}}), expected);
    }
}

TEST(FixInputs, OfSeveralInputs) {
  Builder b({1});
  const ValueId second = b.input("second", {3});
  const ValueId sum = b.add(affine(1, 3, {1, 2, 3}, {0}), {second}, {1});
  Graph graph = b.outputs({b.add(Binary{}, {b.x(), sum}, {1})});
  join_inputs(graph);
  fix_inputs(graph, {{2}, {1, 2, 0, 4}, {0, 0, 0, 0}});
  verify(graph);
  EXPECT_EQ(evaluate(graph, {{10}}), (Tensors{{1 + 2 + 20 + 12}}));
}

// What a fixed value is off by goes on as a bound of what biases are off by.
TEST(FixInputs, ErrorsGoOn) {
  const FixedInputs fixed = *find_fixed_inputs(property_of(kTwoVary));
  Graph graph = network();
  join_inputs(graph);
  fix_inputs(graph, fixed);
  normalise(graph);
  const auto& first = std::get<Affine>(graph.nodes.front().op);
  ASSERT_EQ(first.weight.shape, (Shape{3, 2}));
  const double weights[] = {1, -1, 4}, others[] = {3 * 0.5 + 0.5, 0.25 * 0.5 - 0.25, -0.5 + 1};
  for (std::size_t i = 0; i < 3; ++i) {
    const mpq_class exact = mpq_class(weights[i]) / 10 + mpq_class(others[i]);
    EXPECT_LE(abs(exact - first.bias.data[i]), mpq_class(first.bias.error_at(i))) << i;
    EXPECT_GE(first.bias.error_at(i), std::fabs(weights[i]) * fixed.error[0]);
  }
}

}  // namespace
}  // namespace bf_aot
