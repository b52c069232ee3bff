#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/convolution.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/pooling.h"
#include "frontend/import/helpers/quantization.h"
#include "frontend/import/helpers/softmax.h"
#include "frontend/import/operators/operators.h"

// Operators of other domains than ONNX's own: com.microsoft, which ONNX Runtime's quantisation
// writes, and ai.onnx.ml, which scikit-learn's exporter writes around a network. Quantised ones
// compute exactly on the real numbers that their integers stand for, and round the result to its
// grid once: as those of quantize.cpp.

namespace bf_aot {
namespace {

using onnx::TensorProto;

// Zero points may be left out, scales may not.
void need_scale(const NodeImport& node, std::size_t i) {
  if (!node.has_input(i)) fail("BF1011", "", fmt::format("input {}, a scale, is left out", i));
}

// The real numbers that input `tensor` stands for, by scale and zero point in the next two.
ValueId read_real(NodeImport& node, std::size_t tensor) {
  need_scale(node, tensor + 1);
  const Shape shape = node.input_shape(tensor);
  const QuantizationInputs inputs{tensor + 1, tensor + 2};
  const QuantizationParameter scale = read_parameter(node, tensor + 1, "scale", shape, inputs, 1);
  const QuantizationParameter zero =
      read_parameter(node, tensor + 2, "zero point", shape, inputs, 0);
  return add_dequantized(node, node.input(tensor), &scale, zero);
}

// Rounds to the grid of the output, by its scale and zero point in inputs `scale` and the next.
void emit_on_grid(NodeImport& node, ValueId real, std::size_t scale) {
  need_scale(node, scale);
  node.emit(add_on_output_grid(node, real, scale));
}

// Adds pool(x) of images x, whose channels may be last.
template <typename Pool>
ValueId add_pooled(NodeImport& node, ValueId x, const Pool& pool) {
  if (!node.flag("channels_last", false)) return pool(node, x);
  return add_channels_last(node, pool(node, add_channels_first(node, x)));
}

void import_qlinear_add(NodeImport& node) {
  const ValueId a = read_real(node, 0), b = read_real(node, 3);
  emit_on_grid(node, add_binary(node, Binary::Kind::kAdd, a, b), 6);
}

void import_qlinear_mul(NodeImport& node) {
  const ValueId a = read_real(node, 0), b = read_real(node, 3);
  emit_on_grid(node, add_binary(node, Binary::Kind::kMul, a, b), 6);
}

void import_qlinear_sigmoid(NodeImport& node) {
  emit_on_grid(node, add_unary(node, read_real(node, 0), {FunctionKind::kSigmoid}), 3);
}

void import_qlinear_leaky_relu(NodeImport& node) {
  const Function leaky{FunctionKind::kLeakyRelu, node.float_attribute("alpha", 0.01F)};
  emit_on_grid(node, add_unary(node, read_real(node, 0), leaky), 3);
}

void import_qlinear_average_pool(NodeImport& node) {
  emit_on_grid(node, add_pooled(node, read_real(node, 0), add_average_pool), 3);
}

void import_qlinear_global_average_pool(NodeImport& node) {
  emit_on_grid(node, add_pooled(node, read_real(node, 0), add_global_average_pool), 3);
}

// Channels are last.
void import_nhwc_max_pool(NodeImport& node) {
  const ValueId x = add_channels_first(node, node.input(0));
  node.emit(add_channels_last(node, add_max_pool(node, x)));
}

// The weights of MatMulNBits, [sums, columns]. Codes of some bits, of which the first of a byte is
// in its lowest ones, are in blocks along the sums with a scale and a zero point each.
class BlockedWeights {
 public:
  // Throws: BF1012, BF1014, BF1018, BF1026.
  explicit BlockedWeights(NodeImport& node)
      : node_(node),
        bits_(node.int_attribute("bits", 4)),
        block_(node.int_attribute("block_size", 0)),
        sums_(node.int_attribute("K", 0)),
        columns_(node.int_attribute("N", 0)),
        codes_(node.integers(1, "packed weights")) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (bits_ != 2 && bits_ != 4 && bits_ != 8)
      fail("BF1012", "", fmt::format("attribute 'bits' is {}, not 2, 4 or 8", bits_));
    if (block_ < 1 || block_ > kMost || block_ * bits_ % 8 != 0 || sums_ < 1 || columns_ < 1 ||
        sums_ > kMost || columns_ > kMost)
      fail("BF1012", "",
           fmt::format("attributes 'block_size' {}, 'K' {} and 'N' {}", block_, sums_, columns_));
    if (node.has_input(4))
      fail("BF1026", "", "input 4 (g_idx) orders the weights anew",
           "quantise without act_order (desc_act)");
    node.check_size({sums_, columns_});
    blocks_ = (sums_ + block_ - 1) / block_;
    expect(codes_.shape, columns_ * blocks_ * block_ * bits_ / 8, "packed weights");
    scale_ = node.constant(2, "scales");
    expect(scale_.shape, columns_ * blocks_, "scales");
    read_zero_points();
  }

