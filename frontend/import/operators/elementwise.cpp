#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "frontend/graph/index_maps.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/integer_types.h"
#include "frontend/import/helpers/narrow.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

void emit_function(NodeImport& node, Function function) {
  node.emit(Unary{function}, {node.input(0)});
}

double parameter_of(NodeImport& node, const ParameterSource& source) {
  if (source.attribute.empty()) return source.otherwise;
  const double otherwise = node.opset() < source.since ? source.before : source.otherwise;
  const double value = node.float_attribute(source.attribute, otherwise);
  if (source.divides && value == 0)
    fail(
        "BF1012", "",
        fmt::format("attribute '{}' is 0, but {} divides by it", source.attribute, node.op_type()));
  return value;
}

// x^e for one exponent, by the kindest function that is the same.
ValueId add_power(NodeImport& node, ValueId x, double exponent) {
  if (exponent == 0) return add_scale(node, x, 0, 1);  // ONNX, as C: also for x = 0
  if (exponent == 1) return x;
  if (exponent == -1) return add_unary(node, x, {FunctionKind::kReciprocal});
  if (exponent == 0.5) return add_unary(node, x, {FunctionKind::kSqrt});
  return add_unary(node, x, {FunctionKind::kPower, exponent});
}

// Elements of equal exponents go through one function each, and back to their places.
ValueId add_grouped_powers(NodeImport& node, ValueId x, const std::vector<double>& exponents) {
  constexpr std::size_t kMostGroups = 64;
  std::map<double, std::vector<std::int64_t>> groups;
  for (std::size_t i = 0; i < exponents.size(); ++i)
    groups[exponents[i]].push_back(static_cast<std::int64_t>(i));
  if (groups.size() == 1) return add_power(node, x, exponents[0]);
  if (groups.size() > kMostGroups)
    fail("BF1026", "",
         fmt::format("{} different exponents, the limit is {}", groups.size(), kMostGroups));
  std::vector<ValueId> parts;
  std::vector<std::int64_t> source(exponents.size());
  std::int64_t next = 0;
  for (const auto& each : groups) {
    const std::vector<std::int64_t>& elements = each.second;
    const Shape shape = {static_cast<std::int64_t>(elements.size())};
    const ValueId group = add_index_map(node, x, shape, [&] { return elements; });
    parts.push_back(add_power(node, group, each.first));
    for (std::int64_t i : elements) source[static_cast<std::size_t>(i)] = next++;
  }
  const Shape shape = node.shape_of(x);
  return add_index_map(node, add_concat(node, parts), shape, [&] { return source; });
}

// b^y = e^(y ln b), for a constant base b > 0.
void emit_exponential(NodeImport& node, const Constant& base) {
  for (std::size_t i = 0; i < base.data.size(); ++i)
    if (!(base.data[i] > base.error_at(i)))
      fail("BF1026", "", "the exponent is computed and the base is not positive",
           "only constant exponents or constant positive bases are supported");
  const ValueId log = add_unary(node, node.input(0), {FunctionKind::kLog});
  const ValueId product = add_binary(node, Binary::Kind::kMul, node.input(1), log);
  node.emit(Unary{{FunctionKind::kExp}}, {product});
}

// An optional bound of Clip; nullopt: computed, or not exact.
std::optional<double> clip_bound(NodeImport& node, std::size_t i, double otherwise) {
  if (!node.has_input(i)) return otherwise;
  const Constant* const bound = node.constant_if_any(i);
  if (bound == nullptr || !bound->is_exact() || bound->data.size() != 1) return std::nullopt;
  return bound->data[0];
}

// min(max(x, low), high) with computed ends.
ValueId add_computed_clip(NodeImport& node, ValueId x) {
  const Shape shape = node.shape_of(x);
  if (node.has_input(1)) x = add_max(node, {x, add_broadcast(node, node.input(1), shape)});
  if (node.has_input(2)) x = add_min(node, {x, add_broadcast(node, node.input(2), shape)});
  return x;
}

