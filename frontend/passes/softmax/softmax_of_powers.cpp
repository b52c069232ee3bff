#include <algorithm>
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

using Places = std::vector<std::int64_t>;

// Elements of a value.
struct PlacesOf {
  ValueId value;
  Places places;
};

// y_k = e^(x_place_k) / sum over row row_k of e^(x_column)
struct Quotient {
  ValueId x;
  Places place, row;
  LogSoftmax rows;  // their columns, which are elements of x
};

class QuotientFinder {
 public:
  explicit QuotientFinder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  std::optional<Quotient> find(const Node& node) const {
    const auto* const product = std::get_if<Binary>(&node.op);
    if (product == nullptr || product->kind != Binary::Kind::kMul) return std::nullopt;
    for (const std::size_t side : {0U, 1U})
      if (auto found = find(node.inputs[side], node.inputs[1 - side])) return found;
    return std::nullopt;
  }

 private:
  template <class T>
  const T* made_by(ValueId id) const {
    const Node* const node = maker(id);
    return node == nullptr ? nullptr : std::get_if<T>(&node->op);
  }
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }
  bool is_function(ValueId id, FunctionKind kind) const {
    const auto* const unary = made_by<Unary>(id);
    return unary != nullptr && unary->function == Function{kind};
  }

  PlacesOf all_of(ValueId id) const {
    Places places(static_cast<std::size_t>(element_count(graph_.value(id).shape)));
    std::iota(places.begin(), places.end(), 0);
    return behind_maps({id, std::move(places)});
  }
  PlacesOf behind_maps(PlacesOf at) const {
    while (const auto* const map = made_by<IndexMap>(at.value)) {
      for (std::int64_t& i : at.places) i = map->source[static_cast<std::size_t>(i)];
      at.value = maker(at.value)->inputs[0];
    }
    return at;
  }
  PlacesOf behind(const PlacesOf& at) const {
    return behind_maps({maker(at.value)->inputs[0], at.places});
  }

  std::optional<Quotient> find(ValueId above, ValueId below) const {
    const PlacesOf power = all_of(above), inverse = all_of(below);
    if (!is_function(power.value, FunctionKind::kExp) ||
        !is_function(inverse.value, FunctionKind::kReciprocal))
      return std::nullopt;
    const PlacesOf sum = behind(inverse);
    const auto* const sums = made_by<SparseAffine>(sum.value);
    if (sums == nullptr || !all_are(sums->value, 1) || !all_are(sums->bias, 0)) return std::nullopt;
    const PlacesOf terms = behind_maps({maker(sum.value)->inputs[0], sums->column});
    if (terms.value != power.value) return std::nullopt;
    Quotient of{
        maker(power.value)->inputs[0], power.places, sum.places, {sums->row_start, terms.places}};
    if (!are_rows(of.rows) || !have_own_powers(of)) return std::nullopt;
    while (const auto x = without_shift(of)) of.x = *x;
    return of;
  }

  static Places members(const LogSoftmax& rows, std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    return {rows.source.begin() + rows.row_start[i], rows.source.begin() + rows.row_start[i + 1]};
  }

  // Each has two elements or more, and none twice.
  static bool are_rows(const LogSoftmax& rows) {
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      Places row = members(rows, i);
      std::ranges::sort(row);
      if (row.size() < 2 || std::ranges::adjacent_find(row) != row.end()) return false;
    }
    return true;
  }
  static bool have_own_powers(const Quotient& of) {
    for (std::size_t k = 0; k < of.place.size(); ++k) {
      const Places row = members(of.rows, of.row[k]);
      if (std::ranges::find(row, of.place[k]) == row.end()) return false;
    }
    return true;
  }

  // x = u + v, where v is equal throughout each row: u.
  std::optional<ValueId> without_shift(const Quotient& of) const {
    const auto* const sum = made_by<Binary>(of.x);
    if (sum == nullptr || sum->kind != Binary::Kind::kAdd) return std::nullopt;
    const std::vector<ValueId>& inputs = maker(of.x)->inputs;
    for (const std::size_t side : {0U, 1U})
      if (is_equal_in_rows({inputs[side], of.rows.source}, of.rows)) return inputs[1 - side];
    return std::nullopt;
  }
  bool is_equal_in_rows(PlacesOf at, const LogSoftmax& rows) const {
    for (at = behind_maps(at);; at = behind(at)) {
      if (are_equal_in_rows(rows, [&](std::size_t k) { return at.places[k]; })) return true;
      const auto* const scale = made_by<Scale>(at.value);
      if (scale == nullptr || !are_equal(scale->factor, at, rows) ||
          !are_equal(scale->offset, at, rows))
        return false;
    }
  }
  static bool are_equal(const Constant& constant, const PlacesOf& at, const LogSoftmax& rows) {
    const auto value = [&](std::size_t k) {
      return constant.data[static_cast<std::size_t>(at.places[k])];
    };
    return constant.error.empty() && are_equal_in_rows(rows, value);
  }
  template <class F>
  static bool are_equal_in_rows(const LogSoftmax& rows, const F& of) {
    for (std::size_t i = 0; i + 1 < rows.row_start.size(); ++i) {
      const auto first = static_cast<std::size_t>(rows.row_start[i]);
      for (auto k = first; k < static_cast<std::size_t>(rows.row_start[i + 1]); ++k)
        if (of(k) != of(first)) return false;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<int> makers_;
};

// The place in its row's part of log-softmax of each quotient.
IndexMap own_places(const Quotient& of) {
  IndexMap map;
  for (std::size_t k = 0; k < of.place.size(); ++k) {
    const auto begin =
        of.rows.source.begin() + of.rows.row_start[static_cast<std::size_t>(of.row[k])];
    map.source.push_back(std::find(begin, of.rows.source.end(), of.place[k]) -
                         of.rows.source.begin());
  }
  return map;
}

std::vector<Node> powers_of(Graph& graph, const Node& node, Quotient of) {
  const std::string name = graph.value(node.output).name;
  const auto terms = static_cast<std::int64_t>(of.rows.source.size());
  const ValueId logarithms = graph.add_value(name + "/log_softmax", {terms});
  const ValueId powers = graph.add_value(name + "/powers", {terms});
  IndexMap places = own_places(of);
  return {{std::move(of.rows), {of.x}, logarithms, node.origin},
          {Unary{{FunctionKind::kExp}}, {logarithms}, powers, node.origin},
          {std::move(places), {powers}, node.output, node.origin}};
}

}  // namespace

void softmax_of_powers(Graph& graph, std::int64_t most_differences) {
  std::vector<std::optional<Quotient>> found;
  const QuotientFinder finder(graph);
  for (const Node& node : graph.nodes) found.push_back(finder.find(node));
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] && differences_of(found[i]->rows) <= most_differences)
      replacements[i] = powers_of(graph, graph.nodes[i], std::move(*found[i]));
  replace_nodes(graph, std::move(replacements));
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
