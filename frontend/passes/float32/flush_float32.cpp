#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

// Products of numbers that may be taken for zero (docs/proofs/float32.md).

namespace bf_aot {
namespace {

// Weights below this may be subnormal, as far as bounds of constants tell. They are left out. The
// reach is such that no activation is above kMostBesideTiny, so that each misses kOfTiny at most.
constexpr double kTiny = 0x1p-118;
constexpr double kMostBesideTiny = 0x1p60;
constexpr double kOfTiny = 0x1p-58;
// >= 1 + gamma of the sums that a product enters.
constexpr double kInSums = 1.25;

class Flusher {
 public:
  explicit Flusher(Graph& graph) : graph_(graph), literals_(literal_values(graph)) {}

  void run() {
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      node_ = graph_.nodes[i];
      before_.clear();
      missed_ = 0;
      if (!std::visit([&](auto& op) { return visit(op); }, node_.op)) continue;
      replacements[i] = std::move(before_);
      append(replacements[i]);
    }
    literals_.clear();
    replace_nodes(graph_, std::move(replacements));
    if (tiny_) limit_float32_reach(graph_, kMostBesideTiny);
  }

 private:
  // The node, whose result misses missed_.
  void append(std::vector<Node>& made) {
    if (missed_ == 0) return made.push_back(std::move(node_));
    const ValueId result = node_.output;
    const Shape shape = graph_.value(result).shape;
    const ValueId exact = graph_.add_value(graph_.value(result).name + "_kept", shape);
    Scale scale{filled(shape, 1), filled(shape, 0)};
    scale.offset.error.assign(scale.offset.data.size(), missed_);
    const Origin origin = node_.origin;
    node_.output = exact;
    made.push_back(std::move(node_));
    made.push_back({std::move(scale), {exact}, result, origin});
  }

  const Constant* literal(std::size_t i) const {
    return i < node_.inputs.size() ? literals_[index_of(node_.inputs[i])] : nullptr;
  }

  // Leaves out element i where it may be subnormal; what that misses.
  double drop_tiny(Constant& weight, std::size_t i) {
    const double size = magnitude(weight, i);
    if (size == 0 || size > kTiny) return 0;
    weight.data[i] = 0;
    if (!weight.error.empty()) weight.error[i] = 0;
    tiny_ = true;
    return kOfTiny;
  }

  // Bounds what the product of element i misses for an input that may be taken for zero.
  double of_product(Constant& weight, std::size_t i) {
    const double dropped = drop_tiny(weight, i);
    return add_up(dropped, mul_up(kInSums * kLeastNormalFloat, magnitude(weight, i)));
  }

  // Input number i is this constant from now on.
  void replace_literal(std::size_t i, Constant constant) {
    const ValueId old = node_.inputs[i];
    const ValueId made = graph_.add_value(graph_.value(old).name + "_normal", constant.shape);
    before_.push_back({Literal{std::move(constant)}, {}, made, node_.origin});
    node_.inputs[i] = made;
  }

  // Rows of so many elements each.
  void add_rows(Constant& weight, std::size_t length, Constant& bias) {
    double most = 0;
    for (std::size_t i = 0; i < weight.data.size(); i += length) {
      double sum = 0;
      for (std::size_t k = i; k < i + length; ++k) sum = add_up(sum, of_product(weight, k));
      most = std::max(most, sum);
    }
    add_error(most, bias);
  }
  static void add_error(double error, Constant& constant) {
    if (constant.error.empty()) constant.error.assign(constant.data.size(), 0);
    for (double& each : constant.error) each = add_up(each, error);
  }

