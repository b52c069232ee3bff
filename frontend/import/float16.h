#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace bf_aot {

// IEEE 754 binary16, exactly.
inline double float16_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else if (exponent < 31) {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  } else {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  }
  return bits >> 15 ? -magnitude : magnitude;
}

// bfloat16, the upper half of a binary32, exactly.
inline double bfloat16_to_double(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace bf_aot
