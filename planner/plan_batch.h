#pragma once

#include "planner/plan/pipeline.h"

namespace bf_aot {

// Makes plan.batch: whether the batch entry points compute boxes side by side, a box in each lane
// of a vector, or one after the other with the code of one box. Side by side nothing is padded, and
// what is scalar for one box (relaxations, slacks) has lanes; but there are as many rounds of
// backward rows as the box with the most unstable neurons has, and the workspace holds all boxes.
void plan_batch(PlanState& state);

}  // namespace bf_aot
