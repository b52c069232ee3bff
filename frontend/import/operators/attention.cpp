#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/rotary.h"
#include "frontend/import/helpers/softmax.h"
#include "frontend/import/operators/operators.h"

// Attention and RotaryEmbedding of operator set 23 and newer, as the operators that ONNX's text
// defines them by.

namespace bf_aot {
namespace {

using Kind = Binary::Kind;
using onnx::TensorProto;

// A tensor of heads: [batch, heads, length, width], or [batch, length, heads width] when flat.
struct Heads {
  std::int64_t batch, heads, length, width;
  bool flat;

  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t f) const {
    return flat ? ((b * length + s) * heads + h) * width + f
                : ((b * heads + h) * length + s) * width + f;
  }
  std::int64_t count() const { return batch * heads * length * width; }
};

// Input i, whose number of heads the attribute gives where the tensor does not.
// Throws: BF1014, BF1012.
Heads heads_of(const NodeImport& node, std::size_t i, std::string_view attribute) {
  const Shape& shape = node.input_shape(i);
  if (shape.size() != 3 && shape.size() != 4)
    fail("BF1014", "",
         fmt::format("input {} has shape {}, neither [batch, heads, length, width] nor [batch, "
                     "length, heads x width]",
                     i, to_string(shape)));
  if (shape.size() == 4) {
    if (node.has_attribute(attribute) && node.int_attribute(attribute, 0) != shape[1])
      fail("BF1012", "",
           fmt::format("attribute '{}' is {}, but input {} has shape {}", attribute,
                       node.int_attribute(attribute, 0), i, to_string(shape)));
    return {shape[0], shape[1], shape[2], shape[3], false};
  }
  if (!node.has_attribute(attribute))
    fail("BF1012", "",
         fmt::format("attribute '{}' is missing, which says how many heads input {} of shape {} "
                     "has",
                     attribute, i, to_string(shape)));
  const std::int64_t heads = node.int_attribute(attribute, 0);
  if (heads < 1 || shape[2] % heads != 0)
    fail("BF1012", "",
         fmt::format("attribute '{}' is {}, which does not divide the last dimension of {}",
                     attribute, heads, to_string(shape)));
  return {shape[0], heads, shape[1], shape[2] / heads, true};
}

// Keys or values: those of the past, and behind them those of the input.
struct Cached {
  Heads now;
  std::vector<ValueId> parts;
  std::int64_t past = 0;

  std::int64_t length() const { return past + now.length; }
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t f) const {
    if (s < past) return ((b * now.heads + h) * past + s) * now.width + f;
    return now.batch * now.heads * past * now.width + now.at(b, h, s - past, f);
  }
};

Cached read_cached(NodeImport& node, std::size_t input, std::size_t past) {
  Cached made{heads_of(node, input, "kv_num_heads"), {}};
  if (node.has_input(past)) {
    const Shape& shape = node.input_shape(past);
    if (shape.size() != 4 || shape[0] != made.now.batch || shape[1] != made.now.heads ||
        shape[3] != made.now.width)
      fail("BF1014", "",
           fmt::format("input {} has shape {}, but {} is expected for input {}", past,
                       to_string(shape),
                       fmt::format("[{}, {}, any length, {}]", made.now.batch, made.now.heads,
                                   made.now.width),
                       input));
    made.past = shape[2];
    made.parts.push_back(node.input(past));
  }
  made.parts.push_back(node.input(input));
  return made;
}

struct Attention {
  Heads query;
  Cached key, value;

  std::int64_t group() const { return query.heads / key.now.heads; }  // heads that share a key
  Shape scores() const { return {query.batch, query.heads, query.length, key.length()}; }
};

Attention read_attention(NodeImport& node) {
  if (node.has_input(4) != node.has_input(5))
    fail("BF1011", "", "one of past_key and past_value is given without the other");
  Attention made{heads_of(node, 0, "q_num_heads"), read_cached(node, 1, 4),
                 read_cached(node, 2, 5)};
  const Heads &q = made.query, &k = made.key.now, &v = made.value.now;
  if (k.batch != q.batch || v.batch != q.batch || k.width != q.width || v.heads != k.heads ||
      v.length != k.length || made.key.past != made.value.past || q.heads % k.heads != 0)
    fail("BF1014", "",
         fmt::format("query, key and value of shapes {}, {} and {} do not fit one another",
                     to_string(node.input_shape(0)), to_string(node.input_shape(1)),
                     to_string(node.input_shape(2))));
  return made;
}

