#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/index_maps.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/convolution.h"
#include "frontend/import/helpers/narrow.h"
#include "frontend/import/helpers/quantization.h"
#include "frontend/import/operators/operators.h"

// Quantised operators compute with integers, in which sums and products are exact; rounding to the
// grid is a function of its own. So bounds hold for exact arithmetic before each rounding, ties to
// even: x_scale w_scale / y_scale is not rounded.

namespace bf_aot {
namespace {

using onnx::TensorProto;

QuantizationInputs read_axis(const NodeImport& node) {
  QuantizationInputs inputs{1, 2};
  inputs.axis = node.int_attribute("axis", 1);
  inputs.block_size = node.int_attribute("block_size", 0);
  return inputs;
}

// Numbers between the types are not rounded, so that only the kind of type matters.
void need_real_type(const NodeImport& node, std::string_view attribute) {
  const ElementType type = node.type_attribute(attribute, TensorProto::UNDEFINED);
  if (type != TensorProto::UNDEFINED && !is_real_type(type))
    fail("BF1012", "",
         fmt::format("attribute '{}' is {}, no real type", attribute, element_type_name(type)));
}

void need_real_scale(const NodeImport& node) {
  if (!is_real_type(node.input_type(1)))
    fail("BF1019", "",
         fmt::format("the scale is {}, no real number", element_type_name(node.input_type(1))));
}

void need_type_of_zero_point(const NodeImport& node, std::size_t tensor, std::size_t zero_point) {
  if (node.has_input(zero_point) && node.input_type(tensor) != node.input_type(zero_point))
    fail("BF1019", "",
         fmt::format("the zero point in input {} is {}, but its tensor is {}", zero_point,
                     element_type_name(node.input_type(zero_point)),
                     element_type_name(node.input_type(tensor))));
}

// Input i less its zero point. One number per `axis` of the tensor, or one for all; of a stack of
// matrices, one per row or column of each.
ValueId add_shifted(NodeImport& node, std::size_t i, std::size_t zero_point, std::int64_t axis,
                    bool stacked = false) {
  need_type_of_zero_point(node, i, zero_point);
  const Shape shape = node.input_shape(i);
  const ValueId x = node.input(i);
  if (node.has_input(zero_point) && node.constant_if_any(zero_point) == nullptr) {
    // It is one number, which DynamicQuantizeLinear computes.
    if (element_count(node.input_shape(zero_point)) != 1)
      fail("BF1018", "", fmt::format("the zero points in input {} are computed", zero_point),
           "quantise statically, as onnxruntime.quantization.quantize_static does, or give the "
           "network before its quantisation");
    return add_binary(node, Binary::Kind::kSub, x, add_reshape(node, node.input(zero_point), {}));
  }
  return add_dequantized(
      node, x, nullptr,
      read_parameter(node, zero_point, "zero point", shape, {0, zero_point, axis, 0, stacked}, 0));
}

// The weights in input i as integers less their zero point, one per output channel or one for all.
Constant read_weights(NodeImport& node, std::size_t i, std::size_t zero_point) {
  need_type_of_zero_point(node, i, zero_point);
  const Constant weight = node.constant(i, "weights");
  const QuantizationParameter zero = read_parameter(node, zero_point, "zero point of the weights",
                                                    weight.shape, {0, zero_point, 0}, 0);
  ConstantBuilder result(weight.shape);
  for (std::size_t k = 0; k < result.size(); ++k)
    result.set(k, add(bounded_at(weight, k), negate(zero.at(k))));
  return std::move(result).finish(node.origin());
}

// The convolution of exact integers; bias: input number, none when it is left out.
ValueId add_integer_conv(NodeImport& node, ValueId x, Constant weight, std::size_t bias_input) {
  const ConvShape shape = read_convolution(node, node.shape_of(x), weight.shape);
  const ConvGeometry& g = shape.geometry;
  Constant bias = filled({g.out_channels}, 0);
  if (node.has_input(bias_input)) bias = node.constant(bias_input, "bias");
  if (bias.shape != Shape{g.out_channels})
    fail("BF1014", "", fmt::format("the bias has shape {}", to_string(bias.shape)));
  weight.shape = {g.out_channels, g.in_group(), g.taps()};
  return node.add(Conv{g, std::move(weight), std::move(bias)}, {x}, shape.output);
}

// Products of integers in exact arithmetic times scales, rounded to the grid of the output.
ValueId add_requantized(NodeImport& node, ValueId product, const QuantizationParameter& a,
                        const QuantizationParameter& b, std::size_t y_scale) {
  const Shape shape = node.shape_of(product);
  ConstantBuilder factor(shape);
  for (std::size_t i = 0; i < factor.size(); ++i) factor.set(i, multiply(a.at(i), b.at(i)));
  const ValueId real =
      add_scale(node, product, std::move(factor).finish(node.origin()), filled(shape, 0));
  return add_on_output_grid(node, real, y_scale);
}

// Axes of a product's parameters: rows of the left matrix, columns of the right one. Vectors have
// neither.
std::int64_t row_axis(const Shape& shape) {
  return shape.size() < 2 ? 0 : static_cast<std::int64_t>(shape.size()) - 2;
}
std::int64_t column_axis(const Shape& shape) {
  return static_cast<std::int64_t>(shape.size()) - 1;
}

void need_matrices(const NodeImport& node, std::size_t a, std::size_t b) {
  if (node.input_shape(a).empty() || node.input_shape(b).empty())
    fail("BF1014", "", "a product needs tensors, not scalars");
}

// Returns true if scale or zero point depend on the model's inputs; each must then be one number.
bool has_computed_parameters(NodeImport& node) {
  const auto computed = [&](std::size_t i) {
    return node.has_input(i) && node.constant_if_any(i) == nullptr;
  };
  if (!computed(1) && !computed(2)) return false;
  for (std::size_t i : {std::size_t{1}, std::size_t{2}})
    if (node.has_input(i) && element_count(node.input_shape(i)) != 1)
      fail("BF1018", "", "scales and zero points of several numbers must be constants",
           "export with constant parameters, or simplify the model so that they are folded");
  return true;
}

// Input i as a scalar.
ValueId add_scalar(NodeImport& node, std::size_t i) {
  return add_reshape(node, node.input(i), {});
}

// x / scale to the nearest number of a float of 8 or 4 bits, whose zero point is 0.
void emit_small_floats(NodeImport& node, const QuantizationInputs& inputs,
                       const FloatFormat& format) {
  const Shape shape = node.input_shape(0);
  const QuantizationParameter scale = read_parameter(node, 1, "scale", shape, inputs, 1);
  if (node.has_input(2) && !is_zero(node.constant(2, "zero point")))
    fail("BF1026", "", "the zero point of small floats is not 0");
  ConstantBuilder factor(shape);
  for (std::size_t i = 0; i < factor.size(); ++i) {
    if (!can_divide_by(scale.at(i)))
      fail("BF1026", "", fmt::format("a scale is {}", scale.at(i).value),
           "store the scale as a float constant in the model");
    factor.set(i, divide({1, 0}, scale.at(i)));
  }
  const bool saturate = format.type == TensorProto::FLOAT4E2M1 || node.flag("saturate", true);
  node.set_output_type(format.type);
  if (const Constant* const constant = node.constant_if_any(0)) {
    const Constant x = *constant;
    ConstantBuilder quotient(shape);
    for (std::size_t i = 0; i < quotient.size(); ++i)
      quotient.set(i, divide(bounded_at(x, i), scale.at(i)));
    return node.emit(
        rounded_to(node, format, saturate, std::move(quotient).finish(node.origin().text)));
  }
  const ValueId quotient =
      add_scale(node, node.input(0), std::move(factor).finish(node.origin()), filled(shape, 0));
  node.emit(add_rounded_to(node, quotient, format, saturate));
}

// The float of 8 or 4 bits that input 2, or else attribute output_dtype, asks for. Null: none does.
const FloatFormat* small_float_asked_for(const NodeImport& node) {
  const ElementType type = node.has_input(2)
                               ? node.input_type(2)
                               : node.type_attribute("output_dtype", TensorProto::UINT8);
  return is_real_type(type) ? nullptr : narrow_format(type);
}

void import_quantize_linear(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const QuantizationInputs inputs = read_axis(node);
  (void)node.flag("saturate", true);
  need_real_type(node, "precision");
  need_real_scale(node);
  if (const FloatFormat* const format = small_float_asked_for(node))
    return emit_small_floats(node, inputs, *format);
  ElementType type = quantized_type(node, 2);
  ElementType given = node.type_attribute("output_dtype", type);
  if (given == TensorProto::UNDEFINED) given = type;
  if (node.has_input(2) && given != type)
    fail("BF1012", "",
         fmt::format("attribute 'output_dtype' is {}, but the zero point is {}",
                     element_type_name(given), element_type_name(type)));
  type = given;
  if (!is_integer_type(type) || type == TensorProto::BOOL)
    fail("BF1022", "", fmt::format("quantisation to {} is not supported", element_type_name(type)),
         "quantise to integers of 8 to 32 bits");
  if (has_computed_parameters(node)) {
    ValueId y = add_binary(node, Binary::Kind::kDiv, node.input(0), add_scalar(node, 1));
    y = add_rounded(node, y);
    if (node.has_input(2)) y = add_binary(node, Binary::Kind::kAdd, y, add_scalar(node, 2));
    y = add_clip(node, y, static_cast<double>(least_of(type)),
                 static_cast<double>(largest_of(type)));
    node.set_output_type(type);
    return node.emit(y);
  }
  const QuantizationParameter scale = read_parameter(node, 1, "scale", shape, inputs, 1);
  const QuantizationParameter zero = read_parameter(node, 2, "zero point", shape, inputs, 0);
  const ValueId y = add_quantized(node, node.input(0), scale, zero, type);
  node.set_output_type(type);
  node.emit(y);
}

void import_dequantize_linear(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const QuantizationInputs inputs = read_axis(node);
  need_real_type(node, "output_dtype");
  need_real_scale(node);
  need_type_of_zero_point(node, 0, 2);
  node.set_output_type(node.input_type(1));
  if (has_computed_parameters(node)) {
    ValueId x = node.input(0);
    if (node.has_input(2)) x = add_binary(node, Binary::Kind::kSub, x, add_scalar(node, 2));
    return node.emit(add_binary(node, Binary::Kind::kMul, x, add_scalar(node, 1)));
  }
  const QuantizationParameter scale = read_parameter(node, 1, "scale", shape, inputs, 1);
  const QuantizationParameter zero = read_parameter(node, 2, "zero point", shape, inputs, 0);
  node.emit(add_dequantized(node, node.input(0), &scale, zero));
}

// Input i of a QONNX node, which broadcasts to the tensor.
QuantizationParameter read_broadcast(NodeImport& node, std::size_t i, std::string_view role) {
  const Shape shape = node.input_shape(0);
  QuantizationParameter made{node.constant(i, role), {}};
  if (!broadcasts_to(made.values.shape, shape))
    fail("BF1014", "",
         fmt::format("the {} of shape {} does not broadcast to {}", role,
                     to_string(made.values.shape), to_string(shape)));
  node.reader().charge(shape, "");
  made.source = broadcast_map(made.values.shape, shape);
  return made;
}

// QONNX: (clip(round(x / scale) + zero point) - zero point) scale, to integers of so many bits.
void import_quant(NodeImport& node) {
  const std::string rounding = node.string_attribute("rounding_mode", "ROUND");
  if (rounding != "ROUND" && rounding != "HALF_EVEN")
    fail("BF1026", "", fmt::format("attribute 'rounding_mode' is '{}'", printable(rounding)),
         "export with rounding to the nearest integer, ROUND");
  const QuantizationParameter scale = read_broadcast(node, 1, "scale");
  const QuantizationParameter zero = read_broadcast(node, 2, "zero point");
  for (const double each : zero.values.data)
    if (!zero.values.is_exact() || each != std::nearbyint(each))
      fail("BF1026", "", fmt::format("a zero point is {}, no integer", each),
           "export with whole zero points");
  constexpr double kMostBits = 32;
  const double bits = node.number(3, "number of bits");
  if (bits < 1 || bits > kMostBits || bits != std::nearbyint(bits))
    fail("BF1026", "", fmt::format("{} bits", bits), "1 to 32 bits are supported");
  const bool is_signed = node.flag("signed", true), narrow = node.flag("narrow", false);
  const double range = std::ldexp(1, static_cast<int>(bits) - (is_signed ? 1 : 0));
  const double low = is_signed ? -range + (narrow ? 1 : 0) : 0;
  const double high = range - (!is_signed && narrow ? 2 : 1);
  node.emit(add_fake_quantized(node, node.input(0), scale, zero, low, high));
}

// QONNX: scale from 0 on, and -scale below.
void import_bipolar_quant(NodeImport& node) {
  const QuantizationParameter scale = read_broadcast(node, 1, "scale");
  const Shape shape = node.input_shape(0);
  ConstantBuilder factor(shape), offset(shape);
  for (std::size_t i = 0; i < factor.size(); ++i) {
    factor.set(i, multiply({2, 0}, scale.at(i)));
    offset.set(i, negate(scale.at(i)));
  }
  node.emit(add_scale(node, add_unary(node, node.input(0), {FunctionKind::kStepAt}),
                      std::move(factor).finish(node.origin()),
                      std::move(offset).finish(node.origin())));
}

void import_conv_integer(NodeImport& node) {
  const ValueId x = add_shifted(node, 0, 2, 1);
  const ValueId y = add_integer_conv(node, x, read_weights(node, 1, 3), 4);
  node.set_output_type(TensorProto::INT32);
  node.emit(y);
}

// In com.microsoft images may have their channels last; weights have them first.
void import_qlinear_conv(NodeImport& node) {
  const bool last = node.flag("channels_last", false);
  ValueId x = add_shifted(node, 0, 2, last ? -1 : 1);
  if (last) x = add_channels_first(node, x);
  const ValueId y = add_integer_conv(node, x, read_weights(node, 3, 5), 8);
  const Shape shape = node.shape_of(y);
  const QuantizationParameter x_scale =
      read_parameter(node, 1, "scale of the input", shape, {1, 2}, 1);
  const QuantizationParameter w_scale =
      read_parameter(node, 4, "scale of the weights", shape, {4, 5}, 1);
  const ValueId codes = add_requantized(node, y, x_scale, w_scale, 6);
  node.emit(last ? add_channels_last(node, codes) : codes);
}

void import_matmul_integer(NodeImport& node) {
  need_matrices(node, 0, 1);
  const ValueId a = add_shifted(node, 0, 2, row_axis(node.input_shape(0)), true);
  const ValueId b = add_shifted(node, 1, 3, column_axis(node.input_shape(1)), true);
  const ValueId y = node.add(MatMul{}, {a, b});
  node.set_output_type(TensorProto::INT32);
  node.emit(y);
}

// The product of what the codes of A and B stand for, plus a bias. The scale of A may be computed.
void import_matmul_integer_to_float(NodeImport& node) {
  need_matrices(node, 0, 1);
  const Shape b_shape = node.input_shape(1);
  const std::int64_t rows = row_axis(node.input_shape(0)), columns = column_axis(b_shape);
  const ValueId a = add_shifted(node, 0, 4, rows);
  need_type_of_zero_point(node, 1, 5);
  const QuantizationParameter b_scale =
      read_parameter(node, 3, "scale of B", b_shape, {3, 5, columns}, 1);
  const QuantizationParameter b_zero =
      read_parameter(node, 5, "zero point of B", b_shape, {3, 5, columns}, 0);
  const ValueId b = add_dequantized(node, node.input(1), &b_scale, b_zero);
  node.set_output_type(TensorProto::FLOAT);
  ValueId y = node.add(MatMul{}, {a, b});
  const Shape shape = node.shape_of(y);
  if (node.constant_if_any(2) != nullptr) {
    const QuantizationParameter scale =
        read_parameter(node, 2, "scale of A", shape, {2, 4, row_axis(shape)}, 1);
    ConstantBuilder factor(shape);
    for (std::size_t i = 0; i < factor.size(); ++i) factor.set(i, scale.at(i));
    y = add_scale(node, y, std::move(factor).finish(node.origin()), filled(shape, 0));
  } else {
    if (element_count(node.input_shape(2)) != 1)
      fail("BF1018", "", "the scales of A are computed and several",
           "quantise A with one scale, or statically");
    y = add_binary(node, Binary::Kind::kMul, y, add_scalar(node, 2));
  }
  if (node.has_input(6))
    y = add_binary(node, Binary::Kind::kAdd, y, add_broadcast(node, node.input(6), shape));
  node.emit(y);
}

void import_qlinear_matmul(NodeImport& node) {
  need_matrices(node, 0, 3);
  const ValueId a = add_shifted(node, 0, 2, row_axis(node.input_shape(0)), true);
  const ValueId b = add_shifted(node, 3, 5, column_axis(node.input_shape(3)), true);
  const ValueId y = node.add(MatMul{}, {a, b});
  const Shape shape = node.shape_of(y);
  const QuantizationParameter a_scale =
      read_parameter(node, 1, "scale of A", shape, {1, 2, row_axis(shape), 0, true}, 1);
  const QuantizationParameter b_scale =
      read_parameter(node, 4, "scale of B", shape, {4, 5, column_axis(shape), 0, true}, 1);
  node.emit(add_requantized(node, y, a_scale, b_scale, 6));
}

void import_dynamic_quantize_linear(NodeImport& node) {
  const DynamicQuantized made = add_dynamic_quantized(node, node.input(0));
  node.set_output_type(TensorProto::FLOAT);
  if (node.has_output(1)) node.emit(1, made.scale);
  node.set_output_type(TensorProto::UINT8);
  if (node.has_output(2)) node.emit(2, made.zero_point);
  node.emit(made.codes);
}

}  // namespace

OperatorRows quantize_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"ConvInteger",
       import_conv_integer,
       2,
       4,
       1,
       {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}},
      {"DequantizeLinear",
       import_dequantize_linear,
       2,
       3,
       1,
       {"axis", "block_size", "output_dtype"}},
      {"DynamicQuantizeLinear", import_dynamic_quantize_linear, 1, 1, 3, {}},
      {"MatMulInteger", import_matmul_integer, 2, 4, 1, {}},
      {"QLinearConv",
       import_qlinear_conv,
       8,
       9,
       1,
       {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}},
      {"QLinearMatMul", import_qlinear_matmul, 8, 8, 1, {}},
      {"QuantizeLinear",
       import_quantize_linear,
       2,
       3,
       1,
       {"axis", "block_size", "output_dtype", "precision", "saturate"}},
      {"DequantizeLinear", import_dequantize_linear, 2, 3, 1, {"axis", "block_size"}, kMicrosoft},
      {"MatMulIntegerToFloat", import_matmul_integer_to_float, 4, 7, 1, {}, kMicrosoft},
      {"QLinearConv",
       import_qlinear_conv,
       8,
       9,
       1,
       {"auto_pad", "channels_last", "dilations", "group", "kernel_shape", "pads", "strides"},
       kMicrosoft},
      {"QuantizeLinear", import_quantize_linear, 2, 3, 1, {"axis", "block_size"}, kMicrosoft},
      {"BipolarQuant", import_bipolar_quant, 2, 2, 1, {}, kQonnx},
      {"Quant", import_quant, 4, 4, 1, {"narrow", "rounding_mode", "signed"}, kQonnx},
  };
  return kRows;
}

}  // namespace bf_aot
