#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/index_maps.h"

// Evaluates each operator, written once for all kinds of numbers. `Arithmetic` has
//   Number, Accumulator {add(Number), add_product(Number, Number), Number result()},
//   static Number constant(const Constant&, std::size_t), number(double), add, subtract, multiply,
//   divide(Number, Number), relu(Number), larger(Number, Number),
//   apply(const Function&, Number).
// Sums run in index order.

namespace bf_aot {

template <class Arithmetic>
class NodeEvaluator {
 public:
  using Number = typename Arithmetic::Number;
  using Tensor = std::vector<Number>;

  NodeEvaluator(const Graph& graph, const Node& node, std::vector<const Tensor*> inputs)
      : graph_(graph), node_(node), inputs_(std::move(inputs)) {}

  Tensor run() const {
    Tensor result = std::visit(*this, node_.op);
    BF_CHECK(result.size() == count(node_.output));
    return result;
  }

  Tensor operator()(const Literal& op) const {
    Tensor y;
    y.reserve(op.value.data.size());
    for (std::size_t i = 0; i < op.value.data.size(); ++i)
      y.push_back(Arithmetic::constant(op.value, i));
    return y;
  }

  Tensor operator()(const MatMul& op) const {
    return product(product_layout(op, shape(0), shape(1)));
  }

  Tensor operator()(const Gemm& op) const {
    Tensor y = product(product_layout(op, shape(0), shape(1)));
    if (op.alpha != 1)
      for (Number& value : y) value = Arithmetic::multiply(Arithmetic::number(op.alpha), value);
    if (inputs_.size() < 3) return y;
    const std::vector<std::int64_t> source = broadcast_map(shape(2), output_shape());
    for (std::size_t i = 0; i < y.size(); ++i) {
      typename Arithmetic::Accumulator sum;
      sum.add(y[i]);
      sum.add_product(Arithmetic::number(op.beta), at(2, source[i]));
      y[i] = sum.result();
    }
    return y;
  }

  Tensor operator()(const Binary& op) const {
    Tensor y;
    if (works_on_flattened(graph_, node_)) {
      for (std::size_t i = 0; i < inputs_[0]->size(); ++i)
        y.push_back(apply(op.kind, (*inputs_[0])[i], (*inputs_[1])[i]));
      return y;
    }
    const std::vector<std::int64_t> a = broadcast_map(shape(0), output_shape());
    const std::vector<std::int64_t> b = broadcast_map(shape(1), output_shape());
    y.reserve(a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      y.push_back(apply(op.kind, at(0, a[i]), at(1, b[i])));
    return y;
  }

  Tensor operator()(const Relu&) const {
    Tensor y;
    y.reserve(inputs_[0]->size());
    for (const Number& x : *inputs_[0]) y.push_back(Arithmetic::relu(x));
    return y;
  }

  Tensor operator()(const IndexMap& op) const {
    Tensor y;
    y.reserve(op.source.size());
    for (std::int64_t source : op.source) y.push_back(at(0, source));
    return y;
  }

  Tensor operator()(const Scale& op) const {
    Tensor y;
    y.reserve(inputs_[0]->size());
    for (std::size_t i = 0; i < inputs_[0]->size(); ++i) {
      typename Arithmetic::Accumulator sum;
      sum.add_product(Arithmetic::constant(op.factor, i), (*inputs_[0])[i]);
      sum.add(Arithmetic::constant(op.offset, i));
      y.push_back(sum.result());
    }
    return y;
  }

  Tensor operator()(const Affine& op) const {
    const std::size_t columns = inputs_[0]->size();
    Tensor y;
    y.reserve(op.bias.data.size());
    for (std::size_t row = 0; row < op.bias.data.size(); ++row) {
      typename Arithmetic::Accumulator sum;
      for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t i = row * columns + column;
        if (op.weight.data[i] == 0 && op.weight.error_at(i) == 0) continue;
        sum.add_product(Arithmetic::constant(op.weight, i), (*inputs_[0])[column]);
      }
      sum.add(Arithmetic::constant(op.bias, row));
      y.push_back(sum.result());
    }
    return y;
  }

  Tensor operator()(const Unary& op) const {
    Tensor y;
    y.reserve(inputs_[0]->size());
    for (const Number& x : *inputs_[0]) y.push_back(Arithmetic::apply(op.function, x));
    return y;
  }

  Tensor operator()(const Conv& op) const {
    const ConvGeometry& g = op.geometry;
    std::vector<typename Arithmetic::Accumulator> sums(static_cast<std::size_t>(g.out_count()));
    for_each_product(g, [&](std::int64_t out, std::int64_t weight, std::int64_t in) {
      const auto w = static_cast<std::size_t>(weight);
      if (op.weight.data[w] == 0 && op.weight.error_at(w) == 0) return;
      sums[static_cast<std::size_t>(out)].add_product(Arithmetic::constant(op.weight, w),
                                                      at(0, in));
    });
    Tensor y(sums.size());
    for_each_element(g.batch, g.out_channels, g.out_size,
                     [&](std::int64_t n, std::int64_t c, const Extent& p) {
                       const auto i = static_cast<std::size_t>(g.out.at(n, c, p));
                       sums[i].add(Arithmetic::constant(op.bias, static_cast<std::size_t>(c)));
                       y[i] = sums[i].result();
                     });
    return y;
  }

