#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "frontend/graph/model.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/learning/classes.h"
#include "frontend/import/operators/operators.h"

// Ensembles of decision trees. With the condition c of a node, 0 or 1, and the values a and b of
// its children, which lie in [a_least, a_most] and [b_least, b_most] for all inputs, the node's
// value is
//   max(a - K (1 - c), b - L c, least)   with   K >= a_most - b_least, L >= b_most - a_least,
// K, L >= 0 and least that of a and b: for c = 1 the second is at most a, for c = 0 the first at
// most b. Its interval ends above where that of the reachable leaves does, and where c is known the
// value is that of one child.

namespace bf_aot {
namespace {

using onnx::TensorProto;

// ---- Reading

// A condition on a feature; `equal` asks for equality, else x <= threshold, or x >= threshold.
// Negated it is the other way around.
struct Condition {
  std::int64_t feature = 0;
  double threshold = 0;
  enum class Kind : std::uint8_t { kAtMost, kAtLeast, kEqual } kind = Kind::kAtMost;
  bool negated = false;
};

struct TreeNode {
  bool is_leaf = false;
  Condition condition;
  std::size_t yes = 0, no = 0;             // places of the children
  std::map<std::int64_t, double> weights;  // of a leaf, by target
  std::size_t height = 0;                  // 0: a leaf
  double weight(std::int64_t target) const {
    const auto found = weights.find(target);
    return found == weights.end() ? 0 : found->second;
  }
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> roots;
};

std::vector<std::int64_t> read_ints(const NodeImport& node, const std::string& attribute) {
  return node.ints_attribute(attribute).value_or(std::vector<std::int64_t>());
}

Condition condition_of(const std::string& mode, std::int64_t feature, double threshold) {
  using Kind = Condition::Kind;
  static const std::map<std::string, std::pair<Kind, bool>> kModes = {
      {"BRANCH_LEQ", {Kind::kAtMost, false}},  {"BRANCH_LT", {Kind::kAtLeast, true}},
      {"BRANCH_GTE", {Kind::kAtLeast, false}}, {"BRANCH_GT", {Kind::kAtMost, true}},
      {"BRANCH_EQ", {Kind::kEqual, false}},    {"BRANCH_NEQ", {Kind::kEqual, true}},
  };
  const auto found = kModes.find(mode);
  if (found == kModes.end())
    fail("BF1012", "", fmt::format("a node's mode is '{}'", printable(mode)));
  return {feature, threshold, found->second.first, found->second.second};
}

using Key = std::pair<std::int64_t, std::int64_t>;  // tree, node

// Sets the heights of the tree's nodes. Throws: BF1012 when a node has two parents.
void measure(Ensemble& ensemble, std::size_t root, std::vector<bool>& seen) {
  std::vector<std::size_t> open = {root};
  std::vector<std::size_t> order;  // parents before children
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (seen[at]) fail("BF1012", "", "a node of a tree has two parents", "export the model again");
    seen[at] = true;
    order.push_back(at);
    if (ensemble.nodes[at].is_leaf) continue;
    open.push_back(ensemble.nodes[at].yes);
    open.push_back(ensemble.nodes[at].no);
  }
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    TreeNode& node = ensemble.nodes[*at];
    if (!node.is_leaf)
      node.height = 1 + std::max(ensemble.nodes[node.yes].height, ensemble.nodes[node.no].height);
  }
}

// An attribute that has a number for each node.
std::vector<std::int64_t> read_of_nodes(const NodeImport& node, const std::string& name,
                                        std::size_t nodes) {
  std::vector<std::int64_t> values = read_ints(node, name);
  if (values.size() != nodes)
    fail("BF1012", "",
         fmt::format("attribute '{}' has {} numbers for {} nodes", name, values.size(), nodes));
  return values;
}

