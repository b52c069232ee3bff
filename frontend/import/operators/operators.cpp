#include "frontend/import/operators/operators.h"

#include <algorithm>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "frontend/import/file/importer.h"

namespace bf_aot {
namespace {

constexpr OperatorImporter kOperators[] = {
    // type, importer, least and most inputs, most outputs, attributes
    {"Add", import_add, 2, 2, 1, {"axis", "broadcast"}},
    {"And", import_and, 2, 2, 1, {}},
    {"ArgMax", import_arg_max, 1, 1, 1, {"axis", "keepdims", "select_last_index"}},
    {"ArgMin", import_arg_min, 1, 1, 1, {"axis", "keepdims", "select_last_index"}},
    {"AveragePool",
     import_average_pool,
     1,
     1,
     1,
     {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads",
      "strides"}},
    {"BatchNormalization",
     import_batch_normalization,
     5,
     5,
     5,
     {"consumed_inputs", "epsilon", "is_test", "momentum", "spatial", "training_mode"}},
    {"Cast", import_cast, 1, 1, 1, {"to", "saturate", "round_mode"}},
    {"CastLike", import_cast_like, 2, 2, 1, {"saturate", "round_mode"}},
    {"Clip", import_clip, 1, 3, 1, {"min", "max"}},
    {"Compress", import_compress, 2, 2, 1, {"axis"}},
    {"Concat", import_concat, 1, kVariadic, 1, {"axis"}},
    {"Constant",
     import_constant,
     0,
     0,
     1,
     {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
      "value_strings", "sparse_value"}},
    {"ConstantOfShape", import_constant_of_shape, 1, 1, 1, {"value"}},
    {"Conv",
     import_conv,
     2,
     3,
     1,
     {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}},
    {"ConvInteger",
     import_conv_integer,
     2,
     4,
     1,
     {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}},
    {"ConvTranspose",
     import_conv_transpose,
     2,
     3,
     1,
     {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads",
      "strides"}},
    {"CumSum", import_cum_sum, 2, 2, 1, {"exclusive", "reverse"}},
    {"DepthToSpace", import_depth_to_space, 1, 1, 1, {"blocksize", "mode"}},
    {"DequantizeLinear", import_dequantize_linear, 2, 3, 1, {"axis", "block_size", "output_dtype"}},
    {"Div", import_div, 2, 2, 1, {"axis", "broadcast"}},
    {"Dropout", import_dropout, 1, 3, 2, {"ratio", "seed"}},
    {"DynamicQuantizeLinear", import_dynamic_quantize_linear, 1, 1, 3, {}},
    {"Einsum", import_einsum, 1, kVariadic, 1, {"equation"}},
    {"Equal", import_equal, 2, 2, 1, {}},
    {"Expand", import_expand, 2, 2, 1, {}},
    {"EyeLike", import_eye_like, 1, 1, 1, {"dtype", "k"}},
    {"Flatten", import_flatten, 1, 1, 1, {"axis"}},
    {"Gather", import_gather, 2, 2, 1, {"axis"}},
    {"GatherElements", import_gather_elements, 2, 2, 1, {"axis"}},
    {"GatherND", import_gather_nd, 2, 2, 1, {"batch_dims"}},
    {"Gelu", import_gelu, 1, 1, 1, {"approximate"}},
    {"Gemm", import_gemm, 2, 3, 1, {"alpha", "beta", "broadcast", "transA", "transB"}},
    {"GlobalAveragePool", import_global_average_pool, 1, 1, 1, {}},
    {"GlobalLpPool", import_global_lp_pool, 1, 1, 1, {"p"}},
    {"GlobalMaxPool", import_global_max_pool, 1, 1, 1, {}},
    {"Greater", import_greater, 2, 2, 1, {}},
    {"GreaterOrEqual", import_greater_or_equal, 2, 2, 1, {}},
    {"GroupNormalization",
     import_group_normalization,
     3,
     3,
     1,
     {"epsilon", "num_groups", "stash_type"}},
    {"Hardmax", import_hardmax, 1, 1, 1, {"axis"}},
    {"Identity", import_identity, 1, 1, 1, {}},
    {"InstanceNormalization",
     import_instance_normalization,
     3,
     3,
     1,
     {"consumed_inputs", "epsilon"}},
    {"IsInf", import_is_inf, 1, 1, 1, {"detect_negative", "detect_positive"}},
    {"IsNaN", import_is_nan, 1, 1, 1, {}},
    {"LRN", import_lrn, 1, 1, 1, {"alpha", "beta", "bias", "size"}},
    {"LayerNormalization", import_layer_normalization, 2, 3, 3, {"axis", "epsilon", "stash_type"}},
    {"Less", import_less, 2, 2, 1, {}},
    {"LessOrEqual", import_less_or_equal, 2, 2, 1, {}},
    {"LogSoftmax", import_log_softmax, 1, 1, 1, {"axis"}},
    {"LpNormalization", import_lp_normalization, 1, 1, 1, {"axis", "p"}},
    {"LpPool",
     import_lp_pool,
     1,
     1,
     1,
     {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "p", "pads", "strides"}},
    {"MatMul", import_matmul, 2, 2, 1, {}},
    {"MatMulInteger", import_matmul_integer, 2, 4, 1, {}},
    {"Max", import_max, 1, kVariadic, 1, {}},
    {"MaxPool",
     import_max_pool,
     1,
     1,
     2,
     {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"}},
    {"Mean", import_mean, 1, kVariadic, 1, {}},
    {"MeanVarianceNormalization", import_mean_variance_normalization, 1, 1, 1, {"axes"}},
    {"Min", import_min, 1, kVariadic, 1, {}},
    {"Mod", import_mod, 2, 2, 1, {"fmod"}},
    {"Mul", import_mul, 2, 2, 1, {"axis", "broadcast"}},
    {"Neg", import_neg, 1, 1, 1, {}},
    {"NegativeLogLikelihoodLoss",
     import_negative_log_likelihood_loss,
     2,
     3,
     1,
     {"ignore_index", "reduction"}},
    {"NonZero", import_non_zero, 1, 1, 1, {}},
    {"Not", import_not, 1, 1, 1, {}},
    {"OneHot", import_one_hot, 3, 3, 1, {"axis"}},
    {"Or", import_or, 2, 2, 1, {}},
    {"PRelu", import_prelu, 2, 2, 1, {}},
    {"Pad", import_pad, 1, 4, 1, {"mode", "paddings", "pads", "value"}},
    {"Pow", import_pow, 2, 2, 1, {}},
    {"QLinearConv",
     import_qlinear_conv,
     8,
     9,
     1,
     {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}},
    {"QLinearMatMul", import_qlinear_matmul, 8, 8, 1, {}},
    {"QuantizeLinear",
     import_quantize_linear,
     2,
     3,
     1,
     {"axis", "block_size", "output_dtype", "precision", "saturate"}},
    {"RMSNormalization", import_rms_normalization, 2, 2, 1, {"axis", "epsilon", "stash_type"}},
    {"Range", import_range, 3, 3, 1, {}},
    {"ReduceL1", import_reduce_l1, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceL2", import_reduce_l2, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceLogSum", import_reduce_log_sum, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceLogSumExp",
     import_reduce_log_sum_exp,
     1,
     2,
     1,
     {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceMax", import_reduce_max, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceMean", import_reduce_mean, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceMin", import_reduce_min, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceProd", import_reduce_prod, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceSum", import_reduce_sum, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}},
    {"ReduceSumSquare",
     import_reduce_sum_square,
     1,
     2,
     1,
     {"axes", "keepdims", "noop_with_empty_axes"}},
    {"Relu", import_relu, 1, 1, 1, {}},
    {"Reshape", import_reshape, 2, 2, 1, {"allowzero"}},
    {"Resize",
     import_resize,
     1,
     4,
     1,
     {"antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
      "extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode"}},
    {"ReverseSequence", import_reverse_sequence, 2, 2, 1, {"batch_axis", "time_axis"}},
    {"Scatter", import_scatter_elements, 3, 3, 1, {"axis"}},
    {"ScatterElements", import_scatter_elements, 3, 3, 1, {"axis", "reduction"}},
    {"ScatterND", import_scatter_nd, 3, 3, 1, {"reduction"}},
    {"Shape", import_shape, 1, 1, 1, {"end", "start"}},
    {"Size", import_size, 1, 1, 1, {}},
    {"Slice", import_slice, 1, 5, 1, {"axes", "ends", "starts"}},
    {"Softmax", import_softmax, 1, 1, 1, {"axis"}},
    {"SoftmaxCrossEntropyLoss",
     import_softmax_cross_entropy_loss,
     2,
     3,
     2,
     {"ignore_index", "reduction"}},
    {"SpaceToDepth", import_space_to_depth, 1, 1, 1, {"blocksize"}},
    {"Split", import_split, 1, 2, kVariadic, {"axis", "num_outputs", "split"}},
    {"Squeeze", import_squeeze, 1, 2, 1, {"axes"}},
    {"Sub", import_sub, 2, 2, 1, {"axis", "broadcast"}},
    {"Sum", import_sum, 1, kVariadic, 1, {}},
    {"Swish", import_swish, 1, 1, 1, {"alpha"}},
    {"Tile", import_tile, 2, 2, 1, {}},
    {"TopK", import_top_k, 1, 2, 2, {"axis", "k", "largest", "sorted"}},
    {"Transpose", import_transpose, 1, 1, 1, {"perm"}},
    {"Trilu", import_trilu, 1, 2, 1, {"upper"}},
    {"Unsqueeze", import_unsqueeze, 1, 2, 1, {"axes"}},
    {"Upsample", import_upsample, 1, 2, 1, {"mode", "scales"}},
    {"Where", import_where, 3, 3, 1, {}},
    {"Xor", import_xor, 2, 2, 1, {}},
};

// Operators that are functions of one variable; facts_of() says which function each is.
const std::vector<OperatorImporter>& function_operators() {
  static const std::vector<OperatorImporter> operators = [] {
    std::vector<OperatorImporter> made;
    for (std::size_t kind = 0; kind < kFunctionKinds; ++kind) {
      const FunctionOperator& from = facts_of(static_cast<FunctionKind>(kind)).from;
      if (!from.type.empty())
        made.push_back({from.type, import_function, 1, 1, 1, {from.a.attribute, from.b.attribute}});
    }
    return made;
  }();
  return operators;
}

}  // namespace

const OperatorImporter* find_operator(std::string_view op_type) {
  for (const OperatorImporter& each : kOperators)
    if (each.op_type == op_type) return &each;
  for (const OperatorImporter& each : function_operators())
    if (each.op_type == op_type) return &each;
  return nullptr;
}

std::vector<std::string_view> supported_operators() {
  std::vector<std::string_view> names;
  for (const OperatorImporter& each : kOperators) names.push_back(each.op_type);
  for (const OperatorImporter& each : function_operators()) names.push_back(each.op_type);
  std::sort(names.begin(), names.end());
  return names;
}

OpsetRange supported_opsets() {
  return {kOldestOpset, kNewestOpset};
}

}  // namespace bf_aot
