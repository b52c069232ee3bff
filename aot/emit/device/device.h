#pragma once

#include <string>
#include <vector>

#include "aot/emit/text/emitted_file.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/plan.h"

// Verifiers for devices: a source whose entry points bound one box by a group of items, and the C
// that a host program calls.

namespace bf_aot::emit {

// The entries of the plan that have an entry point on a device, and their names: "net_bounds".
struct DeviceEntry {
  const Entry* entry = nullptr;
  std::string name;
  int outputs = 0;         // numbers that it writes of each box
  std::int64_t lines = 0;  // numbers of the rows' lines of each box; 0: it writes none
};
std::vector<DeviceEntry> device_entries(const Plan& plan);

// Bytes between the arenas of two boxes.
std::int64_t device_arena_bytes(const Plan& plan);

// Bytes of bf_team of bf/c/core.h, which the items of a group share, with so many weights; 0: a
// group is one item.
std::int64_t device_team_bytes(int items, std::int64_t staged);
std::int64_t device_team_bytes(const Plan& plan);

// The source for the device, which includes headers of the runtime.
std::string emit_device_source(const Lowered& lowered);

// The header of the host's functions, and their source. `stem`: that of the files' names.
std::string emit_device_header(const Lowered& lowered);
std::string emit_device_host(const Lowered& lowered, const std::string& stem);

// The lines of a text as strings of C, one a line, each followed by a comma.
std::string as_strings(const std::string& text);

}  // namespace bf_aot::emit
