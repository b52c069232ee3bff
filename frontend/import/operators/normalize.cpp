#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/embedding.h"
#include "frontend/import/helpers/grouping.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/pooling.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

using Kind = Binary::Kind;

double read_epsilon(const NodeImport& node, double otherwise) {
  const double epsilon = node.float_attribute("epsilon", otherwise);
  if (epsilon < 0) fail("BF1012", "", fmt::format("attribute 'epsilon' is {}", epsilon));
  return epsilon;
}

// Parameters [channels] as [1, channels, 1, ...] against an input of the rank given.
ValueId add_per_channel(NodeImport& node, std::size_t input, std::int64_t channels,
                        std::size_t rank) {
  const Shape& shape = node.input_shape(input);
  if (shape != Shape{channels})
    fail("BF1014", "",
         fmt::format("input {} has shape {}, but there are {} channels", input, to_string(shape),
                     channels));
  Shape spread(rank, 1);
  spread[1] = channels;
  return add_reshape(node, node.input(input), spread);
}

void need_channels(const NodeImport& node) {
  const Shape& shape = node.input_shape(0);
  if (shape.size() < 2)
    fail("BF1014", "",
         fmt::format("the input has shape {}, but [batch, channels, ...] is needed",
                     to_string(shape)));
}

struct Normalized {
  ValueId value;
  ValueId inverse_deviation;  // one per group
};

// (x - mean) / sqrt(variance + epsilon) in each group.
Normalized add_normalized(NodeImport& node, ValueId x, const Grouping& groups, double epsilon) {
  const ValueId centered = add_centered(node, x, groups);
  const ValueId squares = add_unary(node, centered, {FunctionKind::kPower, 2});
  const ValueId variance = add_group_sums(node, squares, groups, one_over(groups.size()), epsilon);
  const ValueId inverse = add_unary(node, variance, {FunctionKind::kPower, -0.5});
  const Shape shape = node.shape_of(x);
  return {add_binary(node, Kind::kMul, centered, add_ungroup(node, inverse, groups, shape)),
          inverse};
}

// y and input i, which broadcasts; y where that is left out.
ValueId add_with_input(NodeImport& node, Kind kind, ValueId y, std::size_t i) {
  if (!node.has_input(i)) return y;
  const Shape shape = node.shape_of(y);
  if (!broadcasts_to(node.input_shape(i), shape))
    fail("BF1014", "",
         fmt::format("input {} of shape {} does not broadcast to {}", i,
                     to_string(node.input_shape(i)), to_string(shape)));
  return add_binary(node, kind, y, node.input(i));
}

// y times input `scale` plus input `scale` + 1, where they are given; broadcast.
ValueId add_scale_and_bias(NodeImport& node, ValueId y, std::size_t scale) {
  y = add_with_input(node, Kind::kMul, y, scale);
  return add_with_input(node, Kind::kAdd, y, scale + 1);
}

// Dimensions from `axis` on.
std::vector<bool> from_axis(const NodeImport& node, std::int64_t otherwise) {
  const std::size_t rank = node.input_shape(0).size();
  const std::size_t axis = checked_axis(node.int_attribute("axis", otherwise), rank);
  std::vector<bool> along(rank, false);
  std::fill(along.begin() + static_cast<std::ptrdiff_t>(axis), along.end(), true);
  return along;
}

Shape reduced(Shape shape, const std::vector<bool>& along) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (along[d]) shape[d] = 1;
  return shape;
}

