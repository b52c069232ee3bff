#pragma once

#include <string>
#include <string_view>

namespace bf_aot::artifacts {

// SHA-1 of the bytes as 40 lower-case hex digits (FIPS 180-4). SPDX asks for it; nothing relies on
// it, since SHA-256 stands beside it.
std::string sha1(std::string_view bytes);

}  // namespace bf_aot::artifacts
