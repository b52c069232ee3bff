#pragma once

#include <span>
#include <string_view>

namespace bf_aot {

// The texts of planner/machine/profiles/*.json, in order of their names: machine profiles.
std::span<const std::string_view> shipped_profiles();
// Those of device_*.json: peaks of devices.
std::span<const std::string_view> shipped_peaks();

}  // namespace bf_aot
