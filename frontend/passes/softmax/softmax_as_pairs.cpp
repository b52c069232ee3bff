#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/links.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

// Exponents of Softmax are capped, and the result's error pays for that: bounds stay finite, and
// evaluation in exact arithmetic does not leave the range of exponents, as a masked element's are
// some 1e4. Sums of all powers are floats, and so are their inverses.
//
// Proof. 2^b >= n; the cap is T = 87 - 0.7 b: n e^T <= e^87 (2 e^-0.7)^b < e^87 (1 - 0.006)^b,
// which is a float. e^-87 < 2^-125, as 87 > 125 ln 2, and e^(0.7 b) < 2^(1.01 b) < 2^(b + 1) for b
// < 100: e^-T < 2^(b - 124). s' <= s for the capped sum s', and they are equal unless some
// x_j - x_i > T; then s' > e^T and 0 < 1 / s <= 1 / s' < e^-T, which is at most the result's error.
struct Cap {
  double exponent, error;
};
Cap cap_of(std::int64_t n) {
  int b = 0;
  while ((std::int64_t{1} << b) < n) ++b;
  return {87 - 0.7 * b, std::ldexp(1, b - 124)};
}

bool is_power(const Node& node) {
  const auto* const unary = std::get_if<Unary>(&node.op);
  return unary != nullptr && unary->function.kind == FunctionKind::kExp;
}

// The nodes that take the place of one LogSoftmax, or of it and its powers.
class PairRewrite {
 public:
  PairRewrite(Graph& graph, const Node& node)
      : graph_(graph),
        node_(node),
        op_(std::get<LogSoftmax>(node.op)),
        count_(static_cast<std::int64_t>(op_.source.size())) {}

  // -ln s_i, and nothing where a group has one element.
  std::vector<Node> logarithms() {
    const ValueId sums = sums_of({FunctionKind::kExp});
    const ValueId made = add(Unary{{FunctionKind::kLog}}, sums, "_log", count_);
    end(Scale{filled({count_}, -1), filled({count_}, 0)}, made, node_);
    return std::move(nodes_);
  }

  // 1 / s_i. The sum is at least 1 and the result between 0 and 1: saying so changes no value, but
  // intervals lose it in wide boxes.
  std::vector<Node> powers(const Node& power) {
    const Cap cap = cap_of(most_in_row(op_));
    const ValueId sums = sums_of({FunctionKind::kCappedExp, cap.exponent});
    const double infinity = std::numeric_limits<double>::infinity();
    const ValueId clipped = add(Unary{{FunctionKind::kClip, 1, infinity}}, sums, "_clip", count_);
    const ValueId inverse = add(Unary{{FunctionKind::kReciprocal}}, clipped, "_inverse", count_);
    Constant offset = filled({count_}, 0);
    offset.error.assign(offset.data.size(), cap.error);
    const ValueId known =
        add(Scale{filled({count_}, 1), std::move(offset)}, inverse, "_known", count_);
    end(Unary{{FunctionKind::kClip, 0, 1}}, known, power);
    return std::move(nodes_);
  }

 private:
  ValueId add(Op op, ValueId x, std::string_view suffix, std::int64_t count) {
    const ValueId made =
        graph_.add_value(graph_.value(node_.output).name + std::string(suffix), {count});
    nodes_.push_back({std::move(op), {x}, made, node_.origin});
    return made;
  }
  void end(Op op, ValueId x, const Node& of) {
    nodes_.push_back({std::move(op), {x}, of.output, of.origin});
  }

  // s_i = 1 + the sum of the functions of x_j - x_i over all other j of its group.
  ValueId sums_of(const Function& function) {
    SparseAffine differences, sums;
    differences.row_start = sums.row_start = {0};
    std::vector<double> values;
    for (std::int64_t row = 0; row < op_.rows(); ++row)
      for (std::int64_t i = begin(row); i < begin(row + 1); ++i) {
        for (std::int64_t j = begin(row); j < begin(row + 1); ++j)
          if (i != j) add_difference(source(j), source(i), differences, values);
        const auto made = static_cast<std::int64_t>(values.size()) / 2;
        for (std::int64_t k = sums.row_start.back(); k < made; ++k) sums.column.push_back(k);
        sums.row_start.push_back(made);
      }
    const std::int64_t pairs = sums.row_start.back();
    differences.value = {{2 * pairs}, std::move(values), {}};
    differences.bias = filled({pairs}, 0);
    sums.value = filled({pairs}, 1);
    sums.bias = filled({count_}, 1);
    const ValueId apart = add(std::move(differences), node_.inputs[0], "_differences", pairs);
    const ValueId powers = add(Unary{function}, apart, "_powers", pairs);
    return add(std::move(sums), powers, "_sums", count_);
  }

  static void add_difference(std::int64_t plus, std::int64_t minus, SparseAffine& to,
                             std::vector<double>& values) {
    to.column.insert(to.column.end(), {std::min(plus, minus), std::max(plus, minus)});
    const double first = plus < minus ? 1 : -1;
    values.insert(values.end(), {first, -first});
    to.row_start.push_back(static_cast<std::int64_t>(to.column.size()));
  }

  std::int64_t begin(std::int64_t row) const {
    return op_.row_start[static_cast<std::size_t>(row)];
  }
  std::int64_t source(std::int64_t k) const { return op_.source[static_cast<std::size_t>(k)]; }

  Graph& graph_;
  const Node& node_;
  const LogSoftmax& op_;
  const std::int64_t count_;
  std::vector<Node> nodes_;
};

// Groups of one element each are 0; a tensor of differences would have no elements.
Node zeros_of(const Node& node, std::int64_t count) {
  SparseAffine op;
  op.row_start.assign(static_cast<std::size_t>(count) + 1, 0);
  op.value.shape = {0};
  op.bias = filled({count}, 0);
  return {std::move(op), node.inputs, node.output, node.origin};
}

void check_pairs(const Node& node) {
  const auto& op = std::get<LogSoftmax>(node.op);
  const std::int64_t pairs = differences_of(op);
  if (pairs <= kMostDifferences) return;
  fail("BF2111", node.origin,
       fmt::format("softmax of {} elements in {} groups needs {} differences, the limit is {}",
                   op.source.size(), op.rows(), pairs, kMostDifferences),
       "leave the operator out where the specification compares its inputs as well");
}

}  // namespace

std::int64_t differences_of(const LogSoftmax& op) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i) {
    const std::int64_t members = op.row_start[i + 1] - op.row_start[i];
    count += members * (members - 1);
  }
  return count;
}

void softmax_as_pairs(Graph& graph) {
  const Links links(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  const std::size_t count = graph.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Node node = graph.nodes[i];
    const auto* const op = std::get_if<LogSoftmax>(&node.op);
    if (op == nullptr) continue;
    const auto elements = static_cast<std::int64_t>(op->source.size());
    check_pairs(node);
    if (differences_of(*op) == 0) {
      replacements[i] = {zeros_of(node, elements)};
      continue;
    }
    replacements[i] = PairRewrite(graph, node).logarithms();
    for (const std::size_t reader : links.readers(node.output))
      if (is_power(graph.nodes[reader]))
        replacements[reader] = PairRewrite(graph, node).powers(graph.nodes[reader]);
  }
  if (std::ranges::all_of(replacements, [](const auto& nodes) { return nodes.empty(); })) return;
  replace_nodes(graph, std::move(replacements));
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
