#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::reference {

// Final bounds of one layer's z: before its activation, if it has one.
struct LayerBounds {
  LayerId layer = 0;
  std::vector<double> lower, upper;
};

struct Bounds {
  std::vector<double> lower, upper;  // of the entry's heads, in order
  // For each layer with an activation, in layer order, the number of neurons whose ReLU may lie on
  // both sides of 0, or whose function is no line over the argument's interval.
  std::vector<int> unstable;
  std::vector<LayerBounds> layers;  // of every layer that the entry bounds, in layer order
};

// Executes an entry of a plan in double (Eigen), without error terms: the bounds that the method
// gives in exact arithmetic, up to double rounding. Shares no code with generated kernels. Lines
// around functions are those of the least area; of smooth ones they come from dense sampling, so
// that they may differ from the generated code's, whose lines are nearly as good. Where a function
// leaves its domain, bounds are infinite.
// lower, upper: input_count numbers. A point entry (kEvaluate) takes the same point twice.
Bounds execute(const Plan& plan, const Entry& entry, const std::vector<double>& lower,
               const std::vector<double>& upper);

// The outputs at a point, in double; the spec rows with heads = plan.spec_heads.
std::vector<double> evaluate(const Plan& plan, const std::vector<double>& x,
                             const std::vector<LayerId>& heads);
std::vector<double> evaluate(const Plan& plan, const std::vector<double>& x);

}  // namespace bf_aot::reference
