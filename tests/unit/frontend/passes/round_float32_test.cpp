#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/float32/float32_operators.h"
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

// Copies of x at these places, with 0 where there is none.
SparseAffine copies(const std::vector<std::int64_t>& source) {
  SparseAffine op;
  op.row_start = {0};
  for (const std::int64_t from : source) {
    if (from >= 0) op.column.push_back(from);
    op.row_start.push_back(static_cast<std::int64_t>(op.column.size()));
  }
  op.value = filled({static_cast<std::int64_t>(op.column.size())}, 1);
  op.bias = filled({static_cast<std::int64_t>(source.size())}, 0);
  return op;
}

TEST(RoundFloat32, JoinedCopiesNegativesAndComparisonsAreExact) {
  Small small;
  const ValueId left = small.add(copies({1, -1, -1}), {small.x}, {1, 3});
  const ValueId right = small.add(copies({-1, 0, 2}), {small.x}, {1, 3});
  const ValueId joined = small.add(Binary{Binary::Kind::kAdd}, {left, right}, {1, 3});
  const ValueId negative =
      small.add(Scale{filled({1, 3}, -1), filled({1, 3}, 0)}, {joined}, {1, 3});
  const ValueId shifted =
      small.add(Scale{filled({1, 3}, 1), filled({1, 3}, 0.5)}, {negative}, {1, 3});
  const ValueId zero = small.add(Unary{{FunctionKind::kIsZero}}, {shifted}, {1, 3});
  const ValueId difference = small.add(Binary{Binary::Kind::kSub}, {left, small.x}, {1, 3});
  const ValueId step = small.add(Unary{{FunctionKind::kStep}}, {difference}, {1, 3});
  small.graph.outputs = {zero, step};
  const Graph before = small.graph;
  round_float32(small.graph, {});
  EXPECT_EQ(small.graph.nodes, before.nodes) << to_string(small.graph);
  // Others read the difference: it is rounded.
  small.graph = before;
  small.graph.outputs.push_back(difference);
  round_float32(small.graph, {});
  EXPECT_NE(small.graph.nodes, before.nodes);
  // Where both copies have an element it is a sum.
  Small sum;
  const ValueId a = sum.add(copies({1, -1, 0}), {sum.x}, {1, 3});
  const ValueId b = sum.add(copies({-1, 0, 2}), {sum.x}, {1, 3});
  sum.graph.outputs = {sum.add(Binary{Binary::Kind::kAdd}, {a, b}, {1, 3})};
  round_float32(sum.graph, {});
  EXPECT_EQ(sum.graph.nodes.size(), 4U);
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
  ModelInfo info;
  info.operators = {{"Relu", "Relu 'r'"}, {"LRN", "LRN 'n'"}, {"Resize, cubic", "Resize 'c'"}};
  try {
    check_float32(info);
    FAIL() << "nothing is refused";
  } catch (const CompileError& error) {
    ASSERT_EQ(error.diagnostics().size(), 2U);
    for (const Diagnostic& each : error.diagnostics()) EXPECT_EQ(each.code, "BF2110");
    EXPECT_EQ(error.diagnostics()[1].where, "Resize 'c'");
  }
  info.operators = {{"Relu", "Relu 'r'"}};
  EXPECT_NO_THROW(check_float32(info));
  info.narrow = true;
  EXPECT_THROW(check_float32(info), CompileError);
}

// One table says of each operator that it is covered, or why not.
TEST(RoundFloat32, EveryImportedOperatorHasItsRow) {
  std::set<std::string> imported;
  for (const std::string_view name : supported_operators()) imported.emplace(name);
  for (const std::string& name : contributed_operators())
    imported.insert(name.substr(name.rfind('.') + 1));
  for (const std::string& name : imported) EXPECT_NE(find_float32_operator(name), nullptr) << name;
  std::string_view last;
  for (const Float32Operator& each : float32_operators()) {
    const std::size_t comma = each.type.find(',');
    EXPECT_TRUE(imported.contains(std::string(each.type.substr(0, comma)))) << each.type;
    EXPECT_EQ(comma != std::string_view::npos && each.refused.empty(), false) << each.type;
    EXPECT_LT(last, each.type);
    last = each.type;
  }
}

