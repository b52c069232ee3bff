#include "frontend/derivative/derivative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/functions/function_facts.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using testing::Builder;
using enum FunctionKind;

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<std::size_t> kFirst = {0};

Graph network_of(const Function& f) {
  Builder b({1, 1});
  const ValueId y = b.add(Unary{f}, {b.x()}, {1, 1});
  return b.outputs({y});
}

double derivative_at(const Function& f, double x) {
  return evaluate(derivative_graph(network_of(f), kFirst), {{x}})[0][0];
}

struct Case {
  Function function;
  std::vector<double> points;
};

void expect_quotient(const Function& f, double x) {
  const double step = 1e-5;
  const double quotient = (evaluate(f, x + step) - evaluate(f, x - step)) / (2 * step);
  EXPECT_NEAR(derivative_at(f, x), quotient, 1e-7 * (1 + std::abs(quotient)))
      << to_string(f) << " at " << x;
}

TEST(FunctionDerivatives, AreDifferenceQuotients) {
  for (const FunctionFacts& facts : function_facts()) {
    const FunctionSample& sample = facts.sample;
    if (facts.derivative == nullptr) continue;
    for (const double part : {0.15, 0.37, 0.52, 0.74, 0.91})
      expect_quotient({facts.kind, sample.a, sample.b},
                      sample.low + part * (sample.high - sample.low));
  }
}

TEST(FunctionDerivatives, AreDifferenceQuotientsWhateverTheParameters) {
  const Case cases[] = {
      {{kClip, -kInf, 2}, {-2, 3}},
      {{kClip, -1, kInf}, {-2, 3}},
      {{kClip, -kInf, kInf}, {-2, 3}},
      {{kClip, 2, -1}, {-2, 0, 3}},
      {{kHardSigmoid, -0.5, 0.25}, {-4, 0.3, 4}},
      {{kElu, 0.3}, {-2, 0.7}},
      {{kReciprocal}, {-0.4, 3}},
      {{kPower, 2}, {-2, 0.7}},
      {{kPower, 1}, {-2, 0.7}},
      {{kPower, 0}, {-2, 0.7}},
      {{kPower, -1}, {-2, 0.7}},
      {{kPower, 1.5}, {0.7}},
      {{kPower, 0.25}, {0.7}},
      {{kTan}, {2}},
  };
  for (const auto& [function, points] : cases)
    for (const double x : points) expect_quotient(function, x);
}

// Nor where the function has a value, but no derivative.
TEST(FunctionDerivatives, HaveNoValuesOutsideOfTheDomain) {
  const Case cases[] = {{{kLog}, {-1, 0}},         {{kSqrt}, {-1, 0}},    {{kReciprocal}, {0}},
                        {{kPower, -1}, {0}},       {{kPower, 1.5}, {-1}}, {{kPower, 0.25}, {-1, 0}},
                        {{kAsin}, {-1, 1, 2}},     {{kAcos}, {-1, 1, 2}}, {{kAcosh}, {1, 0, -2}},
                        {{kAtanh}, {-1, 1, -2, 2}}};
  for (const auto& [function, points] : cases)
    for (const double x : points)
      EXPECT_FALSE(std::isfinite(derivative_at(function, x))) << to_string(function) << " at " << x;
}

// At a kink any number will do, but it must be one.
TEST(FunctionDerivatives, AreNumbersAtKinks) {
  const Case cases[] = {{{kLeakyRelu, 0.1}, {0}},  {{kAbs}, {0}},        {{kClip, -1, 2}, {-1, 2}},
                        {{kElu, 0.3}, {0}},        {{kSelu, 2, 3}, {0}}, {{kHardSwish}, {-3, 3}},
                        {{kShrink, 1, 1}, {-1, 1}}};
  for (const auto& [function, points] : cases)
    for (const double x : points)
      EXPECT_TRUE(std::isfinite(derivative_at(function, x))) << to_string(function) << " at " << x;
}

std::vector<std::string> problems_of(const Graph& graph, const std::vector<std::size_t>& inputs) {
  std::vector<std::string> codes;
  try {
    derivative_graph(graph, inputs);
  } catch (const CompileError& error) {
    for (const Diagnostic& problem : error.diagnostics())
      codes.push_back(problem.code + " " + problem.where);
  }
  return codes;
}

TEST(Derivative, JumpsAndSomeParametersAreRefused) {
  std::vector<Function> functions = {
      {kCelu, -1}, {kShrink, 0.5, 0}, {kThresholdedRelu, 1}, {kPower, 0x1p-80}};
  for (const FunctionFacts& facts : function_facts())
    if (facts.derivative == nullptr) functions.push_back({facts.kind, facts.sample.a});
  for (const Function& function : functions)
    EXPECT_EQ(problems_of(network_of(function), kFirst), std::vector<std::string>{"BF2120 N0"})
        << to_string(function);
}

TEST(Derivative, AllProblemsAreNamedAtOnce) {
  Builder b({1, 2});
  const ValueId floor = b.add(Unary{{kFloor}}, {b.x()}, {1, 2});
  const ValueId round = b.add(Unary{{kRound, 1}}, {b.x()}, {1, 2});
  const Graph graph = b.outputs({floor, round});
  EXPECT_EQ(problems_of(graph, {0, 1}), (std::vector<std::string>{"BF2120 N0", "BF2120 N1"}));
}

