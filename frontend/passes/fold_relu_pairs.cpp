#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/linear_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

using Indices = std::vector<std::size_t>;

constexpr std::size_t index_of(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// The entries of a column of a linear layer, by rising rows.
struct Column {
  std::vector<std::pair<std::int64_t, double>> entries;

  bool is_opposite(const Column& other) const {
    return std::ranges::equal(entries, other.entries, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second == -b.second;
    });
  }
};

std::vector<Column> entries_by_column(const SparseAffine& layer, std::size_t count) {
  std::vector<Column> columns(count);
  for (std::int64_t row = 0; row < layer.rows(); ++row)
    for (std::int64_t k = layer.row_start[index_of(row)]; k < layer.row_start[index_of(row) + 1];
         ++k)
      columns[index_of(layer.column[index_of(k)])].entries.emplace_back(
          row, layer.value.data[index_of(k)]);
  return columns;
}

// The same for opposite rows.
std::uint64_t hash_of_row(const SparseAffine& layer, std::size_t row) {
  std::uint64_t hash = std::bit_cast<std::uint64_t>(std::fabs(layer.bias.data[row]));
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  };
  for (std::int64_t k = layer.row_start[row]; k < layer.row_start[row + 1]; ++k) {
    add(static_cast<std::uint64_t>(layer.column[index_of(k)]));
    add(std::bit_cast<std::uint64_t>(std::fabs(layer.value.data[index_of(k)])));
  }
  return hash;
}

// A row up to its sign, and that of its first number that is not 0.
struct RowSign {
  std::uint64_t hash = 0;
  bool negative = false;

  auto operator<=>(const RowSign&) const = default;
};

RowSign sign_of_row(const SparseAffine& layer, std::size_t row) {
  const auto from = layer.value.data.begin() + layer.row_start[row];
  const auto to = layer.value.data.begin() + layer.row_start[row + 1];
  const auto first = std::find_if(from, to, [](double value) { return value != 0; });
  return {hash_of_row(layer, row), (first == to ? layer.bias.data[row] : *first) < 0};
}

RowSign sign_of_row(const Affine& layer, std::size_t row) {
  const std::size_t inputs = layer.weight.data.size() / layer.bias.data.size();
  RowSign made;
  double first = 0;
  const auto add = [&](double value) {
    made.hash = (made.hash ^ std::bit_cast<std::uint64_t>(std::fabs(value))) * 0x9e3779b97f4a7c15U;
    made.hash ^= made.hash >> 29;
    if (first == 0) first = value;
  };
  for (std::size_t k = row * inputs; k < (row + 1) * inputs; ++k) add(layer.weight.data[k]);
  add(layer.bias.data[row]);
  made.negative = first < 0;
  return made;
}

// False where no row of a layer is another one's opposite but for rows of zeros: most layers are
// not worth a copy.
bool may_have_opposite_rows(const Op& op) {
  std::vector<RowSign> rows;
  if (const auto* const dense = std::get_if<Affine>(&op))
    for (std::size_t row = 0; row < dense->bias.data.size(); ++row)
      rows.push_back(sign_of_row(*dense, row));
  else if (const auto* const sparse = std::get_if<SparseAffine>(&op))
    for (std::size_t row = 0; row < index_of(sparse->rows()); ++row)
      rows.push_back(sign_of_row(*sparse, row));
  std::ranges::sort(rows);
  const auto found = std::ranges::adjacent_find(rows, [](const RowSign& a, const RowSign& b) {
    return a.hash == b.hash && a.negative != b.negative;
  });
  return found != rows.end();
}

// Rows without weights are constants, which are no pair: other passes fold them.
bool are_opposite_rows(const SparseAffine& layer, std::size_t i, std::size_t j) {
  const std::int64_t a = layer.row_start[i], b = layer.row_start[j];
  const std::int64_t count = layer.row_start[i + 1] - a;
  if (count != layer.row_start[j + 1] - b || layer.bias.data[i] != -layer.bias.data[j])
    return false;
  bool is_constant = true;
  for (std::int64_t k = 0; k < count; ++k) {
    if (layer.column[index_of(a + k)] != layer.column[index_of(b + k)] ||
        layer.value.data[index_of(a + k)] != -layer.value.data[index_of(b + k)])
      return false;
    is_constant = is_constant && layer.value.data[index_of(a + k)] == 0;
  }
  return !is_constant;
}

struct Pairs {
  Indices first;  // of each pair
  Indices rest;   // neurons of no pair
};

