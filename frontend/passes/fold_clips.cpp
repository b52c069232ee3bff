#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/functions/function_exact.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// All numbers from low to high.
struct ValueLimits {
  double low = -kUnlimited, high = kUnlimited;
};

const Function* unary_function(const Node* node) {
  const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
  return unary != nullptr ? &unary->function : nullptr;
}

// The limits that a node sets to its argument; nullopt: it sets none.
std::optional<ValueLimits> clip_of(const Node* node) {
  if (node != nullptr && std::holds_alternative<Relu>(node->op)) return ValueLimits{0, kUnlimited};
  const Function* const function = unary_function(node);
  if (function == nullptr || function->kind != FunctionKind::kClip) return std::nullopt;
  if (!(function->a <= function->b)) return std::nullopt;
  return ValueLimits{function->a, function->b};
}

// The function of a node that rounds, with infinite limits where it has none.
std::optional<Function> rounding_of(const Node* node) {
  const Function* const function = unary_function(node);
  if (function == nullptr || !(function->a > 0)) return std::nullopt;
  if (function->kind == FunctionKind::kQuantise) return *function;
  if (function->kind != FunctionKind::kRound) return std::nullopt;
  Function made = *function;
  made.kind = FunctionKind::kQuantise;
  made.b = -kUnlimited;
  made.c = kUnlimited;
  return made;
}

// The function with other limits: `inner` ones, limited to the `outer` ones.
Function with_limits(Function function, const ValueLimits& inner, const ValueLimits& outer) {
  function.b = std::clamp(inner.low, outer.low, outer.high);
  function.c = std::clamp(inner.high, outer.low, outer.high);
  return function;
}

// factor x + offset, the same exact numbers for all elements.
struct UniformLine {
  double factor = 1, offset = 0;
};

std::optional<UniformLine> uniform_line(const Scale& scale) {
  const auto uniform = [](const Constant& c) {
    return !c.data.empty() && c.is_exact() &&
           std::ranges::all_of(c.data, [&](double x) { return x == c.data.front(); });
  };
  if (!uniform(scale.factor) || !uniform(scale.offset)) return std::nullopt;
  return UniformLine{scale.factor.data.front(), scale.offset.data.front()};
}

// The integer code with factor code + offset = x; an infinite one where x is infinite.
std::optional<double> code_at(const UniformLine& line, double x) {
  if (std::isinf(x)) return x;
  const mpq_class code = (mpq_class(x) - mpq_class(line.offset)) / mpq_class(line.factor);
  if (code.get_den() != 1 || abs(code) > mpq_class(0x1p50)) return std::nullopt;
  return code.get_d();
}

// A function that rounds, of x, and the Scale that reads it.
struct FoldedClip {
  ValueId x;
  Function function;
  std::optional<Scale> scale;
  Origin origin;
};

class ClipFolder {
 public:
  explicit ClipFolder(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  std::optional<FoldedClip> fold(const Node& outer) const {
    if (const auto rounding = rounding_of(&outer))
      if (auto made = fold_before(outer, *rounding)) return made;
    return fold_after(outer);
  }

 private:
  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // round(clip(x) / a) is clip'(round(x / a)), since rounding does not fall. Of a function with
  // slack it is not: what is off by one leaves the limits of its argument.
  std::optional<FoldedClip> fold_before(const Node& outer, const Function& rounding) const {
    const Node* const inner = maker(outer.inputs[0]);
    const auto limits = clip_of(inner);
    if (!limits || rounding.slack != 0) return std::nullopt;
    Function alone = rounding;
    alone.b = -kUnlimited;
    alone.c = kUnlimited;
    const auto code = [&](double x) {
      return std::isinf(x) ? x : evaluate_exact(alone, mpq_class(x)).get_d();
    };
    const ValueLimits codes{code(limits->low), code(limits->high)};
    if ((std::isfinite(codes.low) && std::fabs(codes.low) > 0x1p50) ||
        (std::isfinite(codes.high) && std::fabs(codes.high) > 0x1p50))
      return std::nullopt;
    return FoldedClip{inner->inputs[0], with_limits(rounding, codes, {rounding.b, rounding.c}),
                      std::nullopt, join_origins(inner->origin, outer.origin)};
  }

  // A clip of a scaled code, and the rounding of a code to the grid that it is on.
  std::optional<FoldedClip> fold_after(const Node& outer) const {
    const auto limits = clip_of(&outer);
    const auto second = rounding_of(&outer);
    if (!limits && !second) return std::nullopt;
    const Node* inner = maker(outer.inputs[0]);
    const auto* const scale = inner != nullptr ? std::get_if<Scale>(&inner->op) : nullptr;
    Origin origin = outer.origin;
    UniformLine line;
    if (scale != nullptr) {
      const auto found = uniform_line(*scale);
      if (!found || !(found->factor > 0)) return std::nullopt;
      line = *found;
      origin = join_origins(inner->origin, origin);
      inner = maker(inner->inputs[0]);
    }
    const auto first = rounding_of(inner);
    if (!first) return std::nullopt;
    origin = join_origins(inner->origin, origin);
    const ValueLimits own{first->b, first->c};
    if (second) {
      if (second->slack != 0 || line.factor != second->a || line.offset != 0) return std::nullopt;
      return FoldedClip{inner->inputs[0], with_limits(*first, own, {second->b, second->c}),
                        std::nullopt, origin};
    }
    const auto low = code_at(line, limits->low);
    const auto high = code_at(line, limits->high);
    if (!low || !high) return std::nullopt;
    FoldedClip made{inner->inputs[0], with_limits(*first, own, {*low, *high}), std::nullopt,
                    origin};
    if (scale != nullptr) made.scale = *scale;
    return made;
  }

  const Graph& graph_;
  std::vector<int> makers_;
};

bool fold_clips_once(Graph& graph) {
  const ClipFolder folder(graph);
  std::vector<std::vector<Node>> replacements(graph.nodes.size());
  bool changed = false;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::optional<FoldedClip> made = folder.fold(graph.nodes[i]);
    if (!made) continue;
    changed = true;
    const ValueId output = graph.nodes[i].output;
    if (!made->scale) {
      replacements[i] = {{Unary{made->function}, {made->x}, output, made->origin}};
      continue;
    }
    const Value value = graph.value(output);
    const ValueId codes = graph.add_value(value.name + "/codes", value.shape);
    replacements[i] = {{Unary{made->function}, {made->x}, codes, made->origin},
                       {std::move(*made->scale), {codes}, output, made->origin}};
  }
  replace_nodes(graph, std::move(replacements));
  return changed;
}

}  // namespace

void fold_clips(Graph& graph) {
  while (fold_clips_once(graph)) remove_dead_nodes(graph);
}

void loosen_codes(Graph& graph) {
  for (Node& node : graph.nodes)
    if (auto* const unary = std::get_if<Unary>(&node.op);
        unary != nullptr && unary->function.kind == FunctionKind::kQuantise)
      unary->function.slack = 1;
}

}  // namespace bf_aot
