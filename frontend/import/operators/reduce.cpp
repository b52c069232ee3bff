#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/integer_types.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

// The elements of input 0 that each output element collects.
struct Reduction {
  Shape shape;                         // of the output
  std::vector<std::int64_t> elements;  // of input 0, group by group
  std::int64_t group = 1;              // elements in a group
  std::int64_t groups() const { return static_cast<std::int64_t>(elements.size()) / group; }
};

// nullopt: no axes and noop_with_empty_axes, where each element is a group of its own and keeps its
// place.
std::optional<Reduction> find_reduction(NodeImport& node) {
  const Shape input = node.input_shape(0);
  const std::vector<std::int64_t> axes = read_axes(node).value_or(std::vector<std::int64_t>());
  if (axes.empty() && node.flag("noop_with_empty_axes", false)) return std::nullopt;
  std::vector<bool> reduced(input.size(), axes.empty());
  for (std::int64_t axis : axes) {
    const std::size_t i = checked_axis(axis, input.size());
    if (reduced[i]) fail("BF1014", "", fmt::format("axis {} is listed twice", axis));
    reduced[i] = true;
  }
  const bool keep = node.flag("keepdims", true);
  Reduction result;
  std::vector<std::int64_t> perm;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (!reduced[i]) perm.push_back(static_cast<std::int64_t>(i));
    if (!reduced[i] || keep) result.shape.push_back(reduced[i] ? 1 : input[i]);
    if (reduced[i]) result.group *= input[i];
  }
  for (std::size_t i = 0; i < input.size(); ++i)
    if (reduced[i]) perm.push_back(static_cast<std::int64_t>(i));
  node.reader().charge(input, "");
  result.elements = transpose_source(input, perm);
  return result;
}

ValueId add_sums(NodeImport& node, ValueId x, const Reduction& reduction, Bounded weight = {1, 0}) {
  RowBuilder rows(node);
  for (std::size_t i = 0; i < reduction.elements.size(); ++i) {
    if (i % static_cast<std::size_t>(reduction.group) == 0) rows.begin();
    rows.add(reduction.elements[i], weight);
  }
  return std::move(rows).finish_sums(x, reduction.shape);
}

ValueId add_maxima(NodeImport& node, ValueId x, const Reduction& reduction) {
  RowBuilder rows(node);
  for (std::size_t i = 0; i < reduction.elements.size(); ++i) {
    if (i % static_cast<std::size_t>(reduction.group) == 0) rows.begin();
    rows.add(reduction.elements[i]);
  }
  return std::move(rows).finish_maxima(x, reduction.shape);
}

constexpr std::int64_t kMostFactors = 256;  // of one product

// Products in a balanced tree, of which each level multiplies halves element by element.
ValueId add_products(NodeImport& node, ValueId x, const Reduction& reduction) {
  if (reduction.group > kMostFactors)
    fail("BF1026", "",
         fmt::format("a product of {} elements, the limit is {}", reduction.group, kMostFactors));
  std::vector<ValueId> factors;
  for (std::int64_t k = 0; k < reduction.group; ++k)
    factors.push_back(add_index_map(node, x, reduction.shape, [&] {
      std::vector<std::int64_t> source;
      for (std::int64_t g = 0; g < reduction.groups(); ++g)
        source.push_back(reduction.elements[static_cast<std::size_t>(g * reduction.group + k)]);
      return source;
    }));
  while (factors.size() > 1) {
    std::vector<ValueId> products;
    for (std::size_t i = 0; i + 1 < factors.size(); i += 2)
      products.push_back(add_binary(node, Binary::Kind::kMul, factors[i], factors[i + 1]));
    if (factors.size() % 2 != 0) products.push_back(factors.back());
    factors = std::move(products);
  }
  return factors[0];
}

// |1 / n - value| <= error: a quotient rounded to nearest is off by at most 2^-53 of itself.
Bounded reciprocal(std::int64_t n) {
  const double value = 1 / static_cast<double>(n);
  return {value, (n & (n - 1)) == 0 ? 0 : value * 0x1p-53};
}

