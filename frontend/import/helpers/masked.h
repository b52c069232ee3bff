#pragma once

#include "frontend/import/file/import_state.h"
#include "frontend/import/operators/operators.h"

// Nodes that read tensors of which elements are -inf, as masks of attention are, or other numbers
// that are not finite: which elements these are is a constant.

namespace bf_aot {

// True if an input is Masked.
bool reads_masked(const ImportState& state, const onnx::NodeProto& node);

// Imports such a node. One that masks, as Softmax, is told which elements are -inf. One that moves,
// chooses or adds elements takes -inf along, and others. A maximum over an axis leaves -inf out,
// and a comparison knows that -inf equals itself. Clip with an infinite end has none. Throws:
// BF1023 where it does something else, or the inputs decide what is -inf.
void import_masked(ImportState& state, const onnx::NodeProto& node, const OperatorImporter& op,
                   const Origin& origin);

}  // namespace bf_aot