  Constant unpacked() const {
    node_.reader().charge({sums_, columns_}, "");
    ConstantBuilder made({sums_, columns_});
    for (std::int64_t n = 0; n < columns_; ++n)
      for (std::int64_t k = 0; k < sums_; ++k) {
        const std::int64_t block = n * blocks_ + k / block_;
        const std::int64_t code = code_at(codes_, block * block_ + k % block_);
        const Bounded shifted = add({static_cast<double>(code), 0}, negate(zero_point(block)));
        made.set(static_cast<std::size_t>(k * columns_ + n),
                 multiply(shifted, bounded_at(scale_, static_cast<std::size_t>(block))));
      }
    return std::move(made).finish(node_.origin());
  }

 private:
  static void expect(const Shape& shape, std::int64_t count, std::string_view what) {
    if (element_count(shape) != count)
      fail("BF1014", "",
           fmt::format("the {} have shape {}, but {} numbers are expected", what, to_string(shape),
                       count));
  }

  // Zero points are real numbers, or packed as the codes are, each column from a byte of its own.
  void read_zero_points() {
    if (!node_.has_input(3)) return;
    packed_ = node_.integers_if_any(3);
    if (packed_ != nullptr) {
      expect(packed_->shape, columns_ * row_of_zeros() / (8 / bits_), "packed zero points");
    } else {
      zero_ = node_.constant(3, "zero points");
      expect(zero_->shape, columns_ * blocks_, "zero points");
    }
  }

  // Codes from one column's first zero point to the next column's.
  std::int64_t row_of_zeros() const {
    const std::int64_t each = 8 / bits_;
    return (blocks_ + each - 1) / each * each;
  }

  std::int64_t code_at(const IntegerTensor& packed, std::int64_t i) const {
    const std::int64_t each = 8 / bits_;
    const std::int64_t byte = packed.data[static_cast<std::size_t>(i / each)];
    return (byte >> (i % each * bits_)) & ((std::int64_t{1} << bits_) - 1);
  }

  Bounded zero_point(std::int64_t block) const {
    if (zero_) return bounded_at(*zero_, static_cast<std::size_t>(block));
    if (packed_ == nullptr) return {static_cast<double>(std::int64_t{1} << (bits_ - 1)), 0};
    const std::int64_t at = block / blocks_ * row_of_zeros() + block % blocks_;
    return {static_cast<double>(code_at(*packed_, at)), 0};
  }

