#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

using onnx::AttributeProto;

// Output 0 is input 0's elements in a new order and shape; make_source() -> source indices.
template <typename MakeSource>
void move_data(NodeImport& node, const Shape& shape, MakeSource make_source) {
  node.reader().charge(shape, "");
  if (const IntegerTensor* integers = node.integers_if_any(0)) {
    IntegerTensor moved{shape, {}, integers->type};
    for (std::int64_t from : make_source())
      moved.data.push_back(integers->data[static_cast<std::size_t>(from)]);
    node.emit(std::move(moved));
    return;
  }
  const ValueId input = node.input(0);
  node.emit(IndexMap{make_source()}, {input}, shape);
}

void reshape_to(NodeImport& node, const Shape& shape) {
  move_data(node, shape, [&] {
    std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape)));
    std::iota(source.begin(), source.end(), 0);
    return source;
  });
}

void import_constant(NodeImport& node) {
  if (node.has_attribute("value")) {
    node.emit(node.reader().read(node.attribute("value", AttributeProto::TENSOR).t(), "", true));
  } else if (node.has_attribute("value_float")) {
    const double value = node.attribute("value_float", AttributeProto::FLOAT).f();
    node.emit(Constant{{}, {value}, {}});
  } else if (node.has_attribute("value_floats")) {
    const auto& floats = node.attribute("value_floats", AttributeProto::FLOATS).floats();
    node.emit(Constant{{floats.size()}, {floats.begin(), floats.end()}, {}});
  } else if (node.has_attribute("value_int")) {
    node.emit(IntegerTensor{{}, {node.attribute("value_int", AttributeProto::INT).i()}});
  } else if (node.has_attribute("value_ints")) {
    const auto& ints = node.attribute("value_ints", AttributeProto::INTS).ints();
    node.emit(IntegerTensor{{ints.size()}, {ints.begin(), ints.end()}});
  } else if (node.has_attribute("sparse_value")) {
    node.emit(node.reader().read(
        node.attribute("sparse_value", AttributeProto::SPARSE_TENSOR).sparse_tensor(), ""));
  } else {
    fail("BF1012", "", "none of value, value_float(s) and value_int(s) is given",
         "string constants are not supported");
  }
}

void import_identity(NodeImport& node) {
  reshape_to(node, Shape(node.input_shape(0)));
}

// At inference Dropout is the identity, whatever its ratio, and its mask lets everything through.
void import_dropout(NodeImport& node) {
  if (node.has_input(2)) {
    const IntegerTensor& training = node.integers(2, "training_mode input");
    if (training.data.size() != 1 || training.data[0] != 0)
      fail("BF1020", "", "training_mode is on", "export the model in evaluation mode");
  }
  constexpr std::int64_t kMaskIsBool = 10;
  if (node.has_output(1)) {
    const Shape shape = node.input_shape(0);
    node.reader().charge(shape, "");
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (node.opset() >= kMaskIsBool)
      node.emit(1,
                IntegerTensor{shape, std::vector<std::int64_t>(count, 1), onnx::TensorProto::BOOL});
    else
      node.emit(1, Constant{shape, std::vector<double>(count, 1), {}});
  }
  import_identity(node);
}

void import_flatten(NodeImport& node) {
  reshape_to(node, flatten_shape(node.input_shape(0), node.int_attribute("axis", 1)));
}

void import_reshape(NodeImport& node) {
  const bool allow_zero = node.flag("allowzero", false);
  const IntegerTensor& target = node.integers(1, "shape");
  if (target.shape.size() != 1)
    fail("BF1014", "",
         fmt::format("the shape input has shape {}, not one dimension", to_string(target.shape)));
  reshape_to(node, reshape_shape(node.input_shape(0), target.data, allow_zero));
}

void import_squeeze(NodeImport& node) {
  reshape_to(node, squeeze_shape(node.input_shape(0), read_axes(node)));
}

void import_transpose(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  std::vector<std::int64_t> perm(shape.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (const auto given = node.ints_attribute("perm")) perm = *given;
  move_data(node, transpose_shape(shape, perm), [&] { return transpose_source(shape, perm); });
}

void import_unsqueeze(NodeImport& node) {
  const auto axes = read_axes(node);
  if (!axes) fail("BF1012", "", "axes are missing");
  reshape_to(node, unsqueeze_shape(node.input_shape(0), *axes));
}

}  // namespace

OperatorRows movement_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Constant",
       import_constant,
       0,
       0,
       1,
       {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
        "value_strings", "sparse_value"}},
      {"Dropout", import_dropout, 1, 3, 2, {"ratio", "seed"}},
      {"Flatten", import_flatten, 1, 1, 1, {"axis"}},
      {"Identity", import_identity, 1, 1, 1, {}},
      {"Reshape", import_reshape, 2, 2, 1, {"allowzero"}},
      {"Squeeze", import_squeeze, 1, 2, 1, {"axes"}},
      {"Transpose", import_transpose, 1, 1, 1, {"perm"}},
      {"Unsqueeze", import_unsqueeze, 1, 2, 1, {"axes"}},
  };
  return kRows;
}

}  // namespace bf_aot
