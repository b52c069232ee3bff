#pragma once

#include <string>

#include "frontend/import/operators/operators.h"
#include "frontend/import/operators/versions.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// "Gemm 'fc1'", "Gemm #3"
std::string name_of(const onnx::NodeProto& node, int index);

// "Gemm 'fc1' (node 3)", "Gemm #3"
std::string place_of(const onnx::NodeProto& node, int index);

// "Gemm", "com.microsoft.Gelu"
std::string operator_name(const onnx::NodeProto& node);

// The reader of the node's operator; or null.
const OperatorImporter* find_operator(const onnx::NodeProto& node);

// Checks inputs, outputs and attributes of a node. `opsets`: that the model imports. Throws:
// BF1011, BF1012.
void check_signature(const onnx::NodeProto& node, const OperatorImporter& op,
                     const OpsetSpan& opsets);

}  // namespace bf_aot
