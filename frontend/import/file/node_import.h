#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/import/file/import_state.h"

namespace bf_aot {

// One ONNX node as its operator's importer sees it. Every function may throw CompileError with an
// empty `where`; the caller knows which node it is.
//
// An importer translates the node into core nodes once, whether its inputs are constants or not.
// Outputs of integer type that depend on constants alone are evaluated afterwards and kept as
// IntegerTensors (GraphImporter), so that shapes, axes and indices may be computed by any operator.
// Real outputs stay nodes, which fold_constants evaluates with a bound of its rounding; an importer
// that needs such a number, say a Conv its weights, asks for constant(i).
class NodeImport {
 public:
  NodeImport(ImportState& state, const onnx::NodeProto& node, Origin origin)
      : state_(state),
        node_(node),
        origin_(std::move(origin)),
        first_value_(state.graph.values.size()) {
    for (const std::string& output : node.output())
      if (name_.empty()) name_ = output;
  }

  std::int64_t opset() const { return state_.opset; }
  const std::string& op_type() const { return node_.op_type(); }
  const Origin& origin() const { return origin_; }
  TensorReader& reader() { return state_.reader; }

  // Throws: BF1005 when a tensor would be over the limits.
  void check_size(const Shape& shape) const { state_.reader.check(shape, ""); }

  // Optional inputs and outputs are left out by an empty name, or by ending the list before them:
  // the inputs are counted up to the last that is there.
  std::size_t input_count() const;
  std::size_t output_count() const { return static_cast<std::size_t>(node_.output_size()); }
  bool has_input(std::size_t i) const;
  bool has_output(std::size_t i) const;
  // The name of an output as messages show it.
  std::string output_name(std::size_t i) const;

  // The value of an input of any type; truth values are 0 and 1.
  ValueId input(std::size_t i) { return state_.value(input_name(i)); }
  const Shape& input_shape(std::size_t i) const { return shape_of(input_name(i)); }
  ElementType input_type(std::size_t i) const { return type_of(input_name(i)); }
  // Throws: BF1019 unless inputs 0 .. count - 1 (those that are there) are all real or all integer.
  void check_same_types(std::size_t count) const;

  // The integers of a constant input; nullptr if it is of real type, or no constant.
  const IntegerTensor* integers_if_any(std::size_t i) const;
  // Throws: BF1018 when the input depends on the model's inputs or is not an integer tensor.
  const IntegerTensor& integers(std::size_t i, std::string_view role) const;

  // The token ids that an input is, moved at most; nullopt: it is something else.
  std::optional<ReadTokenIds> token_ids_if_any(std::size_t i) const;
  // The name of the model's input of integers that an input is, moved at most; empty: it is
  // something else.
  std::string integer_input_if_any(std::size_t i) const;
  // Ends a hint, ", or ...", that names --tokens where input i is an integer input of the model.
  std::string or_given(std::size_t i) const;

  // The single one of integers(). Throws: BF1014 when there are none or several.
  std::int64_t integer(std::size_t i, std::string_view role) const;

  // integers() of one dimension. Throws: BF1014 when there are others.
  const std::vector<std::int64_t>& list(std::size_t i, std::string_view role) const;

  // An input of any type that is known at import, exactly or with the bound that Constant holds;
  // nullptr: it depends on the model's inputs. Stays valid until a node is added.
  const Constant* constant_if_any(std::size_t i);
  // Throws: BF1018 when it depends on the model's inputs.
  const Constant& constant(std::size_t i, std::string_view role);
  // The single number of an input. Throws: BF1018, BF1014 when it has several, BF1025 when inexact.
  double number(std::size_t i, std::string_view role);

  // The elements of an input that are -inf, where the operator is one that masks. Null: none is.
  const std::vector<bool>* hidden(std::size_t i) const;

