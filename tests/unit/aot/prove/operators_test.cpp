#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/check/value.h"

// Functions, products and what is made of them, as the checker reads operators.

namespace bf_check {
namespace {

using Numbers1 = std::vector<double>;
using Random = std::mt19937_64;

struct Attributed {
  std::string name;
  double real = 0;
  std::string text = {};
};

// A model of one node. Each input has its shape and, where it is a constant, its numbers.
struct Input {
  std::vector<i64> shape;
  Numbers1 numbers;
};

Model model_of(const std::string& op, const std::vector<Input>& inputs,
               const std::vector<Attributed>& attributes, i64 opset) {
  Model model;
  model.opset = opset;
  Node node;
  node.op = op;
  node.outputs = {"y"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    node.inputs.push_back(name);
    if (inputs[i].numbers.empty()) {
      GraphValue value;
      value.name = name, value.shape = inputs[i].shape, value.type = 1, value.has_shape = true;
      value.open.resize(value.shape.size());
      model.inputs.push_back(value);
    } else {
      Tensor tensor;
      tensor.shape = inputs[i].shape, tensor.type = 1;
      tensor.data = std::vector<Rat>(inputs[i].numbers.begin(), inputs[i].numbers.end());
      model.constants[name] = tensor;
    }
  }
  for (const Attributed& each : attributes) {
    Attribute attribute;
    attribute.type = !each.text.empty() ? 3 : each.name == "axis" ? 2 : 1;
    attribute.real = each.real, attribute.number = static_cast<i64>(each.real);
    attribute.text = each.text;
    node.attributes[each.name] = attribute;
  }
  model.nodes = {node};
  GraphValue output;
  output.name = "y";
  model.outputs = {output};
  return model;
}

Wiring wiring_of(const Model& model) {
  Wiring wiring;
  for (const GraphValue& input : model.inputs)
    for (i64 i = size_of(input.shape); i > 0; --i) wiring.source.push_back(wiring.inputs++);
  return wiring;
}

// Bounds at points, and on boxes around them, hold the values, and those at points are near them.
void expect_values(const Model& model, Random& random, double low, double high,
                   const std::function<Numbers1(const Numbers1&)>& right) {
  Work work;
  const Network network = make_network({model}, wiring_of(model), Grid{}, work);
  Bounder bounder(network, 40, work);
  const double slack = 1e-7;
  for (int round = 0; round < 20; ++round) {
    const double width = std::ldexp(high - low, -1 - static_cast<int>(random() % 12));
    std::vector<Rat> lower, upper;
    for (u32 i = 0; i < network.inputs; ++i) {
      const double at = std::uniform_real_distribution<double>(low, high - width)(random);
      lower.emplace_back(at), upper.emplace_back(at + width);
    }
    Part part = bounder.whole(lower, upper);
    bool known = true;
    try {
      bounder.derive(part);
    } catch (const NotProven&) {  // undefined somewhere, as far as bounds tell
      known = false;
    }
    for (int k = 0; k < 5; ++k) {
      Numbers1 point;
      std::vector<Rat> exact;
      for (u32 i = 0; i < network.inputs; ++i) {
        const double end = (random() % 2 == 0 ? lower : upper)[i].get_d();
        point.push_back(random() % 2 == 0 ? end
                                          : std::uniform_real_distribution<double>(
                                                lower[i].get_d(), upper[i].get_d())(random));
        exact.emplace_back(point.back());
      }
      const Numbers1 values = right(point);
      const Outputs outputs = evaluate({model}, wiring_of(model), exact, Grid{}, 40, work);
      ASSERT_EQ(outputs.lower.size(), values.size());
      for (std::size_t j = 0; j < values.size(); ++j) {
        const double scale = slack * std::max(1.0, std::fabs(values[j]));
        EXPECT_NEAR(outputs.lower[j].get_d(), values[j], scale) << point[0];
        EXPECT_NEAR(outputs.upper[j].get_d(), values[j], scale) << point[0];
        if (!known) continue;
        const u32 id = network.outputs[j];
        EXPECT_LE(std::ldexp(static_cast<double>(part.lower[id]), -36), values[j] + scale);
        EXPECT_GE(std::ldexp(static_cast<double>(part.upper[id]), -36), values[j] - scale);
      }
    }
  }
}

struct Unary {
  std::string op;
  double (*right)(double);
  double low = -6, high = 6;
  std::vector<Attributed> attributes = {};
  i64 opset = 20;
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double elu(double x) {
  return x > 0 ? x : std::exp(x) - 1;
}
double softplus(double x) {
  return std::log1p(std::exp(x));
}

const Unary kUnary[] = {
    {"Atan", std::atan},
    {"Ceil", std::ceil},
    {"Celu", [](double x) { return x > 0 ? x : 2 * (std::exp(x / 2) - 1); }, -6, 6, {{"alpha", 2}}},
    {"Cos", std::cos},
    {"Elu", elu},
    {"Elu", [](double x) { return x > 0 ? x : 3 * (std::exp(x) - 1); }, -6, 6, {{"alpha", 3}}},
    {"Erf", std::erf},
    {"Exp", std::exp},
    {"Floor", std::floor},
    {"Gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"Gelu",
     [](double x) {
       return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     -6,
     6,
     {{"approximate", 0, "tanh"}}},
    {"HardSigmoid",
     [](double x) { return std::clamp(0.25 * x + 0.375, 0.0, 1.0); },
     -6,
     6,
     {{"alpha", 0.25}, {"beta", 0.375}}},
    {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"Log", std::log, 0.01, 9},
    {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
    {"Reciprocal", [](double x) { return 1 / x; }, 0.01, 9},
    {"Reciprocal", [](double x) { return 1 / x; }, -9, -0.01},
    {"Round", std::nearbyint},
    {"Selu",
     [](double x) {
       return 1.05070102214813232421875 *
              (x > 0 ? x : 1.67326319217681884765625 * (std::exp(x) - 1));
     }},
    {"Sigmoid", logistic},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0; }},
    {"Sin", std::sin},
    {"Softmax", [](double) { return 1.0; }},
    {"LogSoftmax", [](double) { return 0.0; }},
    {"Softplus", softplus},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"Sqrt", std::sqrt, 0, 9},
    {"Swish", [](double x) { return x * logistic(1.5 * x); }, -6, 6, {{"alpha", 1.5}}, 24},
    {"Tanh", std::tanh},
};

TEST(Operators, of_each_element) {
  Random random(1);
  for (const Unary& each : kUnary) {
    SCOPED_TRACE(each.op);
    expect_values(model_of(each.op, {{{1, 1}, {}}}, each.attributes, each.opset), random, each.low,
                  each.high, [&](const Numbers1& x) { return Numbers1{each.right(x[0])}; });
  }
}

TEST(Operators, of_each_element_by_constants) {
  Random random(2);
  for (const double a : {0.0, 1.0, 2.0, 3.0, 7.0, -1.0, -2.0, 0.5, -1.5}) {
    SCOPED_TRACE(a);
    expect_values(model_of("Pow", {{{1}, {}}, {{}, {a}}}, {}, 15), random, 0.1, 4,
                  [&](const Numbers1& x) { return Numbers1{std::pow(x[0], a)}; });
  }
  expect_values(model_of("Pow", {{{1}, {}}, {{}, {3}}}, {}, 15), random, -4, 4,
                [](const Numbers1& x) { return Numbers1{x[0] * x[0] * x[0]}; });
  expect_values(model_of("Clip", {{{1}, {}}, {{}, {-0.5}}, {{}, {0.75}}}, {}, 13), random, -2, 2,
                [](const Numbers1& x) { return Numbers1{std::clamp(x[0], -0.5, 0.75)}; });
  expect_values(model_of("Clip", {{{1}, {}}}, {{"min", 0}, {"max", 6}}, 6), random, -9, 9,
                [](const Numbers1& x) { return Numbers1{std::clamp(x[0], 0.0, 6.0)}; });
  expect_values(model_of("Div", {{{2}, {6, -3}}, {{2}, {}}}, {}, 14), random, 0.5, 4,
                [](const Numbers1& x) {
                  return Numbers1{6 / x[0], -3 / x[1]};
                });
}

TEST(Operators, of_two_tensors) {
  Random random(3);
  expect_values(model_of("Mul", {{{2, 1}, {}}, {{2}, {}}}, {}, 14), random, -3, 3,
                [](const Numbers1& x) {
                  return Numbers1{x[0] * x[2], x[0] * x[3], x[1] * x[2], x[1] * x[3]};
                });
  expect_values(model_of("Div", {{{2}, {}}, {{1}, {}}}, {}, 14), random, 0.5, 3,
                [](const Numbers1& x) {
                  return Numbers1{x[0] / x[2], x[1] / x[2]};
                });
  expect_values(model_of("MatMul", {{{2, 1, 2}, {}}, {{2, 2}, {}}}, {}, 14), random, -2, 2,
                [](const Numbers1& x) {
                  Numbers1 y;
                  for (std::size_t i : {0, 2})
                    for (std::size_t j : {0, 1}) y.push_back(x[i] * x[4 + j] + x[i + 1] * x[6 + j]);
                  return y;
                });
}

// Several matrices on both sides, also at points, where both are numbers, and by a constant.
TEST(Operators, of_several_matrices) {
  Random random(8);
  const auto right = [](const Numbers1& x) {
    return Numbers1{x[0] * x[4] + x[1] * x[5], x[2] * x[6] + x[3] * x[7]};
  };
  expect_values(model_of("MatMul", {{{2, 1, 2}, {}}, {{2, 2, 1}, {}}}, {}, 14), random, -2, 2,
                right);
  expect_values(model_of("MatMul", {{{2, 1, 2}, {}}, {{2, 2, 1}, {1, -2, 3, 4}}}, {}, 14), random,
                -2, 2, [&](const Numbers1& x) {
                  return right({x[0], x[1], x[2], x[3], 1, -2, 3, 4});
                });
}

// Softmax of groups of `count` numbers that are `inner` apart.
Numbers1 softmax(const Numbers1& x, std::size_t count, std::size_t inner, bool log) {
  Numbers1 y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j)
      sum += std::exp(x[i / (count * inner) * count * inner + j * inner + i % inner] - x[i]);
    y.push_back(log ? -std::log(sum) : 1 / sum);
  }
  return y;
}