// prefix: that of the attributes of weights, "target" or "class". targets: their ids, as the
// attribute has them.
Ensemble read_ensemble(const NodeImport& node, const std::string& prefix, std::int64_t features,
                       std::vector<std::int64_t>& targets) {
  const std::vector<std::int64_t> trees = read_ints(node, "nodes_treeids");
  const std::size_t count = trees.size();
  const auto of_nodes = [&](const char* name) { return read_of_nodes(node, name, count); };
  const auto ids = of_nodes("nodes_nodeids"), feature = of_nodes("nodes_featureids");
  const auto yes = of_nodes("nodes_truenodeids"), no = of_nodes("nodes_falsenodeids");
  const auto modes = node.strings_attribute("nodes_modes").value_or(std::vector<std::string>());
  const auto values = node.floats_attribute("nodes_values").value_or(std::vector<double>());
  if (count == 0 || modes.size() != count || values.size() != count)
    fail("BF1012", "",
         fmt::format("{} modes and {} values for {} nodes", modes.size(), values.size(), count));
  std::map<Key, std::size_t> places;
  for (std::size_t i = 0; i < count; ++i)
    if (!places.emplace(Key{trees[i], ids[i]}, i).second)
      fail("BF1012", "", fmt::format("node {} of tree {} is there twice", ids[i], trees[i]));
  const auto place = [&](std::int64_t tree, std::int64_t id) {
    const auto found = places.find({tree, id});
    if (found == places.end()) fail("BF1012", "", fmt::format("tree {} has no node {}", tree, id));
    return found->second;
  };
  Ensemble ensemble;
  std::vector<bool> is_child(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode made;
    made.is_leaf = modes[i] == "LEAF";
    if (!made.is_leaf) {
      if (feature[i] < 0 || feature[i] >= features)
        fail("BF1014", "", fmt::format("feature {} of {}", feature[i], features));
      made.condition = condition_of(modes[i], feature[i], values[i]);
      made.yes = place(trees[i], yes[i]);
      made.no = place(trees[i], no[i]);
      is_child[made.yes] = is_child[made.no] = true;
    }
    ensemble.nodes.push_back(std::move(made));
  }
  std::vector<bool> seen(count, false);
  for (std::size_t i = 0; i < count; ++i)
    if (!is_child[i]) {
      ensemble.roots.push_back(i);
      measure(ensemble, i, seen);
    }
  if (std::ranges::find(seen, false) != seen.end())
    fail("BF1012", "", "a tree has no root", "export the model again");

  const auto weight_trees = read_ints(node, prefix + "_treeids");
  const auto weight_nodes = read_ints(node, prefix + "_nodeids");
  targets = read_ints(node, prefix + "_ids");
  const auto weights = node.floats_attribute(prefix + "_weights").value_or(std::vector<double>());
  if (weight_trees.size() != weights.size() || weight_nodes.size() != weights.size() ||
      targets.size() != weights.size())
    fail("BF1012", "", fmt::format("{} weights of leaves and ids that do not fit", weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    TreeNode& leaf = ensemble.nodes[place(weight_trees[i], weight_nodes[i])];
    if (!leaf.is_leaf) fail("BF1012", "", "a node that is no leaf has a weight");
    if (!leaf.weights.emplace(targets[i], weights[i]).second)
      fail("BF1012", "", "a leaf has two weights of one target");
  }
  return ensemble;
}

// ---- TreeEnsemble, which stands for both since version 5 of ai.onnx.ml

Tensor read_tensor(NodeImport& node, const std::string& attribute) {
  return node.reader().read(node.attribute(attribute, onnx::AttributeProto::TENSOR).t(), "");
}

std::vector<double> read_reals(NodeImport& node, const std::string& attribute) {
  Tensor made = read_tensor(node, attribute);
  if (auto* const reals = std::get_if<Constant>(&made)) return std::move(reals->data);
  fail("BF1012", "", fmt::format("attribute '{}' holds no real numbers", attribute));
}

// The mode of each node by its number in the text.
std::vector<std::string> read_modes(NodeImport& node) {
  static constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const Tensor made = read_tensor(node, "nodes_modes");
  const auto* const numbers = std::get_if<IntegerTensor>(&made);
  if (numbers == nullptr) fail("BF1012", "", "attribute 'nodes_modes' holds no integers");
  std::vector<std::string> modes;
  for (const std::int64_t number : numbers->data) {
    if (number < 0 || number >= static_cast<std::int64_t>(std::size(kNames)))
      fail("BF1026", "", fmt::format("a node's mode is {}", number),
           "0 to 5 are supported; write BRANCH_MEMBER (6) as several BRANCH_EQ");
    modes.emplace_back(kNames[number]);
  }
  return modes;
}

// Each branch to a leaf gets a leaf of its own, as several may lead to one.
Ensemble read_joint_ensemble(NodeImport& node, std::int64_t features, std::int64_t targets) {
  const std::vector<std::string> modes = read_modes(node);
  const std::vector<double> splits = read_reals(node, "nodes_splits");
  const std::vector<double> weights = read_reals(node, "leaf_weights");
  const std::vector<std::int64_t> leaf_targets = read_ints(node, "leaf_targetids");
  const std::size_t count = modes.size();
  const auto of_nodes = [&](const char* name) { return read_of_nodes(node, name, count); };
  const auto feature = of_nodes("nodes_featureids");
  const auto yes = of_nodes("nodes_truenodeids"), no = of_nodes("nodes_falsenodeids");
  const auto yes_leaf = of_nodes("nodes_trueleafs"), no_leaf = of_nodes("nodes_falseleafs");
  if (count == 0 || splits.size() != count || leaf_targets.size() != weights.size())
    fail("BF1012", "",
         fmt::format("{} splits for {} nodes, {} targets for {} weights of leaves", splits.size(),
                     count, leaf_targets.size(), weights.size()));
  Ensemble ensemble;
  ensemble.nodes.resize(count);
  const auto branch = [&](std::int64_t id, std::int64_t is_leaf) {
    const std::size_t most = is_leaf != 0 ? weights.size() : count;
    if (id < 0 || static_cast<std::size_t>(id) >= most)
      fail("BF1012", "", fmt::format("a branch leads to number {} of {}", id, most));
    const auto at = static_cast<std::size_t>(id);
    if (is_leaf == 0) return at;
    if (leaf_targets[at] < 0 || leaf_targets[at] >= targets)
      fail("BF1012", "", fmt::format("a leaf of target {} of {}", leaf_targets[at], targets));
    TreeNode leaf;
    leaf.is_leaf = true;
    leaf.weights.emplace(leaf_targets[at], weights[at]);
    ensemble.nodes.push_back(std::move(leaf));
    return ensemble.nodes.size() - 1;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (feature[i] < 0 || feature[i] >= features)
      fail("BF1014", "", fmt::format("feature {} of {}", feature[i], features));
    const std::size_t a = branch(yes[i], yes_leaf[i]), b = branch(no[i], no_leaf[i]);
    ensemble.nodes[i].condition = condition_of(modes[i], feature[i], splits[i]);
    ensemble.nodes[i].yes = a;
    ensemble.nodes[i].no = b;
  }
  std::vector<bool> seen(ensemble.nodes.size(), false);
  for (const std::int64_t root : read_ints(node, "tree_roots")) {
    if (root < 0 || static_cast<std::size_t>(root) >= count)
      fail("BF1012", "", fmt::format("a root is node {} of {}", root, count));
    ensemble.roots.push_back(static_cast<std::size_t>(root));
    measure(ensemble, ensemble.roots.back(), seen);
  }
  if (std::ranges::find(seen, false) != seen.end())
    fail("BF1012", "", "a node belongs to no tree", "export the model again");
  return ensemble;
}

// ---- Writing

struct Range {
  double least = 0, most = 0;
};

class Trees {
 public:
  Trees(NodeImport& node, const Ensemble& ensemble, ValueId x)
      : node_(node), ensemble_(ensemble), x_(x) {
    add_conditions();
  }

  // The sum over all trees of each target, and its base value: [1, targets].
  ValueId add_sums(std::int64_t targets, const std::vector<double>& base) {
    std::vector<Sum> bias(static_cast<std::size_t>(targets));
    for (std::size_t t = 0; t < base.size(); ++t) bias[t].add({base[t], 0});
    for (std::int64_t target = 0; target < targets; ++target) {
      find_ranges(target);
      for (const std::size_t root : ensemble_.roots) request(root, target);
    }
    std::size_t height = 0;
    for (const auto& [key, row] : rows_)
      height = std::max(height, ensemble_.nodes[key.first].height);
    for (std::size_t h = 1; h <= height; ++h) add_level(h);
    std::optional<ValueId> sum;
    for (std::size_t h = 1; h <= height; ++h) {
      if (!levels_[h]) continue;
      std::vector<std::vector<std::int64_t>> columns(static_cast<std::size_t>(targets));
      bool any = false;
      for (std::int64_t target = 0; target < targets; ++target)
        for (const std::size_t root : ensemble_.roots)
          if (ensemble_.nodes[root].height == h && rows_.contains({root, target})) {
            columns[static_cast<std::size_t>(target)].push_back(rows_.at({root, target}));
            any = true;
          }
      if (!any) continue;
      RowBuilder rows(node_);
      for (const auto& each : columns) {
        rows.begin();
        for (const std::int64_t column : each) rows.add(column);
      }
      const ValueId part = std::move(rows).finish_sums(*levels_[h], {1, targets});
      sum = sum ? add_binary(node_, Binary::Kind::kAdd, *sum, part) : part;
    }
    for (std::int64_t target = 0; target < targets; ++target) {
      find_ranges(target);
      for (const std::size_t root : ensemble_.roots)
        if (!rows_.contains({root, target}))
          bias[static_cast<std::size_t>(target)].add({ranges_[root].least, 0});
    }
    ConstantBuilder constant({1, targets});
    for (std::size_t t = 0; t < bias.size(); ++t) constant.set(t, bias[t].result());
    Constant value = std::move(constant).finish(node_.origin());
    if (!sum) return add_constant(node_, std::move(value));
    return add_scale(node_, *sum, filled({1, targets}, 1), std::move(value));
  }

 private:
  // One column for each pair of feature and threshold and each direction: 1 where it holds.
  void add_conditions() {
    RowBuilder rows(node_);
    const auto column = [&](std::int64_t feature, double threshold, bool at_most) {
      const auto [found, fresh] =
          columns_.emplace(std::tuple{feature, threshold, at_most}, rows.rows());
      if (!fresh) return;
      rows.begin({at_most ? threshold : -threshold, 0});
      rows.add(feature, {at_most ? -1.0 : 1.0, 0});
    };
    for (const TreeNode& each : ensemble_.nodes) {
      if (each.is_leaf) continue;
      const Condition& c = each.condition;
      if (c.kind != Condition::Kind::kAtLeast) column(c.feature, c.threshold, true);
      if (c.kind != Condition::Kind::kAtMost) column(c.feature, c.threshold, false);
    }
    const std::int64_t count = rows.rows();
    if (count == 0) return;
    conditions_ =
        add_unary(node_, std::move(rows).finish_sums(x_, {count}), {FunctionKind::kStepAt});
  }

  // The least and largest weight of the leaves below each node.
  void find_ranges(std::int64_t target) {
    ranges_.assign(ensemble_.nodes.size(), {});
    by_height();
    for (const std::size_t at : order_) {
      const TreeNode& node = ensemble_.nodes[at];
      if (node.is_leaf) {
        ranges_[at] = {node.weight(target), node.weight(target)};
      } else {
        ranges_[at] = {std::min(ranges_[node.yes].least, ranges_[node.no].least),
                       std::max(ranges_[node.yes].most, ranges_[node.no].most)};
      }
    }
  }

  void by_height() {
    if (!order_.empty()) return;
    order_.resize(ensemble_.nodes.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return ensemble_.nodes[i].height; });
  }

  // Gives rows to the node and those below it whose values are not constant. ranges_ are those of
  // the target.
  void request(std::size_t root, std::int64_t target) {
    std::vector<std::size_t> open = {root};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (ranges_[at].least == ranges_[at].most) continue;
      const TreeNode& node = ensemble_.nodes[at];
      if (by_level_.size() <= node.height) by_level_.resize(node.height + 1);
      std::vector<Request>& level = by_level_[node.height];
      rows_[{at, target}] = static_cast<std::int64_t>(level.size());
      const Range &a = ranges_[node.yes], &b = ranges_[node.no];
      level.push_back({at, target, a, b});
      open.push_back(node.yes);
      open.push_back(node.no);
    }
  }

  // A candidate adds conditions, and a value of the level below, by their columns.
  struct Candidate {
    Bounded bias{0, 0};
    std::vector<std::pair<std::int64_t, Bounded>> conditions;
    std::optional<std::pair<std::size_t, std::int64_t>> value;  // level, column
  };
  struct Request {
    std::size_t node;
    std::int64_t target;
    Range yes, no;
  };

  // child - loss (1 - c), where c is the condition, or its opposite.
  Candidate candidate(std::size_t child, const Range& range, std::int64_t target,
                      const Condition& c, bool opposite, double least_of_other) const {
    Candidate made;
    if (range.least == range.most)
      made.bias = {range.least, 0};
    else
      made.value = {ensemble_.nodes[child].height, rows_.at({child, target})};
    Bounded loss = add({range.most, 0}, {-least_of_other, 0});
    loss = {std::max(0.0, loss.value + 2 * loss.error), 0};
    // loss is exact as what is taken: any number that is large enough is right.
    const bool negated = c.negated != opposite;
    const auto column = [&](bool at_most) {
      return columns_.at(std::tuple{c.feature, c.threshold, at_most});
    };
    // c = sum of columns + constant, or 1 - that.
    Sum bias;
    bias.add(made.bias);
    const double sign = negated ? -1 : 1;
    double constant = 0;
    std::vector<std::int64_t> used;
    if (c.kind != Condition::Kind::kAtLeast) used.push_back(column(true));
    if (c.kind != Condition::Kind::kAtMost) used.push_back(column(false));
    if (c.kind == Condition::Kind::kEqual) constant = -1;
    if (negated) constant = 1 - constant;
    for (const std::int64_t each : used)
      made.conditions.emplace_back(each, Bounded{sign * loss.value, 0});
    bias.add(multiply({constant - 1, 0}, loss));
    made.bias = bias.result();
    return made;
  }

  void add_level(std::size_t height) {
    if (levels_.size() <= by_level_.size()) levels_.resize(by_level_.size() + 1);
    if (height >= by_level_.size() || by_level_[height].empty()) return;
    std::vector<Candidate> candidates;
    std::set<std::size_t> below;
    for (const Request& each : by_level_[height]) {
      const TreeNode& node = ensemble_.nodes[each.node];
      candidates.push_back(
          candidate(node.yes, each.yes, each.target, node.condition, false, each.no.least));
      candidates.push_back(
          candidate(node.no, each.no, each.target, node.condition, true, each.yes.least));
      Candidate least;
      least.bias = {std::min(each.yes.least, each.no.least), 0};
      candidates.push_back(least);
    }
    for (const Candidate& each : candidates)
      if (each.value) below.insert(each.value->first);
    const Shape shape = {static_cast<std::int64_t>(candidates.size())};
    RowBuilder rows(node_);
    for (const Candidate& each : candidates) {
      rows.begin(each.bias);
      for (const auto& [column, factor] : each.conditions) rows.add(column, factor);
    }
    ValueId all = std::move(rows).finish_sums(*conditions_, shape);
    for (const std::size_t level : below) {
      RowBuilder values(node_);
      for (const Candidate& each : candidates) {
        values.begin();
        if (each.value && each.value->first == level) values.add(each.value->second);
      }
      all = add_binary(node_, Binary::Kind::kAdd, all,
                       std::move(values).finish_sums(*levels_[level], shape));
    }
    RowBuilder maxima(node_);
    const auto count = static_cast<std::int64_t>(by_level_[height].size());
    for (std::int64_t i = 0; i < count; ++i) {
      maxima.begin();
      for (std::int64_t k = 0; k < 3; ++k) maxima.add(3 * i + k);
    }
    levels_[height] = std::move(maxima).finish_maxima(all, {count});
  }

  NodeImport& node_;
  const Ensemble& ensemble_;
  ValueId x_;
  std::map<std::tuple<std::int64_t, double, bool>, std::int64_t> columns_;
  std::optional<ValueId> conditions_;
  std::vector<std::size_t> order_;  // of nodes, children before parents
  std::vector<Range> ranges_;       // of each node, for one target
  std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> rows_;  // of node and target
  std::vector<std::vector<Request>> by_level_;
  std::vector<std::optional<ValueId>> levels_;
};

