#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

// First operand first, so that literals appear in the graph in reading order.
std::vector<ValueId> read_all(NodeImport& node) {
  node.check_same_types(node.input_count());
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.input(i));
  return inputs;
}

// Operator sets before 7 repeat b only when `broadcast` is set; its dimensions are then a's from
// `axis` on.
void read_old_broadcast(NodeImport& node, std::vector<ValueId>& operands) {
  constexpr std::int64_t kAlwaysBroadcasts = 7;
  if (node.opset() >= kAlwaysBroadcasts)
    for (const char* name : {"axis", "broadcast"})
      if (node.has_attribute(name))
        fail("BF1012", "", fmt::format("unknown attribute '{}'", name),
             "it belongs to operator sets before 7");
  if (!node.flag("broadcast", false) || !node.has_attribute("axis")) return;
  Shape shape = node.shape_of(operands[1]);
  const std::size_t rank = node.shape_of(operands[0]).size();
  const std::size_t axis = checked_axis(node.int_attribute("axis", 0), rank);
  if (axis + shape.size() > rank)
    fail("BF1014", "", fmt::format("shape {} from axis {} of {}", to_string(shape), axis, rank));
  shape.resize(rank - axis, 1);
  operands[1] = add_reshape(node, operands[1], shape);
}

std::vector<ValueId> read_operands(NodeImport& node) {
  std::vector<ValueId> operands = read_all(node);
  read_old_broadcast(node, operands);
  return operands;
}

ValueId add_sum(NodeImport& node, const std::vector<ValueId>& terms) {
  ValueId sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i)
    sum = add_binary(node, Binary::Kind::kAdd, sum, terms[i]);
  return sum;
}

std::vector<ValueId> broadcast_all(NodeImport& node, const std::vector<ValueId>& inputs) {
  Shape shape = node.shape_of(inputs[0]);
  for (ValueId id : inputs) shape = broadcast_shapes(shape, node.shape_of(id));
  std::vector<ValueId> result;
  for (ValueId id : inputs) result.push_back(add_broadcast(node, id, shape));
  return result;
}

// max or min of x and one number, when input `other` is a constant that holds it.
bool emit_clip_by_constant(NodeImport& node, std::size_t x, std::size_t other, bool is_max) {
  const std::optional<double> bound = uniform_value(node.constant_if_any(other));
  if (!bound || node.constant_if_any(x) != nullptr) return false;
  const Shape shape = node.input_shape(x);
  if (broadcast_shapes(shape, node.input_shape(other)) != shape) return false;
  const ValueId input = node.input(x);
  if (is_max && *bound == 0) {
    node.emit(Relu{}, {input});
  } else {
    node.emit(add_clip(node, input, is_max ? *bound : -INFINITY, is_max ? INFINITY : *bound));
  }
  return true;
}

void import_extremum(NodeImport& node, bool is_max) {
  const std::vector<ValueId> inputs = read_all(node);
  if (inputs.size() == 2 &&
      (emit_clip_by_constant(node, 0, 1, is_max) || emit_clip_by_constant(node, 1, 0, is_max)))
    return;
  const std::vector<ValueId> equal = broadcast_all(node, inputs);
  node.emit(is_max ? add_max(node, equal) : add_min(node, equal));
}

void import_add(NodeImport& node) {
  node.emit(Binary{Binary::Kind::kAdd}, read_operands(node));
}

void import_sub(NodeImport& node) {
  node.emit(Binary{Binary::Kind::kSub}, read_operands(node));
}

// A product of a tensor with itself is a square: its bounds know that both factors are equal.
void import_mul(NodeImport& node) {
  const std::vector<ValueId> inputs = read_operands(node);
  if (inputs[0] == inputs[1]) {
    node.emit(Unary{{FunctionKind::kPower, 2}}, {inputs[0]});
  } else {
    node.emit(Binary{Binary::Kind::kMul}, inputs);
  }
}

// Integers are divided towards zero.
void import_div(NodeImport& node) {
  const std::vector<ValueId> inputs = read_operands(node);
  const ValueId quotient = add_binary(node, Binary::Kind::kDiv, inputs[0], inputs[1]);
  node.emit(is_integer_type(node.output_type()) ? add_trunc(node, quotient) : quotient);
}

// Limits a remainder of a division by y, if that is one number: it is less than |y| in magnitude,
// and has the sign of y where the quotient was rounded down. Intervals do not know that x and y q
// in x - y q belong together.
ValueId limit_remainder(NodeImport& node, ValueId remainder, bool of_sign_of_y) {
  const std::optional<double> y = uniform_value(node.constant_if_any(1));
  if (!y || *y == 0 || !std::isfinite(*y)) return remainder;
  const double size = std::abs(*y);
  return add_clip(node, remainder, of_sign_of_y && *y > 0 ? 0 : -size,
                  of_sign_of_y && *y < 0 ? 0 : size);
}