TEST(Operators, of_a_tensors_axis) {
  Random random(4);
  for (const bool log : {false, true}) {
    const std::string op = log ? "LogSoftmax" : "Softmax";
    const auto expect = [&](const std::vector<Attributed>& attributes, i64 opset, std::size_t count,
                            std::size_t inner) {
      expect_values(model_of(op, {{{2, 3, 2}, {}}}, attributes, opset), random, -2, 2,
                    [&](const Numbers1& x) { return softmax(x, count, inner, log); });
    };
    expect({}, 13, 2, 1);
    expect({{"axis", 1}}, 13, 3, 2);
    expect({{"axis", -3}}, 17, 2, 6);
    expect({}, 11, 6, 1);  // before operator set 13 over all axes behind the first
    expect({{"axis", 2}}, 9, 2, 1);
  }
  const auto layer = [](const Numbers1& x) {
    const double scale[] = {1, 2, -1}, shift[] = {0, 0.5, 1};
    Numbers1 y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double* const from = x.data() + i / 3 * 3;
      const double mean = (from[0] + from[1] + from[2]) / 3;
      double square = 0;
      for (std::size_t k = 0; k < 3; ++k) square += (from[k] - mean) * (from[k] - mean) / 3;
      y.push_back((x[i] - mean) / std::sqrt(square + 0.125) * scale[i % 3] + shift[i % 3]);
    }
    return y;
  };
  expect_values(
      model_of("LayerNormalization", {{{2, 3}, {}}, {{3}, {1, 2, -1}}, {{3}, {0, 0.5, 1}}},
               {{"epsilon", 0.125}}, 17),
      random, -2, 2, layer);
}

