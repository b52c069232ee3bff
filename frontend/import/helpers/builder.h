#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "frontend/import/file/node_import.h"
#include "frontend/numbers/exact_arithmetic.h"

// Core nodes for importers: each function adds one or a few nodes with the ONNX node's origin and
// returns the value made. Results may have any shape of as many elements (`shape`); where none is
// given it is that of x.

namespace bf_aot {

ValueId add_constant(NodeImport& node, Constant value);
ValueId add_constant(NodeImport& node, double scalar);

ValueId add_unary(NodeImport& node, ValueId x, Function function);
ValueId add_relu(NodeImport& node, ValueId x);

// ONNX broadcasting.
ValueId add_binary(NodeImport& node, Binary::Kind kind, ValueId a, ValueId b);

// factor x + offset, the same for all elements.
ValueId add_scale(NodeImport& node, ValueId x, double factor, double offset);
// Elementwise; as many elements as x.
ValueId add_scale(NodeImport& node, ValueId x, Constant factor, Constant offset);

// Gives x another shape with the same elements in order; returns x itself if it has that shape.
ValueId add_reshape(NodeImport& node, ValueId x, const Shape& shape);

// y_i = x_{source_i}; make_source() is called after the limits were checked.
template <typename MakeSource>
ValueId add_index_map(NodeImport& node, ValueId x, const Shape& shape,
                      const MakeSource& make_source) {
  node.reader().charge(shape, "");
  return node.add(IndexMap{make_source()}, {x}, shape);
}

// x repeated to `shape` by ONNX broadcasting.
ValueId add_broadcast(NodeImport& node, ValueId x, const Shape& shape);

// The dimensions of x in another order, as Transpose has it.
ValueId add_transposed(NodeImport& node, ValueId x, const std::vector<std::int64_t>& perm);

// Rows of a SparseAffine or GroupMax, one after the other. Entries count against the limits.
class RowBuilder {
 public:
  explicit RowBuilder(NodeImport& node) : node_(node) {}

  // Begins the next row.
  void begin(Bounded bias = {0, 0});
  // Adds value * x_column to the row; entries of the same column are added up.
  void add(std::int64_t column, Bounded value = {1, 0});

  std::int64_t rows() const { return static_cast<std::int64_t>(starts_.size()); }

  // The rows as sums, or as maxima of the elements added (whose values do not count).
  ValueId finish_sums(ValueId x, const Shape& shape) &&;
  ValueId finish_maxima(ValueId x, const Shape& shape) &&;

 private:
  std::vector<std::int64_t> row_start() const;
  void count_one();
  void charge();

  NodeImport& node_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> columns_;
  std::vector<Bounded> values_;
  std::vector<Bounded> biases_;
  std::int64_t uncounted_ = 0;  // rows and entries since the last charge
};

// All elements of the parts, one tensor after the other, as a vector.
ValueId add_concat(NodeImport& node, const std::vector<ValueId>& parts);

// The elementwise maximum, minimum of tensors of equal shape; of a value and a number.
ValueId add_max(NodeImport& node, const std::vector<ValueId>& tensors);
ValueId add_min(NodeImport& node, const std::vector<ValueId>& tensors);
ValueId add_clip(NodeImport& node, ValueId x, double low, double high);

// Rounds towards zero; x itself when it is of integer type already is up to the caller.
ValueId add_trunc(NodeImport& node, ValueId x);

}  // namespace bf_aot