// Casts to float round constants alone: real semantics does not round tensors to float32.
bool rounds(NodeImport& node, ElementType from, ElementType to) {
  if (narrow_format(to) == nullptr || holds_all_of(from, to)) return false;
  return to != TensorProto::FLOAT || node.constant_if_any(0) != nullptr;
}

bool is_below_byte(ElementType type) {
  return type == TensorProto::INT4 || type == TensorProto::UINT4 || type == TensorProto::INT2 ||
         type == TensorProto::UINT2;
}

// `round_mode` is about powers of two in 8 bits, which are not supported.
void cast_to(NodeImport& node, ElementType from, ElementType to) {
  const bool saturate = node.flag("saturate", true);
  const std::string mode = node.string_attribute("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    fail("BF1012", "",
         fmt::format("attribute 'round_mode' is '{}', not up, down or nearest", printable(mode)));
  const FloatFormat* const format = narrow_format(to);
  if (!is_real_type(to) && !is_integer_type(to) && format == nullptr)
    fail("BF1022", "", fmt::format("a cast to {} is not supported", element_type_name(to)),
         "only real numbers, integers of 8 to 64 bits and truth values are");
  node.set_output_type(to);
  const IntegerTensor* const integers = node.integers_if_any(0);
  if (integers != nullptr && to != TensorProto::BOOL && is_integer_type(to)) {
    return node.emit(wrapped(*integers, to));
  }
  // The smallest of them has no infinities to overflow to.
  const bool cuts = to == TensorProto::FLOAT4E2M1;
  if (rounds(node, from, to))
    return emit_rounded(node, *format, cuts || (saturate && format->has_saturate));
  const ValueId x = node.input(0);
  if (to == TensorProto::BOOL && from != TensorProto::BOOL) {
    node.emit(add_scale(node, add_unary(node, x, {FunctionKind::kIsZero}), -1, 1));
  } else if (is_integer_type(to) && !is_integer_type(from)) {
    // Run-times cut, but for integers of less than a byte, which some round to.
    node.emit(is_below_byte(to) ? add_cut_or_rounded(node, x) : add_trunc(node, x));
  } else {
    node.emit(x);
  }
}

void import_function(NodeImport& node) {
  const FunctionFacts* const found = facts_of_operator(node.op_type());
  BF_CHECK(found != nullptr);
  const double a = parameter_of(node, found->from.a);
  emit_function(node, {found->kind, a, parameter_of(node, found->from.b)});
}

void import_gelu(NodeImport& node) {
  const std::string approximate = node.string_attribute("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    fail("BF1012", "",
         fmt::format("attribute 'approximate' is '{}', not none or tanh", printable(approximate)));
  emit_function(node, {approximate == "tanh" ? FunctionKind::kGeluTanh : FunctionKind::kGelu});
}

// The function of inputs 0 and 1 added up; the second may be left out.
void emit_biased(NodeImport& node, FunctionKind kind) {
  ValueId x = node.input(0);
  if (node.has_input(1)) {
    const Shape shape = node.shape_of(x);
    x = add_binary(node, Binary::Kind::kAdd, x, add_broadcast(node, node.input(1), shape));
  }
  node.emit(Unary{{kind}}, {x});
}

void import_bias_gelu(NodeImport& node) {
  emit_biased(node, FunctionKind::kGelu);
}

void import_fast_gelu(NodeImport& node) {
  emit_biased(node, FunctionKind::kGeluTanh);
}

