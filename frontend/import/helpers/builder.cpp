#include "frontend/import/helpers/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/index_maps.h"
#include "frontend/graph/shapes.h"

namespace bf_aot {

ValueId add_constant(NodeImport& node, Constant value) {
  const Shape shape = value.shape;
  return node.add(Literal{std::move(value)}, {}, shape);
}

ValueId add_constant(NodeImport& node, double scalar) {
  return add_constant(node, Constant{{}, {scalar}, {}});
}

ValueId add_unary(NodeImport& node, ValueId x, Function function) {
  return node.add(Unary{function}, {x});
}

ValueId add_relu(NodeImport& node, ValueId x) {
  return node.add(Relu{}, {x});
}

ValueId add_binary(NodeImport& node, Binary::Kind kind, ValueId a, ValueId b) {
  return node.add(Binary{kind}, {a, b});
}

ValueId add_scale(NodeImport& node, ValueId x, double factor, double offset) {
  const Shape shape = node.shape_of(x);
  return add_scale(node, x, filled(shape, factor), filled(shape, offset));
}

ValueId add_scale(NodeImport& node, ValueId x, Constant factor, Constant offset) {
  return node.add(Scale{std::move(factor), std::move(offset)}, {x});
}

ValueId add_reshape(NodeImport& node, ValueId x, const Shape& shape) {
  if (node.shape_of(x) == shape) return x;
  return add_index_map(node, x, shape, [&] {
    std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape)));
    std::iota(source.begin(), source.end(), 0);
    return source;
  });
}

ValueId add_broadcast(NodeImport& node, ValueId x, const Shape& shape) {
  const Shape from = node.shape_of(x);
  if (from == shape) return x;
  if (!broadcasts_to(from, shape))
    fail("BF1014", "",
         fmt::format("shape {} does not broadcast to {}", to_string(from), to_string(shape)));
  return add_index_map(node, x, shape, [&] { return broadcast_map(from, shape); });
}

ValueId add_transposed(NodeImport& node, ValueId x, const std::vector<std::int64_t>& perm) {
  const Shape from = node.shape_of(x);
  return add_index_map(node, x, transpose_shape(from, perm),
                       [&] { return transpose_source(from, perm); });
}

void RowBuilder::begin(Bounded bias) {
  starts_.push_back(static_cast<std::int64_t>(columns_.size()));
  biases_.push_back(bias);
  count_one();
}

void RowBuilder::add(std::int64_t column, Bounded value) {
  columns_.push_back(column);
  values_.push_back(value);
  count_one();
}

// Counted in blocks, because every operator with windows comes through here for each element.
void RowBuilder::count_one() {
  constexpr std::int64_t kBlock = 4096;
  if (++uncounted_ == kBlock) charge();
}

// A row or entry takes as much as three elements of a constant.
void RowBuilder::charge() {
  constexpr std::int64_t kElements = 3;
  node_.reader().charge({kElements * uncounted_}, "");
  uncounted_ = 0;
}

std::vector<std::int64_t> RowBuilder::row_start() const {
  std::vector<std::int64_t> result = starts_;
  result.push_back(static_cast<std::int64_t>(columns_.size()));
  return result;
}

ValueId RowBuilder::finish_sums(ValueId x, const Shape& shape) && {
  charge();
  const std::vector<std::int64_t> start = row_start();
  SparseAffine op;
  op.row_start = {0};
  std::vector<Bounded> values;
  std::vector<std::size_t> order;
  for (std::size_t row = 0; row + 1 < start.size(); ++row) {
    order.resize(static_cast<std::size_t>(start[row + 1] - start[row]));
    std::iota(order.begin(), order.end(), static_cast<std::size_t>(start[row]));
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return columns_[a] < columns_[b]; });
    for (std::size_t i = 0; i < order.size();) {
      const std::int64_t column = columns_[order[i]];
      Sum sum;
      for (; i < order.size() && columns_[order[i]] == column; ++i) sum.add(values_[order[i]]);
      op.column.push_back(column);
      values.push_back(sum.result());
    }
    op.row_start.push_back(static_cast<std::int64_t>(op.column.size()));
  }
  ConstantBuilder value({static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) value.set(i, values[i]);
  op.value = std::move(value).finish(node_.origin());
  ConstantBuilder bias({rows()});
  for (std::size_t i = 0; i < biases_.size(); ++i) bias.set(i, biases_[i]);
  op.bias = std::move(bias).finish(node_.origin());
  return node_.add(std::move(op), {x}, shape);
}

ValueId RowBuilder::finish_maxima(ValueId x, const Shape& shape) && {
  charge();
  GroupMax op{row_start(), std::move(columns_)};
  return node_.add(std::move(op), {x}, shape);
}

ValueId add_concat(NodeImport& node, const std::vector<ValueId>& parts) {
  std::int64_t total = 0;
  for (ValueId part : parts) total += element_count(node.shape_of(part));
  node.reader().check({total}, "");
  std::optional<ValueId> sum;
  std::int64_t offset = 0;
  for (ValueId part : parts) {
    const std::int64_t count = element_count(node.shape_of(part));
    if (count == total) return add_reshape(node, part, {total});
    RowBuilder rows(node);
    for (std::int64_t i = 0; i < total; ++i) {
      rows.begin();
      if (i >= offset && i < offset + count) rows.add(i - offset);
    }
    const ValueId placed = std::move(rows).finish_sums(part, {total});
    sum = sum ? add_binary(node, Binary::Kind::kAdd, *sum, placed) : placed;
    offset += count;
  }
  return *sum;
}

ValueId add_max(NodeImport& node, const std::vector<ValueId>& tensors) {
  if (tensors.size() == 1) return tensors[0];
  const Shape shape = node.shape_of(tensors[0]);
  const std::int64_t count = element_count(shape);
  const ValueId all = add_concat(node, tensors);
  RowBuilder rows(node);
  for (std::int64_t i = 0; i < count; ++i) {
    rows.begin();
    for (std::size_t t = 0; t < tensors.size(); ++t)
      rows.add(i + static_cast<std::int64_t>(t) * count);
  }
  return std::move(rows).finish_maxima(all, shape);
}

// min(a, b) = -max(-a, -b).
ValueId add_min(NodeImport& node, const std::vector<ValueId>& tensors) {
  if (tensors.size() == 1) return tensors[0];
  std::vector<ValueId> negated;
  for (ValueId tensor : tensors) negated.push_back(add_scale(node, tensor, -1, 0));
  return add_scale(node, add_max(node, negated), -1, 0);
}

ValueId add_clip(NodeImport& node, ValueId x, double low, double high) {
  return add_unary(node, x, {FunctionKind::kClip, low, high});
}

// floor(max(x, 0)) + ceil(min(x, 0)).
ValueId add_trunc(NodeImport& node, ValueId x) {
  const ValueId above = add_unary(node, add_relu(node, x), {FunctionKind::kFloor});
  const ValueId below = add_unary(node, add_clip(node, x, -INFINITY, 0), {FunctionKind::kCeil});
  return add_binary(node, Binary::Kind::kAdd, above, below);
}

}  // namespace bf_aot
