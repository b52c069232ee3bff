#pragma once

#include "frontend/import/operators/operators.h"
#include "frontend/import/operators/versions.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// Checks the numbers of a node's inputs and outputs, and its attributes, for the operator sets that
// the model imports. Throws: BF1011, BF1012.
void check_signature(const onnx::NodeProto& node, const OperatorImporter& op,
                     const OpsetSpan& opsets);

}  // namespace bf_aot
