#pragma once

#include <vector>

#include "frontend/functions/function.h"

namespace bf_aot {

// Composites that many networks have as several operators, in an order that stays while the program
// runs: x sigmoid(x), which is SiLU, and x tanh(ln(1 + e^x)), which is Mish.
const std::vector<Function>& usual_composites();

}  // namespace bf_aot
