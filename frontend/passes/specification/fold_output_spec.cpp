#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/linear_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

bool all_finite(const std::vector<double>& numbers) {
  for (double x : numbers)
    if (!std::isfinite(x)) return false;
  return true;
}

void check_rows(const LinearSpec& spec, std::int64_t inputs, std::int64_t outputs) {
  if (spec.rows.empty()) fail("BF2009", "", "the specification has no rows");
  if (!spec.offset.empty() && spec.offset.size() != spec.rows.size())
    fail("BF2009", "",
         fmt::format("the specification has {} offsets for {} rows", spec.offset.size(),
                     spec.rows.size()));
  for (std::size_t i = 0; i < spec.rows.size(); ++i) {
    if (static_cast<std::int64_t>(spec.rows[i].size()) != outputs)
      fail("BF2007", fmt::format("specification row {}", i),
           fmt::format("it has {} coefficients but the network has {} outputs", spec.rows[i].size(),
                       outputs),
           "give one coefficient per element of the flattened output");
    if (!all_finite(spec.rows[i]))
      fail("BF2009", fmt::format("specification row {}", i), "a coefficient is not finite");
  }
  for (const std::vector<double>& error : spec.row_error)
    BF_CHECK(all_finite(error) && static_cast<std::int64_t>(error.size()) == outputs);
  BF_CHECK(spec.row_error.empty() || spec.row_error.size() == spec.rows.size());
  BF_CHECK(spec.offset_error.empty() || spec.offset_error.size() == spec.offset.size());
  if (!all_finite(spec.offset)) fail("BF2009", "", "an offset of the specification is not finite");
  BF_CHECK(spec.inputs.empty() || spec.inputs.size() == spec.rows.size());
  for (const std::vector<SpecEntry>& row : spec.inputs)
    for (const SpecEntry& entry : row)
      BF_CHECK(entry.column >= 0 && entry.column < inputs && std::isfinite(entry.value) &&
               std::isfinite(entry.error));
}

SparseAffine rows_of(std::vector<std::int64_t> row_start, std::vector<std::int64_t> column,
                     const std::vector<Bounded>& entries) {
  SparseAffine made;
  made.row_start = std::move(row_start);
  made.column = std::move(column);
  ConstantBuilder value({static_cast<std::int64_t>(entries.size())});
  for (std::size_t k = 0; k < entries.size(); ++k) value.set(k, entries[k]);
  made.value = std::move(value).finish("specification");
  made.bias = filled({made.rows()}, 0);
  return made;
}

// The columns of C that belong to one output, from `first` on, without offsets.
SparseAffine columns_of(const LinearSpec& spec, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> row_start = {0}, column;
  std::vector<Bounded> entries;
  for (std::size_t i = 0; i < spec.rows.size(); ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      const auto from = static_cast<std::size_t>(first + j);
      const Bounded x{spec.rows[i][from], spec.row_error.empty() ? 0 : spec.row_error[i][from]};
      if (x == Bounded{}) continue;
      column.push_back(j);
      entries.push_back(x);
    }
    row_start.push_back(static_cast<std::int64_t>(column.size()));
  }
  return rows_of(std::move(row_start), std::move(column), entries);
}

// The columns of A that belong to one input, from `first` on.
SparseAffine input_columns_of(const LinearSpec& spec, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> row_start = {0}, column;
  std::vector<Bounded> entries;
  for (const std::vector<SpecEntry>& row : spec.inputs) {
    for (const SpecEntry& entry : row) {
      if (entry.column < first || entry.column >= first + count) continue;
      column.push_back(entry.column - first);
      entries.push_back({entry.value, entry.error});
    }
    row_start.push_back(static_cast<std::int64_t>(column.size()));
  }
  return rows_of(std::move(row_start), std::move(column), entries);
}

// Folding is no reason to make a matrix with more entries than this and than the layer itself.
constexpr std::int64_t kMaxFolded = std::int64_t{1} << 22;

