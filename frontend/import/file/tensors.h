#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/import/file/importer.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// An ONNX element type: onnx::TensorProto::FLOAT, ...
using ElementType = std::int32_t;

// Shapes, axes and other integers or truth values known at import, exactly.
struct IntegerTensor {
  Shape shape;
  std::vector<std::int64_t> data;
  ElementType type = onnx::TensorProto::INT64;
};

using Tensor = std::variant<Constant, IntegerTensor>;

// Reads tensors of one model, within its limits, and counts what they have used up.
struct TensorReader {
  const ImportLimits& limits;
  std::filesystem::path folder;  // of external data; empty forbids it
  std::int64_t elements = 0;     // read and made so far, counted against limits.total_elements
  std::int64_t stored = 0;       // read so far
  std::int64_t made = 0;         // so far, by a model that stores so many
  bool any_number = false;       // NaN and infinities are let through

  // Throws: BF1005 when the tensor is over the limits.
  void check(const Shape& shape, const std::string& where) const;

  // Does what check() does, and counts the tensor's elements towards the sums of what is made.
  // Throws: BF1005 or BF1028 when a sum exceeds its limit.
  void charge(const Shape& shape, const std::string& where);

  // Counts elements that are made. Throws: BF1028.
  void charge_made(std::int64_t count, const std::string& where);

  // `where` names the tensor in messages. any: it may hold NaN and infinities, as masks of Softmax
  // and branches that are not taken do.
  // Throws: BF1005 too large, BF1021 malformed, BF1022 element type, BF1023 NaN or infinite,
  // BF1024 external data.
  Tensor read(const onnx::TensorProto& proto, const std::string& where, bool any = false);
  // A sparse tensor with its zeros. Throws: the same, and BF1028.
  Tensor read(const onnx::SparseTensorProto& proto, const std::string& where, bool any = false);

 private:
  void charge_total(const Shape& shape, const std::string& where);
};

// "float", "int64", ...; "element type 99" for unknown ones.
std::string element_type_name(ElementType type);

// float, double, float16 or bfloat16.
bool is_real_type(ElementType type);

// bool and all integer types, of 2 to 64 bits.
bool is_integer_type(ElementType type);

// The least and largest value of an integer type; those of uint64 end with int64's.
std::int64_t least_of(ElementType type);
std::int64_t largest_of(ElementType type);

// The tensor as exact doubles. Throws: BF1019 when an integer is beyond 2^53.
Constant to_constant(const IntegerTensor& integers);

}  // namespace bf_aot
