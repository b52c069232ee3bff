#pragma once

#include <string>

#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// Advice about a node whose operator is not supported. `cut`: a tensor that the node reads and
// another node makes; empty: there is none.
std::string way_out(const onnx::NodeProto& node, const std::string& cut);

}  // namespace bf_aot
