#pragma once

#include <cstddef>
#include <string>

#include "aot/build/device/device.h"
#include "aot/build/options/language.h"
#include "planner/machine/device_peaks.h"

namespace bf_aot::engine {

// Measures what a device of this machine does at most: multiply-adds on registers and reads of each
// of its memories, by one group of items and by many. It takes a second or two. Throws as
// Device::Device() does.
DevicePeaks measure_peaks(const build::DeviceName& name);

// The source that is measured, for groups of so many items. Those of a processor have one, and its
// compiler is told BF_LANES, of vectors in float, and BF_WIDE_LANES, in double.
std::string peaks_text(Language language, std::size_t items);

}  // namespace bf_aot::engine
