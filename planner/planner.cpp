#include "planner/planner.h"

#include "planner/build_entries.h"
#include "planner/build_layers.h"
#include "planner/lowering.h"
#include "planner/storage.h"
#include "planner/weight_tables.h"

namespace bf {

Plan plan(const Graph& graph, const ModelInfo& model, const std::string& name, bool has_spec,
          const PlannerConfig& config) {
  Plan plan;
  plan.name = name;
  plan.model = model;
  plan.config = config;
  build_layers(graph, has_spec, plan);
  assign_domains(plan);
  LoweringPlanner lowering(plan);
  build_entries(lowering, plan);
  for (Entry& entry : plan.entries) plan_storage(entry, config.target.align, plan.rejected);
  for (const WeightTable& table : weight_tables(plan))
    if (table.same_as < 0) plan.layouts[static_cast<std::size_t>(table.layer)].bytes += table.bytes;
  build_tasks(plan);
  verify(plan);
  return plan;
}

}  // namespace bf
