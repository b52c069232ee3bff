#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_float32.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/float32/float32_facts.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Half of the largest float: a partial sum is at most 1 + gamma times what is counted here.
constexpr double kMostFloat32 = 0x1p127;

double largest(const Constant& constant) {
  double most = 0;
  for (std::size_t i = 0; i < constant.data.size(); ++i)
    most = std::max(most, magnitude(constant, i));
  return most;
}

// The largest sum of magnitudes of one output, in a product with one constant factor.
double row_norm(const ProductLayout& layout, const Constant& constant, bool second) {
  double most = 0;
  for (std::int64_t batch = 0; batch < layout.batch(); ++batch)
    for (std::int64_t i = 0; i < (second ? layout.n : layout.m); ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < layout.k; ++l) {
        const std::int64_t at = second ? layout.b(batch, l, i) : layout.a(batch, i, l);
        sum = add_up(sum, magnitude(constant, static_cast<std::size_t>(at)));
      }
      most = std::max(most, sum);
    }
  return most;
}

// Sums of magnitudes of so many numbers each.
double row_norm(const Constant& constant, std::size_t length) {
  double most = 0;
  for (std::size_t i = 0; i < constant.data.size(); i += length) {
    double sum = 0;
    for (std::size_t k = i; k < i + length; ++k) sum = add_up(sum, magnitude(constant, k));
    most = std::max(most, sum);
  }
  return most;
}

// y <= factor x + offset in magnitude, for the largest magnitudes of a node's inputs and output.
struct Growth {
  double factor = 0, offset = 0;
  // The result of a product is at most `limit`, and `beside` times the larger operand besides.
  double limit = kInfinity, beside = 0;
};

class Magnitudes {
 public:
  explicit Magnitudes(const Graph& graph)
      : graph_(graph),
        literals_(literal_values(graph)),
        maker_(producers(graph)),
        least_(least_values(graph)) {
    for (const Node& node : graph.nodes)
      growth_.push_back(std::visit([&](const auto& op) { return growth_of(op, node); }, node.op));
  }

