#pragma once

#include "frontend/import/file/import_state.h"
#include "frontend/import/helpers/builder.h"

// Tensors of integers hold what fits into their type. The graph computes with real numbers, so what
// a node makes is put back into its type where it may leave it.

namespace bf_aot {

// Notes the reach of the node's outputs of integer type, and puts those back into their type that
// may leave it: docs/proofs/integer-types.md.
void keep_in_types(ImportState& state, const onnx::NodeProto& node, const Origin& origin);

// The numbers of a type, rounded outward where they are no doubles.
Reach reach_of_type(ElementType type);

// Returns what a value may be, for all inputs.
Reach integer_reach(ImportState& state, ValueId id);

bool holds(const Reach& outer, const Reach& inner);

// x put into the type; any number of the type where `tested` does not fit into it.
ValueId add_any_beyond(NodeImport& node, ValueId x, ValueId tested, ElementType type);

// The bits of a whole number as a type of `bits` bits reads them: x - 2^b floor((x - least) / 2^b).
ValueId add_wrapped(NodeImport& node, ValueId x, ElementType type);

// A whole number next to x: x cut towards zero or rounded to the nearest, ties anywhere, of which
// run-times do the one or the other.
ValueId add_cut_or_rounded(NodeImport& node, ValueId x);

// Integers as a type reads their bits.
IntegerTensor wrapped(IntegerTensor integers, ElementType type);

}  // namespace bf_aot
