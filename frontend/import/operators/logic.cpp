#include <fmt/format.h>

#include "frontend/graph/index_maps.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Truth values are the numbers 0 and 1.

namespace bf_aot {
namespace {

using onnx::TensorProto;

// f(a - b), which is 0 or 1.
void import_comparison(NodeImport& node, bool swap, FunctionKind kind) {
  node.check_same_types(2);
  const ValueId a = node.input(swap ? 1 : 0);
  const ValueId b = node.input(swap ? 0 : 1);
  node.set_output_type(TensorProto::BOOL);
  node.emit(Unary{{kind}}, {add_binary(node, Binary::Kind::kSub, a, b)});
}

// Reads both inputs, which hold truth values, and repeats them to the shape of the output.
std::vector<ValueId> read_truths(NodeImport& node) {
  const Shape shape = broadcast_shapes(node.input_shape(0), node.input_shape(1));
  for (std::size_t i = 0; i < 2; ++i)
    if (node.input_type(i) != TensorProto::BOOL)
      fail("BF1019", "", fmt::format("input {} is not of truth values", i));
  return {add_broadcast(node, node.input(0), shape), add_broadcast(node, node.input(1), shape)};
}

// No tensor that is bounded holds NaN or infinities, and constants that do are refused.
void emit_false(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  node.reader().charge(shape, "");
  const auto count = static_cast<std::size_t>(element_count(shape));
  node.emit(IntegerTensor{shape, std::vector<std::int64_t>(count, 0), TensorProto::BOOL});
}

// Imports a Where whose condition is known: it only moves data.
void emit_selected(NodeImport& node, const Constant& condition, const Shape& shape) {
  const std::vector<std::int64_t> choice = broadcast_map(condition.shape, shape);
  const std::vector<std::int64_t> a = broadcast_map(node.input_shape(1), shape);
  const std::vector<std::int64_t> b = broadcast_map(node.input_shape(2), shape);
  const std::int64_t begin_b = element_count(node.input_shape(1));
  std::vector<std::int64_t> source;
  for (std::size_t i = 0; i < choice.size(); ++i)
    source.push_back(condition.data[static_cast<std::size_t>(choice[i])] != 0 ? a[i]
                                                                              : begin_b + b[i]);
  emit_selection(node, {1, 2}, source, shape);
}

void import_equal(NodeImport& node) {
  import_comparison(node, false, FunctionKind::kIsZero);
}

void import_greater(NodeImport& node) {
  import_comparison(node, false, FunctionKind::kStep);
}

void import_greater_or_equal(NodeImport& node) {
  import_comparison(node, false, FunctionKind::kStepAt);
}

void import_less(NodeImport& node) {
  import_comparison(node, true, FunctionKind::kStep);
}

void import_less_or_equal(NodeImport& node) {
  import_comparison(node, true, FunctionKind::kStepAt);
}

void import_not(NodeImport& node) {
  if (node.input_type(0) != TensorProto::BOOL) fail("BF1019", "", "input 0 is not of truth values");
  node.emit(add_scale(node, node.input(0), -1, 1));
}

void import_and(NodeImport& node) {
  node.emit(add_min(node, read_truths(node)));
}

void import_or(NodeImport& node) {
  node.emit(add_max(node, read_truths(node)));
}

// |a - b|
void import_xor(NodeImport& node) {
  const std::vector<ValueId> truths = read_truths(node);
  const ValueId difference = add_binary(node, Binary::Kind::kSub, truths[0], truths[1]);
  node.emit(Unary{{FunctionKind::kAbs}}, {difference});
}

void import_is_nan(NodeImport& node) {
  emit_false(node);
}

void import_is_inf(NodeImport& node) {
  emit_false(node);
}

// c a + (1 - c) b, where c is 0 or 1.
void import_where(NodeImport& node) {
  if (node.input_type(0) != TensorProto::BOOL)
    fail("BF1019", "", "the condition is not of truth values");
  if (is_integer_type(node.input_type(1)) != is_integer_type(node.input_type(2)))
    fail("BF1019", "", "the inputs to choose from differ in type");
  const Shape shape = broadcast_shapes(broadcast_shapes(node.input_shape(0), node.input_shape(1)),
                                       node.input_shape(2));
  node.set_output_type(node.input_type(1));
  if (const Constant* const condition = node.constant_if_any(0)) {
    const Constant known = *condition;
    emit_selected(node, known, shape);
    return;
  }
  const ValueId c = node.input(0);
  const ValueId a = add_binary(node, Binary::Kind::kMul, c, node.input(1));
  const ValueId b = add_binary(node, Binary::Kind::kMul, add_scale(node, c, -1, 1), node.input(2));
  node.emit(Binary{Binary::Kind::kAdd}, {a, b});
}

}  // namespace

OperatorRows logic_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"And", import_and, 2, 2, 1, {}},
      {"Equal", import_equal, 2, 2, 1, {}},
      {"Greater", import_greater, 2, 2, 1, {}},
      {"GreaterOrEqual", import_greater_or_equal, 2, 2, 1, {}},
      {"IsInf", import_is_inf, 1, 1, 1, {"detect_negative", "detect_positive"}},
      {"IsNaN", import_is_nan, 1, 1, 1, {}},
      {"Less", import_less, 2, 2, 1, {}},
      {"LessOrEqual", import_less_or_equal, 2, 2, 1, {}},
      {"Not", import_not, 1, 1, 1, {}},
      {"Or", import_or, 2, 2, 1, {}},
      {"Where", import_where, 3, 3, 1, {}},
      {"Xor", import_xor, 2, 2, 1, {}},
  };
  return kRows;
}

}  // namespace bf_aot