// (x - mean) scale / sqrt(variance + epsilon) + bias, all parameters constant or not.
void import_batch_normalization(NodeImport& node) {
  need_channels(node);
  node.check_same_types(5);
  constexpr std::int64_t kInferenceByDefault = 7;
  if (node.flag("training_mode", false) ||
      (node.opset() < kInferenceByDefault && !node.flag("is_test", false)))
    fail("BF1020", "", "training_mode is on", "export the model in evaluation mode");
  if (!node.flag("spatial", true))
    fail("BF1026", "", "one mean per element (spatial = 0) is not supported",
         "export with opset 9 or newer");
  for (std::size_t i = 1; i < node.output_count(); ++i)
    if (node.has_output(i))
      node.define(i, Unavailable{"a statistic that " + node.origin().text + " makes in training",
                                 "export the model in evaluation mode"});
  const Shape shape = node.input_shape(0);
  const auto parameter = [&](std::size_t i) {
    return add_per_channel(node, i, shape[1], shape.size());
  };
  const double epsilon = read_epsilon(node, 1e-5f);
  const ValueId x = node.input(0);
  const ValueId variance = add_binary(node, Kind::kAdd, parameter(4), add_constant(node, epsilon));
  const ValueId deviation = add_unary(node, variance, {FunctionKind::kSqrt});
  const ValueId factor = add_binary(node, Kind::kDiv, parameter(1), deviation);
  const ValueId shift = add_binary(node, Kind::kSub, parameter(2),
                                   add_binary(node, Kind::kMul, parameter(3), factor));
  node.emit(add_binary(node, Kind::kAdd, add_binary(node, Kind::kMul, x, factor), shift));
}

void import_instance_normalization(NodeImport& node) {
  need_channels(node);
  node.check_same_types(3);
  const Shape shape = node.input_shape(0);
  std::vector<bool> along(shape.size(), true);
  along[0] = along[1] = false;
  const Grouping groups = group_along(node, shape, along);
  const ValueId y = add_normalized(node, node.input(0), groups, read_epsilon(node, 1e-5f)).value;
  const ValueId scaled =
      add_binary(node, Kind::kMul, y, add_per_channel(node, 1, shape[1], shape.size()));
  node.emit(add_binary(node, Kind::kAdd, scaled, add_per_channel(node, 2, shape[1], shape.size())));
}

// x, of the shape of input 0, normalised from the axis on, with scale and bias in inputs `scale`
// and the next. Outputs 1 and 2 are mean and inverse deviation.
void emit_layer_normalization(NodeImport& node, ValueId x, std::size_t scale, double epsilon) {
  const Shape shape = node.shape_of(x);
  const std::vector<bool> along = from_axis(node, -1);
  const Grouping groups = group_along(node, shape, along);
  const Normalized y = add_normalized(node, x, groups, epsilon);
  node.emit(add_scale_and_bias(node, y.value, scale));
  const Shape statistics = reduced(shape, along);
  if (node.has_output(1))
    node.emit(
        1, add_reshape(node, add_group_sums(node, x, groups, one_over(groups.size())), statistics));
  if (node.has_output(2)) node.emit(2, add_reshape(node, y.inverse_deviation, statistics));
}

void import_layer_normalization(NodeImport& node) {
  node.check_same_types(3);
  emit_layer_normalization(node, node.input(0), 1, read_epsilon(node, 1e-5f));
}

// Inputs 0 and 1 added up, and input `bias`, which ONNX Runtime's optimiser puts between two
// layers. Throws: BF1014.
ValueId add_skipped(NodeImport& node, std::size_t bias) {
  const ValueId sum = add_with_input(node, Kind::kAdd, node.input(0), 1);
  return add_with_input(node, Kind::kAdd, sum, bias);
}

constexpr std::size_t kSkippedSum = 3;   // an output
constexpr double kSkipEpsilon = 1e-12F;  // the default of com.microsoft's operators

void import_skip_layer_normalization(NodeImport& node) {
  const ValueId sum = add_skipped(node, 4);
  if (node.has_output(kSkippedSum)) node.emit(kSkippedSum, sum);
  emit_layer_normalization(node, sum, 2, read_epsilon(node, kSkipEpsilon));
}

