#include <fmt/format.h>

#include <algorithm>

#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Sequences of tensors, whose number and places are constants: each is a list of names of symbols.
// Operators on them compute nothing.

namespace bf_aot {
namespace {

using onnx::TensorProto;

// Elements [begin, begin + count) of an axis.
std::string part(NodeImport& node, std::size_t input, std::size_t axis, std::int64_t begin,
                 std::int64_t count, bool keeps_axis) {
  const Shape whole = node.input_shape(input);
  Shape shape = whole;
  shape[axis] = count;
  node.reader().charge(shape, "");
  const std::int64_t stride = row_major_strides(whole)[axis];
  std::vector<std::int64_t> source;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const std::int64_t outer = i / (stride * count);
    source.push_back(outer * stride * whole[axis] + begin * stride + i % (stride * count));
  }
  if (!keeps_axis) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  if (const IntegerTensor* const all = node.integers_if_any(input)) {
    IntegerTensor made{shape, {}, all->type};
    for (const std::int64_t i : source) made.data.push_back(all->data[static_cast<std::size_t>(i)]);
    return node.add_tensor("part", std::move(made));
  }
  const ValueId x = node.input(input);
  return node.add_tensor("part", node.add(IndexMap{std::move(source)}, {x}, shape));
}

// Parts of lengths that input 1 gives, of one length and a shorter last one, or of length 1.
void import_split_to_sequence(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), shape.size());
  const bool keeps_axis = node.flag("keepdims", true) || node.has_input(1);
  std::vector<std::int64_t> lengths;
  if (node.has_input(1) && !node.input_shape(1).empty()) {
    lengths = node.list(1, "lengths");
  } else {
    const std::int64_t length = node.has_input(1) ? node.integer(1, "length") : 1;
    if (length < 1) fail("BF1014", "", fmt::format("parts of length {}", length));
    for (std::int64_t at = 0; at < shape[axis]; at += length)
      lengths.push_back(std::min(length, shape[axis] - at));
  }
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) {
    if (length < 1 || length > shape[axis] - total)
      fail("BF1014", "", fmt::format("a part of length {} of {} elements", length, shape[axis]));
    total += length;
  }
  if (total != shape[axis])
    fail("BF1014", "", fmt::format("parts of {} elements together of {}", total, shape[axis]));
  Sequence made;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    made.tensors.push_back(part(node, 0, axis, begin, length, keeps_axis));
    begin += length;
  }
  node.define(0, std::move(made));
}

void import_sequence_construct(NodeImport& node) {
  Sequence made;
  for (std::size_t i = 0; i < node.input_count(); ++i) made.tensors.push_back(node.tensor(i));
  node.define(0, std::move(made));
}

void import_sequence_empty(NodeImport& node) {
  (void)node.type_attribute("dtype", TensorProto::FLOAT);
  node.define(0, Sequence{});
}

// One of `count` positions that input i gives, from the end where it is negative. Throws: BF1014.
std::ptrdiff_t read_position(const NodeImport& node, std::size_t i, std::int64_t count) {
  const std::int64_t position = node.integer(i, "position");
  if (position < -count || position >= count)
    fail("BF1014", "", fmt::format("position {} of {} tensors", position, count));
  return static_cast<std::ptrdiff_t>(position < 0 ? position + count : position);
}

void import_sequence_at(NodeImport& node) {
  const std::vector<std::string> all = node.sequence(0).tensors;
  const auto count = static_cast<std::int64_t>(all.size());
  node.emit_tensor(0, all[static_cast<std::size_t>(read_position(node, 1, count))]);
}

// Before the tensor at a position, or behind the last one: position `count` is behind it, too.
void import_sequence_insert(NodeImport& node) {
  Sequence made = node.sequence(0);
  const auto count = static_cast<std::int64_t>(made.tensors.size());
  const bool behind = !node.has_input(2) || node.integer(2, "position") == count;
  const std::ptrdiff_t at =
      behind ? static_cast<std::ptrdiff_t>(count) : read_position(node, 2, count);
  made.tensors.insert(made.tensors.begin() + at, node.tensor(1));
  node.define(0, std::move(made));
}

// Without a position the last one goes.
void import_sequence_erase(NodeImport& node) {
  Sequence made = node.sequence(0);
  const auto count = static_cast<std::int64_t>(made.tensors.size());
  if (count == 0) fail("BF1014", "", "a sequence of no tensors");
  const std::ptrdiff_t at =
      node.has_input(1) ? read_position(node, 1, count) : static_cast<std::ptrdiff_t>(count - 1);
  made.tensors.erase(made.tensors.begin() + at);
  node.define(0, std::move(made));
}

void import_sequence_length(NodeImport& node) {
  const auto count = static_cast<std::int64_t>(node.sequence(0).tensors.size());
  node.emit(IntegerTensor{{}, {count}, TensorProto::INT64});
}

