#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_facts.h"
#include "frontend/passes/passes.h"

namespace bf_aot {
namespace {

// A tensor whose elements compare as those of the output: y_i < y_j if and only if x_i < x_j, or
// x_i > x_j where `turned`.
struct Ordered {
  ValueId x;
  bool turned = false;
  bool left_out = false;  // a function lies between
};

bool is_everywhere(const FunctionDomain& domain) {
  return domain.low == -std::numeric_limits<double>::infinity() &&
         domain.high == std::numeric_limits<double>::infinity() && domain.zero && !domain.poles;
}

bool has_zero_parameter(const Function& function, int parameters) {
  return (parameters > 0 && function.a == 0) || (parameters > 1 && function.b == 0);
}

// f(x) < f(y) for all x < y.
bool rises_strictly(const Function& function) {
  const FunctionFacts& facts = facts_of(function.kind);
  return facts.strict && facts.monotony(function) == Monotony::kRises &&
         is_everywhere(facts.domain(function)) && !has_zero_parameter(function, facts.parameters);
}

bool has_function(const Node* node, const Function& function) {
  const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
  return unary != nullptr && unary->function == function;
}

bool all_are(const Constant& constant, double x) {
  return constant.is_exact() &&
         std::ranges::all_of(constant.data, [x](double y) { return y == x; });
}

// Import caps the powers of Softmax, which then stand for e^x, and lets x + 0 carry the error that
// this leaves. No other node makes capped powers.
bool moves_nothing(const Node& node) {
  const auto* const scale = std::get_if<Scale>(&node.op);
  return scale != nullptr && all_are(scale->factor, 1) &&
         std::ranges::all_of(scale->offset.data, [](double x) { return x == 0; });
}

class OrderFinder {
 public:
  explicit OrderFinder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  Ordered find(ValueId y) const {
    Ordered at{y};
    for (std::optional<Ordered> next = before(at); next; next = before(at)) at = *next;
    return at;
  }

 private:
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // Steps back over one node, or over the whole of a Softmax.
  std::optional<Ordered> before(const Ordered& at) const {
    const Node* const node = maker(at.x);
    if (node == nullptr) return std::nullopt;
    if (const auto* const map = std::get_if<IndexMap>(&node->op)) {
      for (std::size_t i = 0; i < map->source.size(); ++i)
        if (map->source[i] != static_cast<std::int64_t>(i)) return std::nullopt;
      return Ordered{node->inputs[0], at.turned, at.left_out};
    }
    if (const auto* const scale = std::get_if<Scale>(&node->op)) return before_scale(at, *scale);
    const auto* const unary = std::get_if<Unary>(&node->op);
    if (unary == nullptr) return std::nullopt;
    if (rises_strictly(unary->function)) return Ordered{node->inputs[0], at.turned, true};
    return before_sum(at, node);
  }

  std::optional<Ordered> before_scale(const Ordered& at, const Scale& scale) const {
    if (scale.factor.data.empty() || scale.offset.data.empty()) return std::nullopt;
    const double factor = scale.factor.data[0];
    if (factor == 0 || !all_are(scale.factor, factor) ||
        !all_are(scale.offset, scale.offset.data[0]))
      return std::nullopt;
    return Ordered{maker(at.x)->inputs[0], at.turned != (factor < 0), at.left_out};
  }

  // Functions of s_i = sum_j e^(x_j - x_i), as import writes Softmax and LogSoftmax: s_i >= 1, so
  // that clip(s, 1, inf) is s, 1 / s falls strictly, and ln s rises strictly; clip(1 / s, 0, 1) is
  // 1 / s. And ln of 1 / s falls strictly.
  std::optional<Ordered> before_sum(const Ordered& at, const Node* node) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    bool turned = at.turned;
    FunctionKind powers = FunctionKind::kExp;
    if (has_function(node, {FunctionKind::kLog})) node = maker(node->inputs[0]);
    if (has_function(node, {FunctionKind::kClip, 0, 1})) {
      node = maker(node->inputs[0]);
      if (node == nullptr || !moves_nothing(*node)) return std::nullopt;
      powers = FunctionKind::kCappedExp;
      node = maker(node->inputs[0]);
      if (!has_function(node, {FunctionKind::kReciprocal})) return std::nullopt;
      node = maker(node->inputs[0]);
      if (!has_function(node, {FunctionKind::kClip, 1, kInfinity})) return std::nullopt;
      node = maker(node->inputs[0]);
      turned = !turned;
    }
    const std::optional<ValueId> x = node != nullptr ? summed(*node, powers) : std::nullopt;
    if (!x) return std::nullopt;
    return Ordered{*x, !turned, true};  // s_i is e^-x_i times what is the same for all i
  }

