#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/lower_products.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

using Problem = std::optional<Diagnostic>;

// ---- Why not.

// Limit for products of two computed tensors, each of which becomes an element of a tensor.
constexpr std::int64_t kMaxComputedProducts = std::int64_t{16} << 20;

Problem problem_with_product(const Operands& in, const ProductLayout& layout) {
  const bool computed = in.literal(0) == nullptr && in.literal(1) == nullptr;
  const std::int64_t limit = computed ? kMaxComputedProducts : kMaxWeightElements;
  const std::int64_t rows = element_count(in.output_shape());
  if (fits_dense(rows, layout.k) && rows * layout.k <= limit) return std::nullopt;
  return Diagnostic{
      "BF2004", in.node.origin,
      fmt::format("it has {} x {} products of elements, more than {}", rows, layout.k, limit),
      "verify a smaller network, or fix the batch dimension to 1"};
}

Problem find_problem(const MatMul& op, const Operands& in) {
  return problem_with_product(in, product_layout(op, in.shape(0), in.shape(1)));
}

Problem find_problem(const Gemm& op, const Operands& in) {
  return problem_with_product(in, product_layout(op, in.shape(0), in.shape(1)));
}

Problem find_problem(const Binary& op, const Operands& in) {
  if (op.kind != Binary::Kind::kDiv || in.literal(1) == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < in.literal(1)->data.size(); ++i)
    if (!can_divide_by(bounded_at(*in.literal(1), i)))
      return Diagnostic{"BF2003", in.node.origin,
                        fmt::format("division by zero: element {} of constant '{}' is {}", i,
                                    in.name(1), in.literal(1)->data[i]),
                        "correct the constant in the model"};
  return std::nullopt;
}

template <class Other>  // the operators of a normalised graph
Problem find_problem(const Other&, const Operands&) {
  return std::nullopt;
}

// ---- How. Each makes the nodes that replace in.node; none: leave it.

// f(c_i) for the constant c broadcast to the node's output.
template <class Function>
Constant broadcast_constant(const Operands& in, std::size_t operand, Function f) {
  const std::vector<std::int64_t> source = broadcast_map(in.shape(operand), in.output_shape());
  ConstantBuilder result(in.output_shape());
  for (std::size_t i = 0; i < source.size(); ++i)
    result.set(i, f(bounded_at(*in.literal(operand), static_cast<std::size_t>(source[i]))));
  return std::move(result).finish(in.node.origin);
}

Constant broadcast_constant(const Operands& in, std::size_t operand) {
  return broadcast_constant(in, operand, [](const Bounded& x) { return x; });
}

void lower(const MatMul& op, const Operands& in, Replacement& out) {
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) return;  // fold-constants
  const ProductLayout layout = product_layout(op, in.shape(0), in.shape(1));
  out.finish_as(lower_product(in, layout, {1, filled(in.output_shape(), 0)}, out));
}

// beta C, with a computed C: alpha A B is constant.
Scale constant_product(const Gemm& op, const Operands& in) {
  const ProductLayout layout = product_layout(op, in.shape(0), in.shape(1));
  ConstantBuilder offset(in.output_shape());
  for (std::int64_t i = 0; i < layout.m; ++i)
    for (std::int64_t j = 0; j < layout.n; ++j) {
      Sum sum;
      for (std::int64_t l = 0; l < layout.k; ++l)
        sum.add_product(bounded_at(*in.literal(0), static_cast<std::size_t>(layout.a(0, i, l))),
                        bounded_at(*in.literal(1), static_cast<std::size_t>(layout.b(0, l, j))));
      offset.set(static_cast<std::size_t>(i * layout.n + j), multiply({op.alpha, 0}, sum.result()));
    }
  return {filled(in.output_shape(), op.beta), std::move(offset).finish(in.node.origin)};
}

void lower(const Gemm& op, const Operands& in, Replacement& out) {
  const bool has_c = in.count() == 3;
  const bool computed_c = has_c && in.literal(2) == nullptr;
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) {
    if (!computed_c) return;  // fold-constants
    out.finish(constant_product(op, in), {out.broadcast(in.node.inputs[2])});
    return;
  }
  const auto times_beta = [&](const Bounded& c) { return multiply({op.beta, 0}, c); };
  Constant bias =
      has_c && !computed_c ? broadcast_constant(in, 2, times_beta) : filled(in.output_shape(), 0);
  const ProductLayout layout = product_layout(op, in.shape(0), in.shape(1));
  const ValueId product = lower_product(in, layout, {op.alpha, std::move(bias)}, out);
  if (!computed_c || op.beta == 0) return out.finish_as(product);
  ValueId c = in.node.inputs[2];
  if (op.beta != 1) c = out.scaled(c, op.beta);
  out.finish(Binary{Binary::Kind::kAdd}, {product, out.broadcast(c)});
}

// y = f(c) x, or x + f(c): one operand is constant.
void lower_with_constant(const Binary& op, const Operands& in, Replacement& out) {
  const std::size_t computed = in.literal(0) == nullptr ? 0 : 1;
  const std::size_t c = 1 - computed;
  ValueId x = in.node.inputs[computed];
  const auto filled_output = [&](double value) { return filled(in.output_shape(), value); };
  Scale scale;
  switch (op.kind) {
    case Binary::Kind::kAdd:
      scale = {filled_output(1), broadcast_constant(in, c)};
      break;
    case Binary::Kind::kSub:
      scale = {filled_output(computed == 0 ? 1 : -1),
               computed == 0 ? broadcast_constant(in, c, negate) : broadcast_constant(in, c)};
      break;
    case Binary::Kind::kMul:
      scale = {broadcast_constant(in, c), filled_output(0)};
      break;
    case Binary::Kind::kDiv: {
      const auto inverse = [](const Bounded& b) { return divide({1, 0}, b); };
      if (computed == 1) x = out.function(x, {FunctionKind::kReciprocal, 0, 0}, "_reciprocal");
      scale = {computed == 0 ? broadcast_constant(in, c, inverse) : broadcast_constant(in, c),
               filled_output(0)};
      break;
    }
  }
  out.finish(std::move(scale), {out.broadcast(x)});
}

