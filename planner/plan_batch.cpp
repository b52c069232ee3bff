#include "planner/plan_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/cost/cost_model.h"
#include "planner/fit_memory.h"

namespace bf_aot {
namespace {

int lanes_of(const PlannerConfig& config) {
  return uses_vectors(config.lowering) ? config.target.vector_bytes / 4 : 1;
}

// Bytes of the forward lines of two layers, the widest, for so many boxes; 0 without lines.
std::int64_t line_bytes(const Plan& plan, int boxes) {
  std::int64_t widest = 0;
  for (const DomainChoice& choice : plan.domains)
    if (choice.domain == Domain::kForward)
      for (const Layer& layer : plan.layers) widest = std::max<std::int64_t>(widest, layer.out);
  return 2 * 4 * widest * line_rows(plan.input_count) * boxes;
}

// Half of the second cache: with more, measured, what goes through it costs more than full lanes
// save (docs/proofs/forward-lines.md).
std::int64_t most_line_bytes(const PlannerConfig& config) {
  const std::vector<MemoryLevel>& levels = profile_of(config).levels;
  return levels.size() < 3 ? 0 : static_cast<std::int64_t>(levels[1].bytes / 2);
}

// Why boxes cannot or should not go side by side; empty where nothing speaks against it.
std::string obstacle(const Plan& plan) {
  const PlannerConfig& config = plan.config;
  const int lanes = lanes_of(config);
  if (lanes == 1) return "scalar code has no lanes";
  if (!plan.is_of_boxes()) return "rows of balls and of one-hot inputs end one box at a time";
  if (2 * config.batch < lanes)
    return fmt::format("{} boxes leave most of {} lanes empty", config.batch, lanes);
  for (const Layer& layer : plan.layers)
    if (layer.kind != LayerKind::kDense || layer.function)
      return fmt::format("{} is no dense layer with ReLU or without", layer.name);
  for (const DomainChoice& choice : plan.domains)
    if (choice.domain == Domain::kOptimised) return "slopes are chosen for one box at a time";
  const std::int64_t bytes = line_bytes(plan, lanes), most = most_line_bytes(config);
  if (most > 0 && bytes > most)
    return fmt::format("their lines are {} bytes, more than {}, half of the second cache", bytes,
                       most);
  for (const DomainChoice& choice : plan.domains)
    if (choice.remade) return "relaxations are made anew for one box at a time";
  return {};
}

// The obstacle that shows when the entries are placed: too small a memory budget; else empty.
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

}  // namespace bf_aot
