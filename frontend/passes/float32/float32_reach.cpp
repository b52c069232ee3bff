#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_float32.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/float32/float32_softmax.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
};

class Magnitudes {
 public:
  explicit Magnitudes(const Graph& graph)
      : graph_(graph),
        literals_(literal_values(graph)),
        maker_(producers(graph)),
        softmaxes_(find_softmaxes(graph)) {
    for (const Node& node : graph.nodes)
      growth_.push_back(std::visit([&](const auto& op) { return growth_of(op, node); }, node.op));
  }

  // Finds a node whose result may be beyond `limit` for inputs up to this magnitude; else null.
  const Node* find_overflow(double input, double limit) const {
    std::vector<double> most(graph_.values.size(), input);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      double& y = most[index_of(node.output)];
      // Implementations subtract the largest element, or do not overflow.
      if (softmaxes_.inside[i]) {
        y = 1;
        continue;
      }
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
          return mul_up(a, b);
        case Binary::Kind::kDiv:
          return growth.factor == 0 ? kInfinity : mul_up(growth.factor, a);
      }
    }
    if (const auto* const unary = std::get_if<Unary>(&node.op)) {
      const Function& f = unary->function;
      if (f.kind == FunctionKind::kPower && f.a == -0.5)
        return mul_up(2, 1 / std::sqrt(least_variance(node.inputs[0])));
    }
    if (const auto* const unary = std::get_if<Unary>(&node.op))
      return largest_in_float32(unary->function, at(0));
    if (std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Gemm>(node.op)) {
      double y = mul_up(growth.factor, at(literal(node, 1) != nullptr ? 0 : 1));
      if (node.inputs.size() > 2) y = add_up(y, mul_up(growth.offset, at(2)));
      return y;
    }
    if (node.inputs.empty()) return growth.offset;
    return add_up(growth.offset, mul_up(growth.factor, at(0)));
  }

  const Node* maker(ValueId id) const {
    const int index = maker_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // Half of the least offset of a sum of squares with weights >= 0, times 1 with an error or not;
  // 0 of anything else.
  double least_variance(ValueId id) const {
    const Node* made = maker(id);
    for (; made != nullptr && std::holds_alternative<Scale>(made->op);
         made = maker(made->inputs[0])) {
      const auto& scale = std::get<Scale>(made->op);
      for (std::size_t i = 0; i < scale.factor.data.size(); ++i)
        if (scale.factor.data[i] != 1 || scale.factor.error_at(i) > 0.01 ||
            scale.offset.data[i] != 0 || scale.offset.error_at(i) > 0x1p-100)
          return 0;
    }
    if (made == nullptr || !std::holds_alternative<SparseAffine>(made->op)) return 0;
    const auto& sum = std::get<SparseAffine>(made->op);
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < sum.bias.data.size(); ++i)
      least = std::min(least, sum.bias.data[i] - sum.bias.error_at(i));
    for (std::size_t i = 0; i < sum.value.data.size(); ++i)
      if (sum.value.data[i] < sum.value.error_at(i)) return 0;
    return is_square(made->inputs[0]) && least > 0x1p-60 ? least / 2 : 0;
  }
  bool is_square(ValueId id) const {
    const Node* made = maker(id);
    while (made != nullptr && std::holds_alternative<Scale>(made->op))
      made = maker(made->inputs[0]);
    const auto* const unary = made == nullptr ? nullptr : std::get_if<Unary>(&made->op);
    return unary != nullptr && unary->function.kind == FunctionKind::kPower &&
           unary->function.a == 2;
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
  Softmaxes softmaxes_;
  std::vector<Growth> growth_;
};

}  // namespace

// Half of the largest float: a partial sum is at most 1 + gamma times what is counted here.
void find_float32_reach(Graph& graph) {
  limit_float32_reach(graph, 0x1p127);
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
       "leave --semantics out: bounds hold for the network in real arithmetic then");
}

}  // namespace bf_aot
