#include "planner/plan_batch.h"

#include <fmt/format.h>

#include <string>

#include "planner/fit_memory.h"

namespace bf {
namespace {

int lanes_of(const PlannerConfig& config) {
  return uses_vectors(config.lowering) ? config.target.vector_bytes / 4 : 1;
}

// Why boxes cannot or should not go side by side; empty where nothing speaks against it.
std::string obstacle(const Plan& plan) {
  const PlannerConfig& config = plan.config;
  const int lanes = lanes_of(config);
  if (lanes == 1) return "scalar code has no lanes";
  if (2 * config.batch < lanes)
    return fmt::format("{} boxes leave most of {} lanes empty", config.batch, lanes);
  for (const Layer& layer : plan.layers)
    if (layer.kind != LayerKind::kDense || layer.function)
      return fmt::format("{} is no dense layer with ReLU or without", layer.name);
  for (const DomainChoice& choice : plan.domains)
    if (choice.domain == Domain::kOptimised) return "slopes are chosen for one box at a time";
  for (const DomainChoice& choice : plan.domains)
    if (choice.remade) return "relaxations are made anew for one box at a time";
  return {};
}

// The same once it is known what the entries need.
std::string memory_obstacle(const Plan& plan) {
  const std::int64_t budget = plan.config.memory_budget;
  if (budget == 0) return {};
  Plan trial = plan;
  trial.batch.side_by_side = lanes_of(plan.config);
  const std::int64_t needed = placed(std::move(trial)).batch_bytes();
  if (needed <= budget) return {};
  return fmt::format("the workspace needs {} bytes; the budget is {}", needed, budget);
}

}  // namespace

void plan_batch(PlanState& state) {
  Plan& plan = state.plan;
  if (plan.config.batch == 1) return;
  const int lanes = lanes_of(plan.config);
  std::string reason = obstacle(plan);
  if (reason.empty()) reason = memory_obstacle(plan);
  const std::string side_by_side = fmt::format("{} boxes side by side", lanes);
  const std::string by_turns = "one box after the other";
  if (reason.empty()) {
    plan.batch = {lanes, "lanes of boxes are full whatever the widths of layers"};
    plan.rejected.push_back({"batch", by_turns, plan.batch.reason});
  } else {
    plan.batch = {1, reason};
    plan.rejected.push_back({"batch", side_by_side, reason});
  }
}

}  // namespace bf