// x gelu(y), where x and y are the halves of the last dimension of inputs 0 and 1 added up.
void import_bias_split_gelu(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  if (shape.empty() || shape.back() % 2 != 0)
    fail("BF1014", "",
         fmt::format("the input has shape {}, which has no halves", to_string(shape)));
  const ValueId sum = add_binary(node, Binary::Kind::kAdd, node.input(0),
                                 add_broadcast(node, node.input(1), shape));
  const std::int64_t half = shape.back() / 2;
  Shape result = shape;
  result.back() = half;
  const auto part = [&](std::int64_t begin) {
    return add_index_map(node, sum, result, [&] {
      std::vector<std::int64_t> source;
      for (std::int64_t i = 0; i < element_count(result); ++i)
        source.push_back(i / half * 2 * half + begin + i % half);
      return source;
    });
  };
  const ValueId gate = add_unary(node, part(half), {FunctionKind::kGelu});
  node.emit(Binary{Binary::Kind::kMul}, {part(0), gate});
}

// x sigmoid(alpha x).
// x sigmoid(alpha x).
ValueId add_swish(NodeImport& node, ValueId x, double alpha) {
  const ValueId inner = alpha == 1 ? x : add_scale(node, x, alpha, 0);
  return add_binary(node, Binary::Kind::kMul, x, add_unary(node, inner, {FunctionKind::kSigmoid}));
}

void import_swish(NodeImport& node) {
  const double otherwise = node.op_type() == "QuickGelu" ? 1.702F : 1;
  const double alpha = node.float_attribute("alpha", otherwise);
  node.emit(add_swish(node, node.input(0), alpha));
}

// The first input's swish gates the second. Shapes have to be equal: nothing is repeated.
void import_swiglu(NodeImport& node) {
  node.check_same_types(2);
  if (node.input_shape(0) != node.input_shape(1))
    fail("BF1014", "",
         fmt::format("the gate has shape {}, the value {}", to_string(node.input_shape(0)),
                     to_string(node.input_shape(1))));
  const ValueId gate = add_swish(node, node.input(0), node.float_attribute("alpha", 1));
  node.emit(Binary{Binary::Kind::kMul}, {gate, node.input(1)});
}

void import_neg(NodeImport& node) {
  node.emit(add_scale(node, node.input(0), -1, 0));
}

// Input 1. Before opset 7 one slope per channel has one dimension.
ValueId add_slope(NodeImport& node, const Shape& shape) {
  constexpr std::int64_t kBroadcasts = 7;
  const ValueId slope = node.input(1);
  if (node.opset() >= kBroadcasts || node.shape_of(slope).size() != 1 || shape.size() < 2)
    return slope;
  Shape spread(shape.size(), 1);
  spread[1] = node.shape_of(slope)[0];
  return add_reshape(node, slope, spread);
}

// x < 0 ? s x : x. One slope for all elements is a LeakyRelu; else s x + (1 - s) max(x, 0).
void import_prelu(NodeImport& node) {
  const ValueId x = node.input(0);
  const Shape shape = node.shape_of(x);
  if (const std::optional<double> slope = uniform_value(node.constant_if_any(1))) {
    emit_function(node, {FunctionKind::kLeakyRelu, *slope});
    return;
  }
  const ValueId slope = add_slope(node, shape);
  if (!broadcasts_to(node.shape_of(slope), shape))
    fail("BF1014", "",
         fmt::format("slope of shape {} does not broadcast to {}", to_string(node.shape_of(slope)),
                     to_string(shape)));
  const ValueId rest = add_scale(node, slope, -1, 1);
  const ValueId below = add_binary(node, Binary::Kind::kMul, x, slope);
  const ValueId above = add_binary(node, Binary::Kind::kMul, add_relu(node, x), rest);
  node.emit(Binary{Binary::Kind::kAdd}, {below, above});
}

