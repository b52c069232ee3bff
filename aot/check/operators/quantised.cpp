#include <algorithm>

#include "aot/check/operators/rows.h"

// Operators of integers of 8 bits and their scales, in exact arithmetic: numbers are rounded to the
// nearest code, ties to the even one, and limited to the type.

namespace bf_check {
namespace {

constexpr u64 kUnsigned = 2, kSigned = 3, kWide = 6;  // 8 bits, and 32
constexpr i64 kMostProducts = 1 << 15;                // of 9 bits, in a sum of 32

// One number, or one for each position of an axis, shaped to be broadcast to a tensor.
Value parameter(const Operands& o, std::size_t i, const std::vector<i64>& to, i64 axis) {
  Value given = o.constant(i);
  if (given.size() == 1) {
    given.shape = {};
    return given;
  }
  const std::size_t at = axis_of(axis, to.size());
  if (given.shape != std::vector<i64>{to[at]}) refuse("shapes do not fit");
  given.shape.assign(to.size() - at, 1);
  given.shape[0] = to[at];
  return given;
}

Value scale_of(const Operands& o, std::size_t i, const std::vector<i64>& to, i64 axis) {
  const Value scale = parameter(o, i, to, axis);
  if (scale.type != 0) refuse("a scale is an integer");
  for (const Rat& number : scale.data.all())
    if (number <= 0) refuse("a scale is not positive");
  return scale;
}

// Input i less its zero point, as real numbers.
Value shifted(const Operands& o, std::size_t i, std::size_t zero_point, i64 axis) {
  Value x = o.in(i), zero = constant_of({}, {0});
  if (x.type != kUnsigned && x.type != kSigned && x.type != kWide)
    refuse("this type is not in the checker's table");
  if (o.optional(zero_point) != nullptr) {
    zero = parameter(o, zero_point, x.shape, axis);
    if (zero.type != x.type) refuse("tensors of different types");
  }
  x.type = zero.type = 0;
  return sum(o.builder, x, zero, -1);
}

// The codes of x times factors. The type is that of the zero point, which is one number.
Value coded(const Operands& o, const Value& x, const Value& factor, std::size_t zero_point,
            i64 axis) {
  Value given = constant_of({}, {0});
  given.type = kUnsigned;
  if (o.optional(zero_point) != nullptr) given = parameter(o, zero_point, x.shape, axis);
  const u64 type = given.type;
  if ((type != kUnsigned && type != kSigned) || o.number("output_dtype", 0) != 0)
    refuse("this type is not in the checker's table");
  const Rat zero = given.data.size() > 0 ? given.data[0] : Rat(0);
  for (const Rat& number : given.data.all())
    if (number != zero) refuse("several zero points are not in the checker's table");
  const i64 least = type == kSigned ? -128 : 0;
  Program code;
  u32 step = code.add(Op::kRound, 0);
  step = code.add(Op::kAdd, step, code.constant(zero));
  step = code.add(Op::kMax, step, code.constant(Rat(static_cast<long>(least))));
  step = code.add(Op::kMin, step, code.constant(Rat(static_cast<long>(least + 255))));
  Value codes = applied(o.builder, scaled(o.builder, x, factor), code.ends_with(step));
  codes.type = type;
  return codes;
}

Value inverse(Value x) {
  std::vector<Rat> numbers = x.data.all();
  for (Rat& number : numbers) number = 1 / number;
  x.data = std::move(numbers);
  return x;
}

Value quantize(const Operands& o) {
  const Value& x = o.in(0);
  if (x.type != 0) refuse("this type is not in the checker's table");
  const i64 axis = o.number("axis", 1);
  return coded(o, x, inverse(scale_of(o, 1, x.shape, axis)), 2, axis);
}

Value dequantize(const Operands& o) {
  const i64 axis = o.number("axis", 1);
  return scaled(o.builder, shifted(o, 0, 2, axis), scale_of(o, 1, o.in(0).shape, axis));
}

// The sum of products, of operands less their zero points, that an operator of real numbers makes.
Value integer_sum(const Operands& o, const char* name, std::size_t second, std::size_t zero_point,
                  std::size_t bias) {
  const bool conv = name == std::string("Conv");
  const std::vector<i64>& weights = o.constant(second).shape;
  if (weights.size() < 2 || (!conv && weights.size() != 2)) refuse("shapes do not fit");
  const i64 products = size_of(weights) / std::max(weights[conv ? 0 : 1], i64{1});
  if (products > kMostProducts) refuse("a sum of 32 bits may overflow");
  const Value x = shifted(o, 0, 2, conv ? 1 : -2),
              w = shifted(o, second, zero_point, conv ? 0 : -1);
  Value b;
  Operands real{o.node, {&x, &w}, o.builder, o.opset};
  if (o.optional(bias) != nullptr) {
    b = o.constant(bias);
    if (b.type != kWide) refuse("a bias is not of 32 bits");
    b.type = 0;
    real.inputs.push_back(&b);
  }
  return real_operator(name)->rule(real);
}

Value integers(const Operands& o, const char* name) {
  Value codes = integer_sum(o, name, 1, 3, o.inputs.size());
  codes.type = kWide;
  return codes;
}

// The codes of such a sum: of its scales' product by the scale of the codes.
Value quantised(const Operands& o, const char* name, i64 axis) {
  const Value x = integer_sum(o, name, 3, 5, 8);
  const Value scale = scaled(o.builder, scale_of(o, 4, x.shape, axis), scale_of(o, 1, {}, 0));
  return coded(o, x, scaled(o.builder, scale, inverse(scale_of(o, 6, {}, 0))), 7, axis);
}

}  // namespace

const std::vector<Operator>& quantised_operators() {
  using O = const Operands&;
  static const std::vector<Operator> table = {
      {"ConvInteger", 4, " auto_pad dilations group kernel_shape pads strides ",
       [](O o) { return integers(o, "Conv"); }},
      {"DequantizeLinear", 3, " axis ", dequantize},
      {"MatMulInteger", 4, " ", [](O o) { return integers(o, "MatMul"); }},
      {"QLinearConv", 9, " auto_pad dilations group kernel_shape pads strides ",
       [](O o) { return quantised(o, "Conv", 1); }},
      {"QLinearMatMul", 8, " ", [](O o) { return quantised(o, "MatMul", -1); }},
      {"QuantizeLinear", 3, " axis output_dtype saturate ", quantize},
  };
  return table;
}

}  // namespace bf_check
