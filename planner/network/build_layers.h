#pragma once

#include "frontend/graph/graph.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Graph -> plan.layers, output_heads, spec_heads, inputs, outputs, counts.
//   Affine             a dense layer, with the activation that reads it; one of its own for other
//                      readers. Mostly zero: a sum with compressed rows.
//   Conv, SparseAffine, IndexMap, Scale, sums of tensors: terms of a sum layer, with the activation
//                      that reads it if nobody else does. What several read is one layer.
//   products, GroupMax, LogSoftmax, Contraction a layer of their own.
// What tables hold of the exact weights: docs/proofs/what-is-verified.md.
// With has_spec the last graph output is the spec.
// Throws: CompileError with every node that does not fit and too many neurons (BF2102), weights
// beyond float32 (BF2103).
void build_layers(const Graph& graph, bool has_spec, Plan& plan);

}  // namespace bf_aot
