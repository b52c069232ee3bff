#pragma once

#include "planner/functions/pieces.h"

namespace bf_aot {

// The Taylor coefficients of a smooth function; of ELU-like ones on their side x < 0, of
// hard-swish on [-3, 3]. kLog, kSqrt and kPower: on x > 0.
Formula formula_of(const Function& function);

// e^x: what the reduced argument of kExponential has; also kExp's own formula.
Series formula_of_exp(const Interval& x, int order);

}  // namespace bf_aot
