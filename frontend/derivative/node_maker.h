#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// Adds nodes to a graph, all with one origin; their values get names that begin with `name`.
class NodeMaker {
 public:
  NodeMaker(Graph& graph, std::string name, Origin origin)
      : graph_(graph), name_(std::move(name)), origin_(std::move(origin)) {}

  const Shape& shape(ValueId x) const { return graph_.value(x).shape; }

  ValueId add(Op op, std::vector<ValueId> inputs, const Shape& shape);
  ValueId literal(const Shape& shape, double value);

  // Elementwise, each of x's shape.
  ValueId unary(FunctionKind kind, ValueId x, double a = 0, double b = 0);
  ValueId scale(ValueId x, Bounded factor, Bounded offset = {});
  ValueId times(ValueId x, ValueId y);
  ValueId plus(ValueId x, ValueId y);
  ValueId minus(ValueId x, ValueId y);

  // Returns x in another shape, its elements in order; x itself where it has that shape.
  ValueId reshaped(ValueId x, const Shape& shape);
  // x times a number, repeated to `shape` by broadcasting; x itself where nothing changes.
  ValueId broadcast(ValueId x, const Shape& shape, double factor = 1);

 private:
  ValueId binary(Binary::Kind kind, ValueId x, ValueId y);

  Graph& graph_;
  std::string name_;
  Origin origin_;
};

}  // namespace bf_aot
