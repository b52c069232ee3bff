#pragma once

#include <gmpxx.h>

#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::reference {

struct ExactLayerBounds {
  LayerId layer = 0;
  std::vector<mpq_class> lower, upper;
};

// Bounds, in exact rationals; see executor.h.
struct ExactBounds {
  std::vector<mpq_class> lower, upper;
  std::vector<int> unstable;
  std::vector<ExactLayerBounds> layers;
};

// Returns true if all functions are made of linear pieces and steps, so that bounds are rational.
bool is_rational(const Plan& plan);

// Executes an entry in rational arithmetic: the method's bounds without any rounding, for the
// weights weight + residual. For small networks: numbers grow with every division. Aborts unless
// is_rational(plan).
ExactBounds execute_exact(const Plan& plan, const Entry& entry, const std::vector<mpq_class>& lower,
                          const std::vector<mpq_class>& upper);

// The outputs at a point, where smooth functions' values are off by 2^-200, relative to max(1, |f|)
// (see frontend/functions/function_exact.h). The spec rows with heads = plan.spec_heads.
std::vector<mpq_class> evaluate_exact(const Plan& plan, const std::vector<mpq_class>& x,
                                      const std::vector<LayerId>& heads);
std::vector<mpq_class> evaluate_exact(const Plan& plan, const std::vector<mpq_class>& x);

}  // namespace bf_aot::reference
