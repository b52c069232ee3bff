#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bf_aot {

// SHA-256 of the bytes as 64 lower-case hex digits (FIPS 180-4).
std::string sha256(std::string_view bytes);

// Two lower-case digits a byte.
std::string hex(std::span<const std::uint8_t> bytes);

}  // namespace bf_aot
