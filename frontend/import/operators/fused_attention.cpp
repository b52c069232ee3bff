#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/quantization.h"
#include "frontend/import/helpers/rotary.h"
#include "frontend/import/helpers/softmax.h"
#include "frontend/import/operators/operators.h"

// Attention, MultiHeadAttention, GroupQueryAttention and QAttention of com.microsoft, which ONNX
// Runtime's optimiser and its tools for transformers write. A masked score has a large negative
// number added to it, as ONNX Runtime computes it: its key is not left out.

namespace bf_aot {
namespace {

using Kind = Binary::Kind;

// Elements of `from` by batch entry, head, position and feature.
struct Operand {
  ValueId from;
  std::int64_t length, width;
  std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t, std::int64_t)> at;
};

struct Attended {
  std::int64_t batch, heads;
  Operand query, key, value;
  std::int64_t past = 0;  // keys that stand before those of the first query
  Shape scores() const { return {batch, heads, query.length, key.length}; }
};

// [batch, heads, length, width] or, turned, [batch, heads, width, length].
ValueId add_heads(NodeImport& node, const Attended& of, const Operand& from, bool turned) {
  const std::int64_t rows = turned ? from.width : from.length;
  const std::int64_t columns = turned ? from.length : from.width;
  const Shape shape = {of.batch, of.heads, rows, columns};
  return add_index_map(node, from.from, shape, [&] {
    std::vector<std::int64_t> source;
    for_each_index(shape, [&](const std::vector<std::int64_t>& i, std::int64_t /*flat*/) {
      source.push_back(turned ? from.at(i[0], i[1], i[3], i[2]) : from.at(i[0], i[1], i[2], i[3]));
    });
    return source;
  });
}

// Behind the operand's positions in a cache, [.., batch, heads, past, width] from element `begin`
// of input i on, its own.
Operand behind_past(NodeImport& node, const Operand& now, std::size_t i, std::int64_t begin,
                    std::int64_t batch, std::int64_t heads, std::int64_t past) {
  const std::int64_t length = past + now.length, width = now.width;
  const Shape shape = {batch, heads, length, width};
  const std::int64_t cached = element_count(node.input_shape(i));
  std::vector<std::int64_t> source;
  node.reader().charge(shape, "");
  for_each_index(shape, [&](const std::vector<std::int64_t>& at, std::int64_t /*flat*/) {
    source.push_back(at[2] < past ? begin + ((at[0] * heads + at[1]) * past + at[2]) * width + at[3]
                                  : cached + now.at(at[0], at[1], at[2] - past, at[3]));
  });
  return {
      add_selection(node, {node.input(i), now.from}, source, shape), length, width,
      [=](auto b, auto h, auto s, auto f) { return ((b * heads + h) * length + s) * width + f; }};
}

// The number of positions in a cache of shape [.., batch, heads, past, width]. Throws: BF1014.
std::int64_t past_length(const NodeImport& node, std::size_t i, const Shape& outer,
                         std::int64_t width) {
  const Shape& shape = node.input_shape(i);
  Shape expected = outer;
  expected.push_back(shape.size() == outer.size() + 2 ? shape[outer.size()] : 1);
  expected.push_back(width);
  if (shape != expected)
    fail("BF1014", "",
         fmt::format("the past in input {} has shape {}, but {} is expected, of any length", i,
                     to_string(shape), to_string(expected)));
  return shape[outer.size()];
}

// The attribute 'scale', where it is given and not 0, or 1 / sqrt(width).
Bounded fused_scale(const NodeImport& node, std::int64_t width) {
  const double given = node.float_attribute("scale", 0);
  return given != 0 ? Bounded{given, 0} : one_over_root(width);
}

double filter_value(const NodeImport& node) {
  return node.float_attribute("mask_filter_value", -10000.0F);
}

[[noreturn]] void no_such_mask(const Shape& mask, const Shape& scores) {
  fail("BF1026", "",
       fmt::format("a mask of shape {} for scores {}", to_string(mask), to_string(scores)),
       "give truth values [batch, keys] or [batch, queries, keys], or a length for each entry of "
       "the batch");
}

// The numbers that the lengths in input `mask` add to the scores of keys: those from the first
// length on and, where there are two for each entry of the batch, those before the second.
ValueId add_length_mask(NodeImport& node, std::size_t mask, const Shape& scores) {
  const std::vector<std::int64_t>& lengths = node.list(mask, "lengths of the mask");
  const std::int64_t batch = scores[0], keys = scores[3];
  const bool begins = static_cast<std::int64_t>(lengths.size()) == 2 * batch;
  Constant added = filled({batch, 1, 1, keys}, 0);
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t end = lengths[static_cast<std::size_t>(b)];
    const std::int64_t begin = begins ? lengths[static_cast<std::size_t>(b + batch)] : 0;
    for (std::int64_t k = 0; k < keys; ++k)
      if (k >= end || k < begin)
        added.data[static_cast<std::size_t>(b * keys + k)] = filter_value(node);
  }
  return add_constant(node, std::move(added));
}

