// Comparisons before functions that keep order, and equalities with integers of limited reach.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Rows of two entries, weight and -weight.
SparseAffine differences(const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                         double weight = 1) {
  const auto rows = static_cast<std::int64_t>(pairs.size());
  SparseAffine op{
      {0}, {}, {{2 * rows}, {}, {}}, {{rows}, std::vector<double>(pairs.size(), 0), {}}};
  for (const auto& [i, j] : pairs) {
    op.column.insert(op.column.end(), {std::min(i, j), std::max(i, j)});
    const double first = i < j ? weight : -weight;
    op.value.data.insert(op.value.data.end(), {first, -first});
    op.row_start.push_back(op.row_start.back() + 2);
  }
  return op;
}

std::vector<double> values_of(const Graph& graph, const std::vector<double>& point) {
  return evaluate(graph, {point}).at(0);
}

// Points that hold equal elements, too.
void expect_unchanged(const Graph& changed, const Graph& network, std::size_t count) {
  verify(changed);
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> point(count);
    for (double& x : point) x = static_cast<double>(random() % 17) / 4 - 2;
    EXPECT_EQ(values_of(changed, point), values_of(network, point));
  }
}

// Steps of differences of what `functions` make of x.
Graph steps_of(const std::vector<Op>& functions, const SparseAffine& rows, FunctionKind step) {
  Builder b({4});
  ValueId at = b.x();
  for (const Op& op : functions) at = b.add(op, {at}, {4});
  const ValueId difference = b.add(rows, {at}, {rows.rows()});
  return b.outputs({b.add(Unary{{step}}, {difference}, {rows.rows()})});
}

const Unary kPowerOfE{{FunctionKind::kExp}}, kLogistic{{FunctionKind::kSigmoid}};

TEST(CompareArguments, PassesFunctionsThatRise) {
  for (const FunctionKind step :
       {FunctionKind::kStep, FunctionKind::kStepAt, FunctionKind::kSign, FunctionKind::kIsZero})
    for (const Unary& function : {kPowerOfE, kLogistic, Unary{{FunctionKind::kTanh}}}) {
      const Graph network = steps_of({function}, differences({{0, 1}, {3, 2}}, 0.5), step);
      Graph graph = network;
      compare_arguments(graph);
      EXPECT_EQ(count_ops<Unary>(graph), 1) << "the step alone";
      expect_unchanged(graph, network, 4);
    }
}

// Elements 0 and 2 are one group, 3 and 1 the other.
TEST(CompareArguments, PassesSoftmaxWithinItsGroups) {
  const LogSoftmax softmax{{0, 2, 4}, {0, 2, 3, 1}};
  const std::vector<Op> functions = {softmax, kPowerOfE, IndexMap{{1, 0, 3, 2}}};
  const Graph within = steps_of(functions, differences({{0, 1}, {3, 2}}), FunctionKind::kStepAt);
  Graph graph = within;
  compare_arguments(graph);
  EXPECT_EQ(count_ops<LogSoftmax>(graph), 0);
  expect_unchanged(graph, within, 4);

  const Graph across = steps_of({softmax}, differences({{0, 1}, {0, 2}}), FunctionKind::kStepAt);
  graph = across;
  compare_arguments(graph);
  EXPECT_EQ(graph, across);
}

TEST(CompareArguments, LeavesWhatKeepsNoOrder) {
  for (const Op& function :
       std::vector<Op>{Relu{}, Unary{{FunctionKind::kCos}}, Unary{{FunctionKind::kFloor}}}) {
    const Graph network = steps_of({function}, differences({{0, 1}}), FunctionKind::kStepAt);
    Graph graph = network;
    compare_arguments(graph);
    EXPECT_EQ(graph, network);
  }
  SparseAffine biased = differences({{0, 1}});
  biased.bias.data[0] = 0.1;
  SparseAffine weighted = differences({{0, 1}});
  weighted.value.data[1] = -0.5;
  SparseAffine inexact = differences({{0, 1}});
  inexact.value.error = {0, 1e-9};
  for (const SparseAffine& rows : {biased, weighted, inexact}) {
    const Graph network = steps_of({kLogistic}, rows, FunctionKind::kStepAt);
    Graph graph = network;
    compare_arguments(graph);
    EXPECT_EQ(graph, network);
  }
}

