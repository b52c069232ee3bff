// Outputs that compare as the network's do: where they are found, and that they do.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/evaluate/evaluate.h"
#include "frontend/functions/function_facts.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/passes.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/model_text.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

std::string tensor(const std::string& field, const std::string& name, const Shape& shape) {
  std::string dims;
  for (const std::int64_t size : shape) dims += fmt::format(" dim {{ dim_value: {} }}", size);
  return fmt::format(
      "{} {{ name: '{}' type {{ tensor_type {{ elem_type: 1 shape {{{} }} }} }} }}\n", field, name,
      dims);
}

// y of x by operators one after another, given as "Type" or "Type attribute value".
Graph chain(const Shape& shape, const std::vector<std::string>& operators) {
  std::string text = "ir_version: 7 opset_import { version: 13 } graph { name: 'net'\n";
  text += tensor("input", "x", shape);
  std::string at = "x";
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const std::string next = i + 1 == operators.size() ? "y" : fmt::format("t{}", i);
    text += fmt::format("node {{ input: '{}' output: '{}' {} }}\n", at, next, operators[i]);
    at = next;
  }
  return import_model_bytes(test::encode_model(text + tensor("output", "y", shape) + "}"),
                            "net.onnx", {})
      .graph;
}

std::string op(const std::string& type, const std::string& attributes = "") {
  return fmt::format("op_type: '{}' {}", type, attributes);
}

std::string axis(int value) {
  return fmt::format("attribute {{ name: 'axis' i: {} type: INT }}", value);
}

std::string alpha(double value) {
  return fmt::format("attribute {{ name: 'alpha' f: {} type: FLOAT }}", value);
}

// Whether both compare alike at points where the network's outputs can be told apart in double.
void expect_same_order(const Graph& network) {
  ASSERT_TRUE(has_ordered_outputs(network));
  Graph ordered = network;
  ASSERT_TRUE(order_outputs(ordered));
  verify(ordered);
  EXPECT_EQ(ordered.value(ordered.outputs[0]).shape, network.value(network.outputs[0]).shape);
  std::mt19937 random(1);
  const auto count =
      static_cast<std::size_t>(element_count(network.value(network.inputs[0]).shape));
  int compared = 0;
  for (int k = 0; k < 200; ++k) {
    std::vector<double> x(count);
    for (double& each : x) each = std::uniform_real_distribution<double>(-3, 3)(random);
    const std::vector<double> y = evaluate(network, {x})[0], z = evaluate(ordered, {x})[0];
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t j = 0; j < y.size(); ++j) {
        if (std::fabs(y[i] - y[j]) < 1e-12) continue;
        ++compared;
        EXPECT_EQ(y[i] < y[j], z[i] < z[j]) << "outputs " << i << " and " << j;
      }
  }
  EXPECT_GT(compared, 100);
}

void expect_unchanged(const Graph& network) {
  Graph graph = network;
  EXPECT_FALSE(has_ordered_outputs(network));
  EXPECT_FALSE(order_outputs(graph));
  EXPECT_EQ(graph, network);
}

