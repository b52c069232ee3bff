#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/import/file/node_import.h"
#include "frontend/numbers/exact_arithmetic.h"

// Helpers that importers of several families of operators share.

namespace bf_aot {

// The number that all elements are exactly; nullopt: there is none, or no constant.
std::optional<double> uniform_value(const Constant* constant);

// The axis counted from the front. Throws: BF1014 when out of range.
std::size_t checked_axis(std::int64_t axis, std::size_t rank);
// An index counted from the front. Throws: BF1014.
std::int64_t checked_index(std::int64_t index, std::int64_t dim);

// The axes of a reduction, Squeeze or Unsqueeze: an attribute in old operator sets, input 1 in new
// ones. nullopt: not given. Throws: BF1012 when both are, BF1014, BF1018.
std::optional<std::vector<std::int64_t>> read_axes(const NodeImport& node);

// Refuses an operator whose expansion would have a * b > 2^24 entries. Throws: BF1026.
void check_work(const NodeImport& node, std::int64_t a, std::int64_t b);

// y_i = (all elements of the parts, one tensor after the other)_{source_i}: data movement out of
// several tensors.
ValueId add_selection(NodeImport& node, const std::vector<ValueId>& parts,
                      const std::vector<std::int64_t>& source, const Shape& shape);

// Selects elements of several inputs of the ONNX node, and makes its output number `output` of
// them. Integers known at import stay exact.
void emit_selection(NodeImport& node, const std::vector<std::size_t>& inputs,
                    const std::vector<std::int64_t>& source, const Shape& shape,
                    std::size_t output = 0);

// 1 / sqrt(width), for width > 0.
Bounded one_over_root(std::int64_t width);

// factor x, the same for all elements.
ValueId add_multiple(NodeImport& node, ValueId x, const Bounded& factor);

// The function that attribute 'activation' of a fused operator names, of x; x itself where there is
// none. Its parameters are in 'activation_params', in the order of its operator's attributes, or in
// 'activation_NAME'. Throws: BF1012, BF1026.
ValueId add_activation(NodeImport& node, ValueId x);

// Calls visit(index, flat) for all indices of a shape in row-major order.
template <typename Visit>
void for_each_index(const Shape& shape, Visit visit) {
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t flat = 0; flat < element_count(shape); ++flat) {
    visit(static_cast<const std::vector<std::int64_t>&>(index), flat);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace bf_aot
