#pragma once

#include <string>

#include "planner/machine/device_peaks.h"
#include "planner/machine/machine_profile.h"

namespace bf_aot::input {

// The shipped profile of this name, or one from a file that `bf-aot profile` wrote.
// Throws: BF2131 when it is neither, BF2132 when the file is no profile.
MachineProfile read_profile(const std::string& name_or_file);

// Reads peaks of a device likewise, which `bf-aot profile --device` writes.
DevicePeaks read_peaks(const std::string& name_or_file);

}  // namespace bf_aot::input
