#pragma once

#include "planner/lowering/lowering.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Makes plan.domains: what is kept for each pre-activation under the configured method.
void assign_domains(Plan& plan);

// Returns true if some ReLU is below a layer, so that its backward rows have slopes to choose.
bool has_slopes(const Plan& plan, LayerId layer);

// Makes plan.entries: the steps and buffers (not yet placed) of bounds, spec_bounds and evaluate,
// with the error terms of each step.
void build_entries(LoweringPlanner& lowering, Plan& plan);

// Groups the steps of each entry into tasks with their data dependencies and costs.
void build_tasks(Plan& plan);

}  // namespace bf_aot
