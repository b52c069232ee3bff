// Elementwise nodes that compute one function of one tensor.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/composite/composite.h"
#include "frontend/functions/composite/expression.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

// Larger regions, and bases further away, are not tried.
constexpr int kMostNodes = 64;
constexpr int kMostBases = 16;

bool is_plain_reshape(const IndexMap& map) {
  for (std::size_t i = 0; i < map.source.size(); ++i)
    if (map.source[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// The one number that all elements are.
std::optional<Bounded> uniform(const Constant& constant) {
  if (constant.data.empty()) return std::nullopt;
  const Bounded first{constant.data[0], constant.error_at(0)};
  for (std::size_t i = 0; i < constant.data.size(); ++i)
    if (constant.data[i] != first.value || constant.error_at(i) != first.error) return std::nullopt;
  return first;
}

bool is_elementwise(const Graph& graph, const Node& node) {
  if (std::holds_alternative<Relu>(node.op) || std::holds_alternative<Unary>(node.op)) return true;
  if (const auto* scale = std::get_if<Scale>(&node.op))
    return uniform(scale->factor) && uniform(scale->offset);
  if (const auto* map = std::get_if<IndexMap>(&node.op))
    return is_plain_reshape(*map) && element_count(graph.value(node.inputs[0]).shape) ==
                                         static_cast<std::int64_t>(map->source.size());
  const auto* binary = std::get_if<Binary>(&node.op);
  return binary != nullptr && works_on_flattened(graph, node) &&
         (binary->kind == Binary::Kind::kAdd || binary->kind == Binary::Kind::kMul);
}

// What nodes between a base and a value compute, as an expression of the base's elements.
struct Univariate {
  Expression expression;
  std::map<ValueId, int> terms;
  int functions = 0;       // and products
  bool joins = false;      // some value is read twice, by ways that meet
  bool only_relus = true;  // and sums
  Origin origin;
};

// The function that a region is.
struct Collapsed {
  ValueId base;
  Function function;
  Expression::Parts parts;
  Origin origin;
};

bool has_bounds(const Bounded& x) {
  return std::isfinite(x.value) && std::isfinite(x.error);
}

bool is_line_through_zero(const CompositePart& part) {
  return part.kind == CompositePart::Kind::kLine && part.error == 0 && part.intercept == 0;
}

// The slope below 0 where the composite is a leaky ReLU, as Where writes it: two lines through 0.
// Between them may be the value at 0, a part of its own.
std::optional<double> leaky_slope(const Composite& composite) {
  const auto& parts = composite.parts();
  if (parts.size() < 2 || parts.size() > 3 || parts.back().slope != 1) return std::nullopt;
  for (const CompositePart& part : parts)
    if (!is_line_through_zero(part) || (part.start != 0 && std::isfinite(part.start)))
      return std::nullopt;
  return parts.front().slope;
}

class Collapser {
 public:
  explicit Collapser(const Graph& graph)
      : graph_(graph), makers_(producers(graph)), bases_(graph.values.size()) {
    depths_.resize(graph.values.size(), 0);
    for (const Node& node : graph.nodes) find_base(node);
  }

  // Tries bases from the furthest on.
  std::optional<Collapsed> collapse(const Node& node) const {
    if (!std::holds_alternative<Unary>(node.op) && !std::holds_alternative<Relu>(node.op) &&
        !std::holds_alternative<Binary>(node.op))
      return std::nullopt;
    std::vector<ValueId> bases;
    for (auto base = base_of(node.output); base && static_cast<int>(bases.size()) < kMostBases;
         base = base_of(*base))
      bases.push_back(*base);
    std::reverse(bases.begin(), bases.end());
    for (const ValueId base : bases)
      if (auto made = collapse_from(base, node)) return made;
    return std::nullopt;
  }

 private:
  std::optional<ValueId> base_of(ValueId id) const { return bases_[index_of(id)]; }

  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // The nearest value that all ways from inputs to a value pass: its dominator.
  void find_base(const Node& node) {
    if (!is_elementwise(graph_, node)) return;
    std::optional<ValueId> base = node.inputs[0];
    if (node.inputs.size() > 1) base = common_base(node.inputs[0], node.inputs[1]);
    bases_[index_of(node.output)] = base;
    if (base) depths_[index_of(node.output)] = depths_[index_of(*base)] + 1;
  }

  std::optional<ValueId> common_base(ValueId a, ValueId b) const {
    std::optional<ValueId> p = a, q = b;
    while (p && q && *p != *q) {
      std::optional<ValueId>& deeper = depths_[index_of(*p)] >= depths_[index_of(*q)] ? p : q;
      deeper = base_of(*deeper);
    }
    return p && q ? p : std::nullopt;
  }

  std::optional<Collapsed> collapse_from(ValueId base, const Node& node) const {
    Univariate region;
    region.terms[base] = region.expression.variable();
    const std::optional<int> term = term_of(node.output, region);
    if (!term || region.functions < 2) return std::nullopt;
    Collapsed made{base, {}, region.expression.parts(*term), region.origin};
    const auto& steps = made.parts.steps;
    if (steps.size() == 1) return std::nullopt;
    const bool known = steps.size() == 2 && steps[1].kind == CompositeStep::Kind::kFunction;
    if (!known && (!region.joins || region.only_relus)) return std::nullopt;
    if (known) {
      made.function = steps[1].function;
    } else {
      made.function.kind = FunctionKind::kComposite;
      made.function.composite = Composite::of(steps);
      if (made.function.composite == nullptr) return std::nullopt;
      if (const auto slope = leaky_slope(*made.function.composite))
        made.function = {FunctionKind::kLeakyRelu, *slope};
    }
    const auto& p = made.parts;
    if (!has_bounds(p.factor) || !has_bounds(p.offset) || !has_bounds(p.inner_factor) ||
        !has_bounds(p.inner_offset))
      return std::nullopt;
    return made;
  }

  std::optional<int> term_of(ValueId id, Univariate& region) const {
    const auto known = region.terms.find(id);
    if (known != region.terms.end()) return known->second;
    const Node* const node = maker(id);
    if (node == nullptr || region.terms.size() > kMostNodes || !is_elementwise(graph_, *node))
      return std::nullopt;
    std::vector<int> inputs;
    for (const ValueId input : node->inputs) {
      const std::optional<int> term = term_of(input, region);
      if (!term) return std::nullopt;
      inputs.push_back(*term);
    }
    const std::optional<int> made = term_of(*node, inputs, region);
    if (made) region.terms[id] = *made;
    region.origin = join_origins(region.origin, node->origin);
    return made;
  }

  static std::optional<int> term_of(const Node& node, const std::vector<int>& inputs,
                                    Univariate& region) {
    Expression& made = region.expression;
    if (const auto* scale = std::get_if<Scale>(&node.op))
      return made.line(inputs[0], *uniform(scale->factor), *uniform(scale->offset));
    if (std::holds_alternative<IndexMap>(node.op)) return inputs[0];
    if (const auto* binary = std::get_if<Binary>(&node.op)) {
      region.joins = true;
      if (binary->kind == Binary::Kind::kAdd) return made.sum(inputs[0], inputs[1]);
      ++region.functions;
      region.only_relus = false;
      return made.product(inputs[0], inputs[1]);
    }
    ++region.functions;
    if (std::holds_alternative<Relu>(node.op))
      return made.function({FunctionKind::kLeakyRelu, 0}, inputs[0]);
    region.only_relus = false;
    return made.function(std::get<Unary>(node.op).function, inputs[0]);
  }

  const Graph& graph_;
  std::vector<int> makers_;
  std::vector<std::optional<ValueId>> bases_;
  std::vector<int> depths_;
};

Constant filled_with(const Shape& shape, const Bounded& number) {
  Constant made = filled(shape, number.value);
  if (number.error != 0) made.error.assign(made.data.size(), number.error);
  return made;
}

// Writes the nodes that take a region's place: scale, function, scale, reshape.
class CollapsedWriter {
 public:
  CollapsedWriter(Graph& graph, const Node& node, Origin origin)
      : graph_(graph), output_(node.output), origin_(std::move(origin)) {}

  std::vector<Node> write(const Collapsed& made) {
    ValueId x = made.base;
    shape_ = graph_.value(x).shape;
    const auto& p = made.parts;
    const bool inner = !(p.inner_factor == Bounded{1, 0} && p.inner_offset == Bounded{});
    const bool outer = !(p.factor == Bounded{1, 0} && p.offset == Bounded{});
    const bool reshapes = shape_ != graph_.value(output_).shape;
    const Scale before{filled_with(shape_, p.inner_factor), filled_with(shape_, p.inner_offset)};
    const Scale after{filled_with(shape_, p.factor), filled_with(shape_, p.offset)};
    if (inner) x = add(before, x, false, "/argument");
    const Function& f = made.function;
    const bool relu = f.kind == FunctionKind::kLeakyRelu && f.a == 0;
    x = add(relu ? Op{Relu{}} : Op{Unary{f}}, x, !outer && !reshapes, "/function");
    if (outer) x = add(after, x, !reshapes, "/scaled");
    if (reshapes) reshape(x);
    return std::move(nodes_);
  }

 private:
  ValueId add(Op op, ValueId x, bool last, const char* suffix) {
    const ValueId made =
        last ? output_ : graph_.add_value(graph_.value(output_).name + suffix, shape_);
    nodes_.push_back({std::move(op), {x}, made, origin_});
    return made;
  }

  void reshape(ValueId x) {
    IndexMap map;
    for (std::int64_t i = 0; i < element_count(shape_); ++i) map.source.push_back(i);
    nodes_.push_back({std::move(map), {x}, output_, origin_});
  }

  Graph& graph_;
  const ValueId output_;
  const Origin origin_;
  Shape shape_;
  std::vector<Node> nodes_;
};

}  // namespace

// Later nodes first: a region ends at its last node, and its others are left where somebody reads
// them besides.
void collapse_univariate(Graph& graph) {
  const Collapser collapser(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  std::vector<int> uses = count_uses(graph);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (uses[index_of(node.output)] == 0) {
      for (const ValueId input : node.inputs) --uses[index_of(input)];
      continue;
    }
    const std::optional<Collapsed> made = collapser.collapse(node);
    if (!made) continue;
    for (const ValueId input : node.inputs) --uses[index_of(input)];
    ++uses[index_of(made->base)];
    replacements[i] = CollapsedWriter(graph, node, made->origin).write(*made);
  }
  replace_nodes(graph, std::move(replacements));
  remove_dead_nodes(graph);
}

}  // namespace bf_aot
