#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/links.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

using Elements = std::vector<std::int64_t>;  // of a flattened tensor, each once

// The maxima of pairs of one tensor's elements, in the order of first use.
class PairMaxima {
 public:
  // The number of max(a, b); of a itself where both are the same.
  std::int64_t number_of(std::int64_t a, std::int64_t b) {
    const auto [at, added] = numbers_.try_emplace({a, b}, static_cast<std::int64_t>(kept_.size()));
    if (added) {
      kept_.push_back(b);
      if (a != b) add_difference(a, b);
      place_.push_back(static_cast<std::int64_t>(column_.size()) / 2);
    }
    return at->second;
  }

  std::int64_t count() const { return static_cast<std::int64_t>(kept_.size()); }
  std::int64_t differences() const { return place_.back(); }

  // b of all pairs.
  IndexMap kept() const { return {kept_}; }

  // a - b, of those that are two elements.
  SparseAffine difference() const {
    return {even_rows(differences(), 2),
            column_,
            {{differences() * 2}, value_, {}},
            filled({differences()}, 0)};
  }

  // Spreads the differences to the places of their pairs, with 0 for a single element.
  SparseAffine placed() const {
    Elements row_start = {0};
    row_start.insert(row_start.end(), place_.begin(), place_.end());
    Elements column(static_cast<std::size_t>(differences()));
    std::iota(column.begin(), column.end(), 0);
    return {std::move(row_start), std::move(column), filled({differences()}, 1),
            filled({count()}, 0)};
  }

 private:
  void add_difference(std::int64_t a, std::int64_t b) {
    column_.insert(column_.end(), {std::min(a, b), std::max(a, b)});
    const double first = a < b ? 1 : -1;
    value_.insert(value_.end(), {first, -first});
  }

  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> numbers_;
  Elements kept_;
  Elements place_;  // of each pair: the differences up to its own
  Elements column_;
  std::vector<double> value_;
};

// The nodes that take the place of one GroupMax.
class MaxRewrite {
 public:
  MaxRewrite(Graph& graph, const Node& node)
      : graph_(graph), node_(node), name_(graph.value(node.output).name) {}

  std::vector<Node> run() {
    const auto& max = std::get<GroupMax>(node_.op);
    // Lines of windows first, since windows beside each other share them.
    std::map<Elements, std::int64_t> numbers;
    std::vector<Elements> lines, groups;
    for (std::size_t row = 0; row + 1 < max.row_start.size(); ++row) {
      Elements& group = groups.emplace_back();
      for (Elements& line : lines_of(candidates(max, row))) {
        const auto number = static_cast<std::int64_t>(lines.size());
        const auto [at, added] = numbers.try_emplace(line, number);
        if (added) lines.push_back(std::move(line));
        group.push_back(at->second);
      }
    }
    const ValueId of_lines = reduce(node_.inputs[0], lines);
    // `lines` now says where each line's maximum is.
    for (Elements& group : groups)
      for (std::int64_t& line : group) line = lines[static_cast<std::size_t>(line)].front();
    const ValueId maxima = reduce(of_lines, groups);
    Elements source;
    for (const Elements& group : groups) source.push_back(group.front());
    nodes_.push_back({IndexMap{std::move(source)}, {maxima}, node_.output, node_.origin});
    return std::move(nodes_);
  }

 private:
  // Rising, each once.
  static std::set<std::int64_t> candidates(const GroupMax& max, std::size_t row) {
    return {max.source.begin() + max.row_start[row], max.source.begin() + max.row_start[row + 1]};
  }

  // Elements at equal distances.
  static std::vector<Elements> lines_of(const std::set<std::int64_t>& elements) {
    std::vector<Elements> lines;
    for (const std::int64_t element : elements) {
      const bool begins =
          lines.empty() || (lines.back().size() > 1 &&
                            element - lines.back().back() != lines.back()[1] - lines.back()[0]);
      if (begins) lines.emplace_back();
      lines.back().push_back(element);
    }
    return lines;
  }

  ValueId add(Op op, std::vector<ValueId> inputs, std::string_view suffix, std::int64_t count) {
    const ValueId output = graph_.add_value(name_ + std::string(suffix), {count});
    nodes_.push_back({std::move(op), std::move(inputs), output, node_.origin});
    return output;
  }

  // Halves the groups of x's elements until each is one element of the result.
  ValueId reduce(ValueId x, std::vector<Elements>& groups) {
    while (std::ranges::any_of(groups, [](const Elements& group) { return group.size() > 1; })) {
      PairMaxima pairs;
      for (Elements& group : groups) {
        Elements halved;
        for (std::size_t i = 0; i < group.size(); i += 2)
          halved.push_back(pairs.number_of(group[i], group[std::min(i + 1, group.size() - 1)]));
        group = std::move(halved);
      }
      x = add_maxima(x, pairs);
    }
    return x;
  }

  ValueId add_maxima(ValueId x, const PairMaxima& pairs) {
    const ValueId kept = add(pairs.kept(), {x}, "_kept", pairs.count());
    const ValueId difference = add(pairs.difference(), {x}, "_difference", pairs.differences());
    ValueId relu = add(Relu{}, {difference}, "_relu", pairs.differences());
    if (pairs.differences() < pairs.count())
      relu = add(pairs.placed(), {relu}, "_placed", pairs.count());
    return add(Binary{Binary::Kind::kAdd}, {kept, relu}, "_max", pairs.count());
  }

  Graph& graph_;
  const Node& node_;
  const std::string name_;
  std::vector<Node> nodes_;
};

// relu(max(a, b)) = max(relu(a), relu(b)): what is 0 on a whole box is compared with nothing then.
void move_relus_before_maxima(Graph& graph) {
  const Links links(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& max = graph.nodes[i];
    if (!std::holds_alternative<GroupMax>(max.op) || !links.has_one_reader(max.output)) continue;
    const std::size_t reader = links.readers(max.output).front();
    const Node& relu = graph.nodes[reader];
    if (!std::holds_alternative<Relu>(relu.op)) continue;
    const Value x = graph.value(max.inputs[0]);
    const ValueId before = graph.add_value(x.name + "_relu", x.shape);
    replacements[i] = {{Relu{}, max.inputs, before, relu.origin}};
    replacements[reader] = {{max.op, {before}, relu.output, max.origin}};
  }
  replace_nodes(graph, std::move(replacements));
}

}  // namespace

void max_as_relu(Graph& graph) {
  move_relus_before_maxima(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (std::holds_alternative<GroupMax>(graph.nodes[i].op))
      replacements[i] = MaxRewrite(graph, graph.nodes[i]).run();
  replace_nodes(graph, std::move(replacements));
}

}  // namespace bf_aot
