#pragma once

// The words of runtime/bf/c/ in C99, and what is refused of its compilers. Of the standard library
// a freestanding compiler may have <float.h>, <stdbool.h>, <stddef.h> and <stdint.h> alone, so
// magnitudes are those of GCC and clang where they compile.

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bf/c/words/bytes.h"

#if defined(__GNUC__) && !defined(__FRAMAC__)
#define BF_INFINITY_DOUBLE __builtin_inf()
#define BF_INFINITY __builtin_inff()
#define BF_MAGNITUDE(x) __builtin_fabs(x)
#define BF_MAGNITUDE_FLOAT(x) __builtin_fabsf(x)
#else
#include <math.h>
#define BF_INFINITY_DOUBLE HUGE_VAL
#define BF_INFINITY HUGE_VALF
#define BF_MAGNITUDE(x) fabs(x)
#define BF_MAGNITUDE_FLOAT(x) fabsf(x)
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "bf: -ffast-math breaks proven bounds: compile verifiers without it (and without -Ofast)"
#endif

#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "bf: the arithmetic must be kept as it is written: compile verifiers without fast math"
#endif

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#error "bf: Helium's float arithmetic flushes subnormals: compile with -mcpu=cortex-m55+nomve"
#endif

#if !defined(FLT_EVAL_METHOD) || (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)
#error "bf: floats are evaluated with excess precision: on 32-bit x86 use -msse2 -mfpmath=sse"
#endif

#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || DBL_MANT_DIG != 53
#error "bf: float must be IEEE binary32, double IEEE binary64"
#endif

// C99 has one space of addresses. Devices have memory that all items of a group read and write, and
// constants.
#define BF_GLOBAL
#define BF_CONSTANT
#define BF_TABLE static const
#define BF_FUNCTION static inline

// Devices have groups of items, which deal out loops. Here is one item.
#define BF_ITEM 0
#define BF_ITEMS 1
#define BF_ONCE
#define BF_BARRIER ((void)0)
#define BF_TEAM
#define BF_OF_TEAM

// A loop over 0 .. n - 1 that the items of a group deal out: no iteration needs what another makes.
#define BF_EACH(i, n) BF_EACH_OF(int, i, n)
#define BF_EACH_OF(type, i, n) for (type i = 0; i < (n); ++i)

#define BF_RESTRICT restrict

// Kernels are not inlined, functions that are called with constants are, loops of n turns have no
// branches, and addresses that may lie behind the last element are asked for ahead, where the
// compiler has words for it. Bits do not depend on it.
#if defined(__clang__)
#define BF_PRAGMA_TEXT(text) _Pragma(#text)
#define BF_UNROLL(n) _Pragma("clang loop unroll(full)")
#define BF_UNROLL_BY(n) BF_PRAGMA_TEXT(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define BF_PRAGMA_TEXT(text) _Pragma(#text)
#define BF_UNROLL(n) BF_PRAGMA_TEXT(GCC unroll n)
#define BF_UNROLL_BY(n) BF_UNROLL(n)
#else
#define BF_UNROLL(n)
#define BF_UNROLL_BY(n)
#endif

#if defined(__GNUC__)
#define BF_KERNEL __attribute__((noinline)) static void
#define BF_INLINE static inline __attribute__((always_inline))
#define BF_PREFETCH(p, bytes) __builtin_prefetch((const void*)((uintptr_t)(p) + (bytes)))
#else
#define BF_KERNEL static void
#define BF_INLINE static inline
#define BF_PREFETCH(p, bytes) ((void)0)
#endif

static inline uint64_t bf_copied_bits(double x) {
  uint64_t bits;
  BF_COPY_BYTES(&bits, &x, sizeof bits);
  return bits;
}

static inline double bf_copied_double(uint64_t bits) {
  double x;
  BF_COPY_BYTES(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t bf_copied_float_bits(float x) {
  uint32_t bits;
  BF_COPY_BYTES(&bits, &x, sizeof bits);
  return bits;
}

static inline float bf_copied_float(uint32_t bits) {
  float x;
  BF_COPY_BYTES(&x, &bits, sizeof x);
  return x;
}

#define BF_BITS_OF(x) bf_copied_bits(x)
#define BF_OF_BITS(bits) bf_copied_double(bits)
#define BF_BITS_OF_FLOAT(x) bf_copied_float_bits(x)
#define BF_FLOAT_OF_BITS(bits) bf_copied_float(bits)
