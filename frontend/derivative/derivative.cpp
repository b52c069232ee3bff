#include "frontend/derivative/derivative.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/derivative/function_derivative.h"
#include "frontend/derivative/node_maker.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/rounding.h"

namespace bf_aot {
namespace {

// Limit of the number of inputs, each of which repeats the linear part of the network.
constexpr std::size_t kMostInputs = 64;

// The derivative of a value by one of the inputs; nullopt where it is zero.
using Tangent = std::optional<ValueId>;

Constant zeros(const Constant& like) {
  return {like.shape, std::vector<double>(like.data.size(), 0.0), {}};
}

// The linear part of y = A x + b.
template <class Map>
Map without_bias(Map map) {
  map.bias = zeros(map.bias);
  return map;
}

Scale without_bias(Scale map) {
  map.offset = zeros(map.offset);
  return map;
}

// One round of a tournament in which neighbours of a row meet:
//   d max(a, b) = da + step(b - a) (db - da).
struct Round {
  GroupMax winners;           // the values that go on
  SparseAffine differences;   // b - a of each match, which make its step
  SparseAffine first, added;  // what goes on: a, or who has no rival; what its match adds to it
  ValueId steps;
};

SparseAffine no_rows() {
  SparseAffine sums;
  sums.row_start = {0};
  return sums;
}

void add_row(SparseAffine& sums, const std::vector<std::pair<std::int64_t, double>>& entries) {
  for (const auto& [column, value] : entries) {
    sums.column.push_back(column);
    sums.value.data.push_back(value);
  }
  sums.bias.data.push_back(0);
  sums.row_start.push_back(static_cast<std::int64_t>(sums.column.size()));
}

void finish(SparseAffine& sums) {
  sums.value.shape = {static_cast<std::int64_t>(sums.column.size())};
  sums.bias.shape = {sums.rows()};
}

// The round of rows that begin at `row_start`, which becomes that of the next round.
Round round_of(std::vector<std::int64_t>& row_start) {
  Round round{{{0}, {}}, no_rows(), no_rows(), no_rows(), ValueId{}};
  std::vector<std::int64_t> next = {0};
  for (std::size_t row = 0; row + 1 < row_start.size(); ++row) {
    for (std::int64_t a = row_start[row]; a < row_start[row + 1]; a += 2) {
      round.winners.source.push_back(a);
      add_row(round.first, {{a, 1}});
      if (a + 1 < row_start[row + 1]) {
        round.winners.source.push_back(a + 1);
        add_row(round.added, {{round.differences.rows(), 1}});
        add_row(round.differences, {{a, -1}, {a + 1, 1}});
      } else {
        add_row(round.added, {});
      }
      round.winners.row_start.push_back(static_cast<std::int64_t>(round.winners.source.size()));
    }
    next.push_back(round.winners.rows());
  }
  finish(round.differences);
  finish(round.first);
  finish(round.added);
  row_start = std::move(next);
  return round;
}

// Forward over the nodes: the values first, as they are, then the tangents of each.
class DerivativeMaker {
 public:
  DerivativeMaker(const Graph& graph, std::span<const std::size_t> inputs)
      : source_(graph), made_(graph), inputs_(inputs) {
    made_.outputs.clear();
    tangents_.assign(inputs.size(), std::vector<Tangent>(graph.values.size()));
    for (std::size_t k = 0; k < inputs.size(); ++k) begin(k);
  }

  Graph make() {
    std::vector<Diagnostic> problems;
    for (const Node& node : source_.nodes) {
      try {
        differentiate(node);
      } catch (CompileError& error) {
        for (const Diagnostic& problem : error.diagnostics()) problems.push_back(problem);
      }
    }
    if (!problems.empty()) throw CompileError(std::move(problems));
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      for (const ValueId output : source_.outputs) add_output(k, output);
    verify(made_);
    return std::move(made_);
  }

  // ---- By node: the tangent of its output from those of its inputs, of which one is not zero.
  Tangent operator()(const Literal&) { return std::nullopt; }

  Tangent operator()(const MatMul& op) {
    return sum(product(op, of(0), input(1)), product(op, input(0), of(1)));
  }

  Tangent operator()(const Gemm& op) {
    Gemm products = op;
    products.beta = 0;
    const Tangent both =
        sum(product(products, of(0), input(1)), product(products, input(0), of(1)));
    if (node_->inputs.size() < 3) return both;
    return sum(both, broadcast(of(2), op.beta));
  }