// Scale and bias are per group before opset 21, per channel since.
void import_group_normalization(NodeImport& node) {
  constexpr std::int64_t kPerChannel = 21;
  need_channels(node);
  node.check_same_types(3);
  const Shape shape = node.input_shape(0);
  const std::int64_t count = node.int_attribute("num_groups", 0);
  if (count < 1 || shape[1] % count != 0)
    fail("BF1014", "", fmt::format("{} groups of {} channels", count, shape[1]));
  Shape split = {shape[0], count, shape[1] / count};
  split.insert(split.end(), shape.begin() + 2, shape.end());
  std::vector<bool> along(split.size(), true);
  along[0] = along[1] = false;
  const Grouping groups = group_along(node, split, along);
  ValueId y = add_normalized(node, node.input(0), groups, read_epsilon(node, 1e-5f)).value;
  const bool per_channel = node.opset() >= kPerChannel;
  const Shape view = per_channel ? shape : split;
  y = add_reshape(node, y, view);
  const std::int64_t parameters = per_channel ? shape[1] : count;
  y = add_binary(node, Kind::kMul, y, add_per_channel(node, 1, parameters, view.size()));
  y = add_binary(node, Kind::kAdd, y, add_per_channel(node, 2, parameters, view.size()));
  node.emit(add_reshape(node, y, shape));
}

