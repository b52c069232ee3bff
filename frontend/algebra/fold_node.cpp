#include "frontend/algebra/fold_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/linear_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_bounded.h"
#include "frontend/graph/shapes.h"

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

constexpr double kOperations = 0x1p29;
constexpr double kPerElement = 256;
constexpr double kPerFunction = 64;  // rational arithmetic in many digits

// The unit is one product that is added. A double, since products of extents may overflow integers.
double operation_count(const Graph& graph, const Node& node) {
  const auto count = [&](ValueId id) {
    return static_cast<double>(element_count(graph.value(id).shape));
  };
  double operands = 0;
  for (const ValueId id : node.inputs) operands += count(id);
  const double results = count(node.output);
  const auto products = [&](const ProductLayout& layout) {
    return results * static_cast<double>(layout.k);
  };
  const auto shape = [&](std::size_t i) { return graph.value(node.inputs[i]).shape; };
  double work = results;
  if (const auto* matmul = std::get_if<MatMul>(&node.op))
    work = products(product_layout(*matmul, shape(0), shape(1)));
  else if (const auto* gemm = std::get_if<Gemm>(&node.op))
    work = products(product_layout(*gemm, shape(0), shape(1)));
  else if (std::holds_alternative<Unary>(node.op))
    work = kPerFunction * results;
  else if (const auto* conv = std::get_if<Conv>(&node.op))
    work = results * static_cast<double>(conv->geometry.in_group() * conv->geometry.taps());
  else if (is_linear(node.op))
    work = static_cast<double>(entry_count(node.op));
  else if (const auto* groups = std::get_if<GroupMax>(&node.op))
    work = static_cast<double>(groups->source.size());
  else if (const auto* softmax = std::get_if<LogSoftmax>(&node.op))
    work = 2 * kPerFunction * static_cast<double>(softmax->source.size());
  else if (const auto* contraction = std::get_if<Contraction>(&node.op))
    work = results * static_cast<double>(contraction->sums);
  return operands + results + work;
}

bool may_have_no_bound(const Op& op) {
  const auto* binary = std::get_if<Binary>(&op);
  return std::holds_alternative<Unary>(op) || std::holds_alternative<LogSoftmax>(op) ||
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

void FoldBudget::charge(const Graph& graph, const Node& node, std::int64_t stored) {
  spent_ += operation_count(graph, node);
  const double limit = kOperations + kPerElement * static_cast<double>(stored);
  if (spent_ > limit)
    fail("BF1028", node.origin,
         fmt::format("computing constants takes {:.0f} operations up to here, but a model that "
                     "stores {} elements may take {:.0f}",
                     spent_, stored, limit),
         "fold constants when exporting, and leave out what repeats data");
}

}  // namespace bf_aot
