#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "frontend/evaluate_node.h"
#include "frontend/function_exact.h"
#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

struct BoundedArithmetic {
  using Number = Bounded;
  using Accumulator = Sum;

  static Bounded constant(const Constant& constant, std::size_t i) {
    return bounded_at(constant, i);
  }
  static Bounded number(double x) { return {x, 0}; }
  static Bounded add(const Bounded& a, const Bounded& b) { return bf::add(a, b); }
  static Bounded subtract(const Bounded& a, const Bounded& b) { return bf::add(a, negate(b)); }
  static Bounded multiply(const Bounded& a, const Bounded& b) { return bf::multiply(a, b); }
  static Bounded divide(const Bounded& a, const Bounded& b) { return bf::divide(a, b); }
  static Bounded relu(const Bounded& a) { return bf::relu(a); }
  // |max a - max b| <= max |a - b|.
  static Bounded larger(const Bounded& a, const Bounded& b) {
    return {std::max(a.value, b.value), std::max(a.error, b.error)};
  }
  static Bounded apply(const Function& function, const Bounded& x) {
    BF_CHECK(x.error == 0);
    const mpq_class exact = evaluate_exact(function, mpq_class(x.value));
    const double value = exact.get_d();
    const mpq_class rest = abs(exact - mpq_class(value));
    return {value, rest == 0 ? 0 : next_up(rest.get_d()) + 0x1p-200 * (1 + std::abs(value))};
  }
};

bool divides_by_zero(const Op& op, const std::vector<const Constant*>& inputs) {
  const auto* binary = std::get_if<Binary>(&op);
  if (binary == nullptr || binary->kind != Binary::Kind::kDiv) return false;
  for (std::size_t i = 0; i < inputs[1]->data.size(); ++i)
    if (!can_divide_by(bounded_at(*inputs[1], i))) return true;
  return false;
}

// Of inexact constants only what propagates their errors here: a Lipschitz constant of 1.
bool is_foldable(const Op& op, const std::vector<const Constant*>& inputs) {
  if (!std::holds_alternative<Unary>(op)) return !divides_by_zero(op, inputs);
  return inputs[0]->is_exact() &&
         std::all_of(inputs[0]->data.begin(), inputs[0]->data.end(), [&](double x) {
           return std::isfinite(evaluate(std::get<Unary>(op).function, x));
         });
}

Constant evaluate_constants(const Graph& graph, const Node& node,
                            const std::vector<const Constant*>& inputs) {
  std::vector<std::vector<Bounded>> tensors(inputs.size());
  std::vector<const std::vector<Bounded>*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs[i]->data.size(); ++j)
      tensors[i].push_back(bounded_at(*inputs[i], j));
    operands.push_back(&tensors[i]);
  }
  const std::vector<Bounded> result =
      NodeEvaluator<BoundedArithmetic>(graph, node, std::move(operands)).run();
  ConstantBuilder constant(graph.value(node.output).shape);
  for (std::size_t i = 0; i < result.size(); ++i) constant.set(i, result[i]);
  return std::move(constant).finish(node.origin);
}

}  // namespace

void fold_constants(Graph& graph) {
  std::vector<const Constant*> literals = literal_values(graph);
  for (Node& node : graph.nodes) {
    if (std::holds_alternative<Literal>(node.op)) continue;
    std::vector<const Constant*> inputs;
    for (ValueId id : node.inputs) inputs.push_back(literals[index_of(id)]);
    if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) continue;
    if (!is_foldable(node.op, inputs)) continue;
    node.op = Literal{evaluate_constants(graph, node, inputs)};
    node.inputs.clear();
    literals[index_of(node.output)] = &std::get<Literal>(node.op).value;
  }
}

}  // namespace bf
