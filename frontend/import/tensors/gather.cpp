#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/graph/index_maps.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/embedding.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Data movement with everything but the data known at import: each operator says from which element
// of its inputs each element of its output comes.

namespace bf_aot {
namespace {

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}

// Attributes before opset 10, inputs since.
std::optional<std::vector<std::int64_t>> slice_parameter(NodeImport& node, std::size_t input,
                                                         std::string_view name) {
  if (node.has_input(input)) return node.list(input, name);
  return node.ints_attribute(name);
}

// A range of indices along one dimension.
struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// Indices count from the end when negative, and are cut to the dimension.
Range slice_range(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (dim == 0) return {0, 1, 0};
  const std::int64_t most = step > 0 ? dim : dim - 1;
  start = std::clamp<std::int64_t>(start < 0 ? start + dim : start, 0, most);
  end = std::clamp<std::int64_t>(end < 0 ? end + dim : end, step > 0 ? 0 : -1, most);
  const std::int64_t distance = step > 0 ? end - start : start - end;
  if (distance <= 0) return {0, 1, 0};
  // Cut before the sign changes: -step may overflow.
  const std::int64_t length = step > 0 ? std::min(step, distance) : -std::max(step, -distance);
  return {start, step > 0 ? length : -length, (distance - 1) / length + 1};
}

std::vector<Range> slice_ranges(NodeImport& node, const Shape& shape) {
  const auto starts = slice_parameter(node, 1, "starts");
  const auto ends = slice_parameter(node, 2, "ends");
  if (!starts || !ends) fail("BF1012", "", "starts or ends are missing");
  std::vector<std::int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = slice_parameter(node, 3, "axes")) axes = *given;
  std::vector<std::int64_t> steps(starts->size(), 1);
  if (node.has_input(4)) steps = node.list(4, "steps");
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    fail("BF1014", "",
         fmt::format("{} starts, {} ends, {} axes and {} steps", starts->size(), ends->size(),
                     axes.size(), steps.size()));
  std::vector<Range> ranges;
  for (std::int64_t dim : shape) ranges.push_back({0, 1, dim});
  std::vector<bool> listed(shape.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = checked_axis(axes[i], shape.size());
    if (listed[axis]) fail("BF1014", "", fmt::format("axis {} is listed twice", axis));
    listed[axis] = true;
    if (steps[i] == 0) fail("BF1014", "", fmt::format("the step of axis {} is 0", axis));
    ranges[axis] = slice_range(shape[axis], (*starts)[i], (*ends)[i], steps[i]);
  }
  return ranges;
}

// Lengths of the parts along the axis.
std::vector<std::int64_t> split_lengths(NodeImport& node, std::int64_t dim) {
  constexpr std::int64_t kUnevenParts = 18;
  std::vector<std::int64_t> lengths;
  if (const auto given = slice_parameter(node, 1, "split")) {
    if (node.has_attribute("num_outputs"))
      fail("BF1012", "", "the parts are given by their lengths and by num_outputs");
    lengths = *given;
  } else {
    const auto parts = static_cast<std::int64_t>(node.output_count());
    if (node.opset() >= kUnevenParts && !node.has_attribute("num_outputs"))
      fail("BF1012", "", "neither the lengths of the parts nor num_outputs are given");
    if (node.opset() < kUnevenParts && dim % parts != 0)
      fail("BF1014", "", fmt::format("{} do not divide into {} equal parts", dim, parts));
    if (node.int_attribute("num_outputs", parts) != parts)
      fail("BF1012", "", fmt::format("num_outputs differs from {} outputs", parts));
    const std::int64_t length = (dim + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      lengths.push_back(std::clamp<std::int64_t>(dim - i * length, 0, length));
  }
  std::int64_t total = 0;
  for (std::int64_t each : lengths) {
    if (each < 0 || each > dim)
      fail("BF1014", "", fmt::format("a part of {} out of {}", each, dim));
    total += each;
  }
  if (total != dim || lengths.size() != node.output_count())
    fail("BF1014", "",
         fmt::format("{} parts of {} in all, but {} outputs of {}", lengths.size(), total,
                     node.output_count(), dim));
  return lengths;
}

void expect_same_rest(const Shape& a, const Shape& b, std::size_t axis) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = i == axis || a[i] == b[i];
  if (!same)
    fail("BF1014", "",
         fmt::format("{} and {} differ in more than axis {}", to_string(a), to_string(b), axis));
}

