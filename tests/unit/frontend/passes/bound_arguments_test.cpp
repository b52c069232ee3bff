// Limits of the arguments of functions of restricted domain: found, outward, and within the domain.

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/passes/passes.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

constexpr double kInf = std::numeric_limits<double>::infinity();

Function last_function(Graph graph) {
  bound_arguments(graph);
  return std::get<Unary>(graph.nodes.back().op).function;
}

// The last function of `first`, and then of w y + b, elementwise.
Function argument_of(Op first, double weight, double bias, FunctionKind kind) {
  Builder b({2});
  const ValueId y = b.add(std::move(first), {b.x()}, {2});
  const ValueId z = b.add(scale({weight, weight}, {bias, bias}), {y}, {2});
  return last_function(b.outputs({b.add(Unary{{kind}}, {z}, {2})}));
}

TEST(BoundArguments, TakesWhatFunctionsNeverLeave) {
  const Op square = Unary{{FunctionKind::kPower, 2}};
  EXPECT_EQ(argument_of(square, 1, 0, FunctionKind::kSqrt).least, 0);
  EXPECT_EQ(argument_of(Relu{}, 2, 0.25, FunctionKind::kSqrt).least, 0.25);
  EXPECT_EQ(argument_of(Unary{{FunctionKind::kExp}}, 1, 1, FunctionKind::kLog).least, 1);
  EXPECT_EQ(argument_of(Unary{{FunctionKind::kExp}}, 1, 1, FunctionKind::kReciprocal).least, 1);
  const Function arc = argument_of(Unary{{FunctionKind::kTanh}}, -1, 0, FunctionKind::kAcos);
  EXPECT_EQ(arc.least, -1);
  EXPECT_EQ(arc.most, 1);
}

TEST(BoundArguments, SaysNothingOfArgumentsThatMayLeaveTheDomain) {
  EXPECT_FALSE(has_limits(argument_of(Relu{}, 1, -0.5, FunctionKind::kSqrt)));
  EXPECT_EQ(argument_of(Relu{}, -1, 0, FunctionKind::kSqrt).least, -kInf);
  EXPECT_FALSE(has_limits(argument_of(Relu{}, 1, -0.5, FunctionKind::kReciprocal)));
  EXPECT_FALSE(has_limits(argument_of(Unary{{FunctionKind::kTanh}}, 2, 0, FunctionKind::kAcos)));
}

TEST(BoundArguments, TakesPolesAndStepsAtTheEnd) {
  EXPECT_EQ(argument_of(Relu{}, 1, 0, FunctionKind::kReciprocal).least, 0);
  EXPECT_EQ(argument_of(Relu{}, -2, 0, FunctionKind::kReciprocal).most, 0);
  EXPECT_EQ(argument_of(Relu{}, 1, 0, FunctionKind::kFloor).least, 0);
  const Function sign = argument_of(Unary{{FunctionKind::kClip, 1, 3}}, 1, 0, FunctionKind::kSign);
  EXPECT_EQ(sign.least, 1);
  EXPECT_EQ(sign.most, 3);
  const Unary codes{{FunctionKind::kQuantise, 0.5, -128, 127}};
  const Function floor = argument_of(codes, 1, 0, FunctionKind::kFloor);
  EXPECT_EQ(floor.least, -128);
  EXPECT_EQ(floor.most, 127);
}

TEST(BoundArguments, LeavesFunctionsThatAreDefinedEverywhere) {
  EXPECT_FALSE(has_limits(argument_of(Relu{}, 1, 0, FunctionKind::kTanh)));
}

TEST(BoundArguments, CountsErrorsOfConstants) {
  Builder b({2});
  const ValueId r = b.relu(b.x());
  Scale uncertain = scale({1, 1}, {0.5, 0.5});
  uncertain.factor.error = {0.5, 0.5};
  uncertain.offset.error = {0.25, 0};
  const ValueId z = b.add(uncertain, {r}, {2});
  const Function log = last_function(b.outputs({b.add(Unary{{FunctionKind::kLog}}, {z}, {2})}));
  EXPECT_LE(log.least, 0.25);
  EXPECT_GT(log.least, 0.25 - 1e-15);
  Builder c({2});
  uncertain.factor.error = {1.5, 0};
  const ValueId w = c.add(uncertain, {c.relu(c.x())}, {2});
  EXPECT_FALSE(
      has_limits(last_function(c.outputs({c.add(Unary{{FunctionKind::kLog}}, {w}, {2})}))));
}

