#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bf_aot {

bool is_gzip(std::string_view bytes);

struct Unpacked {
  enum class State : std::uint8_t {
    kWhole,
    kDamaged,   // or cut off
    kTooLarge,  // more than the limit comes out
  };
  State state = State::kWhole;
  std::string bytes;  // if whole
};

// Expands what is_gzip() as zlib's gzread does: members that stand one after the other are one
// text, and what follows the last member and is none itself is left out. Throws std::bad_alloc.
Unpacked unpack_gzip(std::string_view bytes, std::uint64_t most_bytes);

}  // namespace bf_aot
