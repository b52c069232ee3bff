#pragma once

#include "planner/pipeline.h"

namespace bf {

// Makes plan.batch: whether the batch entry points compute boxes side by side, a box in each lane
// of a vector, or one after the other with the code of one box. Side by side nothing is padded, and
// what is scalar for one box (relaxations, slacks) has lanes; but rows go through for every neuron
// that is unstable in one of the boxes, and the workspace holds all of them.
void plan_batch(PlanState& state);

}  // namespace bf
