// Finds intervals that the exact arguments of functions of restricted domain never leave, by
// interval arithmetic over whole tensors, rounded outward: docs/proofs/functions.md.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "frontend/algebra/reach.h"
#include "frontend/functions/function_facts.h"
#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"

namespace bf_aot {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Returns true if rounding an argument outward may cost more than its rounding: where it may leave
// the domain, or pass a step; and where powers, as of Softmax, would exceed 1.
bool is_sensitive(const Function& f) {
  const FunctionFacts& facts = facts_of(f.kind);
  const FunctionDomain domain = facts.domain(f);
  return std::isfinite(domain.low) || std::isfinite(domain.high) || !domain.zero ||
         facts.integers || f.kind == FunctionKind::kExp;
}

bool is_sensitive(const Node& node) {
  const auto* const unary = std::get_if<Unary>(&node.op);
  return unary != nullptr && is_sensitive(unary->function);
}

// Takes ends that lie within the domain: what lies outside of it has no values to begin with.
void limit_argument(Function& f, const Reach& x) {
  const FunctionDomain domain = facts_of(f.kind).domain(f);
  const bool of_one_sign = domain.zero || x.low >= 0 || x.high <= 0;
  if (!is_sensitive(f) || !of_one_sign) return;
  if (x.low >= domain.low) f.least = x.low;
  if (x.high <= domain.high) f.most = x.high;
}

// Numbers that are divided by a root of their own mean square, as norms are:
//   y_k = x_k / sqrt(b + sum_j w_j x_j^2), b >= 0, w_j >= 0, k among the j: |y_k| <= 1 / sqrt(w_k).
class NormFinder {
 public:
  explicit NormFinder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  // The largest |y|, or 0 where the product is no such quotient.
  double most(const Node& product) const {
    for (const std::size_t side : {0U, 1U})
      if (const double found = most(product.inputs[side], product.inputs[1 - side]); found > 0)
        return found;
    return 0;
  }

 private:
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  static bool is_power(const Function& f, double exponent) {
    return f.kind == FunctionKind::kPower && f.a == exponent;
  }
  // x^(-1/2), in one function or two; outward from x.
  static bool is_inverse_root(const std::vector<Function>& outward) {
    if (outward.size() == 1) return is_power(outward[0], -0.5);
    if (outward.size() != 2) return false;
    const Function &root = outward[0], &inverse = outward[1];
    return (root.kind == FunctionKind::kSqrt || is_power(root, 0.5)) &&
           (inverse.kind == FunctionKind::kReciprocal || is_power(inverse, -1));
  }

  double most(ValueId x, ValueId inverse) const {
    std::vector<std::int64_t> row(
        static_cast<std::size_t>(element_count(graph_.value(inverse).shape)));
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<std::int64_t>(k);
    std::vector<Function> functions;
    const Node* node = maker(inverse);
    for (; node != nullptr; node = maker(node->inputs[0])) {
      if (const auto* const map = std::get_if<IndexMap>(&node->op)) {
        for (std::int64_t& i : row) i = map->source[static_cast<std::size_t>(i)];
      } else if (const auto* const unary = std::get_if<Unary>(&node->op)) {
        functions.insert(functions.begin(), unary->function);
      } else {
        break;
      }
    }
    const auto* const squares = node == nullptr ? nullptr : std::get_if<SparseAffine>(&node->op);
    if (squares == nullptr || !is_inverse_root(functions)) return 0;
    const Node* const square = maker(node->inputs[0]);
    const auto* const power = square == nullptr ? nullptr : std::get_if<Unary>(&square->op);
    if (power == nullptr || !is_power(power->function, 2) || square->inputs[0] != x ||
        !are_not_negative(squares->value) || !are_not_negative(squares->bias))
      return 0;
    double least = kUnbounded;
    for (std::size_t k = 0; k < row.size(); ++k)
      least = std::min(least, weight_of(*squares, row[k], static_cast<std::int64_t>(k)));
    const double most = 1 / std::sqrt(least) * (1 + 0x1p-50);
    return least > 0 && std::isfinite(most) ? most : 0;
  }

  static bool are_not_negative(const Constant& constant) {
    for (std::size_t i = 0; i < constant.data.size(); ++i)
      if (!(constant.data[i] >= constant.error_at(i))) return false;
    return true;
  }

  // A lower bound of the weight with which a row has a column; 0 where it has not.
  static double weight_of(const SparseAffine& op, std::int64_t row, std::int64_t column) {
    const auto begin = op.column.begin() + op.row_start[static_cast<std::size_t>(row)];
    const auto end = op.column.begin() + op.row_start[static_cast<std::size_t>(row) + 1];
    const auto found = std::lower_bound(begin, end, column);
    if (found == end || *found != column) return 0;
    const auto i = static_cast<std::size_t>(found - op.column.begin());
    return std::nextafter(op.value.data[i] - op.value.error_at(i), -kUnbounded);
  }

  const Graph& graph_;
  std::vector<int> makers_;
};

}  // namespace

void bound_arguments(Graph& graph) {
  // The pass reads all weights, which other networks need not wait for.
  if (std::ranges::none_of(graph.nodes, [](const Node& node) { return is_sensitive(node); }))
    return;
  const std::vector<Reach> reaches = reaches_of(graph);
  for (Node& node : graph.nodes)
    if (auto* unary = std::get_if<Unary>(&node.op))
      limit_argument(unary->function, reaches[index_of(node.inputs[0])]);
  const NormFinder norms(graph);
  for (Node& node : graph.nodes)
    if (auto* const product = std::get_if<Binary>(&node.op);
        product != nullptr && product->kind == Binary::Kind::kMul)
      product->most = norms.most(node);
}

}  // namespace bf_aot