// A softmax keeps its nodes, and carries one error.
TEST(RoundFloat32, SoftmaxKeepsItsNodes) {
  Small small;
  const ValueId z = small.add(LogSoftmax{{0, 3}, {0, 1, 2}}, {small.x}, {3});
  const ValueId p = small.add(Unary{{FunctionKind::kExp}}, {z}, {3});
  small.graph.outputs = {p, z};
  round_float32(small.graph, {});
  int powers = 0;
  for (const Node& node : small.graph.nodes) {
    if (const auto* const unary = std::get_if<Unary>(&node.op)) {
      ++powers;
      EXPECT_EQ(unary->function.kind, FunctionKind::kExp);
      EXPECT_EQ(node.inputs[0], small.graph.nodes.front().output) << "reads a rounded logarithm";
    }
    if (const auto* const scale = std::get_if<Scale>(&node.op)) {
      EXPECT_GT(scale->factor.error_at(0), 8 * 0x1p-24);
      EXPECT_LT(scale->factor.error_at(0), 400 * 0x1p-24);
      EXPECT_GT(scale->offset.error_at(0), 0.5 * 0x1p-24);
    }
  }
  EXPECT_EQ(powers, 1);
  EXPECT_EQ(small.graph.nodes.size(), 4U) << to_string(small.graph);
}

TEST(RoundFloat32, SumsOfTwoTensorsCarryTheirRoundings) {
  Small small;
  const ValueId column = small.add(IndexMap{{0, 1, 2}}, {small.x}, {3, 1});
  small.graph.outputs = {small.add(MatMul{}, {small.x, column}, {1, 1})};
  round_float32(small.graph, {});
  const auto& sum = std::get<SparseAffine>(small.graph.nodes.back().op);
  EXPECT_EQ(sum.value.data, (std::vector<double>{1, 1, 1}));
  for (std::size_t i = 0; i < 3; ++i) expect_gamma(sum.value.error.at(i), 4);
  EXPECT_GT(sum.bias.error.at(0), 0);
}

// A divisor without a lower bound is off by what bounds of a quotient need; one with it is not.
TEST(RoundFloat32, DivisorsKeepAwayFromZero) {
  const auto offsets = [](bool positive) {
    Small small;
    ValueId y = small.x;
    if (positive) {
      y = small.add(Unary{{FunctionKind::kPower, 2}}, {y}, {1, 3});
      y = small.add(Binary{Binary::Kind::kAdd}, {y, small.literal({1, 3}, {1, 2, 3})}, {1, 3});
    }
    small.graph.outputs = {small.add(Binary{Binary::Kind::kDiv}, {small.x, y}, {1, 3})};
    round_float32(small.graph, {});
    double most = 0;
    for (const Node& node : small.graph.nodes)
      if (const auto* const scale = std::get_if<Scale>(&node.op))
        most = std::max(most, scale->offset.error_at(0));
    find_float32_reach(small.graph);
    return std::pair(most, small.graph.float32_reach);
  };
  EXPECT_EQ(offsets(false).first, 0x1p-40);
  EXPECT_EQ(offsets(false).second, 0x1p85);
  EXPECT_LT(offsets(true).first, 0x1p-100);
  EXPECT_GE(offsets(true).second, 0x1p60);
}

// What a norm makes of a tensor is limited, so that many of them overflow no earlier than one.
TEST(RoundFloat32, NormsDoNotAddUp) {
  const auto reach = [](int norms, double epsilon) {
    Small small;
    ValueId y = small.x;
    for (int i = 0; i < norms; ++i) {
      SparseAffine mean{{0, 3}, {0, 1, 2}, filled({3}, 0x1p-2), filled({1}, epsilon)};
      ValueId root = small.add(Unary{{FunctionKind::kPower, 2}}, {y}, {1, 3});
      root = small.add(std::move(mean), {root}, {1, 1});
      root = small.add(Unary{{FunctionKind::kPower, -0.5}}, {root}, {1, 1});
      root = small.add(IndexMap{{0, 0, 0}}, {root}, {1, 3});
      y = small.add(Binary{Binary::Kind::kMul}, {y, root}, {1, 3});
    }
    small.graph.outputs = {y};
    round_float32(small.graph, {});
    find_float32_reach(small.graph);
    return small.graph.float32_reach;
  };
  EXPECT_EQ(reach(1, 0x1p-20), reach(40, 0x1p-20));
  EXPECT_GE(reach(40, 0x1p-20), 0x1p60);
  // Without an epsilon the root's inverse is as large as a divisor allows.
  EXPECT_THROW(reach(40, 0), CompileError);
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
