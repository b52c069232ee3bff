#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/machine/machine_profile.h"

namespace bf_aot {

// A rate a second, of one group of items by itself and of all groups together.
struct DeviceRate {
  double group = 0, all = 0;
  bool operator==(const DeviceRate&) const = default;
};

// Memories of one kind: one that all groups share, or one beside each of the device's processors.
struct DeviceMemory {
  double bytes = 0;  // of each; of the last kind no bound: infinity, in JSON null
  int count = 1;
  DeviceRate bytes_per_second;
  bool operator==(const DeviceMemory&) const = default;
};

// The most that a device does.
struct DevicePeaks {
  std::string name;                    // "NVIDIA H200"
  std::string source;                  // how the numbers were found
  int items = 1;                       // of a group
  DeviceRate float32, float64;         // flop/s on registers, a multiply-add being two
  std::vector<DeviceMemory> memories;  // reads in order, the nearest first
  bool operator==(const DevicePeaks&) const = default;
};

// The share that one of `boxes` boxes has of a device where each group bounds one, as a machine
// without other costs: its predictions are the least seconds of the whole batch.
// weights_bytes: what all boxes read.
MachineProfile share_of_box(const DevicePeaks& peaks, double boxes, double weights_bytes);

// The peaks called so. Throws: CompileError BF2131.
const DevicePeaks& find_peaks(std::string_view name);
std::vector<std::string> peaks_names();

// JSON as `bf-aot profile --device` writes it. Throws: CompileError BF2132, as parse_profile().
std::string to_json_text(const DevicePeaks& peaks);
DevicePeaks parse_peaks(const std::string& text, const std::string& where);

}  // namespace bf_aot
