#include "frontend/import/helpers/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/index_maps.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/importing.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Parameters in blocks: of the tensor's shape, but for the axis, which is divided by the block.
Shape block_shape(const Shape& shape, std::size_t axis, std::int64_t block) {
  Shape result = shape;
  result[axis] = result[axis] / block + (result[axis] % block != 0 ? 1 : 0);
  return result;
}

std::vector<std::int64_t> parameter_source(const Shape& parameter, const Shape& shape,
                                           const QuantizationInputs& inputs,
                                           std::string_view role) {
  std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape)), 0);
  if (element_count(parameter) == 1) return source;
  if (inputs.stacked && parameter.size() == shape.size() && broadcasts_to(parameter, shape))
    return broadcast_map(parameter, shape);
  const std::size_t axis = checked_axis(inputs.axis, shape.size());
  const bool blocked = inputs.block_size > 0;
  const bool fits = blocked ? parameter == block_shape(shape, axis, inputs.block_size)
                            : parameter == Shape{shape[axis]};
  if (!fits)
    fail("BF1014", "",
         fmt::format("the {} of shape {} does not fit axis {} of a tensor of shape {}", role,
                     to_string(parameter), axis, to_string(shape)));
  const std::vector<std::int64_t> strides = row_major_strides(parameter);
  for_each_index(shape, [&](const std::vector<std::int64_t>& index, std::int64_t flat) {
    std::int64_t from = index[axis];
    if (blocked) {
      from = 0;
      for (std::size_t d = 0; d < shape.size(); ++d)
        from += (d == axis ? index[d] / inputs.block_size : index[d]) * strides[d];
    }
    source[static_cast<std::size_t>(flat)] = from;
  });
  return source;
}

// Elements whose scale and zero point are the same, with these.
using Grids = std::map<std::pair<double, double>, std::vector<std::int64_t>>;

Grids by_grid(const QuantizationParameter& scale, const QuantizationParameter& zero_point) {
  constexpr std::size_t kMostGrids = 4096;
  Grids grids;
  for (std::size_t i = 0; i < scale.source.size(); ++i) {
    const Bounded each = scale.at(i);
    if (each.error != 0 || !(each.value > 0))
      fail("BF1026", "", fmt::format("a scale is {}, not a positive constant", each.value),
           "store the scale as a float constant in the model");
    grids[{each.value, zero_point.at(i).value}].push_back(static_cast<std::int64_t>(i));
  }
  if (grids.size() > kMostGrids)
    fail("BF1026", "",
         fmt::format("{} different pairs of scale and zero point, the limit is {}", grids.size(),
                     kMostGrids));
  return grids;
}

// Codes from low to high less their zero points, each grid by a function of its own.
ValueId add_codes(NodeImport& node, ValueId x, const Grids& grids, double low, double high) {
  const auto function = [&](const std::pair<double, double>& grid) {
    return Function{FunctionKind::kQuantise, grid.first, low - grid.second, high - grid.second};
  };
  const Shape shape = node.shape_of(x);
  if (grids.size() == 1) return add_unary(node, x, function(grids.begin()->first));
  std::vector<ValueId> parts;
  std::vector<std::int64_t> place(static_cast<std::size_t>(element_count(shape)));
  std::int64_t at = 0;
  for (const auto& [grid, elements] : grids) {
    const auto count = static_cast<std::int64_t>(elements.size());
    const ValueId part = add_index_map(node, x, {count}, [&e = elements] { return e; });
    parts.push_back(add_unary(node, part, function(grid)));
    for (std::int64_t element : elements) place[static_cast<std::size_t>(element)] = at++;
  }
  return add_selection(node, parts, place, shape);
}

bool all_zero(const QuantizationParameter& parameter) {
  return std::all_of(parameter.values.data.begin(), parameter.values.data.end(),
                     [](double x) { return x == 0; });
}

}  // namespace

QuantizationParameter read_parameter(NodeImport& node, std::size_t i, std::string_view role,
                                     const Shape& shape, const QuantizationInputs& inputs,
                                     double otherwise) {
  node.reader().charge(shape, "");
  if (inputs.block_size < 0)
    fail("BF1012", "", fmt::format("attribute 'block_size' is {}", inputs.block_size));
  QuantizationParameter result;
  result.values = node.has_input(i) ? node.constant(i, role) : Constant{{}, {otherwise}, {}};
  result.source = parameter_source(result.values.shape, shape, inputs, role);
  return result;
}