TEST(Derivative, AJumpThatTheInputDoesNotReachIsNone) {
  Builder b({1, 1});
  const ValueId other = b.input("z", {1, 1});
  const ValueId floor = b.add(Unary{{kFloor}}, {other}, {1, 1});
  const ValueId y = b.add(Binary{Binary::Kind::kMul}, {b.x(), floor}, {1, 1});
  const Graph graph = b.outputs({y});
  EXPECT_EQ(evaluate(derivative_graph(graph, kFirst), {{5}, {2.5}})[0][0], 2);
  EXPECT_EQ(problems_of(graph, {1}), std::vector<std::string>{"BF2120 N0"});
}

TEST(Derivative, InputsThatAreNoneOrTooMany) {
  const Graph graph = network_of({kTanh});
  const std::vector<std::string> refused = {"BF2121 derivative"};
  EXPECT_EQ(problems_of(graph, {1}), refused);
  EXPECT_EQ(problems_of(graph, {}), refused);
  EXPECT_EQ(problems_of(graph, std::vector<std::size_t>(65, 0)), refused);
}

TEST(Derivative, OutputsAreByInputAndNamed) {
  Builder b({1, 2});
  const ValueId z = b.input("z", {2});
  const ValueId y = b.add(testing::affine(1, 2, {3, 4}, {5}), {b.x()}, {1, 1});
  const Graph made = derivative_graph(b.outputs({y, z, y}), std::vector<std::size_t>{1, 2});
  const std::vector<std::vector<double>> expected = {{4}, {0, 0}, {4}, {0}, {1, 0}, {0}};
  EXPECT_EQ(evaluate(made, {{7, 8}, {9, 10}}), expected);
  EXPECT_EQ(made.value(made.outputs[0]).name, "d(v0)/d(x[1])");
  EXPECT_EQ(made.value(made.outputs[4]).name, "d(z)/d(z[0])");
  EXPECT_EQ(made.value(made.outputs[3]).shape, (Shape{1, 1}));
  EXPECT_EQ(made.inputs.size(), 2U);
}

// Rows of one to five elements, one of them met twice.
TEST(Derivative, OfAMaximumIsThatOfTheLargest) {
  Builder b({5});
  GroupMax max;
  max.row_start = {0, 1, 3, 8, 11};
  max.source = {2, 1, 0, 0, 1, 2, 3, 4, 4, 3, 4};
  const ValueId y = b.add(max, {b.x()}, {4});
  const Graph made = derivative_graph(b.outputs({y}), std::vector<std::size_t>{0, 1, 2, 3, 4});
  const std::vector<double> x = {0.5, 1.5, -1, 7, 3};
  const std::vector<std::size_t> winners = {2, 1, 3, 3};
  const auto found = evaluate(made, {x});
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t row = 0; row < 4; ++row)
      EXPECT_EQ(found[i][row], winners[row] == i ? 1 : 0) << i << ", " << row;
}

// dy_i / dx_j is 1 - p_j for i = j and -p_j else, p being the softmax of the row.
TEST(Derivative, OfALogSoftmaxIsByTheSoftmaxOfItsRow) {
  Builder b({5});
  const ValueId y = b.add(LogSoftmax{{0, 3, 5}, {4, 0, 2, 3, 1}}, {b.x()}, {5});
  const Graph network = b.outputs({y});
  const std::vector<double> x = {0.5, -1, 2, 0.25, -0.75};
  const std::vector<double> value = evaluate(network, {x})[0];
  const std::vector<std::size_t> inputs = {0, 1, 2, 3, 4};
  const auto found = evaluate(derivative_graph(network, inputs), {x});
  const std::size_t source[] = {4, 0, 2, 3, 1};
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t k = 0; k < 5; ++k) {
      const bool same_row = (i < 3) == (k < 3);
      const double expected = same_row ? (i == k ? 1.0 : 0.0) - std::exp(value[k]) : 0.0;
      EXPECT_NEAR(found[source[k]][i], expected, 1e-15) << i << ", " << source[k];
    }
}

TEST(Derivative, OfAQuotient) {
  Builder b({1});
  const ValueId z = b.input("z", {1});
  const ValueId y = b.add(Binary{Binary::Kind::kDiv}, {b.x(), z}, {1});
  const Graph made = derivative_graph(b.outputs({y}), std::vector<std::size_t>{0, 1});
  const std::vector<std::vector<double>> expected = {{0.25}, {-0.375}};
  EXPECT_EQ(evaluate(made, {{6}, {4}}), expected);
}

TEST(Derivative, OfAGemmWithComputedOperands) {
  Builder b({2, 2});
  const ValueId c = b.input("c", {2});
  const ValueId y = b.add(Gemm{3, 0.5, true, false}, {b.x(), b.x(), c}, {2, 2});
  const Graph made = derivative_graph(b.outputs({y}), std::vector<std::size_t>{0, 5});
  // y = 3 x' x + c / 2, by x_00: 3 (e' x + x' e).
  const std::vector<std::vector<double>> expected = {{6, 6, 6, 0}, {0, 0.5, 0, 0.5}};
  EXPECT_EQ(evaluate(made, {{1, 2, 3, 4}, {0, 0}}), expected);
}

}  // namespace
}  // namespace bf_aot