// What input `mask` adds to the scores; it broadcasts to them.
ValueId add_mask(NodeImport& node, std::size_t mask, const Shape& scores) {
  const Shape shape = node.input_shape(mask);
  const std::int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  if (shape == Shape{batch} || shape == Shape{2 * batch})
    return add_length_mask(node, mask, scores);
  const bool each_query = shape == Shape{batch, queries, keys};
  if (!each_query && shape != Shape{batch, keys}) no_such_mask(shape, scores);
  const ValueId seen = add_unary(node, node.input(mask), {FunctionKind::kStep});
  const double filter = filter_value(node);
  return add_reshape(node, add_scale(node, seen, -filter, filter),
                     {batch, 1, each_query ? queries : 1, keys});
}

// A query does not look at keys behind it: these are left out, whatever masks add.
std::vector<bool> hidden_behind(const Shape& scores, std::int64_t past) {
  std::vector<bool> hidden;
  for_each_index(scores, [&](const std::vector<std::int64_t>& i, std::int64_t /*flat*/) {
    hidden.push_back(i[3] > past + i[2]);
  });
  return hidden;
}

// Changes of the scores, products of queries and keys, before Softmax.
struct Scoring {
  std::optional<std::size_t> mask, bias;  // inputs
  bool causal = false;
  double softcap = 0;  // 0: none
};

// softmax(scale Q K^T + what masks and input `bias` add) V, [batch, queries, heads width].
void emit_attended(NodeImport& node, const Attended& of, const Scoring& scoring) {
  constexpr std::int64_t kOneAxis = 13;
  const Shape scores = of.scores();
  const ValueId query =
      add_multiple(node, add_heads(node, of, of.query, false), fused_scale(node, of.query.width));
  ValueId sums = node.add(MatMul{}, {query, add_heads(node, of, of.key, true)});
  if (scoring.softcap > 0)
    sums = add_scale(node,
                     add_unary(node, add_multiple(node, sums, divide({1, 0}, {scoring.softcap, 0})),
                               {FunctionKind::kTanh}),
                     scoring.softcap, 0);
  if (scoring.mask && node.has_input(*scoring.mask))
    sums = add_binary(node, Kind::kAdd, sums, add_mask(node, *scoring.mask, scores));
  if (scoring.bias && node.has_input(*scoring.bias)) {
    const Shape bias = node.input_shape(*scoring.bias);
    if (bias.size() != 4 || !broadcasts_to(bias, scores))
      fail("BF1014", "",
           fmt::format("input {} of shape {} does not broadcast to {}", *scoring.bias,
                       to_string(bias), to_string(scores)));
    sums = add_binary(node, Kind::kAdd, sums, node.input(*scoring.bias));
  }
  Grouping rows = softmax_rows(node, scores, -1, kOneAxis);
  if (scoring.causal) leave_out(hidden_behind(scores, of.past), rows);
  const ValueId shares = add_softmax(node, sums, rows);
  const ValueId means = node.add(MatMul{}, {shares, add_heads(node, of, of.value, false)});
  const Shape turned = {of.batch, of.query.length, of.heads * of.value.width};
  node.emit(add_reshape(node, add_transposed(node, means, {0, 2, 1, 3}), turned));
}

