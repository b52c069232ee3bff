#include "planner/cost/device_figures.h"

#include <utility>

#include "frontend/check_scope.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kBatches[] = {1, 64, 1024, 16384};

DeviceBound bound_of(const Cost& cost, const MachineProfile& share) {
  if (cost.waiting > cost.seconds / 2) return DeviceBound::kMemory;
  const double wide = cost.wide / share.float64_vector;
  const double narrow = (cost.flops - cost.wide) / share.float32_vector;
  return wide > narrow ? DeviceBound::kFloat64 : DeviceBound::kFloat32;
}

}  // namespace

std::string_view to_string(DeviceBound bound) {
  switch (bound) {
    case DeviceBound::kFloat32:
      return "float32 arithmetic";
    case DeviceBound::kFloat64:
      return "float64 arithmetic";
    case DeviceBound::kMemory:
      return "memory";
  }
  BF_BROKEN("no such bound");
}

DeviceLimit device_limit(const Plan& plan, const Entry& entry, const Activity& activity,
                         const DevicePeaks& peaks, std::int64_t boxes) {
  const MachineProfile share =
      share_of_box(peaks, static_cast<double>(boxes), static_cast<double>(plan.weights_bytes()));
  const EntryCost cost = predict_entry(plan, entry, activity, share);
  DeviceLimit made;
  made.total = cost.total;
  made.bound = bound_of(cost.total, share);
  for (const Task& task : entry.tasks) {
    Cost sum;
    for (const int step : task.steps) sum += cost.steps.at(static_cast<std::size_t>(step)).total;
    made.bounds.push_back(bound_of(sum, share));
    made.tasks.push_back(sum);
  }
  return made;
}

DeviceFigures device_figures(const Plan& plan, std::size_t entry, const Activity& activity,
                             const std::optional<DevicePeaks>& peaks) {
  DeviceFigures made;
  made.peaks = peaks;
  made.activity = activity.source;
  made.entry = entry;
  for (const std::int64_t boxes : kBatches) {
    DeviceBatch batch;
    batch.boxes = boxes;
    if (peaks) batch.limit = device_limit(plan, plan.entries.at(entry), activity, *peaks, boxes);
    made.batches.push_back(std::move(batch));
  }
  return made;
}

}  // namespace bf_aot