// `before` and `after` are applied element by element, before and after the sum. `alone` is both of
// them on a group of one element, which is what is left without any axes.
// Integers that these make are cut towards zero.
template <typename Before, typename After, typename Alone>
void reduce(NodeImport& node, Before before, After after, Alone alone,
            bool makes_fractions = false) {
  const std::optional<Reduction> reduction = find_reduction(node);
  const ValueId x = node.input(0);
  const ValueId y = reduction ? after(add_sums(node, before(x), *reduction)) : alone(x);
  node.emit(makes_fractions && is_integer_type(node.output_type()) ? add_trunc(node, y) : y);
}

ValueId unchanged(ValueId x) {
  return x;
}

void import_reduce_sum(NodeImport& node) {
  reduce(node, unchanged, unchanged, unchanged);
}

// Integers are cut towards zero; of sums that leave their type run-times make different numbers.
void emit_of_sum(NodeImport& node, ValueId x, ValueId sum) {
  if (!is_integer_type(node.output_type())) return node.emit(x);
  const ValueId cut = add_trunc(node, x);
  node.emit(node.fits_output_type(sum) ? cut : add_any_beyond(node, cut, sum, node.output_type()));
}

void import_reduce_mean(NodeImport& node) {
  const std::optional<Reduction> reduction = find_reduction(node);
  const ValueId x = node.input(0);
  if (!reduction) return node.emit(x);
  const ValueId mean = add_sums(node, x, *reduction, reciprocal(reduction->group));
  const bool integers = is_integer_type(node.output_type());
  emit_of_sum(node, mean, integers ? add_sums(node, x, *reduction) : mean);
}

void import_reduce_l1(NodeImport& node) {
  const auto absolute = [&](ValueId x) { return add_unary(node, x, {FunctionKind::kAbs}); };
  reduce(node, absolute, unchanged, absolute);
}

// A sum of squares is not negative, but its bounds may be: hence the Relu before the root.
void import_reduce_l2(NodeImport& node) {
  const std::optional<Reduction> reduction = find_reduction(node);
  const ValueId x = node.input(0);
  if (!reduction) return node.emit(add_unary(node, x, {FunctionKind::kAbs}));
  const ValueId sum = add_sums(node, add_unary(node, x, {FunctionKind::kPower, 2}), *reduction);
  emit_of_sum(node, add_unary(node, add_relu(node, sum), {FunctionKind::kSqrt}), sum);
}

void import_reduce_sum_square(NodeImport& node) {
  const auto square = [&](ValueId x) { return add_unary(node, x, {FunctionKind::kPower, 2}); };
  reduce(node, square, unchanged, square);
}

void import_reduce_log_sum(NodeImport& node) {
  const auto log = [&](ValueId x) { return add_unary(node, x, {FunctionKind::kLog}); };
  reduce(node, unchanged, log, log, true);
}

// Some run-times also cut each power of a difference from the largest integer to an integer. They
// make a number from that element on, at most ln(count) more.
void import_reduce_log_sum_exp(NodeImport& node) {
  const std::optional<Reduction> reduction = find_reduction(node);
  const ValueId x = node.input(0);
  if (!reduction) return node.emit(x);
  if (reduction->group == 1) return node.emit(add_maxima(node, x, *reduction));
  if (is_integer_type(node.output_type())) {
    const double most = std::ceil(std::log(static_cast<double>(reduction->group)));
    const ValueId largest = add_maxima(node, x, *reduction);
    Constant rest = filled(node.shape_of(largest), most / 2);
    rest.error.assign(rest.data.size(), most / 2);
    return node.emit(add_scale(node, largest, filled(node.shape_of(largest), 1), std::move(rest)));
  }
  const ValueId powers = add_sums(node, add_unary(node, x, {FunctionKind::kExp}), *reduction);
  node.emit(add_unary(node, powers, {FunctionKind::kLog}));
}

void import_reduce_max(NodeImport& node) {
  const std::optional<Reduction> reduction = find_reduction(node);
  const ValueId x = node.input(0);
  node.emit(reduction ? add_maxima(node, x, *reduction) : x);
}