void import_slice(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::vector<Range> ranges = slice_ranges(node, shape);
  Shape result;
  for (const Range& range : ranges) result.push_back(range.count);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> source;
  for_each_index(result, [&](const std::vector<std::int64_t>& index, std::int64_t) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      from += (ranges[d].start + index[d] * ranges[d].step) * strides[d];
    source.push_back(from);
  });
  emit_selection(node, {0}, source, result);
}

void import_split(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  const std::vector<std::int64_t> lengths = split_lengths(node, shape[axis]);
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.size());
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < lengths.size(); ++part) {
    Shape result = shape;
    result[axis] = lengths[part];
    std::vector<std::int64_t> source;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < lengths[part] * inner; ++i)
        source.push_back((o * shape[axis] + begin) * inner + i);
    begin += lengths[part];
    if (node.has_output(part)) emit_selection(node, {0}, source, result, part);
  }
}

void import_concat(NodeImport& node) {
  Shape result = node.input_shape(0);
  constexpr std::int64_t kAxisIsNeeded = 4;
  if (node.opset() >= kAxisIsNeeded && !node.has_attribute("axis"))
    fail("BF1012", "", "attribute 'axis' is missing");
  const std::size_t axis = checked_axis(node.int_attribute("axis", 1), result.size());
  result[axis] = 0;
  node.check_same_types(node.input_count());
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const Shape shape = node.input_shape(i);
    expect_same_rest(shape, node.input_shape(0), axis);
    result[axis] += shape[axis];
    if (element_count(shape) > 0) inputs.push_back(i);
  }
  if (inputs.empty()) inputs.push_back(0);
  node.reader().charge(result, "");
  const std::int64_t outer = product(result, 0, axis);
  std::vector<std::int64_t> source;
  for (std::int64_t o = 0; o < outer; ++o) {
    std::int64_t begin = 0;
    for (std::size_t i : inputs) {
      const std::int64_t count = element_count(node.input_shape(i));
      for (std::int64_t k = 0; k < count / outer; ++k)
        source.push_back(begin + o * (count / outer) + k);
      begin += count;
    }
  }
  emit_selection(node, inputs, source, result);
}

// The shape of what Gather makes.
Shape gathered(const Shape& shape, std::size_t axis, const Shape& indices) {
  Shape result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), indices.begin(), indices.end());
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  return result;
}

// Rows of a constant table by token ids: sums of the rows that may be read, each times its one-hot
// input.
ValueId add_by_tokens(NodeImport& node, std::size_t input, std::size_t axis, const Shape& indices,
                      const ReadTokenIds& read) {
  const Constant table = node.constant(input, "table");
  const Shape& shape = table.shape;
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.size());
  const std::int64_t size = node.shape_of(read.ids.one_hot).back();
  RowBuilder rows(node);
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t element : read.element) {
      const std::vector<std::int64_t>& set = read.ids.sets[static_cast<std::size_t>(element)];
      std::vector<std::int64_t> begins;
      for (const std::int64_t id : set)
        begins.push_back((o * shape[axis] + checked_index(id, shape[axis])) * inner);
      for (std::int64_t i = 0; i < inner; ++i) {
        rows.begin();
        for (std::size_t c = 0; c < set.size(); ++c) {
          const auto at = static_cast<std::size_t>(begins[c] + i);
          rows.add(element * size + static_cast<std::int64_t>(c),
                   {table.data[at], table.error_at(at)});
        }
      }
    }
  return std::move(rows).finish_sums(read.ids.one_hot, gathered(shape, axis, indices));
}

// Throws: BF1018 where the indices in an input are an input of the model.
void refuse_input_ids(const NodeImport& node, std::size_t indices) {
  const std::string ids = node.integer_input_if_any(indices);
  if (!ids.empty())
    fail("BF1018", "",
         fmt::format("the indices are the input '{}', a box of which has no rows", ids),
         fmt::format("say which ids may stand at each position: --tokens FILE with {{\"tokens\": "
                     "{{\"{}\": [[3], [5, 8]]}}}}, or begin behind this node: --input-tensor {}",
                     ids, node.output_name(0)));
}

// The places in a tensor of this shape that indices along the axis select. Throws: BF1014.
std::vector<std::int64_t> places_of(NodeImport& node, const Shape& shape, std::size_t axis,
                                    const IntegerTensor& indices) {
  node.reader().charge(gathered(shape, axis, indices.shape), "");
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.size());
  std::vector<std::int64_t> source;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t index : indices.data) {
      const std::int64_t row = o * shape[axis] + checked_index(index, shape[axis]);
      for (std::int64_t i = 0; i < inner; ++i) source.push_back(row * inner + i);
    }
  return source;
}