// Head h of the result is head h / group of what the cache holds, with rows of `length` or, turned,
// of `width`.
ValueId add_repeated(NodeImport& node, const Cached& from, std::int64_t group, bool turned) {
  const std::int64_t heads = from.now.heads * group, length = from.length();
  const std::int64_t rows = turned ? from.now.width : length;
  const std::int64_t columns = turned ? length : from.now.width;
  const Shape shape = {from.now.batch, heads, rows, columns};
  node.reader().charge(shape, "");
  std::vector<std::int64_t> source;
  for (std::int64_t b = 0; b < from.now.batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          source.push_back(turned ? from.at(b, h / group, c, r) : from.at(b, h / group, r, c));
  return add_selection(node, from.parts, source, shape);
}

// x in another order of the same heads.
ValueId add_in_order_of(NodeImport& node, ValueId x, const Heads& from, const Heads& to) {
  const Shape shape = to.flat ? Shape{to.batch, to.length, to.heads * to.width}
                              : Shape{to.batch, to.heads, to.length, to.width};
  return add_index_map(node, x, shape, [&] {
    std::vector<std::int64_t> source(static_cast<std::size_t>(to.count()));
    for (std::int64_t b = 0; b < to.batch; ++b)
      for (std::int64_t h = 0; h < to.heads; ++h)
        for (std::int64_t s = 0; s < to.length; ++s)
          for (std::int64_t f = 0; f < to.width; ++f)
            source[static_cast<std::size_t>(to.at(b, h, s, f))] = from.at(b, h, s, f);
    return source;
  });
}

// The attribute 'scale', or 1 / sqrt(width).
Bounded scale_of(const NodeImport& node, std::int64_t width) {
  if (node.has_attribute("scale")) return {node.float_attribute("scale", 1), 0};
  return one_over_root(width);
}

// Q K^T scale, [batch, heads, queries, keys].
ValueId add_scores(NodeImport& node, const Attention& attention) {
  const Heads& q = attention.query;
  ValueId query = node.input(0);
  if (q.flat) query = add_in_order_of(node, query, q, {q.batch, q.heads, q.length, q.width, false});
  query = add_multiple(node, query, scale_of(node, q.width));
  return node.add(MatMul{}, {query, add_repeated(node, attention.key, attention.group(), true)});
}

// c tanh(x / c) for the attribute c = 'softcap', unless it is 0.
ValueId add_softcap(NodeImport& node, ValueId scores) {
  const double cap = node.float_attribute("softcap", 0);
  if (cap < 0) fail("BF1012", "", fmt::format("attribute 'softcap' is {}", cap));
  if (cap == 0) return scores;
  const ValueId share = add_multiple(node, scores, divide({1, 0}, {cap, 0}));
  return add_scale(node, add_unary(node, share, {FunctionKind::kTanh}), cap, 0);
}

// The keys that each query may not attend to.
class Mask {
 public:
  explicit Mask(const Attention& attention)
      : shape_(attention.scores()),
        hidden_(static_cast<std::size_t>(element_count(shape_)), false) {}

  // Hides what hides(batch, head, query, key) says.
  template <typename Hides>
  void hide(const Hides& hides) {
    std::size_t i = 0;
    for (std::int64_t b = 0; b < shape_[0]; ++b)
      for (std::int64_t h = 0; h < shape_[1]; ++h)
        for (std::int64_t q = 0; q < shape_[2]; ++q)
          for (std::int64_t k = 0; k < shape_[3]; ++k, ++i)
            if (hides(b, h, q, k)) hidden_[i] = true;
  }

  const std::vector<bool>& hidden() const { return hidden_; }
  bool any() const { return std::ranges::find(hidden_, true) != hidden_.end(); }

 private:
  Shape shape_;
  std::vector<bool> hidden_;
};

// Which element of a tensor that broadcasts to [batch, heads, queries, keys] each score reads; its
// last dimension may be shorter.
class Broadcast {
 public:
  // Throws: BF1014, BF1026.
  Broadcast(const Shape& shape, const Shape& scores) : keys_(shape.empty() ? 1 : shape.back()) {
    if (keys_ == 1 && scores[3] != 1)
      fail("BF1026", "",
           fmt::format("a mask of one key for {}: it may be meant for all or for the first",
                       scores[3]),
           "give the mask a number for each key");
    Shape padded = shape;
    if (!shape.empty()) padded.back() = std::max(keys_, scores[3]);
    if (shape.empty() || shape.size() > 4 || !broadcasts_to(padded, scores))
      fail("BF1014", "",
           fmt::format("the mask has shape {}, which does not broadcast to {}", to_string(shape),
                       to_string(scores)));
    const std::vector<std::int64_t> strides = row_major_strides(shape);
    const std::size_t skipped = 4 - shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1) stride_[skipped + d] = strides[d];
  }

  // -1: behind the last of the mask's keys.
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t q, std::int64_t k) const {
    if (k >= keys_) return -1;
    return b * stride_[0] + h * stride_[1] + q * stride_[2] + k * stride_[3];
  }

 private:
  std::int64_t keys_;
  std::int64_t stride_[4] = {};
};

