#include "frontend/import/helpers/importing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_facts.h"
#include "frontend/graph/model.h"
#include "frontend/import/helpers/builder.h"

namespace bf_aot {
namespace {

// Returns true if all of these inputs are integers known at import.
bool all_integers(const NodeImport& node, const std::vector<std::size_t>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](std::size_t i) { return node.integers_if_any(i) != nullptr; });
}

// Parameters of the activation, in the order in which they are asked for.
class ActivationParameters {
 public:
  explicit ActivationParameters(NodeImport& node)
      : node_(node), listed_(node.floats_attribute("activation_params")) {}

  double next(std::string_view attribute, double otherwise) {
    if (!listed_) return node_.float_attribute(fmt::format("activation_{}", attribute), otherwise);
    const std::size_t at = taken_++;
    return at < listed_->size() ? (*listed_)[at] : otherwise;
  }
  double next(const ParameterSource& source) {
    return source.attribute.empty() ? source.otherwise : next(source.attribute, source.otherwise);
  }

 private:
  NodeImport& node_;
  std::optional<std::vector<double>> listed_;
  std::size_t taken_ = 0;
};

}  // namespace

std::optional<double> uniform_value(const Constant* constant) {
  if (constant == nullptr || !constant->is_exact() || constant->data.empty()) return std::nullopt;
  const double first = constant->data[0];
  for (double each : constant->data)
    if (each != first) return std::nullopt;
  return first;
}

std::size_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    fail("BF1014", "", fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::int64_t checked_index(std::int64_t index, std::int64_t dim) {
  if (index < -dim || index >= dim)
    fail("BF1014", "", fmt::format("index {} is out of range for a dimension of {}", index, dim));
  return index < 0 ? index + dim : index;
}

std::optional<std::vector<std::int64_t>> read_axes(const NodeImport& node) {
  if (!node.has_input(1)) return node.ints_attribute("axes");
  if (node.has_attribute("axes")) fail("BF1012", "", "axes are both an attribute and an input");
  // torch's exporters write one axis as a scalar.
  if (node.input_shape(1).empty()) return std::vector{node.integer(1, "axes input")};
  return node.list(1, "axes input");
}

void check_work(const NodeImport& node, std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  std::int64_t entries = 0;
  if (__builtin_mul_overflow(a, b, &entries) || entries > kMost)
    fail("BF1026", "",
         fmt::format("{} of this size needs {} times {} entries, the limit is {}", node.op_type(),
                     a, b, kMost),
         "use it on smaller tensors");
}

// Each part that is read adds its elements at their places, zero elsewhere.
ValueId add_selection(NodeImport& node, const std::vector<ValueId>& parts,
                      const std::vector<std::int64_t>& source, const Shape& shape) {
  std::optional<ValueId> sum;
  std::int64_t begin = 0;
  for (ValueId part : parts) {
    const std::int64_t end = begin + element_count(node.shape_of(part));
    const auto inside = [&](std::int64_t i) { return i >= begin && i < end; };
    const auto read = std::count_if(source.begin(), source.end(), inside);
    if (read == static_cast<std::ptrdiff_t>(source.size()))
      return add_index_map(node, part, shape, [&] {
        std::vector<std::int64_t> shifted;
        for (std::int64_t i : source) shifted.push_back(i - begin);
        return shifted;
      });
    if (read > 0) {
      RowBuilder rows(node);
      for (std::int64_t i : source) {
        rows.begin();
        if (inside(i)) rows.add(i - begin);
      }
      const ValueId placed = std::move(rows).finish_sums(part, shape);
      sum = sum ? add_binary(node, Binary::Kind::kAdd, *sum, placed) : placed;
    }
    begin = end;
  }
  BF_CHECK(sum.has_value());
  return *sum;
}

void emit_selection(NodeImport& node, const std::vector<std::size_t>& inputs,
                    const std::vector<std::int64_t>& source, const Shape& shape,
                    std::size_t output) {
  if (all_integers(node, inputs)) {
    node.reader().charge(shape, "");
    std::vector<std::int64_t> all;
    for (std::size_t i : inputs) {
      const std::vector<std::int64_t>& data = node.integers_if_any(i)->data;
      all.insert(all.end(), data.begin(), data.end());
    }
    IntegerTensor result{shape, {}, node.integers_if_any(inputs[0])->type};
    for (std::int64_t i : source) result.data.push_back(all[static_cast<std::size_t>(i)]);
    node.emit(output, std::move(result));
    return;
  }
  std::vector<ValueId> parts;
  for (std::size_t i : inputs) parts.push_back(node.input(i));
  node.emit(output, add_selection(node, parts, source, shape));
}

// Root and quotient are rounded to nearest: 1 / sqrt(width) is value (1 + e), |e| < 2^-51. Both are
// exact where the root is a power of two.
Bounded one_over_root(std::int64_t width) {
  const double root = std::sqrt(static_cast<double>(width)), value = 1 / root;
  int exponent = 0;
  const bool exact =
      std::frexp(root, &exponent) == 0.5 && root * root == static_cast<double>(width);
  return {value, exact ? 0 : value * 0x1p-51};
}

ValueId add_multiple(NodeImport& node, ValueId x, const Bounded& factor) {
  if (factor.error == 0) return add_scale(node, x, factor.value, 0);
  const Shape shape = node.shape_of(x);
  ConstantBuilder all(shape);
  for (std::size_t i = 0; i < all.size(); ++i) all.set(i, factor);
  return add_scale(node, x, std::move(all).finish(node.origin()), filled(shape, 0));
}

ValueId add_activation(NodeImport& node, ValueId x) {
  const std::string name = node.string_attribute("activation", "");
  if (name.empty()) return x;
  ActivationParameters parameters(node);
  if (name == "Relu") return add_relu(node, x);
  if (name == "Gelu") return add_unary(node, x, {FunctionKind::kGelu});
  if (name == "Clip") {
    const double low = parameters.next("min", -INFINITY), high = parameters.next("max", INFINITY);
    return add_clip(node, x, std::min(low, high), high);
  }
  const FunctionFacts* const facts = facts_of_operator(name);
  if (facts == nullptr)
    fail("BF1026", "", fmt::format("attribute 'activation' is '{}'", printable(name)),
         "give the model from before ONNX Runtime's optimiser, or save it with "
         "graph_optimization_level ORT_ENABLE_BASIC");
  const double a = parameters.next(facts->from.a), b = parameters.next(facts->from.b);
  if (facts->from.a.divides && a == 0)
    fail("BF1012", "", fmt::format("{} divides by its parameter, which is 0", name));
  return add_unary(node, x, {facts->kind, a, b});
}

}  // namespace bf_aot
