#pragma once

#include "port.h"

namespace print {

inline void hex32(uint32_t value) {
  char text[9];
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[(value >> (28 - 4 * i)) & 15];
  text[8] = 0;
  port::write(text);
}

// Numbers below 2^64, in hexadecimal: no division, which some targets take from a library.
inline void hex64(uint64_t value) {
  hex32(static_cast<uint32_t>(value >> 32));
  hex32(static_cast<uint32_t>(value));
}

}  // namespace print
