#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// A copy of input 0 with the elements of another input written to places known at import.

namespace bf_aot {
namespace {

// targets[i]: where element i of the updates goes.
using Targets = std::vector<std::int64_t>;

// The updates that each element of the data gets, in order.
std::vector<std::vector<std::int64_t>> updates_by_target(const Targets& targets,
                                                         std::int64_t count) {
  std::vector<std::vector<std::int64_t>> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < targets.size(); ++i)
    result[static_cast<std::size_t>(targets[i])].push_back(static_cast<std::int64_t>(i));
  return result;
}

void emit_replaced(NodeImport& node, const Targets& targets, const Shape& shape) {
  std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape)));
  std::iota(source.begin(), source.end(), 0);
  const std::int64_t begin = element_count(shape);
  for (std::size_t i = 0; i < targets.size(); ++i)  // of several writers the last one counts
    source[static_cast<std::size_t>(targets[i])] = begin + static_cast<std::int64_t>(i);
  emit_selection(node, {0, 2}, source, shape);
}

ValueId add_sums(NodeImport& node, const Targets& targets, const Shape& shape) {
  RowBuilder rows(node);
  for (const auto& updates : updates_by_target(targets, element_count(shape))) {
    rows.begin();
    for (std::int64_t i : updates) rows.add(i);
  }
  const ValueId sums = std::move(rows).finish_sums(node.input(2), shape);
  return add_binary(node, Binary::Kind::kAdd, node.input(0), sums);
}

// Round r multiplies by the r-th update of each element, or by 1.
ValueId add_products(NodeImport& node, const Targets& targets, const Shape& shape) {
  const auto by_target = updates_by_target(targets, element_count(shape));
  std::size_t rounds = 0;
  for (const auto& updates : by_target) rounds = std::max(rounds, updates.size());
  check_work(node, static_cast<std::int64_t>(rounds), element_count(shape));
  ValueId result = node.input(0);
  for (std::size_t round = 0; round < rounds; ++round) {
    RowBuilder rows(node);
    for (const auto& updates : by_target) {
      const bool has = round < updates.size();
      rows.begin({has ? 0.0 : 1.0, 0});
      if (has) rows.add(updates[round]);
    }
    const ValueId factors = std::move(rows).finish_sums(node.input(2), shape);
    result = add_binary(node, Binary::Kind::kMul, result, factors);
  }
  return result;
}

// min(a, b) = -max(-a, -b): `sign` is -1 for minima.
ValueId add_extrema(NodeImport& node, const Targets& targets, const Shape& shape, double sign) {
  const std::int64_t count = element_count(shape);
  const ValueId all = add_concat(node, {node.input(0), node.input(2)});
  const ValueId signed_all = sign == 1 ? all : add_scale(node, all, sign, 0);
  RowBuilder rows(node);
  std::int64_t i = 0;
  for (const auto& updates : updates_by_target(targets, count)) {
    rows.begin();
    rows.add(i++);
    for (std::int64_t update : updates) rows.add(count + update);
  }
  const ValueId result = std::move(rows).finish_maxima(signed_all, shape);
  return sign == 1 ? result : add_scale(node, result, sign, 0);
}

void emit_scattered(NodeImport& node, const Targets& targets, const Shape& shape) {
  const std::string reduction = node.string_attribute("reduction", "none");
  if (reduction == "none") {
    emit_replaced(node, targets, shape);
  } else if (reduction == "add") {
    node.emit(add_sums(node, targets, shape));
  } else if (reduction == "mul") {
    node.emit(add_products(node, targets, shape));
  } else if (reduction == "max" || reduction == "min") {
    node.emit(add_extrema(node, targets, shape, reduction == "max" ? 1 : -1));
  } else {
    fail("BF1012", "",
         fmt::format("attribute 'reduction' is '{}', not none, add, mul, max or min",
                     printable(reduction)));
  }
}

