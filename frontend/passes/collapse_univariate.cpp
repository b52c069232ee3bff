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
constexpr int kMostOperands = 4;  // of a maximum

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

// An element of a tensor.
struct Element {
  ValueId value{};
  std::int64_t at = 0;
};

// Follows elements through nodes that only place them: sums of maps whose rows have one entry 1, or
// none, and no bias.
class Placement {
 public:
  Placement(const Graph& graph, const std::vector<int>& makers) : graph_(graph), makers_(makers) {}

  // The one element that an element is, or nothing.
  std::optional<Element> source_of(const Element& element) const {
    const Node* const node = maker(element.value);
    if (!is_sum(node)) return placed(node, element);
    std::optional<Element> found;
    for (const ValueId input : node->inputs) {
      if (is_empty({input, element.at})) continue;
      if (found) return std::nullopt;
      found = source_of({input, element.at});
      if (!found) return std::nullopt;
    }
    return found;
  }

 private:
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  static bool is_sum(const Node* node) {
    const auto* binary = node == nullptr ? nullptr : std::get_if<Binary>(&node->op);
    return binary != nullptr && binary->kind == Binary::Kind::kAdd;
  }

  bool is_empty(const Element& element) const {
    const Node* const node = maker(element.value);
    if (is_sum(node))
      return is_empty({node->inputs[0], element.at}) && is_empty({node->inputs[1], element.at});
    const auto* map = node == nullptr ? nullptr : std::get_if<SparseAffine>(&node->op);
    if (map == nullptr) return false;
    const auto row = static_cast<std::size_t>(element.at);
    return map->row_start[row] == map->row_start[row + 1] && map->bias.data[row] == 0 &&
           map->bias.error_at(row) == 0;
  }

  std::optional<Element> placed(const Node* node, const Element& element) const {
    const auto* map = node == nullptr ? nullptr : std::get_if<SparseAffine>(&node->op);
    if (map == nullptr) return std::nullopt;
    const auto row = static_cast<std::size_t>(element.at);
    const auto entry = static_cast<std::size_t>(map->row_start[row]);
    const bool one = map->row_start[row] + 1 == map->row_start[row + 1] &&
                     map->value.data[entry] == 1 && map->value.error_at(entry) == 0;
    if (!one || map->bias.data[row] != 0 || map->bias.error_at(row) != 0) return std::nullopt;
    return Element{node->inputs[0], map->column[entry]};
  }

  const Graph& graph_;
  const std::vector<int>& makers_;
};

