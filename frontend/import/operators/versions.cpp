#include "frontend/import/operators/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "frontend/diagnostic.h"

// A row for each attribute or number of inputs that came or went with an operator set, as ONNX's
// schemas have it. Attributes that every operator set knows have no row. tests/schemas/walk.py
// compares with the schemas.

namespace bf_aot {
namespace {

struct AttributeVersions {
  std::string_view op_type;
  std::string_view attribute;
  OpsetSpan opsets;
};

constexpr AttributeVersions kAttributes[] = {
    {"Add", "axis", {1, 6}},
    {"Add", "broadcast", {1, 6}},
    {"ArgMax", "select_last_index", {12, kNewestOpset}},
    {"ArgMin", "select_last_index", {12, kNewestOpset}},
    {"Attention", "left_window_size", {25, kNewestOpset}},
    {"Attention", "right_window_size", {25, kNewestOpset}},
    {"AveragePool", "ceil_mode", {10, kNewestOpset}},
    {"AveragePool", "count_include_pad", {7, kNewestOpset}},
    {"AveragePool", "dilations", {19, kNewestOpset}},
    {"BatchNormalization", "consumed_inputs", {1, 5}},
    {"BatchNormalization", "is_test", {1, 6}},
    {"BatchNormalization", "spatial", {1, 8}},
    {"BatchNormalization", "training_mode", {14, kNewestOpset}},
    {"Cast", "saturate", {19, kNewestOpset}},
    {"Cast", "round_mode", {24, kNewestOpset}},
    {"CastLike", "saturate", {19, kNewestOpset}},
    {"CastLike", "round_mode", {24, kNewestOpset}},
    {"Clip", "min", {1, 10}},
    {"Clip", "max", {1, 10}},
    {"Constant", "value_float", {12, kNewestOpset}},
    {"Constant", "value_floats", {12, kNewestOpset}},
    {"Constant", "value_int", {12, kNewestOpset}},
    {"Constant", "value_ints", {12, kNewestOpset}},
    {"Constant", "value_string", {12, kNewestOpset}},
    {"Constant", "value_strings", {12, kNewestOpset}},
    {"Constant", "sparse_value", {11, kNewestOpset}},
    {"DFT", "axis", {17, 19}},
    {"DepthToSpace", "mode", {11, kNewestOpset}},
    {"DequantizeLinear", "axis", {13, kNewestOpset}},
    {"DequantizeLinear", "block_size", {21, kNewestOpset}},
    {"DequantizeLinear", "output_dtype", {23, kNewestOpset}},
    {"Div", "axis", {1, 6}},
    {"Div", "broadcast", {1, 6}},
    {"Dropout", "ratio", {1, 11}},
    {"Dropout", "seed", {12, kNewestOpset}},
    {"GatherND", "batch_dims", {12, kNewestOpset}},
    {"GRU", "layout", {14, kNewestOpset}},
    {"GRU", "linear_before_reset", {3, kNewestOpset}},
    {"GRU", "output_sequence", {1, 6}},
    {"Gemm", "broadcast", {1, 6}},
    {"InstanceNormalization", "consumed_inputs", {1, 5}},
    {"LSTM", "layout", {14, kNewestOpset}},
    {"LSTM", "output_sequence", {1, 6}},
    {"LpPool", "ceil_mode", {18, kNewestOpset}},
    {"LpPool", "dilations", {18, kNewestOpset}},
    {"MaxPool", "ceil_mode", {10, kNewestOpset}},
    {"MaxPool", "dilations", {10, kNewestOpset}},
    {"MaxPool", "storage_order", {8, kNewestOpset}},
    {"Mul", "axis", {1, 6}},
    {"Mul", "broadcast", {1, 6}},
    {"Pad", "paddings", {1, 1}},
    {"Pad", "pads", {2, 10}},
    {"Pad", "value", {1, 10}},
    {"QuantizeLinear", "axis", {13, kNewestOpset}},
    {"QuantizeLinear", "block_size", {21, kNewestOpset}},
    {"QuantizeLinear", "output_dtype", {21, kNewestOpset}},
    {"QuantizeLinear", "precision", {23, kNewestOpset}},
    {"QuantizeLinear", "saturate", {19, kNewestOpset}},
    {"RNN", "layout", {14, kNewestOpset}},
    {"RNN", "output_sequence", {1, 6}},
    {"Range", "stash_type", {27, kNewestOpset}},
    {"ReduceL1", "axes", {1, 17}},
    {"ReduceL1", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceL2", "axes", {1, 17}},
    {"ReduceL2", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceLogSum", "axes", {1, 17}},
    {"ReduceLogSum", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceLogSumExp", "axes", {1, 17}},
    {"ReduceLogSumExp", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceMax", "axes", {1, 17}},
    {"ReduceMax", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceMean", "axes", {1, 17}},
    {"ReduceMean", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceMin", "axes", {1, 17}},
    {"ReduceMin", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceProd", "axes", {1, 17}},
    {"ReduceProd", "noop_with_empty_axes", {18, kNewestOpset}},
    {"ReduceSum", "axes", {1, 12}},
    {"ReduceSum", "noop_with_empty_axes", {13, kNewestOpset}},
    {"ReduceSumSquare", "axes", {1, 17}},
    {"ReduceSumSquare", "noop_with_empty_axes", {18, kNewestOpset}},
    {"Reshape", "allowzero", {14, kNewestOpset}},
    {"Resize", "antialias", {18, kNewestOpset}},
    {"Resize", "axes", {18, kNewestOpset}},
    {"Resize", "coordinate_transformation_mode", {11, kNewestOpset}},
    {"Resize", "cubic_coeff_a", {11, kNewestOpset}},
    {"Resize", "exclude_outside", {11, kNewestOpset}},
    {"Resize", "extrapolation_value", {11, kNewestOpset}},
    {"Resize", "keep_aspect_ratio_policy", {18, kNewestOpset}},
    {"Resize", "nearest_mode", {11, kNewestOpset}},
    {"Scan", "directions", {8, 8}},
    {"Scan", "scan_input_axes", {9, kNewestOpset}},
    {"Scan", "scan_input_directions", {9, kNewestOpset}},
    {"Scan", "scan_output_axes", {9, kNewestOpset}},
    {"Scan", "scan_output_directions", {9, kNewestOpset}},
    {"ScatterElements", "reduction", {16, kNewestOpset}},
    {"ScatterND", "reduction", {16, kNewestOpset}},
    {"Shape", "end", {15, kNewestOpset}},
    {"Shape", "start", {15, kNewestOpset}},
    {"Slice", "axes", {1, 9}},
    {"Slice", "ends", {1, 9}},
    {"Slice", "starts", {1, 9}},
    {"SpaceToDepth", "mode", {28, kNewestOpset}},
    {"Split", "num_outputs", {18, kNewestOpset}},
    {"Split", "split", {1, 12}},
    {"Squeeze", "axes", {1, 12}},
    {"Sub", "axis", {1, 6}},
    {"Sub", "broadcast", {1, 6}},
    {"TopK", "k", {1, 9}},
    {"TopK", "largest", {11, kNewestOpset}},
    {"TopK", "sorted", {11, kNewestOpset}},
    {"Unsqueeze", "axes", {1, 12}},
    {"Upsample", "scales", {7, 8}},
};

struct InputVersions {
  std::string_view op_type;
  OpsetSpan opsets;
  InputCounts counts;
};

constexpr InputVersions kInputs[] = {
    {"Attention", {23, 23}, {3, 6}},   {"Clip", {1, 10}, {1, 1}},
    {"DFT", {17, 19}, {1, 2}},         {"Dropout", {1, 11}, {1, 1}},
    {"Gemm", {1, 10}, {3, 3}},         {"Pad", {1, 10}, {1, 1}},
    {"Pad", {11, 17}, {2, 3}},         {"Pad", {18, kNewestOpset}, {2, 4}},
    {"ReduceL1", {1, 17}, {1, 1}},     {"ReduceL2", {1, 17}, {1, 1}},
    {"ReduceLogSum", {1, 17}, {1, 1}}, {"ReduceLogSumExp", {1, 17}, {1, 1}},
    {"ReduceMax", {1, 17}, {1, 1}},    {"ReduceMean", {1, 17}, {1, 1}},
    {"ReduceMin", {1, 17}, {1, 1}},    {"ReduceProd", {1, 17}, {1, 1}},
    {"ReduceSum", {1, 12}, {1, 1}},    {"ReduceSumSquare", {1, 17}, {1, 1}},
    {"Resize", {10, 10}, {2, 2}},      {"Resize", {11, 12}, {3, 4}},
    {"Slice", {1, 9}, {1, 1}},         {"Slice", {10, kNewestOpset}, {3, 5}},
    {"Split", {2, 12}, {1, 1}},        {"Squeeze", {1, 12}, {1, 1}},
    {"TopK", {1, 9}, {1, 1}},          {"TopK", {10, kNewestOpset}, {2, 2}},
    {"Unsqueeze", {1, 12}, {1, 1}},    {"Unsqueeze", {13, kNewestOpset}, {2, 2}},
    {"Upsample", {1, 8}, {1, 1}},      {"Upsample", {9, kNewestOpset}, {2, 2}},
};

}  // namespace

std::string to_string(const OpsetSpan& range) {
  return range.last == kNewestOpset ? fmt::format("{} and newer", range.first)
                                    : fmt::format("{} to {}", range.first, range.last);
}

OpsetSpan opsets_with(std::string_view op_type, std::string_view attribute) {
  for (const AttributeVersions& each : kAttributes)
    if (each.op_type == op_type && each.attribute == attribute) return each.opsets;
  return {};
}

InputCounts input_counts(const OperatorImporter& op, std::int64_t opset) {
  for (const InputVersions& each : kInputs)
    if (each.op_type == op.op_type && each.opsets.meets({opset, opset})) return each.counts;
  return {op.least_inputs, op.most_inputs};
}

// Some exporters import ai.onnx twice. The highest counts: of the supported operators a newer
// version only adds to what an older one means, or is told apart by inputs and attributes.
OpsetSpan find_opsets(const OpsetImports& imports, const std::string& where) {
  OpsetSpan found{0, 0};
  for (const onnx::OperatorSetIdProto& import : imports) {
    if (!is_standard_domain(import.domain())) continue;
    found.first = found.last == 0 ? import.version() : std::min(found.first, import.version());
    found.last = std::max(found.last, import.version());
  }
  if (found.last != 0 && (found.last < kOldestOpset || found.last > kNewestOpset))
    fail("BF1007", where,
         fmt::format("operator set {} is not supported, only {} to {}", found.last, kOldestOpset,
                     kNewestOpset),
         fmt::format("export with opset {} to {}", kOldestOpset, kNewestOpset));
  return found;
}

}  // namespace bf_aot