constexpr std::size_t kMaskInput = 3;
constexpr std::size_t kLengths = 6;

// Hides what input attn_mask does: where it is false, or -inf.
void hide_masked(NodeImport& node, const Attention& attention, Mask& mask) {
  const Broadcast source(node.input_shape(kMaskInput), attention.scores());
  const auto hide = [&](const auto& hides) {
    mask.hide([&](std::int64_t b, std::int64_t h, std::int64_t q, std::int64_t k) {
      const std::int64_t i = source.at(b, h, q, k);
      return i < 0 || hides(static_cast<std::size_t>(i));
    });
  };
  if (node.input_type(kMaskInput) == TensorProto::BOOL) {
    const Constant& allowed = node.constant(kMaskInput, "mask");
    return hide([&](std::size_t i) { return allowed.data[i] == 0; });
  }
  const std::vector<bool>* const hidden = node.hidden(kMaskInput);
  hide([&](std::size_t i) { return hidden != nullptr && (*hidden)[i]; });
}

// The keys at positions that the lengths of input nonpad_kv_seqlen leave out are hidden, and those
// that 'is_causal' and the windows do. Query i stands at position i + offset.
void hide_positions(NodeImport& node, const Attention& attention, Mask& mask) {
  std::vector<std::int64_t> offset(static_cast<std::size_t>(attention.query.batch),
                                   attention.key.past);
  if (node.has_input(kLengths)) {
    const std::vector<std::int64_t>& lengths = node.list(kLengths, "nonpad_kv_seqlen");
    if (lengths.size() != offset.size() || attention.key.past != 0)
      fail("BF1014", "",
           fmt::format("{} lengths for {} samples{}", lengths.size(), offset.size(),
                       attention.key.past != 0 ? ", beside a past" : ""));
    for (std::size_t b = 0; b < offset.size(); ++b) {
      if (lengths[b] < 0 || lengths[b] > attention.key.length())
        fail("BF1014", "", fmt::format("length {} of {} keys", lengths[b], attention.key.length()));
      offset[b] = lengths[b] - attention.query.length;
    }
    mask.hide([&](std::int64_t b, std::int64_t /*h*/, std::int64_t /*q*/, std::int64_t k) {
      return k >= lengths[static_cast<std::size_t>(b)];
    });
  }
  const auto window = [&](std::string_view name) {
    const std::int64_t size = node.int_attribute(name, -1);
    if (size < -1) fail("BF1012", "", fmt::format("attribute '{}' is {}", name, size));
    return size;
  };
  const std::int64_t left = window("left_window_size"), right = window("right_window_size");
  const bool causal = node.flag("is_causal", false);
  mask.hide([&](std::int64_t b, std::int64_t /*h*/, std::int64_t q, std::int64_t k) {
    const std::int64_t behind = q + offset[static_cast<std::size_t>(b)] - k;
    return (causal && behind < 0) || (left >= 0 && behind > left) ||
           (right >= 0 && -behind > right);
  });
}

// scores plus a mask of real numbers, where it has one.
ValueId add_bias(NodeImport& node, const Attention& attention, ValueId scores) {
  const Shape shape = attention.scores();
  const Broadcast source(node.input_shape(kMaskInput), shape);
  RowBuilder rows(node);
  for_each_index(shape, [&](const std::vector<std::int64_t>& at, std::int64_t /*flat*/) {
    rows.begin();
    const std::int64_t i = source.at(at[0], at[1], at[2], at[3]);
    if (i >= 0) rows.add(i);
  });
  const ValueId bias = std::move(rows).finish_sums(node.input(kMaskInput), shape);
  return add_binary(node, Kind::kAdd, scores, bias);
}

