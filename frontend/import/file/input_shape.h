#pragma once

#include "frontend/graph/constant.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// The shape of an input that can be bounded: a dense tensor of numbers of 8 to 64 bits. A first
// dimension that is open is 1, as one box is one sample. Throws: BF1008 another type; BF1009 no
// shape, or another dimension that is open.
Shape input_shape(const onnx::ValueInfoProto& info);

}  // namespace bf_aot
