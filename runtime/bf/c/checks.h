#pragma once

#include "bf.h"
#include "bf/c/box.h"
#include "bf/c/core.h"
#include "bf/c/spans.h"

// Checks of arguments of entry points, and of the arithmetic around them, in C99. A verifier on
// a device has its boxes checked by its host, and its arithmetic by a probe: bf/c/probe.h.

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

// BF_OK when `workspace` can be used.
static inline bf_status bf_check_workspace(const void* workspace, size_t bytes, size_t needed,
                                           size_t align) {
  if (workspace == NULL) return needed == 0u ? BF_OK : BF_NULL_ARGUMENT;
  if (bytes < needed) return BF_WORKSPACE_TOO_SMALL;
  if ((uintptr_t)workspace % align != 0u) return BF_WORKSPACE_MISALIGNED;
  return bf_float_environment_ok() ? BF_OK : BF_FLOAT_ENVIRONMENT;
}