TEST(BoundArguments, FollowsSumsProductsAndMaxima) {
  Builder b({2});
  const ValueId r = b.relu(b.x());
  const ValueId e = b.add(Unary{{FunctionKind::kExp}}, {b.x()}, {2});
  const ValueId p = b.add(Binary{Binary::Kind::kMul}, {r, e}, {2});
  const ValueId s = b.add(Binary{Binary::Kind::kAdd}, {p, r}, {2});
  const ValueId m = b.add(GroupMax{{0, 2}, {0, 1}}, {s}, {1});
  const ValueId t =
      b.add(SparseAffine{{0, 1}, {0}, constant({1}, {3}), constant({1}, {0})}, {m}, {1});
  EXPECT_EQ(last_function(b.outputs({b.add(Unary{{FunctionKind::kSqrt}}, {t}, {1})})).least, 0);
}

// exp 1000 is no double: the sum has no upper end.
TEST(BoundArguments, TakesValuesBeyondDoubles) {
  for (const double most : {700.0, 1000.0, 5000.0, 1e6}) {
    Builder b({2});
    const ValueId c = b.add(Unary{{FunctionKind::kClip, -most, most}}, {b.x()}, {2});
    const ValueId e = b.add(Unary{{FunctionKind::kExp}}, {c}, {2});
    const ValueId s = b.add(scale({1, 1}, {1, 1}), {e}, {2});
    const Function f = last_function(b.outputs({b.add(Unary{{FunctionKind::kLog}}, {s}, {2})}));
    EXPECT_GE(f.least, 1) << most;
    EXPECT_EQ(std::isfinite(f.most), most == 700) << most;
  }
}

TEST(BoundArguments, RoundsOutward) {
  // 0.1 + 0.2 is not a double: the least double above it would be wrong.
  const Function f =
      argument_of(Unary{{FunctionKind::kClip, 0.1, kInf}}, 1, 0.2, FunctionKind::kLog);
  EXPECT_LE(mpq_class(f.least), mpq_class(0.1) + mpq_class(0.2));
  EXPECT_GT(f.least, 0.3 - 1e-15);
}

constexpr Function kSquare = {FunctionKind::kPower, 2};

// x / g(b + w sum of terms of x) in two groups of two; `functions` are 1 / g.
Graph norm_of(const std::vector<Function>& functions, double weight, double bias, bool other,
              const Function& term = kSquare) {
  Builder b({4});
  const ValueId square = b.add(Unary{term}, {b.x()}, {4});
  SparseAffine sums;
  sums.row_start = {0, 2, 4};
  sums.column = {0, 1, 2, 3};
  sums.value = constant({4}, {weight, weight, weight, weight});
  sums.bias = constant({2}, {bias, bias});
  ValueId at = b.add(std::move(sums), {square}, {2});
  for (const Function& function : functions) at = b.add(Unary{function}, {at}, {2});
  const ValueId x = other ? b.relu(b.x()) : b.x();
  return b.outputs({b.add(Binary{Binary::Kind::kMul}, {b.map(at, {0, 0, 1, 1}), x}, {4})});
}

double most_of(Graph graph) {
  bound_arguments(graph);
  return only<Binary>(graph).most;
}

TEST(BoundArguments, NormsAreAtMostTheRootOfTheirSize) {
  const Function half = {FunctionKind::kPower, -0.5}, root = {FunctionKind::kSqrt};
  const Function inverse = {FunctionKind::kReciprocal};
  EXPECT_NEAR(most_of(norm_of({half}, 0.5, 1e-5, false)), std::sqrt(2), 1e-12);
  EXPECT_GE(most_of(norm_of({half}, 0.5, 1e-5, false)), std::sqrt(2));
  EXPECT_NEAR(most_of(norm_of({root, inverse}, 0.25, 0, false)), 2, 1e-12);
  EXPECT_NEAR(
      most_of(norm_of({{FunctionKind::kPower, 0.5}, {FunctionKind::kPower, -1}}, 1, 0, false)), 1,
      1e-12);
}

