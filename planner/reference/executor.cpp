#include "planner/reference/executor.h"

#include "planner/reference/evaluate.h"
#include "planner/reference/machine.h"

namespace bf_aot::reference {

Bounds execute(const Plan& plan, const Entry& entry, const std::vector<double>& lower,
               const std::vector<double>& upper) {
  return run_machine<Bounds, LayerBounds>(plan, entry, lower, upper);
}

std::vector<double> evaluate(const Plan& plan, const std::vector<double>& x,
                             const std::vector<LayerId>& heads) {
  return evaluate_heads(plan, x, heads);
}

std::vector<double> evaluate(const Plan& plan, const std::vector<double>& x) {
  return evaluate(plan, x, plan.output_heads);
}

}  // namespace bf_aot::reference
