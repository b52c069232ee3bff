#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/graph/index_maps.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/quantization.h"
#include "frontend/import/helpers/winners.h"
#include "frontend/import/operators/operators.h"

// Operators that ask which element is the largest. Each element is compared with all others of its
// row, so that the result is bounded by what may win.

namespace bf_aot {

Rows rows_along(const Shape& shape, std::size_t axis) {
  Rows result;
  for (std::size_t d = 0; d < shape.size(); ++d)
    (d < axis ? result.outer : d == axis ? result.length : result.inner) *= shape[d];
  return result;
}

void check_comparisons(const NodeImport& node, const Rows& rows) {
  constexpr std::int64_t kMostInRow = std::int64_t{1} << 16;
  check_work(node, rows.rows(),
             std::min(rows.length, kMostInRow) * std::min(rows.length, kMostInRow));
}

// With u = (d >= 0), d = x_i - x_j: x_i >= x_j is u, and x_i > x_j is 1 - (-d >= 0), so that
// one step function serves both.
ValueId add_wins(NodeImport& node, ValueId x, const Rows& rows, bool last_wins, double sign) {
  const std::int64_t n = rows.length;
  RowBuilder differences(node);
  std::vector<double> factor, offset;
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        if (j == i) continue;
        const bool wins_ties = last_wins ? j < i : j > i;
        const double direction = wins_ties ? sign : -sign;
        differences.begin();
        differences.add(rows.at(row, i), {direction, 0});
        differences.add(rows.at(row, j), {-direction, 0});
        factor.push_back(wins_ties ? 1 : -1);
        offset.push_back(wins_ties ? 0 : 1);
      }
  const Shape shape = {static_cast<std::int64_t>(factor.size())};
  const ValueId steps =
      add_unary(node, std::move(differences).finish_sums(x, shape), {FunctionKind::kStepAt});
  return add_scale(node, steps, Constant{shape, std::move(factor), {}},
                   Constant{shape, std::move(offset), {}});
}

ValueId add_winner(NodeImport& node, ValueId x, const Rows& rows, bool last_wins, double sign) {
  const std::int64_t n = rows.length;
  const Shape shape = {rows.rows(), n};
  if (n == 1) return add_scale(node, add_reshape(node, x, shape), 0, 1);
  const ValueId wins = add_wins(node, x, rows, last_wins, sign);
  RowBuilder least(node);
  for (std::int64_t i = 0; i < rows.rows() * n; ++i) {
    least.begin();
    for (std::int64_t j = 0; j < n - 1; ++j) least.add(i * (n - 1) + j);
  }
  const ValueId losses = std::move(least).finish_maxima(add_scale(node, wins, -1, 0), shape);
  return add_scale(node, losses, -1, 0);
}

namespace {

using onnx::TensorProto;

// The winner's index: the largest i w_i, for one w_i is 1.
void import_arg(NodeImport& node, double sign) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  const bool last_wins = node.flag("select_last_index", false);
  const Rows rows = rows_along(shape, axis);
  check_comparisons(node, rows);
  Shape result = shape;
  result[axis] = 1;
  if (!node.flag("keepdims", true))
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  node.set_output_type(TensorProto::INT64);
  if (rows.length == 2) {  // the index is 1 where the second element wins, else 0
    const ValueId wins = add_wins(node, node.input(0), rows, last_wins, sign);
    return node.emit(add_index_map(node, wins, result, [&] {
      std::vector<std::int64_t> second(static_cast<std::size_t>(rows.rows()));
      for (std::size_t row = 0; row < second.size(); ++row)
        second[row] = 2 * static_cast<std::int64_t>(row) + 1;
      return second;
    }));
  }
  const ValueId winner = add_winner(node, node.input(0), rows, last_wins, sign);
  const Shape all = {rows.rows(), rows.length};
  Constant index{all, {}, {}};
  for (std::int64_t i = 0; i < rows.rows() * rows.length; ++i)
    index.data.push_back(static_cast<double>(i % rows.length));
  const ValueId scaled = add_scale(
      node, winner, std::move(index),
      Constant{
          all, std::vector<double>(static_cast<std::size_t>(rows.rows() * rows.length), 0.0), {}});
  RowBuilder largest(node);
  for (std::int64_t i = 0; i < rows.rows() * rows.length; ++i) {
    if (i % rows.length == 0) largest.begin();
    largest.add(i);
  }
  node.emit(std::move(largest).finish_maxima(scaled, result));
}

