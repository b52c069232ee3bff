#include "frontend/passes/difference/difference_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/functions/function_bounded.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/interval.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/graph/rounding.h"
#include "frontend/graph/shapes.h"
#include "frontend/passes/passes.h"

namespace bf_aot {
namespace {

// Slopes of these lie between those of their tangents, as between() has them.
SlopeNeuron::Kind kind_of(FunctionKind function) {
  return function == FunctionKind::kSigmoid ? SlopeNeuron::Kind::kSigmoid
         : function == FunctionKind::kTanh  ? SlopeNeuron::Kind::kTanh
         : function == FunctionKind::kErf   ? SlopeNeuron::Kind::kErf
                                            : SlopeNeuron::Kind::kOther;
}

std::optional<SlopeNeuron> slopes_of(const Op& op) {
  if (std::holds_alternative<Relu>(op))
    return SlopeNeuron{SlopeNeuron::Kind::kOther, 0, 1, {0, 0}, {1, 1}};
  const auto* const unary = std::get_if<Unary>(&op);
  if (unary == nullptr) return std::nullopt;
  const auto slopes = facts_of(unary->function.kind).shape.slopes(unary->function);
  if (!slopes) return std::nullopt;
  return SlopeNeuron{kind_of(unary->function.kind), slopes->least(), slopes->most(), slopes->below,
                     slopes->above};
}

// 2 / sqrt(pi) e^-x^2, enclosed; `most` where that is not known to be less.
SlopeNeuron tangent_of_erf(double x, double most) {
  if (!std::isfinite(x)) return {SlopeNeuron::Kind::kErf, 0, most, {}, {}};
  const Interval decay = increasing(mpfr_exp, -(Interval(x) * Interval(x)));
  const Interval least = decay * Interval(0x1.20dd750429b6dp0);
  const Interval largest = decay * Interval(0x1.20dd750429b6ep0);
  return {SlopeNeuron::Kind::kErf,
          std::max(0.0, double_below(least)),
          std::min(most, double_above(largest)),
          {},
          {}};
}

// The derivative of a function at x, enclosed: of a sigmoid v (1 - v), of tanh 1 - v^2.
SlopeNeuron tangent(SlopeNeuron::Kind kind, double x, double limit) {
  if (kind == SlopeNeuron::Kind::kErf) return tangent_of_erf(x, limit);
  const bool sigmoid = kind == SlopeNeuron::Kind::kSigmoid;
  const Function function{sigmoid ? FunctionKind::kSigmoid : FunctionKind::kTanh};
  const std::optional<Bounded> v = bounded_function(function, {x, 0});
  SlopeNeuron made = {kind, 0, sigmoid ? 0.25 : 1, {}, {}};
  if (!v) return made;
  // Both factors of v (1 - v) and of (1 - v)(1 + v), which are never negative.
  const Bounded a = sigmoid ? *v : Bounded{1 - v->value, v->error};
  const Bounded b = sigmoid ? Bounded{1 - v->value, v->error} : Bounded{1 + v->value, v->error};
  constexpr double kRounded = 0x1p-50;  // of sums of numbers below 2, and of their products
  const double high = (a.value + a.error + kRounded) * (b.value + b.error + kRounded) + kRounded;
  const double low = (a.value - a.error - kRounded) * (b.value - b.error - kRounded) - kRounded;
  made.most = std::min(made.most, high);
  made.least =
      a.value > a.error + kRounded && b.value > b.error + kRounded ? std::max(0.0, low) : 0;
  return made;
}

Constant less(const Constant& a, const Constant& b, std::string_view where) {
  ConstantBuilder made(a.shape);
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const DoublePair sum = two_sum(a.data[i], -b.data[i]);
    const double lost = add_up(std::abs(sum.low), add_up(a.error_at(i), b.error_at(i)));
    made.set(i, {sum.high, lost});
  }
  return std::move(made).finish(where);
}

Constant zeros_like(const Constant& constant) {
  return filled(constant.shape, 0);
}

// The parts of a linear operator's difference: of `second` without its offset, for the difference
// of its input; and of what the constants differ by, for the first network's input.
template <typename Linear>
struct LinearParts {
  Linear of_difference, of_first;
};

LinearParts<Scale> parts_of(const Scale& f, const Scale& g, std::string_view where) {
  return {{g.factor, zeros_like(g.offset)},
          {less(g.factor, f.factor, where), less(g.offset, f.offset, where)}};
}
LinearParts<Affine> parts_of(const Affine& f, const Affine& g, std::string_view where) {
  return {{g.weight, zeros_like(g.bias)},
          {less(g.weight, f.weight, where), less(g.bias, f.bias, where)}};
}
LinearParts<Conv> parts_of(const Conv& f, const Conv& g, std::string_view where) {
  return {{g.geometry, g.weight, zeros_like(g.bias)},
          {g.geometry, less(g.weight, f.weight, where), less(g.bias, f.bias, where)}};
}
LinearParts<SparseAffine> parts_of(const SparseAffine& f, const SparseAffine& g,
                                   std::string_view where) {
  return {{g.row_start, g.column, g.value, zeros_like(g.bias)},
          {g.row_start, g.column, less(g.value, f.value, where), less(g.bias, f.bias, where)}};
}

// Whether both operators differ in constants alone.
bool of_one_form(const Scale&, const Scale&) {
  return true;
}
bool of_one_form(const Affine&, const Affine&) {
  return true;
}
bool of_one_form(const Conv& f, const Conv& g) {
  return f.geometry == g.geometry;
}
bool of_one_form(const SparseAffine& f, const SparseAffine& g) {
  return f.row_start == g.row_start && f.column == g.column;
}

template <typename T>
concept LinearOp = requires(const T& op) {
  parts_of(op, op, "");
};

class Differencer {
 public:
  Differencer(const Graph& first, const Graph& second) : first_(first), second_(second) {}

