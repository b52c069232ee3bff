#include <fmt/format.h>

#include <algorithm>

#include "planner/cost_model.h"
#include "planner/reference/estimate.h"

namespace bf {
namespace {

constexpr std::size_t kMostBoxes = 3;
constexpr double kMostFlops = 2e9;  // of the reference on one box: about a second
constexpr std::size_t kFewRows = 8;

double total_flops(const Plan& plan, const Entry& entry, double share) {
  return predict_entry(plan, entry, assumed_activity(plan, entry, share), profile_of(plan.config))
      .total.flops;
}

}  // namespace

Activity assumed_activity(const Plan& plan, const Entry& entry, double share) {
  Activity made;
  made.source = fmt::format("{:.0f} % of the neurons, assumed", 100 * share);
  for (const Step& step : entry.steps) {
    const auto* const rows = std::get_if<BackwardRows>(&step);
    const double all = rows == nullptr ? 0 : plan.layers[static_cast<std::size_t>(rows->layer)].out;
    made.neurons.push_back(rows != nullptr && rows->unstable_only ? share * all : all);
  }
  return made;
}

Activity sampled_activity(const Plan& plan, const Entry& entry, std::span<const Box> samples) {
  const bool open = std::ranges::any_of(entry.steps, [](const Step& step) {
    const auto* const rows = std::get_if<BackwardRows>(&step);
    return rows != nullptr && rows->unstable_only;
  });
  if (samples.empty() || !open || total_flops(plan, entry, 0) > kMostFlops)
    return assumed_activity(plan, entry);
  const std::size_t boxes = std::min(samples.size(), kMostBoxes);
  Activity made = assumed_activity(plan, entry, 0);
  made.source = fmt::format("mean of {} box{}", boxes, boxes == 1 ? "" : "es");
  reference::Estimator estimator(plan);
  if (total_flops(plan, entry, 1) > kMostFlops) estimator.set_most_rows(kFewRows);
  for (std::size_t i = 0; i < boxes; ++i) {
    // Spread over the list, which may have boxes of one kind next to each other.
    const Box& box = samples[i * samples.size() / boxes];
    const reference::Estimator::Result one = estimator.run(entry, estimator.add_box(box));
    for (std::size_t s = 0; s < entry.steps.size(); ++s)
      if (const auto* const rows = std::get_if<BackwardRows>(&entry.steps[s]);
          rows != nullptr && rows->unstable_only)
        made.neurons[s] += static_cast<double>(one.rows[static_cast<std::size_t>(rows->layer)]) /
                           static_cast<double>(boxes);
  }
  return made;
}

}  // namespace bf
