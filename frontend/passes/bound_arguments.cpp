// Finds intervals that the exact arguments of functions of restricted domain never leave, by
// interval arithmetic over whole tensors, rounded outward: docs/proofs/functions.md.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_range.h"
#include "frontend/graph/graph.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/numbers/numbers.h"
#include "frontend/passes/passes.h"

namespace bf_aot {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Holds every element of a tensor, for all inputs of the network.
struct Reach {
  double low = -kInf;
  double high = kInf;
};

Bounded element(const Constant& constant, std::size_t i) {
  return {constant.data[i], constant.error_at(i)};
}

// Makes the reach of a sum of products: each term takes the end of its factor's reach that makes it
// least or largest.
class ReachOfSum {
 public:
  void add(const Bounded& weight, const Reach& x) {
    if (weight.value == 0 && weight.error == 0) return;
    if (weight.value >= weight.error) {
      low_.add(weight, x.low);
      high_.add(weight, x.high);
    } else if (-weight.value >= weight.error) {
      low_.add(weight, x.high);
      high_.add(weight, x.low);
    } else {
      low_.known = high_.known = false;
    }
  }
  // Adds a term that some rows have, and others leave out.
  void add_or_leave_out(const Bounded& weight, const Reach& x) {
    add(weight, {std::min(x.low, 0.0), std::max(x.high, 0.0)});
  }
  void add(const Bounded& x) {
    low_.sum.add(x);
    high_.sum.add(x);
  }

  Reach result() const { return {-low_.outward(-1), high_.outward(1)}; }

 private:
  struct End {
    Sum sum;
    bool known = true;

