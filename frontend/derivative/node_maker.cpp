#include "frontend/derivative/node_maker.h"

#include <numeric>

#include "frontend/graph/shapes.h"

namespace bf_aot {
namespace {

Constant filled(const Shape& shape, Bounded value) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  Constant constant{shape, std::vector<double>(count, value.value), {}};
  if (value.error > 0) constant.error.assign(count, value.error);
  return constant;
}

}  // namespace

ValueId NodeMaker::add(Op op, std::vector<ValueId> inputs, const Shape& shape) {
  const ValueId made = graph_.add_value(name_, shape);
  graph_.nodes.push_back({std::move(op), std::move(inputs), made, origin_});
  return made;
}

ValueId NodeMaker::literal(const Shape& shape, double value) {
  return add(Literal{filled(shape, {value, 0})}, {}, shape);
}

ValueId NodeMaker::unary(FunctionKind kind, ValueId x, double a, double b) {
  return add(Unary{{kind, a, b}}, {x}, Shape(shape(x)));
}

ValueId NodeMaker::scale(ValueId x, Bounded factor, Bounded offset) {
  const Shape flat = {element_count(shape(x))};
  return add(Scale{filled(flat, factor), filled(flat, offset)}, {x}, Shape(shape(x)));
}

ValueId NodeMaker::binary(Binary::Kind kind, ValueId x, ValueId y) {
  return add(Binary{kind}, {x, y}, broadcast_shapes(shape(x), shape(y)));
}

ValueId NodeMaker::times(ValueId x, ValueId y) {
  return binary(Binary::Kind::kMul, x, y);
}

ValueId NodeMaker::plus(ValueId x, ValueId y) {
  return binary(Binary::Kind::kAdd, x, y);
}

ValueId NodeMaker::minus(ValueId x, ValueId y) {
  return binary(Binary::Kind::kSub, x, y);
}

ValueId NodeMaker::reshaped(ValueId x, const Shape& to) {
  if (shape(x) == to) return x;
  IndexMap map;
  map.source.resize(static_cast<std::size_t>(element_count(to)));
  std::iota(map.source.begin(), map.source.end(), 0);
  return add(std::move(map), {x}, to);
}

ValueId NodeMaker::broadcast(ValueId x, const Shape& to, double factor) {
  if (factor == 1 && shape(x) == to) return x;
  return times(x, literal(to, factor));
}

}  // namespace bf_aot