void import_gather(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  if (const auto tokens = node.token_ids_if_any(1))
    return node.emit(add_by_tokens(node, 0, axis, node.input_shape(1), *tokens));
  refuse_input_ids(node, 1);
  const IntegerTensor indices = node.integers(1, "indices");
  emit_selection(node, {0}, places_of(node, shape, axis, indices),
                 gathered(shape, axis, indices.shape));
}

void import_gather_elements(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  const IntegerTensor indices = node.integers(1, "indices");
  if (indices.shape.size() != shape.size())
    fail("BF1014", "",
         fmt::format("indices of shape {} into {}", to_string(indices.shape), to_string(shape)));
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> source;
  for_each_index(indices.shape, [&](const std::vector<std::int64_t>& index, std::int64_t flat) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t at = d == axis ? indices.data[static_cast<std::size_t>(flat)] : index[d];
      from += checked_index(at, shape[d]) * strides[d];
    }
    source.push_back(from);
  });
  emit_selection(node, {0}, source, indices.shape);
}

// Rows of the indices' last dimension are the leading coordinates of slices, behind batch_dims
// dimensions that both tensors share.
void import_gather_nd(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const IntegerTensor indices = node.integers(1, "indices");
  const std::int64_t batch_dims = node.int_attribute("batch_dims", 0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t depth = indices.shape.empty() ? 0 : indices.shape.back();
  const auto batch = static_cast<std::size_t>(batch_dims);
  if (batch_dims < 0 || depth < 1 || element_count(shape) == 0 || depth > rank - batch_dims ||
      batch_dims >= static_cast<std::int64_t>(indices.shape.size()) ||
      !std::equal(shape.begin(), shape.begin() + batch_dims, indices.shape.begin()))
    fail("BF1014", "",
         fmt::format("indices of shape {} into {} with {} batch dimensions",
                     to_string(indices.shape), to_string(shape), batch_dims));
  const auto sliced = batch + static_cast<std::size_t>(depth);
  Shape result(indices.shape.begin(), indices.shape.end() - 1);
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(sliced), shape.end());
  node.reader().charge(result, "");
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const std::int64_t batches = product(shape, 0, batch);
  const std::int64_t per_batch = element_count(indices.shape) / depth / batches;
  const std::int64_t inner = product(shape, sliced, shape.size());
  std::vector<std::int64_t> source;
  for (std::int64_t row = 0; row < batches * per_batch; ++row) {
    std::int64_t from = row / per_batch * product(shape, batch, shape.size());
    for (std::int64_t d = 0; d < depth; ++d) {
      const auto dim = batch + static_cast<std::size_t>(d);
      const std::int64_t index = indices.data[static_cast<std::size_t>(row * depth + d)];
      from += checked_index(index, shape[dim]) * strides[dim];
    }
    for (std::int64_t i = 0; i < inner; ++i) source.push_back(from + i);
  }
  emit_selection(node, {0}, source, result);
}

void import_expand(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const Shape result = broadcast_shapes(shape, node.list(1, "shape"));
  node.reader().charge(result, "");
  emit_selection(node, {0}, broadcast_map(shape, result), result);
}

void import_tile(NodeImport& node) {
  constexpr std::int64_t kRepeats = 6;
  if (node.opset() < kRepeats)
    fail("BF1026", "", "Tile along one axis, of operator sets before 6, is not supported",
         "export with opset 6 or newer");
  const Shape shape = node.input_shape(0);
  const std::vector<std::int64_t> repeats = node.list(1, "repeats");
  if (repeats.size() != shape.size())
    fail("BF1014", "", fmt::format("{} repeats for {} dimensions", repeats.size(), shape.size()));
  Shape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t dim = 0;
    if (repeats[d] < 0 || __builtin_mul_overflow(shape[d], repeats[d], &dim))
      fail("BF1014", "", fmt::format("{} repeats of a dimension of {}", repeats[d], shape[d]));
    result.push_back(dim);
  }
  node.reader().charge(result, "");
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> source;
  for_each_index(result, [&](const std::vector<std::int64_t>& index, std::int64_t) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < index.size(); ++d) from += index[d] % shape[d] * strides[d];
    source.push_back(from);
  });
  emit_selection(node, {0}, source, result);
}