// The tensors one after the other along an axis, which may be new.
void import_concat_from_sequence(NodeImport& node) {
  const std::vector<std::string> tensors = node.sequence(0).tensors;
  const bool new_axis = node.flag("new_axis", false);
  if (!node.has_attribute("axis")) fail("BF1012", "", "attribute 'axis' is missing");
  if (tensors.empty()) fail("BF1014", "", "a sequence of no tensors");
  const Shape first = node.shape_of(tensors.front());
  const std::size_t axis =
      checked_axis(node.int_attribute("axis", 0), first.size() + (new_axis ? 1 : 0));
  Shape shape = first;
  if (new_axis) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const std::int64_t inner = strides[axis];  // elements behind the axis
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  std::vector<std::int64_t> lengths, starts;
  std::int64_t total = 0, elements = 0;
  for (const std::string& each : tensors) {
    Shape own = node.shape_of(each);
    if (new_axis) own.insert(own.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    Shape rest = own, expected = shape;
    if (own.size() == shape.size()) rest[axis] = expected[axis] = 1;
    if (rest != expected)
      fail("BF1014", "",
           fmt::format("tensors of shapes {} and {}", to_string(first),
                       to_string(node.shape_of(each))));
    lengths.push_back(own[axis]);
    starts.push_back(elements);
    total += own[axis];
    elements += element_count(own);
  }
  shape[axis] = total;
  node.reader().charge(shape, "");
  std::vector<std::int64_t> source;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (std::int64_t i = 0; i < lengths[t] * inner; ++i)
        source.push_back(starts[t] + o * lengths[t] * inner + i);
  node.set_output_type(node.type_of(tensors.front()));
  std::vector<ValueId> values;
  for (const std::string& each : tensors) values.push_back(node.value(each));
  node.emit(add_selection(node, values, source, shape));
}

// The body for each of the tensors, beside one of each other sequence or the same tensor each time.
void import_sequence_map(NodeImport& node) {
  const std::size_t inputs = node.input_count(), outputs = node.output_count();
  const std::vector<std::string> first = node.sequence(0).tensors;
  Body body = node.body("body");
  node.check_body(body, inputs, outputs);
  std::vector<Sequence> made(outputs);
  for (std::size_t step = 0; step < first.size(); ++step) {
    std::vector<std::string> given;
    for (std::size_t i = 0; i < inputs; ++i) {
      const Sequence* const all = node.sequence_if_any(i);
      if (all != nullptr && all->tensors.size() != first.size())
        fail("BF1014", "",
             fmt::format("sequences of {} and {} tensors", first.size(), all->tensors.size()));
      given.push_back(all != nullptr ? all->tensors[step] : node.tensor(i));
    }
    const std::vector<std::string> results =
        node.import_body(body, given, static_cast<std::int64_t>(step));
    for (std::size_t i = 0; i < outputs; ++i) made[i].tensors.push_back(results[i]);
  }
  for (std::size_t i = 0; i < outputs; ++i)
    if (node.has_output(i)) node.define(i, std::move(made[i]));
}

// An optional value that has one is that value.
void import_optional(NodeImport& node) {
  if (node.has_input(0)) return node.emit_tensor(0, node.tensor(0));
  node.define(0, Unavailable{"an optional value that has none", "ask OptionalHasElement first"});
}

void import_optional_get_element(NodeImport& node) {
  node.emit_tensor(0, node.tensor(0));
}

void import_optional_has_element(NodeImport& node) {
  const bool has = node.has_input(0) && !node.is_unavailable(0);
  node.emit(IntegerTensor{{}, {has ? 1 : 0}, TensorProto::BOOL});
}

}  // namespace

OperatorRows sequence_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"ConcatFromSequence", import_concat_from_sequence, 1, 1, 1, {"axis", "new_axis"}},
      {"Optional", import_optional, 0, 1, 1, {"type"}},
      {"OptionalGetElement", import_optional_get_element, 1, 1, 1, {}},
      {"OptionalHasElement", import_optional_has_element, 0, 1, 1, {}},
      {"SequenceAt", import_sequence_at, 2, 2, 1, {}},
      {"SequenceConstruct", import_sequence_construct, 1, kVariadic, 1, {}},
      {"SequenceEmpty", import_sequence_empty, 0, 0, 1, {"dtype"}},
      {"SequenceErase", import_sequence_erase, 1, 2, 1, {}},
      {"SequenceInsert", import_sequence_insert, 2, 3, 1, {}},
      {"SequenceLength", import_sequence_length, 1, 1, 1, {}},
      {"SequenceMap", import_sequence_map, 1, kVariadic, kVariadic, {"body"}},
      {"SplitToSequence", import_split_to_sequence, 1, 2, 1, {"axis", "keepdims"}},
  };
  return kRows;
}

}  // namespace bf_aot
