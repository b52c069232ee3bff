#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// The `expected_bytes` bytes of a tensor that is stored beside the model. The location must be a
// relative path to a regular file within `folder`, symbolic links resolved.
// Throws: BF1024.
std::string read_external_data(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                               std::uint64_t expected_bytes, const std::string& where);

}  // namespace bf_aot
