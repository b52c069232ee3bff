#include <fmt/format.h>

#include <algorithm>

#include "planner/cost/cost_model.h"
#include "planner/reference/estimate.h"

namespace bf_aot {
namespace {

constexpr std::size_t kMostBoxes = 3;
constexpr double kMostFlops = 2e9;  // of the reference on one box: about a second
constexpr std::size_t kFewRows = 8;

// A layer's neurons that are not 0 on the whole box, where `share` are of unknown sign and half of
// the others are positive.
double assumed_live(const Layer& layer, double share) {
  return layer.out * (1 - (1 - share) / 2);
}

// The layer that a step relaxes, if it does.
std::optional<LayerId> relaxed_by(const Step& step) {
  if (const auto* const relax = std::get_if<Relax>(&step)) return relax->layer;
  if (const auto* const lines = std::get_if<RelaxLines>(&step)) return lines->layer;
  return std::nullopt;
}

bool bends(const Plan& plan, const Step& step) {
  const std::optional<LayerId> layer = relaxed_by(step);
  return layer && (plan.layer(*layer).relu || plan.layer(*layer).function);
}

// Plain inference runs on points.
Box centre_of(const Box& box) {
  Box made = box;
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    made.lower[i] = made.upper[i] = 0.5 * box.lower[i] + 0.5 * box.upper[i];
  return made;
}

double total_flops(const Plan& plan, const Entry& entry, double share) {
  return predict_entry(plan, entry, assumed_activity(plan, entry, share), profile_of(plan.config))
      .total.flops;
}

}  // namespace

Activity assumed_activity(const Plan& plan, const Entry& entry, double share) {
  Activity made;
  made.source = fmt::format("{:.0f} % of the neurons, assumed", 100 * share);
  for (const Step& step : entry.steps) {
    StepActivity activity;
    if (const auto* const rows = std::get_if<BackwardRows>(&step)) {
      const int out = plan.layer(rows->layer).out;
      activity.neurons = out * (rows->unstable_only ? share : 1);
      activity.changes = rows->unstable_only ? 2 * share * (1 - share) * out : 0;
    }
    if (bends(plan, step)) {
      const int out = plan.layer(*relaxed_by(step)).out;
      const double sign = (1 - share) / 2;  // of either
      activity = {out * share, out * (1 - share * share - 2 * sign * sign), out * share};
    }
    if (const auto* const list = std::get_if<ListLive>(&step))
      activity.neurons = assumed_live(plan.layer(list->layer), share);
    made.steps.push_back(activity);
  }
  return made;
}

Activity activity_of(const Plan& plan, const Entry& entry,
                     std::span<const reference::Estimator::Result> runs) {
  if (runs.empty()) return assumed_activity(plan, entry);
  Activity made = assumed_activity(plan, entry, 0);
  made.source = fmt::format("mean of {} box{}", runs.size(), runs.size() == 1 ? "" : "es");
  const auto mean = [&](PerLayer<std::size_t> reference::Estimator::Result::*what, LayerId layer) {
    double sum = 0;
    for (const auto& run : runs) sum += static_cast<double>((run.*what)[layer]);
    return sum / static_cast<double>(runs.size());
  };
  using Result = reference::Estimator::Result;
  for (std::size_t s = 0; s < entry.steps.size(); ++s) {
    if (const auto* const rows = std::get_if<BackwardRows>(&entry.steps[s]);
        rows != nullptr && rows->unstable_only)
      made.steps[s] = {mean(&Result::rows, rows->layer), mean(&Result::changes, rows->layer), 0};
    if (const auto* const list = std::get_if<ListLive>(&entry.steps[s]))
      made.steps[s] = {mean(&Result::live, list->layer), 0, 0};
    if (const std::optional<LayerId> layer = relaxed_by(entry.steps[s]))
      made.steps[s] = {mean(&Result::bent, *layer), mean(&Result::changes, *layer),
                       mean(&Result::turned, *layer)};
  }
  return made;
}

Activity sampled_activity(const Plan& plan, const Entry& entry, std::span<const Box> samples) {
  const bool open = std::ranges::any_of(entry.steps, [](const Step& step) {
    return std::holds_alternative<BackwardRows>(step) || relaxed_by(step) >= 0;
  });
  if (samples.empty() || !open || total_flops(plan, entry, 0) > kMostFlops)
    return assumed_activity(plan, entry);
  const std::size_t boxes = std::min(samples.size(), kMostBoxes);
  reference::Estimator estimator(plan);
  if (total_flops(plan, entry, 1) > kMostFlops) estimator.set_most_rows(kFewRows);
  std::vector<reference::Estimator::Result> runs;
  for (std::size_t i = 0; i < boxes; ++i) {
    // Spread over the list, which may have boxes of one kind next to each other.
    const Box& sample = samples[i * samples.size() / boxes];
    const Box box = entry.kind == EntryKind::kEvaluate ? centre_of(sample) : sample;
    runs.push_back(estimator.run(entry, estimator.add_box(box)));
  }
  return activity_of(plan, entry, runs);
}

}  // namespace bf_aot
