#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/import/import_state.h"

namespace bf {

// One ONNX node as its operator's importer sees it. Every function may throw CompileError with an
// empty `where`; the caller knows which node it is.
class NodeImport {
 public:
  NodeImport(ImportState& state, const onnx::NodeProto& node, std::string origin)
      : state_(state), node_(node), origin_(std::move(origin)) {}

  std::int64_t opset() const { return state_.opset; }
  const std::string& op_type() const { return node_.op_type(); }
  const std::string& origin() const { return origin_; }
  TensorReader& reader() { return state_.reader; }

  // Optional inputs and outputs are left out by an empty name.
  bool has_input(std::size_t i) const;
  bool has_output(std::size_t i) const;

  ValueId input(std::size_t i) { return state_.real_value(input_name(i)); }
  // nullptr: a real tensor.
  const IntegerTensor* integers_if_any(std::size_t i) const;
  // Throws: BF1018 when the input depends on the model's inputs or is not an integer tensor.
  const IntegerTensor& integers(std::size_t i, std::string_view role) const;
  const Shape& input_shape(std::size_t i) const;

  bool has_attribute(std::string_view name) const { return find_attribute(name) != nullptr; }
  double float_attribute(std::string_view name, double otherwise) const;
  std::int64_t int_attribute(std::string_view name, std::int64_t otherwise) const;
  std::optional<std::vector<std::int64_t>> ints_attribute(std::string_view name) const;
  // Throws: BF1012 unless the attribute is there and of that type.
  const onnx::AttributeProto& attribute(std::string_view name,
                                        onnx::AttributeProto::AttributeType type) const;

  // Defines output 0.
  void emit(Op op, const std::vector<ValueId>& inputs);
  void emit(Op op, const std::vector<ValueId>& inputs, const Shape& shape);
  void emit(Tensor constant);  // a Literal, or integers for later nodes to use
  void define(std::size_t output, Symbol symbol);

 private:
  const std::string& input_name(std::size_t i) const;
  const onnx::AttributeProto* find_attribute(std::string_view name) const;

  ImportState& state_;
  const onnx::NodeProto& node_;
  std::string origin_;
};

}  // namespace bf