  Tensor operator()(const SparseAffine& op) const {
    Tensor y;
    for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
      typename Arithmetic::Accumulator sum;
      for (auto k = static_cast<std::size_t>(op.row_start[row]);
           k < static_cast<std::size_t>(op.row_start[row + 1]); ++k)
        sum.add_product(Arithmetic::constant(op.value, k), at(0, op.column[k]));
      sum.add(Arithmetic::constant(op.bias, row));
      y.push_back(sum.result());
    }
    return y;
  }

  Tensor operator()(const GroupMax& op) const {
    Tensor y;
    for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
      auto k = static_cast<std::size_t>(op.row_start[row]);
      Number largest = at(0, op.source[k]);
      for (++k; k < static_cast<std::size_t>(op.row_start[row + 1]); ++k)
        largest = Arithmetic::larger(largest, at(0, op.source[k]));
      y.push_back(largest);
    }
    return y;
  }

  // Relative to the largest element, whose power is 1.
  Tensor operator()(const LogSoftmax& op) const {
    Tensor y;
    for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
      const auto begin = static_cast<std::size_t>(op.row_start[row]);
      const auto end = static_cast<std::size_t>(op.row_start[row + 1]);
      Number largest = at(0, op.source[begin]);
      for (std::size_t k = begin + 1; k < end; ++k)
        largest = Arithmetic::larger(largest, at(0, op.source[k]));
      typename Arithmetic::Accumulator sum;
      for (std::size_t k = begin; k < end; ++k)
        sum.add(Arithmetic::apply({FunctionKind::kExp},
                                  Arithmetic::subtract(at(0, op.source[k]), largest)));
      const Number logarithm = Arithmetic::apply({FunctionKind::kLog}, sum.result());
      for (std::size_t k = begin; k < end; ++k)
        y.push_back(
            Arithmetic::subtract(Arithmetic::subtract(at(0, op.source[k]), largest), logarithm));
    }
    return y;
  }

  Tensor operator()(const Contraction& op) const {
    Tensor y;
    y.reserve(static_cast<std::size_t>(op.count()));
    for (std::int64_t row = 0; row < op.batch * op.rows; ++row)
      for (std::int64_t j = 0; j < op.columns; ++j) {
        const std::int64_t column = row / op.rows * op.columns + j;
        typename Arithmetic::Accumulator sum;
        for (std::int64_t l = 0; l < op.sums; ++l)
          sum.add_product(at(0, op.left[static_cast<std::size_t>(row * op.sums + l)]),
                          at(1, op.right[static_cast<std::size_t>(column * op.sums + l)]));
        y.push_back(sum.result());
      }
    return y;
  }

 private:
  std::size_t count(ValueId id) const {
    return static_cast<std::size_t>(element_count(graph_.value(id).shape));
  }
  const Shape& shape(std::size_t input) const { return graph_.value(node_.inputs.at(input)).shape; }
  const Shape& output_shape() const { return graph_.value(node_.output).shape; }
  const Number& at(std::size_t input, std::int64_t i) const {
    return inputs_[input]->at(static_cast<std::size_t>(i));
  }

  static Number apply(Binary::Kind kind, const Number& a, const Number& b) {
    switch (kind) {
      case Binary::Kind::kAdd:
        return Arithmetic::add(a, b);
      case Binary::Kind::kSub:
        return Arithmetic::subtract(a, b);
      case Binary::Kind::kMul:
        return Arithmetic::multiply(a, b);
      case Binary::Kind::kDiv:
        return Arithmetic::divide(a, b);
    }
    BF_CHECK(false);
    return a;
  }

  Tensor product(const ProductLayout& layout) const {
    Tensor y;
    y.reserve(count(node_.output));
    for (std::int64_t batch = 0; batch < layout.batch(); ++batch)
      for (std::int64_t i = 0; i < layout.m; ++i)
        for (std::int64_t j = 0; j < layout.n; ++j) {
          typename Arithmetic::Accumulator sum;
          for (std::int64_t l = 0; l < layout.k; ++l)
            sum.add_product(at(0, layout.a(batch, i, l)), at(1, layout.b(batch, l, j)));
          y.push_back(sum.result());
        }
    return y;
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<const Tensor*> inputs_;
};

// The values of all graph outputs, in order.
template <class Arithmetic>
std::vector<std::vector<typename Arithmetic::Number>> evaluate_with(
    const Graph& graph, const std::vector<std::vector<typename Arithmetic::Number>>& inputs) {
  using Tensor = std::vector<typename Arithmetic::Number>;
  BF_CHECK(inputs.size() == graph.inputs.size());
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    BF_CHECK(static_cast<std::int64_t>(inputs[i].size()) ==
             element_count(graph.value(graph.inputs[i]).shape));
    values[index_of(graph.inputs[i])] = inputs[i];
  }
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> operands;
    for (ValueId input : node.inputs) operands.push_back(&values[index_of(input)]);
    values[index_of(node.output)] = NodeEvaluator<Arithmetic>(graph, node, operands).run();
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs) outputs.push_back(values[index_of(output)]);
  return outputs;
}

}  // namespace bf_aot
