#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aot/reach/question/loop.h"
#include "frontend/graph/graph.h"

namespace bf_aot::test {

// Writes a network as an expression of numbers: what a plant is.
class PlantWriter {
 public:
  using Number = ValueId;

  // The elements of a further input of the network.
  std::vector<Number> input(const std::string& name, std::int64_t elements) {
    const ValueId id = graph_.add_value(name, {elements});
    graph_.inputs.push_back(id);
    std::vector<Number> made;
    for (std::int64_t i = 0; i < elements; ++i) made.push_back(node(IndexMap{{i}}, {id}, 1));
    return made;
  }

  Number constant(double value) {
    Literal literal;
    literal.value.shape = {1};
    literal.value.data = {value};
    return node(std::move(literal), {}, 1);
  }
  Number add(Number a, Number b) { return binary(Binary::Kind::kAdd, a, b); }
  Number subtract(Number a, Number b) { return binary(Binary::Kind::kSub, a, b); }
  Number multiply(Number a, Number b) { return binary(Binary::Kind::kMul, a, b); }
  Number divide(Number a, Number b) { return binary(Binary::Kind::kDiv, a, b); }
  Number times(double factor, Number a) { return multiply(constant(factor), a); }
  Number apply(const Function& f, Number a) { return node(Unary{f}, {a}, 1); }
  Number apply(FunctionKind kind, Number a) { return apply(Function{kind}, a); }
  Number relu(Number a) { return node(Relu{}, {a}, 1); }

  // The network whose one output has these elements.
  Graph finish(const std::vector<Number>& outputs) {
    const auto count = static_cast<std::int64_t>(outputs.size());
    ValueId sum = {};
    for (std::int64_t i = 0; i < count; ++i) {
      const ValueId placed = node(place(i, count), {outputs[static_cast<std::size_t>(i)]}, count);
      sum = i == 0 ? placed : node(Binary{Binary::Kind::kAdd}, {sum, placed}, count);
    }
    graph_.outputs = {sum};
    return std::move(graph_);
  }

 private:
  Number binary(Binary::Kind kind, Number a, Number b) { return node(Binary{kind}, {a, b}, 1); }

  ValueId node(Op op, std::vector<ValueId> inputs, std::int64_t elements) {
    const ValueId id = graph_.add_value("number", {elements});
    graph_.nodes.push_back({std::move(op), std::move(inputs), id, {}});
    return id;
  }

  // The element i of a vector whose others are 0.
  static SparseAffine place(std::int64_t i, std::int64_t count) {
    SparseAffine op;
    for (std::int64_t row = 0; row <= count; ++row) op.row_start.push_back(row > i ? 1 : 0);
    op.column = {0};
    op.value.shape = {1};
    op.value.data = {1};
    op.bias.shape = {count};
    op.bias.data.assign(static_cast<std::size_t>(count), 0);
    return op;
  }

  Graph graph_;
};

// Rows of weights and a bias of each.
struct DenseLayer {
  std::vector<std::vector<double>> weight;
  std::vector<double> bias;
};

// x -> the last layer of f of .. of the first layer of x; `hidden`: a Relu or a Unary.
inline Graph dense_network(const std::vector<DenseLayer>& layers, const Op& hidden = Relu{}) {
  Graph graph;
  ValueId value =
      graph.add_value("x", {static_cast<std::int64_t>(layers.front().weight.front().size())});
  graph.inputs = {value};
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto rows = static_cast<std::int64_t>(layers[k].weight.size());
    Affine affine;
    affine.weight.shape = {rows, static_cast<std::int64_t>(layers[k].weight.front().size())};
    for (const std::vector<double>& row : layers[k].weight)
      affine.weight.data.insert(affine.weight.data.end(), row.begin(), row.end());
    affine.bias.shape = {rows};
    affine.bias.data = layers[k].bias;
    const ValueId made = graph.add_value("a", {rows});
    graph.nodes.push_back({std::move(affine), {value}, made, {}});
    value = made;
    if (k + 1 == layers.size()) break;
    value = graph.add_value("h", {rows});
    graph.nodes.push_back({hidden, {made}, value, {}});
  }
  graph.outputs = {value};
  return graph;
}

inline reach::Part part_of(Graph graph) {
  reach::Part part;
  part.graph = std::move(graph);
  return part;
}

// A condition: `parts` of the values a_i x_i + constant (<, <=) 0 of the state, joined by `kind`.
struct LinearDemand {
  std::vector<double> factors;  // [states]
  double constant = 0;
  bool strict = false;
};

inline reach::Condition linear_condition(const std::vector<LinearDemand>& demands,
                                         std::size_t states, std::size_t controls,
                                         reach::Formula::Kind kind = reach::Formula::Kind::kAll) {
  reach::Condition made;
  made.formula.kind = kind;
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < 2 * states + controls; ++i)
    inputs.push_back(made.values.input(made.values.inputs++));
  for (const LinearDemand& demand : demands) {
    std::size_t sum = made.values.constant({demand.constant, 0});
    for (std::size_t i = 0; i < demand.factors.size(); ++i) {
      if (demand.factors[i] == 0) continue;
      const std::size_t factor = made.values.constant({demand.factors[i], 0});
      const std::size_t product =
          made.values.add({ScalarStep::Kind::kMultiply, factor, inputs[i], {}, {}});
      sum = made.values.add({ScalarStep::Kind::kAdd, sum, product, {}, {}});
    }
    reach::Formula compare;
    compare.kind = reach::Formula::Kind::kCompare;
    compare.value = made.values.outputs.size();
    compare.strict = demand.strict;
    made.formula.parts.push_back(compare);
    made.values.outputs.push_back(sum);
  }
  return made;
}

// x_i <= high and x_i >= low.
inline std::vector<LinearDemand> between(std::size_t i, double low, double high) {
  LinearDemand below, above;
  below.factors.assign(i + 1, 0);
  below.factors[i] = 1;
  below.constant = -high;
  above.factors.assign(i + 1, 0);
  above.factors[i] = -1;
  above.constant = low;
  return {below, above};
}

}  // namespace bf_aot::test
