#pragma once

#include <optional>

#include "frontend/functions/function.h"

namespace bf_aot {

// Bounds the evaluation of a function f in float32 at a float32 number x: its result is within
// relative |f(x)| + absolute of f(x), but for what is lost where results are subnormal. Proofs:
// docs/proofs/float32.md.
struct Float32Function {
  double relative = 0;
  double absolute = 0;
  // Relative rounding of the argument, before the function and its other errors apply.
  double of_input = 0;
  bool is_exact() const { return relative == 0 && absolute == 0 && of_input == 0; }
};

// libm_ulps: largest error of the library's functions in units of the last place.
// None: a function whose evaluation is not covered.
std::optional<Float32Function> evaluated_in_float32(const Function& function, double libm_ulps);

// >= |f(x)| for |x| <= most, also as evaluated but for a factor 2, and what is computed on the way;
// infinite where that may overflow.
double largest_in_float32(const Function& function, double most);

}  // namespace bf_aot
