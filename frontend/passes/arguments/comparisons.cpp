#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/reach.h"
#include "frontend/functions/function_facts.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

const Node* maker_of(const Graph& graph, const std::vector<int>& makers, ValueId id) {
  const int index = makers[index_of(id)];
  return index < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(index)];
}

const Function* function_of(const Node* node) {
  const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
  return unary != nullptr ? &unary->function : nullptr;
}

bool is_zero_everywhere(const Constant& constant) {
  return constant.is_exact() && std::ranges::all_of(constant.data, [](double x) { return x == 0; });
}

// ---- compare_arguments

// Returns true if each row is w (x_i - x_j), or nothing.
bool has_differences(const SparseAffine& op) {
  if (!op.value.is_exact() || !is_zero_everywhere(op.bias)) return false;
  for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i) {
    const std::int64_t entries = op.row_start[i + 1] - op.row_start[i];
    const auto first = static_cast<std::size_t>(op.row_start[i]);
    if (entries != 0 && (entries != 2 || op.value.data[first] != -op.value.data[first + 1]))
      return false;
  }
  return true;
}

// The row of a log-softmax in which each of its elements is.
std::vector<std::int64_t> rows_of(const LogSoftmax& op) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < op.rows(); ++row)
    rows.resize(static_cast<std::size_t>(op.row_start[static_cast<std::size_t>(row) + 1]), row);
  return rows;
}

// Differences of `x` that have the signs of those that a step function reads.
class Differences {
 public:
  Differences(const Graph& graph, const std::vector<int>& makers, const Node& node)
      : graph_(graph), makers_(makers), op_(std::get<SparseAffine>(node.op)), x_(node.inputs[0]) {}

  // Steps back over the nodes that keep order; returns whether a function is among them.
  bool step_back() {
    bool passed = false;
    for (const Node* node = maker(); node != nullptr; node = maker()) {
      if (const auto* const map = std::get_if<IndexMap>(&node->op)) {
        if (!take(map->source)) break;
      } else if (const auto* const softmax = std::get_if<LogSoftmax>(&node->op)) {
        if (!is_within_rows(*softmax) || !take(softmax->source)) break;
        passed = true;
      } else if (const Function* const f = function_of(node); f != nullptr && rises_strictly(*f)) {
        passed = true;
      } else {
        break;
      }
      x_ = node->inputs[0];
    }
    return passed;
  }

  // Requires step_back(). Columns rise within a row.
  SparseAffine op() const {
    SparseAffine made = op_;
    for (std::size_t i = 0; i + 1 < made.row_start.size(); ++i) {
      const auto first = static_cast<std::size_t>(made.row_start[i]);
      if (made.row_start[i + 1] == made.row_start[i] || made.column[first] < made.column[first + 1])
        continue;
      std::swap(made.column[first], made.column[first + 1]);
      std::swap(made.value.data[first], made.value.data[first + 1]);
    }
    return made;
  }
  ValueId x() const { return x_; }

 private:
  const Node* maker() const { return maker_of(graph_, makers_, x_); }

  // Reads element source_i in place of element i.
  bool take(const std::vector<std::int64_t>& source) {
    std::vector<std::int64_t> columns;
    for (const std::int64_t column : op_.column)
      columns.push_back(source[static_cast<std::size_t>(column)]);
    if (std::ranges::any_of(columns, [](std::int64_t column) { return column < 0; })) return false;
    for (std::size_t k = 0; k + 1 < columns.size(); k += 2)
      if (columns[k] == columns[k + 1]) return false;  // no difference is left
    op_.column = std::move(columns);
    return true;
  }

  bool is_within_rows(const LogSoftmax& softmax) const {
    const std::vector<std::int64_t> rows = rows_of(softmax);
    for (std::size_t k = 0; k + 1 < op_.column.size(); k += 2)
      if (rows[static_cast<std::size_t>(op_.column[k])] !=
          rows[static_cast<std::size_t>(op_.column[k + 1])])
        return false;
    return true;
  }

  const Graph& graph_;
  const std::vector<int>& makers_;
  SparseAffine op_;
  ValueId x_;
};

// ---- limit_equalities

struct IntegerRange {
  double low, high;
};

// u + n = 0, or u - n = 0 where `negated`, has no solution n at the ends of the range and outside
// of it, for u of the reach. The range holds 0.
std::optional<IntegerRange> range_of_solutions(const Reach& u, bool negated) {
  constexpr double kMost = 0x1p31;
  const double low = negated ? u.low : -u.high, high = negated ? u.high : -u.low;
  if (!(-kMost <= low && low <= high && high <= kMost)) return std::nullopt;
  return IntegerRange{std::min(std::floor(low) - 1, 0.0), std::max(std::ceil(high) + 1, 0.0)};
}

bool rounds_to_integers(const Function& f) {
  return f.kind == FunctionKind::kFloor || f.kind == FunctionKind::kCeil ||
         (f.kind == FunctionKind::kRound && f.a == 1);
}

// Writes equalities anew. Integers are T(x), where T rises and T(n) = n for integers n: T of x
// limited to [p, q] is T(x) limited to [p, q], for integers p and q. A value that the limits change
// is p or q then, and was outside of them: neither is a solution.
class EqualityLimits {
 public:
  explicit EqualityLimits(Graph& graph)
      : graph_(graph), makers_(producers(graph)), reaches_(reaches_of(graph)) {}

  void run() {
    std::vector<std::vector<Node>> made(graph_.nodes.size());
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = limited(graph_.nodes[i]);
    replace_nodes(graph_, std::move(made));
  }

 private:
  // x, and what follows it: one rounding, or floor of its positive and ceil of its negative part.
  struct Integers {
    ValueId x;
    std::optional<Function> rounding;
  };

