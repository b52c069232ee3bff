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

// Numbers that are divided by a norm of numbers that they are among:
//   y_k = x_k / g, g >= (b + sum_j w_j |x_j|^p)^(1/p), b >= 0, w_j >= 0, k among the j, p = 1 or 2:
//   |y_k| <= w_k^(-1/p)
class NormFinder {
 public:
  NormFinder(const Graph& graph, const std::vector<Reach>& reaches)
      : graph_(graph), reaches_(reaches), makers_(producers(graph)) {}

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
  static bool is_inverse(const Function& f) {
    return f.kind == FunctionKind::kReciprocal || is_power(f, -1);
  }
  // max(x, a), which a divisor is enlarged by.
  static bool is_lower_limit(const Function& f) {
    return f.kind == FunctionKind::kClip && f.b == kUnbounded;
  }
  // The p with which functions, outward from the sum, are the inverse of a norm; 0 for none.
  static int exponent_of(const std::vector<Function>& outward) {
    if (outward.size() == 1) return is_inverse(outward[0]) ? 1 : is_power(outward[0], -0.5) ? 2 : 0;
    if (outward.size() != 2 || !is_inverse(outward[1])) return 0;
    return outward[0].kind == FunctionKind::kSqrt || is_power(outward[0], 0.5) ? 2 : 0;
  }

  // Returns true if `terms` are the |x_j|^p.
  bool are_terms(ValueId terms, ValueId x, int p) const {
    if (p == 1 && terms == x) return reaches_[index_of(x)].low >= 0;
    const Node* const node = maker(terms);
    const auto* const unary = node == nullptr ? nullptr : std::get_if<Unary>(&node->op);
    if (unary == nullptr || node->inputs[0] != x) return false;
    return p == 1 ? unary->function.kind == FunctionKind::kAbs : is_power(unary->function, 2);
  }

  // The sum that an inverse norm is made of, its functions but limits below the inverse, and the
  // sum's row for each of its elements.
  struct Inverse {
    const Node* sum;
    std::vector<Function> functions;
    std::vector<std::int64_t> row;
  };
  Inverse inverse_at(ValueId id) const {
    Inverse made{nullptr, {}, {}};
    for (std::int64_t k = 0; k < element_count(graph_.value(id).shape); ++k) made.row.push_back(k);
    const Node* node = maker(id);
    for (; node != nullptr; node = maker(node->inputs[0])) {
      if (const auto* const map = std::get_if<IndexMap>(&node->op)) {
        for (std::int64_t& i : made.row) i = map->source[static_cast<std::size_t>(i)];
      } else if (const auto* const unary = std::get_if<Unary>(&node->op)) {
        if (made.functions.empty() || !is_lower_limit(unary->function))
          made.functions.insert(made.functions.begin(), unary->function);
      } else if (made.functions.empty() || !std::holds_alternative<Relu>(node->op)) {
        break;
      }
    }
    made.sum = node;
    return made;
  }

  double most(ValueId x, ValueId inverse) const {
    const Inverse of = inverse_at(inverse);
    const auto* const sums = of.sum == nullptr ? nullptr : std::get_if<SparseAffine>(&of.sum->op);
    const int p = exponent_of(of.functions);
    if (sums == nullptr || p == 0 || !are_terms(of.sum->inputs[0], x, p) ||
        !are_not_negative(sums->value) || !are_not_negative(sums->bias))
      return 0;
    double least = kUnbounded;
    for (std::size_t k = 0; k < of.row.size(); ++k)
      least = std::min(least, weight_of(*sums, of.row[k], static_cast<std::int64_t>(k)));
    const double most = 1 / (p == 1 ? least : std::sqrt(least)) * (1 + 0x1p-50);
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
  const std::vector<Reach>& reaches_;
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
  const NormFinder norms(graph, reaches);
  for (Node& node : graph.nodes)
    if (auto* const product = std::get_if<Binary>(&node.op);
        product != nullptr && product->kind == Binary::Kind::kMul)
      product->most = norms.most(node);
}

}  // namespace bf_aot
