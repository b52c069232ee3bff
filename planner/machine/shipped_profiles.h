#pragma once

#include <span>
#include <string_view>

namespace bf_aot {

// The texts of planner/profiles/*.json, in order of their names.
std::span<const std::string_view> shipped_profiles();

}  // namespace bf_aot