  DifferenceNetwork make() {
    Graph& graph = made_.graph;
    graph.name = first_.name;
    for (const Value& value : first_.values)
      values_.push_back(graph.add_value(value.name, value.shape));
    differences_.resize(first_.values.size());
    for (const ValueId id : first_.inputs)
      made_.input_count += element_count(first_.value(id).shape);
    // How many slopes there are is known in the end.
    graph.inputs = {graph.add_value("inputs", {made_.input_count})};
    std::int64_t place = 0;
    for (const ValueId id : first_.inputs) place = take(value(id), place, Origin("input"));
    for (std::size_t i = 0; i < first_.nodes.size(); ++i) add(first_.nodes[i], second_.nodes[i]);
    for (const ValueId id : first_.outputs) {
      made_.first_outputs.push_back(value(id));
      made_.output_count += element_count(first_.value(id).shape);
      graph.outputs.push_back(difference(id) ? *difference(id)
                                             : zeros(first_.value(id).shape, Origin("equal")));
    }
    graph.values[index_of(graph.inputs[0])].shape = {
        made_.input_count + static_cast<std::int64_t>(made_.neurons.size())};
    graph.outputs.insert(graph.outputs.end(), arguments_.begin(), arguments_.end());
    graph.outputs.insert(graph.outputs.end(), changes_.begin(), changes_.end());
    verify(graph);
    return std::move(made_);
  }

 private:
  using Difference = std::optional<ValueId>;  // none: zero

  ValueId value(ValueId own) const { return values_[index_of(own)]; }
  Difference& difference(ValueId own) { return differences_[index_of(own)]; }
  const Shape& shape(ValueId id) const { return made_.graph.value(id).shape; }

  // The elements from `place` on of the network's input are `to`. Returns the place behind them.
  std::int64_t take(ValueId to, std::int64_t place, const Origin& origin) {
    IndexMap map;
    map.source.resize(static_cast<std::size_t>(element_count(shape(to))));
    std::iota(map.source.begin(), map.source.end(), place);
    place += static_cast<std::int64_t>(map.source.size());
    made_.graph.nodes.push_back({std::move(map), {made_.graph.inputs[0]}, to, origin});
    return place;
  }

