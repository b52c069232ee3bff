#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "frontend/import/node_import.h"

namespace bf {

inline constexpr std::int64_t kOldestOpset = 7;
inline constexpr std::int64_t kNewestOpset = 26;

// One supported ONNX operator of domain ai.onnx.
struct OperatorImporter {
  std::string_view op_type;
  void (*run)(NodeImport& node);
  int least_inputs;  // these may not be left out
  int most_inputs;
  int most_outputs;
  std::array<std::string_view, 8> attributes;  // known ones; another is an error
};

// nullptr: not supported.
const OperatorImporter* find_operator(std::string_view op_type);

// Arithmetic (operators_arithmetic.cpp).
void import_gemm(NodeImport& node);
void import_matmul(NodeImport& node);
void import_add(NodeImport& node);
void import_sub(NodeImport& node);
void import_mul(NodeImport& node);
void import_div(NodeImport& node);
void import_relu(NodeImport& node);

// Data movement and constants (operators_movement.cpp).
void import_constant(NodeImport& node);
void import_dropout(NodeImport& node);
void import_flatten(NodeImport& node);
void import_identity(NodeImport& node);
void import_reshape(NodeImport& node);
void import_squeeze(NodeImport& node);
void import_transpose(NodeImport& node);
void import_unsqueeze(NodeImport& node);

}  // namespace bf
