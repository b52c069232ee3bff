#pragma once

#include <optional>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// The network's outputs for one point where no evaluation in float32 rounds anything, as where all
// numbers are small integers: every evaluation that docs/proofs/float32.md speaks of then has these
// values, also with subnormal numbers flushed to zero. Nothing where some operation may round.
// graph: as it was imported. Inputs and outputs are flattened, one after another.
std::optional<std::vector<double>> evaluate_unrounded(
    const Graph& graph, const std::vector<std::vector<double>>& inputs);

}  // namespace bf_aot