// Refuses inputs that say which part of a buffer is the past, as kernels that share it with the
// present do.
void need_no_buffer(const NodeImport& node, std::initializer_list<std::size_t> inputs) {
  for (const std::size_t i : inputs)
    if (node.has_input(i))
      fail("BF1026", "", fmt::format("input {} is about a past in a buffer", i),
           "export the network with a past of as many positions as it has, or without one");
}

void define_unavailable(NodeImport& node, std::size_t first) {
  for (std::size_t i = first; i < node.output_count(); ++i)
    if (node.has_output(i))
      node.define(i,
                  Unavailable{"products of queries and keys that " + node.origin().text + " shows",
                              "write them as operators of their own"});
}

// [batch, heads, positions, width] of the operand, as later calls get it for their past.
ValueId add_present(NodeImport& node, const Attended& of, const Operand& operand,
                    std::int64_t heads) {
  Attended part = of;
  part.heads = heads;
  return add_heads(node, part, operand, false);
}

std::int64_t read_heads(const NodeImport& node, const std::vector<std::int64_t>& widths) {
  const std::int64_t heads = node.int_attribute("num_heads", 0);
  for (const std::int64_t width : widths)
    if (heads < 1 || width < 1 || width % heads != 0)
      fail("BF1012", "",
           fmt::format("attribute 'num_heads' is {}, which does not divide {}", heads, width));
  return heads;
}

// Heads in [batch, length, row], from element `begin` of each row on.
Operand in_rows(ValueId from, std::int64_t length, std::int64_t row, std::int64_t begin,
                std::int64_t width) {
  return {from, length, width, [=](auto b, auto h, auto s, auto f) {
            return (b * length + s) * row + begin + h * width + f;
          }};
}

// Refuses attributes of operators whose inputs are the products' factors.
void need_plain_products(const NodeImport& node) {
  for (const char* const name : {"do_rotary", "past_present_share_buffer"})
    if (node.flag(name, false))
      fail("BF1026", "", fmt::format("attribute '{}' is 1", name),
           "give the model from before ONNX Runtime's optimiser");
}

// Throws: BF1014.
void check_factors(const Shape& x, const Shape& weight) {
  if (x.size() != 3 || weight.size() != 2 || weight[0] != x[2])
    fail("BF1014", "",
         fmt::format("weights of shape {} for an input of shape {}", to_string(weight),
                     to_string(x)));
}

// Keys and values of a past in input i, [2, batch, heads, past, width], and output 1, which has
// them behind the present ones.
void read_stacked_past(NodeImport& node, std::size_t i, Attended& of) {
  const bool is_given = node.has_input(i);
  if ((is_given || node.has_output(1)) && of.key.width != of.value.width)
    fail("BF1026", "", "a past of keys and values of different widths",
         "export the network without a past: use_cache=False");
  if (is_given) {
    of.past = past_length(node, i, {2, of.batch, of.heads}, of.key.width);
    const std::int64_t half = element_count(node.input_shape(i)) / 2;
    of.key = behind_past(node, of.key, i, 0, of.batch, of.heads, of.past);
    of.value = behind_past(node, of.value, i, half, of.batch, of.heads, of.past);
  }
  if (!node.has_output(1)) return;
  const ValueId both = add_concat(
      node, {add_present(node, of, of.key, of.heads), add_present(node, of, of.value, of.heads)});
  node.emit(1, add_reshape(node, both, {2, of.batch, of.heads, of.key.length, of.key.width}));
}

