#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"

// Graphs by hand, for tests of passes.

namespace bf_aot::testing {

using Tensors = std::vector<std::vector<double>>;

inline Constant constant(Shape shape, std::vector<double> data) {
  return {std::move(shape), std::move(data), {}};
}

inline Affine affine(std::int64_t rows, std::int64_t columns, std::vector<double> weight,
                     std::vector<double> bias) {
  return {constant({rows, columns}, std::move(weight)), constant({rows}, std::move(bias))};
}

inline Scale scale(std::vector<double> factor, std::vector<double> offset) {
  const auto count = static_cast<std::int64_t>(factor.size());
  return {constant({count}, std::move(factor)), constant({count}, std::move(offset))};
}

// One input 'x'; node i makes value 'vi'.
class Builder {
 public:
  explicit Builder(Shape input) { graph_.inputs = {graph_.add_value("x", std::move(input))}; }

  ValueId x() const { return graph_.inputs[0]; }

  ValueId input(std::string name, Shape shape) {
    graph_.inputs.push_back(graph_.add_value(std::move(name), std::move(shape)));
    return graph_.inputs.back();
  }

  ValueId add(Op op, std::vector<ValueId> inputs, Shape shape) {
    const std::string number = std::to_string(graph_.nodes.size());
    const ValueId id = graph_.add_value("v" + number, std::move(shape));
    graph_.nodes.push_back({std::move(op), std::move(inputs), id, "N" + number});
    return id;
  }

  ValueId literal(Constant value) {
    Shape shape = value.shape;
    return add(Literal{std::move(value)}, {}, std::move(shape));
  }

  ValueId map(ValueId x, std::vector<std::int64_t> source) {
    const auto count = static_cast<std::int64_t>(source.size());
    return add(IndexMap{std::move(source)}, {x}, {count});
  }

  ValueId relu(ValueId x) { return add(Relu{}, {x}, graph_.value(x).shape); }

  Graph outputs(std::vector<ValueId> ids) {
    graph_.outputs = std::move(ids);
    verify(graph_);
    return graph_;
  }

 private:
  Graph graph_;
};

template <class T>
std::size_t count_ops(const Graph& graph) {
  return static_cast<std::size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(),
                    [](const Node& node) { return std::holds_alternative<T>(node.op); }));
}

template <class T>
const T& only(const Graph& graph) {
  const T* found = nullptr;
  for (const Node& node : graph.nodes)
    if (const T* op = std::get_if<T>(&node.op)) found = op;
  BF_CHECK(count_ops<T>(graph) == 1);
  return *found;
}

// Two layers of ones without an activation between them.
inline Graph two_layers(std::int64_t in, std::int64_t middle, std::int64_t out, bool output_both) {
  const auto ones = [](std::int64_t n) {
    return std::vector<double>(static_cast<std::size_t>(n), 1);
  };
  Builder b({in});
  const ValueId h = b.add(affine(middle, in, ones(middle * in), ones(middle)), {b.x()}, {middle});
  const ValueId y = b.add(affine(out, middle, ones(out * middle), ones(out)), {h}, {out});
  return output_both ? b.outputs({y, h}) : b.outputs({y});
}

// -count / 2 and so on, in steps of 1.
inline std::vector<double> ramp(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), -count / 2);
  return values;
}

// Dense layers of the given sizes, inputs first, with ReLUs between them: all weights 1/2.
inline Graph dense_chain(const std::vector<std::int64_t>& sizes) {
  Builder b({sizes[0]});
  ValueId value = b.x();
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const std::int64_t in = sizes[i - 1], out = sizes[i];
    value = b.add(affine(out, in, std::vector<double>(static_cast<std::size_t>(in * out), 0.5),
                         std::vector<double>(static_cast<std::size_t>(out), 0.25)),
                  {value}, {out});
    if (i + 1 < sizes.size()) value = b.relu(value);
  }
  return b.outputs({value});
}

// The codes of what `run` reports, each once.
inline std::set<std::string> codes(const std::function<void()>& run) {
  std::set<std::string> result;
  try {
    run();
  } catch (const CompileError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) result.insert(diagnostic.code);
  }
  return result;
}

}  // namespace bf_aot::testing