// [batch, heads, length, width] of what the cache holds.
ValueId add_present(NodeImport& node, const Cached& cached) {
  return add_repeated(node, cached, 1, false);
}

// The type that Softmax is said to be computed in makes no difference to exact arithmetic.
void check_precision(const NodeImport& node) {
  static constexpr ElementType kReal[] = {TensorProto::UNDEFINED, TensorProto::FLOAT,
                                          TensorProto::FLOAT16, TensorProto::DOUBLE,
                                          TensorProto::BFLOAT16};
  const ElementType type = node.type_attribute("softmax_precision", TensorProto::UNDEFINED);
  if (std::ranges::find(kReal, type) == std::end(kReal))
    fail("BF1012", "", fmt::format("attribute 'softmax_precision' is {}, no real type", int{type}));
}

void import_attention(NodeImport& node) {
  check_precision(node);
  const Attention attention = read_attention(node);
  const ValueId raw = add_scores(node, attention);
  const ValueId capped = add_softcap(node, raw);
  Mask mask(attention);
  ValueId biased = capped;
  if (node.has_input(kMaskInput)) {
    hide_masked(node, attention, mask);
    if (node.input_type(kMaskInput) != TensorProto::BOOL)
      biased = add_bias(node, attention, capped);
  }
  hide_positions(node, attention, mask);
  Grouping rows = softmax_rows(node, attention.scores(), -1, node.opset());
  leave_out(mask.hidden(), rows);
  // A query that attends to nothing has the result 0.
  std::erase_if(rows.members, [](const auto& row) { return row.empty(); });
  const ValueId shares = add_softmax(node, biased, rows);
  ValueId y =
      node.add(MatMul{}, {shares, add_repeated(node, attention.value, attention.group(), false)});
  const Heads& q = attention.query;
  const std::int64_t width = attention.value.now.width;
  if (q.flat)
    y = add_in_order_of(node, y, {q.batch, q.heads, q.length, width, false},
                        {q.batch, q.heads, q.length, width, true});
  node.emit(y);
  if (node.has_output(1)) node.emit(1, add_present(node, attention.key));
  if (node.has_output(2)) node.emit(2, add_present(node, attention.value));
  if (!node.has_output(3)) return;
  const std::int64_t mode = node.int_attribute("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    fail("BF1012", "", fmt::format("attribute 'qk_matmul_output_mode' is {}", mode));
  if (mode == 2 && mask.any()) return node.define(3, Masked{biased, mask.hidden()});
  const ValueId outputs[] = {raw, capped, biased, shares};
  node.emit(3, outputs[mode]);
}

void import_rotary_embedding(NodeImport& node) {
  const Heads x = heads_of(node, 0, "num_heads");
  std::int64_t turning = node.int_attribute("rotary_embedding_dim", 0);
  if (turning == 0) turning = x.width;
  if (turning < 2 || turning % 2 != 0 || turning > x.width)
    fail("BF1012", "",
         fmt::format("{} of {} features are to turn, which must be an even number", turning,
                     x.width));
  const std::int64_t half = turning / 2;
  const bool interleaved = node.flag("interleaved", false);
  const Shape angles = node.input_shape(1);
  const bool by_position = node.has_input(3);
  const IntegerTensor* const positions = by_position ? &node.integers(3, "position_ids") : nullptr;
  const Shape expected =
      by_position ? Shape{angles.empty() ? 0 : angles[0], half} : Shape{x.batch, x.length, half};
  for (std::size_t i : {1, 2})
    if (node.input_shape(i) != expected)
      fail("BF1014", "",
           fmt::format("input {} has shape {}, but {} is expected", i,
                       to_string(node.input_shape(i)), to_string(expected)));
  if (positions != nullptr && positions->shape != Shape{x.batch, x.length})
    fail("BF1014", "",
         fmt::format("position_ids have shape {}, but {} is expected", to_string(positions->shape),
                     to_string({x.batch, x.length})));
  const auto angle_at = [&](std::int64_t b, std::int64_t s, std::int64_t pair) {
    std::int64_t row = b * x.length + s;
    if (positions != nullptr) {
      row = positions->data[static_cast<std::size_t>(row)];
      if (row < 0 || row >= angles[0])
        fail("BF1014", "", fmt::format("position {} of {}", row, angles[0]));
    }
    return row * half + pair;
  };
  const auto at = [&](auto b, auto h, auto p, auto f) { return x.at(b, h, p, f); };
  const Rotation rotation{x.batch, x.heads, x.length, at, turning, interleaved, angle_at};
  node.emit(add_rotated(node, node.input(0), rotation, node.input(1), node.input(2)));
}

// That of com.microsoft: rows of tables of all positions, from the one of input 1 on or at those of
// input 1.
void import_rotary_embedding_of_runtime(NodeImport& node) {
  const Shape shape = node.input_shape(0), angles = node.input_shape(2);
  if (angles.size() != 2 || angles != node.input_shape(3) || angles[1] < 1)
    fail("BF1014", "",
         fmt::format("tables of shapes {} and {}", to_string(angles),
                     to_string(node.input_shape(3))));
  if (node.flag("is_packed_batching", false) || node.float_attribute("scale", 1) != 1)
    fail("BF1026", "", "attribute 'is_packed_batching' or 'scale' is set",
         "export the network without it");
  const std::int64_t turning = 2 * angles[1];
  const std::int64_t asked = node.int_attribute("rotary_embedding_dim", 0);
  const std::int64_t given = node.int_attribute("num_heads", 0);
  Heads x{};
  if (shape.size() == 4) {
    x = {shape[0], shape[1], shape[2], shape[3], false};
  } else if (shape.size() == 3) {
    const std::int64_t heads = given > 0 ? given : shape[2] / turning;
    if (heads > 0 && shape[2] % heads == 0) x = {shape[0], heads, shape[1], shape[2] / heads, true};
  }
  if (x.width < turning || (asked != 0 && asked != turning) || (asked == 0 && x.width != turning) ||
      (asked != 0 && given <= 0))
    fail("BF1012", "",
         fmt::format("attributes 'num_heads' {} and 'rotary_embedding_dim' {} for an input of "
                     "shape {} and tables of shape {}",
                     given, asked, to_string(shape), to_string(angles)));
  std::vector<std::int64_t> positions = node.integers(1, "position_ids").data;
  if (positions.size() == 1 && x.batch * x.length != 1) {
    const std::int64_t first = positions[0];
    positions.clear();
    for (std::int64_t i = 0; i < x.batch * x.length; ++i) positions.push_back(i % x.length);
    if (first < 0 || first > angles[0])
      fail("BF1014", "", fmt::format("position {} of {}", first, angles[0]));
    for (std::int64_t& each : positions) each += first;
  }
  if (static_cast<std::int64_t>(positions.size()) != x.batch * x.length)
    fail("BF1014", "",
         fmt::format("{} position_ids for an input of shape {}", positions.size(),
                     to_string(shape)));
  const auto angle_at = [&](std::int64_t b, std::int64_t s, std::int64_t pair) {
    const std::int64_t row = positions[static_cast<std::size_t>(b * x.length + s)];
    if (row < 0 || row >= angles[0])
      fail("BF1014", "", fmt::format("position {} of {}", row, angles[0]));
    return row * angles[1] + pair;
  };
  const auto at = [&](auto b, auto h, auto p, auto f) { return x.at(b, h, p, f); };
  const Rotation rotation{x.batch, x.heads, x.length, at, turning, node.flag("interleaved", false),
                          angle_at};
  node.emit(add_rotated(node, node.input(0), rotation, node.input(2), node.input(3)));
}

}  // namespace

OperatorRows attention_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Attention",
       import_attention,
       3,
       7,
       4,
       {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads", "qk_matmul_output_mode",
        "right_window_size", "scale", "softcap", "softmax_precision"}},
      {"RotaryEmbedding",
       import_rotary_embedding,
       3,
       4,
       1,
       {"interleaved", "num_heads", "rotary_embedding_dim"}},
      {"RotaryEmbedding",
       import_rotary_embedding_of_runtime,
       4,
       4,
       1,
       {"interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale"},
       kMicrosoft},
  };
  return kRows;
}

}  // namespace bf_aot
