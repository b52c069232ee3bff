#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph.h"
#include "frontend/property.h"
#include "planner/pipeline.h"
#include "planner/plan.h"

namespace bf {

// Plans the verification of a normalised graph (see frontend/passes): which bounds for which layer,
// in which steps, in how much memory, with which kernels.
// With a spec, `graph` has one output more: the last one holds the spec rows.
// Runs planner_passes() in order and verifies the plan after each.
// Throws: CompileError (BF2xxx) for what cannot be planned, or configured.
Plan plan(const Graph& graph, const ModelInfo& model, const std::string& name, bool has_spec,
          const PlannerConfig& config, const PlanOptions& options = {});

// Known targets: "generic", "x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "riscv64",
// "cortex-m4", "cortex-m7"; "host" is resolved to one of them. Throws: CompileError BF2101.
Target find_target(std::string_view name);
std::vector<std::string> target_names();

// The names that PlannerConfig::dropped_error_terms accepts.
std::span<const std::string_view> error_term_names();

}  // namespace bf
