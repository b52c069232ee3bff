#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "frontend/import/helpers/builder.h"

namespace bf_aot {

// The scale or zero point of a quantised tensor.
struct QuantizationParameter {
  Constant values;
  std::vector<std::int64_t> source;  // for each element of the tensor the index into values

  Bounded at(std::size_t element) const {
    const auto i = static_cast<std::size_t>(source[element]);
    return {values.data[i], values.error_at(i)};
  }
};

// The inputs of an operator that quantise one of its tensors, and how they apply to it.
struct QuantizationInputs {
  std::size_t scale;
  std::size_t zero_point;
  std::int64_t axis = 1;        // of parameters with one dimension
  std::int64_t block_size = 0;  // 0: not in blocks
  bool stacked = false;         // parameters may also be a tensor that is repeated to the shape
};

// The parameter in input `i` for a tensor of this shape: a scalar, one number along the axis, one
// per block of the axis or, of a stack of matrices, one per row or column of each. Where the input
// is left out every value is `otherwise`. Throws: BF1012, BF1014, BF1018.
QuantizationParameter read_parameter(NodeImport& node, std::size_t i, std::string_view role,
                                     const Shape& shape, const QuantizationInputs& inputs,
                                     double otherwise);

// (x - zero point) scale; `scaled` false leaves the factor out.
ValueId add_dequantized(NodeImport& node, ValueId x, const QuantizationParameter* scale,
                        const QuantizationParameter& zero_point);

// clip(round_half_even(x / scale) + zero point) to the range of `type`.
// Throws: BF1026 when there are too many scales or one is not positive and exact.
ValueId add_quantized(NodeImport& node, ValueId x, const QuantizationParameter& scale,
                      const QuantizationParameter& zero_point, ElementType type);

// add_quantized() by the scale in input `scale` and the zero point in the next one, whose type the
// output has. Throws: as both functions.
ValueId add_on_output_grid(NodeImport& node, ValueId x, std::size_t scale);

// The real numbers of x's codes: clip(round_half_even(x / scale) + zero point) to [low, high], less
// the zero point, times scale. Throws: BF1026 as add_quantized.
ValueId add_fake_quantized(NodeImport& node, ValueId x, const QuantizationParameter& scale,
                           const QuantizationParameter& zero_point, double low, double high);

// x on a grid of 256 steps that its own numbers choose:
//   scale = (max(x, 0) - min(x, 0)) / 255, zero point = clip(round(-min / scale)),
//   codes = clip(round(x / scale) + zero point), to 0..255. Scale and zero point are scalars.
struct DynamicQuantized {
  ValueId codes, scale, zero_point;
};
DynamicQuantized add_dynamic_quantized(NodeImport& node, ValueId x);

// A number of a grid of step 1 to its code, whose limits are met behind a computed zero point.
ValueId add_rounded(NodeImport& node, ValueId x);

// The type of a zero point input: where it is left out uint8. Throws: BF1022.
ElementType quantized_type(const NodeImport& node, std::size_t zero_point);

}  // namespace bf_aot
