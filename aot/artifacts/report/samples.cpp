#include "aot/artifacts/report/samples.h"

#include <algorithm>
#include <map>
#include <set>

#include "planner/reference/executor.h"

namespace bf_aot::artifacts {
namespace {

constexpr std::size_t kMostBoxes = 4;
constexpr std::int64_t kMostFlops = 20'000'000'000;  // of a call: some seconds in double

void add_layer(const Layer& layer, const reference::LayerBounds& bounds, int unstable,
               LayerSample& sample) {
  double sum = 0;
  for (std::size_t j = 0; j < bounds.lower.size(); ++j) {
    const double width = bounds.upper[j] - bounds.lower[j];
    sum += width;
    sample.max_width = std::max(sample.max_width, width);
    if (layer.relu && bounds.upper[j] <= 0) ++sample.inactive;
  }
  sample.mean_width += sum / static_cast<double>(std::max<std::size_t>(bounds.lower.size(), 1));
  if (layer.relu || layer.function) sample.unstable += unstable;
}

void add_box(const Plan& plan, const Entry& entry, const Box& box, std::set<LayerId>& seen,
             std::map<LayerId, LayerSample>& layers) {
  const reference::Bounds bounds = reference::execute(plan, entry, box.lower, box.upper);
  std::size_t activation = 0;
  for (const reference::LayerBounds& one : bounds.layers) {
    const Layer& layer = plan.layer(one.layer);
    const bool judged = layer.relu || layer.function;
    const int unstable = judged ? bounds.unstable[activation++] : 0;
    if (!seen.insert(one.layer).second) continue;
    LayerSample& sample = layers[one.layer];
    sample.layer = one.layer;
    add_layer(layer, one, unstable, sample);
  }
}

}  // namespace

void add_samples(const Plan& plan, const std::vector<Box>& boxes, Findings& findings) {
  std::vector<const Entry*> entries;
  std::int64_t flops = 0;
  for (const EntryKind kind : {EntryKind::kBounds, EntryKind::kSpecBounds})
    if (const Entry* const entry = plan.find_entry(kind)) {
      entries.push_back(entry);
      for (const Task& task : entry->tasks) flops += task.flops;
    }
  if (flops > kMostFlops) return;
  std::map<LayerId, LayerSample> layers;
  for (const Box& box : boxes) {
    if (static_cast<std::size_t>(findings.boxes) == kMostBoxes) break;
    std::set<LayerId> seen;  // the entries share all but their heads
    for (const Entry* const entry : entries) add_box(plan, *entry, box, seen, layers);
    ++findings.boxes;
  }
  for (auto& [index, sample] : layers) {
    const Layer& layer = plan.layer(index);
    sample.mean_width /= findings.boxes;
    if (layer.relu || layer.function)
      sample.active = std::int64_t{layer.out} * findings.boxes - sample.inactive - sample.unstable;
    findings.samples.push_back(sample);
  }
}

}  // namespace bf_aot::artifacts