  bool has_attribute(std::string_view name) const { return find_attribute(name) != nullptr; }
  double float_attribute(std::string_view name, double otherwise) const;
  std::int64_t int_attribute(std::string_view name, std::int64_t otherwise) const;
  // Throws: BF1012 when the attribute is neither 0 nor 1.
  bool flag(std::string_view name, bool otherwise) const;
  // An element type. Throws: BF1012 when it is none; 0 is one, UNDEFINED.
  ElementType type_attribute(std::string_view name, ElementType otherwise) const;
  std::string string_attribute(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> ints_attribute(std::string_view name) const;
  std::optional<std::vector<double>> floats_attribute(std::string_view name) const;
  std::optional<std::vector<std::string>> strings_attribute(std::string_view name) const;
  // Throws: BF1012 unless the attribute is there and of that type.
  const onnx::AttributeProto& attribute(std::string_view name,
                                        onnx::AttributeProto::AttributeType type) const;

  // Element type of the outputs defined from now on; as input 0 (or float) unless set.
  void set_output_type(ElementType type) { output_type_ = type; }
  ElementType output_type() const;

  // Control flow. Tensors of bodies, and those that are made for them, are names of symbols.
  // Throws: BF1012 unless the attribute is a graph.
  Body body(std::string_view name) const;
  // Throws: BF1011 when the body has another number of inputs or outputs.
  void check_body(const Body& body, std::size_t inputs, std::size_t outputs) const;
  const std::string& tensor(std::size_t i) const { return input_name(i); }
  // Throws: BF1019 when the input is no sequence.
  const Sequence& sequence(std::size_t i) const;
  // nullptr: the input is no sequence.
  const Sequence* sequence_if_any(std::size_t i) const;
  // Returns true if the model makes the input, but nothing has its value.
  bool is_unavailable(std::size_t i) const;
  std::string add_tensor(const std::string& word, Symbol symbol);
  std::vector<std::string> import_body(Body& body, const std::vector<std::string>& inputs,
                                       std::int64_t step) {
    return state_.bodies->import_body(body, inputs, step);
  }
  ValueId value(const std::string& tensor) { return state_.value(tensor); }
  const IntegerTensor* integers_if_any(const std::string& tensor) const {
    return std::get_if<IntegerTensor>(&state_.symbols.at(tensor));
  }
  const Shape& shape_of(const std::string& tensor) const;
  ElementType type_of(const std::string& tensor) const;
  // Makes output number `output` stand for the tensor.
  void emit_tensor(std::size_t output, const std::string& tensor);

  // Counts the node as one of a form of its operator, "Resize, cubic", in ModelInfo::operators.
  void note_form(std::string_view form) {
    state_.operators.emplace(node_.op_type() + ", " + std::string(form), origin_.text);
  }

  // Adds a core node with this node's origin; builder.h has shorter forms.
  const Shape& shape_of(ValueId id) const { return state_.graph.value(id).shape; }
  ValueId add(Op op, const std::vector<ValueId>& inputs);
  ValueId add(Op op, const std::vector<ValueId>& inputs, const Shape& shape);

  // Returns true if the value fits into the type of the outputs for all inputs.
  bool fits_output_type(ValueId id);

  // Defines an output, 0 if not said.
  void emit(Op op, const std::vector<ValueId>& inputs);
  void emit(Op op, const std::vector<ValueId>& inputs, const Shape& shape);
  void emit(ValueId value) { emit(0, value); }
  void emit(std::size_t output, ValueId value);
  void emit(Tensor constant);  // a Literal, or integers for later nodes to use
  void emit(std::size_t output, Tensor constant);
  void define(std::size_t output, Symbol symbol);

 private:
  // Throws: BF1011 when the input is left out.
  const std::string& input_name(std::size_t i) const;
  const Symbol& input_symbol(std::size_t i) const { return state_.symbols.at(input_name(i)); }

  const onnx::AttributeProto* find_attribute(std::string_view name) const;
  Shape inferred_shape(const Op& op, const std::vector<ValueId>& inputs) const;

  ImportState& state_;
  const onnx::NodeProto& node_;
  Origin origin_;
  std::string name_;         // its first output that is there
  std::size_t first_value_;  // values from here on were made for this node
  std::optional<ElementType> output_type_;
  std::deque<Constant> converted_;  // what constant_if_any made of integers
};

}  // namespace bf_aot