  const Node* maker(ValueId id) const { return maker_of(graph_, makers_, id); }

  static bool is(const Node* node, FunctionKind kind) {
    const Function* const f = function_of(node);
    return f != nullptr && f->kind == kind;
  }

  std::optional<Integers> integers(ValueId n) const {
    const Node* const node = maker(n);
    if (const Function* const f = function_of(node); f != nullptr)
      return rounds_to_integers(*f) ? std::optional(Integers{node->inputs[0], *f}) : std::nullopt;
    const auto* const sum = node != nullptr ? std::get_if<Binary>(&node->op) : nullptr;
    if (sum == nullptr || sum->kind != Binary::Kind::kAdd) return std::nullopt;
    const Node *const above = maker(node->inputs[0]), *const below = maker(node->inputs[1]);
    if (!is(above, FunctionKind::kFloor) || !is(below, FunctionKind::kCeil)) return std::nullopt;
    const Node *const positive = maker(above->inputs[0]), *const negative = maker(below->inputs[0]);
    if (positive == nullptr || !std::holds_alternative<Relu>(positive->op) ||
        !is(negative, FunctionKind::kClip) || positive->inputs[0] != negative->inputs[0])
      return std::nullopt;
    const Function& clip = *function_of(negative);
    if (clip.a != -kUnlimited || clip.b != 0) return std::nullopt;
    return Integers{positive->inputs[0], std::nullopt};
  }

  // x where id is -x.
  std::optional<ValueId> negated(ValueId id) const {
    const Node* const node = maker(id);
    const auto* const scale = node != nullptr ? std::get_if<Scale>(&node->op) : nullptr;
    if (scale == nullptr || !scale->factor.is_exact() || !is_zero_everywhere(scale->offset) ||
        !std::ranges::all_of(scale->factor.data, [](double x) { return x == -1; }))
      return std::nullopt;
    return node->inputs[0];
  }

  // The nodes that take the equality's place; none where it stays.
  std::vector<Node> limited(const Node& equality) {
    if (!is(&equality, FunctionKind::kIsZero)) return {};
    const Node* const sum = maker(equality.inputs[0]);
    const auto* const op = sum != nullptr ? std::get_if<Binary>(&sum->op) : nullptr;
    if (op == nullptr || op->kind != Binary::Kind::kAdd) return {};
    for (const std::size_t side : {0U, 1U}) {
      const ValueId other = sum->inputs[1 - side];
      const std::optional<ValueId> turned = negated(sum->inputs[side]);
      const auto found = integers(turned.value_or(sum->inputs[side]));
      const auto range = range_of_solutions(reaches_[index_of(other)], turned.has_value());
      if (found && range) return written(equality, other, *found, *range, turned.has_value());
    }
    return {};
  }

  std::vector<Node> written(const Node& equality, ValueId other, const Integers& from,
                            const IntegerRange& range, bool negated) {
    const Value value = graph_.value(equality.output);
    const std::int64_t count = element_count(value.shape);
    std::vector<Node> nodes;
    const auto add = [&](Op op, std::vector<ValueId> inputs, const char* suffix) {
      const ValueId made = graph_.add_value(value.name + suffix, value.shape);
      nodes.push_back({std::move(op), std::move(inputs), made, equality.origin});
      return made;
    };
    const auto clip = [](double low, double high) {
      return Unary{{FunctionKind::kClip, low, high}};
    };
    ValueId n = from.x;
    if (from.rounding) {
      n = add(Unary{*from.rounding}, {add(clip(range.low, range.high), {n}, "/limited")},
              "/integer");
    } else {
      const ValueId above = add(clip(0, range.high), {n}, "/positive");
      const ValueId below = add(clip(range.low, 0), {n}, "/negative");
      n = add(Binary{Binary::Kind::kAdd},
              {add(Unary{{FunctionKind::kFloor}}, {above}, "/floor"),
               add(Unary{{FunctionKind::kCeil}}, {below}, "/ceil")},
              "/integer");
    }
    if (negated) n = add(Scale{filled({count}, -1), filled({count}, 0)}, {n}, "/negated");
    const ValueId sum = add(Binary{Binary::Kind::kAdd}, {other, n}, "/difference");
    nodes.push_back({equality.op, {sum}, equality.output, equality.origin});
    return nodes;
  }

  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  Graph& graph_;
  std::vector<int> makers_;
  std::vector<Reach> reaches_;
};

bool has_equalities(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const Function* const f = function_of(&node);
    return f != nullptr && f->kind == FunctionKind::kIsZero;
  });
}

}  // namespace

void compare_arguments(Graph& graph) {
  const std::vector<int> makers = producers(graph);
  std::vector<std::vector<Node>> made(graph.nodes.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Function* const f = function_of(&node);
    const Node* const read =
        f != nullptr && is_of_sign(f->kind) ? maker_of(graph, makers, node.inputs[0]) : nullptr;
    const auto* const rows = read != nullptr ? std::get_if<SparseAffine>(&read->op) : nullptr;
    if (rows == nullptr || !has_differences(*rows)) continue;
    Differences differences(graph, makers, *read);
    if (!differences.step_back()) continue;
    const Value value = graph.value(read->output);
    const ValueId compared = graph.add_value(value.name + "/compared", value.shape);
    made[i] = {{differences.op(), {differences.x()}, compared, read->origin},
               {node.op, {compared}, node.output, node.origin}};
  }
  replace_nodes(graph, std::move(made));
  remove_dead_nodes(graph);
}

void limit_equalities(Graph& graph) {
  if (!has_equalities(graph)) return;  // reaches read all weights
  EqualityLimits(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