ValueId add_dequantized(NodeImport& node, ValueId x, const QuantizationParameter* scale,
                        const QuantizationParameter& zero_point) {
  if (scale == nullptr && all_zero(zero_point)) return x;
  const Shape shape = node.shape_of(x);
  ConstantBuilder factor(shape);
  ConstantBuilder offset(shape);
  for (std::size_t i = 0; i < factor.size(); ++i) {
    const Bounded one = scale != nullptr ? scale->at(i) : Bounded{1, 0};
    factor.set(i, one);
    offset.set(i, negate(multiply(one, zero_point.at(i))));
  }
  return add_scale(node, x, std::move(factor).finish(node.origin()),
                   std::move(offset).finish(node.origin()));
}

ValueId add_quantized(NodeImport& node, ValueId x, const QuantizationParameter& scale,
                      const QuantizationParameter& zero_point, ElementType type) {
  const ValueId y =
      add_codes(node, x, by_grid(scale, zero_point), static_cast<double>(least_of(type)),
                static_cast<double>(largest_of(type)));
  if (all_zero(zero_point)) return y;
  const Shape shape = node.shape_of(y);
  ConstantBuilder offset(shape);
  for (std::size_t i = 0; i < offset.size(); ++i) offset.set(i, zero_point.at(i));
  return add_scale(node, y, filled(shape, 1), std::move(offset).finish(node.origin()));
}

ValueId add_fake_quantized(NodeImport& node, ValueId x, const QuantizationParameter& scale,
                           const QuantizationParameter& zero_point, double low, double high) {
  const ValueId codes = add_codes(node, x, by_grid(scale, zero_point), low, high);
  const Shape shape = node.shape_of(codes);
  ConstantBuilder factor(shape);
  for (std::size_t i = 0; i < factor.size(); ++i) factor.set(i, scale.at(i));
  return add_scale(node, codes, std::move(factor).finish(node.origin()), filled(shape, 0));
}

ElementType quantized_type(const NodeImport& node, std::size_t zero_point) {
  if (!node.has_input(zero_point)) return TensorProto::UINT8;
  const ElementType type = node.input_type(zero_point);
  if (!is_integer_type(type) || type == TensorProto::BOOL)
    fail("BF1022", "", fmt::format("a zero point of {} is not supported", element_type_name(type)),
         "quantise to integers of 8 to 32 bits");
  return type;
}

ValueId add_on_output_grid(NodeImport& node, ValueId x, std::size_t scale) {
  const Shape shape = node.shape_of(x);
  const QuantizationInputs inputs{scale, scale + 1};
  const ElementType type = quantized_type(node, scale + 1);
  const QuantizationParameter step =
      read_parameter(node, scale, "scale of the output", shape, inputs, 1);
  const QuantizationParameter zero =
      read_parameter(node, scale + 1, "zero point of the output", shape, inputs, 0);
  const ValueId y = add_quantized(node, x, step, zero, type);
  node.set_output_type(type);
  return y;
}

ValueId add_rounded(NodeImport& node, ValueId x) {
  return add_unary(node, x, {FunctionKind::kQuantise, 1, -kUnlimited, kUnlimited});
}

DynamicQuantized add_dynamic_quantized(NodeImport& node, ValueId x) {
  constexpr double kSteps = 255;
  const std::int64_t count = element_count(node.shape_of(x));
  const auto range = [&](double sign) {  // max(max(sign x), 0)
    RowBuilder all(node);
    all.begin();
    for (std::int64_t i = 0; i < count; ++i) all.add(i);
    return add_relu(node, std::move(all).finish_maxima(add_scale(node, x, sign, 0), {}));
  };
  const ValueId high = range(1);
  const ValueId low = range(-1);  // -min
  const ValueId span = add_binary(node, Binary::Kind::kAdd, high, low);
  const ValueId scale = add_binary(node, Binary::Kind::kDiv, span, add_constant(node, kSteps));
  const auto rounded = [&](ValueId numerator) {
    return add_rounded(node, add_binary(node, Binary::Kind::kDiv, numerator, scale));
  };
  const ValueId zero = add_clip(node, rounded(low), 0, kSteps);
  const ValueId codes =
      add_clip(node, add_binary(node, Binary::Kind::kAdd, rounded(x), zero), 0, kSteps);
  return {codes, scale, zero};
}

}  // namespace bf_aot
