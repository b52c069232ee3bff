#pragma once

#include "planner/pipeline.h"

namespace bf {

// Keeps the workspace within PlannerConfig::memory_budget: while an op of backward rows needs most
// of all and too much, its layer's rows go through in smaller tiles. Tiles change no bound: each
// row has a lane of its own, and sums in the same order. Sets plan.domains[..].row_tile. Throws:
// CompileError BF2105 with the smallest budget that works.
void fit_memory(PlanState& state);

// The plan with its entries made and placed, by the passes that are enabled: what it would need.
Plan placed(Plan plan);

}  // namespace bf
