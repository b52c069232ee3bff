#pragma once

#include "frontend/graph/graph.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Makes Plan::integer of a graph after the passes that keep grids (see Pass::keeps_grids): every
// tensor between layers is rounded to a grid of at most 256 codes, and a layer's codes follow from
// integer sums of codes exactly. Buffers are not placed yet.
// With a property, also its rows over codes: see GridProperty.
// Throws: CompileError with BF2113 for each node that is none of this, and BF2115 where the
// constants' exact values are not known well enough to round a sum.
void read_integer_network(const Graph& graph, const Property* property, Plan& plan);

}  // namespace bf_aot
