#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/index_maps.h"
#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

using Literals = std::vector<const Constant*>;

// A node with its operands: constant or computed.
struct Operands {
  const Graph& graph;
  const Node& node;
  const Literals& literals;

  std::size_t count() const { return node.inputs.size(); }
  const Constant* literal(std::size_t i) const { return literals[index_of(node.inputs[i])]; }
  const Shape& shape(std::size_t i) const { return graph.value(node.inputs[i]).shape; }
  const std::string& name(std::size_t i) const { return graph.value(node.inputs[i]).name; }
  const Shape& output_shape() const { return graph.value(node.output).shape; }
};

using Problem = std::optional<Diagnostic>;

Diagnostic two_computed(const Operands& in, std::string_view what, std::size_t a, std::size_t b) {
  return {"BF2002", in.node.origin,
          fmt::format("{} of two computed tensors ('{}' and '{}') is not supported by this version",
                      what, in.name(a), in.name(b)),
          "one of the two must be a constant"};
}

// ---- Why not.

Problem problem_with_size(const Operands& in, std::size_t computed) {
  const std::int64_t rows = element_count(in.output_shape());
  const std::int64_t columns = element_count(in.shape(computed));
  if (fits_dense(rows, columns)) return std::nullopt;
  return Diagnostic{"BF2004", in.node.origin,
                    fmt::format("its dense weight matrix would be {} x {}, more than {} elements",
                                rows, columns, kMaxWeightElements),
                    "verify a smaller network, or fix the batch dimension to 1"};
}

Problem problem_with_product(const Operands& in) {
  if (in.literal(0) == nullptr && in.literal(1) == nullptr)
    return two_computed(in, "product", 0, 1);
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) return std::nullopt;
  return problem_with_size(in, in.literal(0) == nullptr ? 0 : 1);
}

Problem find_problem(const MatMul&, const Operands& in) {
  return problem_with_product(in);
}

Problem find_problem(const Gemm& op, const Operands& in) {
  if (Problem problem = problem_with_product(in)) return problem;
  const std::size_t a = in.literal(0) == nullptr ? 0 : 1;
  if (in.count() == 3 && in.literal(2) == nullptr && op.beta != 0 && in.literal(a) == nullptr)
    return two_computed(in, "sum", a, 2);
  return std::nullopt;
}

Problem find_problem(const Binary& op, const Operands& in) {
  const bool division = op.kind == Binary::Kind::kDiv;
  if (in.literal(0) == nullptr && in.literal(1) == nullptr) {
    const std::string_view what = division                        ? "quotient"
                                  : op.kind == Binary::Kind::kMul ? "product"
                                  : op.kind == Binary::Kind::kSub ? "difference"
                                                                  : "sum";
    return two_computed(in, what, 0, 1);
  }
  if (!division) return std::nullopt;
  if (in.literal(1) == nullptr)
    return Diagnostic{
        "BF2002", in.node.origin,
        fmt::format("division by the computed tensor '{}' is not supported", in.name(1)),
        "only division by a constant is an affine operation"};
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

// ---- How. Each returns the nodes that replace in.node; none: leave it.

// y = factor x + offset for operand `x`, repeated as broadcasting says.
std::vector<Node> scale_nodes(Graph& graph, const Node& node, ValueId x, Scale scale) {
  const Shape shape = graph.value(node.output).shape;
  std::vector<Node> nodes;
  if (graph.value(x).shape != shape) {
    IndexMap map{broadcast_map(graph.value(x).shape, shape)};
    const std::int64_t count = element_count(graph.value(x).shape);
    if (!is_identity(map.source, count)) {
      const ValueId repeated = graph.add_value(graph.value(x).name + "_broadcast", shape);
      nodes.push_back({std::move(map), {x}, repeated, node.origin});
      x = repeated;
    }
  }
  nodes.push_back({std::move(scale), {x}, node.output, node.origin});
  return nodes;
}

// f(c_i) for the constant c broadcast to the node's output.
template <class Function>
Constant broadcast_constant(const Operands& in, std::size_t operand, Function f) {
  const std::vector<std::int64_t> source = broadcast_map(in.shape(operand), in.output_shape());
  ConstantBuilder result(in.output_shape());
  for (std::size_t i = 0; i < source.size(); ++i)
    result.set(i, f(bounded_at(*in.literal(operand), static_cast<std::size_t>(source[i]))));
  return std::move(result).finish(in.node.origin);
}

// The product's weights as a function of its computed operand: entries are alpha times those of
// the constant operand, each at a place of its own.
Constant product_weight(const Operands& in, const ProductLayout& layout, double alpha) {
  const bool a_is_computed = in.literal(0) == nullptr;
  const Constant& factor = *in.literal(a_is_computed ? 1 : 0);
  const std::int64_t columns = element_count(in.shape(a_is_computed ? 0 : 1));
  ConstantBuilder weight({element_count(in.output_shape()), columns});
  std::int64_t row = 0;
  for (std::int64_t batch = 0; batch < layout.batch(); ++batch)
    for (std::int64_t i = 0; i < layout.m; ++i)
      for (std::int64_t j = 0; j < layout.n; ++j, ++row)
        for (std::int64_t l = 0; l < layout.k; ++l) {
          const std::int64_t a = layout.a(batch, i, l);
          const std::int64_t b = layout.b(batch, l, j);
          const Bounded x = bounded_at(factor, static_cast<std::size_t>(a_is_computed ? b : a));
          weight.set(static_cast<std::size_t>(row * columns + (a_is_computed ? a : b)),
                     alpha == 1 ? x : multiply({alpha, 0}, x));
        }
  return std::move(weight).finish(in.node.origin);
}

std::vector<Node> product_nodes(const Operands& in, const ProductLayout& layout, double alpha,
                                Constant bias) {
  const std::size_t computed = in.literal(0) == nullptr ? 0 : 1;
  bias.shape = {static_cast<std::int64_t>(bias.data.size())};
  return {{Affine{product_weight(in, layout, alpha), std::move(bias)},
           {in.node.inputs[computed]},
           in.node.output,
           in.node.origin}};
}

std::vector<Node> lower(const MatMul& op, const Operands& in, Graph&) {
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) return {};  // fold-constants
  return product_nodes(in, product_layout(op, in.shape(0), in.shape(1)), 1,
                       filled(in.output_shape(), 0));
}

