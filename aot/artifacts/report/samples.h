#pragma once

#include <vector>

#include "aot/artifacts/report/report.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {

// Adds counts and widths by layer on boxes, by executing the plan in double. Boxes beyond the first
// few are left out, and all of them for plans that take long to execute.
void add_samples(const Plan& plan, const std::vector<Box>& boxes, Findings& findings);

}  // namespace bf_aot::artifacts
