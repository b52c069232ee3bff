#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

// First operand first, so that literals appear in the graph in reading order.
std::vector<ValueId> read_inputs(NodeImport& node, std::size_t count) {
  node.check_same_types(count);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(node.input(i));
  return inputs;
}

void import_gemm(NodeImport& node) {
  Gemm gemm;
  gemm.alpha = node.float_attribute("alpha", 1);
  gemm.beta = node.float_attribute("beta", 1);
  gemm.trans_a = node.flag("transA", false);
  gemm.trans_b = node.flag("transB", false);
  node.emit(gemm, read_inputs(node, node.has_input(2) ? 3 : 2));
}

void import_matmul(NodeImport& node) {
  node.emit(MatMul{}, read_inputs(node, 2));
}

void import_relu(NodeImport& node) {
  node.emit(Relu{}, read_inputs(node, 1));
}

}  // namespace

OperatorRows arithmetic_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Gemm", import_gemm, 2, 3, 1, {"alpha", "beta", "broadcast", "transA", "transB"}},
      {"MatMul", import_matmul, 2, 2, 1, {}},
      {"Relu", import_relu, 1, 1, 1, {}},
  };
  return kRows;
}

}  // namespace bf_aot
