#pragma once

#include "frontend/graph/graph.h"

namespace bf_aot {

// Returns whether all constants of the operator are known exactly.
bool has_exact_constants(const Op& op);

}  // namespace bf_aot