void import_scatter_elements(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  const IntegerTensor indices = node.integers(1, "indices");
  if (indices.shape.size() != shape.size() || node.input_shape(2) != indices.shape)
    fail("BF1014", "",
         fmt::format("indices of shape {} and updates of {} into {}", to_string(indices.shape),
                     to_string(node.input_shape(2)), to_string(shape)));
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  Targets targets;
  for_each_index(indices.shape, [&](const std::vector<std::int64_t>& index, std::int64_t flat) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t at = d == axis ? indices.data[static_cast<std::size_t>(flat)] : index[d];
      to += checked_index(at, shape[d]) * strides[d];
    }
    targets.push_back(to);
  });
  emit_scattered(node, targets, shape);
}

void import_scatter_nd(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const IntegerTensor indices = node.integers(1, "indices");
  const std::int64_t depth = indices.shape.empty() ? 0 : indices.shape.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(shape.size()))
    fail("BF1014", "",
         fmt::format("indices of shape {} into {}", to_string(indices.shape), to_string(shape)));
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  expected.insert(expected.end(), shape.begin() + depth, shape.end());
  if (node.input_shape(2) != expected)
    fail("BF1014", "",
         fmt::format("updates have shape {}, not {}", to_string(node.input_shape(2)),
                     to_string(expected)));
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const std::int64_t inner = element_count(Shape(shape.begin() + depth, shape.end()));
  Targets targets;
  for (std::size_t row = 0; row < indices.data.size(); row += static_cast<std::size_t>(depth)) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(depth); ++d)
      to += checked_index(indices.data[row + d], shape[d]) * strides[d];
    for (std::int64_t i = 0; i < inner; ++i) targets.push_back(to + i);
  }
  emit_scattered(node, targets, shape);
}

// Rows of the cache from the index of each sample on, along an axis; 0 where no index is given.
void import_tensor_scatter(NodeImport& node) {
  constexpr std::size_t kIndices = 2;
  const Shape shape = node.input_shape(0), update = node.input_shape(1);
  const std::size_t axis = checked_axis(node.int_attribute("axis", -2), shape.size());
  const std::string mode = node.string_attribute("mode", "linear");
  if (mode != "linear" && mode != "circular")
    fail("BF1012", "",
         fmt::format("attribute 'mode' is '{}', not linear or circular", printable(mode)));
  if (axis == 0) fail("BF1012", "", "attribute 'axis' names the samples");
  Shape expected = shape;
  if (update.size() == shape.size()) expected[axis] = update[axis];
  if (update != expected || update[axis] > shape[axis])
    fail("BF1014", "",
         fmt::format("an update of shape {} for a cache of {}", to_string(update),
                     to_string(shape)));
  std::vector<std::int64_t> first(static_cast<std::size_t>(shape[0]), 0);
  if (node.has_input(kIndices)) first = node.list(kIndices, "write_indices");
  if (static_cast<std::int64_t>(first.size()) != shape[0])
    fail("BF1014", "", fmt::format("{} write_indices for {} samples", first.size(), shape[0]));
  for (const std::int64_t each : first)
    if (each < 0 || each >= shape[axis] || (mode == "linear" && each > shape[axis] - update[axis]))
      fail("BF1014", "",
           fmt::format("{} rows from row {} on of a cache of {}", update[axis], each, shape[axis]));
  std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape)));
  std::iota(source.begin(), source.end(), 0);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  for_each_index(update, [&](const std::vector<std::int64_t>& index, std::int64_t flat) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t begin = d == axis ? first[static_cast<std::size_t>(index[0])] : 0;
      to += (begin + index[d]) % shape[d] * strides[d];
    }
    source[static_cast<std::size_t>(to)] = element_count(shape) + flat;
  });
  emit_selection(node, {0, 1}, source, shape);
}

}  // namespace

OperatorRows scatter_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Scatter", import_scatter_elements, 3, 3, 1, {"axis"}},
      {"ScatterElements", import_scatter_elements, 3, 3, 1, {"axis", "reduction"}},
      {"ScatterND", import_scatter_nd, 3, 3, 1, {"reduction"}},
      {"TensorScatter", import_tensor_scatter, 2, 3, 1, {"axis", "mode"}},
  };
  return kRows;
}

}  // namespace bf_aot