// Elements [row][i] back to where rows.at says.
std::vector<std::int64_t> back_to_places(const Rows& rows) {
  std::vector<std::int64_t> source(static_cast<std::size_t>(rows.rows() * rows.length));
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t i = 0; i < rows.length; ++i)
      source[static_cast<std::size_t>(rows.at(row, i))] = row * rows.length + i;
  return source;
}

// The single number that `depth` holds, whatever its type and shape.
std::int64_t read_depth(NodeImport& node) {
  constexpr double kMost = 0x1p31;
  const double depth = node.number(1, "depth");
  if (!(depth >= 1 && depth <= kMost)) fail("BF1014", "", fmt::format("a depth of {}", depth));
  return static_cast<std::int64_t>(depth);
}

void import_arg_max(NodeImport& node) {
  import_arg(node, 1);
}

void import_arg_min(NodeImport& node) {
  import_arg(node, -1);
}

// 1 for the first largest element of each row, 0 for the others. Rows are along the axis; before
// opset 13 they are all dimensions from the axis on.
void import_hardmax(NodeImport& node) {
  constexpr std::int64_t kRowsAreOneAxis = 13;
  const Shape shape = node.input_shape(0);
  const bool one_axis = node.opset() >= kRowsAreOneAxis;
  const std::size_t axis =
      checked_axis(node.int_attribute("axis", one_axis ? -1 : 1), shape.size());
  Rows rows = rows_along(shape, axis);
  if (!one_axis) rows = {rows.outer, rows.length * rows.inner, 1};
  check_comparisons(node, rows);
  const ValueId winner = add_winner(node, node.input(0), rows, false, 1);
  node.emit(add_index_map(node, winner, shape, [&] { return back_to_places(rows); }));
}

// off + (on - off) [index == j] for j = 0 .. depth - 1 along a new axis; negative indices count
// from the end, those out of range match nothing.
void import_one_hot(NodeImport& node) {
  const Shape indices = node.input_shape(0);
  const std::int64_t depth = read_depth(node);
  const std::size_t axis = checked_axis(node.int_attribute("axis", -1), indices.size() + 1);
  if (node.input_shape(2) != Shape{2})
    fail("BF1014", "",
         fmt::format("values have shape {}, not [2]", to_string(node.input_shape(2))));
  Shape shape = indices;
  check_work(node, element_count(indices), depth);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  node.set_output_type(node.input_type(2));
  node.reader().charge(shape, "");
  Shape repeated = indices;
  repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  // Bounds of a computed index, such as ArgMax makes, are a rounding wide, and are one number again
  // when they are rounded.
  const bool rounds = is_integer_type(node.input_type(0)) && node.constant_if_any(0) == nullptr &&
                      node.integer_input_if_any(0).empty();
  const ValueId index = rounds ? add_rounded(node, node.input(0)) : node.input(0);
  const ValueId all =
      add_index_map(node, index, shape, [&] { return broadcast_map(repeated, shape); });
  const std::int64_t stride = row_major_strides(shape)[axis];
  Constant ones{
      shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 1.0), {}};
  Constant front = ones, back = ones;
  for (std::size_t i = 0; i < front.data.size(); ++i) {
    const std::int64_t j = static_cast<std::int64_t>(i) / stride % depth;
    front.data[i] = static_cast<double>(-j);
    back.data[i] = static_cast<double>(depth - j);
  }
  const ValueId from_front =
      add_unary(node, add_scale(node, all, ones, std::move(front)), {FunctionKind::kIsZero});
  const ValueId from_back = add_unary(node, add_scale(node, all, std::move(ones), std::move(back)),
                                      {FunctionKind::kIsZero});
  const ValueId hot = add_binary(node, Binary::Kind::kAdd, from_front, from_back);
  const ValueId values = node.input(2);
  const ValueId off = add_index_map(node, values, {1}, [] { return std::vector<std::int64_t>{0}; });
  const ValueId on = add_index_map(node, values, {1}, [] { return std::vector<std::int64_t>{1}; });
  const ValueId distance = add_binary(node, Binary::Kind::kSub, on, off);
  const ValueId product = add_binary(node, Binary::Kind::kMul, hot, distance);
  node.emit(Binary{Binary::Kind::kAdd}, {product, off});
}

}  // namespace

OperatorRows select_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"ArgMax", import_arg_max, 1, 1, 1, {"axis", "keepdims", "select_last_index"}},
      {"ArgMin", import_arg_min, 1, 1, 1, {"axis", "keepdims", "select_last_index"}},
      {"Hardmax", import_hardmax, 1, 1, 1, {"axis"}},
      {"OneHot", import_one_hot, 3, 3, 1, {"axis"}},
  };
  return kRows;
}

}  // namespace bf_aot
