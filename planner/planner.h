#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/property/property.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/pipeline.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Plans the verification of a normalised graph (see frontend/passes): which bounds for which layer,
// in which steps, in how much memory, with which kernels.
// With a spec, `graph` has one output more: the last one holds the spec rows.
// Runs planner_passes() in order and verifies the plan after each stage. Where that fails, or a
// pass is observed, it is verified after each pass, so that complaints name the pass. Throws:
// CompileError (BF2xxx) for what cannot be planned, or configured.
Plan plan(const Graph& graph, const ModelInfo& model, const std::string& name, bool has_spec,
          const PlannerConfig& config, const PlanOptions& options = {});

// The last step of planning: what consumers of the plan are handed.
std::shared_ptr<const Lowered> lower(std::shared_ptr<const Plan> plan);

}  // namespace bf_aot
