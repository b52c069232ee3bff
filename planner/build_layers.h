#pragma once

#include "frontend/graph.h"
#include "planner/plan.h"

namespace bf {

// Graph -> plan.layers, output_heads, spec_heads, inputs, outputs, counts. Each Relu with the
// Affine it reads becomes a layer; an Affine that something else reads becomes one without ReLU.
// With has_spec the last graph output is the spec.
// Throws: CompileError with every node that does not fit (BF2102), more than 2^22 neurons
// (BF2102), weights beyond float32 (BF2103).
void build_layers(const Graph& graph, bool has_spec, Plan& plan);

}  // namespace bf
