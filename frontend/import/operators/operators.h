#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "frontend/import/file/node_import.h"

namespace bf_aot {

inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 26;

// The most inputs of operators that take any number of them.
inline constexpr int kVariadic = 1 << 16;

// One supported ONNX operator of domain ai.onnx.
struct OperatorImporter {
  std::string_view op_type;
  void (*run)(NodeImport& node);
  int least_inputs;  // these may not be left out
  int most_inputs;
  int most_outputs;
  std::array<std::string_view, 10> attributes;  // known ones; another is an error
};

// nullptr: not supported.
const OperatorImporter* find_operator(std::string_view op_type);

// Operators of other domains (contrib.cpp); nullptr: not supported.
const OperatorImporter* find_contributed(std::string_view domain, std::string_view op_type);

// Arithmetic (arithmetic.cpp).
void import_gemm(NodeImport& node);
void import_matmul(NodeImport& node);
void import_relu(NodeImport& node);

// Data movement and constants (movement.cpp).
void import_constant(NodeImport& node);
void import_dropout(NodeImport& node);
void import_flatten(NodeImport& node);
void import_identity(NodeImport& node);
void import_reshape(NodeImport& node);
void import_squeeze(NodeImport& node);
void import_transpose(NodeImport& node);
void import_unsqueeze(NodeImport& node);

// Elementwise functions (elementwise.cpp). import_function: those of function_facts.h.
void import_cast(NodeImport& node);
void import_cast_like(NodeImport& node);
void import_clip(NodeImport& node);
void import_function(NodeImport& node);
void import_gelu(NodeImport& node);
void import_neg(NodeImport& node);
void import_pow(NodeImport& node);
void import_prelu(NodeImport& node);
void import_swish(NodeImport& node);

// Arithmetic of several operands (variadic.cpp).
void import_add(NodeImport& node);
void import_div(NodeImport& node);
void import_max(NodeImport& node);
void import_mean(NodeImport& node);
void import_min(NodeImport& node);
void import_mod(NodeImport& node);
void import_mul(NodeImport& node);
void import_sub(NodeImport& node);
void import_sum(NodeImport& node);

// Truth values (logic.cpp).
void import_and(NodeImport& node);
void import_equal(NodeImport& node);
void import_greater(NodeImport& node);
void import_greater_or_equal(NodeImport& node);
void import_is_inf(NodeImport& node);
void import_is_nan(NodeImport& node);
void import_less(NodeImport& node);
void import_less_or_equal(NodeImport& node);
void import_not(NodeImport& node);
void import_or(NodeImport& node);
void import_where(NodeImport& node);
void import_xor(NodeImport& node);

// Reductions (reduce.cpp).
void import_cum_sum(NodeImport& node);
void import_reduce_l1(NodeImport& node);
void import_reduce_l2(NodeImport& node);
void import_reduce_log_sum(NodeImport& node);
void import_reduce_log_sum_exp(NodeImport& node);
void import_reduce_max(NodeImport& node);
void import_reduce_mean(NodeImport& node);
void import_reduce_min(NodeImport& node);
void import_reduce_prod(NodeImport& node);
void import_reduce_sum(NodeImport& node);
void import_reduce_sum_square(NodeImport& node);

// Winners (select.cpp, topk.cpp).
void import_arg_max(NodeImport& node);
void import_arg_min(NodeImport& node);
void import_hardmax(NodeImport& node);
void import_one_hot(NodeImport& node);
void import_top_k(NodeImport& node);

// Data movement by indices (gather.cpp, scatter.cpp).
void import_compress(NodeImport& node);
void import_concat(NodeImport& node);
void import_expand(NodeImport& node);
void import_gather(NodeImport& node);
void import_gather_elements(NodeImport& node);
void import_gather_nd(NodeImport& node);
void import_reverse_sequence(NodeImport& node);
void import_scatter_elements(NodeImport& node);
void import_scatter_nd(NodeImport& node);
void import_slice(NodeImport& node);
void import_split(NodeImport& node);
void import_tile(NodeImport& node);
void import_trilu(NodeImport& node);

// Losses for known labels (loss.cpp).
void import_negative_log_likelihood_loss(NodeImport& node);
void import_softmax_cross_entropy_loss(NodeImport& node);

// Sums of products (einsum.cpp).
void import_einsum(NodeImport& node);

// Known at import (shape.cpp).
void import_constant_of_shape(NodeImport& node);
void import_eye_like(NodeImport& node);
void import_non_zero(NodeImport& node);
void import_range(NodeImport& node);
void import_shape(NodeImport& node);
void import_size(NodeImport& node);

// Convolutions and pooling (conv.cpp, pool.cpp).
void import_average_pool(NodeImport& node);
// Pool x, which has the shape of input 0, with the attributes of the node.
ValueId add_average_pool(NodeImport& node, ValueId x);
ValueId add_global_average_pool(NodeImport& node, ValueId x);
void import_conv(NodeImport& node);
void import_conv_transpose(NodeImport& node);
void import_global_average_pool(NodeImport& node);
void import_global_lp_pool(NodeImport& node);
void import_global_max_pool(NodeImport& node);
void import_lp_pool(NodeImport& node);
void import_max_pool(NodeImport& node);

// Normalisations and Softmax (normalize.cpp, softmax.cpp).
void import_batch_normalization(NodeImport& node);
void import_group_normalization(NodeImport& node);
void import_instance_normalization(NodeImport& node);
void import_layer_normalization(NodeImport& node);
void import_log_softmax(NodeImport& node);
void import_lp_normalization(NodeImport& node);
// x, which has the shape of input 0, divided by its norm along an axis; p: 1 or 2.
ValueId add_normalized(NodeImport& node, ValueId x, std::int64_t p, std::int64_t axis);
void import_lrn(NodeImport& node);
void import_mean_variance_normalization(NodeImport& node);
void import_rms_normalization(NodeImport& node);
void import_softmax(NodeImport& node);

// Quantised operators (quantize.cpp).
void import_conv_integer(NodeImport& node);
void import_dequantize_linear(NodeImport& node);
void import_dynamic_quantize_linear(NodeImport& node);
void import_matmul_integer(NodeImport& node);
void import_qlinear_conv(NodeImport& node);
void import_qlinear_matmul(NodeImport& node);
void import_quantize_linear(NodeImport& node);

// Images (pad.cpp, resize.cpp).
void import_depth_to_space(NodeImport& node);
void import_pad(NodeImport& node);
void import_resize(NodeImport& node);
void import_space_to_depth(NodeImport& node);
void import_upsample(NodeImport& node);

}  // namespace bf_aot
