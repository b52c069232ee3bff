#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_facts.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

const Function* function_of(const Node* node) {
  const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
  return unary != nullptr && is_of_sign(unary->function.kind) ? &unary->function : nullptr;
}

// Values of a function for x < 0, x = 0 and x > 0.
using Values = std::array<double, 3>;

bool is_multiple_of(FunctionKind kind, const Values& values) {
  const auto [below, at, above] = values;
  return kind == FunctionKind::kStep     ? at == below
         : kind == FunctionKind::kStepAt ? at == above
                                         : at - below == above - at;
}

// One elementwise function of x, and what it is scaled by.
struct Folded {
  ValueId x;
  Function function;
  std::optional<ValueId> made;  // where the graph has that function of x already
  Scale scale;
  Origin origin;
};

class StepFolder {
 public:
  explicit StepFolder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  // Folds a function of a scaled sign or step, as in sign(a sign(x) + b), into one scaled function
  // of x.
  std::optional<Folded> fold(const Node& outer) const {
    const Function* const last = function_of(&outer);
    if (last == nullptr) return std::nullopt;
    const Node* inner = maker(outer.inputs[0]);
    const auto* const scale = inner != nullptr ? std::get_if<Scale>(&inner->op) : nullptr;
    Origin origin = outer.origin;
    if (scale != nullptr) {
      origin = join_origins(inner->origin, origin);
      if (!scale->factor.is_exact() || !scale->offset.is_exact()) return std::nullopt;
      inner = maker(inner->inputs[0]);
    }
    const Function* const first = function_of(inner);
    if (first == nullptr) return std::nullopt;

    const std::int64_t count = element_count(graph_.value(outer.output).shape);
    std::vector<Values> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t k = 0; k < 3; ++k) {
        // The sum of two doubles has the sign of its rounded value.
        double x = evaluate(*first, static_cast<double>(k) - 1);
        if (scale != nullptr) x = scale->factor.data[i] * x + scale->offset.data[i];
        values[i].at(k) = evaluate(*last, x);
      }
    for (const FunctionKind kind :
         {first->kind, FunctionKind::kStep, FunctionKind::kStepAt, FunctionKind::kSign}) {
      if (kind == FunctionKind::kIsZero) continue;
      if (!std::ranges::all_of(values, [&](const Values& of) { return is_multiple_of(kind, of); }))
        continue;
      Folded made{inner->inputs[0],
                  {kind},
                  kind == first->kind ? std::optional(inner->output) : std::nullopt,
                  {filled({count}, 0), filled({count}, 0)},
                  join_origins(inner->origin, origin)};
      const bool is_sign = kind == FunctionKind::kSign;
      for (std::size_t i = 0; i < values.size(); ++i) {
        made.scale.factor.data[i] = values[i][2] - values[i][is_sign ? 1 : 0];
        made.scale.offset.data[i] = values[i][is_sign ? 1 : 0];
      }
      return made;
    }
    return std::nullopt;
  }

 private:
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  const Graph& graph_;
  std::vector<int> makers_;
};

bool fold_once(Graph& graph) {
  std::vector<std::optional<Folded>> found;
  const StepFolder folder(graph);
  for (const Node& node : graph.nodes) found.push_back(folder.fold(node));
  std::vector<std::vector<Node>> replacements(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    const ValueId output = graph.nodes[i].output;
    const Value value = graph.value(output);
    const Origin origin = found[i]->origin;
    const ValueId step =
        found[i]->made ? *found[i]->made : graph.add_value(value.name + "/step", value.shape);
    if (!found[i]->made)
      replacements[i].push_back({Unary{found[i]->function}, {found[i]->x}, step, origin});
    replacements[i].push_back({std::move(found[i]->scale), {step}, output, origin});
  }
  const bool changed =
      std::ranges::any_of(found, [](const auto& each) { return each.has_value(); });
  replace_nodes(graph, std::move(replacements));
  return changed;
}

}  // namespace

void fold_steps(Graph& graph) {
  while (fold_once(graph)) remove_dead_nodes(graph);
}

}  // namespace bf_aot
