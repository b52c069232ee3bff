#pragma once

#include "aot/build/device/device.h"
#include "planner/machine/device_peaks.h"

namespace bf_aot::engine {

// Measures what a device of this machine does at most: multiply-adds on registers and reads of each
// of its memories, by one group of items and by many. It takes a second or two. Throws as
// Device::Device() does.
DevicePeaks measure_peaks(const build::DeviceName& name);

}  // namespace bf_aot::engine
