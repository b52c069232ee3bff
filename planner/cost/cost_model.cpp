#include "planner/cost/cost_model.h"

#include "frontend/diagnostic.h"
#include "planner/cost/cost_terms.h"

namespace bf_aot {

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  bytes += other.bytes;
  seconds += other.seconds;
  wide += other.wide;
  waiting += other.waiting;
  return *this;
}

StepCost predict(const Plan& plan, const Entry& entry, const Step& step,
                 const StepActivity& activity, const MachineProfile& profile) {
  StepCoster coster(plan, entry, profile);
  return coster.cost(step, activity);
}

EntryCost predict_entry(const Plan& plan, const Entry& entry, const Activity& activity,
                        const MachineProfile& profile) {
  BF_CHECK(activity.steps.size() == entry.steps.size());
  StepCoster coster(plan, entry, profile);
  EntryCost made;
  for (std::size_t s = 0; s < entry.steps.size(); ++s) {
    made.steps.push_back(coster.cost(entry.steps[s], activity.steps[s]));
    for (TaskPart& part : made.steps.back().parts) part.step = static_cast<int>(s);
    made.total += made.steps.back().total;
  }
  return made;
}

namespace {

void store_parts(const Plan& plan, const EntryCost& cost, Entry& entry, std::vector<double>& calls,
                 std::vector<double>& seconds) {
  for (Task& task : entry.tasks) {
    task.parts.clear();
    task.predicted_seconds = 0;
    for (const int step : task.steps)
      for (const TaskPart& part : cost.steps[static_cast<std::size_t>(step)].parts) {
        task.parts.push_back(part);
        task.predicted_seconds += part.seconds;
        if (part.kernel < 0) continue;
        calls.at(static_cast<std::size_t>(part.kernel)) += part.calls;
        seconds.at(static_cast<std::size_t>(part.kernel)) += part.seconds;
      }
  }
  BF_CHECK(calls.size() == plan.kernels.size());
}

}  // namespace

// Rows have as many tiles as hold all neurons of their layer.
static StepWork step_work(const Plan& plan, const Step& step, const Cost& cost) {
  const auto operations = static_cast<std::int64_t>(std::ceil(cost.flops));
  const auto* const rows = std::get_if<BackwardRows>(&step);
  if (rows == nullptr) return {operations, 1};
  const std::int64_t neurons = rows->tile / 2;
  const std::int64_t tiles = (plan.layer(rows->layer).out + neurons - 1) / neurons;
  return {(operations + tiles - 1) / tiles, tiles};
}

void count_work(Plan& plan) {
  if (plan.cheaper.empty()) return;
  for (Entry& entry : plan.entries) {
    if (entry.kind != EntryKind::kBounds && entry.kind != EntryKind::kSpecBounds) continue;
    entry.can_stop = entry.by != plan.cheaper.front().method;
    const EntryCost cost =
        predict_entry(plan, entry, assumed_activity(plan, entry, 1), profile_of(plan.config));
    for (std::size_t i = 0; i < entry.steps.size(); ++i)
      entry.work.push_back(step_work(plan, entry.steps[i], cost.steps[i].total));
  }
}

void predict_costs(Plan& plan, std::span<const Box> samples) {
  const MachineProfile& profile = profile_of(plan.config);
  std::vector<double> calls(plan.kernels.size()), seconds(plan.kernels.size());
  plan.prediction.profile = profile.name;
  for (Entry& entry : plan.entries) {
    if (is_batch(entry.kind)) continue;  // no profile holds times of boxes side by side
    const Activity activity = sampled_activity(plan, entry, samples);
    if (entry.kind == EntryKind::kBounds) plan.prediction.activity = activity.source;
    store_parts(plan, predict_entry(plan, entry, activity, profile), entry, calls, seconds);
  }
  for (std::size_t k = 0; k < plan.kernels.size(); ++k)
    plan.kernels[k].predicted_seconds = calls[k] > 0 ? seconds[k] / calls[k] : 0;
}

}  // namespace bf_aot
