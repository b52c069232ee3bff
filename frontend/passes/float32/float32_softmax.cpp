#include "frontend/passes/float32/float32_softmax.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), maker_(producers(graph)), uses_(count_uses(graph)) {}

  // The nodes of the one that ends in node `last`, from there backward; and the group's elements.
  bool find(int last, std::array<int, 7>& chain, std::int64_t& terms) const {
    chain[0] = last;
    for (std::size_t k = 1; k < chain.size(); ++k) {
      const ValueId input = node(chain[k - 1]).inputs.at(0);
      chain[k] = maker_[index_of(input)];
      if (chain[k] < 0 || uses_[index_of(input)] != 1) return false;
    }
    terms = terms_of_sum(node(chain[4])) + 1;
    return is_clip(node(last), 0, 1) && is_shift(node(chain[1])) &&
           is(node(chain[2]), FunctionKind::kReciprocal) && is_clip(node(chain[3]), 1, HUGE_VAL) &&
           terms > 1 && is(node(chain[5]), FunctionKind::kCappedExp) &&
           is_difference(node(chain[6]));
  }

  static bool is_clip(const Node& node, double low, double high) {
    const auto* const unary = std::get_if<Unary>(&node.op);
    return is(node, FunctionKind::kClip) && unary->function.a == low && unary->function.b == high;
  }

 private:
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  static bool is(const Node& node, FunctionKind kind) {
    const auto* const unary = std::get_if<Unary>(&node.op);
    return unary != nullptr && unary->function.kind == kind;
  }
  static bool all(const Constant& constant, double x) {
    return std::ranges::all_of(constant.data, [x](double y) { return y == x; });
  }
  // Returns true for x + 0, which carries the error that capped powers leave.
  static bool is_shift(const Node& node) {
    const auto* const scale = std::get_if<Scale>(&node.op);
    return scale != nullptr && all(scale->offset, 0) && all(scale->factor, 1);
  }
  static std::int64_t row(const SparseAffine& op, std::size_t i) {
    return op.row_start[i + 1] - op.row_start[i];
  }
  // 0: it is not 1 + the sum of each row.
  static std::int64_t terms_of_sum(const Node& node) {
    const auto* const op = std::get_if<SparseAffine>(&node.op);
    if (op == nullptr || !all(op->value, 1) || !all(op->bias, 1)) return 0;
    std::int64_t most = 0;
    for (std::size_t i = 0; i + 1 < op->row_start.size(); ++i) most = std::max(most, row(*op, i));
    return most;
  }
  static bool is_difference(const Node& node) {
    const auto* const op = std::get_if<SparseAffine>(&node.op);
    if (op == nullptr || !all(op->bias, 0)) return false;
    for (std::size_t i = 0; i + 1 < op->row_start.size(); ++i) {
      const auto first = static_cast<std::size_t>(op->row_start[i]);
      if (row(*op, i) != 2 || std::abs(op->value.data[first]) != 1 ||
          op->value.data[first] + op->value.data[first + 1] != 0)
        return false;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<int> maker_;
  std::vector<int> uses_;
};

}  // namespace

Softmaxes find_softmaxes(const Graph& graph) {
  const Finder finder(graph);
  Softmaxes found{std::vector<bool>(graph.nodes.size(), false),
                  std::vector<std::int64_t>(graph.nodes.size(), 0)};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!Finder::is_clip(graph.nodes[i], 0, 1)) continue;
    std::array<int, 7> chain{};
    std::int64_t terms = 0;
    if (!finder.find(static_cast<int>(i), chain, terms)) continue;
    found.terms[i] = terms;
    for (std::size_t k = 1; k < chain.size(); ++k)
      found.inside[static_cast<std::size_t>(chain[k])] = true;
  }
  return found;
}

SoftmaxError softmax_in_float32(std::int64_t terms, double libm_ulps) {
  constexpr double kUnit = 0x1p-24;
  constexpr double kSecondOrder = 1 + 0x1p-10;
  // Two exponentials of 2 ulps each; the sum; a quotient, or an inverse and a product; what rounded
  // arguments do to the sum: ln n < 14 for n <= 2^20.
  BF_CHECK(terms <= std::int64_t{1} << 20);
  const double units = 4 * libm_ulps + static_cast<double>(terms) + 2 + 14;
  // The absolute error: the numerator's rounded argument t moves it by t e^t u <= u / e; the rest
  // pays for what is subnormal.
  return {units * kUnit / (1 - units * kUnit) * kSecondOrder, 0.5 * kUnit + 0x1p-123};
}

}  // namespace bf_aot