// The features of one sample.
ValueId read_features(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  if (shape.empty() || element_count(shape) != shape.back())
    fail("BF1014", "",
         fmt::format("the input has shape {}, not one row of features", to_string(shape)),
         "export with batch 1");
  return node.input(0);
}

// ONNX Runtime leaves the base value out where no leaf has a weight of the target. Throws: BF1012,
// BF1026 when that may be so.
void check_base(const Ensemble& ensemble, const std::vector<double>& base, std::int64_t targets) {
  if (!base.empty() && static_cast<std::int64_t>(base.size()) != targets)
    fail("BF1012", "", fmt::format("{} base values for {} targets", base.size(), targets));
  for (std::size_t target = 0; target < base.size(); ++target) {
    const auto has_weight = [&](std::size_t root) {
      std::vector<std::size_t> open = {root};
      while (!open.empty()) {
        const TreeNode& node = ensemble.nodes[open.back()];
        open.pop_back();
        if (node.is_leaf && !node.weights.contains(static_cast<std::int64_t>(target))) return false;
        if (!node.is_leaf) open.insert(open.end(), {node.yes, node.no});
      }
      return true;
    };
    if (base[target] != 0 && std::ranges::none_of(ensemble.roots, has_weight))
      fail("BF1026", "",
           fmt::format("a base value of target {}, of which leaves of all trees have no weight",
                       target),
           "give the leaves of a tree a weight of 0");
  }
}

