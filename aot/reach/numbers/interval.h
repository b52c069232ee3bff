#pragma once

#include "frontend/numbers/exact_arithmetic.h"
#include "runtime/bf/loops/functions.h"

// Ranges of real numbers: their arithmetic is the runtime's, which monitors on devices have, too.
// Functions that the runtime does not have are MPFR's.

namespace bf_aot {
struct Function;
}

namespace bf_aot::reach {

using bf::loops::hull;
using bf::loops::kEverything;
using bf::loops::magnitude;
using bf::loops::meet;
using bf::loops::outward;
using bf::loops::Range;
using bf::loops::range_of;
using bf::loops::square;
using bf::loops::width;

inline Range range_of(const Bounded& x) {
  return bf::loops::range_about(x.value, x.error);
}

// All values of an elementwise function on x; everything where x leaves its domain.
Range apply(const Function& f, const Range& x);

// Where the runtime's functions of ranges and forms have their values from.
struct Values {
  using Function = bf_aot::Function;
  static Range value(const Function& f, const Range& x) { return reach::apply(f, x); }
};

// Arithmetic of Range for scalar programs.
using RangeArithmetic = bf::loops::RangesOf<Values>;

}  // namespace bf_aot::reach