// Queries, keys and values are products of input 0 with three parts of one matrix.
void import_fused_attention(NodeImport& node) {
  constexpr std::size_t kPast = 4;
  need_no_buffer(node, {6});
  need_plain_products(node);
  const Shape x = node.input_shape(0), weight = node.input_shape(1);
  check_factors(x, weight);
  const std::int64_t row = weight[1];
  const std::vector<std::int64_t> sizes =
      node.ints_attribute("qkv_hidden_sizes").value_or(std::vector<std::int64_t>(3, row / 3));
  if (sizes.size() != 3 || sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != row)
    fail("BF1012", "",
         fmt::format("parts of sizes {} of {} columns", to_string(Shape(sizes)), row));
  const std::int64_t heads = read_heads(node, sizes);
  ValueId all = node.add(MatMul{}, {node.input(0), node.input(1)});
  if (node.has_input(2)) all = add_binary(node, Kind::kAdd, all, node.input(2));
  const auto part = [&](std::int64_t begin, std::int64_t size) {
    return in_rows(all, x[1], row, begin, size / heads);
  };
  Attended of{x[0], heads, part(0, sizes[0]), part(sizes[0], sizes[1]),
              part(sizes[0] + sizes[1], sizes[2])};
  read_stacked_past(node, kPast, of);
  emit_attended(node, of, {3, 5, node.flag("unidirectional", false)});
}

// QAttention is Attention on the real numbers that the codes of input and weights stand for.
void import_quantised_attention(NodeImport& node) {
  constexpr std::size_t kPast = 8;
  need_plain_products(node);
  const Shape x = node.input_shape(0), weight = node.input_shape(1);
  check_factors(x, weight);
  const std::int64_t row = weight[1], part = row / 3;
  const std::int64_t heads = read_heads(node, {part});
  if (3 * part != row) fail("BF1014", "", fmt::format("{} columns are no three parts", row));
  const auto real = [&](std::size_t i, std::size_t scale, std::size_t zero_point,
                        const Shape& shape) {
    const QuantizationInputs inputs{scale, zero_point};
    const QuantizationParameter factor = read_parameter(node, scale, "scale", shape, inputs, 1);
    return add_dequantized(node, node.input(i), &factor,
                           read_parameter(node, zero_point, "zero point", shape, inputs, 0));
  };
  if (node.input_shape(3) != Shape{} && element_count(node.input_shape(3)) != 1)
    fail("BF1014", "", "the scale of the input is not one number");
  node.set_output_type(onnx::TensorProto::FLOAT);
  ValueId all = node.add(MatMul{}, {real(0, 3, 6, x), real(1, 4, 7, weight)});
  all = add_binary(node, Kind::kAdd, all, node.input(2));
  const auto operand = [&](std::int64_t k) {
    return in_rows(all, x[1], row, k * part, part / heads);
  };
  Attended of{x[0], heads, operand(0), operand(1), operand(2)};
  read_stacked_past(node, kPast, of);
  emit_attended(node, of, {5, std::nullopt, node.flag("unidirectional", false)});
}

[[noreturn]] void no_such_operand(const NodeImport& node, std::size_t i) {
  fail("BF1014", "",
       fmt::format("input {} of shape {} does not fit the query of shape {}", i,
                   to_string(node.input_shape(i)), to_string(node.input_shape(0))));
}

// Input i, [batch, length, heads width], plus elements of the bias in input 3 from `begin` on; or
// [batch, heads, length, width], which has no bias.
Operand read_operand(NodeImport& node, std::size_t i, std::int64_t batch, std::int64_t heads,
                     std::int64_t begin) {
  const Shape shape = node.input_shape(i);
  if (shape.size() == 4 && shape[0] == batch && shape[1] == heads && !node.has_input(3)) {
    const std::int64_t length = shape[2], width = shape[3];
    return {node.input(i), length, width, [=](auto b, auto h, auto s, auto f) {
              return ((b * heads + h) * length + s) * width + f;
            }};
  }
  if (shape.size() != 3 || shape[0] != batch || shape[2] % heads != 0) no_such_operand(node, i);
  ValueId x = node.input(i);
  if (node.has_input(3)) {
    const Shape bias = node.input_shape(3);
    if (bias.size() != 1 || begin + shape[2] > bias[0])
      fail("BF1014", "", fmt::format("the bias has shape {}", to_string(bias)));
    const ValueId part = add_index_map(node, node.input(3), {shape[2]}, [&] {
      std::vector<std::int64_t> source(static_cast<std::size_t>(shape[2]));
      for (std::size_t k = 0; k < source.size(); ++k)
        source[k] = begin + static_cast<std::int64_t>(k);
      return source;
    });
    x = add_binary(node, Kind::kAdd, x, part);
  }
  return in_rows(x, shape[1], shape[2], 0, shape[2] / heads);
}