// Sums within sums that are folded into.
constexpr int kMaxSums = 32;

// C y + A x as a sum of linear maps of values from which it can be had at least as tightly as from
// y and x.
class SpecFolder {
 public:
  explicit SpecFolder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  struct Term {
    SparseAffine map;
    ValueId x;
    Origin origin;
  };

  // Adds the terms of map(x).
  void expand(Term term, int depth = 0) {
    for (const Node* node = maker(term.x); node != nullptr; node = maker(term.x)) {
      if (splits(*node) && depth < kMaxSums) return expand_sum(std::move(term), *node, depth);
      const bool is_last =
          !std::holds_alternative<IndexMap>(node->op) && !std::holds_alternative<Scale>(node->op);
      std::optional<SparseAffine> map = folded(term.map, *node);
      if (!map) break;
      term = {*std::move(map), node->inputs[0], join_origins(node->origin, term.origin)};
      if (is_last) break;
    }
    keep(std::move(term));
  }

  // The term as it is, with those of the same tensor.
  void keep(Term term) {
    for (Term& other : terms_)
      if (other.x == term.x) {
        other.map = add(other.map, term.map, term.origin);
        other.origin = join_origins(other.origin, term.origin);
        return;
      }
    terms_.push_back(std::move(term));
  }

  std::vector<Term> terms() && { return std::move(terms_); }

 private:
  std::int64_t count(ValueId id) const { return element_count(graph_.value(id).shape); }

  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // Returns true if one of the sum's arms ends in a layer that takes the map.
  bool splits(const Node& node) const {
    const auto* binary = std::get_if<Binary>(&node.op);
    if (binary == nullptr || binary->kind != Binary::Kind::kAdd) return false;
    if (!works_on_flattened(graph_, node)) return false;
    return ends_linear(node.inputs[0]) || ends_linear(node.inputs[1]);
  }

  bool ends_linear(ValueId id) const {
    for (int depth = 0; depth < kMaxSums; ++depth) {
      const Node* node = maker(id);
      if (node == nullptr) return false;
      if (std::holds_alternative<Affine>(node->op) || std::holds_alternative<Conv>(node->op) ||
          std::holds_alternative<SparseAffine>(node->op) || splits_at(*node))
        return true;
      if (!is_linear(node->op)) return false;
      id = node->inputs[0];
    }
    return false;
  }

  // A sum within the sum: whether it splits is asked when it is reached.
  bool splits_at(const Node& node) const {
    const auto* binary = std::get_if<Binary>(&node.op);
    return binary != nullptr && binary->kind == Binary::Kind::kAdd &&
           works_on_flattened(graph_, node);
  }

  void expand_sum(Term term, const Node& node, int depth) {
    Term second{term.map, node.inputs[1], join_origins(node.origin, term.origin)};
    second.map.bias = filled(second.map.bias.shape, 0);
    expand({std::move(term.map), node.inputs[0], second.origin}, depth + 1);
    expand(std::move(second), depth + 1);
  }

  // map(node(x)), when the node is linear and the result is not too large.
  std::optional<SparseAffine> folded(const SparseAffine& map, const Node& node) const {
    if (!is_linear(node.op)) return std::nullopt;
    if (const auto* moves = std::get_if<IndexMap>(&node.op))
      return compose(map, *moves, node.origin);
    if (const auto* scale = std::get_if<Scale>(&node.op)) return compose(map, *scale, node.origin);
    const std::int64_t in_count = count(node.inputs[0]);
    const std::int64_t entries = entry_count(node.op);
    if (std::holds_alternative<Conv>(node.op) && entries > kMaxFolded) return std::nullopt;
    return compose(map, to_sparse(node.op), in_count, std::max(entries, kMaxFolded), node.origin);
  }

  const Graph& graph_;
  std::vector<int> makers_;
  std::vector<Term> terms_;
};

