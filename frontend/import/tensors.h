#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "frontend/graph.h"
#include "frontend/import/importer.h"
#include "onnx_schema/onnx.pb.h"

namespace bf {

// Shapes, axes and other integers that the importer resolves itself; never part of a Graph.
struct IntegerTensor {
  Shape shape;
  std::vector<std::int64_t> data;
};

using Tensor = std::variant<Constant, IntegerTensor>;

// What reading tensors needs of its surroundings, and what it has used up.
struct TensorReader {
  const ImportLimits& limits;
  std::filesystem::path folder;  // of external data; empty forbids it
  std::int64_t elements = 0;     // read so far, counted against limits.total_elements

  // Throws: BF1005 when the tensor is over the limits.
  void check(const Shape& shape, const std::string& where) const;

  // As check; also counts its elements towards the sum and throws BF1005 when that is too much.
  void charge(const Shape& shape, const std::string& where);

  // `where` names the tensor in messages.
  // Throws: BF1005 too large, BF1021 malformed, BF1022 element type, BF1023 NaN or infinite,
  // BF1024 external data.
  Tensor read(const onnx::TensorProto& proto, const std::string& where);
};

// "float", "int64", ...; "element type 99" for unknown ones.
std::string element_type_name(std::int32_t type);

// float, double, float16 or bfloat16.
bool is_real_type(std::int32_t type);

}  // namespace bf
