#pragma once

#include "frontend/diagnostic.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot {

// Asks the thread that is about to make numbers or bounds: threads have modes of their own, which
// a caller may have set, or a library that was built with -ffast-math as it was loaded. All that is
// proven of constants and bounds assumes rounding to nearest, and subnormal numbers. Takes some
// nanoseconds. Throws: CompileError BF3306.
inline void expect_float_environment() {
  if (bf::float_environment_ok()) return;
  fail("BF3306", "floating point",
       "this thread does not round to nearest, or flushes subnormal numbers to zero",
       "call with the default rounding mode, and without flushing denormals to zero");
}

}  // namespace bf_aot