// Neurons z and -z whose values the outer layer subtracts, all exactly.
Pairs find_pairs(const SparseAffine& inner, const SparseAffine& outer) {
  const auto neurons = index_of(inner.rows());
  const std::vector<Column> columns = entries_by_column(outer, neurons);
  std::unordered_multimap<std::uint64_t, std::size_t> waiting;
  std::vector<bool> paired(neurons, false);
  Pairs pairs;
  for (std::size_t j = 0; j < neurons; ++j) {
    const std::uint64_t hash = hash_of_row(inner, j);
    const auto [begin, end] = waiting.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& other) {
      return are_opposite_rows(inner, other.second, j) &&
             columns[other.second].is_opposite(columns[j]);
    });
    if (found == end) {
      waiting.emplace(hash, j);
      continue;
    }
    pairs.first.push_back(found->second);
    paired[found->second] = paired[j] = true;
    waiting.erase(found);
  }
  std::ranges::sort(pairs.first);
  for (std::size_t j = 0; j < paired.size(); ++j)
    if (!paired[j]) pairs.rest.push_back(j);
  return pairs;
}

// The rows of an exact layer.
SparseAffine take_rows(const SparseAffine& layer, const Indices& rows) {
  SparseAffine taken;
  taken.row_start = {0};
  for (const std::size_t row : rows) {
    for (std::int64_t k = layer.row_start[row]; k < layer.row_start[row + 1]; ++k) {
      taken.column.push_back(layer.column[index_of(k)]);
      taken.value.data.push_back(layer.value.data[index_of(k)]);
    }
    taken.row_start.push_back(static_cast<std::int64_t>(taken.column.size()));
    taken.bias.data.push_back(layer.bias.data[row]);
  }
  taken.value.shape = {static_cast<std::int64_t>(taken.column.size())};
  taken.bias.shape = {static_cast<std::int64_t>(rows.size())};
  return taken;
}

// The columns of a layer of exact weights; what is taken reads these elements alone.
SparseAffine take_columns(const SparseAffine& layer, const Indices& columns, std::size_t count,
                          Constant bias) {
  std::vector<std::int64_t> place(count, -1);
  for (std::size_t k = 0; k < columns.size(); ++k) place[columns[k]] = static_cast<std::int64_t>(k);
  SparseAffine taken;
  taken.row_start = {0};
  taken.bias = std::move(bias);
  for (std::int64_t row = 0; row < layer.rows(); ++row) {
    for (std::int64_t k = layer.row_start[index_of(row)]; k < layer.row_start[index_of(row) + 1];
         ++k)
      if (const std::int64_t to = place[index_of(layer.column[index_of(k)])]; to >= 0) {
        taken.column.push_back(to);
        taken.value.data.push_back(layer.value.data[index_of(k)]);
      }
    taken.row_start.push_back(static_cast<std::int64_t>(taken.column.size()));
  }
  taken.value.shape = {static_cast<std::int64_t>(taken.column.size())};
  return taken;
}

// The matrix of an exact layer.
Affine to_matrix(const SparseAffine& layer, std::size_t inputs) {
  Affine made{filled({layer.rows(), static_cast<std::int64_t>(inputs)}, 0), layer.bias};
  for (std::int64_t row = 0; row < layer.rows(); ++row)
    for (std::int64_t k = layer.row_start[index_of(row)]; k < layer.row_start[index_of(row) + 1];
         ++k)
      made.weight.data[index_of(row) * inputs + index_of(layer.column[index_of(k)])] =
          layer.value.data[index_of(k)];
  return made;
}

// Layers are matrices, or sparse: dense ones stay so.
bool has_rows(const Op& op) {
  return std::holds_alternative<Affine>(op) || std::holds_alternative<SparseAffine>(op);
}

bool is_negation(const Op& op) {
  const auto* const scale = std::get_if<Scale>(&op);
  return scale != nullptr && scale->factor.is_exact() && is_zero(scale->offset) &&
         std::ranges::all_of(scale->factor.data, [](double x) { return x == -1; });
}

class PairFolder {
 public:
  PairFolder(Graph& graph, Links& links, std::size_t index)
      : graph_(graph), links_(links), index_(index) {}

  bool run() {
    const Op& op = graph_.nodes[index_].op;
    if (has_rows(op)) return fold_layer(op);
    const auto* const sum = std::get_if<Binary>(&op);
    return sum != nullptr && sum->kind == Binary::Kind::kAdd && (fold_sum(0, 1) || fold_sum(1, 0));
  }

 private:
  const Node* maker(ValueId id) const {
    return links_.maker(id) < 0 ? nullptr
                                : &graph_.nodes[static_cast<std::size_t>(links_.maker(id))];
  }