  NodeImport& node_;
  std::int64_t bits_, block_, sums_, columns_, blocks_ = 0;
  const IntegerTensor& codes_;
  Constant scale_;
  std::optional<Constant> zero_;
  const IntegerTensor* packed_ = nullptr;
};

void import_matmul_n_bits(NodeImport& node) {
  const ValueId weights = add_constant(node, BlockedWeights(node).unpacked());
  ValueId y = node.add(MatMul{}, {node.input(0), weights});
  if (node.has_input(5)) y = add_binary(node, Binary::Kind::kAdd, y, node.input(5));
  node.emit(y);
}

// The attribute 'opset' says which Softmax of ONNX it is.
void import_qlinear_softmax(NodeImport& node) {
  const std::int64_t axis = node.int_attribute("axis", -1), opset = node.int_attribute("opset", 13);
  const Grouping rows = softmax_rows(node, node.input_shape(0), axis, opset);
  emit_on_grid(node, add_softmax(node, read_real(node, 0), rows), 3);
}

// A' B' + bias, where A' is A on a grid of 256 steps that its numbers choose, and B' the real
// numbers of B.
void import_dynamic_quantize_matmul(NodeImport& node) {
  const Shape b_shape = node.input_shape(1);
  if (node.input_shape(0).empty() || b_shape.empty())
    fail("BF1014", "", "a product needs tensors, not scalars");
  const QuantizationInputs of_b{2, 3, static_cast<std::int64_t>(b_shape.size()) - 1};
  const QuantizationParameter scale = read_parameter(node, 2, "scale of B", b_shape, of_b, 1);
  const QuantizationParameter zero = read_parameter(node, 3, "zero point of B", b_shape, of_b, 0);
  const ValueId b = add_dequantized(node, node.input(1), &scale, zero);
  const DynamicQuantized a = add_dynamic_quantized(node, node.input(0));
  const ValueId shifted = add_binary(node, Binary::Kind::kSub, a.codes, a.zero_point);
  // The scale last: one product of computed numbers for each output, not for each input.
  ValueId y = node.add(MatMul{}, {shifted, b});
  y = add_binary(node, Binary::Kind::kMul, y, a.scale);
  if (node.has_input(4)) y = add_binary(node, Binary::Kind::kAdd, y, node.input(4));
  node.set_output_type(TensorProto::FLOAT);
  node.emit(y);
}

// Inputs: scale and zero point of the output, then three for each part.
void import_qlinear_concat(NodeImport& node) {
  const std::size_t parts = (node.input_count() - 2 + 2) / 3;
  const Shape first = node.input_shape(2);
  const std::size_t axis = checked_axis(node.int_attribute("axis", 1), first.size());
  Shape result = first;
  result[axis] = 0;
  std::vector<ValueId> reals;
  for (std::size_t i = 0; i < parts; ++i) {
    Shape shape = node.input_shape(2 + 3 * i);
    const std::int64_t extent = shape.size() == first.size() ? shape[axis] : 0;
    if (shape.size() == first.size()) shape[axis] = first[axis];
    if (shape != first)
      fail("BF1014", "",
           fmt::format("part {} has shape {}, which does not fit {}", i, to_string(shape),
                       to_string(first)));
    result[axis] += extent;
    reals.push_back(read_real(node, 2 + 3 * i));
  }
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= result[i];
  const ValueId all = add_concat(node, reals);
  const ValueId joined = add_index_map(node, all, result, [&] {
    std::vector<std::int64_t> source;
    for (std::int64_t o = 0; o < outer; ++o) {
      std::int64_t begin = 0;
      for (const ValueId part : reals) {
        const std::int64_t count = element_count(node.shape_of(part));
        for (std::int64_t k = 0; k < count / outer; ++k)
          source.push_back(begin + o * (count / outer) + k);
        begin += count;
      }
    }
    return source;
  });
  emit_on_grid(node, joined, 0);
}

// y = A' B' alpha + C', where A' and B' are the real numbers of A and B, and C counts in units of
// alpha scale(A) scale(B). Without a scale of y the sum itself.
void import_qgemm(NodeImport& node) {
  const auto matrix = [&](std::size_t i, std::string_view what) {
    const Shape shape = node.input_shape(i);
    if (shape.size() != 2)
      fail("BF1014", "", fmt::format("{} has shape {}, no matrix", what, to_string(shape)));
    return shape;
  };
  matrix(0, "A");
  const Shape b_shape = matrix(3, "B");
  Gemm gemm;
  gemm.alpha = node.float_attribute("alpha", 1);
  gemm.trans_a = node.flag("transA", false);
  gemm.trans_b = node.flag("transB", false);
  const std::int64_t columns = gemm.trans_b ? 0 : 1;
  const QuantizationInputs of_b{4, 5, columns};
  const QuantizationParameter b_scale = read_parameter(node, 4, "scale of B", b_shape, of_b, 1);
  const QuantizationParameter b_zero = read_parameter(node, 5, "zero point of B", b_shape, of_b, 0);
  const ValueId a = read_real(node, 0);
  const ValueId b = add_dequantized(node, node.input(3), &b_scale, b_zero);
  ValueId y = node.add(gemm, {a, b});
  if (node.has_input(6)) {
    const Shape shape = node.shape_of(y);
    const QuantizationParameter scale_a = read_parameter(node, 1, "scale of A", shape, {1, 2}, 1);
    const QuantizationParameter scale_b = read_parameter(node, 4, "scale of B", shape, {4, 5}, 1);
    ConstantBuilder unit(shape);
    for (std::size_t i = 0; i < unit.size(); ++i)
      unit.set(i, multiply({gemm.alpha, 0}, multiply(scale_a.at(i), scale_b.at(i))));
    const ValueId bias = add_scale(node, add_broadcast(node, node.input(6), shape),
                                   std::move(unit).finish(node.origin()), filled(shape, 0));
    y = add_binary(node, Binary::Kind::kAdd, y, bias);
  }
  if (node.has_input(7)) return emit_on_grid(node, y, 7);
  node.set_output_type(TensorProto::FLOAT);
  node.emit(y);
}

// (x - offset) scale; one number each for all features, or one per feature.
void import_scaler(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::int64_t features = shape.empty() ? 1 : shape.back();
  const auto read = [&](std::string_view name, double otherwise) {
    std::vector<double> values = node.floats_attribute(name).value_or(std::vector{otherwise});
    if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != features)
      fail("BF1012", "",
           fmt::format("attribute '{}' has {} numbers for {} features", name, values.size(),
                       features));
    return values;
  };
  const std::vector<double> offset = read("offset", 0), scale = read("scale", 1);
  ConstantBuilder factor(shape), constant(shape);
  for (std::size_t i = 0; i < factor.size(); ++i) {
    const Bounded by{scale[i % scale.size()], 0};
    factor.set(i, by);
    constant.set(i, negate(multiply(by, {offset[i % offset.size()], 0})));
  }
  node.set_output_type(TensorProto::FLOAT);
  node.emit(add_scale(node, node.input(0), std::move(factor).finish(node.origin()),
                      std::move(constant).finish(node.origin())));
}