void import_pow(NodeImport& node) {
  const Shape shape = broadcast_shapes(node.input_shape(0), node.input_shape(1));
  const Constant* const exponent = node.constant_if_any(1);
  if (exponent == nullptr) {
    emit_exponential(node, node.constant(0, "base"));
    return;
  }
  if (!exponent->is_exact())
    fail("BF1025", "", "the exponent is computed and no exact number",
         "store it as a constant in the model");
  const std::vector<std::int64_t> map = broadcast_map(exponent->shape, shape);
  std::vector<double> exponents;
  for (std::int64_t i : map) exponents.push_back(exponent->data[static_cast<std::size_t>(i)]);
  // Whole powers of integers are integers anyway.
  const bool truncate = is_integer_type(node.input_type(0)) &&
                        std::any_of(exponents.begin(), exponents.end(), [](double each) {
                          return each < 0 || each != std::floor(each);
                        });
  const ValueId x = add_broadcast(node, node.input(0), shape);
  const ValueId power = add_grouped_powers(node, x, exponents);
  node.emit(truncate ? add_trunc(node, power) : power);
}

// Bounds are attributes before opset 11, inputs since.
void import_clip(NodeImport& node) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    if (node.has_input(i) && element_count(node.input_shape(i)) != 1)
      fail("BF1014", "",
           fmt::format("the bound in input {} has shape {}, but one number is needed", i,
                       to_string(node.input_shape(i))));
  const ValueId x = node.input(0);
  const auto low = clip_bound(node, 1, node.float_attribute("min", -INFINITY));
  const auto high = clip_bound(node, 2, node.float_attribute("max", INFINITY));
  if (!low || !high) {
    node.emit(add_computed_clip(node, x));
  } else if (*low == -INFINITY && *high == INFINITY) {
    node.emit(x);
  } else if (*low == 0 && *high == INFINITY) {
    node.emit(Relu{}, {x});
  } else {
    // ONNX: everything is `high` when the bounds are crossed.
    node.emit(Unary{{FunctionKind::kClip, std::min(*low, *high), *high}}, {x});
  }
}

void import_cast(NodeImport& node) {
  if (!node.has_attribute("to")) fail("BF1012", "", "attribute 'to' is missing");
  cast_to(node, node.input_type(0), node.type_attribute("to", TensorProto::UNDEFINED));
}

void import_cast_like(NodeImport& node) {
  cast_to(node, node.input_type(0), node.input_type(1));
}

}  // namespace

// Operators that are functions of one variable; function_facts() says which function each is.
OperatorRows function_operators() {
  static const std::vector<OperatorImporter> rows = [] {
    std::vector<OperatorImporter> made;
    for (const FunctionFacts& facts : function_facts()) {
      const FunctionOperator& from = facts.from;
      if (!from.type.empty())
        made.push_back({from.type, import_function, 1, 1, 1, {from.a.attribute, from.b.attribute}});
    }
    return made;
  }();
  return rows;
}

OperatorRows elementwise_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Cast", import_cast, 1, 1, 1, {"to", "saturate", "round_mode"}},
      {"CastLike", import_cast_like, 2, 2, 1, {"saturate", "round_mode"}},
      {"Clip", import_clip, 1, 3, 1, {"min", "max"}},
      {"Gelu", import_gelu, 1, 1, 1, {"approximate"}},
      {"Neg", import_neg, 1, 1, 1, {}},
      {"PRelu", import_prelu, 2, 2, 1, {}},
      {"Pow", import_pow, 2, 2, 1, {}},
      {"SwiGLU", import_swiglu, 2, 2, 1, {"alpha"}},
      {"Swish", import_swish, 1, 1, 1, {"alpha"}},
      {"BiasGelu", import_bias_gelu, 2, 2, 1, {}, kMicrosoft},
      {"BiasSplitGelu", import_bias_split_gelu, 2, 2, 1, {}, kMicrosoft},
      {"FastGelu", import_fast_gelu, 1, 2, 1, {}, kMicrosoft},
      {"Gelu", import_gelu, 1, 1, 1, {}, kMicrosoft},
      {"QuickGelu", import_swish, 1, 1, 1, {"alpha"}, kMicrosoft},
  };
  return kRows;
}

}  // namespace bf_aot
