#pragma once

#include "planner/plan/pipeline.h"

namespace bf_aot {

// Method auto: chooses plan.domains within the configured budgets. Candidates are measured on
// sample boxes, without making code; the result depends on the network, the options and the boxes
// alone. Says why in the domains' reasons, in plan.search and plan.rejected.
// Throws: CompileError BF2140 when nothing meets the budgets, with the smallest that something
// does; BF2141 when the space is too large for an exhaustive search; BF2142 for sample boxes of
// another size than the network's input.
void search_domains(PlanState& state);

// Gives intervals to the hidden layers whose backward bounds do not move the result on any sample
// box. Without sample boxes nothing changes.
void tighten_selectively(PlanState& state);

}  // namespace bf_aot
