#pragma once

#include <optional>
#include <span>
#include <string>

#include "aot/apps/measure/bench_measure.h"
#include "aot/engine/device/device.h"
#include "aot/input/json_io.h"
#include "frontend/property/property.h"
#include "planner/cost/device_figures.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::apps {

// Counts what a plan takes of the device that `name` names: its memory, and the least time of
// batches. The work is that of the boxes, or assumed without any. Peaks that are not given are
// measured, where the device is here; else the figures say why not.
DeviceFigures figures_on(const Lowered& lowered, const build::DeviceName& name,
                         std::optional<DevicePeaks> peaks, std::span<const Box> boxes);

// Times batches of the box, each for so many seconds, as far as the device's memory has room for,
// and a call of them takes no more by the time of the batch before.
// Throws: BF3344; BF3306 what is no box.
void time_batches(const engine::Device& device, const input::FloatBox& box, double seconds,
                  DeviceFigures& figures);

// The figures as text, and as JSON. `plan`: that they are of.
std::string device_text(const Plan& plan, const DeviceFigures& figures);
std::string device_json(const Plan& plan, const DeviceFigures& figures);

}  // namespace bf_aot::apps