// Part k of `parts` in input i, [batch, length, heads, parts, width].
Operand packed_part(NodeImport& node, std::size_t i, std::int64_t batch, std::int64_t heads,
                    std::int64_t k, std::int64_t parts) {
  const Shape shape = node.input_shape(i);
  if (shape.size() != 5 || shape[0] != batch || shape[2] != heads || shape[3] != parts)
    no_such_operand(node, i);
  if (node.has_input(3))
    fail("BF1026", "", "a bias of packed operands", "add the bias before the operands are packed");
  const std::int64_t length = shape[1], width = shape[4];
  return {node.input(i), length, width, [=](auto b, auto h, auto s, auto f) {
            return (((b * length + s) * heads + h) * parts + k) * width + f;
          }};
}

// Queries, keys and values are inputs; keys and values, or all three, may be packed in one.
void import_multi_head_attention(NodeImport& node) {
  constexpr std::size_t kPastKey = 6, kPastValue = 7;
  need_no_buffer(node, {8, 9});
  const Shape query = node.input_shape(0);
  if (query.size() != 3 && query.size() != 5) no_such_operand(node, 0);
  const std::int64_t batch = query[0];
  const std::int64_t heads = read_heads(node, {query.size() == 3 ? query[2] : query[2] * query[4]});
  const auto all_packed = [&](std::int64_t k) { return packed_part(node, 0, batch, heads, k, 3); };
  const auto packed = [&](std::int64_t k) { return packed_part(node, 1, batch, heads, k, 2); };
  std::optional<Attended> of;
  if (query.size() == 5) {
    of = Attended{batch, heads, all_packed(0), all_packed(1), all_packed(2)};
  } else if (!node.has_input(2)) {
    of = Attended{batch, heads, read_operand(node, 0, batch, heads, 0), packed(0), packed(1)};
  } else {
    of = Attended{batch, heads, read_operand(node, 0, batch, heads, 0),
                  read_operand(node, 1, batch, heads, query[2]),
                  read_operand(node, 2, batch, heads, 2 * query[2])};
  }
  if (of->key.width != of->query.width) no_such_operand(node, 1);
  if (of->value.length != of->key.length) no_such_operand(node, 2);
  if (node.has_input(kPastKey) != node.has_input(kPastValue))
    fail("BF1011", "", "one of past_key and past_value is given without the other");
  if (node.has_input(kPastKey)) {
    of->past = past_length(node, kPastKey, {batch, heads}, of->key.width);
    if (past_length(node, kPastValue, {batch, heads}, of->value.width) != of->past)
      no_such_operand(node, kPastValue);
    of->key = behind_past(node, of->key, kPastKey, 0, batch, heads, of->past);
    of->value = behind_past(node, of->value, kPastValue, 0, batch, heads, of->past);
  }
  if (node.has_output(1)) node.emit(1, add_present(node, *of, of->key, heads));
  if (node.has_output(2)) node.emit(2, add_present(node, *of, of->value, heads));
  define_unavailable(node, 3);
  emit_attended(node, *of, {4, 5, node.flag("unidirectional", false)});
}

// ---- GroupQueryAttention: several heads of queries share a head of keys and values

struct Groups {
  std::int64_t heads, shared, width;  // heads of queries, heads of keys, features of each

  std::int64_t packed() const { return (heads + 2 * shared) * width; }
};

