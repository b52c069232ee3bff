#include "frontend/derivative/derivative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
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
  std::vector<double> outside = {};  // of the domain, or of where there is a derivative
};

TEST(FunctionDerivatives, AreDifferenceQuotients) {
  const Case cases[] = {
      {{kLeakyRelu, 0.1}, {-2, 3}},
      {{kAbs}, {-2, 3}},
      {{kClip, -1, 2}, {-2, 0.5, 3}},
      {{kClip, -kInf, 2}, {-2, 3}},
      {{kClip, -1, kInf}, {-2, 3}},
      {{kClip, -kInf, kInf}, {-2, 3}},
      {{kClip, 2, -1}, {-2, 0, 3}},
      {{kHardSigmoid, 0.2, 0.5}, {-4, 0.3, 4}},
      {{kHardSigmoid, -0.5, 0.25}, {-4, 0.3, 4}},
      {{kThresholdedRelu, 0}, {-1, 1}},
      {{kShrink, 0.5, 0.5}, {-2, 0.1, 2}},
      {{kSigmoid}, {-3, 0, 0.7}},
      {{kTanh}, {-3, 0, 0.7}},
      {{kSoftplus}, {-3, 0, 0.7}},
      {{kSoftsign}, {-3, 0.7}},
      {{kElu, 1}, {-2, 0.7}},
      {{kElu, 0.3}, {-2, 0.7}},
      {{kCelu, 1.7}, {-2, 0.7}},
      {{kSelu, 1.67326, 1.0507}, {-2, 0.7}},
      {{kHardSwish}, {-4, -2.5, -0.5, 2.5, 4}},
      {{kGelu}, {-2, 0, 0.7}},
      {{kGeluTanh}, {-2, 0, 0.7}},
      {{kMish}, {-2, 0, 0.7}},
      {{kErf}, {-2, 0, 0.7}},
      {{kExp}, {-2, 0.7}},
      {{kSin}, {-2, 0.7}},
      {{kCos}, {-2, 0.7}},
      {{kAtan}, {-2, 0.7}},
      {{kSinh}, {-2, 0.7}},
      {{kCosh}, {-2, 0.7}},
      {{kAsinh}, {-2, 0.7}},
      {{kLog}, {0.2, 3}, {-1, 0}},
      {{kSqrt}, {0.2, 3}, {-1, 0}},
      {{kReciprocal}, {-0.4, 3}, {0}},
      {{kPower, 3}, {-2, 0.7}},
      {{kPower, 2}, {-2, 0.7}},
      {{kPower, 1}, {-2, 0.7}},
      {{kPower, 0}, {-2, 0.7}},
      {{kPower, -1}, {-2, 0.7}, {0}},
      {{kPower, 1.5}, {0.7}, {-1}},
      {{kPower, 0.25}, {0.7}, {-1, 0}},
      {{kTan}, {-1, 0.7, 2}},
      {{kAsin}, {-0.8, 0.7}, {-1, 1, 2}},
      {{kAcos}, {-0.8, 0.7}, {-1, 1, 2}},
      {{kAcosh}, {1.2, 3}, {1, 0, -2}},
      {{kAtanh}, {-0.8, 0.7}, {-1, 1, -2, 2}},
  };
  std::vector<bool> tried(kFunctionKinds, false);
  for (const auto& [function, points, outside] : cases) {
    SCOPED_TRACE(to_string(function));
    tried[static_cast<std::size_t>(function.kind)] = true;
    for (const double x : points) {
      const double step = 1e-5;
      const double quotient =
          (evaluate(function, x + step) - evaluate(function, x - step)) / (2 * step);
      EXPECT_NEAR(derivative_at(function, x), quotient, 1e-7 * (1 + std::abs(quotient))) << x;
    }
    for (const double x : outside) EXPECT_FALSE(std::isfinite(derivative_at(function, x))) << x;
  }
  for (const FunctionKind jumps : {kSign, kStep, kStepAt, kFloor, kCeil, kRound, kIsZero})
    tried[static_cast<std::size_t>(jumps)] = true;
  for (std::size_t kind = 0; kind < kFunctionKinds; ++kind)
    EXPECT_TRUE(tried[kind]) << name_of(static_cast<FunctionKind>(kind));
}

// At a kink any number will do, but it must be one.
TEST(FunctionDerivatives, AreNumbersAtKinks) {
  const Case cases[] = {{{kLeakyRelu, 0.1}, {0}},  {{kAbs}, {0}},        {{kClip, -1, 2}, {-1, 2}},
                        {{kElu, 0.3}, {0}},        {{kSelu, 2, 3}, {0}}, {{kHardSwish}, {-3, 3}},
                        {{kShrink, 1, 1}, {-1, 1}}};
  for (const auto& [function, points, outside] : cases)
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
  const Function functions[] = {
      {kSign},          {kStep},   {kStepAt},   {kFloor},          {kCeil},
      {kRound, 1},      {kIsZero}, {kCelu, -1}, {kShrink, 0.5, 0}, {kThresholdedRelu, 1},
      {kPower, 0x1p-80}};
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