// A box may hold points at which a root has no value; what is said of a point says that it has one.
TEST(Operators, have_a_value_at_points) {
  const Model model = model_of("Sqrt", {{{1}, {}}}, {}, 13);
  Work work;
  const Network network = make_network({model}, wiring_of(model), Grid{}, work);
  Bounder bounder(network, 40, work);
  Part part = bounder.whole({-1}, {4});
  bounder.derive(part);
  EXPECT_EQ(part.upper[network.outputs[0]], i64{2} << 36);
  EXPECT_EQ(part.lower[network.outputs[0]], 0);
  const auto at = [&](const Rat& x) {
    return evaluate({model}, wiring_of(model), {x}, Grid{}, 40, work);
  };
  EXPECT_EQ(at(0).upper[0], 0);
  EXPECT_THROW(at(Rat(-1, 1000)), NotProven);
  EXPECT_THROW(at(from_decimal("-1e-30")), NotProven);
}

TEST(Operators, refuse_what_they_have_no_rule_for) {
  const auto refused = [](const Model& model) {
    Work work;
    EXPECT_THROW(make_network({model}, wiring_of(model), Grid{}, work), Refused)
        << model.nodes[0].op;
  };
  refused(model_of("Pow", {{{2}, {}}, {{2}, {}}}, {}, 15));
  refused(model_of("Pow", {{{2}, {}}, {{2}, {1, 2}}}, {}, 15));
  refused(model_of("Pow", {{{1}, {}}, {{1}, {5000}}}, {}, 15));
  refused(model_of("Clip", {{{1}, {}}}, {{"min", 0}}, 13));
  refused(model_of("Clip", {{{2}, {}}, {{2}, {0, 0}}}, {}, 13));
  refused(model_of("Gelu", {{{1}, {}}}, {{"approximate", 0, "other"}}, 20));
  refused(model_of("Celu", {{{1}, {}}}, {{"alpha", -1}}, 20));
  refused(model_of("Div", {{{1}, {}}, {{1}, {0}}}, {}, 20));
  refused(model_of("Softmax", {{{2}, {}}}, {{"axis", 1}}, 20));
}

}  // namespace
}  // namespace bf_check
