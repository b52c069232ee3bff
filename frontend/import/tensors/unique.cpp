#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/winners.h"
#include "frontend/import/operators/operators.h"

// Unique of constants. Of computed tensors the inputs decide the shape of the result.

namespace bf_aot {
namespace {

// Which parts are alike: for each kind the first part of it, and for each part its kind.
struct Kinds {
  std::vector<std::int64_t> first, kind, count;
};

// Sorted by their elements, or in the order in which they come.
Kinds find_kinds(const std::vector<std::vector<double>>& parts, bool sorted) {
  std::map<std::vector<double>, std::size_t> found;  // by number of the kind, as they come
  Kinds all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [place, is_new] = found.emplace(parts[i], all.first.size());
    if (is_new) {
      all.first.push_back(static_cast<std::int64_t>(i));
      all.count.push_back(0);
    }
    all.kind.push_back(static_cast<std::int64_t>(place->second));
    ++all.count[place->second];
  }
  if (!sorted) return all;
  Kinds in_order = all;
  std::vector<std::int64_t> rank(found.size());
  std::size_t k = 0;
  for (const auto& [part, kind] : found) {
    rank[kind] = static_cast<std::int64_t>(k);
    in_order.first[k] = all.first[kind];
    in_order.count[k++] = all.count[kind];
  }
  for (std::int64_t& each : in_order.kind) each = rank[static_cast<std::size_t>(each)];
  return in_order;
}

void import_unique(NodeImport& node) {
  const Constant data = node.constant(0, "input");
  if (!data.is_exact())
    fail("BF1025", "", "its input is a constant that is not known exactly",
         "store the constant in the model");
  const Shape shape = node.has_attribute("axis") ? data.shape : Shape{element_count(data.shape)};
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  const Rows parts_of = rows_along(shape, axis);
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(parts_of.length));
  for (std::int64_t i = 0; i < parts_of.length; ++i)
    for (std::int64_t row = 0; row < parts_of.rows(); ++row)
      parts[static_cast<std::size_t>(i)].push_back(
          data.data[static_cast<std::size_t>(parts_of.at(row, i))]);
  const Kinds kinds = find_kinds(parts, node.flag("sorted", true));
  Shape result = shape;
  result[axis] = static_cast<std::int64_t>(kinds.first.size());
  const Rows to = rows_along(result, axis);
  std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(result)));
  for (std::int64_t i = 0; i < to.length; ++i)
    for (std::int64_t row = 0; row < to.rows(); ++row)
      source[static_cast<std::size_t>(to.at(row, i))] =
          parts_of.at(row, kinds.first[static_cast<std::size_t>(i)]);
  node.reader().charge(result, "");
  emit_selection(node, {0}, source, result);
  const std::vector<std::int64_t>* const others[] = {&kinds.first, &kinds.kind, &kinds.count};
  for (std::size_t i = 0; i < 3; ++i)
    if (node.has_output(i + 1))
      node.emit(i + 1, IntegerTensor{{static_cast<std::int64_t>(others[i]->size())},
                                     *others[i],
                                     onnx::TensorProto::INT64});
}

}  // namespace

OperatorRows unique_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Unique", import_unique, 1, 1, 4, {"axis", "sorted"}},
  };
  return kRows;
}

}  // namespace bf_aot
