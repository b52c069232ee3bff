#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/numbers/numbers.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/products/quadratic_form.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

using Forms = std::vector<QuadraticForm>;  // of a value's elements

// Exact arithmetic with forms of more variables, or of more elements, takes too long.
constexpr std::int64_t kMostVariables = 12;
constexpr std::int64_t kMostElements = 2048;
constexpr std::int64_t kMostRows = 64;

// A value is a polynomial of degree 1 or 2 of the elements of `base`. A value that is no such
// polynomial is its own base.
struct Place {
  ValueId base;
  int degree;
};

// Squares of linear functions of `base`, and what they add up to, for each element.
struct Rewritten {
  ValueId base;
  std::vector<SumOfSquares> rows;
};

class FormFinder {
 public:
  explicit FormFinder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {
    for (std::size_t i = 0; i < graph.values.size(); ++i)
      places_.push_back({static_cast<ValueId>(i), 1});
    for (const Node& node : graph.nodes)
      if (const auto place = place_of(node)) places_[index_of(node.output)] = *place;
    note_ends();
  }

  std::optional<Rewritten> find(const Node& node) {
    const Place place = place_at(node.output);
    if (place.degree != 2 || !ends_[index_of(node.output)] || count(node.output) > kMostRows)
      return std::nullopt;
    known_.clear();
    products_ = elements_ = 0;
    const Forms* const forms = forms_of(node.output, place.base);
    return forms == nullptr ? std::nullopt : as_fewer_squares(*forms, place.base);
  }

 private:
  std::int64_t count(ValueId id) const { return element_count(graph_.value(id).shape); }
  const Place& place_at(ValueId id) const { return places_[index_of(id)]; }
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  static bool is_linear(const Node& node) {
    return std::holds_alternative<IndexMap>(node.op) || std::holds_alternative<Scale>(node.op) ||
           std::holds_alternative<Affine>(node.op) || std::holds_alternative<SparseAffine>(node.op);
  }
  static bool is_square(const Node& node) {
    const auto* const unary = std::get_if<Unary>(&node.op);
    return unary != nullptr && unary->function == Function{FunctionKind::kPower, 2};
  }
  static bool is_binary(const Node& node, Binary::Kind kind) {
    const auto* const binary = std::get_if<Binary>(&node.op);
    return binary != nullptr && binary->kind == kind;
  }
  static bool is_product(const Node& node) {
    return is_square(node) || is_binary(node, Binary::Kind::kMul) ||
           std::holds_alternative<Contraction>(node.op);
  }

  std::optional<Place> place_of(const Node& node) const {
    const bool product = is_product(node);
    if (!product && !is_linear(node) && !is_binary(node, Binary::Kind::kAdd)) return std::nullopt;
    if (!has_exact_constants(node.op)) return std::nullopt;
    Place made = place_at(node.inputs[0]);
    for (const ValueId input : node.inputs) {
      const Place& place = place_at(input);
      if (place.base != made.base || (product && place.degree > 1)) return std::nullopt;
      made.degree = std::max(made.degree, place.degree);
    }
    if (!product) return made;
    if (count(made.base) > kMostVariables) return std::nullopt;
    return Place{made.base, 2};
  }

  // Values of degree two that something else than a larger form reads.
  void note_ends() {
    ends_.resize(graph_.values.size(), false);
    for (const ValueId output : graph_.outputs) ends_[index_of(output)] = true;
    for (const Node& node : graph_.nodes)
      for (const ValueId input : node.inputs)
        if (place_at(node.output).base != place_at(input).base) ends_[index_of(input)] = true;
  }

  // The elements of a value as forms of `base`; null where they are too many.
  const Forms* forms_of(ValueId id, ValueId base) {
    if (const auto found = known_.find(id); found != known_.end()) return &found->second;
    elements_ += count(id);
    if (elements_ > kMostElements) return nullptr;
    Forms made;
    if (id == base) {
      const auto n = static_cast<std::size_t>(count(id));
      for (std::size_t i = 0; i < n; ++i) made.push_back(variable_form(n, i));
    } else {
      const Node& node = *maker(id);
      std::vector<const Forms*> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(forms_of(input, base));
      if (std::ranges::count(inputs, nullptr) > 0) return nullptr;
      made = forms_of(node, inputs);
    }
    return &known_.emplace(id, std::move(made)).first->second;
  }

  Forms forms_of(const Node& node, const std::vector<const Forms*>& in) {
    return std::visit(
        [&](const auto& op) -> Forms {
          using O = std::decay_t<decltype(op)>;
          if constexpr (std::is_same_v<O, Binary>)
            return op.kind == Binary::Kind::kAdd ? sums(*in[0], *in[1]) : products(*in[0], *in[1]);
          else if constexpr (std::is_same_v<O, Unary>)
            return products(*in[0], *in[0]);
          else if constexpr (std::is_same_v<O, Contraction>)
            return contracted(op, *in[0], *in[1]);
          else if constexpr (requires { linear(op, *in[0]); })
            return linear(op, *in[0]);
          else
            return {};  // place_of() takes no other operator
        },
        node.op);
  }