  Tangent operator()(const Binary& op) {
    switch (op.kind) {
      case Binary::Kind::kAdd:
        return sum(broadcast(of(0)), broadcast(of(1)));
      case Binary::Kind::kSub:
        return sum(broadcast(of(0)), broadcast(of(1), -1));
      case Binary::Kind::kMul:
        return sum(product(op, of(0), input(1)), product(op, input(0), of(1)));
      case Binary::Kind::kDiv: {  // (da - y db) / b
        const Binary times{Binary::Kind::kMul};
        const Tangent change = product(times, node_->output, of(1));
        const Tangent above = sum(broadcast(of(0)), change ? broadcast(change, -1) : change);
        return product(op, above, input(1));
      }
    }
    return std::nullopt;
  }

  Tangent operator()(const Relu&) {
    if (!factor_) factor_ = add_step(maker(), input(0));
    return maker().times(*factor_, *of(0));
  }

  Tangent operator()(const Unary& op) {
    if (!factor_) {
      const ValueId y = maker().reshaped(node_->output, shape(input(0)));
      factor_ = add_function_derivative(maker(), op.function, input(0), y);
      if (!factor_)
        fail("BF2120", node_->origin,
             fmt::format("{} has no derivative here: its values jump, or its parameters are "
                         "not covered",
                         to_string(op.function)),
             "leave out the inputs that it depends on, or cut the network before it "
             "(--output-tensor)");
    }
    return maker().times(*factor_, *of(0));
  }

  Tangent operator()(const IndexMap& op) { return linear(op); }
  Tangent operator()(const Scale& op) {
    if (of(0) && is_rounding(op))
      fail("BF2120", node_->origin, "a cast that rounds has no derivative: its values jump",
           "leave out the inputs that it depends on, or export the network without the cast");
    return linear(without_bias(op));
  }
  Tangent operator()(const Affine& op) { return linear(without_bias(op)); }
  Tangent operator()(const Conv& op) { return linear(without_bias(op)); }
  Tangent operator()(const SparseAffine& op) { return linear(without_bias(op)); }

  // dy_k = dx_k - sum_j p_j dx_j, p being the softmax e^y.
  Tangent operator()(const LogSoftmax& op) {
    const auto count = static_cast<std::int64_t>(op.source.size());
    if (!factor_)
      factor_ = maker().unary(FunctionKind::kExp, maker().reshaped(node_->output, {count}));
    const ValueId change = maker().add(IndexMap{op.source}, {*of(0)}, {count});
    SparseAffine sums = no_rows();
    IndexMap repeat;
    for (std::int64_t row = 0; row < op.rows(); ++row) {
      std::vector<std::pair<std::int64_t, double>> members;
      for (std::int64_t k = op.row_start[static_cast<std::size_t>(row)];
           k < op.row_start[static_cast<std::size_t>(row) + 1]; ++k) {
        members.emplace_back(k, 1);
        repeat.source.push_back(row);
      }
      add_row(sums, members);
    }
    finish(sums);
    const ValueId means = linear(sums, maker().times(*factor_, change));
    return maker().minus(change, maker().add(std::move(repeat), {means}, {count}));
  }

  Tangent operator()(const Contraction&) {
    BF_CHECK(!"an operator of normal graphs");
    return std::nullopt;
  }

  Tangent operator()(const GroupMax& op) {
    const auto count = static_cast<std::int64_t>(op.source.size());
    if (rounds_.empty()) add_rounds(op, count);
    ValueId tangent = maker().add(IndexMap{op.source}, {*of(0)}, {count});
    for (const Round& round : rounds_) {
      const ValueId change = maker().times(round.steps, linear(round.differences, tangent));
      tangent = maker().plus(linear(round.first, tangent), linear(round.added, change));
    }
    return tangent;
  }

 private:
  const Shape& shape(ValueId id) const { return made_.value(id).shape; }
  NodeMaker& maker() { return *maker_; }

  // The tangent of the input itself: one at its element.
  void begin(std::size_t k) {
    std::size_t element = inputs_[k];
    for (const ValueId input : source_.inputs) {
      const auto count = static_cast<std::size_t>(element_count(shape(input)));
      if (element >= count) {
        element -= count;
        continue;
      }
      names_.push_back(fmt::format("{}[{}]", source_.value(input).name, element));
      Constant unit{shape(input), std::vector<double>(count, 0.0), {}};
      unit.data[element] = 1;
      NodeMaker make(made_, "d(" + source_.value(input).name + ")", "derivative");
      tangents_[k][index_of(input)] = make.add(Literal{std::move(unit)}, {}, Shape(shape(input)));
      return;
    }
    BF_CHECK(false);
  }