  // under_relu() and under_negation() return x where `id` is relu(x), or -x; else nullopt.
  std::optional<ValueId> under_relu(ValueId id) const {
    const Node* const node = maker(id);
    if (node == nullptr || !std::holds_alternative<Relu>(node->op)) return std::nullopt;
    return node->inputs[0];
  }
  std::optional<ValueId> under_negation(ValueId id) const {
    const Node* const node = maker(id);
    if (node == nullptr || !is_negation(node->op)) return std::nullopt;
    return node->inputs[0];
  }

  // relu(z) + -relu(-z): a Scale of 1, which another pass takes out.
  bool fold_sum(std::size_t plus, std::size_t minus) {
    Node& node = graph_.nodes[index_];
    const auto z = under_relu(node.inputs[plus]);
    const auto relu = under_negation(node.inputs[minus]);
    const auto negative = relu ? under_relu(*relu) : std::nullopt;
    const auto other = negative ? under_negation(*negative) : std::nullopt;
    if (!z || z != other) return false;
    const Shape shape = graph_.value(node.output).shape;
    if (graph_.value(*z).shape != shape) return false;
    node.op = Scale{filled(shape, 1), filled(shape, 0)};
    links_.rewire(graph_, index_, {*z});
    return true;
  }

  bool fold_layer(const Op& op) {
    const Node& node = graph_.nodes[index_];
    const Node* const relu = links_.sole_maker(graph_, node.inputs[0]);
    if (relu == nullptr || !std::holds_alternative<Relu>(relu->op)) return false;
    const Node* const below = links_.sole_maker(graph_, relu->inputs[0]);
    if (below == nullptr || !has_rows(below->op) || !may_have_opposite_rows(below->op))
      return false;
    const SparseAffine inner = to_sparse(below->op), outer = to_sparse(op);
    if (!inner.value.is_exact() || !inner.bias.is_exact() || !outer.value.is_exact() ||
        element_count(graph_.value(node.inputs[0]).shape) != inner.rows())
      return false;
    const Pairs pairs = find_pairs(inner, outer);
    if (pairs.first.empty()) return false;
    replace(inner, outer, pairs, *below, *relu);
    return true;
  }

  void replace(const SparseAffine& inner, const SparseAffine& outer, const Pairs& pairs,
               const Node& below, const Node& relu) {
    const Node node = graph_.nodes[index_];
    const ValueId x = below.inputs[0];
    const Origin origin = join_origins(join_origins(below.origin, relu.origin), node.origin);
    const std::string name = graph_.value(node.output).name;
    const Shape shape = graph_.value(node.output).shape;
    const auto inputs = index_of(element_count(graph_.value(x).shape));
    const auto neurons = index_of(inner.rows());
    const bool dense =
        std::holds_alternative<Affine>(below.op) && std::holds_alternative<Affine>(node.op);
    const auto made_of = [&](SparseAffine part, std::size_t columns) -> Op {
      if (dense) return to_matrix(part, columns);
      return densified(std::move(part), static_cast<std::int64_t>(columns));
    };
    const auto value = [&](const char* suffix, const Shape& of) {
      return graph_.add_value(name + suffix, Shape(of));
    };
    const auto vector = [](const Indices& of) {
      return Shape{1, static_cast<std::int64_t>(of.size())};
    };
    const auto columns_of_outer = [&](const Indices& of, Constant bias) {
      return made_of(take_columns(outer, of, neurons, std::move(bias)), of.size());
    };
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    std::vector<Node>& made = replacements[index_];
    const bool alone = pairs.rest.empty();
    const ValueId z = value("_linear", vector(pairs.first));
    const ValueId linear = alone ? node.output : value("_pairs", shape);
    Constant bias = alone ? outer.bias : filled(outer.bias.shape, 0);
    made.push_back({made_of(take_rows(inner, pairs.first), inputs), {x}, z, below.origin});
    made.push_back({columns_of_outer(pairs.first, std::move(bias)), {z}, linear, origin});
    if (!alone) {
      const ValueId h = value("_rest_in", vector(pairs.rest)),
                    r = value("_rest_relu", vector(pairs.rest)), rest = value("_rest", shape);
      made.push_back({made_of(take_rows(inner, pairs.rest), inputs), {x}, h, below.origin});
      made.push_back({Relu{}, {h}, r, relu.origin});
      made.push_back({columns_of_outer(pairs.rest, outer.bias), {r}, rest, node.origin});
      made.push_back({Binary{Binary::Kind::kAdd}, {rest, linear}, node.output, node.origin});
    }
    replace_nodes(graph_, std::move(replacements));
    links_.invalidate();
  }

  Graph& graph_;
  Links& links_;
  std::size_t index_;
};

}  // namespace

bool fold_relu_pairs(Graph& graph) {
  return rewrite_until_stable(graph, [](Graph& g, Links& links, std::size_t index) {
    return PairFolder(g, links, index).run();
  });
}

}  // namespace bf_aot
