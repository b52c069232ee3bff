#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace bf_aot {

// The values of the names in extents, in one call.
using Extents = std::map<std::string, std::int64_t, std::less<>>;

// The value of an extent of a signature: "2 + n + n / 8".
std::int64_t extent_of(std::string_view text, const Extents& values);

}  // namespace bf_aot