// (x - mean) / (sqrt(variance) + 1e-9).
void import_mean_variance_normalization(NodeImport& node) {
  constexpr double kDeviationOffset = 1e-9f;  // of the operator's definition, in float
  const Shape shape = node.input_shape(0);
  std::vector<bool> along(shape.size(), false);
  const std::vector<std::int64_t> axes =
      node.ints_attribute("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  if (axes.empty()) fail("BF1012", "", "attribute 'axes' is empty");
  for (std::int64_t axis : axes) along[checked_axis(axis, shape.size())] = true;
  const Grouping groups = group_along(node, shape, along);
  const ValueId centered = add_centered(node, node.input(0), groups);
  const ValueId variance = add_group_sums(
      node, add_unary(node, centered, {FunctionKind::kPower, 2}), groups, one_over(groups.size()));
  const ValueId deviation =
      add_scale(node, add_unary(node, variance, {FunctionKind::kSqrt}), 1, kDeviationOffset);
  node.emit(add_binary(node, Kind::kDiv, centered, add_ungroup(node, deviation, groups, shape)));
}

void import_lp_normalization(NodeImport& node) {
  const std::int64_t p = node.int_attribute("p", 2);
  if (p != 1 && p != 2) fail("BF1012", "", fmt::format("attribute 'p' is {}, neither 1 nor 2", p));
  node.emit(add_normalized(node, node.input(0), p, node.int_attribute("axis", -1)));
}

// Throws: BF1014.
void check_embedding(const NodeImport& node, std::size_t table, const Shape& word) {
  const Shape& shape = node.input_shape(table);
  if (shape.size() != 2 || shape[1] != word.back())
    fail("BF1014", "",
         fmt::format("input {}, a table, has shape {}, but rows of {} numbers are expected", table,
                     to_string(shape), word.back()));
}

// How many tokens of each text the mask in input 7 takes; 0 without a mask, as ONNX Runtime has it.
IntegerTensor masked_lengths(const NodeImport& node, const Shape& ids) {
  IntegerTensor lengths{{ids[0]}, std::vector<std::int64_t>(static_cast<std::size_t>(ids[0]), 0)};
  lengths.type = onnx::TensorProto::INT32;
  if (!node.has_input(7)) return lengths;
  const IntegerTensor& mask = node.integers(7, "mask");
  if (mask.shape != ids)
    fail("BF1014", "",
         fmt::format("a mask of shape {} for tokens {}", to_string(mask.shape), to_string(ids)));
  for (std::int64_t i = 0; i < ids[0] * ids[1]; ++i)
    if (mask.data[static_cast<std::size_t>(i)] == 1)
      ++lengths.data[static_cast<std::size_t>(i / ids[1])];
  return lengths;
}

// Rows of tables for words, positions and segments, added up and normalised. Token ids are constant
// or such of --tokens; a position is its index unless input 8 says otherwise.
void import_embed_layer_normalization(NodeImport& node) {
  const Shape ids = node.input_shape(0);
  if (ids.size() != 2)
    fail("BF1014", "", fmt::format("token ids have shape {}, not [batch, length]", to_string(ids)));
  node.set_output_type(node.input_type(2));
  for (const std::size_t i : {5, 6}) (void)node.input_shape(i);  // scale and bias have to be there
  ValueId sum = add_looked_up(node, 2, 0);
  const Shape shape = node.shape_of(sum);
  check_embedding(node, 2, shape);
  check_embedding(node, 3, shape);
  if (node.has_input(8)) {
    sum = add_binary(node, Kind::kAdd, sum, add_looked_up(node, 3, 8));
  } else {
    if (node.input_shape(3)[0] < ids[1])
      fail("BF1014", "", fmt::format("{} positions for {} tokens", node.input_shape(3)[0], ids[1]));
    const std::int64_t count = ids[1] * shape.back();
    std::vector<std::int64_t> source(static_cast<std::size_t>(ids[0] * count));
    for (std::size_t i = 0; i < source.size(); ++i)
      source[i] = static_cast<std::int64_t>(i) % count;
    sum = add_binary(node, Kind::kAdd, sum, add_selection(node, {node.input(3)}, source, shape));
  }
  if (node.has_input(1) != node.has_input(4))
    fail("BF1011", "", "of segments it needs both the ids and the table, or neither");
  if (node.has_input(1)) {
    check_embedding(node, 4, shape);
    sum = add_binary(node, Kind::kAdd, sum, add_looked_up(node, 4, 1));
  }
  std::vector<bool> along(shape.size(), false);
  along.back() = true;
  const Grouping groups = group_along(node, shape, along);
  const Normalized y = add_normalized(node, sum, groups, read_epsilon(node, kSkipEpsilon));
  node.emit(add_scale_and_bias(node, y.value, 5));
  if (node.has_output(1)) node.emit(1, Tensor(masked_lengths(node, ids)));
  if (node.has_output(2)) node.emit(2, sum);
}

// x / sqrt(mean of x^2 + epsilon) times input `scale`. Output `inverse` is what x is multiplied by.
void emit_rms_normalization(NodeImport& node, ValueId x, std::size_t scale, double epsilon,
                            std::size_t inverse) {
  const Shape shape = node.shape_of(x);
  const std::vector<bool> along = from_axis(node, -1);
  const Grouping groups = group_along(node, shape, along);
  const ValueId mean = add_group_sums(node, add_unary(node, x, {FunctionKind::kPower, 2}), groups,
                                      one_over(groups.size()), epsilon);
  const ValueId factor = add_unary(node, mean, {FunctionKind::kPower, -0.5});
  const ValueId y = add_binary(node, Kind::kMul, x, add_ungroup(node, factor, groups, shape));
  node.emit(add_with_input(node, Kind::kMul, y, scale));
  if (node.has_output(inverse))
    node.emit(inverse, add_reshape(node, factor, reduced(shape, along)));
}

void import_rms_normalization(NodeImport& node) {
  node.check_same_types(2);
  emit_rms_normalization(node, node.input(0), 1, read_epsilon(node, 1e-5f), 1);
}

void import_skip_rms_normalization(NodeImport& node) {
  const ValueId sum = add_skipped(node, 3);
  if (node.has_output(kSkippedSum)) node.emit(kSkippedSum, sum);
  if (node.has_output(1))
    node.define(1, Unavailable{"the mean that " + node.origin().text + " makes",
                               "give the model from before ONNX Runtime's optimiser"});
  emit_rms_normalization(node, sum, 2, read_epsilon(node, kSkipEpsilon), 2);
}

// x / (bias + alpha / size sum of x^2 over the neighbouring channels)^beta.
void import_lrn(NodeImport& node) {
  need_channels(node);
  const Shape shape = node.input_shape(0);
  const std::int64_t size = node.int_attribute("size", 0);
  if (size < 1 || size > (std::int64_t{1} << 31))
    fail("BF1012", "", fmt::format("attribute 'size' is {}", size));
  const double bias = node.float_attribute("bias", 1);
  const Bounded share = multiply({node.float_attribute("alpha", 1e-4f), 0}, one_over(size));
  const double beta = node.float_attribute("beta", 0.75);
  const ValueId x = node.input(0);
  const ValueId squares = add_unary(node, x, {FunctionKind::kPower, 2});
  const std::int64_t channels = shape[1];
  const std::int64_t images = shape[0];
  const std::int64_t area = element_count(shape) / (images * channels);
  RowBuilder rows(node);
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < area; ++i) {
        rows.begin({bias, 0});
        const std::int64_t last = std::min(channels - 1, c + size / 2);
        for (std::int64_t k = std::max<std::int64_t>(0, c - (size - 1) / 2); k <= last; ++k)
          rows.add((n * channels + k) * area + i, share);
      }
  const ValueId sums = std::move(rows).finish_sums(squares, shape);
  node.emit(add_binary(node, Kind::kMul, x, add_unary(node, sums, {FunctionKind::kPower, -beta})));
}

}  // namespace

