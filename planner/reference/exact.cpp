#include "planner/reference/exact.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/reference/evaluate.h"
#include "planner/reference/machine.h"

namespace bf_aot::reference {

bool is_rational(const Plan& plan) {
  return std::all_of(plan.layers.begin(), plan.layers.end(), [](const Layer& layer) {
    return layer.kind != LayerKind::kLogSoftmax &&
           (!layer.function || is_piecewise_linear(layer.function->kind));
  });
}

ExactBounds execute_exact(const Plan& plan, const Entry& entry, const std::vector<mpq_class>& lower,
                          const std::vector<mpq_class>& upper) {
  BF_CHECK(is_rational(plan));
  return run_machine<ExactBounds, ExactLayerBounds>(plan, entry, lower, upper);
}

std::optional<ExactBounds> find_exact_bounds(const Plan& plan, const Entry& entry,
                                             const std::vector<mpq_class>& lower,
                                             const std::vector<mpq_class>& upper) {
  try {
    return run_machine<ExactBounds, ExactLayerBounds>(plan, entry, lower, upper);
  } catch (const NoRationalBounds&) {
    return std::nullopt;
  }
}

bool holds_exact_network(const Plan& plan) {
  return plan.config.semantics == Semantics::kReal &&
         std::ranges::all_of(plan.layers, [](const Layer& layer) {
           return layer.errors.weight_residual == 0 && layer.errors.bias_double == 0;
         });
}

std::vector<mpq_class> evaluate_exact(const Plan& plan, const std::vector<mpq_class>& x,
                                      const std::vector<LayerId>& heads) {
  return evaluate_heads(plan, x, heads);
}

std::vector<mpq_class> evaluate_exact(const Plan& plan, const std::vector<mpq_class>& x) {
  return evaluate_exact(plan, x, plan.output_heads);
}

}  // namespace bf_aot::reference