  ValueId apply(Op op, std::vector<ValueId> inputs, const Origin& origin) {
    std::vector<Shape> shapes;
    for (const ValueId id : inputs) shapes.push_back(shape(id));
    Shape made = std::visit([&](const auto& each) { return infer_shape(each, shapes); }, op);
    return apply(std::move(op), std::move(inputs), std::move(made), origin);
  }
  ValueId apply(Op op, std::vector<ValueId> inputs, Shape made, const Origin& origin) {
    const ValueId output = made_.graph.add_value("difference", std::move(made));
    made_.graph.nodes.push_back({std::move(op), std::move(inputs), output, origin});
    return output;
  }
  ValueId zeros(const Shape& of, const Origin& origin) {
    return apply(Literal{filled(of, 0)}, {}, of, origin);
  }
  ValueId sum(ValueId a, ValueId b, const Origin& origin) {
    return apply(Binary{Binary::Kind::kAdd}, {a, b}, origin);
  }
  Difference sum(const Difference& a, const Difference& b, const Origin& origin) {
    if (a && b) return sum(*a, *b, origin);
    return a ? a : b;
  }
  ValueId in_second(ValueId own, const Origin& origin) {
    return difference(own) ? sum(value(own), *difference(own), origin) : value(own);
  }

  void add(const Node& f, const Node& g) {
    Node copy = f;
    for (ValueId& input : copy.inputs) input = value(input);
    copy.output = value(f.output);
    made_.graph.nodes.push_back(std::move(copy));
    bool changes = !(f.op == g.op) || is_rounding(f.op);
    for (const ValueId input : f.inputs) changes = changes || difference(input).has_value();
    if (changes) difference(f.output) = difference_of(f, g);
  }

  Difference difference_of(const Node& f, const Node& g) {
    if (const auto slopes = slopes_of(f.op); slopes && f.op == g.op) return secant(f, *slopes);
    return std::visit(
        [&](const auto& op) {
          return this->of(op, std::get<std::decay_t<decltype(op)>>(g.op), f, g);
        },
        f.op);
  }

  // f(z + d) - f(z) = s d for a slope s in the function's range.
  ValueId secant(const Node& f, const SlopeNeuron& slopes) {
    return scaled(value(f.inputs[0]), *difference(f.inputs[0]), slopes, f.origin);
  }

  // s d, where s is a new input.
  ValueId scaled(ValueId z, ValueId d, const SlopeNeuron& slopes, const Origin& origin) {
    const std::int64_t count = element_count(shape(d));
    const ValueId s = made_.graph.add_value("slope", shape(d));
    take(s, made_.input_count + static_cast<std::int64_t>(made_.neurons.size()), origin);
    made_.neurons.insert(made_.neurons.end(), static_cast<std::size_t>(count), slopes);
    arguments_.push_back(z);
    changes_.push_back(d);
    return apply(Binary{Binary::Kind::kMul}, {d, s}, origin);
  }

  // max(z + d) - max(z) lies between the least and the largest d: it is the least one and a share
  // of what lies between.
  Difference of(const GroupMax& a, const GroupMax& b, const Node& f, const Node& g) {
    if (!(a == b)) return apart(f, g);
    const ValueId d = *difference(f.inputs[0]);
    const Shape& made = first_.value(f.output).shape;
    const auto negated = [&](ValueId of) {
      return apply(Binary{Binary::Kind::kSub}, {zeros(shape(of), f.origin), of}, f.origin);
    };
    const ValueId largest = apply(a, {d}, made, f.origin);
    const ValueId least = negated(apply(a, {negated(d)}, made, f.origin));
    const ValueId between = apply(Binary{Binary::Kind::kSub}, {largest, least}, f.origin);
    const SlopeNeuron share = {SlopeNeuron::Kind::kOther, 0, 1, {0, 1}, {0, 1}};
    return sum(least, scaled(value(f.output), between, share, f.origin), f.origin);
  }

  // Any other operator: what it makes in the second network, less what it makes in the first.
  ValueId apart(const Node& f, const Node& g) {
    std::vector<ValueId> inputs;
    for (const ValueId input : f.inputs) inputs.push_back(in_second(input, f.origin));
    const Shape& made = first_.value(f.output).shape;
    const ValueId second = apply(g.op, std::move(inputs), made, f.origin);
    return apply(Binary{Binary::Kind::kSub}, {second, value(f.output)}, f.origin);
  }

  template <typename Other>
  Difference of(const Other&, const Other&, const Node& f, const Node& g) {
    return apart(f, g);
  }