// Is a rounding of x in 100 ways equal to a step of y?
Graph equality(const std::vector<Op>& integers, bool negated) {
  Builder b({2});
  const ValueId x = b.map(b.x(), {0}), y = b.map(b.x(), {1});
  const ValueId step = b.add(Unary{{FunctionKind::kStep}}, {y}, {1});
  const ValueId other = b.add(scale({2}, {1}), {step}, {1});  // 1 or 3
  ValueId at = x;
  for (const Op& op : integers) at = b.add(op, {at}, {1});
  if (negated) at = b.add(scale({-1}, {0}), {at}, {1});
  const ValueId difference = b.add(Binary{Binary::Kind::kAdd}, {other, at}, {1});
  return b.outputs({b.add(Unary{{FunctionKind::kIsZero}}, {difference}, {1})});
}

std::vector<Function> clips(const Graph& graph) {
  std::vector<Function> found;
  for (const Node& node : graph.nodes)
    if (const auto* const unary = std::get_if<Unary>(&node.op);
        unary != nullptr && unary->function.kind == FunctionKind::kClip)
      found.push_back(unary->function);
  return found;
}

void expect_limited(const Graph& network, std::vector<Function> limits) {
  Graph graph = network;
  limit_equalities(graph);
  EXPECT_EQ(clips(graph), limits);
  verify(graph);
  for (const double y : {-1.0, 1.0})
    for (double x = -8; x <= 8; x += 0.125)
      EXPECT_EQ(values_of(graph, {x, y}), values_of(network, {x, y})) << x << " " << y;
}

TEST(LimitEqualities, OneBeyondTheReach) {
  for (const Function& rounding : {Function{FunctionKind::kFloor}, Function{FunctionKind::kCeil},
                                   Function{FunctionKind::kRound, 1}}) {
    expect_limited(equality({Unary{rounding}}, true), {{FunctionKind::kClip, 0, 4}});
    expect_limited(equality({Unary{rounding}}, false), {{FunctionKind::kClip, -4, 0}});
  }
}

TEST(LimitEqualities, OfWhatConversionToIntegersMakes) {
  Builder b({2});
  const ValueId x = b.map(b.x(), {0}), y = b.map(b.x(), {1});
  const ValueId step = b.add(Unary{{FunctionKind::kStep}}, {y}, {1});
  const ValueId above = b.add(Unary{{FunctionKind::kFloor}}, {b.relu(x)}, {1});
  const ValueId negative = b.add(Unary{{FunctionKind::kClip, -kNoLimit, 0}}, {x}, {1});
  const ValueId below = b.add(Unary{{FunctionKind::kCeil}}, {negative}, {1});
  const ValueId integer = b.add(Binary{Binary::Kind::kAdd}, {above, below}, {1});
  const ValueId sum = b.add(Binary{Binary::Kind::kAdd}, {integer, step}, {1});
  const Graph network = b.outputs({b.add(Unary{{FunctionKind::kIsZero}}, {sum}, {1})});
  expect_limited(network, {{FunctionKind::kClip, 0, 1}, {FunctionKind::kClip, -2, 0}});
}

TEST(LimitEqualities, LeavesOthers) {
  const Unary quarters{{FunctionKind::kRound, 0.25}}, sine{{FunctionKind::kSin}};
  for (const std::vector<Op>& integers : std::vector<std::vector<Op>>{{quarters}, {sine}, {}}) {
    const Graph network = equality(integers, true);
    Graph graph = network;
    limit_equalities(graph);
    EXPECT_EQ(graph, network);
  }
}

}  // namespace
}  // namespace bf_aot
