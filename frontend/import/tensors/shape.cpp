#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Operators whose results are known at import.

namespace bf_aot {
namespace {

using onnx::TensorProto;

// One element, of any type, as an IntegerTensor or Constant of `shape`.
void emit_filled(NodeImport& node, const Tensor& element, const Shape& shape) {
  node.reader().charge(shape, "");
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (const auto* integers = std::get_if<IntegerTensor>(&element)) {
    node.emit(
        IntegerTensor{shape, std::vector<std::int64_t>(count, integers->data[0]), integers->type});
  } else {
    node.emit(filled(shape, std::get<Constant>(element).data[0]));
  }
}

// start + i delta for all i that stay before the limit.
void emit_integer_range(NodeImport& node, const std::array<std::int64_t, 3>& range) {
  const auto [start, limit, delta] = range;
  std::int64_t distance = 0;
  if (delta > 0 ? __builtin_sub_overflow(limit, start, &distance)
                : __builtin_sub_overflow(start, limit, &distance))
    fail("BF1005", "", fmt::format("a range from {} to {}", start, limit));
  IntegerTensor result{{0}, {}, node.input_type(0)};
  if (distance > 0) {
    // Cut before the sign changes: -delta may overflow.
    const std::int64_t step = delta > 0 ? std::min(delta, distance) : -std::max(delta, -distance);
    result.shape = {(distance - 1) / step + 1};
    node.reader().charge(result.shape, "");
    for (std::int64_t i = 0; i < result.shape[0]; ++i)
      result.data.push_back(start + (delta > 0 ? i * step : -(i * step)));
  }
  node.emit(std::move(result));
}

void emit_real_range(NodeImport& node, double start, double limit, double delta) {
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count < 0x1p40)) fail("BF1005", "", fmt::format("a range of {} elements", count));
  const Shape shape = {static_cast<std::int64_t>(count)};
  node.reader().charge(shape, "");
  ConstantBuilder result(shape);
  for (std::size_t i = 0; i < result.size(); ++i) {
    Sum sum;
    sum.add(start);
    sum.add_product(static_cast<double>(i), delta);
    result.set(i, sum.result());
  }
  node.emit(std::move(result).finish(node.origin()));
}

void import_shape(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clip = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const std::int64_t start = clip(node.int_attribute("start", 0));
  const std::int64_t end = std::max(start, clip(node.int_attribute("end", rank)));
  node.emit(IntegerTensor{
      {end - start}, {shape.begin() + start, shape.begin() + end}, TensorProto::INT64});
}

void import_size(NodeImport& node) {
  node.emit(IntegerTensor{{}, {element_count(node.input_shape(0))}, TensorProto::INT64});
}

void import_range(NodeImport& node) {
  node.check_same_types(3);
  if (!is_integer_type(node.input_type(0))) {
    const double delta = node.number(2, "delta");
    if (delta == 0) fail("BF1014", "", "delta is 0");
    emit_real_range(node, node.number(0, "start"), node.number(1, "limit"), delta);
    return;
  }
  std::array<std::int64_t, 3> range{};
  constexpr std::array<std::string_view, 3> kRoles = {"start", "limit", "delta"};
  for (std::size_t i = 0; i < range.size(); ++i) range[i] = node.integer(i, kRoles[i]);
  if (range[2] == 0) fail("BF1014", "", "delta is 0");
  emit_integer_range(node, range);
}

void import_constant_of_shape(NodeImport& node) {
  const std::vector<std::int64_t> shape = node.list(0, "shape");
  node.set_output_type(TensorProto::FLOAT);
  Tensor element = Constant{{}, {0}, {}};
  if (node.has_attribute("value")) {
    const onnx::TensorProto& value = node.attribute("value", onnx::AttributeProto::TENSOR).t();
    element = node.reader().read(value, "", true);
    const bool one = std::visit([](const auto& each) { return each.data.size() == 1; }, element);
    if (!one) fail("BF1014", "", "attribute 'value' does not hold one element");
    node.set_output_type(value.data_type());
  }
  if (!checked_element_count(shape))
    fail("BF1014", "", fmt::format("{} is no shape", to_string(shape)));
  emit_filled(node, element, shape);
}

// Ones on diagonal k of a matrix, zeros elsewhere.
void import_eye_like(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  if (shape.size() != 2) fail("BF1014", "", fmt::format("{} is no matrix", to_string(shape)));
  const std::int64_t k = node.int_attribute("k", 0);
  const auto type = node.type_attribute("dtype", node.input_type(0));
  node.set_output_type(type);
  node.reader().charge(shape, "");
  IntegerTensor eye{shape, {}, type};
  for (std::int64_t row = 0; row < shape[0]; ++row)
    for (std::int64_t column = 0; column < shape[1]; ++column)
      eye.data.push_back(column - row == k ? 1 : 0);
  if (is_integer_type(type)) {
    node.emit(std::move(eye));
  } else if (is_real_type(type)) {
    node.emit(to_constant(eye));
  } else {
    fail("BF1022", "", fmt::format("{} is not supported", element_type_name(type)));
  }
}

// Coordinates of the elements that are not zero, of a constant.
void import_non_zero(NodeImport& node) {
  const Constant data = node.constant(0, "input");
  std::vector<std::vector<std::int64_t>> found(data.shape.size());
  const auto other_than_0 = std::ranges::count_if(data.data, [](double x) { return x != 0; });
  node.reader().charge({other_than_0 * static_cast<std::int64_t>(found.size())}, "");
  for_each_index(data.shape, [&](const std::vector<std::int64_t>& index, std::int64_t flat) {
    if (data.data[static_cast<std::size_t>(flat)] == 0) return;
    for (std::size_t d = 0; d < index.size(); ++d) found[d].push_back(index[d]);
  });
  const auto rank = static_cast<std::int64_t>(found.size());
  const auto count = found.empty() ? 0 : static_cast<std::int64_t>(found[0].size());
  IntegerTensor result{{rank, count}, {}, TensorProto::INT64};
  for (const auto& coordinates : found)
    result.data.insert(result.data.end(), coordinates.begin(), coordinates.end());
  node.emit(std::move(result));
}

}  // namespace

OperatorRows shape_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"ConstantOfShape", import_constant_of_shape, 1, 1, 1, {"value"}},
      {"EyeLike", import_eye_like, 1, 1, 1, {"dtype", "k"}},
      {"NonZero", import_non_zero, 1, 1, 1, {}},
      {"Range", import_range, 3, 3, 1, {"stash_type"}},
      {"Shape", import_shape, 1, 1, 1, {"end", "start"}},
      {"Size", import_size, 1, 1, 1, {}},
  };
  return kRows;
}

}  // namespace bf_aot