  Difference of(const Literal& a, const Literal& b, const Node& f, const Node&) {
    return apply(Literal{less(b.value, a.value, f.origin.text)}, {}, b.value.shape, f.origin);
  }

  Difference of(const IndexMap& a, const IndexMap& b, const Node& f, const Node& g) {
    if (!(a == b)) return apart(f, g);
    return apply(a, {*difference(f.inputs[0])}, first_.value(f.output).shape, f.origin);
  }

  template <LinearOp Linear>
  Difference of(const Linear& a, const Linear& b, const Node& f, const Node& g) {
    if (!of_one_form(a, b)) return apart(f, g);
    const Shape& made = first_.value(f.output).shape;
    LinearParts<Linear> parts = parts_of(a, b, f.origin.text);
    Difference of_difference, of_first;
    if (const Difference& d = difference(f.inputs[0]))
      of_difference = apply(std::move(parts.of_difference), {*d}, made, f.origin);
    if (!(a == b))
      of_first = apply(std::move(parts.of_first), {value(f.inputs[0])}, made, f.origin);
    return sum(of_difference, of_first, f.origin);
  }

  Difference of(const Binary& a, const Binary& b, const Node& f, const Node& g) {
    const Difference &x = difference(f.inputs[0]), &y = difference(f.inputs[1]);
    const Shape& made = first_.value(f.output).shape;
    switch (a.kind) {
      case Binary::Kind::kAdd:
      case Binary::Kind::kSub: {
        const ValueId left = x ? *x : zeros(shape(value(f.inputs[0])), f.origin);
        const ValueId right = y ? *y : zeros(shape(value(f.inputs[1])), f.origin);
        return apply(Binary{a.kind}, {left, right}, made, f.origin);
      }
      case Binary::Kind::kMul:
        return bilinear(Binary{Binary::Kind::kMul}, f);
      case Binary::Kind::kDiv:
        if (y) return apart(f, g);
        return apply(Binary{a.kind}, {*x, value(f.inputs[1])}, made, f.origin);
    }
    BF_CHECK(b.kind == a.kind);
    return apart(f, g);
  }

  Difference of(const MatMul& a, const MatMul&, const Node& f, const Node&) {
    return bilinear(a, f);
  }

  Difference of(const Contraction& a, const Contraction& b, const Node& f, const Node& g) {
    return a == b ? bilinear(a, f) : Difference(apart(f, g));
  }

  Difference of(const Gemm& a, const Gemm& b, const Node& f, const Node& g) {
    if (!(a == b)) return apart(f, g);
    Gemm product = a;
    product.beta = 0;
    Difference made = bilinear(product, f);
    if (f.inputs.size() > 2 && difference(f.inputs[2])) {
      const ValueId c = *difference(f.inputs[2]);
      const ValueId offset =
          a.beta == 1 ? c
                      : apply(Binary{Binary::Kind::kMul},
                              {c, apply(Literal{filled({}, a.beta)}, {}, {}, f.origin)}, f.origin);
      const ValueId base = made ? *made : zeros(first_.value(f.output).shape, f.origin);
      made = sum(base, offset, f.origin);
    }
    return made;
  }

  // op(a + da, b + db) - op(a, b) = op(da, b + db) + op(a, db).
  template <typename Product>
  Difference bilinear(const Product& op, const Node& f) {
    const Shape& made = first_.value(f.output).shape;
    const Difference &x = difference(f.inputs[0]), &y = difference(f.inputs[1]);
    Difference left, right;
    if (x) left = apply(op, {*x, in_second(f.inputs[1], f.origin)}, made, f.origin);
    if (y) right = apply(op, {value(f.inputs[0]), *y}, made, f.origin);
    return sum(left, right, f.origin);
  }

  const Graph& first_;
  const Graph& second_;
  DifferenceNetwork made_;
  std::vector<ValueId> values_;               // of the first network, in the new graph
  std::vector<Difference> differences_;       // of its values
  std::vector<ValueId> arguments_, changes_;  // of neurons: z, d
};

}  // namespace

