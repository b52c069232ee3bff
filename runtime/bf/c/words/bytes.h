#pragma once

// Copies of bits between numbers. A freestanding compiler may have no <string.h>, so they are those
// of GCC and clang where they compile.

#if defined(__GNUC__) && !defined(__FRAMAC__)
#define BF_COPY_BYTES(to, from, count) ((void)__builtin_memcpy((to), (from), (count)))
#else
#include <string.h>
#define BF_COPY_BYTES(to, from, count) ((void)memcpy((to), (from), (count)))
#endif
