#pragma once

#include <string>

#include "frontend/graph/graph.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Prints each operator of the normalised graph, its class, and what it joins into a layer.
std::string dump_operators(const Graph& graph);

// Prints each kernel by key: what it computes, the primitives applied, and its loops.
// Deterministic.
std::string dump_schedules(const Plan& plan);

}  // namespace bf_aot::emit