  static Forms sums(Forms a, const Forms& b) {
    for (std::size_t i = 0; i < a.size(); ++i) add_multiple(1, b[i], a[i]);
    return a;
  }
  Forms products(const Forms& a, const Forms& b) {
    products_ += static_cast<std::int64_t>(a.size());
    Forms made;
    for (std::size_t i = 0; i < a.size(); ++i) made.push_back(product_of(a[i], b[i]));
    return made;
  }
  Forms contracted(const Contraction& op, const Forms& a, const Forms& b) {
    products_ += op.count() * op.sums;
    Forms made;
    const auto sums = static_cast<std::size_t>(op.sums);
    for (std::int64_t row = 0; row < op.batch * op.rows; ++row)
      for (std::int64_t j = 0; j < op.columns; ++j) {
        const auto left = static_cast<std::size_t>(row) * sums;
        const auto right = static_cast<std::size_t>(row / op.rows * op.columns + j) * sums;
        made.push_back(zero_form(a[0].variables()));
        for (std::size_t l = 0; l < sums; ++l)
          add_multiple(1,
                       product_of(a[static_cast<std::size_t>(op.left[left + l])],
                                  b[static_cast<std::size_t>(op.right[right + l])]),
                       made.back());
      }
    return made;
  }

  static Forms linear(const IndexMap& op, const Forms& x) {
    Forms made;
    for (const std::int64_t i : op.source) made.push_back(x[static_cast<std::size_t>(i)]);
    return made;
  }
  static Forms linear(const Scale& op, const Forms& x) {
    Forms made;
    for (std::size_t i = 0; i < x.size(); ++i) {
      made.push_back(constant_form(op.offset.data[i], x));
      add_multiple(mpq_class(op.factor.data[i]), x[i], made.back());
    }
    return made;
  }
  static Forms linear(const Affine& op, const Forms& x) {
    Forms made;
    for (std::size_t i = 0; i < op.bias.data.size(); ++i) {
      made.push_back(constant_form(op.bias.data[i], x));
      for (std::size_t k = 0; k < x.size(); ++k)
        add_multiple(mpq_class(op.weight.data[i * x.size() + k]), x[k], made.back());
    }
    return made;
  }
  static Forms linear(const SparseAffine& op, const Forms& x) {
    Forms made;
    for (std::size_t i = 0; i < op.bias.data.size(); ++i) {
      made.push_back(constant_form(op.bias.data[i], x));
      for (auto k = static_cast<std::size_t>(op.row_start[i]);
           k < static_cast<std::size_t>(op.row_start[i + 1]); ++k)
        add_multiple(mpq_class(op.value.data[k]), x[static_cast<std::size_t>(op.column[k])],
                     made.back());
    }
    return made;
  }
  static QuadraticForm constant_form(double constant, const Forms& x) {
    QuadraticForm made = zero_form(x[0].variables());
    made.constant = constant;
    return made;
  }

  // The squares of all rows, where they are no more than the products that they replace and their
  // bounds are better by two fifths or more. Rows that are sums of squares already are left: they
  // are known to have one sign, and norms are made of them.
  std::optional<Rewritten> as_fewer_squares(const Forms& forms, ValueId base) const {
    constexpr double kGain = 0.6;
    Rewritten made{base, {}};
    double before = 0, after = 0;
    std::size_t squares = 0;
    for (const QuadraticForm& form : forms) {
      if (form.square.empty() || form.sign) return std::nullopt;
      std::optional<SumOfSquares> row = as_squares(form);
      if (!row || !is_plain(*row)) return std::nullopt;
      before += form.spread;
      after += row->spread;
      squares += row->squares.size();
      made.rows.push_back(*std::move(row));
    }
    const bool fewer = squares > 0 && static_cast<std::int64_t>(squares) <= products_;
    return fewer && after <= kGain * before ? std::optional(std::move(made)) : std::nullopt;
  }

  // Returns true if all numbers are 0 or far within the range of floats: a weight below it would
  // have an error as large as itself.
  static bool is_plain(const SumOfSquares& row) {
    const auto is_number = [](const mpq_class& x) {
      const double size = std::fabs(x.get_d());
      return x == 0 || (size >= 0x1p-100 && size <= 0x1p100);
    };
    return is_number(row.constant) && std::ranges::all_of(row.linear, is_number) &&
           std::ranges::all_of(row.squares, [&](const ShiftedSquare& square) {
             return is_number(square.factor) && is_number(square.shift) &&
                    std::ranges::all_of(square.a, is_number);
           });
  }

