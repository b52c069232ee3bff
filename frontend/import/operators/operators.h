#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/import/file/node_import.h"

namespace bf_aot {

inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 28;

// The most inputs of operators that take any number of them, of which none or some are optional.
inline constexpr int kVariadic = 1 << 16;
inline constexpr int kVariadicOptional = kVariadic - 1;

// Domains besides ONNX's own, which is empty here.
inline constexpr std::string_view kMicrosoft = "com.microsoft";
inline constexpr std::string_view kMachineLearning = "ai.onnx.ml";
inline constexpr std::string_view kQonnx = "qonnx.custom_op.general";

// One supported ONNX operator.
struct OperatorImporter {
  std::string_view op_type;
  void (*run)(NodeImport& node);
  int least_inputs;  // these may not be left out
  int most_inputs;
  int most_outputs;
  std::array<std::string_view, 17> attributes;  // known ones; another is an error
  std::string_view domain = {};
  bool any_output = false;  // the first output may be left out, too
};
using OperatorRows = std::span<const OperatorImporter>;

// nullptr: not supported.
const OperatorImporter* find_operator(std::string_view op_type, std::string_view domain = {});

// The rows of a family are in the file of its name, with the importers.
OperatorRows arithmetic_operators();
OperatorRows attention_operators();
OperatorRows contrib_operators();
OperatorRows control_operators();
OperatorRows conv_operators();
OperatorRows einsum_operators();
OperatorRows elementwise_operators();
OperatorRows fold_operators();
OperatorRows function_operators();
OperatorRows fused_attention_operators();
OperatorRows gather_operators();
OperatorRows grid_sample_operators();
OperatorRows linear_model_operators();
OperatorRows logic_operators();
OperatorRows loss_operators();
OperatorRows movement_operators();
OperatorRows normalize_operators();
OperatorRows pad_operators();
OperatorRows pool_operators();
OperatorRows quantize_operators();
OperatorRows recurrence_operators();
OperatorRows recurrent_operators();
OperatorRows reduce_operators();
OperatorRows resize_operators();
OperatorRows scatter_operators();
OperatorRows select_operators();
OperatorRows sequence_operators();
OperatorRows shape_operators();
OperatorRows signal_operators();
OperatorRows softmax_operators();
OperatorRows topk_operators();
OperatorRows tree_operators();
OperatorRows unique_operators();

}  // namespace bf_aot
