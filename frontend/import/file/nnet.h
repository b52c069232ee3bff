#pragma once

#include <string>
#include <string_view>

#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

struct ImportLimits;

// A network in the text format .nnet of Reluplex: dense layers with ReLU, and how inputs and
// outputs are normalised. The model computes what the format's own evaluation does on physical
// values:
//   x' = (min(max(x, least), greatest) - mean) / range,  layers,  y' range + mean.
// Its numbers are the doubles nearest to what is written.
// Throws: CompileError BF1004, BF1005.
onnx::ModelProto read_nnet(std::string_view text, const std::string& where,
                           const ImportLimits& limits);

}  // namespace bf_aot