// Slices along the axis, or elements of the flattened tensor, whose condition is true.
void import_compress(NodeImport& node) {
  Shape shape = node.input_shape(0);
  const bool flat = !node.has_attribute("axis");
  if (flat) shape = {element_count(shape)};
  const std::size_t axis = flat ? 0 : checked_axis(node.int_attribute("axis", 0), shape.size());
  const std::vector<std::int64_t> condition = node.list(1, "condition");
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i] != 0) kept.push_back(checked_index(static_cast<std::int64_t>(i), shape[axis]));
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.size());
  std::vector<std::int64_t> source;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k : kept)
      for (std::int64_t i = 0; i < inner; ++i) source.push_back((o * shape[axis] + k) * inner + i);
  shape[axis] = static_cast<std::int64_t>(kept.size());
  emit_selection(node, {0}, source, shape);
}

// The first sequence_lens[b] steps of time of batch entry b in reverse order.
void import_reverse_sequence(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t batch = checked_axis(node.int_attribute("batch_axis", 1), shape.size());
  const std::size_t time = checked_axis(node.int_attribute("time_axis", 0), shape.size());
  const std::vector<std::int64_t> lengths = node.list(1, "sequence_lens");
  if (batch == time || static_cast<std::int64_t>(lengths.size()) != shape[batch])
    fail("BF1014", "", fmt::format("{} lengths for {}", lengths.size(), to_string(shape)));
  for (std::int64_t length : lengths)
    if (length < 1 || length > shape[time])
      fail("BF1014", "", fmt::format("a length of {} out of {}", length, shape[time]));
  const std::int64_t stride = row_major_strides(shape)[time];
  std::vector<std::int64_t> source;
  for_each_index(shape, [&](const std::vector<std::int64_t>& index, std::int64_t flat) {
    const std::int64_t length = lengths[static_cast<std::size_t>(index[batch])];
    const std::int64_t to = index[time] < length ? length - 1 - index[time] : index[time];
    source.push_back(flat + (to - index[time]) * stride);
  });
  emit_selection(node, {0}, source, shape);
}

// The upper or lower triangle of each matrix, from diagonal k on; zero elsewhere.
void import_trilu(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  if (shape.size() < 2) fail("BF1014", "", fmt::format("{} is no matrix", to_string(shape)));
  const bool upper = node.flag("upper", true);
  const std::int64_t k = node.has_input(1) ? node.integer(1, "diagonal") : 0;
  std::vector<bool> kept;
  for_each_index(shape, [&](const std::vector<std::int64_t>& index, std::int64_t) {
    const std::int64_t row = index[index.size() - 2];
    const std::int64_t column = index[index.size() - 1];
    // column - row is small, so that no difference to k overflows where it matters.
    kept.push_back(upper ? column - row >= k : column - row <= k);
  });
  if (const IntegerTensor* const integers = node.integers_if_any(0)) {
    IntegerTensor result = *integers;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!kept[i]) result.data[i] = 0;
    node.emit(std::move(result));
    return;
  }
  RowBuilder rows(node);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    rows.begin();
    if (kept[i]) rows.add(static_cast<std::int64_t>(i));
  }
  node.emit(std::move(rows).finish_sums(node.input(0), shape));
}

}  // namespace

ValueId add_looked_up(NodeImport& node, std::size_t table, std::size_t indices) {
  const Shape shape = node.input_shape(table);
  if (shape.empty()) fail("BF1014", "", fmt::format("input {}, a table, is a scalar", table));
  if (const auto tokens = node.token_ids_if_any(indices))
    return add_by_tokens(node, table, 0, node.input_shape(indices), *tokens);
  refuse_input_ids(node, indices);
  const IntegerTensor found = node.integers(indices, "indices");
  return add_selection(node, {node.input(table)}, places_of(node, shape, 0, found),
                       gathered(shape, 0, found.shape));
}

OperatorRows gather_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Compress", import_compress, 2, 2, 1, {"axis"}},
      {"Concat", import_concat, 1, kVariadic, 1, {"axis"}},
      {"Expand", import_expand, 2, 2, 1, {}},
      {"Gather", import_gather, 2, 2, 1, {"axis"}},
      {"GatherElements", import_gather_elements, 2, 2, 1, {"axis"}},
      {"GatherND", import_gather_nd, 2, 2, 1, {"batch_dims"}},
      {"ReverseSequence", import_reverse_sequence, 2, 2, 1, {"batch_axis", "time_axis"}},
      {"Slice", import_slice, 1, 5, 1, {"axes", "ends", "starts"}},
      {"Split", import_split, 1, 2, kVariadic, {"axis", "num_outputs", "split"}},
      {"Tile", import_tile, 2, 2, 1, {}},
      {"Trilu", import_trilu, 1, 2, 1, {"upper"}},
  };
  return kRows;
}

}  // namespace bf_aot
