#include "planner/fit_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "frontend/diagnostic.h"
#include "planner/build_entries.h"
#include "planner/lowering.h"
#include "planner/placement.h"
#include "planner/plan_cache.h"
#include "planner/storage.h"

namespace bf {
namespace {

// Bytes alive at the fullest op of a step.
std::int64_t peak_of(const Entry& entry, int step) {
  std::int64_t peak = 0;
  for (int op = 0; op < op_count(entry.steps[static_cast<std::size_t>(step)]); ++op) {
    Buffer moment;
    moment.first = moment.last = step;
    moment.first_op = moment.last_op = op;
    std::int64_t bytes = 0;
    for (const Buffer& buffer : entry.buffers)
      if (buffer.scope == CacheScope::kRun && live_together(buffer, moment)) bytes += buffer.bytes;
    peak = std::max(peak, bytes);
  }
  return peak;
}

struct Shrink {
  int layer = 0;
  int tile = 0;  // from
  int to = 0;
};

// The rows whose tiles must shrink for the largest entry to need less; nothing where its fullest
// step has none that can.
std::optional<Shrink> next_shrink(Plan& plan) {
  const Entry& entry = *std::ranges::max_element(
      plan.entries, {}, [](const Entry& e) { return e.storage.planned_bytes; });
  std::optional<Shrink> shrink;
  std::int64_t most = 0;
  const LoweringPlanner lowering(plan);
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i) {
    const std::int64_t peak = peak_of(entry, i);
    if (peak <= most) continue;
    most = peak;
    shrink.reset();
    const auto* rows = std::get_if<BackwardRows>(&entry.steps[static_cast<std::size_t>(i)]);
    if (rows == nullptr || rows->tile <= 2) continue;
    const int out = plan.layers[static_cast<std::size_t>(rows->layer)].out;
    const int to = lowering.row_tile(out, rows->tile / 2);
    if (to < rows->tile) shrink = Shrink{rows->layer, rows->tile, to};
  }
  return shrink;
}

}  // namespace

Plan placed(Plan plan) {
  LoweringPlanner lowering(plan);
  build_entries(lowering, plan);
  if (is_enabled(plan.config, "plan-cache")) plan_cache(plan);
  for (Entry& entry : plan.entries) {
    if (is_enabled(plan.config, "reuse-in-place")) reuse_in_place(entry);
    place_apart(entry, plan.config.target.align);
    if (!is_enabled(plan.config, "share-storage")) continue;
    share_storage(entry, plan.rejected);
    if (is_enabled(plan.config, "search-offsets")) search_offsets(entry, plan.rejected);
  }
  return plan;
}

void fit_memory(PlanState& state) {
  Plan& plan = state.plan;
  const std::int64_t budget = plan.config.memory_budget;
  if (budget == 0) return;
  Plan trial = placed(plan);
  while (trial.arena_bytes() > budget) {
    const std::int64_t needed = trial.arena_bytes();
    const std::optional<Shrink> shrink = next_shrink(trial);
    if (!shrink)
      fail(
          "BF2105", fmt::format("a memory budget of {} bytes", budget),
          fmt::format("the workspace needs {} bytes with the smallest tiles of rows", needed),
          fmt::format("--memory-budget {} is the smallest that works; --method ibp needs less, and "
                      "--lowering generic has smaller tiles",
                      needed));
    plan.domains[static_cast<std::size_t>(shrink->layer)].row_tile = shrink->to;
    plan.rejected.push_back(
        {"storage",
         fmt::format("{}: rows in tiles of {}",
                     plan.layers[static_cast<std::size_t>(shrink->layer)].name, shrink->tile),
         fmt::format(
             "the workspace needs {} bytes; the budget is {}, so that tiles of {} are tried",
             needed, budget, shrink->to)});
    trial = placed(plan);
  }
}

}  // namespace bf