  // Finds a node whose result may be beyond `limit` for inputs up to this magnitude; else null.
  const Node* find_overflow(double input, double limit) const {
    std::vector<double> most(graph_.values.size(), input);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      double& y = most[index_of(node.output)];
      y = result(node, growth_[i], most);
      if (!(y <= limit)) return &node;
    }
    return nullptr;
  }

 private:
  const Constant* literal(const Node& node, std::size_t i) const {
    return literals_[index_of(node.inputs[i])];
  }

  double result(const Node& node, const Growth& growth, const std::vector<double>& most) const {
    const auto at = [&](std::size_t i) { return most[index_of(node.inputs[i])]; };
    if (const auto* const binary = std::get_if<Binary>(&node.op)) {
      const double a = at(0), b = at(1);
      switch (binary->kind) {
        case Binary::Kind::kAdd:
        case Binary::Kind::kSub:
          return add_up(a, b);
        case Binary::Kind::kMul:
          return limited(mul_up(a, b), add_up(growth.limit, mul_up(std::max(a, b), growth.beside)));
        case Binary::Kind::kDiv:
          return mul_up(growth.factor == 0 ? largest_inverse(node.inputs[1]) : growth.factor, a);
      }
    }
    if (const auto* const unary = std::get_if<Unary>(&node.op))
      return of_function(unary->function, node.inputs[0], at(0));
    // Implementations subtract the largest element, or do not overflow.
    if (std::holds_alternative<LogSoftmax>(node.op)) return add_up(mul_up(2, at(0)), 14);
    if (std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Gemm>(node.op)) {
      double y = mul_up(growth.factor, at(literal(node, 1) != nullptr ? 0 : 1));
      if (node.inputs.size() > 2) y = add_up(y, mul_up(growth.offset, at(2)));
      return y;
    }
    if (const auto* const product = std::get_if<Contraction>(&node.op))
      return mul_up(static_cast<double>(product->sums), mul_up(at(0), at(1)));
    if (node.inputs.empty()) return growth.offset;
    return add_up(growth.offset, mul_up(growth.factor, at(0)));
  }

  // Powers of LogSoftmax are at most 1, and so is what is summed on the way.
  double of_function(const Function& f, ValueId x, double most) const {
    const Node* const made = maker(x);
    if (f.kind == FunctionKind::kExp && made != nullptr &&
        std::holds_alternative<LogSoftmax>(made->op))
      return 1;
    if (f.kind == FunctionKind::kReciprocal) return largest_inverse(x);
    if (f.kind != FunctionKind::kPower || f.a >= 0) return largest_in_float32(f, most);
    // The inverse of another power may be made of it.
    const Function inverse{f.kind, -f.a};
    if (!(largest_in_float32(inverse, most) <= kMostFloat32)) return kInfinity;
    return mul_up(std::pow(largest_inverse(x), -f.a), 1 + 0x1p-40);
  }

  // A Scale of 1 with errors, and how far its results may be below those of 1 and without: relative
  // by a half at most, and this absolute error. Negative: it is none.
  static double lost(const Scale& op) {
    double most = 0;
    for (std::size_t i = 0; i < op.factor.data.size(); ++i) {
      if (op.factor.data[i] != 1 || op.factor.error_at(i) > 0x1p-10 || op.offset.data[i] != 0)
        return -1;
      most = std::max(most, op.offset.error_at(i));
    }
    return most;
  }

  // The least of two bounds of a result, unless the product of the largest factors is so large that
  // forms which multiply before they subtract a mean could overflow on the way.
  static double limited(double product, double limit) {
    constexpr double kMostOnTheWay = 0x1p90;
    return product <= kMostOnTheWay ? std::min(product, limit) : product;
  }

  // The limit of x_k / sqrt(b + sum_j w_j x_j^2), k among the j, where `inverse` is this root's
  // inverse: docs/proofs/functions.md, norms. Infinite: it is none, or b pays for no errors.
  Growth own_norm(ValueId x, ValueId inverse) const {
    std::vector<std::int64_t> row(
        static_cast<std::size_t>(element_count(graph_.value(inverse).shape)));
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<std::int64_t>(k);
    double behind = 0, before = 0;  // errors of the root's inverse, and of the sum that it reads
    bool is_root = false;
    const Node* node = maker(inverse);
    for (; node != nullptr; node = maker(node->inputs[0])) {
      if (const auto* const map = std::get_if<IndexMap>(&node->op)) {
        for (std::int64_t& i : row) i = map->source[static_cast<std::size_t>(i)];
      } else if (const auto* const scale = std::get_if<Scale>(&node->op)) {
        if (lost(*scale) < 0) return {};
        (is_root ? before : behind) += lost(*scale);
      } else if (const auto* const unary = std::get_if<Unary>(&node->op);
                 unary != nullptr && !is_root && unary->function.kind == FunctionKind::kPower &&
                 unary->function.a == -0.5) {
        is_root = true;
      } else {
        break;
      }
    }
    const auto* const sum = node == nullptr ? nullptr : std::get_if<SparseAffine>(&node->op);
    if (sum == nullptr || !is_root) return {};
    const Node* square = maker(node->inputs[0]);
    double of_square = 0;
    for (; square != nullptr && std::holds_alternative<Scale>(square->op);
         square = maker(square->inputs[0])) {
      const double each = lost(std::get<Scale>(square->op));
      if (each < 0) return {};
      of_square += each;
    }
    const auto* const power = square == nullptr ? nullptr : std::get_if<Unary>(&square->op);
    if (power == nullptr || power->function.kind != FunctionKind::kPower ||
        power->function.a != 2 || square->inputs[0] != x)
      return {};
    double least = kInfinity;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const auto r = static_cast<std::size_t>(row[k]);
      double weights = 0, own = 0;
      for (auto i = static_cast<std::size_t>(sum->row_start[r]);
           i < static_cast<std::size_t>(sum->row_start[r + 1]); ++i) {
        const double w = sum->value.data[i] - sum->value.error_at(i);
        if (!(w >= 0)) return {};
        weights = add_up(weights, magnitude(sum->value, i));
        if (sum->column[i] == static_cast<std::int64_t>(k)) own = w;
      }
      const double spare = sum->bias.data[r] - sum->bias.error_at(r);
      if (!(spare >= add_up(mul_up(weights, of_square), before) * 2)) return {};
      least = std::min(least, own);
    }
    if (!(least > 0)) return {};
    return {0, 0, mul_up(2, 1 / std::sqrt(least)), behind};
  }

  // >= 1 / |x|, where bounds of that are finite.
  double largest_inverse(ValueId x) const {
    const double least = least_[index_of(x)];
    if (least > 0) return mul_up(2, 1 / least);
    const Node* const made = maker(x);
    const auto* const scale = made == nullptr ? nullptr : std::get_if<Scale>(&made->op);
    if (scale == nullptr) return kInfinity;
    for (std::size_t i = 0; i < scale->offset.data.size(); ++i)
      if (!(scale->offset.error_at(i) >= kLeastDivisor)) return kInfinity;
    return 2 / kLeastDivisor;
  }

  const Node* maker(ValueId id) const {
    const int index = maker_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  Growth growth_of(const Literal& op, const Node&) const { return {0, largest(op.value)}; }
  Growth growth_of(const IndexMap&, const Node&) const { return {1, 0}; }
  Growth growth_of(const Relu&, const Node&) const { return {1, 0}; }
  Growth growth_of(const GroupMax&, const Node&) const { return {1, 0}; }
  Growth growth_of(const Unary&, const Node&) const { return {}; }
  Growth growth_of(const LogSoftmax&, const Node&) const { return {}; }
  Growth growth_of(const Contraction&, const Node&) const { return {}; }
  Growth growth_of(const Scale& op, const Node&) const {
    return {largest(op.factor), largest(op.offset)};
  }
  // A quotient by a constant grows by the inverse of its smallest divisor.
  Growth growth_of(const Binary& op, const Node& node) const {
    if (op.kind == Binary::Kind::kMul) {
      const Growth first = own_norm(node.inputs[0], node.inputs[1]);
      return first.limit < kInfinity ? first : own_norm(node.inputs[1], node.inputs[0]);
    }
    const Constant* const divisor = literal(node, 1);
    if (op.kind != Binary::Kind::kDiv || divisor == nullptr) return {};
    double least = kInfinity;
    for (std::size_t i = 0; i < divisor->data.size(); ++i)
      least = std::min(least, std::abs(divisor->data[i]) - divisor->error_at(i));
    return {least > 0 ? mul_up(2, 1 / least) : 0, 0};
  }
  Growth growth_of(const MatMul& op, const Node& node) const {
    return product(product_layout(op, shape(node, 0), shape(node, 1)), 1, 0, node);
  }
  Growth growth_of(const Gemm& op, const Node& node) const {
    return product(product_layout(op, shape(node, 0), shape(node, 1)),
                   std::max(1.0, std::abs(op.alpha)), std::max(1.0, std::abs(op.beta)), node);
  }
  Growth product(const ProductLayout& layout, double alpha, double beta, const Node& node) const {
    const bool second = literal(node, 1) != nullptr;
    const Constant* const constant = literal(node, second ? 1 : 0);
    if (constant == nullptr) return {kInfinity, beta};  // constants that could not be folded
    return {mul_up(alpha, row_norm(layout, *constant, second)), beta};
  }
  Growth growth_of(const Affine& op, const Node&) const {
    return {row_norm(op.weight, static_cast<std::size_t>(op.weight.shape.back())),
            largest(op.bias)};
  }
  Growth growth_of(const Conv& op, const Node&) const {
    return {
        row_norm(op.weight, static_cast<std::size_t>(op.geometry.in_group() * op.geometry.taps())),
        largest(op.bias)};
  }
  Growth growth_of(const SparseAffine& op, const Node&) const {
    Growth made{0, largest(op.bias)};
    for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i) {
      double sum = 0;
      for (auto k = static_cast<std::size_t>(op.row_start[i]);
           k < static_cast<std::size_t>(op.row_start[i + 1]); ++k)
        sum = add_up(sum, magnitude(op.value, k));
      made.factor = std::max(made.factor, sum);
    }
    return made;
  }
  const Shape& shape(const Node& node, std::size_t i) const {
    return graph_.value(node.inputs[i]).shape;
  }

  const Graph& graph_;
  std::vector<const Constant*> literals_;
  std::vector<int> maker_;
  std::vector<double> least_;
  std::vector<Growth> growth_;
};

}  // namespace

void find_float32_reach(Graph& graph) {
  limit_float32_reach(graph, kMostFloat32);
}

void limit_float32_reach(Graph& graph, double most) {
  const Magnitudes magnitudes(graph);
  constexpr double kLeastReach = 1;
  for (double reach = most; reach >= kLeastReach; reach /= 2)
    if (magnitudes.find_overflow(reach, most) == nullptr) {
      graph.float32_reach = std::min(graph.float32_reach, reach);
      return;
    }
  const Node* const node = magnitudes.find_overflow(kLeastReach, most);
  fail("BF2112", node->origin,
       "its result in float32 may overflow for inputs of magnitude 1, as far as weights tell",
       "use --semantics real: bounds hold for the network in exact arithmetic then");
}

}  // namespace bf_aot