// The tensors of which a GroupMax takes the largest element at each place, as Max writes it; none
// where it is another one.
std::vector<ValueId> operands_of_max(const Graph& graph, const std::vector<int>& makers,
                                     const Node& node) {
  const auto* max = std::get_if<GroupMax>(&node.op);
  if (max == nullptr || max->rows() == 0) return {};
  const Placement placement(graph, makers);
  const std::int64_t width = max->row_start[1] - max->row_start[0];
  if (width > kMostOperands) return {};
  std::vector<ValueId> made;
  for (std::int64_t row = 0; row < max->rows(); ++row) {
    const auto first = static_cast<std::size_t>(row);
    if (max->row_start[first + 1] - max->row_start[first] != width) return {};
    for (std::int64_t k = 0; k < width; ++k) {
      const auto at = static_cast<std::size_t>(max->row_start[first] + k);
      const auto source = placement.source_of({node.inputs[0], max->source[at]});
      if (!source || source->at != row) return {};
      if (row == 0) made.push_back(source->value);
      if (made[static_cast<std::size_t>(k)] != source->value) return {};
    }
  }
  const auto fits = [&](ValueId id) { return element_count(graph.value(id).shape) == max->rows(); };
  return std::all_of(made.begin(), made.end(), fits) ? made : std::vector<ValueId>();
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

// The function that a region is: functions and lines, one behind the other.
struct Collapsed {
  ValueId base;
  Expression::Parts parts;
  Origin origin;
};

CompositeStep function_step(const Function& f) {
  CompositeStep step;
  step.kind = CompositeStep::Kind::kFunction;
  step.function = f;
  return step;
}

// Steps each of which reads the one before it, without the variable; nothing where they are not.
std::optional<std::vector<CompositeStep>> chain_of(const std::vector<CompositeStep>& steps) {
  using Kind = CompositeStep::Kind;
  std::vector<CompositeStep> made;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const CompositeStep& step = steps[i];
    if (step.left != static_cast<int>(i) - 1) return std::nullopt;
    if (step.kind == Kind::kSum || (step.kind == Kind::kProduct && step.left != step.right))
      return std::nullopt;
    const bool square = step.kind == Kind::kProduct;
    made.push_back(square ? function_step({FunctionKind::kPower, 2}) : step);
  }
  return made;
}

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
      : graph_(graph),
        makers_(producers(graph)),
        operands_(graph.values.size()),
        bases_(graph.values.size()) {
    depths_.resize(graph.values.size(), 0);
    for (const Node& node : graph.nodes) {
      operands_[index_of(node.output)] =
          is_elementwise(graph, node) ? node.inputs : operands_of_max(graph, makers_, node);
      find_base(node);
    }
  }

  // Tries bases from the furthest on.
  std::optional<Collapsed> collapse(const Node& node) const {
    if (!std::holds_alternative<Unary>(node.op) && !std::holds_alternative<Relu>(node.op) &&
        !std::holds_alternative<Binary>(node.op) && !std::holds_alternative<GroupMax>(node.op))
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

  // What an elementwise node, or a maximum of tensors, reads; else nothing.
  const std::vector<ValueId>& operands_of(const Node& node) const {
    return operands_[index_of(node.output)];
  }

  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // The nearest value that all ways from inputs to a value pass: its dominator.
  void find_base(const Node& node) {
    const std::vector<ValueId>& operands = operands_of(node);
    if (operands.empty()) return;
    std::optional<ValueId> base = operands[0];
    for (std::size_t i = 1; i < operands.size() && base; ++i)
      base = common_base(*base, operands[i]);
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
    if (!term || (region.functions < 2 && !region.joins)) return std::nullopt;
    Collapsed made{base, region.expression.parts(*term), region.origin};
    std::vector<CompositeStep>& steps = made.parts.steps;
    const bool known = steps.size() == 2 && steps[1].kind == CompositeStep::Kind::kFunction;
    if (!known && (!region.joins || region.only_relus)) return std::nullopt;
    if (const Composite* composite = known || steps.size() == 1 ? nullptr : Composite::of(steps)) {
      Function f{FunctionKind::kComposite};
      f.composite = composite;
      if (const auto slope = leaky_slope(*composite)) f = {FunctionKind::kLeakyRelu, *slope};
      steps = {function_step(f)};
    } else if (auto chain = chain_of(steps)) {
      steps = *std::move(chain);
    } else {
      return std::nullopt;
    }
    const auto& p = made.parts;
    const bool bounded = std::all_of(steps.begin(), steps.end(), [](const CompositeStep& step) {
      return has_bounds(step.factor) && has_bounds(step.offset);
    });
    if (!bounded || !has_bounds(p.factor) || !has_bounds(p.offset) || !has_bounds(p.inner_factor) ||
        !has_bounds(p.inner_offset))
      return std::nullopt;
    return made;
  }

  std::optional<int> term_of(ValueId id, Univariate& region) const {
    const auto known = region.terms.find(id);
    if (known != region.terms.end()) return known->second;
    const Node* const node = maker(id);
    if (node == nullptr || region.terms.size() > kMostNodes || operands_of(*node).empty())
      return std::nullopt;
    std::vector<int> inputs;
    for (const ValueId input : operands_of(*node)) {
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
    if (std::holds_alternative<GroupMax>(node.op)) {
      region.joins = true;
      region.only_relus = false;
      int most = inputs[0];
      for (std::size_t i = 1; i < inputs.size(); ++i) most = made.maximum(most, inputs[i]);
      return most;
    }
    if (std::holds_alternative<Relu>(node.op))
      return made.function({FunctionKind::kLeakyRelu, 0}, inputs[0]);
    region.only_relus = false;
    return made.function(std::get<Unary>(node.op).function, inputs[0]);
  }

  const Graph& graph_;
  const std::vector<int> makers_;
  std::vector<std::vector<ValueId>> operands_;
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
    const bool outer = p.steps.empty() || !(p.factor == Bounded{1, 0} && p.offset == Bounded{});
    const bool reshapes = shape_ != graph_.value(output_).shape;
    if (inner) x = add(scale(p.inner_factor, p.inner_offset), x, false, "/argument");
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      const bool last = i + 1 == p.steps.size() && !outer && !reshapes;
      x = add(op_of(p.steps[i]), x, last, "/function");
    }
    if (outer) x = add(scale(p.factor, p.offset), x, !reshapes, "/scaled");
    if (reshapes) reshape(x);
    return std::move(nodes_);
  }

 private:
  Scale scale(const Bounded& factor, const Bounded& offset) const {
    return {filled_with(shape_, factor), filled_with(shape_, offset)};
  }

  Op op_of(const CompositeStep& step) const {
    if (step.kind == CompositeStep::Kind::kLine) return scale(step.factor, step.offset);
    const Function& f = step.function;
    const bool relu = f.kind == FunctionKind::kLeakyRelu && f.a == 0;
    return relu ? Op{Relu{}} : Op{Unary{f}};
  }

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
