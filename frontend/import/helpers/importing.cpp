#include "frontend/import/helpers/importing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/import/helpers/builder.h"

namespace bf_aot {
namespace {

// Returns true if all of these inputs are integers known at import.
bool all_integers(const NodeImport& node, const std::vector<std::size_t>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](std::size_t i) { return node.integers_if_any(i) != nullptr; });
}

}  // namespace

std::optional<double> uniform_value(const Constant* constant) {
  if (constant == nullptr || !constant->is_exact() || constant->data.empty()) return std::nullopt;
  const double first = constant->data[0];
  for (double each : constant->data)
    if (each != first) return std::nullopt;
  return first;
}

std::size_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    fail("BF1014", "", fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::optional<std::vector<std::int64_t>> read_axes(const NodeImport& node) {
  if (!node.has_input(1)) return node.ints_attribute("axes");
  if (node.has_attribute("axes")) fail("BF1012", "", "axes are both an attribute and an input");
  return node.list(1, "axes input");
}

void check_work(const NodeImport& node, std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  std::int64_t entries = 0;
  if (__builtin_mul_overflow(a, b, &entries) || entries > kMost)
    fail("BF1026", "",
         fmt::format("{} of this size needs {} times {} entries, the limit is {}", node.op_type(),
                     a, b, kMost),
         "use it on smaller tensors");
}

// Each part that is read adds its elements at their places, zero elsewhere.
ValueId add_selection(NodeImport& node, const std::vector<ValueId>& parts,
                      const std::vector<std::int64_t>& source, const Shape& shape) {
  std::optional<ValueId> sum;
  std::int64_t begin = 0;
  for (ValueId part : parts) {
    const std::int64_t end = begin + element_count(node.shape_of(part));
    const auto inside = [&](std::int64_t i) { return i >= begin && i < end; };
    const auto read = std::count_if(source.begin(), source.end(), inside);
    if (read == static_cast<std::ptrdiff_t>(source.size()))
      return add_index_map(node, part, shape, [&] {
        std::vector<std::int64_t> shifted;
        for (std::int64_t i : source) shifted.push_back(i - begin);
        return shifted;
      });
    if (read > 0) {
      RowBuilder rows(node);
      for (std::int64_t i : source) {
        rows.begin();
        if (inside(i)) rows.add(i - begin);
      }
      const ValueId placed = std::move(rows).finish_sums(part, shape);
      sum = sum ? add_binary(node, Binary::Kind::kAdd, *sum, placed) : placed;
    }
    begin = end;
  }
  BF_CHECK(sum.has_value());
  return *sum;
}

void emit_selection(NodeImport& node, const std::vector<std::size_t>& inputs,
                    const std::vector<std::int64_t>& source, const Shape& shape,
                    std::size_t output) {
  if (all_integers(node, inputs)) {
    node.reader().charge(shape, "");
    std::vector<std::int64_t> all;
    for (std::size_t i : inputs) {
      const std::vector<std::int64_t>& data = node.integers_if_any(i)->data;
      all.insert(all.end(), data.begin(), data.end());
    }
    IntegerTensor result{shape, {}, node.integers_if_any(inputs[0])->type};
    for (std::int64_t i : source) result.data.push_back(all[static_cast<std::size_t>(i)]);
    node.emit(output, std::move(result));
    return;
  }
  std::vector<ValueId> parts;
  for (std::size_t i : inputs) parts.push_back(node.input(i));
  node.emit(output, add_selection(node, parts, source, shape));
}

}  // namespace bf_aot
