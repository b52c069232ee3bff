#include <algorithm>

#include "aot/check/value.h"

// Operators that read shapes, or constants alone, and arithmetic of constant integers.

namespace bf_check {
namespace {

// Integers beyond this may wrap around in a tensor of 32 bits.
constexpr i64 kMostInteger = i64{1} << 31;

Value integers(std::vector<i64> shape, const std::vector<i64>& numbers, u64 type) {
  Value value;
  value.shape = std::move(shape), value.type = type;
  std::vector<Rat> data;
  for (const i64 number : numbers) {
    if (number >= kMostInteger || number < -kMostInteger) refuse("an integer is too large");
    data.emplace_back(static_cast<long>(number));
  }
  value.data = std::move(data);
  return value;
}

// Extents, by default all, of the positions start .. end - 1.
Value shape(const Operands& o) {
  const std::vector<i64>& extents = o.in(0).shape;
  const i64 rank = static_cast<i64>(extents.size());
  const auto place = [rank](i64 at) {
    return std::min(std::max(at < 0 ? at + rank : at, i64{0}), rank);
  };
  if (o.opset < 15 && !o.node.attributes.empty()) refuse("operator set 15 brings these attributes");
  const i64 start = place(o.number("start", 0)), end = place(o.number("end", rank));
  std::vector<i64> numbers;
  for (i64 i = start; i < end; ++i) numbers.push_back(extents[static_cast<std::size_t>(i)]);
  return integers({std::max(end - start, i64{0})}, numbers, kIndex);
}

Value constant_of_shape(const Operands& o) {
  Value value = constant_of({1}, {0});
  if (const Attribute* const given = o.attribute("value", 4)) value = value_of(given->tensor);
  if (value.size() != 1) refuse("shapes do not fit");
  value.shape = {};
  const std::vector<i64> to = integers_of(o.constant(0));
  return moved(value, to, std::vector<i64>(static_cast<std::size_t>(size_of(to)), 0));
}

// start, start + delta, .. before limit.
Value range(const Operands& o) {
  std::vector<i64> ends, numbers;
  for (std::size_t i = 0; i < 3; ++i) {
    if (o.constant(i).type == 0 || o.in(i).size() != 1) refuse("a range is not of integers");
    ends.push_back(integers_of(o.in(i))[0]);
    if (ends[i] >= kMostInteger || ends[i] < -kMostInteger) refuse("an integer is too large");
  }
  if (ends[2] == 0) refuse("a range has no step");
  for (i64 at = ends[0]; ends[2] > 0 ? at < ends[1] : at > ends[1]; at += ends[2]) {
    numbers.push_back(at);
    expect_work({static_cast<i64>(numbers.size())}, 1);
  }
  return integers({static_cast<i64>(numbers.size())}, numbers, o.in(0).type);
}

// Real tensors are as they are: nothing is rounded. Of constants the result must hold the number.
Value cast(const Operands& o) {
  Value x = o.in(0);
  const i64 to = o.number("to", 0);
  const bool real = to == 1 || to == 11;
  if (to == 11 && o.builder.grid().float32) refuse("doubles are not in the checker's table");
  if ((!real && to != 6 && to != 7 && to != 9) || (!x.constant && !real))
    refuse("this cast is not in the checker's table");
  std::vector<Rat> numbers = x.data.all();
  for (Rat& number : numbers) {
    if (to == 9) number = number != 0 ? 1 : 0;
    const bool whole = number.get_den() == 1 && abs(number) < kMostInteger;
    if (real ? !is_ieee(number, to == 1 ? 8 : 11, to == 1 ? 23 : 52) : !whole)
      refuse("a constant that a cast would round is not in the checker's table");
  }
  x.data = std::move(numbers);
  x.type = real ? 0 : static_cast<u64>(to);
  return x;
}

// Applies `of` to each pair of integers. The type is that of the first, or `type` where given.
Value elementwise(const Operands& o, i64 (*of)(i64 a, i64 b), u64 type = 0) {
  const Value &a = o.constant(0), &b = o.constant(1);
  if (a.type != b.type || (type == 0 && a.type != 6 && a.type != kIndex))
    refuse("arithmetic of these types is not in the checker's table");
  const std::vector<i64> to = joined(a.shape, b.shape), as = integers_of(a), bs = integers_of(b);
  const std::vector<std::size_t> at = spread(a.shape, to), bt = spread(b.shape, to);
  std::vector<i64> numbers;
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (const i64 each : {as[at[i]], bs[bt[i]]})
      if (each >= kMostInteger || each < -kMostInteger) refuse("an integer is too large");
    numbers.push_back(of(as[at[i]], bs[bt[i]]));
  }
  return integers(to, numbers, type == 0 ? a.type : type);
}

// Quotients that are rounded in the same way by all: of numbers that are not negative.
i64 quotient(i64 a, i64 b) {
  if (a < 0 || b <= 0) refuse("a quotient of negative integers is not in the checker's table");
  return a / b;
}

}  // namespace

const std::vector<Operator>& shape_operators() {
  static const std::vector<Operator> table = {
      {"Cast", 1, " saturate to ", cast},
      {"ConstantOfShape", 1, " value ", constant_of_shape},
      {"Range", 3, " ", range},
      {"Shape", 1, " end start ", shape},
      {"Size", 1, " ", [](const Operands& o) { return integers({}, {o.in(0).size()}, kIndex); }},
  };
  return table;
}

const std::vector<Operator>& integer_operators() {
  using O = const Operands&;
  static const std::vector<Operator> table = {
      {"Add", 2, " ", [](O o) { return elementwise(o, [](i64 a, i64 b) { return a + b; }); }},
      {"Div", 2, " ", [](O o) { return elementwise(o, quotient); }},
      {"Equal", 2, " ",
       [](O o) {
         return elementwise(
             o, [](i64 a, i64 b) -> i64 { return a == b; }, kTruth);
       }},
      {"Greater", 2, " ",
       [](O o) {
         return elementwise(
             o, [](i64 a, i64 b) -> i64 { return a > b; }, kTruth);
       }},
      {"Less", 2, " ",
       [](O o) {
         return elementwise(
             o, [](i64 a, i64 b) -> i64 { return a < b; }, kTruth);
       }},
      {"Mul", 2, " ", [](O o) { return elementwise(o, [](i64 a, i64 b) { return a * b; }); }},
      {"Sub", 2, " ", [](O o) { return elementwise(o, [](i64 a, i64 b) { return a - b; }); }},
  };
  return table;
}

}  // namespace bf_check
