#pragma once

#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot {

// Aborts when a plan is malformed (our bug): ids in range, every buffer written before it is read,
// lifetimes that cover all accesses, no two live buffers overlapping, offsets aligned, task edges
// complete and acyclic. Written apart from the passes that make what it checks. What comes after
// `stage` must not be there yet. layers: looks at the layers, too, whose weights take long.
void verify(const Plan& plan, PlanStage stage = PlanStage::kTasks, bool layers = true);

// Aborts when a call program is malformed. `programs` are those of the plan's entries in their
// order.
void verify_programs(const Plan& plan, const std::vector<calls::Program>& programs);

// Aborts when a network of the plan's layers whose neurons are split is malformed: what it says of
// each layer is compared, and its counts must be no less than what is counted here.
void verify_split_network(const Plan& plan, const SplitNetworkPlan& network);

}  // namespace bf_aot
