#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/cost_model.h"
#include "planner/machine/device_peaks.h"

namespace bf_aot {

// The cost of an entry on a device: memory, and the least time of batches, at the device's peaks.

// The work that most of the time at the peaks goes to.
enum class DeviceBound : std::uint8_t { kFloat32, kFloat64, kMemory };
std::string_view to_string(DeviceBound bound);  // "float32 arithmetic"

// The least time of a batch. The counts of costs are those of one box, their seconds of all boxes.
struct DeviceLimit {
  Cost total;
  DeviceBound bound = DeviceBound::kFloat32;
  std::vector<Cost> tasks;  // of the entry, in order
  std::vector<DeviceBound> bounds;
};

DeviceLimit device_limit(const Plan& plan, const Entry& entry, const Activity& activity,
                         const DevicePeaks& peaks, std::int64_t boxes);

struct DeviceBatch {
  std::int64_t boxes = 0;
  std::optional<DeviceLimit> limit;  // none: the peaks are not known
  double seconds = 0;                // measured, of a call; 0: it was not
  double too_long = 0;  // seconds that a call is expected to take, and was not timed for; 0: not so
};

// The batch whose tasks are shown: 1024 boxes.
constexpr std::size_t kDeviceBatchShown = 2;

struct DeviceFigures {
  std::string device;  // "opencl:0", and its name where it was asked
  std::int64_t weights_bytes = 0, box_bytes = 0;
  std::optional<DevicePeaks> peaks;
  std::string no_peaks;   // why there are none
  bool is_here = false;   // the peaks were measured on it
  std::string activity;   // of which boxes the work is counted: "half of the neurons"
  std::size_t entry = 0;  // of the plan's entries, that all figures are about
  std::vector<DeviceBatch> batches;
};

// The figures of an entry for batches of 1, 64, 1024 and 16384 boxes, without what is measured.
DeviceFigures device_figures(const Plan& plan, std::size_t entry, const Activity& activity,
                             const std::optional<DevicePeaks>& peaks);

}  // namespace bf_aot