TEST(OrderOutputs, SoftmaxIsLeftOut) {
  Graph graph = chain({1, 4}, {op("Softmax")});
  ASSERT_TRUE(order_outputs(graph));
  EXPECT_EQ(evaluate(graph, {{1000, -1000, 3, 2}}), (Tensors{{1000, -1000, 3, 2}}));
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(OrderOutputs, OfEveryFormOfSoftmax) {
  expect_same_order(chain({1, 4}, {op("Softmax")}));
  expect_same_order(chain({2, 3}, {op("Flatten", axis(0)), op("Softmax")}));
  expect_same_order(chain({1, 2}, {op("Softmax")}));
  expect_same_order(chain({1, 5}, {op("LogSoftmax")}));
  expect_same_order(chain({1, 2}, {op("LogSoftmax")}));
  expect_same_order(chain({1, 3}, {op("Softmax"), op("Log")}));
  expect_same_order(chain({1, 3}, {op("Softmax"), op("Softmax")}));
  expect_same_order(chain({1, 3}, {op("Softmax"), op("Log"), op("Neg")}));
  expect_same_order(chain({1, 4}, {op("Tanh"), op("Softmax")}));
}

TEST(OrderOutputs, OfFunctionsThatRiseStrictly) {
  for (const char* const type : {"Sigmoid", "Tanh", "Softplus", "Softsign", "Elu", "Selu", "Celu",
                                 "Erf", "Exp", "Atan", "Sinh", "Asinh", "LeakyRelu"})
    expect_same_order(chain({1, 3}, {op(type)}));
}

TEST(OrderOutputs, NothingElseIsLeftOut) {
  for (const char* const type : {"Relu", "Neg", "Abs", "Sign", "Floor", "Sin", "Cosh", "Reciprocal",
                                 "Sqrt", "Log", "Mish", "HardSigmoid", "Asin"})
    expect_unchanged(chain({1, 3}, {op(type)}));
  expect_unchanged(chain({1, 3}, {op("LeakyRelu", alpha(0))}));
  expect_unchanged(chain({1, 3}, {op("LeakyRelu", alpha(-0.5))}));
  expect_unchanged(chain({1, 3}, {op("Elu", alpha(0))}));
  // Two groups: elements of one do not compare with those of the other as what they are of does.
  expect_unchanged(chain({2, 3}, {op("LogSoftmax", axis(1))}));
  expect_unchanged(chain({3, 2}, {op("LogSoftmax", axis(0))}));
}

TEST(OrderOutputs, ScalesOfOneFactor) {
  const auto scaled = [](std::vector<double> factor, std::vector<double> offset) {
    Builder b({2});
    const ValueId t = b.add(Unary{{FunctionKind::kTanh}}, {b.x()}, {2});
    return b.outputs({b.add(scale(std::move(factor), std::move(offset)), {t}, {2})});
  };
  expect_same_order(scaled({2, 2}, {1, 1}));
  expect_same_order(scaled({-0.5, -0.5}, {0, 0}));
  expect_unchanged(scaled({2, 3}, {1, 1}));
  expect_unchanged(scaled({2, 2}, {1, 2}));
  expect_unchanged(scaled({0, 0}, {1, 1}));
  Builder b({2});
  Scale inexact = scale({2, 2}, {0, 0});
  inexact.factor.error = {0, 0x1p-60};
  const ValueId t = b.add(Unary{{FunctionKind::kTanh}}, {b.x()}, {2});
  expect_unchanged(b.outputs({b.add(std::move(inexact), {t}, {2})}));
}

// Of groups that are not all elements in order the logarithm stays.
TEST(OrderOutputs, OtherGroupsStay) {
  const auto softmax_of = [](LogSoftmax op, std::int64_t inputs) {
    Builder b({inputs});
    const auto count = static_cast<std::int64_t>(op.source.size());
    const ValueId z = b.add(std::move(op), {b.x()}, {count});
    return b.outputs({b.add(Unary{{FunctionKind::kExp}}, {z}, {count})});
  };
  const auto stays = [](Graph graph) {
    expect_same_order(graph);
    EXPECT_TRUE(order_outputs(graph));
    EXPECT_EQ(count_ops<LogSoftmax>(graph), 1U);
    EXPECT_EQ(count_ops<Unary>(graph), 0U);
  };
  stays(softmax_of({{0, 3}, {1, 0, 2}}, 3));
  stays(softmax_of({{0, 2, 4}, {0, 1, 2, 3}}, 4));
  stays(softmax_of({{0, 3}, {0, 1, 2}}, 4));
  Graph all = softmax_of({{0, 3}, {0, 1, 2}}, 3);
  EXPECT_TRUE(order_outputs(all));
  EXPECT_EQ(count_ops<LogSoftmax>(all), 0U);
}

// A logarithm has no value where its argument is not positive.
TEST(OrderOutputs, LogarithmsOfPowersAlone) {
  expect_same_order(chain({1, 3}, {op("Exp"), op("Log")}));
  expect_same_order(chain({1, 3}, {op("Sigmoid"), op("Log")}));
  expect_unchanged(chain({1, 3}, {op("Softplus"), op("Relu"), op("Log")}));
}

TEST(OrderOutputs, StrictFunctionsHaveDistinctValues) {
  for (const FunctionFacts& facts : function_facts()) {
    if (!facts.strict) continue;
    const Function f{facts.kind, 0.75, 0.5};
    const FunctionDomain domain = facts.domain(f);
    ASSERT_EQ(facts.monotony(f), Monotony::kRises) << facts.name;
    double last = -INFINITY;
    for (double x = -4; x <= 4; x += 0.125) {
      if (!lies_in(domain, x, x)) continue;
      EXPECT_GT(evaluate(f, x), last) << facts.name << " at " << x;
      last = evaluate(f, x);
    }
  }
}

TEST(ComparesOutputs, ConditionsOfTwoOutputsAlone) {
  const auto compares = [](const std::string& clauses) {
    return compares_outputs(
        parse_property("(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)"
                       "(declare-const Y_2 Real)(assert (<= 0 X_0 1))" +
                           clauses,
                       "p.vnnlib"));
  };
  EXPECT_TRUE(compares("(assert (<= Y_0 Y_1))"));
  EXPECT_TRUE(compares("(assert (< Y_2 Y_1))"));
  EXPECT_TRUE(compares("(assert (<= (* 2 Y_0) (* 2 Y_1)))"));
  EXPECT_TRUE(compares("(assert (or (and (<= Y_0 Y_1)) (and (>= Y_2 Y_1) (>= Y_0 Y_1))))"));
  EXPECT_FALSE(compares("(assert (<= Y_0 1))"));
  EXPECT_FALSE(compares("(assert (<= Y_0 0))"));
  EXPECT_FALSE(compares("(assert (<= (- Y_0 Y_1) 0.5))"));
  EXPECT_FALSE(compares("(assert (<= Y_0 (* 2 Y_1)))"));
  EXPECT_FALSE(compares("(assert (<= (+ Y_0 Y_1) 0))"));
  EXPECT_FALSE(compares("(assert (<= (+ Y_0 X_0) Y_1))"));
  EXPECT_FALSE(compares("(assert (<= (+ Y_0 Y_2) (+ Y_1 Y_1)))"));
  EXPECT_FALSE(compares("(assert (<= Y_0 Y_1))(assert (<= Y_0 3))"));
}

}  // namespace
}  // namespace bf_aot
