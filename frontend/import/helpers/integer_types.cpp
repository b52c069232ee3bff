#include "frontend/import/helpers/integer_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/import/operators/versions.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

// Tells what run-times do with a result that its type does not hold.
enum class Beyond {
  kNever,     // the operator moves, chooses or limits elements
  kWraps,     // the lowest bits are kept
  kDisputed,  // some keep the lowest bits, others the nearest number of the type
};

Beyond beyond(const onnx::NodeProto& node) {
  static constexpr std::string_view kWrap[] = {
      "Abs",  "Add",    "Cast",          "CastLike", "ConvInteger", "CumSum", "Div", "Einsum",
      "Gemm", "MatMul", "MatMulInteger", "Mul",      "Neg",         "PRelu",  "Sub", "Sum"};
  static constexpr std::string_view kDispute[] = {
      "GridSample",      "Mean",       "Pow",       "ReduceL1",        "ReduceL2",
      "ReduceMean",      "ReduceProd", "ReduceSum", "ReduceSumSquare", "Resize",
      "ScatterElements", "ScatterND",  "Shrink",    "Upsample"};
  if (!is_standard_domain(node.domain())) return Beyond::kNever;
  if (std::ranges::find(kWrap, node.op_type()) != std::end(kWrap)) return Beyond::kWraps;
  if (std::ranges::find(kDispute, node.op_type()) != std::end(kDispute)) return Beyond::kDisputed;
  return Beyond::kNever;
}

int bits_of(ElementType type) {
  if (type == TensorProto::INT64 || type == TensorProto::UINT64) return 64;
  return std::bit_width(static_cast<std::uint64_t>(largest_of(type) - least_of(type)));
}

Reach product(const Reach& a, const Reach& b, double count) {
  if (!std::isfinite(a.low) || !std::isfinite(a.high) || !std::isfinite(b.low) ||
      !std::isfinite(b.high))
    return {};
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  // Each of the two products is rounded once.
  constexpr double kOutward = 0x1p-50;
  const auto outward = [&](double x, double sign) {
    return count * x + sign * std::abs(count * x) * kOutward;
  };
  const bool exact = count * std::max(std::abs(low), std::abs(high)) < 0x1p53 &&
                     low == std::floor(low) && high == std::floor(high);
  return exact ? Reach{count * low, count * high} : Reach{outward(low, -1), outward(high, 1)};
}

Reach reach_of_literal(const Constant& value) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Reach all{kInf, -kInf};
  for (std::size_t i = 0; i < value.data.size(); ++i) {
    if (value.error_at(i) != 0) return {};
    all = {std::min(all.low, value.data[i]), std::max(all.high, value.data[i])};
  }
  return value.data.empty() ? Reach{} : all;
}

std::int64_t summed(const Graph& graph, const Node& node) {
  const Shape& shape = graph.value(node.inputs[0]).shape;
  const auto* const gemm = std::get_if<Gemm>(&node.op);
  if (shape.empty()) return 1;
  return gemm != nullptr && gemm->trans_a && shape.size() == 2 ? shape[0] : shape.back();
}

// Returns the reach of what a node makes, also of the operators that import alone has.
Reach reach_at_import(const Graph& graph, const Node& node, const std::vector<Reach>& reaches) {
  const auto input = [&](std::size_t k) { return reaches[index_of(node.inputs[k])]; };
  if (const auto* const literal = std::get_if<Literal>(&node.op))
    return reach_of_literal(literal->value);
  if (const auto* const binary = std::get_if<Binary>(&node.op)) {
    if (binary->kind == Binary::Kind::kMul) return product(input(0), input(1), 1);
    const Reach b = input(1);
    if (binary->kind == Binary::Kind::kSub) {
      const Node sum{Binary{Binary::Kind::kAdd}, {node.inputs[0], node.inputs[1]}, node.output, {}};
      std::vector<Reach> operands = {input(0), {-b.high, -b.low}};
      Node placed = sum;
      placed.inputs = {ValueId{0}, ValueId{1}};
      return reach_of_node(placed, operands);
    }
  }
  if (std::holds_alternative<MatMul>(node.op))
    return product(input(0), input(1), static_cast<double>(summed(graph, node)));
  if (const auto* const gemm = std::get_if<Gemm>(&node.op);
      gemm != nullptr && gemm->alpha == 1 && node.inputs.size() == 2)
    return product(input(0), input(1), static_cast<double>(summed(graph, node)));
  return reach_of_node(node, reaches);
}