  // x, where the node makes s_i = 1 + sum of e^(x_j - x_i) over all j other than i.
  std::optional<ValueId> summed(const Node& node, FunctionKind kind) const {
    const auto* const sum = std::get_if<SparseAffine>(&node.op);
    if (sum == nullptr || !all_are(sum->value, 1) || !all_are(sum->bias, 1)) return std::nullopt;
    const Node* const powers = maker(node.inputs[0]);
    const auto* const power = powers != nullptr ? std::get_if<Unary>(&powers->op) : nullptr;
    if (power == nullptr || power->function.kind != kind) return std::nullopt;
    const Node* const leads = maker(powers->inputs[0]);
    const auto* const difference =
        leads != nullptr ? std::get_if<SparseAffine>(&leads->op) : nullptr;
    if (difference == nullptr || !difference->value.is_exact() || !all_are(difference->bias, 0))
      return std::nullopt;
    const ValueId x = leads->inputs[0];
    const std::int64_t count = element_count(graph_.value(x).shape);
    if (sum->rows() != count) return std::nullopt;
    for (std::int64_t i = 0; i < count; ++i)
      if (!has_all_leads(*sum, *difference, i)) return std::nullopt;
    return x;
  }

  // Row i of the sum adds up one difference x_j - x_i for every j other than i.
  static bool has_all_leads(const SparseAffine& sum, const SparseAffine& difference,
                            std::int64_t i) {
    std::vector<bool> seen(static_cast<std::size_t>(sum.rows()), false);
    seen[static_cast<std::size_t>(i)] = true;
    const auto begin = sum.row_start[static_cast<std::size_t>(i)];
    const auto end = sum.row_start[static_cast<std::size_t>(i) + 1];
    if (end - begin != sum.rows() - 1) return false;
    for (std::int64_t k = begin; k < end; ++k) {
      const auto row = static_cast<std::size_t>(sum.column[static_cast<std::size_t>(k)]);
      const auto first = static_cast<std::size_t>(difference.row_start[row]);
      if (difference.row_start[row + 1] - difference.row_start[row] != 2) return false;
      const bool rises = difference.value.data[first] == 1;
      const std::size_t plus = rises ? first : first + 1, minus = rises ? first + 1 : first;
      if (difference.value.data[plus] != 1 || difference.value.data[minus] != -1 ||
          difference.column[minus] != i)
        return false;
      const auto j = static_cast<std::size_t>(difference.column[plus]);
      if (seen[j]) return false;
      seen[j] = true;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<int> makers_;
};

std::optional<Ordered> find_ordered(const Graph& graph) {
  if (graph.outputs.size() != 1) return std::nullopt;
  const Ordered found = OrderFinder(graph).find(graph.outputs[0]);
  return found.left_out ? std::optional(found) : std::nullopt;
}

}  // namespace

bool has_ordered_outputs(const Graph& graph) {
  return find_ordered(graph).has_value();
}

bool order_outputs(Graph& graph) {
  const std::optional<Ordered> found = find_ordered(graph);
  if (!found) return false;
  const Shape shape = graph.value(graph.outputs[0]).shape;
  const std::int64_t count = element_count(shape);
  const ValueId ordered = graph.add_value("ordered", shape);
  Op op = IndexMap{};
  if (found->turned) {
    op = Scale{filled({count}, -1), filled({count}, 0)};
  } else {
    std::vector<std::int64_t>& source = std::get<IndexMap>(op).source;
    source.resize(static_cast<std::size_t>(count));
    std::iota(source.begin(), source.end(), std::int64_t{0});
  }
  graph.nodes.push_back({std::move(op), {found->x}, ordered, "ordered outputs"});
  graph.outputs = {ordered};
  remove_dead_nodes(graph);
  return true;
}

}  // namespace bf_aot
