#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

// The constant that is added to the elements of a sum. Its power moves no logarithm of a sum above
// -16,000 by what a float can tell, and doubles from 2^14 to 2^15 are no more than 2^-38 apart.
constexpr double kBeside = -0x1p14;

// y_i = ln sum over k of row i of e^(x_column_k)
struct LogOfPowers {
  ValueId x;
  const SparseAffine* sums;
  Origin origin;
};

class LogRewrite {
 public:
  explicit LogRewrite(Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  // Points into the graph's nodes. nullopt: the node is no such logarithm.
  std::optional<LogOfPowers> find(const Node& node) const {
    if (!is_function(&node, FunctionKind::kLog)) return std::nullopt;
    const Node* const sum = maker(node.inputs[0]);
    const auto* const sums = sum != nullptr ? std::get_if<SparseAffine>(&sum->op) : nullptr;
    if (sums == nullptr || !all_are(sums->value, 1) || !all_are(sums->bias, 0)) return std::nullopt;
    for (std::size_t i = 0; i + 1 < sums->row_start.size(); ++i)
      if (sums->row_start[i + 1] - sums->row_start[i] < 2) return std::nullopt;
    const Node* const power = maker(sum->inputs[0]);
    if (!is_function(power, FunctionKind::kExp)) return std::nullopt;
    return LogOfPowers{power->inputs[0], sums,
                       join_origins(power->origin, join_origins(sum->origin, node.origin))};
  }

  // The nodes that take the place of `node`.
  std::vector<Node> replace(const Node& node, const LogOfPowers& of) {
    nodes_.clear();
    origin_ = of.origin;
    name_ = graph_.value(node.output).name;
    const std::int64_t rows = of.sums->rows();
    const std::int64_t terms = of.sums->row_start.back() + rows;
    LogSoftmax softmax{{0}, std::vector<std::int64_t>(static_cast<std::size_t>(terms))};
    std::iota(softmax.source.begin(), softmax.source.end(), 0);
    IndexMap last;
    for (std::int64_t i = 1; i <= rows; ++i) {
      softmax.row_start.push_back(of.sums->row_start[static_cast<std::size_t>(i)] + i);
      last.source.push_back(softmax.row_start.back() - 1);
    }
    const ValueId beside = add(with_elements(*of.sums), {of.x}, "/beside", terms);
    const ValueId z = add(std::move(softmax), {beside}, "/log_softmax", terms);
    const ValueId own = add(std::move(last), {z}, "/own", rows);
    const ValueId sum = add(line(rows, -1, kBeside), {own}, "/sum", rows);
    const ValueId share = add(Unary{{FunctionKind::kExp}}, {own}, "/share", rows);
    const ValueId rest = add(line(rows, -1, 1), {share}, "/rest", rows);
    const ValueId excess = add(Unary{{FunctionKind::kLog}}, {rest}, "/excess", rows);
    nodes_.push_back({Binary{Binary::Kind::kAdd}, {sum, excess}, node.output, origin_});
    return std::move(nodes_);
  }

 private:
  static bool is_function(const Node* node, FunctionKind kind) {
    const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
    return unary != nullptr && unary->function == Function{kind};
  }

  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // The elements of each row, and behind them kBeside.
  static SparseAffine with_elements(const SparseAffine& sums) {
    SparseAffine made;
    made.row_start = {0};
    std::vector<double> bias;
    const auto end_row = [&](double constant) {
      made.row_start.push_back(static_cast<std::int64_t>(made.column.size()));
      bias.push_back(constant);
    };
    for (std::size_t i = 0; i + 1 < sums.row_start.size(); ++i) {
      for (std::int64_t k = sums.row_start[i]; k < sums.row_start[i + 1]; ++k) {
        made.column.push_back(sums.column[static_cast<std::size_t>(k)]);
        end_row(0);
      }
      end_row(kBeside);
    }
    made.value = filled({static_cast<std::int64_t>(made.column.size())}, 1);
    made.bias = {{static_cast<std::int64_t>(bias.size())}, std::move(bias), {}};
    return made;
  }

  static Scale line(std::int64_t count, double factor, double offset) {
    return {filled({count}, factor), filled({count}, offset)};
  }

  ValueId add(Op op, std::vector<ValueId> inputs, const char* suffix, std::int64_t count) {
    const ValueId made = graph_.add_value(name_ + suffix, {count});
    nodes_.push_back({std::move(op), std::move(inputs), made, origin_});
    return made;
  }

  Graph& graph_;
  std::vector<int> makers_;
  std::vector<Node> nodes_;
  Origin origin_;
  std::string name_;
};

}  // namespace

void log_sum_exp(Graph& graph) {
  LogRewrite rewrite(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto found = rewrite.find(graph.nodes[i]))
      replacements[i] = rewrite.replace(graph.nodes[i], *found);
  replace_nodes(graph, std::move(replacements));
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