  const Graph& graph_;
  std::vector<int> makers_;
  std::vector<Place> places_;
  std::vector<bool> ends_;
  std::map<ValueId, Forms> known_;
  std::int64_t products_ = 0, elements_ = 0;
};

Bounded near(const mpq_class& exact) {
  const vnnlib::Rounded rounded = vnnlib::round_to_double(exact);
  return {rounded.value, rounded.error};
}

// Writes z = A x + s, u = z^2, y = D u + c, and l x where that is not 0.
class SquareWriter {
 public:
  SquareWriter(Graph& graph, const Node& node, const Rewritten& made)
      : graph_(graph), node_(node), made_(made) {}

  std::vector<Node> write() {
    const ValueId squares = add(Unary{{FunctionKind::kPower, 2}}, add_arguments(), "/squares");
    const bool flat = std::ranges::all_of(made_.rows, [](const SumOfSquares& row) {
      return std::ranges::all_of(row.linear, [](const mpq_class& x) { return x == 0; });
    });
    if (flat) {
      nodes_.push_back({sums(), {squares}, node_.output, node_.origin});
      return std::move(nodes_);
    }
    const Shape shape = graph_.value(node_.output).shape;
    const ValueId sum = add_value(sums(), squares, "/sum", shape);
    const ValueId rest = add_value(rest_of(), made_.base, "/rest", shape);
    nodes_.push_back({Binary{Binary::Kind::kAdd}, {sum, rest}, node_.output, node_.origin});
    return std::move(nodes_);
  }

 private:
  ValueId add_value(Op op, ValueId input, const char* suffix, Shape shape) {
    const ValueId made =
        graph_.add_value(graph_.value(node_.output).name + suffix, std::move(shape));
    nodes_.push_back({std::move(op), {input}, made, node_.origin});
    return made;
  }
  ValueId add(Op op, ValueId input, const char* suffix) {
    return add_value(std::move(op), input, suffix, {count_of_squares()});
  }
  std::int64_t count_of_squares() const {
    std::int64_t count = 0;
    for (const SumOfSquares& row : made_.rows)
      count += static_cast<std::int64_t>(row.squares.size());
    return count;
  }
  std::size_t variables() const { return made_.rows[0].linear.size(); }

  ValueId add_arguments() {
    const auto n = static_cast<std::int64_t>(variables());
    ConstantBuilder weight({count_of_squares(), n}), bias({count_of_squares()});
    std::size_t at = 0;
    for (const SumOfSquares& row : made_.rows)
      for (const ShiftedSquare& square : row.squares) {
        for (std::size_t k = 0; k < variables(); ++k)
          weight.set(at * variables() + k, near(square.a[k]));
        bias.set(at++, near(square.shift));
      }
    return add(Affine{std::move(weight).finish(node_.origin), std::move(bias).finish(node_.origin)},
               made_.base, "/arguments");
  }

  SparseAffine sums() const {
    SparseAffine op;
    op.row_start = {0};
    ConstantBuilder value({count_of_squares()});
    ConstantBuilder bias({static_cast<std::int64_t>(made_.rows.size())});
    for (std::size_t i = 0; i < made_.rows.size(); ++i) {
      for (const ShiftedSquare& square : made_.rows[i].squares) {
        value.set(op.column.size(), near(square.factor));
        op.column.push_back(static_cast<std::int64_t>(op.column.size()));
      }
      op.row_start.push_back(static_cast<std::int64_t>(op.column.size()));
      bias.set(i, near(made_.rows[i].constant));
    }
    op.value = std::move(value).finish(node_.origin);
    op.bias = std::move(bias).finish(node_.origin);
    return op;
  }

  Affine rest_of() const {
    const auto rows = static_cast<std::int64_t>(made_.rows.size());
    ConstantBuilder weight({rows, static_cast<std::int64_t>(variables())});
    for (std::size_t i = 0; i < made_.rows.size(); ++i)
      for (std::size_t k = 0; k < variables(); ++k)
        weight.set(i * variables() + k, near(made_.rows[i].linear[k]));
    return {std::move(weight).finish(node_.origin), filled({rows}, 0)};
  }

  Graph& graph_;
  const Node& node_;
  const Rewritten& made_;
  std::vector<Node> nodes_;
};

}  // namespace

void quadratic_forms(Graph& graph) {
  FormFinder finder(graph);
  std::vector<std::optional<Rewritten>> found;
  for (const Node& node : graph.nodes) found.push_back(finder.find(node));
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) replacements[i] = SquareWriter(graph, graph.nodes[i], *found[i]).write();
  replace_nodes(graph, std::move(replacements));
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
