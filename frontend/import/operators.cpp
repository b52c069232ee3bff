#include "frontend/import/operators.h"

namespace bf {
namespace {

constexpr OperatorImporter kOperators[] = {
    // type, importer, least and most inputs, most outputs, attributes
    {"Add", import_add, 2, 2, 1, {}},
    {"Constant",
     import_constant,
     0,
     0,
     1,
     {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
      "value_strings", "sparse_value"}},
    {"Div", import_div, 2, 2, 1, {}},
    {"Dropout", import_dropout, 1, 3, 2, {"ratio", "seed"}},
    {"Flatten", import_flatten, 1, 1, 1, {"axis"}},
    {"Gemm", import_gemm, 2, 3, 1, {"alpha", "beta", "transA", "transB"}},
    {"Identity", import_identity, 1, 1, 1, {}},
    {"MatMul", import_matmul, 2, 2, 1, {}},
    {"Mul", import_mul, 2, 2, 1, {}},
    {"Relu", import_relu, 1, 1, 1, {}},
    {"Reshape", import_reshape, 2, 2, 1, {"allowzero"}},
    {"Squeeze", import_squeeze, 1, 2, 1, {"axes"}},
    {"Sub", import_sub, 2, 2, 1, {}},
    {"Transpose", import_transpose, 1, 1, 1, {"perm"}},
    {"Unsqueeze", import_unsqueeze, 1, 2, 1, {"axes"}},
};

}  // namespace

const OperatorImporter* find_operator(std::string_view op_type) {
  for (const OperatorImporter& each : kOperators)
    if (each.op_type == op_type) return &each;
  return nullptr;
}

}  // namespace bf