// Reaches of all values made so far. Those that nodes of the file make are known by then.
void catch_up(ImportState& state) {
  const Graph& graph = state.graph;
  while (state.reaches.size() < graph.values.size()) {
    const std::size_t i = state.reaches.size();
    const int maker = state.makers[i];
    const bool integer = is_integer_type(state.types[i]);
    const bool one_hot = std::ranges::any_of(
        state.token_ids, [&](const auto& each) { return index_of(each.second.one_hot) == i; });
    state.reaches.push_back(
        maker >= 0
            ? reach_at_import(graph, graph.nodes[static_cast<std::size_t>(maker)], state.reaches)
        : one_hot ? Reach{0, 1}
        : integer ? reach_of_type(state.types[i])
                  : Reach{});
  }
}

Reach common(const Reach& a, const Reach& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

// floor((x - least) / 2^bits), for whole x. Half a unit below the least number keeps rounded bounds
// of what is in the type from the step.
ValueId add_turns(NodeImport& node, ValueId x, ElementType type) {
  const int bits = bits_of(type);
  const double per_turn = std::ldexp(1, -bits);
  const double least = reach_of_type(type).low;
  // 2^63 + 1/2 is no double: there the step is at the least number itself.
  const double offset = bits == 64 && least < 0 ? 0.5 : (0.5 - least) * per_turn;
  return add_unary(node, add_scale(node, x, per_turn, offset), {FunctionKind::kFloor});
}

// x times any number of a range, at most `most` in magnitude. Limits stand before and behind it,
// since the error of a factor counts against all that is added up with it.
ValueId add_part(NodeImport& node, ValueId x, const Bounded& factor, double most) {
  Constant part = filled(node.shape_of(x), factor.value);
  part.error.assign(part.data.size(), factor.error);
  const ValueId y = add_scale(node, x, std::move(part), filled(node.shape_of(x), 0));
  return add_clip(node, y, -most, most);
}

// Floats become integers of 32 and 64 bits as they are: what does not fit is undefined.
bool is_undefined(const ImportState& state, const onnx::NodeProto& node, ElementType type) {
  if (node.op_type() != "Cast" && node.op_type() != "CastLike") return false;
  const auto found = state.symbols.find(node.input(0));
  const auto* const id =
      found == state.symbols.end() ? nullptr : std::get_if<ValueId>(&found->second);
  const bool from_real = id != nullptr && !is_integer_type(state.types[index_of(*id)]);
  return from_real && (bits_of(type) == 64 || type == TensorProto::INT32);
}

// True of token ids that all fit into the type: they stay ids, which Gather reads.
bool are_fitting_ids(const ImportState& state, ValueId id, const Reach& of_type) {
  if (state.token_ids.empty()) return false;
  std::vector<std::int64_t> element;
  const auto found = state.token_ids.find(state.moved_from(id, element));
  if (found == state.token_ids.end()) return false;
  return std::ranges::all_of(found->second.sets, [&](const std::vector<std::int64_t>& set) {
    return std::ranges::all_of(set, [&](std::int64_t each) {
      const auto x = static_cast<double>(each);
      return holds(of_type, {x, x});
    });
  });
}

void keep_in_type(ImportState& state, const onnx::NodeProto& node, const std::string& name,
                  const Origin& origin) {
  const auto found = state.symbols.find(name);
  if (name.empty() || found == state.symbols.end()) return;
  const auto* const id = std::get_if<ValueId>(&found->second);
  if (id == nullptr) return;
  const ElementType type = state.types[index_of(*id)];
  if (!is_integer_type(type) || element_count(state.graph.value(*id).shape) == 0) return;
  catch_up(state);
  Reach& reach = state.reaches[index_of(*id)];
  const Reach of_type = reach_of_type(type);
  if (are_fitting_ids(state, *id, of_type)) return;
  const Beyond kind = beyond(node);
  if (type == TensorProto::BOOL || kind == Beyond::kNever || holds(of_type, reach) ||
      is_undefined(state, node, type)) {
    reach = common(reach, of_type);
    return;
  }
  const ValueId real = *id;
  NodeImport import(state, node, origin);
  import.set_output_type(type);
  const ValueId kept = kind == Beyond::kWraps ? add_wrapped(import, real, type)
                                              : add_any_beyond(import, real, real, type);
  state.rename(real, name + "/real");
  state.rename(kept, name);
  state.symbols[name] = kept;
  catch_up(state);
  state.reaches[index_of(kept)] = common(state.reaches[index_of(kept)], of_type);
}

}  // namespace

