#pragma once

#include <string>

#include "frontend/graph/graph.h"
#include "planner/plan/plan.h"

namespace bf_aot::cli {

// A summary of a plan for a human reader: layers, entries with their tasks and memory, kernels,
// candidates that were not taken.
std::string summary(const Plan& plan);

// A Graphviz file of the normalised network and of the tasks of each entry.
std::string dot(const Graph& graph, const Plan& plan);

}  // namespace bf_aot::cli
