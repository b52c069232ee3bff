#pragma once

// Outward-rounded scalar arithmetic and argument checks of verifiers in C99. Each function makes
// the bits of its namesake in bf/core/rounding.h and bf/core/kernel.h, where its proof is;
// tests/runtime/c_*_test.cpp compare them.
//
// The text is apart from the C++ one, since that is written over vectors, overloads and templates
// of constants, of which C has none. Each function here does what one lane does there.
//
// Of the standard library a freestanding compiler may have <float.h>, <stdbool.h>, <stddef.h> and
// <stdint.h> alone, so magnitudes are those of GCC and clang where they compile.

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bf/c/bytes.h"

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

// A factor that covers 2^12 double roundings: (1 - v)^-4096 < 1 + 2^-40.
#define BF_DOUBLE_SLACK 0x1.0000000001p0

// Sums over neurons are kept in so many parts, of every so-many-th neuron.
#define BF_PARTIAL_SUMS 8

#define BF_FLOAT_AT(arena, offset) ((float*)(void*)((unsigned char*)(arena) + (offset)))

#define BF_DOUBLE_AT(arena, offset) ((double*)(void*)((unsigned char*)(arena) + (offset)))

#define BF_INT32_AT(arena, offset) ((int32_t*)(void*)((unsigned char*)(arena) + (offset)))

#define BF_RESTRICT restrict

// Kernels are not inlined, loops of n turns have no branches, and addresses that may lie behind the
// last element are asked for ahead, where the compiler has words for it. Bits do not depend on it.
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
#define BF_PREFETCH(p, bytes) __builtin_prefetch((const void*)((uintptr_t)(p) + (bytes)))
#else
#define BF_KERNEL static void
#define BF_PREFETCH(p, bytes) ((void)0)
#endif

static inline int bf_smaller(int a, int b) {
  return a < b ? a : b;
}

// A list has the number of its entries that count, its entries, then how many that count lie below
// 0, 8, 16, ..
static inline ptrdiff_t bf_entry(const int32_t* list, int place) {
  return (ptrdiff_t)list[1 + place];
}

// The place of the first entry that counts and is not below `value`, a multiple of 8 or all.
static inline int bf_place_from(const int32_t* list, int entries, int value) {
  return (int)list[1 + entries + (value + 7) / 8];
}

// The larger of two floats; b where one is NaN.
static inline float bf_larger_float(float a, float b) {
  return a > b ? a : b;
}

// The larger of two doubles; b where one is NaN.
static inline double bf_larger_double(double a, double b) {
  return a > b ? a : b;
}

static inline double bf_magnitude_double(double x) {
  return BF_MAGNITUDE(x);
}

static inline float bf_magnitude_float(float x) {
  return BF_MAGNITUDE_FLOAT(x);
}

// x == 0, false for NaN.
static inline bool bf_is_zero(double x) {
  return x >= 0.0 && x <= 0.0;
}

static inline bool bf_is_zero_float(float x) {
  return x >= 0.0f && x <= 0.0f;
}

// a == b, false for NaN.
static inline bool bf_is_equal(double a, double b) {
  return a >= b && a <= b;
}

static inline bool bf_is_equal_float(float a, float b) {
  return a >= b && a <= b;
}

static inline uint64_t bf_bits_of(double x) {
  uint64_t bits;
  BF_COPY_BYTES(&bits, &x, sizeof bits);
  return bits;
}

