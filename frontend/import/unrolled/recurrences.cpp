#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Operators that carry a state along a text: causal convolution, and attention whose state is a
// matrix. The text has a constant length, over which they are unrolled.

namespace bf_aot {
namespace {

using Kind = Binary::Kind;

// Throws: BF1014 unless the input has this shape.
void expect_shape(const NodeImport& node, std::size_t i, const Shape& shape,
                  std::string_view role) {
  if (node.input_shape(i) != shape)
    fail("BF1014", "",
         fmt::format("the {} has shape {}, not {}", role, to_string(node.input_shape(i)),
                     to_string(shape)));
}

// Throws: BF1014.
void expect_rank(const NodeImport& node, std::size_t i, std::size_t rank, std::string_view role) {
  if (node.input_shape(i).size() != rank)
    fail("BF1014", "",
         fmt::format("the {} has shape {}, not {} dimensions", role, to_string(node.input_shape(i)),
                     rank));
}

// A text of `length` numbers in each channel, behind the last `taps` - 1 of an earlier one, or
// zeros.
struct PaddedText {
  std::int64_t batch, channels, length, taps;
  bool has_past;

  // The element of past and text, one after the other, at a position of the padded text; nothing: a
  // zero.
  std::optional<std::int64_t> element(std::int64_t row, std::int64_t position) const {
    const std::int64_t past = taps - 1;
    const std::int64_t first = has_past ? batch * channels * past : 0;
    if (position >= past) return first + row * length + position - past;
    return has_past ? std::optional(row * past + position) : std::nullopt;
  }
};

// y_{b, c, t} = the activation of bias_c + the sum of w_{c, j} padded_{b, c, t + j}.
void import_causal_conv(NodeImport& node) {
  node.check_same_types(4);
  expect_rank(node, 0, 3, "input");
  const Shape shape = node.input_shape(0);
  const Constant weight = node.constant(1, "weights");
  if (weight.shape.size() != 3 || weight.shape[0] != shape[1] || weight.shape[1] != 1 ||
      weight.shape[2] < 1)
    fail("BF1014", "",
         fmt::format("weights of shape {} for {} channels", to_string(weight.shape), shape[1]));
  const std::string activation = node.string_attribute("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    fail("BF1012", "",
         fmt::format("attribute 'activation' is '{}', not none, silu or swish",
                     printable(activation)));
  const PaddedText text{shape[0], shape[1], shape[2], weight.shape[2], node.has_input(3)};
  if (text.has_past)
    expect_shape(node, 3, {text.batch, text.channels, text.taps - 1}, "earlier text");
  if (node.has_input(2)) expect_shape(node, 2, {text.channels}, "bias");
  const Constant bias = node.has_input(2) ? node.constant(2, "bias") : filled({text.channels}, 0);
  ValueId x = node.input(0);
  if (text.has_past && text.taps > 1) x = add_concat(node, {node.input(3), x});
  const std::int64_t rows = text.batch * text.channels;
  RowBuilder sums(node), kept(node);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t channel = row % text.channels;
    for (std::int64_t t = 0; t < text.length; ++t) {
      sums.begin(bounded_at(bias, static_cast<std::size_t>(channel)));
      for (std::int64_t j = 0; j < text.taps; ++j)
        if (const auto element = text.element(row, t + j))
          sums.add(*element, bounded_at(weight, static_cast<std::size_t>(channel * text.taps + j)));
    }
    for (std::int64_t t = 0; t < text.taps - 1; ++t) {
      kept.begin();
      if (const auto element = text.element(row, text.length + t)) kept.add(*element);
    }
  }
  if (node.has_output(1)) {
    if (text.taps == 1) fail("BF1014", "", "the state of a convolution of one tap has no elements");
    node.emit(1, std::move(kept).finish_sums(x, {text.batch, text.channels, text.taps - 1}));
  }
  const ValueId y = std::move(sums).finish_sums(x, shape);
  if (activation == "none") return node.emit(y);
  node.emit(Binary{Kind::kMul}, {y, add_unary(node, y, {FunctionKind::kSigmoid})});
}

// Attention whose state S, [keys, values] for each head, takes in a token at a time:
//   S = e^decay S, value = beta (value - S^T key), S = S + key value^T, output = scale S^T query,
// without the first where the rule has no decay, without the second where it has no beta.
class LinearAttention {
 public:
  explicit LinearAttention(NodeImport& node) : node_(node) {
    read_rule();
    read_sizes();
  }

  void import() {
    std::optional<ValueId> state;
    if (node_.has_input(3)) {
      expect_shape(node_, 3, {batch_, heads_, keys_, values_}, "earlier state");
      state = node_.input(3);
    }
    std::vector<ValueId> outputs;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      state = next(state, t);
      outputs.push_back(output(*state, t));
    }
    if (node_.has_output(1)) node_.emit(1, *state);
    emit_outputs(outputs);
  }

 private:
  void read_rule() {
    const std::string rule = node_.string_attribute("update_rule", "gated_delta");
    const bool known =
        rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta";
    if (!known)
      fail("BF1012", "", fmt::format("attribute 'update_rule' is '{}'", printable(rule)),
           "linear, gated, delta and gated_delta are");
    decays_ = rule.starts_with("gated");
    corrects_ = rule.ends_with("delta");
    if (decays_ != node_.has_input(4) || corrects_ != node_.has_input(5))
      fail("BF1011", "", fmt::format("rule '{}' and its inputs decay and beta do not fit", rule),
           "decay is of the gated rules, beta of the delta rules");
  }