    void add(const Bounded& weight, double x) {
      if (std::isfinite(x))
        sum.add_product(weight, {x, 0});
      else
        known = false;
    }
    // Returns sign times the sum, rounded up.
    double outward(double sign) const {
      const Bounded made = sum.result();
      if (!known || !std::isfinite(made.value) || !std::isfinite(made.error)) return kInf;
      const DoublePair end = two_sum(sign * made.value, made.error);
      return end.low > 0 ? std::nextafter(end.high, kInf) : end.high;
    }
  };
  End low_, high_;
};

// Returns the reach of all rows of a layer that reads x. terms(i, sum) adds row i's terms to its
// bias.
template <typename Terms>
Reach reach_of_rows(const Constant& bias, const Reach& x, const Terms& terms) {
  const bool nothing_known = x.low == -kInf && x.high == kInf;
  if (bias.data.empty() || nothing_known) return {};
  Reach all = {kInf, -kInf};
  for (std::size_t i = 0; i < bias.data.size(); ++i) {
    ReachOfSum sum;
    sum.add(element(bias, i));
    terms(i, sum);
    const Reach row = sum.result();
    all = {std::min(all.low, row.low), std::max(all.high, row.high)};
  }
  return all;
}

Reach reach_of(const Affine& op, const Reach& x) {
  return reach_of_rows(op.bias, x, [&](std::size_t i, ReachOfSum& sum) {
    const std::size_t columns = op.weight.data.size() / op.bias.data.size();
    for (std::size_t k = 0; k < columns; ++k) sum.add(element(op.weight, i * columns + k), x);
  });
}

Reach reach_of(const SparseAffine& op, const Reach& x) {
  return reach_of_rows(op.bias, x, [&](std::size_t i, ReachOfSum& sum) {
    for (std::int64_t k = op.row_start[i]; k < op.row_start[i + 1]; ++k)
      sum.add(element(op.value, static_cast<std::size_t>(k)), x);
  });
}

// Windows at an image's edge, and transposed ones, leave taps out.
Reach reach_of(const Conv& op, const Reach& x) {
  return reach_of_rows(op.bias, x, [&](std::size_t i, ReachOfSum& sum) {
    const std::size_t taps = op.weight.data.size() / op.bias.data.size();
    for (std::size_t k = 0; k < taps; ++k)
      sum.add_or_leave_out(element(op.weight, i * taps + k), x);
  });
}

Reach reach_of(const Scale& op, const Reach& x) {
  return reach_of_rows(op.offset, x,
                       [&](std::size_t i, ReachOfSum& sum) { sum.add(element(op.factor, i), x); });
}

Reach reach_of(const Relu&, const Reach& x) {
  return {std::max(x.low, 0.0), std::max(x.high, 0.0)};
}

// Returns the reach of a function's value at one end of its argument's.
Reach at_end(const Function& f, double x) {
  if (!std::isfinite(x)) return {};
  const auto range = exact_range(f, mpq_class(x), mpq_class(x));
  if (!range) return {};
  return {vnnlib::enclose(range->low, {}).below, vnnlib::enclose(range->high, {}).above};
}

bool is_even_power(const Function& f) {
  return f.kind == FunctionKind::kPower && std::fmod(f.a, 2) == 0;
}

Reach reach_of(const Unary& op, const Reach& x) {
  const Function& f = op.function;
  const FunctionFacts& facts = facts_of(f.kind);
  Reach made = {facts.values.low, facts.values.high};
  if (f.kind == FunctionKind::kClip && f.a <= f.b) made = {f.a, f.b};
  if (f.kind == FunctionKind::kQuantise) made = {f.b, f.c};
  const bool positive_power = f.kind == FunctionKind::kPower || f.kind == FunctionKind::kReciprocal;
  if (f.kind == FunctionKind::kAbs || is_even_power(f) || (positive_power && x.low >= 0))
    made.low = std::max(made.low, 0.0);
  const Monotony monotony = facts.monotony(f);
  if (monotony == Monotony::kRises) {
    made.low = std::max(made.low, at_end(f, x.low).low);
    made.high = std::min(made.high, at_end(f, x.high).high);
  } else if (monotony == Monotony::kFalls) {
    made.low = std::max(made.low, at_end(f, x.high).low);
    made.high = std::min(made.high, at_end(f, x.low).high);
  }
  return made;
}

// A product is not negative where no factor is.
Reach reach_of(const Binary& op, const Reach& a, const Reach& b) {
  if (op.kind == Binary::Kind::kMul) return a.low >= 0 && b.low >= 0 ? Reach{0, kInf} : Reach{};
  if (op.kind != Binary::Kind::kAdd) return {};
  ReachOfSum sum;
  sum.add({1, 0}, a);
  sum.add({1, 0}, b);
  return sum.result();
}

Reach reach_of(const LogSoftmax&, const Reach&) {
  return {-kInf, 0};
}

Reach reach_of(const Node& node, const std::vector<Reach>& reaches) {
  const auto input = [&](std::size_t k) { return reaches[index_of(node.inputs[k])]; };
  return std::visit(
      [&](const auto& op) -> Reach {
        using O = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<O, Binary>) {
          return reach_of(op, input(0), input(1));
        } else if constexpr (std::is_same_v<O, IndexMap> || std::is_same_v<O, GroupMax>) {
          return input(0);
        } else if constexpr (std::is_same_v<O, Literal> || std::is_same_v<O, MatMul> ||
                             std::is_same_v<O, Gemm> || std::is_same_v<O, Contraction>) {
          return {};
        } else {
          return reach_of(op, input(0));
        }
      },
      node.op);
}

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
    double least = kInf;
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
    return std::nextafter(op.value.data[i] - op.value.error_at(i), -kInf);
  }

  const Graph& graph_;
  std::vector<int> makers_;
};

}  // namespace

void bound_arguments(Graph& graph) {
  // The pass reads all weights, which other networks need not wait for.
  if (std::ranges::none_of(graph.nodes, [](const Node& node) { return is_sensitive(node); }))
    return;
  std::vector<Reach> reaches(graph.values.size());
  for (Node& node : graph.nodes) {
    if (auto* unary = std::get_if<Unary>(&node.op))
      limit_argument(unary->function, reaches[index_of(node.inputs[0])]);
    reaches[index_of(node.output)] = reach_of(node, reaches);
  }
  const NormFinder norms(graph);
  for (Node& node : graph.nodes)
    if (auto* const product = std::get_if<Binary>(&node.op);
        product != nullptr && product->kind == Binary::Kind::kMul)
      product->most = norms.most(node);
}

}  // namespace bf_aot