// Throws: BF1026 what ONNX Runtime's kernels understand differently, or bounds do not follow.
void check_group_query(const NodeImport& node, std::int64_t length) {
  for (const std::size_t i : {11U, 12U, 13U})
    if (node.has_input(i))
      fail("BF1026", "", fmt::format("input {}, of sinks or of quantised keys", i),
           "export the network without it");
  if (node.int_attribute("smooth_softmax", 0) == 1 || node.int_attribute("qk_output", 0) != 0)
    fail("BF1026", "", "attribute 'smooth_softmax' or 'qk_output' is set",
         "export the network without it");
  for (const char* const name : {"k_quant_type", "v_quant_type"})
    if (node.string_attribute(name, "NONE") != "NONE")
      fail("BF1026", "", fmt::format("attribute '{}' is not NONE", name),
           "export keys and values as real numbers");
  const std::int64_t window = node.int_attribute("local_window_size", -1);
  if (window >= 0 && window < length)
    fail("BF1026", "",
         fmt::format("attribute 'local_window_size' is {} for {} positions: versions of ONNX "
                     "Runtime read it differently",
                     window, length),
         "give texts of at most so many positions, or write the window as an attention bias");
}

// Throws: BF1026 unless all positions are taken: lengths less one in input 5, their largest in 6.
void check_lengths(const NodeImport& node, std::int64_t batch, std::int64_t length) {
  const IntegerTensor& lengths = node.integers(5, "lengths of keys");
  if (static_cast<std::int64_t>(lengths.data.size()) != batch)
    fail("BF1014", "", fmt::format("{} lengths of keys for {} texts", lengths.data.size(), batch));
  const std::int64_t total = node.integer(6, "total length");
  for (const std::int64_t each : lengths.data)
    if (each != length - 1 || total != length)
      fail("BF1026", "",
           fmt::format("a length of {} keys, the largest {}, for {} positions", each + 1, total,
                       length),
           "give texts that have no padding, and a past that is no buffer");
}

// Throws: BF1026 unless input 9, where it is given, has the positions of each text behind its past.
void check_positions(const NodeImport& node, std::int64_t past, std::int64_t length) {
  if (!node.has_input(9)) return;
  const std::vector<std::int64_t>& positions = node.integers(9, "position_ids").data;
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (positions[i] != past + static_cast<std::int64_t>(i) % length)
      fail("BF1026", "",
           fmt::format("position_ids has {} at place {}, which ONNX Runtime's kernels read "
                       "differently",
                       positions[i], i),
           "leave position_ids out: positions count from 0, and from the end of the past");
}

// [batch, heads, length, width] of an operand, turned by the tables in inputs 7 and 8 where the
// attribute 'do_rotary' asks for it.
Operand turned(NodeImport& node, const Attended& of, const Operand& operand, std::int64_t heads) {
  Attended part = of;
  part.heads = heads;
  ValueId x = add_heads(node, part, operand, false);
  const std::int64_t length = operand.length, width = operand.width;
  const auto at = [=](auto b, auto h, auto s, auto f) {
    return ((b * heads + h) * length + s) * width + f;
  };
  if (node.flag("do_rotary", false)) {
    const Shape table = node.input_shape(7);
    if (table.size() != 2 || table != node.input_shape(8) || table[1] < 1 || 2 * table[1] > width)
      fail("BF1014", "",
           fmt::format("tables of shapes {} and {} turn {} features", to_string(table),
                       to_string(node.input_shape(8)), width));
    const std::int64_t past = of.past;
    check_positions(node, past, length);
    if (table[0] < past + length)
      fail("BF1014", "", fmt::format("tables of {} positions for {}", table[0], past + length));
    const auto angle = [=](std::int64_t /*b*/, std::int64_t s, std::int64_t pair) {
      return (past + s) * table[1] + pair;
    };
    const bool interleaved = node.flag("rotary_interleaved", false);
    x = add_rotated(node, x, {of.batch, heads, length, at, 2 * table[1], interleaved, angle},
                    node.input(7), node.input(8));
  }
  return {x, length, width, at};
}