// The sums of all trees, or their means, plus the base values: [1, targets].
ValueId add_targets(NodeImport& node, const Ensemble& ensemble, ValueId x, std::int64_t targets,
                    const std::vector<double>& base, bool average) {
  Trees trees(node, ensemble, x);
  const ValueId sums = trees.add_sums(targets, average ? std::vector<double>() : base);
  if (!average) return sums;
  const Bounded share = divide({1, 0}, {static_cast<double>(ensemble.roots.size()), 0});
  ConstantBuilder factor({1, targets}), offset({1, targets});
  for (std::size_t t = 0; t < factor.size(); ++t) {
    factor.set(t, share);
    offset.set(t, {base.empty() ? 0 : base[t], 0});
  }
  return add_scale(node, sums, std::move(factor).finish(node.origin()),
                   std::move(offset).finish(node.origin()));
}

void import_regressor(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  const std::int64_t targets = node.int_attribute("n_targets", 1);
  std::vector<std::int64_t> ids;
  const ValueId x = read_features(node);
  const Ensemble ensemble = read_ensemble(node, "target", node.shape_of(x).back(), ids);
  if (targets < 1 || std::ranges::any_of(ids, [&](auto id) { return id < 0 || id >= targets; }))
    fail("BF1012", "", fmt::format("attribute 'n_targets' is {}", targets));
  const std::vector<double> base =
      node.floats_attribute("base_values").value_or(std::vector<double>());
  check_base(ensemble, base, targets);
  const std::string aggregate = node.string_attribute("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE")
    fail("BF1026", "", fmt::format("aggregate_function is '{}'", printable(aggregate)),
         "SUM and AVERAGE are supported");
  const std::string transform = node.string_attribute("post_transform", "NONE");
  if (targets == 1 && transform != "NONE" && transform != "LOGISTIC")
    fail("BF1026", "", fmt::format("post_transform is '{}' of one target", printable(transform)));
  const ValueId y = add_targets(node, ensemble, x, targets, base, aggregate == "AVERAGE");
  node.emit(add_transformed(node, y, transform));
}

