#include "planner/integer/read_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph/index_maps.h"
#include "planner/integer/expression.h"
#include "planner/integer/layer_maker.h"
#include "planner/integer/property_rows.h"
#include "planner/integer/refuse.h"

namespace bf_aot {
namespace {

// A node whose inputs were not made, because of what was reported already.
struct FollowsFromProblem {};

Constant one_number(double value) {
  return {{}, {value}, {}};
}

std::size_t total_count(const std::vector<Value>& values) {
  std::int64_t total = 0;
  for (const Value& value : values) total += element_count(value.shape);
  return static_cast<std::size_t>(total);
}

void gather(std::vector<std::int64_t>& source, const std::vector<std::int64_t>& by) {
  if (source.empty()) {
    source = by;
    return;
  }
  std::vector<std::int64_t> moved;
  for (const std::int64_t from : by) moved.push_back(source[static_cast<std::size_t>(from)]);
  source = std::move(moved);
}

// Sources whose elements can be taken in another order; false for others.
bool move_source(InputSource& input, const std::vector<std::int64_t>& by) {
  gather(input.source, by);
  return true;
}
bool move_source(CodeSource& codes, const std::vector<std::int64_t>& by) {
  gather(codes.source, by);
  return true;
}
bool move_source(LinearSource&, const std::vector<std::int64_t>&) {
  return false;
}
bool move_source(PairSource& pair, const std::vector<std::int64_t>& by) {
  gather(pair.a.codes.source, by);
  gather(pair.b.codes.source, by);
  return true;
}

bool move_source(PartsSource& parts, const std::vector<std::int64_t>& by) {
  PartsSource moved{parts.parts, {}, {}};
  for (const std::int64_t from : by) {
    moved.part.push_back(parts.part[static_cast<std::size_t>(from)]);
    moved.from.push_back(parts.from[static_cast<std::size_t>(from)]);
  }
  parts = std::move(moved);
  return true;
}

// Rows that are single elements, or nothing.
bool places_elements(const SparseAffine& op) {
  for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i)
    if (op.row_start[i + 1] - op.row_start[i] > 1) return false;
  const auto all = [](const Constant& constant, double value) {
    return constant.is_exact() &&
           std::ranges::all_of(constant.data, [&](double x) { return x == value; });
  };
  return all(op.value, 1) && all(op.bias, 0);
}

// Joins two sources of parts, which must not both have the same element.
std::optional<PartsSource> joined(const PartsSource& a, const PartsSource& b) {
  PartsSource both = a;
  both.parts.insert(both.parts.end(), b.parts.begin(), b.parts.end());
  for (std::size_t i = 0; i < b.part.size(); ++i) {
    if (b.part[i] < 0) continue;
    if (both.part[i] >= 0) return std::nullopt;
    both.part[i] = static_cast<int>(a.parts.size()) + b.part[i];
    both.from[i] = b.from[i];
  }
  return both;
}

bool have_one_scale(const PartsSource& parts) {
  return std::ranges::count(parts.part, -1) == 0 &&
         std::ranges::all_of(parts.parts, [&](const CodeView& view) {
           return view.scale == parts.parts.front().scale &&
                  view.offset == parts.parts.front().offset;
         });
}

const PartsSource* parts_of(const GridExpression& expression) {
  return expression.links.empty() ? std::get_if<PartsSource>(&expression.source) : nullptr;
}

class NetworkReader {
 public:
  NetworkReader(const Graph& graph, IntegerPlan& plan)
      : graph_(graph), maker_(plan), of_(graph.values.size()) {}

  void run() {
    for (const ValueId input : graph_.inputs)
      of_[index_of(input)] =
          GridExpression{InputSource{}, {}, "input '" + graph_.value(input).name + "'"};
    for (const Node& node : graph_.nodes)
      attempt([&] { std::visit([&](const auto& op) { visit(op, node); }, node.op); });
    int first = 0;
    for (const ValueId output : graph_.outputs) {
      attempt([&] { maker_.make_outputs(expression(output), first, count(output)); });
      first += static_cast<int>(count(output));
    }
    if (!problems_.empty()) throw CompileError(std::move(problems_));
  }

