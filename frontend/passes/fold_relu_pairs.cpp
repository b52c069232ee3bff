#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

using Indices = std::vector<std::size_t>;

std::size_t neurons_of(const Affine& affine) {
  return affine.bias.data.size();
}
std::size_t inputs_of(const Affine& affine) {
  return neurons_of(affine) == 0 ? 0 : affine.weight.data.size() / neurons_of(affine);
}

// Weights of row i, then its bias, times a sign.
std::vector<double> signed_row(const Affine& affine, std::size_t i, double sign) {
  const std::size_t columns = inputs_of(affine);
  std::vector<double> row;
  for (std::size_t k = 0; k < columns; ++k)
    row.push_back(sign * affine.weight.data[i * columns + k]);
  row.push_back(sign * affine.bias.data[i]);
  return row;
}

bool are_opposite_columns(const Affine& affine, std::size_t i, std::size_t j) {
  const std::size_t columns = inputs_of(affine);
  for (std::size_t row = 0; row < neurons_of(affine); ++row)
    if (affine.weight.data[row * columns + i] != -affine.weight.data[row * columns + j])
      return false;
  return true;
}

struct Pairs {
  Indices first;  // of each pair
  Indices rest;   // neurons of no pair
};

// Neurons z and -z whose values the outer layer subtracts, all exactly.
Pairs find_pairs(const Affine& inner, const Affine& outer) {
  std::multimap<std::vector<double>, std::size_t> waiting;
  std::vector<bool> paired(neurons_of(inner), false);
  Pairs pairs;
  for (std::size_t j = 0; j < neurons_of(inner); ++j) {
    const auto [begin, end] = waiting.equal_range(signed_row(inner, j, -1));
    const auto found = std::find_if(begin, end, [&](const auto& other) {
      return are_opposite_columns(outer, other.second, j);
    });
    if (found == end) {
      waiting.emplace(signed_row(inner, j, 1), j);
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

Affine take_rows(const Affine& affine, const Indices& rows) {
  const std::size_t columns = inputs_of(affine);
  const auto count = static_cast<std::int64_t>(rows.size());
  Affine taken{{{count, static_cast<std::int64_t>(columns)}, {}, {}}, {{count}, {}, {}}};
  for (const std::size_t row : rows) {
    const auto begin = affine.weight.data.begin() + static_cast<std::ptrdiff_t>(row * columns);
    taken.weight.data.insert(taken.weight.data.end(), begin,
                             begin + static_cast<std::ptrdiff_t>(columns));
    taken.bias.data.push_back(affine.bias.data[row]);
  }
  return taken;
}

Affine take_columns(const Affine& affine, const Indices& columns, Constant bias) {
  const std::size_t all = inputs_of(affine);
  Affine taken{{{affine.bias.shape[0], static_cast<std::int64_t>(columns.size())}, {}, {}},
               std::move(bias)};
  for (std::size_t row = 0; row < neurons_of(affine); ++row)
    for (const std::size_t column : columns)
      taken.weight.data.push_back(affine.weight.data[row * all + column]);
  return taken;
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
    if (const auto* const outer = std::get_if<Affine>(&op)) return fold_layer(*outer);
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

  bool fold_layer(const Affine& outer) {
    const Node& node = graph_.nodes[index_];
    const Node* const relu = links_.sole_maker(graph_, node.inputs[0]);
    if (relu == nullptr || !std::holds_alternative<Relu>(relu->op)) return false;
    const Node* const below = links_.sole_maker(graph_, relu->inputs[0]);
    const auto* const inner = below == nullptr ? nullptr : std::get_if<Affine>(&below->op);
    if (inner == nullptr || !inner->weight.is_exact() || !inner->bias.is_exact() ||
        !outer.weight.is_exact() || inputs_of(outer) != neurons_of(*inner))
      return false;
    const Pairs pairs = find_pairs(*inner, outer);
    if (pairs.first.empty()) return false;
    replace(*inner, outer, pairs, *below, *relu);
    return true;
  }

  void replace(const Affine& inner, const Affine& outer, const Pairs& pairs, const Node& below,
               const Node& relu) {
    const Node node = graph_.nodes[index_];
    const ValueId x = below.inputs[0];
    const Origin origin = join_origins(join_origins(below.origin, relu.origin), node.origin);
    const std::string name = graph_.value(node.output).name;
    const Shape shape = graph_.value(node.output).shape;
    const auto value = [&](const char* suffix, const Shape& of) {
      return graph_.add_value(name + suffix, Shape(of));
    };
    const auto vector = [](const Indices& of) {
      return Shape{1, static_cast<std::int64_t>(of.size())};
    };
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    std::vector<Node>& made = replacements[index_];
    const bool alone = pairs.rest.empty();
    const ValueId z = value("_linear", vector(pairs.first));
    const ValueId linear = alone ? node.output : value("_pairs", shape);
    Constant bias = alone ? outer.bias : filled(outer.bias.shape, 0);
    made.push_back({take_rows(inner, pairs.first), {x}, z, below.origin});
    made.push_back({take_columns(outer, pairs.first, std::move(bias)), {z}, linear, origin});
    if (!alone) {
      const ValueId h = value("_rest_in", vector(pairs.rest)),
                    r = value("_rest_relu", vector(pairs.rest)), rest = value("_rest", shape);
      made.push_back({take_rows(inner, pairs.rest), {x}, h, below.origin});
      made.push_back({Relu{}, {h}, r, relu.origin});
      made.push_back({take_columns(outer, pairs.rest, outer.bias), {r}, rest, node.origin});
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
