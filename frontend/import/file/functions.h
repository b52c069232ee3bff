#pragma once

#include <vector>

#include "frontend/import/file/importer.h"
#include "frontend/import/operators/versions.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// Puts the nodes of the model's functions where they are called: also in the bodies of branches
// and loops, and those of functions that functions call. A function of an operator's name stands
// for that operator. Tensors and nodes within a call are named CALL/NAME. Returns the operator sets
// by which each node of the graph is read: those of its function, or `own` of the model.
// Throws: BF1005 when more would be made than the limits allow, BF1007, BF1011, BF1012, BF1015 when
// two functions have one name, BF1016 when functions call one another in a circle, BF1028.
std::vector<OpsetSpan> inline_functions(onnx::ModelProto& model, const OpsetSpan& own,
                                        const ImportLimits& limits);

}  // namespace bf_aot