Reach reach_of_type(ElementType type) {
  if (type == TensorProto::UINT64) return {0, 0x1p64};
  return {static_cast<double>(least_of(type)), static_cast<double>(largest_of(type))};
}

Reach integer_reach(ImportState& state, ValueId id) {
  catch_up(state);
  return state.reaches[index_of(id)];
}

bool holds(const Reach& outer, const Reach& inner) {
  return inner.low >= outer.low && inner.high <= outer.high;
}

ValueId add_any_beyond(NodeImport& node, ValueId x, ValueId tested, ElementType type) {
  const Reach reach = reach_of_type(type);
  const ValueId above =
      add_unary(node, add_scale(node, tested, 1, -(reach.high + 0.5)), {FunctionKind::kStepAt});
  const ValueId below =
      add_unary(node, add_scale(node, tested, -1, reach.low - 0.5), {FunctionKind::kStepAt});
  const ValueId beyond = add_binary(node, Binary::Kind::kAdd, above, below);
  const double width = reach.high - reach.low;
  const ValueId near = add_clip(node, x, reach.low, reach.high);
  const ValueId any = add_part(node, add_clip(node, beyond, 0, 1), {0, width}, width);
  return add_clip(node, add_binary(node, Binary::Kind::kAdd, near, any), reach.low, reach.high);
}

ValueId add_wrapped(NodeImport& node, ValueId x, ElementType type) {
  const Reach reach = reach_of_type(type);
  const ValueId turned =
      add_scale(node, add_turns(node, x, type), -std::ldexp(1, bits_of(type)), 0);
  return add_clip(node, add_binary(node, Binary::Kind::kAdd, x, turned), reach.low, reach.high);
}

// floor(x + t) for t of [0, 1/2] is x cut off or rounded, for x >= 0.
ValueId add_cut_or_rounded(NodeImport& node, ValueId x) {
  const Shape shape = node.shape_of(x);
  const auto moved = [&](ValueId part, double by) {
    Constant offset = filled(shape, by);
    offset.error.assign(offset.data.size(), std::abs(by));
    return add_scale(node, part, filled(shape, 1), std::move(offset));
  };
  const ValueId above = add_unary(node, moved(add_relu(node, x), 0.25), {FunctionKind::kFloor});
  const ValueId below =
      add_unary(node, moved(add_clip(node, x, -INFINITY, 0), -0.25), {FunctionKind::kCeil});
  return add_binary(node, Binary::Kind::kAdd, above, below);
}

IntegerTensor wrapped(IntegerTensor integers, ElementType type) {
  const int bits = bits_of(type);
  if (bits < 64) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    const bool is_signed = least_of(type) < 0;
    for (std::int64_t& each : integers.data) {
      const std::uint64_t kept = static_cast<std::uint64_t>(each) & mask;
      const bool negative = is_signed && (kept >> (bits - 1)) != 0;
      each = static_cast<std::int64_t>(negative ? kept | ~mask : kept);
    }
  }
  integers.type = type;
  return integers;
}

void keep_in_types(ImportState& state, const onnx::NodeProto& node, const Origin& origin) {
  for (const std::string& name : node.output()) keep_in_type(state, node, name, origin);
}

}  // namespace bf_aot