// x divided by the norm along one axis.
ValueId add_normalized(NodeImport& node, ValueId x, std::int64_t p, std::int64_t axis) {
  const Shape shape = node.input_shape(0);
  std::vector<bool> along(shape.size(), false);
  along[checked_axis(axis, shape.size())] = true;
  const Grouping groups = group_along(node, shape, along);
  const ValueId powers = p == 1 ? add_unary(node, x, {FunctionKind::kAbs})
                                : add_unary(node, x, {FunctionKind::kPower, 2});
  ValueId norm = add_group_sums(node, powers, groups, {1, 0});
  if (p == 2) norm = add_unary(node, norm, {FunctionKind::kSqrt});
  return add_binary(node, Kind::kDiv, x, add_ungroup(node, norm, groups, shape));
}

OperatorRows normalize_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"BatchNormalization",
       import_batch_normalization,
       5,
       5,
       5,
       {"consumed_inputs", "epsilon", "is_test", "momentum", "spatial", "training_mode"}},
      {"EmbedLayerNormalization",
       import_embed_layer_normalization,
       1,
       9,
       3,
       {"epsilon", "mask_index_type"},
       kMicrosoft},
      {"GroupNormalization",
       import_group_normalization,
       3,
       3,
       1,
       {"epsilon", "num_groups", "stash_type"}},
      {"InstanceNormalization",
       import_instance_normalization,
       3,
       3,
       1,
       {"consumed_inputs", "epsilon"}},
      {"LRN", import_lrn, 1, 1, 1, {"alpha", "beta", "bias", "size"}},
      {"LayerNormalization",
       import_layer_normalization,
       2,
       3,
       3,
       {"axis", "epsilon", "stash_type"}},
      {"LpNormalization", import_lp_normalization, 1, 1, 1, {"axis", "p"}},
      {"MeanVarianceNormalization", import_mean_variance_normalization, 1, 1, 1, {"axes"}},
      {"RMSNormalization", import_rms_normalization, 2, 2, 1, {"axis", "epsilon", "stash_type"}},
      {"SimplifiedLayerNormalization",
       import_rms_normalization,
       2,
       2,
       2,
       {"axis", "epsilon", "stash_type"}},
      {"SkipLayerNormalization", import_skip_layer_normalization, 3, 5, 4, {"epsilon"}, kMicrosoft},
      {"SkipSimplifiedLayerNormalization",
       import_skip_rms_normalization,
       3,
       4,
       4,
       {"epsilon"},
       kMicrosoft},
  };
  return kRows;
}

}  // namespace bf_aot