  const std::vector<OutputForm>& outputs() const { return maker_.outputs(); }

 private:
  template <typename Step>
  void attempt(const Step& step) {
    try {
      step();
    } catch (const FollowsFromProblem&) {
    } catch (const CompileError& error) {
      problems_.insert(problems_.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  [[noreturn]] void cannot(const Node& node, const std::string& why) {
    refuse_integers(node.origin, why);
  }

  std::size_t count(ValueId id) const {
    return static_cast<std::size_t>(element_count(graph_.value(id).shape));
  }

  const GridExpression& expression(ValueId id) const {
    const auto& found = of_[index_of(id)];
    if (!found) throw FollowsFromProblem{};
    return *found;
  }

  CodeView view(ValueId id, const Node& reader) {
    if (const PartsSource* const parts = parts_of(expression(id)))
      if (have_one_scale(*parts)) {
        const CodeView& first = parts->parts.front();
        const GridId tensor = maker_.make_copies(*parts, expression(id).origin);
        const CodeView made{CodeSource{tensor, {}}, first.scale, first.offset};
        return made;
      }
    const auto found = view_of(expression(id));
    if (!found)
      cannot(reader, fmt::format("it reads '{}', which is not rounded to at most {} codes of one "
                                 "scale",
                                 graph_.value(id).name, kGridCodes));
    return *found;
  }

  void set(const Node& node, GridExpression made) { of_[index_of(node.output)] = std::move(made); }

  // Codes whose code 0 means `low`.
  static GridExpression codes_from(GridId tensor, double low, const Origin& origin) {
    GridExpression codes{CodeSource{tensor, {}}, {}, origin};
    if (low != 0)
      codes.links.emplace_back(ElementScale{Numbers(one_number(1)), Numbers(one_number(low))});
    return codes;
  }

  void append(const Node& node, ElementLink link) {
    GridExpression made = expression(node.inputs[0]);
    made.links.push_back(std::move(link));
    made.origin = join_origins(made.origin, node.origin);
    const auto limits = code_limits(made.links, count(node.output));
    const bool codes = limits && limits->high - limits->low < kGridCodes;
    const auto* const function = std::get_if<Function>(&made.links.back());
    const bool loose = function != nullptr && function->slack != 0;
    // Links of a chain are exact: only a tensor of codes can be loosened.
    if (loose && !codes)
      cannot(node, fmt::format("it rounds to more than {} codes, each of which may be one more or "
                               "less",
                               kGridCodes));
    if (codes) {
      GridId tensor = maker_.make_codes(made, *limits, count(node.output));
      if (loose) tensor = maker_.make_loose(tensor, *limits);
      made = codes_from(tensor, static_cast<double>(limits->low), "");
    }
    set(node, std::move(made));
  }

  // ---- Nodes

  void visit(const Scale& op, const Node& node) {
    append(node, ElementScale{Numbers(op.factor), Numbers(op.offset)});
  }
  void visit(const Relu&, const Node& node) { append(node, ReluLink{}); }
  void visit(const Unary& op, const Node& node) { append(node, op.function); }

  void visit(const IndexMap& op, const Node& node) {
    GridExpression made = expression(node.inputs[0]);
    if (!is_identity(op.source, static_cast<std::int64_t>(count(node.inputs[0])))) {
      const bool moved =
          std::visit([&](auto& source) { return move_source(source, op.source); }, made.source);
      if (!moved) cannot(node, "sums are moved before they are rounded to codes");
      for (ElementLink& link : made.links)
        if (auto* const scale = std::get_if<ElementScale>(&link)) {
          scale->factor.gather(op.source);
          scale->offset.gather(op.source);
        }
    }
    set(node, std::move(made));
  }

  void linear(const Node& node) {
    set(node, GridExpression{LinearSource{view(node.inputs[0], node), &node}, {}, node.origin});
  }
  void visit(const Affine&, const Node& node) { linear(node); }
  void visit(const Conv&, const Node& node) { linear(node); }
  void visit(const SparseAffine& op, const Node& node) {
    const auto codes = view_of(expression(node.inputs[0]));
    if (!codes || !places_elements(op)) return linear(node);
    PartsSource parts{{*codes}, {}, {}};
    for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i) {
      const bool any = op.row_start[i + 1] > op.row_start[i];
      const auto from =
          any ? static_cast<std::size_t>(op.column[static_cast<std::size_t>(op.row_start[i])]) : 0;
      const std::vector<std::int64_t>& source = codes->codes.source;
      parts.part.push_back(any ? 0 : -1);
      parts.from.push_back(any && !source.empty() ? source[from] : static_cast<std::int64_t>(from));
    }
    set(node, GridExpression{std::move(parts), {}, node.origin});
  }

  // Codes rise with what they mean: the largest code means the largest number.
  void visit(const GroupMax& op, const Node& node) {
    const CodeView codes = view(node.inputs[0], node);
    if (codes.scale < 0) cannot(node, "the scale of its input is negative");
    const GridId tensor = maker_.make_largest(codes.codes, op, node.origin);
    set(node, GridExpression{CodeSource{tensor, {}}, expression(node.inputs[0]).links, ""});
  }

  void visit(const Binary& op, const Node& node) {
    if (op.kind != Binary::Kind::kAdd || !works_on_flattened(graph_, node))
      cannot(node, "it is no sum of two tensors of equal size, nor of a tensor and a constant");
    const PartsSource* const a = parts_of(expression(node.inputs[0]));
    const PartsSource* const b = parts_of(expression(node.inputs[1]));
    if (a != nullptr && b != nullptr)
      if (auto both = joined(*a, *b))
        return set(node, GridExpression{std::move(*both), {}, node.origin});
    set(node,
        GridExpression{
            PairSource{view(node.inputs[0], node), view(node.inputs[1], node)}, {}, node.origin});
  }

  void visit(const LogSoftmax&, const Node& node) { cannot(node, "it has powers of all elements"); }
  void visit(const Contraction&, const Node& node) {
    cannot(node, "it multiplies computed tensors");
  }
  void visit(const Literal&, const Node& node) { cannot(node, "it is a constant output"); }
  void visit(const MatMul&, const Node& node) { cannot(node, "it multiplies computed tensors"); }
  void visit(const Gemm&, const Node& node) { cannot(node, "it multiplies computed tensors"); }

  const Graph& graph_;
  LayerMaker maker_;
  std::vector<std::optional<GridExpression>> of_;  // by value
  std::vector<Diagnostic> problems_;
};

}  // namespace

void read_integer_network(const Graph& graph, const Property* property, Plan& plan) {
  plan.inputs = graph.input_parts;
  if (plan.inputs.empty())
    for (const ValueId id : graph.inputs) plan.inputs.push_back(graph.value(id));
  for (const ValueId id : graph.outputs) plan.outputs.push_back(graph.value(id));
  plan.input_count = static_cast<int>(total_count(plan.inputs));
  plan.output_count = static_cast<int>(total_count(plan.outputs));
  plan.integer.emplace();
  if (property != nullptr) check_integer_rows(*property);
  NetworkReader reader(graph, *plan.integer);
  reader.run();
  // Not of std::ranges, whose result Clang 14 cannot form.
  std::vector<IntegerStep>& steps = plan.integer->steps;
  std::stable_partition(steps.begin(), steps.end(),
                        [](const IntegerStep& step) { return output_of(step) >= 0; });
  if (property != nullptr) read_property_rows(*property, reader.outputs(), *plan.integer);
}

}  // namespace bf_aot
