#pragma once

#include "planner/plan/pipeline.h"

namespace bf_aot {

// Keeps the workspace within PlannerConfig::memory_budget. While an op of backward rows needs most
// of all and too much, its layer's rows go through in smaller tiles; where that is not enough, rows
// make relaxations anew that were stored, one layer's after the other, those first that save most
// bytes for a predicted second. Neither changes a bound: each row has a lane of its own and sums in
// the same order, and steps that are repeated make the same bits. Sets plan.domains[..].row_tile
// and remade. Throws: CompileError BF2105 with the smallest budget that works.
void fit_memory(PlanState& state);

// The plan with its entries made and placed, by the passes that are enabled: what it would need.
Plan placed(Plan plan);

}  // namespace bf_aot