// Each row divided by its largest element.
ValueId add_divided_by_largest(NodeImport& node, ValueId x) {
  const Shape shape = node.input_shape(0);
  if (shape.empty()) fail("BF1014", "", "the input is a scalar");
  const std::int64_t extent = shape.back();
  RowBuilder rows(node);
  const std::int64_t count = element_count(shape);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % extent == 0) rows.begin();
    rows.add(i);
  }
  Shape reduced = shape;
  reduced.back() = 1;
  const ValueId largest = std::move(rows).finish_maxima(x, reduced);
  return add_binary(node, Binary::Kind::kDiv, x, largest);
}

// Each row divided by the sum of its magnitudes, by its length, or by its largest element: as
// ONNX's text and ONNX Runtime have it, not the largest magnitude.
void import_normalizer(NodeImport& node) {
  const std::string norm = node.string_attribute("norm", "MAX");
  if (norm != "L1" && norm != "L2" && norm != "MAX")
    fail("BF1012", "", fmt::format("attribute 'norm' is '{}', not L1, L2 or MAX", printable(norm)));
  node.set_output_type(TensorProto::FLOAT);
  if (norm == "MAX") return node.emit(add_divided_by_largest(node, node.input(0)));
  node.emit(add_normalized(node, node.input(0), norm == "L1" ? 1 : 2, -1));
}

// The elements of the last axis with these indices.
void import_array_feature_extractor(NodeImport& node) {
  Shape shape = node.input_shape(0);
  if (shape.empty()) fail("BF1014", "", "the input is a scalar");
  const IntegerTensor& indices = node.integers(1, "indices");
  const std::int64_t extent = shape.back();
  for (const std::int64_t index : indices.data)
    if (index < 0 || index >= extent)
      fail("BF1014", "", fmt::format("index {} of {} features", index, extent));
  const std::vector<std::int64_t> chosen(indices.data.begin(), indices.data.end());
  const std::int64_t rows = extent == 0 ? 0 : element_count(shape) / extent;
  if (shape.size() == 1) shape = {1, extent};
  shape.back() = static_cast<std::int64_t>(chosen.size());
  node.emit(add_index_map(node, node.input(0), shape, [&] {
    std::vector<std::int64_t> source;
    for (std::int64_t row = 0; row < rows; ++row)
      for (const std::int64_t index : chosen) source.push_back(row * extent + index);
    return source;
  }));
}

}  // namespace

OperatorRows contrib_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"DynamicQuantizeMatMul", import_dynamic_quantize_matmul, 3, 5, 1, {}, kMicrosoft},
      {"MatMulNBits",
       import_matmul_n_bits,
       3,
       6,
       1,
       {"K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked"},
       kMicrosoft},
      {"NhwcMaxPool",
       import_nhwc_max_pool,
       1,
       1,
       1,
       {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"},
       kMicrosoft},
      {"QGemm", import_qgemm, 6, 9, 1, {"alpha", "transA", "transB"}, kMicrosoft},
      {"QLinearAdd", import_qlinear_add, 2, 8, 1, {}, kMicrosoft},
      {"QLinearAveragePool",
       import_qlinear_average_pool,
       2,
       5,
       1,
       {"auto_pad", "ceil_mode", "channels_last", "count_include_pad", "kernel_shape", "pads",
        "strides"},
       kMicrosoft},
      {"QLinearConcat", import_qlinear_concat, 3, kVariadic, 1, {"axis"}, kMicrosoft},
      {"QLinearGlobalAveragePool",
       import_qlinear_global_average_pool,
       5,
       5,
       1,
       {"channels_last"},
       kMicrosoft},
      {"QLinearLeakyRelu", import_qlinear_leaky_relu, 2, 5, 1, {"alpha"}, kMicrosoft},
      {"QLinearMul", import_qlinear_mul, 2, 8, 1, {}, kMicrosoft},
      {"QLinearSigmoid", import_qlinear_sigmoid, 2, 5, 1, {}, kMicrosoft},
      {"QLinearSoftmax", import_qlinear_softmax, 4, 5, 1, {"axis", "opset"}, kMicrosoft},
      {"ArrayFeatureExtractor", import_array_feature_extractor, 2, 2, 1, {}, kMachineLearning},
      {"Normalizer", import_normalizer, 1, 1, 1, {"norm"}, kMachineLearning},
      {"Scaler", import_scaler, 1, 1, 1, {"offset", "scale"}, kMachineLearning},
  };
  return kRows;
}

}  // namespace bf_aot
