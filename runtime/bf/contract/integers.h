#pragma once

// <cstddef> and <cstdint>. A compiler for a board may come without a C++ library: then their names
// are those of the compiler's own C headers, which a freestanding implementation has.

#if __has_include(<cstddef>) && __has_include(<cstdint>)

#include <cstddef>
#include <cstdint>

#else

#include <stddef.h>
#include <stdint.h>

namespace std {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using nullptr_t = decltype(nullptr);
}  // namespace std

#endif