SlopeNeuron between(const SlopeNeuron& neuron, double lower, double upper) {
  SlopeNeuron made = neuron;
  switch (neuron.kind) {
    case SlopeNeuron::Kind::kSigmoid:
    case SlopeNeuron::Kind::kTanh:
    case SlopeNeuron::Kind::kErf: {  // derivatives fall with the distance from 0
      const SlopeNeuron low = tangent(neuron.kind, lower, neuron.most);
      const SlopeNeuron high = tangent(neuron.kind, upper, neuron.most);
      made.least = std::max(made.least, std::min(low.least, high.least));
      if (lower > 0) made.most = std::min(made.most, low.most);
      if (upper < 0) made.most = std::min(made.most, high.most);
      break;
    }
    case SlopeNeuron::Kind::kOther:
      if (lower >= 0 || upper <= 0) {
        const SlopeRange& side = lower >= 0 ? neuron.above : neuron.below;
        made.least = std::max(made.least, side.least);
        made.most = std::min(made.most, side.most);
      }
      break;
  }
  return made;
}

namespace {

// Elements of a property's forms: x, outputs of both networks, derived values. Elements of a
// difference network's forms: x, slopes, outputs of the first network, differences, derived values.
class ElementPlaces {
 public:
  explicit ElementPlaces(const DifferenceNetwork& network)
      : inputs_(network.input_count),
        outputs_(network.output_count),
        slopes_(static_cast<std::int64_t>(network.neurons.size())) {}

  // Form over the network's elements.
  AffineForm form(const AffineForm& of) const {
    std::map<std::int64_t, mpq_class> factors;
    for (const auto& [index, factor] : of.terms) {
      const std::int64_t place = index < inputs_ ? index : index + slopes_;
      factors[place] += factor;
      const bool second = inputs_ + outputs_ <= index && index < inputs_ + 2 * outputs_;
      if (second) factors[place - outputs_] += factor;
    }
    AffineForm made;
    made.constant = of.constant;
    for (const auto& [place, factor] : factors)
      if (factor != 0) made.terms.emplace_back(place, factor);
    return made;
  }

  AffineForm form(const PropertyRow& row) const {
    AffineForm made;
    made.terms = row.inputs;
    for (const auto& [index, factor] : row.outputs)
      made.terms.emplace_back(inputs_ + index, factor);
    return form(made);
  }

 private:
  std::int64_t inputs_, outputs_, slopes_;
};

}  // namespace

DifferenceNetwork with_rows(DifferenceNetwork network, const Property& property) {
  BF_CHECK(!property.rows.empty() && property.output_count == 2 * network.output_count);
  const ElementPlaces places(network);
  std::vector<DerivedValue> forms;
  for (const DerivedValue& value : property.derived) {
    forms.push_back({value.kind, {}});
    for (const AffineForm& operand : value.operands)
      forms.back().operands.push_back(places.form(operand));
  }
  for (const PropertyRow& row : property.rows)
    forms.push_back({DerivedValue::Kind::kSum, {places.form(row)}});
  Graph& graph = network.graph;
  const auto differences = graph.outputs.begin();
  const auto neurons = differences + static_cast<std::ptrdiff_t>(network.first_outputs.size());
  const std::vector<ValueId> behind(neurons, graph.outputs.end());
  graph.outputs.erase(neurons, graph.outputs.end());
  graph.outputs.insert(graph.outputs.begin(), network.first_outputs.begin(),
                       network.first_outputs.end());
  append_derived(graph, forms);
  graph.derived_output = false;
  const ValueId made = graph.outputs.back();
  const ValueId rows = graph.add_value("rows", {static_cast<std::int64_t>(property.rows.size())});
  IndexMap last;
  for (std::size_t i = property.derived.size(); i < forms.size(); ++i)
    last.source.push_back(static_cast<std::int64_t>(i));
  graph.nodes.push_back({std::move(last), {made}, rows, Origin("rows")});
  graph.outputs = {rows};
  graph.outputs.insert(graph.outputs.end(), behind.begin(), behind.end());
  network.output_count = static_cast<std::int64_t>(property.rows.size());
  network.first_outputs.clear();
  verify(graph);
  return network;
}

DifferenceNetwork difference_network(const Graph& first, const Graph& second) {
  BF_CHECK(are_isomorphic(first, second));
  return Differencer(first, second).make();
}

}  // namespace bf_aot