void lower(const Binary& op, const Operands& in, Replacement& out) {
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) return;  // fold-constants
  if (in.literal(0) != nullptr || in.literal(1) != nullptr) return lower_with_constant(op, in, out);
  const ValueId a = in.node.inputs[0];
  ValueId b = in.node.inputs[1];
  const bool same = a == b;
  const auto twice = [&](double factor) {
    out.finish(Scale{filled(in.output_shape(), factor), filled(in.output_shape(), 0)}, {a});
  };
  switch (op.kind) {
    case Binary::Kind::kAdd:
      if (same) return twice(2);
      return out.finish(op, {out.broadcast(a), out.broadcast(b)});
    case Binary::Kind::kSub:
      if (same) return twice(0);
      b = out.scaled(b, -1);
      return out.finish(Binary{Binary::Kind::kAdd}, {out.broadcast(a), out.broadcast(b)});
    case Binary::Kind::kMul:
      if (same) return out.finish(Unary{{FunctionKind::kPower, 2, 0}}, {a});
      return out.finish(op, {out.broadcast(a), out.broadcast(b)});
    case Binary::Kind::kDiv:
      b = out.function(b, {FunctionKind::kReciprocal, 0, 0}, "_reciprocal");
      return out.finish(Binary{Binary::Kind::kMul}, {out.broadcast(a), out.broadcast(b)});
  }
}

template <class Other>  // the operators of a normalised graph
void lower(const Other&, const Operands&, Replacement&) {}

}  // namespace

Problem lowering_problem(const Graph& graph, const Node& node,
                         const std::vector<const Constant*>& literals) {
  const Operands in{graph, node, literals};
  return std::visit([&](const auto& op) { return find_problem(op, in); }, node.op);
}

bool is_lowered(const Graph& graph, const Node& node) {
  if (std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Gemm>(node.op))
    return false;
  const auto* binary = std::get_if<Binary>(&node.op);
  return binary == nullptr ||
         (works_on_flattened(graph, node) &&
          (binary->kind == Binary::Kind::kAdd || binary->kind == Binary::Kind::kMul));
}

namespace {

// The literals of a graph, whose numbers go with the last node that reads them: two forms of all
// weights of a large network would be too much.
class Literals {
 public:
  explicit Literals(Graph& graph)
      : graph_(graph),
        known_(literal_values(graph)),
        held_(graph.values.size()),
        reads_(graph.values.size()) {
    for (Node& node : graph.nodes)
      if (auto* const literal = std::get_if<Literal>(&node.op))
        held_[index_of(node.output)] = &literal->value;
    for (const Node& node : graph.nodes)
      for (const ValueId input : node.inputs) ++reads_[index_of(input)];
    for (const ValueId output : graph.outputs) ++reads_[index_of(output)];
  }

  const std::vector<const Constant*>& known() const { return known_; }

  // The literals among a node's first two operands that this node alone reads, once; else null.
  std::array<Constant*, 2> spare(const Node& node) {
    std::array<Constant*, 2> made = {};
    for (std::size_t i = 0; i < std::min(node.inputs.size(), made.size()); ++i)
      if (reads_[index_of(node.inputs[i])] == 1) made[i] = held_[index_of(node.inputs[i])];
    return made;
  }

  void replace(const Node& node, const std::vector<Node>& by) {
    known_.resize(graph_.values.size());  // values that were added are computed
    held_.resize(graph_.values.size());
    reads_.resize(graph_.values.size());
    if (by.empty()) return;
    for (const Node& added : by)
      for (const ValueId input : added.inputs) ++reads_[index_of(input)];
    for (const ValueId input : node.inputs)
      if (--reads_[index_of(input)] == 0 && held_[index_of(input)] != nullptr) {
        *held_[index_of(input)] = {};
        known_[index_of(input)] = held_[index_of(input)] = nullptr;
        gone_.insert(input);
      }
  }

  // Removes literals that have lost all readers. Called when all nodes have been replaced.
  void remove_unread() {
    std::erase_if(graph_.nodes, [&](const Node& node) { return gone_.contains(node.output); });
  }

 private:
  Graph& graph_;
  std::vector<const Constant*> known_;
  std::vector<Constant*> held_;
  std::vector<int> reads_;  // by the nodes that there are so far
  std::set<ValueId> gone_;
};

}  // namespace

void lower_affine(Graph& graph, bool contract) {
  Literals literals(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (lowering_problem(graph, node, literals.known())) continue;
    Replacement out(graph, node);
    const Operands operands = {graph, node, literals.known(), literals.spare(node), contract};
    std::visit([&](const auto& op) { lower(op, operands, out); }, node.op);
    replacements[i] = std::move(out).nodes();
    literals.replace(node, replacements[i]);
  }
  replace_nodes(graph, std::move(replacements));
  literals.remove_unread();
}

}  // namespace bf_aot