bool holds_constants(const Op& op) {
  return std::holds_alternative<Literal>(op) || std::holds_alternative<Scale>(op) ||
         std::holds_alternative<Affine>(op) || std::holds_alternative<Conv>(op) ||
         std::holds_alternative<SparseAffine>(op);
}

// The first output that is made of the same operands by the same operator, so that its elements
// are those of output `index`. Each output has a node of its own, even where others are equal.
// Constants are left out: equal ones may stand for different exact numbers.
ValueId first_equal_output(const Graph& graph, const std::vector<int>& makers, std::size_t index) {
  const auto node_of = [&](ValueId id) {
    const int maker = makers[index_of(id)];
    return maker < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(maker)];
  };
  const ValueId y = graph.outputs[index];
  const Node* const own = node_of(y);
  if (own == nullptr || holds_constants(own->op)) return y;
  const auto* const unary = std::get_if<Unary>(&own->op);
  if (unary != nullptr && unary->function.slack != 0) return y;  // each has its own value
  for (std::size_t i = 0; i < index; ++i) {
    const Node* const other = node_of(graph.outputs[i]);
    if (other != nullptr && other->inputs == own->inputs && other->op == own->op &&
        graph.value(other->output).shape == graph.value(y).shape)
      return graph.outputs[i];
  }
  return y;
}

std::vector<SpecFolder::Term> fold(const Graph& graph, const LinearSpec& spec, bool expand) {
  SpecFolder folder(graph);
  const std::vector<int> makers = producers(graph);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId y = graph.outputs[i];
    const std::int64_t count = element_count(graph.value(y).shape);
    SparseAffine part = columns_of(spec, first, count);
    if (i == 0)
      for (std::size_t row = 0; row < spec.offset.size(); ++row)
        part.bias.data[row] = 0 - spec.offset[row];
    if (i == 0 && !spec.offset_error.empty()) part.bias.error = spec.offset_error;
    first += count;
    if (i > 0 && part.column.empty()) continue;
    const ValueId read = expand ? first_equal_output(graph, makers, i) : y;
    SpecFolder::Term term{std::move(part), read, "specification"};
    if (expand)
      folder.expand(std::move(term));
    else
      folder.keep(std::move(term));
  }
  first = 0;
  for (const ValueId x : graph.inputs) {
    if (spec.inputs.empty()) break;
    const std::int64_t count = element_count(graph.value(x).shape);
    SparseAffine part = input_columns_of(spec, first, count);
    first += count;
    if (!part.column.empty()) folder.keep({std::move(part), x, "specification"});
  }
  return std::move(folder).terms();
}

}  // namespace

void fold_output_spec(Graph& graph, const LinearSpec& spec, bool fold_in) {
  std::int64_t inputs = 0, outputs = 0;
  for (ValueId x : graph.inputs) inputs += element_count(graph.value(x).shape);
  for (ValueId y : graph.outputs) outputs += element_count(graph.value(y).shape);
  check_rows(spec, inputs, outputs);
  std::vector<SpecFolder::Term> terms = fold(graph, spec, fold_in);
  const Shape shape = {1, static_cast<std::int64_t>(spec.rows.size())};
  const std::string name = graph.value(graph.outputs[0]).name + "_spec";
  const ValueId s = graph.add_value(name, shape);
  std::optional<ValueId> sum;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool only = terms.size() == 1;
    const ValueId part = only ? s : graph.add_value(name + "_part", shape);
    const std::int64_t in_count = element_count(graph.value(terms[i].x).shape);
    graph.nodes.push_back(
        {densified(std::move(terms[i].map), in_count), {terms[i].x}, part, terms[i].origin});
    if (sum) {
      const ValueId next = i + 1 == terms.size() ? s : graph.add_value(name + "_sum", shape);
      graph.nodes.push_back({Binary{Binary::Kind::kAdd}, {*sum, part}, next, terms[i].origin});
      sum = next;
    } else {
      sum = part;
    }
  }
  if (graph.derived_output) graph.outputs.pop_back();
  graph.derived_output = false;
  graph.outputs.push_back(s);
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