// Refuses post_transform: ONNX's text and ONNX Runtime give LOGISTIC and SOFTMAX different numbers.
void import_tree_ensemble(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  constexpr std::int64_t kAverage = 0, kSum = 1;
  const std::int64_t targets = node.int_attribute("n_targets", 1);
  if (targets < 1) fail("BF1012", "", fmt::format("attribute 'n_targets' is {}", targets));
  const std::int64_t aggregate = node.int_attribute("aggregate_function", kSum);
  if (aggregate != kAverage && aggregate != kSum)
    fail("BF1026", "", fmt::format("aggregate_function is {}", aggregate),
         "0 (AVERAGE) and 1 (SUM) are supported");
  if (const std::int64_t transform = node.int_attribute("post_transform", 0); transform != 0)
    fail("BF1026", "",
         fmt::format("post_transform is {}, which run-times read differently", transform),
         "add the function behind the trees: Sigmoid or Softmax");
  const ValueId x = read_features(node);
  const Ensemble ensemble = read_joint_ensemble(node, node.shape_of(x).back(), targets);
  node.emit(add_targets(node, ensemble, x, targets, {}, aggregate == kAverage));
}

void import_classifier(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  Classes classes = read_classes(node, "classlabels_int64s", "classlabels_strings");
  std::vector<std::int64_t> ids;
  const ValueId x = read_features(node);
  const Ensemble ensemble = read_ensemble(node, "class", node.shape_of(x).back(), ids);
  if (std::ranges::any_of(ids, [&](auto id) { return id < 0 || id >= classes.count; }))
    fail("BF1012", "", fmt::format("an id of a class is not one of {}", classes.count));
  const std::vector<double> base =
      node.floats_attribute("base_values").value_or(std::vector<double>());
  const std::string transform = node.string_attribute("post_transform", "NONE");
  const bool one_score =
      classes.count == 2 && !ids.empty() &&
      std::ranges::all_of(ids, [&](std::int64_t id) { return id == ids.front(); });
  if (!one_score) {
    // Where two classes both have weights, ONNX Runtime answers 0 and 1 and other tools the labels
    // of the model, so that no label is given.
    if (classes.count == 2) classes.labels.clear();
    check_base(ensemble, base, classes.count);
    Trees trees(node, ensemble, x);
    return emit_classes(node, trees.add_sums(classes.count, base), classes, transform);
  }
  if (ids.front() != 0)
    fail("BF1026", "", "one score that is not of class 0", "give weights of class 0, or of both");
  bool positive = true;  // one score is a probability then
  for (const TreeNode& each : ensemble.nodes) {
    if (each.weights.empty()) continue;
    const double weight = each.weights.begin()->second;
    positive = positive && weight >= 0;
  }
  check_base(ensemble, base, 1);
  if (positive && transform != "NONE")
    fail("BF1026", "",
         fmt::format("post_transform is '{}' of one score of no negative weights",
                     printable(transform)));
  Trees trees(node, ensemble, x);
  emit_two_classes(node, trees.add_sums(1, base), classes,
                   {positive ? 0.5 : 0.0, transform, positive});
}

}  // namespace

