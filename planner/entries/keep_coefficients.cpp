#include "planner/entries/keep_coefficients.h"

#include <algorithm>
#include <vector>

#include "planner/entries/row_images.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;

// The entry whose calls NAME_decide makes, or null where another one calls it in turn.
Entry* deciding_entry(Plan& plan) {
  const EntryKind kind =
      plan.batch.side_by_side > 1 ? EntryKind::kSpecBoundsBatch : EntryKind::kSpecBounds;
  if (plan.config.batch > 1 && plan.batch.side_by_side == 1) return nullptr;
  const auto found = std::ranges::find(plan.entries, kind, &Entry::kind);
  return found == plan.entries.end() ? nullptr : &*found;
}

// Lines speak of z: a head whose values are functions of it has none of its own.
bool gives_all(const Plan& plan, const BackwardRows& rows) {
  const Layer& layer = plan.layer(rows.layer);
  return !layer.relu && !layer.function && !rows.unstable_only && rows.iterations == 0 &&
         find_image(rows, -1) == nullptr;
}

}  // namespace

void keep_coefficients(Plan& plan) {
  if (!plan.config.decide || plan.config.splits != Splits::kInputs) return;
  if (plan.spec_rows == 0 || plan.config.workers > 1) return;
  const auto lines =
      static_cast<std::int64_t>(bf::lines_of_row(static_cast<std::size_t>(plan.input_count)));
  if (std::int64_t{4} * plan.config.batch * plan.spec_rows * lines > kMostBytes) return;
  Entry* const entry = deciding_entry(plan);
  if (entry == nullptr) return;
  std::vector<BackwardRows*> kept;
  for (Step& step : entry->steps)
    if (auto* const rows = std::get_if<BackwardRows>(&step);
        rows != nullptr && std::ranges::count(plan.spec_heads, rows->layer) > 0 &&
        gives_all(plan, *rows))
      kept.push_back(rows);
  if (kept.size() != plan.spec_heads.size()) return;
  int position = 0;
  for (const LayerId head : plan.spec_heads) {
    for (BackwardRows* const rows : kept) {
      if (rows->layer != head) continue;
      rows->kept_position = position;
      for (BackwardRows& last : rows->last) last.kept_position = position;
    }
    position += plan.layer(head).out;
  }
}

bool keeps_coefficients(const Entry& entry) {
  return std::ranges::any_of(entry.steps, [](const Step& step) {
    const auto* const rows = std::get_if<BackwardRows>(&step);
    return rows != nullptr && rows->kept_position >= 0;
  });
}

bool keeps_coefficients(const Plan& plan) {
  return std::ranges::any_of(plan.entries,
                             [](const Entry& entry) { return keeps_coefficients(entry); });
}

}  // namespace bf_aot
