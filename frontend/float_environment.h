#pragma once

#include "frontend/diagnostic.h"

namespace bf_aot {

// Whether this thread rounds to nearest, ties to even, and keeps subnormal numbers, as all that is
// proven of constants and bounds assumes. 1 + u is halfway to its upper neighbour 1 + 2u, and
// 1 + 3u halfway between 1 + 2u and 1 + 4u: every other mode gets one of the sums wrong.
template <class Float>
inline bool rounds_as_ieee(Float u, Float least_normal) noexcept {
  const volatile Float one = 1, half = Float{1} / 2, two = 2, small = u, normal = least_normal;
  const volatile Float odd = 1 + 2 * u, even = 1 + 4 * u, subnormal = least_normal / 2;
  const volatile Float down = one + small, up = odd + small, halved = normal * half;
  const volatile Float doubled = subnormal * two;
  const volatile Float kept = halved * two;
  return down == one && up == even && kept == normal && doubled == normal;
}

inline bool float_environment_ok() noexcept {
  return rounds_as_ieee(0x1p-24f, 0x1p-126f) && rounds_as_ieee(0x1p-53, 0x1p-1022);
}

// Asks the thread that is about to make numbers or bounds: threads have modes of their own, which
// a caller may have set, or a library that was built with -ffast-math as it was loaded. Takes some
// nanoseconds. Throws: CompileError BF3306.
inline void expect_float_environment() {
  if (float_environment_ok()) return;
  fail("BF3306", "floating point",
       "this thread does not round to nearest, or flushes subnormal numbers to zero",
       "call with the default rounding mode, and without flushing denormals to zero");
}

}  // namespace bf_aot