// x - y q, where q = x / y is rounded down (the sign of the result is y's) or, with fmod, towards
// zero. Real numbers are rounded down from set 28 on.
void import_mod(NodeImport& node) {
  const std::vector<ValueId> inputs = read_all(node);
  const bool fmod = node.flag("fmod", false);
  constexpr std::int64_t kRoundsRealDown = 28;
  if (!fmod && !is_integer_type(node.input_type(0)) && node.opset() < kRoundsRealDown)
    fail("BF1012", "", "attribute 'fmod' must be 1 for real numbers before operator set 28");
  const ValueId quotient = add_binary(node, Binary::Kind::kDiv, inputs[0], inputs[1]);
  const ValueId whole =
      fmod ? add_trunc(node, quotient) : add_unary(node, quotient, {FunctionKind::kFloor});
  const ValueId multiple = add_binary(node, Binary::Kind::kMul, inputs[1], whole);
  const ValueId remainder = add_binary(node, Binary::Kind::kSub, inputs[0], multiple);
  node.emit(limit_remainder(node, remainder, !fmod));
}

void import_sum(NodeImport& node) {
  node.emit(add_sum(node, read_all(node)));
}

void import_mean(NodeImport& node) {
  const std::vector<ValueId> inputs = read_all(node);
  const ValueId count = add_constant(node, static_cast<double>(inputs.size()));
  node.emit(Binary{Binary::Kind::kDiv}, {add_sum(node, inputs), count});
}

void import_max(NodeImport& node) {
  import_extremum(node, true);
}

void import_min(NodeImport& node) {
  import_extremum(node, false);
}

ValueId add_gemm(NodeImport& node) {
  Gemm gemm;
  gemm.alpha = node.float_attribute("alpha", 1);
  gemm.beta = node.float_attribute("beta", 1);
  gemm.trans_a = node.flag("transA", false);
  gemm.trans_b = node.flag("transB", false);
  return node.add(gemm, read_all(node));
}

void import_gemm(NodeImport& node) {
  node.emit(add_gemm(node));
}

void import_fused_gemm(NodeImport& node) {
  if (!node.has_attribute("activation")) fail("BF1012", "", "attribute 'activation' is missing");
  node.emit(add_activation(node, add_gemm(node)));
}

// Input i in the order that MatMul expects: with `batch` its first dimension moves before the last,
// and with `matrix` the last two change places. A vector has no such dimensions.
ValueId add_operand(NodeImport& node, std::size_t i, bool batch, bool matrix) {
  const ValueId x = node.input(i);
  const std::size_t rank = node.shape_of(x).size();
  if (rank < 2) return x;
  std::vector<std::int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[rank - 2], perm[rank - 1]);
  return add_transposed(node, x, perm);
}

void import_fused_matmul(NodeImport& node) {
  node.check_same_types(2);
  const ValueId a =
      add_operand(node, 0, node.flag("transBatchA", false), node.flag("transA", false));
  const ValueId b =
      add_operand(node, 1, node.flag("transBatchB", false), node.flag("transB", false));
  const ValueId y = node.add(MatMul{}, {a, b});
  const double alpha = node.float_attribute("alpha", 1);
  node.emit(alpha == 1 ? y : add_scale(node, y, alpha, 0));
}

void import_matmul(NodeImport& node) {
  node.emit(MatMul{}, read_all(node));
}

void import_relu(NodeImport& node) {
  node.emit(Relu{}, read_all(node));
}

}  // namespace

OperatorRows arithmetic_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Add", import_add, 2, 2, 1, {"axis", "broadcast"}},
      {"Div", import_div, 2, 2, 1, {"axis", "broadcast"}},
      {"Gemm", import_gemm, 2, 3, 1, {"alpha", "beta", "broadcast", "transA", "transB"}},
      {"MatMul", import_matmul, 2, 2, 1, {}},
      {"Max", import_max, 1, kVariadic, 1, {}},
      {"Mean", import_mean, 1, kVariadic, 1, {}},
      {"Min", import_min, 1, kVariadic, 1, {}},
      {"Mod", import_mod, 2, 2, 1, {"fmod"}},
      {"Mul", import_mul, 2, 2, 1, {"axis", "broadcast"}},
      {"Relu", import_relu, 1, 1, 1, {}},
      {"Sub", import_sub, 2, 2, 1, {"axis", "broadcast"}},
      {"Sum", import_sum, 1, kVariadic, 1, {}},
      {"FusedGemm",
       import_fused_gemm,
       2,
       3,
       1,
       {"activation", "activation_alpha", "activation_beta", "activation_gamma", "activation_max",
        "activation_min", "alpha", "beta", "transA", "transB"},
       kMicrosoft},
      {"FusedMatMul",
       import_fused_matmul,
       2,
       2,
       1,
       {"alpha", "transA", "transB", "transBatchA", "transBatchB"},
       kMicrosoft},
  };
  return kRows;
}

}  // namespace bf_aot