  bool visit(Affine& op) {
    add_rows(op.weight, static_cast<std::size_t>(op.weight.shape.back()), op.bias);
    return true;
  }
  bool visit(Conv& op) {
    add_rows(op.weight, static_cast<std::size_t>(op.geometry.in_group() * op.geometry.taps()),
             op.bias);
    return true;
  }
  bool visit(SparseAffine& op) {
    double most = 0;
    for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i) {
      double sum = 0;
      for (auto k = static_cast<std::size_t>(op.row_start[i]);
           k < static_cast<std::size_t>(op.row_start[i + 1]); ++k)
        sum = add_up(sum, of_product(op.value, k));
      most = std::max(most, sum);
    }
    add_error(most, op.bias);
    return true;
  }
  bool visit(Scale& op) {
    double most = 0;
    for (std::size_t i = 0; i < op.factor.data.size(); ++i)
      most = std::max(most, of_product(op.factor, i));
    add_error(most, op.offset);
    return true;
  }

  bool visit(MatMul& op) { return product(product_layout(op, shape(0), shape(1)), 1); }
  bool visit(Gemm& op) {
    const bool changed = product(product_layout(op, shape(0), shape(1)), std::abs(op.alpha));
    if (node_.inputs.size() > 2)
      missed_ = add_up(missed_, mul_up(kInSums * kLeastNormalFloat, std::abs(op.beta)));
    return changed || missed_ > 0;
  }
  bool product(const ProductLayout& layout, double alpha) {
    const bool second = literal(1) != nullptr;
    if (literal(second ? 1 : 0) == nullptr) return false;
    Constant weight = *literal(second ? 1 : 0);
    // A factor that several batches read is changed once.
    std::vector<double> missed(weight.data.size());
    for (std::size_t i = 0; i < missed.size(); ++i) missed[i] = of_product(weight, i);
    for (std::int64_t batch = 0; batch < layout.batch(); ++batch)
      for (std::int64_t i = 0; i < (second ? layout.n : layout.m); ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < layout.k; ++l)
          sum = add_up(sum, missed[static_cast<std::size_t>(second ? layout.b(batch, l, i)
                                                                   : layout.a(batch, i, l))]);
        missed_ = std::max(missed_, mul_up(std::max(1.0, alpha), sum));
      }
    replace_literal(second ? 1 : 0, std::move(weight));
    return true;
  }

  bool visit(Binary& op) {
    if (op.kind == Binary::Kind::kDiv) return quotient();
    if (op.kind != Binary::Kind::kMul) return false;
    const std::size_t c = literal(1) != nullptr ? 1 : 0;
    if (literal(c) == nullptr) return false;
    Constant factor = *literal(c);
    for (std::size_t i = 0; i < factor.data.size(); ++i)
      missed_ = std::max(missed_, of_product(factor, i));
    replace_literal(c, std::move(factor));
    return true;
  }
  bool quotient() {
    const Constant* const divisor = literal(1);
    if (divisor == nullptr) return false;
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < divisor->data.size(); ++i)
      least = std::min(least, std::abs(divisor->data[i]) - divisor->error_at(i));
    if (!(least >= kLeastNormalFloat))
      fail("BF2110", node_.origin, "a divisor may be subnormal, and taken for zero",
           "leave --flush-to-zero out where the machine keeps subnormal numbers");
    missed_ = mul_up(2 * kLeastNormalFloat, 1 / least);
    return true;
  }

  // Exact, or their inputs were made uncertain; of sums round_float32() has it.
  bool visit(Literal&) { return false; }
  bool visit(IndexMap&) { return false; }
  bool visit(Relu&) { return false; }
  bool visit(Unary&) { return false; }
  bool visit(GroupMax&) { return false; }
  bool visit(LogSoftmax&) { return false; }
  bool visit(Contraction&) { return false; }

  const Shape& shape(std::size_t i) const { return graph_.value(node_.inputs[i]).shape; }

  Graph& graph_;
  std::vector<const Constant*> literals_;
  Node node_;
  std::vector<Node> before_;
  double missed_ = 0;
  bool tiny_ = false;
};

}  // namespace

void flush_inputs(Graph& graph) {
  Flusher(graph).run();
}

}  // namespace bf_aot