// beta C, with a computed C: alpha A B is constant.
std::vector<Node> lower_constant_product(const Gemm& op, const Operands& in, Graph& graph) {
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
  Scale scale{filled(in.output_shape(), op.beta), std::move(offset).finish(in.node.origin)};
  return scale_nodes(graph, in.node, in.node.inputs[2], std::move(scale));
}

std::vector<Node> lower(const Gemm& op, const Operands& in, Graph& graph) {
  const bool has_c = in.count() == 3;
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) {
    if (!has_c || in.literal(2) != nullptr) return {};  // fold-constants
    return lower_constant_product(op, in, graph);
  }
  const auto times_beta = [&](const Bounded& c) { return multiply({op.beta, 0}, c); };
  Constant bias = has_c && in.literal(2) != nullptr ? broadcast_constant(in, 2, times_beta)
                                                    : filled(in.output_shape(), 0);
  return product_nodes(in, product_layout(op, in.shape(0), in.shape(1)), op.alpha, std::move(bias));
}

std::vector<Node> lower(const Binary& op, const Operands& in, Graph& graph) {
  if (in.literal(0) != nullptr && in.literal(1) != nullptr) return {};  // fold-constants
  const std::size_t computed = in.literal(0) == nullptr ? 0 : 1;
  const std::size_t c = 1 - computed;
  const auto same = [](const Bounded& x) { return x; };
  Scale scale;
  switch (op.kind) {
    case Binary::Kind::kAdd:
      scale = {filled(in.output_shape(), 1), broadcast_constant(in, c, same)};
      break;
    case Binary::Kind::kSub:
      scale = {filled(in.output_shape(), computed == 0 ? 1 : -1),
               computed == 0 ? broadcast_constant(in, c, negate) : broadcast_constant(in, c, same)};
      break;
    case Binary::Kind::kMul:
      scale = {broadcast_constant(in, c, same), filled(in.output_shape(), 0)};
      break;
    case Binary::Kind::kDiv:
      scale = {broadcast_constant(in, c,
                                  [](const Bounded& x) {
                                    return divide({1, 0}, x);
                                  }),
               filled(in.output_shape(), 0)};
      break;
  }
  return scale_nodes(graph, in.node, in.node.inputs[computed], std::move(scale));
}

template <class Other>  // the operators of a normalised graph
std::vector<Node> lower(const Other&, const Operands&, Graph&) {
  return {};
}

}  // namespace

Problem lowering_problem(const Graph& graph, const Node& node, const Literals& literals) {
  const Operands in{graph, node, literals};
  return std::visit([&](const auto& op) { return find_problem(op, in); }, node.op);
}

void lower_affine(Graph& graph) {
  Literals literals = literal_values(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (lowering_problem(graph, node, literals)) continue;
    replacements[i] = std::visit(
        [&](const auto& op) {
          return lower(op, Operands{graph, node, literals}, graph);
        },
        node.op);
    literals.resize(graph.values.size(), nullptr);  // values that were added are computed
  }
  replace_nodes(graph, std::move(replacements));
}

}  // namespace bf