  void read_sizes() {
    for (const char* const name : {"q_num_heads", "kv_num_heads"})
      if (!node_.has_attribute(name))
        fail("BF1012", "", fmt::format("attribute '{}' is missing", name));
    query_heads_ = node_.int_attribute("q_num_heads", 0);
    heads_ = node_.int_attribute("kv_num_heads", 0);
    for (std::size_t i = 0; i < 3; ++i) expect_rank(node_, i, 3, "text");
    const Shape query = node_.input_shape(0), key = node_.input_shape(1);
    const Shape value = node_.input_shape(2);
    if (heads_ < 1 || query_heads_ < 1 || query_heads_ % heads_ != 0 ||
        query[2] % query_heads_ != 0 || value[2] % heads_ != 0)
      fail("BF1014", "",
           fmt::format("{} heads of queries {}, {} of values {}", query_heads_, to_string(query),
                       heads_, to_string(value)));
    batch_ = query[0];
    tokens_ = query[1];
    keys_ = query[2] / query_heads_;
    values_ = value[2] / heads_;
    if (key != Shape{batch_, tokens_, heads_ * keys_} || value[0] != batch_ || value[1] != tokens_)
      fail("BF1014", "",
           fmt::format("queries of shape {}, keys of {}, values of {}", to_string(query),
                       to_string(key), to_string(value)));
  }

  // Token t of input i, [batch, tokens, heads width], as [batch, heads, rows, columns], one of
  // which is the width, the other one.
  ValueId token(std::size_t i, std::int64_t t, std::int64_t heads, std::int64_t rows,
                std::int64_t columns) {
    const std::int64_t width = rows * columns;
    if (node_.input_shape(i) != Shape{batch_, tokens_, heads * width})
      fail("BF1014", "", fmt::format("input {} has shape {}", i, to_string(node_.input_shape(i))));
    return add_index_map(node_, node_.input(i), {batch_, heads, rows, columns}, [&] {
      std::vector<std::int64_t> source;
      for (std::int64_t b = 0; b < batch_; ++b)
        for (std::int64_t k = 0; k < heads * width; ++k)
          source.push_back((b * tokens_ + t) * heads * width + k);
      return source;
    });
  }

  // e^decay of token t: one number a head, or one a row of its state.
  ValueId decay(std::int64_t t) {
    const bool by_head = node_.input_shape(4).back() == heads_;
    return add_unary(node_, token(4, t, heads_, by_head ? 1 : keys_, 1), {FunctionKind::kExp});
  }

  ValueId beta(std::int64_t t) {
    return token(5, t, node_.input_shape(5).back() == 1 ? 1 : heads_, 1, 1);
  }

  ValueId next(std::optional<ValueId> state, std::int64_t t) {
    ValueId value = token(2, t, heads_, 1, values_);
    if (state && decays_) state = add_binary(node_, Kind::kMul, *state, decay(t));
    if (state && corrects_) {
      const ValueId found = node_.add(MatMul{}, {token(1, t, heads_, 1, keys_), *state});
      value = add_binary(node_, Kind::kSub, value, found);
    }
    if (corrects_) value = add_binary(node_, Kind::kMul, value, beta(t));
    const ValueId written = add_binary(node_, Kind::kMul, token(1, t, heads_, keys_, 1), value);
    return state ? add_binary(node_, Kind::kAdd, *state, written) : written;
  }

  // [batch, query heads, 1, values]; several heads of queries read one state.
  ValueId output(ValueId state, std::int64_t t) {
    const std::int64_t size = keys_ * values_, group = query_heads_ / heads_;
    const Shape shape = {batch_, query_heads_, keys_, values_};
    const ValueId read = group == 1 ? state : add_index_map(node_, state, shape, [&] {
      std::vector<std::int64_t> source;
      for (std::int64_t k = 0; k < element_count(shape); ++k)
        source.push_back(k / size / group * size + k % size);
      return source;
    });
    const ValueId y = node_.add(MatMul{}, {token(0, t, query_heads_, 1, keys_), read});
    const double scale = node_.float_attribute("scale", 0);
    return add_multiple(node_, y, scale == 0 ? one_over_root(keys_) : Bounded{scale, 0});
  }

  void emit_outputs(const std::vector<ValueId>& outputs) {
    const std::int64_t width = query_heads_ * values_;
    std::vector<std::int64_t> source;
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t t = 0; t < tokens_; ++t)
        for (std::int64_t k = 0; k < width; ++k) source.push_back((t * batch_ + b) * width + k);
    node_.emit(add_selection(node_, outputs, source, {batch_, tokens_, width}));
  }

  NodeImport& node_;
  bool decays_ = false, corrects_ = false;
  std::int64_t query_heads_ = 0, heads_ = 0, batch_ = 0, tokens_ = 0, keys_ = 0, values_ = 0;
};

void import_linear_attention(NodeImport& node) {
  node.check_same_types(6);
  LinearAttention(node).import();
}

}  // namespace

OperatorRows recurrence_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"CausalConvWithState", import_causal_conv, 2, 4, 2, {"activation"}},
      {"LinearAttention",
       import_linear_attention,
       3,
       6,
       2,
       {"chunk_size", "kv_num_heads", "q_num_heads", "scale", "update_rule"}},
  };
  return kRows;
}

}  // namespace bf_aot