static inline double bf_of_bits(uint64_t bits) {
  double x;
  BF_COPY_BYTES(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t bf_bits_of_float(float x) {
  uint32_t bits;
  BF_COPY_BYTES(&bits, &x, sizeof bits);
  return bits;
}

static inline float bf_float_of_bits(uint32_t bits) {
  float x;
  BF_COPY_BYTES(&x, &bits, sizeof x);
  return x;
}

// The least float greater than x; +inf for +inf and NaN.
static inline float bf_next_up_float(float x) {
  uint32_t bits = bf_bits_of_float(x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude == 0u) {
    bits = 1u;
  } else if (magnitude > 0x7f800000u || bits == 0x7f800000u) {
    bits = 0x7f800000u;
  } else {
    bits += (bits >> 31) != 0u ? 0xffffffffu : 1u;
  }
  return bf_float_of_bits(bits);
}

static inline float bf_next_down_float(float x) {
  return -bf_next_up_float(-x);
}

// The least double greater than x; +inf for +inf and NaN.
static inline double bf_next_up(double x) {
  uint64_t bits = bf_bits_of(x);
  const uint64_t magnitude = bits & 0x7fffffffffffffffu;
  if (magnitude == 0u) {
    bits = 1u;
  } else if (magnitude > 0x7ff0000000000000u || bits == 0x7ff0000000000000u) {
    bits = 0x7ff0000000000000u;
  } else {
    bits += (bits >> 63) != 0u ? 0xffffffffffffffffu : 1u;
  }
  return bf_of_bits(bits);
}

static inline double bf_next_down(double x) {
  return -bf_next_up(-x);
}

// Bounds of sums, differences, products and quotients: note [one step outward] in
// bf/core/rounding.h. X_up is at least the exact result, X_down at most.
static inline double bf_add_up(double a, double b) {
  const double sum = a + b;
  return bf_is_zero(sum) ? sum : bf_next_up(sum);
}

static inline double bf_add_down(double a, double b) {
  const double sum = a + b;
  return bf_is_zero(sum) ? sum : bf_next_down(sum);
}

static inline double bf_sub_up(double a, double b) {
  return bf_add_up(a, -b);
}

static inline double bf_sub_down(double a, double b) {
  return bf_add_down(a, -b);
}

// a + b, rounded outward only when it is inexact.
static inline double bf_exact_sum_up(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double rest = (a - (sum - part)) + (b - part);
  return rest <= 0.0 ? sum : bf_next_up(sum);
}

static inline double bf_exact_sum_down(double a, double b) {
  return -bf_exact_sum_up(-a, -b);
}

static inline double bf_mul_up(double a, double b) {
  const double product = a * b;
  return bf_is_zero(product) && (bf_is_zero(a) || bf_is_zero(b)) ? product : bf_next_up(product);
}

static inline double bf_mul_down(double a, double b) {
  const double product = a * b;
  return bf_is_zero(product) && (bf_is_zero(a) || bf_is_zero(b)) ? product : bf_next_down(product);
}

static inline double bf_div_up(double a, double b) {
  return bf_is_zero(b) ? BF_INFINITY_DOUBLE : bf_next_up(a / b);
}

static inline double bf_div_down(double a, double b) {
  return bf_is_zero(b) ? -BF_INFINITY_DOUBLE : bf_next_down(a / b);
}

// The float nearest to x. Note [pairs of floats] in bf/core/rounding.h: on x86 GCC 12 takes floats
// that are widened where they were made as the doubles that they were.
static inline float bf_nearest_float(double x) {
  float nearest = (float)x;
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
  __asm__("" : "+x"(nearest));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
  __asm__("" : "+w"(nearest));
#endif
  return nearest;
}

// The least float that is at least x; +inf beyond the range and for NaN.
static inline float bf_float_up(double x) {
  const float nearest = bf_nearest_float(x);
  return (double)nearest >= x ? nearest : bf_next_up_float(nearest);
}

// The greatest float that is at most x; -inf below the range and for NaN.
static inline float bf_float_down(double x) {
  const float nearest = bf_nearest_float(x);
  return (double)nearest <= x ? nearest : bf_next_down_float(nearest);
}

// Returns true if the compiler fuses products into sums in this file.
static inline bool bf_fuses_products(void) {
  const volatile double source = 1.0 + 0x1p-30;
  const volatile double rounded = 1.0 + 0x1p-29;
  const double x = source;
  const double minus = -rounded;
  const double sum = x * x + minus;
  return !bf_is_zero(sum);
}

// Returns true if the compiler keeps the arithmetic that is written: -fassociative-math makes x of
// (x + y) - y, -freciprocal-math 3 (1/7) of 3 / 7, and -fno-honor-nans takes NaN for a number.
static inline bool bf_keeps_arithmetic(void) {
  const volatile float one = 1.0f;
  const volatile float three = 3.0f;
  const volatile float large = 0x1p25f;
  const volatile float none = BF_INFINITY;
  const volatile float sevenths = 0x1.b6db6ep-2f;
  const float x = one;
  const float y = large;
  const float quotient = three / 7.0f;
  const float nan = none - none;
  return bf_is_zero_float((x + y) - y) && bf_is_equal_float(quotient, sevenths) &&
         !bf_is_equal_float(nan, nan);
}

// Returns true if floats are rounded to nearest, ties to even, and subnormals are kept. 1 + u is
// halfway to its upper neighbour 1 + 2u, and 1 + 3u halfway between 1 + 2u and 1 + 4u.
static inline bool bf_keeps_floats(void) {
  const volatile float one = 1.0f;
  const volatile float u = 0x1p-24f;
  const volatile float odd = 0x1.000002p0f;
  const volatile float even = 0x1.000004p0f;
  const volatile float half = 0.5f;
  const volatile float two = 2.0f;
  const volatile float least_normal = 0x1p-126f;
  const volatile float subnormal = 0x1p-127f;
  return bf_is_equal_float(one + u, one) && bf_is_equal_float(odd + u, even) &&
         !bf_is_zero_float(least_normal * half) && bf_is_equal_float(subnormal * two, least_normal);
}

static inline bool bf_keeps_doubles(void) {
  const volatile double one = 1.0;
  const volatile double u = 0x1p-53;
  const volatile double odd = 0x1.0000000000001p0;
  const volatile double even = 0x1.0000000000002p0;
  const volatile double half = 0.5;
  const volatile double two = 2.0;
  const volatile double least_normal = 0x1p-1022;
  const volatile double subnormal = 0x1p-1023;
  return bf_is_equal(one + u, one) && bf_is_equal(odd + u, even) &&
         !bf_is_zero(least_normal * half) && bf_is_equal(subnormal * two, least_normal);
}

// Returns true if bounds can be made: by sums and products that every other mode gets wrong, as
// plain C has no name for a control register.
static inline bool bf_float_environment_ok(void) {
  return bf_keeps_arithmetic() && bf_keeps_floats() && bf_keeps_doubles();
}