// min x = -max(-x)
void import_reduce_min(NodeImport& node) {
  const std::optional<Reduction> reduction = find_reduction(node);
  ValueId x = node.input(0);
  if (reduction)
    x = add_scale(node, add_maxima(node, add_scale(node, x, -1, 0), *reduction), -1, 0);
  node.emit(x);
}

void import_reduce_prod(NodeImport& node) {
  const std::optional<Reduction> reduction = find_reduction(node);
  const ValueId x = node.input(0);
  node.emit(reduction ? add_products(node, x, *reduction) : x);
}

// Each element is the sum of those before it along an axis, and itself unless exclusive.
void import_cum_sum(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.integer(1, "axis"), shape.size());
  const bool exclusive = node.flag("exclusive", false);
  const bool reverse = node.flag("reverse", false);
  const std::int64_t stride = row_major_strides(shape)[axis];
  check_work(node, element_count(shape), shape[axis]);
  RowBuilder rows(node);
  for (std::int64_t flat = 0; flat < element_count(shape); ++flat) {
    const std::int64_t at = flat / stride % shape[axis];
    const std::int64_t begin = reverse ? at + (exclusive ? 1 : 0) : 0;
    const std::int64_t end = reverse ? shape[axis] : at + (exclusive ? 0 : 1);
    rows.begin();
    for (std::int64_t i = begin; i < end; ++i) rows.add(flat + (i - at) * stride);
  }
  node.emit(std::move(rows).finish_sums(node.input(0), shape));
}

// Each element is the product of those before it along an axis, and itself unless exclusive: rounds
// of products with what lies 1, 2, 4, .. elements before, and 1 where there is none, so that no
// product passes through more than log2 of their number.
void import_cum_prod(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.integer(1, "axis"), shape.size());
  const bool exclusive = node.flag("exclusive", false);
  const std::int64_t direction = node.flag("reverse", false) ? 1 : -1;
  const std::int64_t length = shape[axis], stride = row_major_strides(shape)[axis];
  if (length > kMostFactors)
    fail("BF1026", "",
         fmt::format("a product of {} elements, the limit is {}", length, kMostFactors));
  const auto moved = [&](ValueId x, std::int64_t by) {
    RowBuilder rows(node);
    for (std::int64_t flat = 0; flat < element_count(shape); ++flat) {
      const std::int64_t from = flat / stride % length + direction * by;
      const bool inside = from >= 0 && from < length;
      rows.begin({inside ? 0.0 : 1.0, 0});
      if (inside) rows.add(flat + direction * by * stride);
    }
    return std::move(rows).finish_sums(x, shape);
  };
  ValueId product = exclusive ? moved(node.input(0), 1) : node.input(0);
  for (std::int64_t by = 1; by < length; by *= 2)
    product = add_binary(node, Binary::Kind::kMul, product, moved(product, by));
  node.emit(product);
}

constexpr OperatorImporter reduction(std::string_view type, void (*run)(NodeImport& node)) {
  return {type, run, 1, 2, 1, {"axes", "keepdims", "noop_with_empty_axes"}};
}

}  // namespace

OperatorRows reduce_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"CumProd", import_cum_prod, 2, 2, 1, {"exclusive", "reverse"}},
      {"CumSum", import_cum_sum, 2, 2, 1, {"exclusive", "reverse"}},
      reduction("ReduceL1", import_reduce_l1),
      reduction("ReduceL2", import_reduce_l2),
      reduction("ReduceLogSum", import_reduce_log_sum),
      reduction("ReduceLogSumExp", import_reduce_log_sum_exp),
      reduction("ReduceMax", import_reduce_max),
      reduction("ReduceMean", import_reduce_mean),
      reduction("ReduceMin", import_reduce_min),
      reduction("ReduceProd", import_reduce_prod),
      reduction("ReduceSum", import_reduce_sum),
      reduction("ReduceSumSquare", import_reduce_sum_square),
  };
  return kRows;
}

}  // namespace bf_aot