Groups read_groups(const NodeImport& node, const Shape& query, bool packed) {
  const std::int64_t heads = node.int_attribute("num_heads", 0);
  const std::int64_t shared = node.int_attribute("kv_num_heads", 0);
  const bool fits = query.size() == 3 && shared >= 1 && heads >= shared && heads <= query[2] &&
                    heads % shared == 0;
  const std::int64_t all = !fits ? 0 : packed ? heads + 2 * shared : heads;
  if (!fits || query[2] % all != 0)
    fail("BF1012", "",
         fmt::format("attributes 'num_heads' {} and 'kv_num_heads' {} for a query of shape {}",
                     heads, shared, to_string(query)));
  return {heads, shared, query[2] / all};
}

void import_group_query_attention(NodeImport& node) {
  const Shape query = node.input_shape(0);
  const bool packed = !node.has_input(1) && !node.has_input(2);
  const Groups groups = read_groups(node, query, packed);
  const std::int64_t batch = query[0], length = query[1];
  constexpr std::size_t kPastKey = 3, kPastValue = 4;
  if (node.has_input(kPastKey) != node.has_input(kPastValue))
    fail("BF1011", "", "one of past_key and past_value is given without the other");
  std::int64_t past = 0;
  if (node.has_input(kPastKey)) {
    past = past_length(node, kPastKey, {batch, groups.shared}, groups.width);
    if (node.input_shape(kPastValue) != node.input_shape(kPastKey))
      no_such_operand(node, kPastValue);
  }
  check_group_query(node, past + length);
  check_lengths(node, batch, past + length);
  const std::int64_t own = groups.heads * groups.width, theirs = groups.shared * groups.width;
  const auto operand = [&](std::size_t i, std::int64_t begin) {
    if (packed) return in_rows(node.input(0), length, groups.packed(), begin, groups.width);
    if (node.input_shape(i) != Shape{batch, length, i == 0 ? own : theirs})
      no_such_operand(node, i);
    return in_rows(node.input(i), length, i == 0 ? own : theirs, 0, groups.width);
  };
  Attended of{batch, groups.heads, operand(0, 0), operand(1, own), operand(2, own + theirs), past};
  of.query = turned(node, of, of.query, groups.heads);
  of.key = turned(node, of, of.key, groups.shared);
  if (past > 0) {
    of.key = behind_past(node, of.key, kPastKey, 0, batch, groups.shared, past);
    of.value = behind_past(node, of.value, kPastValue, 0, batch, groups.shared, past);
  }
  if (node.has_output(1)) node.emit(1, add_present(node, of, of.key, groups.shared));
  if (node.has_output(2)) node.emit(2, add_present(node, of, of.value, groups.shared));
  const std::int64_t group = groups.heads / groups.shared;
  for (Operand* const each : {&of.key, &of.value})
    each->at = [group, at = each->at](auto b, auto h, auto s, auto f) {
      return at(b, h / group, s, f);
    };
  const double softcap = node.float_attribute("softcap", 0);
  if (softcap < 0) fail("BF1012", "", fmt::format("attribute 'softcap' is {}", softcap));
  emit_attended(node, of, {std::nullopt, 10, true, softcap});
}

}  // namespace

OperatorRows fused_attention_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Attention",
       import_fused_attention,
       2,
       7,
       2,
       {"do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer",
        "qkv_hidden_sizes", "rotary_embedding_dim", "scale", "unidirectional"},
       kMicrosoft},
      {"GroupQueryAttention",
       import_group_query_attention,
       1,
       14,
       4,
       {"do_rotary", "k_quant_type", "kv_cache_bit_width", "kv_num_heads", "local_window_size",
        "num_heads", "qk_output", "rotary_interleaved", "scale", "smooth_softmax", "softcap",
        "v_quant_type"},
       kMicrosoft},
      {"MultiHeadAttention",
       import_multi_head_attention,
       1,
       10,
       4,
       {"mask_filter_value", "num_heads", "scale", "unidirectional"},
       kMicrosoft},
      {"QAttention",
       import_quantised_attention,
       5,
       9,
       2,
       {"do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer", "scale",
        "unidirectional"},
       kMicrosoft},
  };
  return kRows;
}

}  // namespace bf_aot
