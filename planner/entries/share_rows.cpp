#include "planner/entries/share_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "frontend/diagnostic.h"
#include "planner/plan/pipeline.h"

namespace bf_aot {
namespace {

bool has_rows(const Entry& entry) {
  return std::ranges::any_of(
      entry.steps, [](const Step& step) { return std::holds_alternative<BackwardRows>(step); });
}

// A tile's own: all that its ops write, but for the bounds of its neurons. The list of neurons is
// made before the first tile.
void mark(Entry& entry, const BackwardRows& rows) {
  for (const BufferId id : access_of(rows).writes)
    if (id != rows.below && id != rows.above && id != rows.neurons)
      entry.buffer(id).per_worker = true;
}

}  // namespace

void share_rows(Entry& entry, int workers) {
  const bool one_box = entry.kind == EntryKind::kBounds || entry.kind == EntryKind::kSpecBounds;
  if (workers == 1 || !one_box || !has_rows(entry)) return;
  entry.workers = workers;
  for (const Step& step : entry.steps)
    if (const auto* const rows = std::get_if<BackwardRows>(&step)) mark(entry, *rows);
}

void share_rows(Plan& plan) {
  const PlannerConfig& config = plan.config;
  if (config.workers == 1) return;
  for (Entry& entry : plan.entries) {
    share_rows(entry, config.workers);
    plan.parallel.workers = std::max(plan.parallel.workers, entry.workers);
  }
  if (plan.parallel.workers > 1) {
    plan.parallel.reason = "tiles of backward rows write bounds of neurons of their own";
    return;
  }
  plan.parallel.reason =
      fmt::format("the plan (method {}) has no backward rows, whose tiles workers could share{}",
                  to_string(config.method),
                  config.batch == 1 ? ", and there is no batch of boxes"
                                    : ": they share the boxes of a batch alone");
}

void check_workers(const Plan& plan) {
  const PlannerConfig& config = plan.config;
  if (config.workers == 1 || config.batch > 1 || plan.parallel.workers > 1 ||
      !is_enabled(config, "share-rows"))
    return;
  fail("BF2106", "--parallel", plan.parallel.reason,
       "add --batch N, so that workers share the boxes of a call, or leave --parallel out");
}

}  // namespace bf_aot
