#include "frontend/fold_node.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/evaluate_node.h"
#include "frontend/function_bounded.h"
#include "frontend/passes/affine_algebra.h"

namespace bf_aot {
namespace {

constexpr Bounded kNoBound{std::numeric_limits<double>::quiet_NaN(), 0};

struct BoundedArithmetic {
  using Number = Bounded;
  using Accumulator = Sum;

  static Bounded constant(const Constant& constant, std::size_t i) {
    return bounded_at(constant, i);
  }
  static Bounded number(double x) { return {x, 0}; }
  static Bounded add(const Bounded& a, const Bounded& b) { return bf_aot::add(a, b); }
  static Bounded subtract(const Bounded& a, const Bounded& b) { return bf_aot::add(a, negate(b)); }
  static Bounded multiply(const Bounded& a, const Bounded& b) { return bf_aot::multiply(a, b); }
  static Bounded divide(const Bounded& a, const Bounded& b) {
    return can_divide_by(b) ? bf_aot::divide(a, b) : kNoBound;
  }
  static Bounded relu(const Bounded& a) { return bf_aot::relu(a); }
  // |max a - max b| <= max |a - b|.
  static Bounded larger(const Bounded& a, const Bounded& b) {
    return {std::max(a.value, b.value), std::max(a.error, b.error)};
  }
  static Bounded apply(const Function& f, const Bounded& x) {
    return bounded_function(f, x).value_or(kNoBound);
  }
};

bool may_have_no_bound(const Op& op) {
  const auto* binary = std::get_if<Binary>(&op);
  return std::holds_alternative<Unary>(op) ||
         (binary != nullptr && binary->kind == Binary::Kind::kDiv);
}

}  // namespace

std::optional<Constant> fold_node(const Graph& graph, const Node& node,
                                  const std::vector<const Constant*>& inputs) {
  if (const auto* literal = std::get_if<Literal>(&node.op)) return literal->value;
  std::vector<std::vector<Bounded>> tensors(inputs.size());
  std::vector<const std::vector<Bounded>*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs[i]->data.size(); ++j)
      tensors[i].push_back(bounded_at(*inputs[i], j));
    operands.push_back(&tensors[i]);
  }
  const std::vector<Bounded> result =
      NodeEvaluator<BoundedArithmetic>(graph, node, std::move(operands)).run();
  if (may_have_no_bound(node.op) && std::any_of(result.begin(), result.end(), [](const Bounded& x) {
        return std::isnan(x.value);
      }))
    return std::nullopt;
  ConstantBuilder constant(graph.value(node.output).shape);
  for (std::size_t i = 0; i < result.size(); ++i) constant.set(i, result[i]);
  return std::move(constant).finish(node.origin);
}

}  // namespace bf_aot