OperatorRows tree_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"TreeEnsemble",
       import_tree_ensemble,
       1,
       1,
       1,
       {"aggregate_function", "leaf_targetids", "leaf_weights", "n_targets", "nodes_falseleafs",
        "nodes_falsenodeids", "nodes_featureids", "nodes_hitrates",
        "nodes_missing_value_tracks_true", "nodes_modes", "nodes_splits", "nodes_trueleafs",
        "nodes_truenodeids", "post_transform", "tree_roots"},
       kMachineLearning},
      {"TreeEnsembleClassifier",
       import_classifier,
       1,
       1,
       2,
       {"base_values", "class_ids", "class_nodeids", "class_treeids", "class_weights",
        "classlabels_int64s", "classlabels_strings", "nodes_falsenodeids", "nodes_featureids",
        "nodes_hitrates", "nodes_missing_value_tracks_true", "nodes_modes", "nodes_nodeids",
        "nodes_treeids", "nodes_truenodeids", "nodes_values", "post_transform"},
       kMachineLearning,
       true},
      {"TreeEnsembleRegressor",
       import_regressor,
       1,
       1,
       1,
       {"aggregate_function", "base_values", "n_targets", "nodes_falsenodeids", "nodes_featureids",
        "nodes_hitrates", "nodes_missing_value_tracks_true", "nodes_modes", "nodes_nodeids",
        "nodes_treeids", "nodes_truenodeids", "nodes_values", "post_transform", "target_ids",
        "target_nodeids", "target_treeids", "target_weights"},
       kMachineLearning},
  };
  return kRows;
}

}  // namespace bf_aot