TEST(BoundArguments, NothingElseIsANorm) {
  const Function half = {FunctionKind::kPower, -0.5};
  EXPECT_EQ(most_of(norm_of({half}, -0.5, 1, false)), 0);
  EXPECT_EQ(most_of(norm_of({half}, 0.5, -1e-5, false)), 0);
  EXPECT_EQ(most_of(norm_of({half}, 0.5, 1e-5, true)), 0);
  EXPECT_EQ(most_of(norm_of({{FunctionKind::kSqrt}}, 0.5, 1e-5, false)), 0);
  EXPECT_EQ(most_of(norm_of({{FunctionKind::kPower, -1.5}}, 0.5, 1e-5, false)), 0);
  // An element that is not among those of its own row.
  Graph graph = norm_of({half}, 0.5, 1e-5, false);
  for (Node& node : graph.nodes)
    if (auto* const map = std::get_if<IndexMap>(&node.op)) map->source = {0, 0, 0, 1};
  EXPECT_EQ(most_of(graph), 0);
}

TEST(BoundArguments, SharesAreAtMostTheInverseOfTheirWeight) {
  const Function inverse = {FunctionKind::kReciprocal}, size = {FunctionKind::kAbs};
  EXPECT_NEAR(most_of(norm_of({inverse}, 0.5, 0, false, size)), 2, 1e-12);
  EXPECT_GE(most_of(norm_of({inverse}, 0.5, 0, false, size)), 2);
  EXPECT_NEAR(most_of(norm_of({{FunctionKind::kPower, -1}}, 1, 1e-5, false, size)), 1, 1e-12);
  EXPECT_EQ(most_of(norm_of({inverse}, 0.5, 0, true, size)), 0);
  EXPECT_EQ(most_of(norm_of({inverse}, 0.5, -1, false, size)), 0);
  EXPECT_EQ(most_of(norm_of({inverse}, 0.5, 0, false)), 0);  // squares over x
  EXPECT_EQ(most_of(norm_of({{FunctionKind::kPower, -0.5}}, 1, 0, false, size)), 0);
}

// Terms that are never negative are their own magnitudes.
TEST(BoundArguments, SharesOfTermsOfOneSign) {
  const auto share_of = [](const Op& term) {
    Builder b({2});
    const ValueId s = b.add(term, {b.x()}, {2});
    const ValueId t =
        b.add(SparseAffine{{0, 2}, {0, 1}, constant({2}, {1, 1}), constant({1}, {0})}, {s}, {1});
    const ValueId r = b.add(Unary{{FunctionKind::kReciprocal}}, {t}, {1});
    return b.outputs({b.add(Binary{Binary::Kind::kMul}, {s, b.map(r, {0, 0})}, {2})});
  };
  for (const Op& term : {Op{Relu{}}, Op{Unary{{FunctionKind::kSigmoid}}}, Op{Unary{kSquare}},
                         Op{Unary{{FunctionKind::kExp}}}})
    EXPECT_NEAR(most_of(share_of(term)), 1, 1e-12);
  EXPECT_EQ(most_of(share_of(Unary{{FunctionKind::kTanh}})), 0);
}

// A larger divisor makes a smaller share. Behind the inverse a limit may enlarge it.
TEST(BoundArguments, DivisorsMayHaveALowerLimit) {
  const Function limit = {FunctionKind::kClip, 1e-12, kInf}, root = {FunctionKind::kSqrt};
  const Function inverse = {FunctionKind::kReciprocal}, size = {FunctionKind::kAbs};
  EXPECT_NEAR(most_of(norm_of({root, limit, inverse}, 1, 0, false)), 1, 1e-12);
  EXPECT_NEAR(most_of(norm_of({limit, root, inverse}, 1, 0, false)), 1, 1e-12);
  EXPECT_NEAR(most_of(norm_of({limit, inverse}, 1, 0, false, size)), 1, 1e-12);
  EXPECT_EQ(most_of(norm_of({root, inverse, limit}, 1, 0, false)), 0);
  EXPECT_EQ(most_of(norm_of({inverse, limit}, 1, 0, false, size)), 0);
  EXPECT_EQ(most_of(norm_of({{FunctionKind::kClip, 0, 5}, inverse}, 1, 0, false, size)), 0);
}

}  // namespace
}  // namespace bf_aot
