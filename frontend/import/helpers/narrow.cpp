#include "frontend/import/helpers/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/import/file/node_import.h"
#include "frontend/import/file/tensors.h"
#include "frontend/import/helpers/builder.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

constexpr FloatFormat kFormats[] = {
    {TensorProto::FLOAT, 24, 0x1p-149, 0x1.fffffep127, 0x1.ffffffp127},
    {TensorProto::FLOAT16, 11, 0x1p-24, 65504, 65520},
    {TensorProto::BFLOAT16, 8, 0x1p-133, 0x1.fep127, 0x1.ffp127},
    {TensorProto::FLOAT8E4M3FN, 4, 0x1p-9, 448, 448, true},
    {TensorProto::FLOAT8E4M3FNUZ, 4, 0x1p-10, 240, 240, true},
    {TensorProto::FLOAT8E5M2, 3, 0x1p-16, 57344, 57344, true},
    {TensorProto::FLOAT8E5M2FNUZ, 3, 0x1p-17, 57344, 57344, true},
    {TensorProto::FLOAT4E2M1, 2, 0x1p-1, 6, 6, true},
};

// Returns what the rounded value of a number can be that is known up to an error.
Bounded rounded(const FloatFormat& format, const Bounded& x) {
  if (x.error == 0) return {round_to(format, x.value), 0};
  const double low = round_to(format, std::nextafter(x.value - x.error, -INFINITY));
  const double high = round_to(format, std::nextafter(x.value + x.error, INFINITY));
  if (low == high) return {low, 0};
  const double middle = low / 2 + high / 2;
  return {middle, next_up(std::max(middle - low, high - middle))};
}

}  // namespace

const FloatFormat* narrow_format(ElementType type) {
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const FloatFormat& each) { return each.type == type; });
  return found == std::end(kFormats) ? nullptr : found;
}

// x / step is below 2^24 wherever it is not cut to the format's digits; all steps are powers of
// two, by which doubles are divided exactly where the quotient is no subnormal number, and a
// subnormal quotient rounds to 0.
double round_to(const FloatFormat& format, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::max(format.step, std::ldexp(1.0, std::ilogb(x) + 1 - format.digits));
  const double y = std::nearbyint(x / unit) * unit;
  return std::abs(y) > format.largest ? std::copysign(INFINITY, x) : y;
}

bool holds_all_of(ElementType from, ElementType to) {
  if (from == to || to == TensorProto::DOUBLE) return true;
  const FloatFormat* const a = narrow_format(from);
  const FloatFormat* const b = narrow_format(to);
  if (b == nullptr) return false;
  if (a != nullptr) return a->digits <= b->digits && a->step >= b->step && a->largest <= b->largest;
  if (!is_integer_type(from)) return false;
  const double most =
      std::max(-static_cast<double>(least_of(from)), static_cast<double>(largest_of(from)));
  return most <= std::ldexp(1.0, b->digits) && most <= b->largest;
}

Constant rounded_to(const NodeImport& node, const FloatFormat& format, bool saturate,
                    const Constant& x) {
  ConstantBuilder made(x.shape);
  for (std::size_t i = 0; i < made.size(); ++i) {
    Bounded value = bounded_at(x, i);
    if (saturate) value.value = std::clamp(value.value, -format.largest, format.largest);
    value = rounded(format, value);
    if (!std::isfinite(value.value) || !std::isfinite(value.error))
      fail("BF1023", "",
           fmt::format("element {} is {}, which overflows in {}", i, x.data[i],
                       element_type_name(format.type)),
           "a network with such a number has no bounds; export it in a wider type");
    made.set(i, value);
  }
  return std::move(made).finish(node.origin().text);
}

namespace {

// Numbers of few digits lie on grids: those of step `step` around 0, and of twice the step from
// each power of two on. x is the sum of what it has on each, and each part is rounded on its own,
// for the others are at an end of theirs. Ties are to the even multiple of the step, which is the
// even number.
ValueId add_on_grids(NodeImport& node, ValueId x, const FloatFormat& format) {
  const Shape shape = node.shape_of(x);
  const double digits = std::ldexp(1.0, format.digits);  // steps from 0 to where they double
  std::vector<ValueId> parts;
  std::vector<double> units;
  double offset = 0;
  const auto add_part = [&](double unit, double low, double high) {
    parts.push_back(add_unary(node, x, {FunctionKind::kQuantise, unit, low / unit, high / unit}));
    units.push_back(unit);
    if (low > 0) offset -= low;
    if (high < 0) offset -= high;
  };
  const double first = format.step * digits;
  add_part(format.step, -first, first);
  for (double low = first; low < format.largest; low *= 2) {
    const double high = std::min(2 * low, format.largest);
    add_part(2 * low / digits, low, high);
    add_part(2 * low / digits, -high, -low);
  }
  const std::int64_t count = element_count(shape);
  RowBuilder rows(node);
  for (std::int64_t i = 0; i < count; ++i) {
    rows.begin({offset, 0});
    for (std::size_t k = 0; k < parts.size(); ++k)
      rows.add(static_cast<std::int64_t>(k) * count + i, {units[k], 0});
  }
  return std::move(rows).finish_sums(add_concat(node, parts), shape);
}

// x (1 + d) + e with |d| <= 2^-digits and |e| <= step / 2 + 2 `little` holds the nearest number,
// and d and e are others for each element and input.
ValueId add_error(NodeImport& node, ValueId x, const FloatFormat& format, double little) {
  const Shape shape = node.shape_of(x);
  const auto count = static_cast<std::size_t>(element_count(shape));
  Constant factor = filled(shape, 1), offset = filled(shape, 0);
  factor.error.assign(count, std::ldexp(1.0, -format.digits));
  offset.error.assign(count, format.step / 2 + 2 * little);
  return add_scale(node, x, std::move(factor), std::move(offset));
}

}  // namespace

// Where x may overflow, the arc sine has no value, so that nothing is known; elsewhere the errors,
// grown by it, take it away again.
ValueId add_rounded_to(NodeImport& node, ValueId x, const FloatFormat& format, bool saturate) {
  constexpr int kMostDigits = 4;  // of formats of 8 bits
  node.note_form("that rounds");
  if (saturate && format.digits <= kMostDigits) return add_on_grids(node, x, format);
  const double little = std::max(format.step * 0x1p-11, 0x1p-60);
  if (saturate) x = add_clip(node, x, -format.largest, format.largest);
  const ValueId near = add_error(node, x, format, little);
  if (saturate) return near;
  const bool closed = format.limit == format.largest;
  const double inverse = std::nextafter(1 / format.limit, closed ? 0 : INFINITY);
  const ValueId domain = add_unary(node, add_scale(node, x, inverse, 0), {FunctionKind::kAsin});
  return add_binary(node, Binary::Kind::kAdd, near, add_scale(node, domain, little, 0));
}

void emit_rounded(NodeImport& node, const FloatFormat& format, bool saturate) {
  if (const Constant* const constant = node.constant_if_any(0))
    node.emit(rounded_to(node, format, saturate, *constant));
  else
    node.emit(add_rounded_to(node, node.input(0), format, saturate));
}

}  // namespace bf_aot
