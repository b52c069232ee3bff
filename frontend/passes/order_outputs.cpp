#include <algorithm>
#include <cmath>
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

  // Steps back over one node.
  std::optional<Ordered> before(const Ordered& at) const {
    const Node* const node = maker(at.x);
    if (node == nullptr) return std::nullopt;
    if (const auto* const map = std::get_if<IndexMap>(&node->op)) {
      for (std::size_t i = 0; i < map->source.size(); ++i)
        if (map->source[i] != static_cast<std::int64_t>(i)) return std::nullopt;
      return Ordered{node->inputs[0], at.turned, at.left_out};
    }
    if (const auto* const scale = std::get_if<Scale>(&node->op)) return before_scale(at, *scale);
    if (const auto* const softmax = std::get_if<LogSoftmax>(&node->op))
      return before_softmax(at, *softmax);
    const auto* const unary = std::get_if<Unary>(&node->op);
    if (unary == nullptr) return std::nullopt;
    const bool rises = rises_strictly(unary->function) ||
                       (unary->function.kind == FunctionKind::kLog && is_power(node->inputs[0]));
    return rises ? std::optional(Ordered{node->inputs[0], at.turned, true}) : std::nullopt;
  }

  // Whether all elements are positive, as those of e^x and of a sigmoid are: then ln rises.
  bool is_power(ValueId id) const {
    const Node* node = maker(id);
    while (node != nullptr && std::holds_alternative<IndexMap>(node->op))
      node = maker(node->inputs[0]);
    const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
    return unary != nullptr && (unary->function.kind == FunctionKind::kExp ||
                                unary->function.kind == FunctionKind::kSigmoid);
  }

  std::optional<Ordered> before_scale(const Ordered& at, const Scale& scale) const {
    if (scale.factor.data.empty() || scale.offset.data.empty()) return std::nullopt;
    const double factor = scale.factor.data[0];
    if (factor == 0 || !all_are(scale.factor, factor) ||
        !all_are(scale.offset, scale.offset.data[0]))
      return std::nullopt;
    return Ordered{maker(at.x)->inputs[0], at.turned != (factor < 0), at.left_out};
  }

  // One group of all elements in order: y_i is x_i less what is the same for all.
  std::optional<Ordered> before_softmax(const Ordered& at, const LogSoftmax& softmax) const {
    const ValueId x = maker(at.x)->inputs[0];
    if (softmax.rows() != 1 || element_count(graph_.value(x).shape) != softmax.row_start[1])
      return std::nullopt;
    for (std::size_t i = 0; i < softmax.source.size(); ++i)
      if (softmax.source[i] != static_cast<std::int64_t>(i)) return std::nullopt;
    return Ordered{x, at.turned, true};
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