  void differentiate(const Node& node) {
    maker_.emplace(made_, "d(" + source_.value(node.output).name + ")", node.origin);
    node_ = &node;
    factor_.reset();
    rounds_.clear();
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      current_ = &tangents_[k];
      if (!std::ranges::any_of(node.inputs, [&](ValueId id) { return of(id).has_value(); }))
        continue;
      const Tangent made = std::visit(*this, node.op);
      if (made) (*current_)[index_of(node.output)] = maker().reshaped(*made, output_shape());
    }
  }

  void add_output(std::size_t k, ValueId output) {
    NodeMaker make(made_, "d(" + source_.value(output).name + ")/d(" + names_[k] + ")",
                   "derivative");
    const Shape to = shape(output);
    const Tangent tangent = tangents_[k][index_of(output)];
    if (!tangent) {
      made_.outputs.push_back(make.literal(to, 0));
      return;
    }
    // A value of its own: several outputs may be one value.
    IndexMap map;
    map.source.resize(static_cast<std::size_t>(element_count(to)));
    std::iota(map.source.begin(), map.source.end(), 0);
    made_.outputs.push_back(make.add(std::move(map), {*tangent}, to));
  }

  Tangent of(ValueId id) const { return (*current_)[index_of(id)]; }
  Tangent of(int operand) const { return of(input(operand)); }
  ValueId input(int operand) const { return node_->inputs.at(static_cast<std::size_t>(operand)); }
  Shape output_shape() const { return source_.value(node_->output).shape; }

  Tangent linear(const Op& op) { return maker().add(op, {*of(0)}, output_shape()); }
  ValueId linear(const SparseAffine& op, ValueId x) { return maker().add(op, {x}, {op.rows()}); }

  // op(a, b), of which one is a tangent that may be zero.
  Tangent product(const Op& op, Tangent a, Tangent b) {
    if (!a || !b) return std::nullopt;
    return maker().add(op, {*a, *b}, output_shape());
  }

  Tangent sum(Tangent a, Tangent b) {
    if (!a || !b) return a ? a : b;
    return maker().plus(*a, *b);
  }

  Tangent broadcast(Tangent tangent, double factor = 1) {
    if (!tangent) return tangent;
    return maker().broadcast(*tangent, output_shape(), factor);
  }

  void add_rounds(const GroupMax& op, std::int64_t count) {
    std::vector<std::int64_t> row_start = op.row_start;
    ValueId values = maker().add(IndexMap{op.source}, {input(0)}, {count});
    while (row_start.back() > op.rows()) {
      Round round = round_of(row_start);
      round.steps = add_step(maker(), linear(round.differences, values));
      values = maker().add(round.winners, {values}, {round.winners.rows()});
      rounds_.push_back(std::move(round));
    }
  }

  const Graph& source_;
  Graph made_;
  std::span<const std::size_t> inputs_;
  std::vector<std::string> names_;              // of the inputs' elements
  std::vector<std::vector<Tangent>> tangents_;  // by input, by value of the source

  // State of the node that is derived now. `factor_` and `rounds_` do not depend on the input, so
  // they are made once and serve all inputs.
  const Node* node_ = nullptr;
  std::vector<Tangent>* current_ = nullptr;  // tangents by the input at hand
  std::optional<NodeMaker> maker_;
  std::optional<ValueId> factor_;
  std::vector<Round> rounds_;
};

}  // namespace

Graph derivative_graph(const Graph& graph, std::span<const std::size_t> inputs) {
  std::size_t count = 0;
  for (const ValueId input : graph.inputs)
    count += static_cast<std::size_t>(element_count(graph.value(input).shape));
  if (inputs.empty() || inputs.size() > kMostInputs)
    fail("BF2121", "derivative", fmt::format("by {} inputs", inputs.size()),
         fmt::format("name 1 to {} inputs", kMostInputs));
  for (const std::size_t input : inputs)
    if (input >= count)
      fail("BF2121", "derivative", fmt::format("there is no input {}", input),
           fmt::format("the network's inputs are 0 to {}", count - 1));
  return DerivativeMaker(graph, inputs).make();
}

}  // namespace bf_aot
