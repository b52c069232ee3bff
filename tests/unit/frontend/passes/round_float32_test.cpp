#include <gtest/gtest.h>

#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"

// What the pass gives to constants; that evaluations stay inside is checked by
// tests/soundness/float32_test.cpp.

namespace bf_aot {
namespace {

// gamma_n, to within a few units.
void expect_gamma(double error, int n) {
  const double gamma = n * 0x1p-24 / (1 - n * 0x1p-24);
  EXPECT_GE(error, gamma);
  EXPECT_LE(error, gamma * (1 + 0x1p-40));
}

// x [1, 3] -> y.
struct Small {
  Graph graph;
  ValueId x;

  Small() {
    graph.name = "small";
    x = graph.add_value("x", {1, 3});
    graph.inputs = {x};
  }
  ValueId add(Op op, std::vector<ValueId> inputs, Shape shape) {
    const ValueId id = graph.add_value("v", std::move(shape));
    graph.nodes.push_back({std::move(op), std::move(inputs), id, "Node 'n'"});
    return id;
  }
  ValueId literal(Shape shape, std::vector<double> numbers) {
    return add(Literal{{shape, std::move(numbers), {}}}, {}, shape);
  }
};

std::string code_of(Graph graph, const Float32Semantics& semantics = {}) {
  PassOptions options;
  options.float32 = semantics;
  try {
    normalise(graph, options);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(RoundFloat32, WeightsCarryTheRoundingsOfTheirSum) {
  Small small;
  const ValueId w = small.literal({3, 1}, {1, -2, 3});
  small.graph.outputs = {small.add(MatMul{}, {small.x, w}, {1, 1})};
  PassOptions options;
  options.float32 = Float32Semantics();
  normalise(small.graph, options);
  ASSERT_EQ(small.graph.nodes.size(), 1U) << to_string(small.graph);
  const auto& affine = std::get<Affine>(small.graph.nodes[0].op);
  EXPECT_EQ(affine.weight.data, (std::vector<double>{1, -2, 3}));
  for (std::size_t i = 0; i < 3; ++i)
    expect_gamma(affine.weight.error.at(i) / std::abs(affine.weight.data[i]), 4);
  EXPECT_GT(affine.bias.error.at(0), 0);
  EXPECT_LT(affine.bias.error.at(0), 0x1p-140);
  EXPECT_TRUE(std::isfinite(small.graph.float32_reach));
}

// A bias may be the first term of the sum that it is added to.
TEST(RoundFloat32, ABiasBelongsToItsSum) {
  Small small;
  const ValueId w = small.literal({3, 1}, {1, -2, 3});
  const ValueId b = small.literal({1, 1}, {1});
  const ValueId sum = small.add(MatMul{}, {small.x, w}, {1, 1});
  small.graph.outputs = {small.add(Binary{Binary::Kind::kAdd}, {sum, b}, {1, 1})};
  PassOptions options;
  options.float32 = Float32Semantics();
  normalise(small.graph, options);
  const auto& affine = std::get<Affine>(small.graph.nodes.at(0).op);
  EXPECT_GE(affine.bias.error.at(0), 4 * 0x1p-24);
}

TEST(RoundFloat32, DataMovementAndMaximaAreExact) {
  Small small;
  const ValueId moved = small.add(IndexMap{{2, 0, 1}}, {small.x}, {1, 3});
  const ValueId relu = small.add(Relu{}, {moved}, {1, 3});
  small.graph.outputs = {relu};
  Graph before = small.graph;
  round_float32(small.graph, {});
  EXPECT_EQ(small.graph.nodes, before.nodes);
}

TEST(RoundFloat32, RealArithmeticHasNoReach) {
  Small small;
  const ValueId w = small.literal({3, 1}, {1, -2, 3});
  small.graph.outputs = {small.add(MatMul{}, {small.x, w}, {1, 1})};
  normalise(small.graph, {});
  EXPECT_EQ(small.graph.float32_reach, INFINITY);
  EXPECT_TRUE(std::get<Affine>(small.graph.nodes.at(0).op).weight.is_exact());
}

TEST(RoundFloat32, RefusesWhatItDoesNotCover) {
  Small functions;
  functions.graph.outputs = {
      functions.add(Unary{{FunctionKind::kPower, 3, 0}}, {functions.x}, {1, 3})};
  EXPECT_EQ(code_of(functions.graph), "BF2110");

  Small products;
  const ValueId column = products.add(IndexMap{{0, 1, 2}}, {products.x}, {3, 1});
  products.graph.outputs = {products.add(MatMul{}, {products.x, column}, {1, 1})};
  EXPECT_EQ(code_of(products.graph), "BF2110");

  ModelInfo info;
  info.operators = {{"Relu", "Relu 'r'"}, {"LogSoftmax", "LogSoftmax 's'"}};
  EXPECT_THROW(check_float32(info), CompileError);
  info.operators.erase("LogSoftmax");
  EXPECT_NO_THROW(check_float32(info));
  info.narrow = true;
  EXPECT_THROW(check_float32(info), CompileError);
}

TEST(RoundFloat32, RefusesSumsWithoutABound) {
  Small small;
  SparseAffine sum;
  sum.row_start = {0, 3 << 19};
  const auto count = std::size_t{3} << 19;
  small.graph.values[0].shape = {1, static_cast<std::int64_t>(count)};
  for (std::size_t i = 0; i < count; ++i) sum.column.push_back(static_cast<std::int64_t>(i));
  sum.value = {{static_cast<std::int64_t>(count)}, std::vector<double>(count, 1), {}};
  sum.bias = {{1}, {0}, {}};
  small.graph.outputs = {small.add(std::move(sum), {small.x}, {1, 1})};
  EXPECT_EQ(code_of(small.graph), "BF2111");
}

TEST(RoundFloat32, RefusesWhatMayOverflow) {
  Small small;
  ValueId x = small.x;
  for (int i = 0; i < 3; ++i) {
    const ValueId c = small.literal({1, 3}, {0x1p60, 1, 1});
    x = small.add(Binary{Binary::Kind::kMul}, {x, c}, {1, 3});
  }
  small.graph.outputs = {x};
  EXPECT_EQ(code_of(small.graph), "BF2112");
}

}  // namespace
}  // namespace bf_aot
