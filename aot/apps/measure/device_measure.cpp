#include "aot/apps/measure/device_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "aot/emit/device/device.h"
#include "aot/engine/device/peaks.h"
#include "aot/system/measure.h"
#include "aot/system/progress.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/weight_tables.h"

namespace bf_aot::apps {
namespace {

// The entry of the outputs, or of the rows of a specification.
std::size_t entry_of_device(const Plan& plan) {
  const Entry* const found =
      plan.find_entry(plan.spec_rows > 0 ? EntryKind::kSpecBounds : EntryKind::kBounds);
  BF_CHECK(found != nullptr);
  return static_cast<std::size_t>(found - plan.entries.data());
}

}  // namespace

DeviceFigures figures_on(const Lowered& lowered, const build::DeviceName& name,
                         std::optional<DevicePeaks> peaks, std::span<const Box> boxes) {
  const Plan& plan = lowered.plan();
  const std::size_t entry = entry_of_device(plan);
  std::string why;
  const bool measured = !peaks;
  if (measured) {
    const system::Progress progress("measure the device");
    try {
      peaks = engine::measure_peaks(name);
    } catch (const CompileError& error) {
      why = error.diagnostics().front().message;
    }
  }
  DeviceFigures made = device_figures(
      plan, entry, sampled_activity(plan, plan.entries[entry], boxes), std::move(peaks));
  made.device = fmt::format("{}:{}", name.library, name.index);
  made.is_here = measured && made.peaks.has_value();
  made.no_peaks = std::move(why);
  made.weights_bytes = blob_bytes(lowered.tables(), plan.config.target.align);
  made.box_bytes =
      emit::device_arena_bytes(plan) +
      std::int64_t{8} * (plan.input_count + std::max(plan.output_count, plan.spec_rows));
  return made;
}

void time_batches(const engine::Device& device, const input::FloatBox& box, double seconds,
                  DeviceFigures& figures) {
  const Plan& plan = device.plan();
  const bool of_spec = plan.spec_rows > 0;
  const auto rows = static_cast<std::size_t>(of_spec ? plan.spec_rows : plan.output_count);
  if (!device.name().empty()) figures.device += ", " + device.name();
  const double width = static_cast<double>(device.boxes_side_by_side());
  double before = 0;  // seconds of boxes that the device takes side by side, by the batch before
  for (DeviceBatch& batch : figures.batches) {
    const auto count = static_cast<std::size_t>(batch.boxes);
    if (count > device.boxes_at_once()) break;
    const double rounds = std::max(1.0, static_cast<double>(count) / width);
    if (before * rounds > seconds) {
      batch.too_long = before * rounds;
      continue;
    }
    const system::Progress progress(fmt::format("time {} boxes", count));
    std::vector<float> lower, upper;
    for (std::size_t i = 0; i < count; ++i) {
      lower.insert(lower.end(), box.lower.begin(), box.lower.end());
      upper.insert(upper.end(), box.upper.begin(), box.upper.end());
    }
    std::vector<float> low(count * rows), high(count * rows);
    std::vector<bf_status> statuses(count);
    const auto call = [&] {
      const bf_status status = device.bound(of_spec, count, lower.data(), upper.data(), low.data(),
                                            high.data(), statuses.data());
      if (status != BF_OK) fail("BF3306", plan.name, bf_status_text(status));
    };
    const std::vector<double> samples = system::sample_calls(call, {0, seconds, 1, 1});
    batch.seconds = samples[samples.size() / 2];
    before = batch.seconds / rounds;
  }
}

}  // namespace bf_aot::apps
