#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "planner/reference/exact.h"
#include "planner/reference/executor.h"
#include "planner/verify/verify.h"
#include "tests/unit/planner/toy_graph.h"

namespace bf_aot::reference {
namespace {

using namespace bf_aot::testing;
using Numbers = std::vector<double>;
using Rationals = std::vector<mpq_class>;

const Entry& bounds_of(const Plan& plan) {
  return *plan.find_entry(EntryKind::kBounds);
}

Rationals rationals(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

ExactBounds run(const Plan& plan, const Numbers& lower, const Numbers& upper) {
  verify(plan);
  return execute_exact(plan, bounds_of(plan), rationals(lower), rationals(upper));
}

ExactBounds run(Method method, int input_count, std::vector<Layer> layers, const Numbers& lower,
                const Numbers& upper) {
  return run(toy_graph_plan(method, input_count, std::move(layers)), lower, upper);
}

Layer with_relu(Layer layer) {
  layer.relu = true;
  return layer;
}

Layer with(Layer layer, const Function& function) {
  layer.function = function;
  return layer;
}

// y = relu(z) - z with z = x1 + x2 on [-1, 1] x [-1, 2], so z in [-2, 3]: relu(z) lies between z
// (3 > 2) and 3/5 z + 6/5. y >= z - z = 0, y <= 6/5 - 2/5 z <= 6/5 + 4/5 = 2; intervals: [-3, 5].
TEST(ReferenceGraph, SharesOfAResidualAreAdded) {
  const std::vector<Layer> layers = {sum("z", {sparse(-1, 2, {{{0, 1.F}, {1, 1.F}}})}, {0}),
                                     with_relu(sum("a", {identity(0, 1)}, {0})),
                                     sum("y", {identity(1, 1), sparse(0, 1, {{{0, -1.F}}})}, {0})};
  const ExactBounds crown = run(Method::kCrown, 2, layers, {-1, -1}, {1, 2});
  EXPECT_EQ(crown.lower, Rationals{0});
  EXPECT_EQ(crown.upper, Rationals{2});
  EXPECT_EQ(crown.unstable, std::vector<int>{1});
  const ExactBounds ibp = run(Method::kIbp, 2, layers, {-1, -1}, {1, 2});
  EXPECT_EQ(ibp.lower, Rationals{-3});
  EXPECT_EQ(ibp.upper, Rationals{5});
}

// x y on [-1, 3] x [2, 4]: centres 1 and 3, radii 2 and 1. The plane 3 x + y - 3, within 2:
// 3 x - 3 + y in [-4, 10], so [-6, 12]; the interval [-4, 12] is tighter below.
// y = x y - 3 x: the plane cancels 3 x: y - 3 -+ 2 in [-3, 3], intervals: [-13, 15].
TEST(ReferenceGraph, Products) {
  std::vector<Layer> layers = {product("p", gather(-1, 2, {0}), gather(-1, 2, {1})),
                               sum("y", {identity(0, 1)}, {0})};
  ExactBounds bounds = run(Method::kCrown, 2, layers, {-1, 2}, {3, 4});
  EXPECT_EQ(bounds.lower, Rationals{-4});
  EXPECT_EQ(bounds.upper, Rationals{12});
  EXPECT_EQ(bounds.layers.at(0).lower, Rationals{-4});
  layers[1] = sum("y", {identity(0, 1), sparse(-1, 2, {{{0, -3.F}}})}, {0});
  bounds = run(Method::kCrown, 2, layers, {-1, 2}, {3, 4});
  EXPECT_EQ(bounds.lower, Rationals{-3});
  EXPECT_EQ(bounds.upper, Rationals{3});
  bounds = run(Method::kIbp, 2, layers, {-1, 2}, {3, 4});
  EXPECT_EQ(bounds.lower, Rationals{-13});
  EXPECT_EQ(bounds.upper, Rationals{15});
}

// m = max(x0, x1), y = m - x0. On [1, 2] x [-1, 1]: x0 is never exceeded: y = 0 exactly.
// On [1, 2] x [-1, 3]: below x0, above 3: y in [0, 3 - 1].
// On [0, 2] x [1, 3]: below x1, so y >= x1 - x0 >= -1.
TEST(ReferenceGraph, Maxima) {
  const std::vector<Layer> layers = {maximum("m", candidates(-1, 2, {{0, 1}})),
                                     sum("y", {identity(0, 1), sparse(-1, 2, {{{0, -1.F}}})}, {0})};
  ExactBounds bounds = run(Method::kCrown, 2, layers, {1, -1}, {2, 1});
  EXPECT_EQ(bounds.lower, Rationals{0});
  EXPECT_EQ(bounds.upper, Rationals{0});
  bounds = run(Method::kCrown, 2, layers, {1, -1}, {2, 3});
  EXPECT_EQ(bounds.lower, Rationals{0});
  EXPECT_EQ(bounds.upper, Rationals{2});
  EXPECT_EQ(bounds.layers.at(0).lower, Rationals{1});
  EXPECT_EQ(bounds.layers.at(0).upper, Rationals{3});
  bounds = run(Method::kCrown, 2, layers, {0, 1}, {2, 3});
  EXPECT_EQ(bounds.lower, Rationals{-1});
  EXPECT_EQ(bounds.upper, Rationals{3});
  // Of equal lower bounds the one that may reach higher: y >= x1 - x0.
  bounds = run(Method::kCrown, 2, layers, {0, 0}, {2, 3});
  EXPECT_EQ(bounds.lower, Rationals{-2});
}

// |z| for z = x in [-1, 3]: above the chord z / 2 + 3/2, below z (the middle is 1).
// y = |z| - z: in [0, 3/2 - z/2] = [0, 2].
TEST(ReferenceGraph, FunctionsOfLinearPieces) {
  const std::vector<Layer> layers = {
      with(sum("a", {identity(-1, 1)}, {0}), {FunctionKind::kAbs, 0, 0}),
      sum("y", {identity(0, 1), sparse(-1, 1, {{{0, -1.F}}})}, {0})};
  const ExactBounds bounds = run(Method::kCrown, 1, layers, {-1}, {3});
  EXPECT_EQ(bounds.lower, Rationals{0});
  EXPECT_EQ(bounds.upper, Rationals{2});
  EXPECT_EQ(bounds.unstable, std::vector<int>{1});
}

TEST(ReferenceGraph, EvaluatesPoints) {
  const std::vector<Layer> layers = {
      dense("d", -1, {{1, -1}, {2, 0.5F}}, {0, 1}),
      with(sum("s", {gather(0, 2, {1, -1, 0}), sparse(-1, 2, {{}, {{0, 2.F}}, {}})}, {0, 0.5, 0}),
           {FunctionKind::kLeakyRelu, 0.5, 0}),
      product("p", gather(1, 3, {0, 2}), gather(0, 2, {1, 1})),
      maximum("m", candidates(2, 2, {{0, 1}})), sum("y", {identity(3, 1)}, {0.25})};
  // x = (1, 2): d = (-1, 4), s = (4, 2.5, -0.5), p = (16, -2), m = 16.
  const Plan plan = toy_graph_plan(Method::kIbp, 2, layers);
  verify(plan);
  EXPECT_EQ(evaluate(plan, {1, 2}), Numbers{16.25});
  EXPECT_EQ(evaluate_exact(plan, {1, 2}), Rationals{mpq_class(65, 4)});
  EXPECT_EQ(execute(plan, *plan.find_entry(EntryKind::kEvaluate), {1, 2}, {1, 2}).lower,
            Numbers{16.25});
  // x = (-1, 1): d = (-2, -0.5), s = (-1/4, -3/4, -1), p = (1/8, 1/2), m = 1/2.
  EXPECT_EQ(evaluate(plan, {-1, 1}), Numbers{0.75});
}

TEST(ReferenceGraph, SmoothFunctionsAreNotRational) {
  const std::vector<Layer> layers = {
      with(sum("a", {identity(-1, 1)}, {0}), {FunctionKind::kTanh, 0, 0}),
      sum("y", {identity(0, 1)}, {0})};
  const Plan plan = toy_graph_plan(Method::kIbp, 1, layers);
  EXPECT_FALSE(is_rational(plan));
  EXPECT_TRUE(is_rational(toy_graph_plan(Method::kIbp, 1, {sum("y", {identity(-1, 1)}, {0})})));
  EXPECT_DEATH(execute_exact(plan, bounds_of(plan), {0}, {1}), "is_rational");
  const mpq_class error = evaluate_exact(plan, {1})[0] - mpq_class(evaluate(plan, {1})[0]);
  EXPECT_LT(abs(error), 1e-15);
}

// Where a function leaves its domain nothing is claimed, and other outputs are untouched.
TEST(ReferenceGraph, NothingIsClaimedOutsideOfADomain) {
  const std::vector<Layer> layers = {
      with(sum("a", {identity(-1, 2)}, {0, 0}), {FunctionKind::kLog, 0, 0}),
      sum("y", {sparse(0, 2, {{{0, 1.F}}, {{1, 1.F}}})}, {0, 0})};
  for (Method method : {Method::kIbp, Method::kCrown}) {
    const Plan plan = toy_graph_plan(method, 2, layers);
    const Bounds bounds = execute(plan, bounds_of(plan), {-1, 1}, {1, 2});
    EXPECT_EQ(bounds.lower[0], -std::numeric_limits<double>::infinity());
    EXPECT_EQ(bounds.upper[0], std::numeric_limits<double>::infinity());
    EXPECT_NEAR(bounds.lower[1], 0, 1e-12);
    EXPECT_NEAR(bounds.upper[1], std::log(2), 1e-12);
  }
}

// ---- Convolutions against their matrices

ConvGeometry random_geometry(std::mt19937& random) {
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  ConvGeometry g;
  g.batch = 1 + below(2);
  g.groups = 1 + below(2);
  g.in_channels = g.groups * (1 + below(2));
  g.out_channels = g.groups * (1 + below(2));
  g.transposed = below(2) == 0;
  for (std::size_t d = 0; d < 3; ++d) {
    g.in_size[d] = 1 + below(4);
    g.out_size[d] = 1 + below(4);
    g.kernel[d] = 1 + below(3);
    g.stride[d] = 1 + below(3);
    g.dilation[d] = 1 + below(2);
    g.pad[d] = below(3);
  }
  g.in = dense_layout(g.in_channels, g.in_size);
  g.out = dense_layout(g.out_channels, g.out_size);
  if (below(2) == 0) {  // channels last
    g.in.spatial = {g.in_size[1] * g.in_size[2] * g.in_channels, g.in_size[2] * g.in_channels,
                    g.in_channels};
    g.in.channel = 1;
  }
  return g;
}

TEST(ReferenceGraph, AConvolutionIsItsMatrix) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const ConvGeometry g = random_geometry(random);
    std::vector<float> weight;
    for (std::int64_t k = 0; k < g.out_channels * g.in_group() * g.taps(); ++k)
      weight.push_back(static_cast<float>(static_cast<int>(random() % 9) - 4) / 4);
    const int in = static_cast<int>(g.in_count()), out = static_cast<int>(g.out_count());
    Term term = conv(-1, g, weight);
    std::vector<std::vector<float>> matrix;
    for (const auto& row : matrix_of(term, out)) matrix.emplace_back(row.begin(), row.end());
    const std::vector<double> bias(static_cast<std::size_t>(out), 0.5);
    std::vector<float> mix;
    for (int k = 0; k < out; ++k) mix.push_back(static_cast<float>(k % 5 - 2));
    const Layer head = dense("y", 0, {mix}, {0});
    const Plan plan = toy_graph_plan(Method::kCrown, in, {with_relu(sum("z", {term}, bias)), head});
    const Plan other =
        toy_graph_plan(Method::kCrown, in, {with_relu(dense("z", -1, matrix, bias)), head});
    verify(plan);
    Numbers lower, upper;
    for (int k = 0; k < in; ++k) {
      lower.push_back(k % 3 - 1.5);
      upper.push_back(lower.back() + k % 4);
    }
    const Bounds a = execute(plan, bounds_of(plan), lower, upper);
    const Bounds b = execute(other, bounds_of(other), lower, upper);
    EXPECT_EQ(a.layers[0].lower, b.layers[0].lower);
    EXPECT_EQ(a.layers[0].upper, b.layers[0].upper);
    EXPECT_NEAR(a.lower[0], b.lower[0], 1e-9);
    EXPECT_NEAR(a.upper[0], b.upper[0], 1e-9);
  }
}

// ---- Random graphs

struct Case {
  Plan plan;
  Numbers lower, upper;
};

Case random_case(Method method, RandomActivations activations, unsigned seed) {
  std::mt19937 random(seed);
  const int inputs = 1 + static_cast<int>(random() % 3);
  const int layers = 2 + static_cast<int>(random() % 6);
  Case made{
      toy_graph_plan(method, inputs, random_graph(inputs, layers, activations, random)), {}, {}};
  for (int i = 0; i < inputs; ++i) {
    made.lower.push_back((static_cast<int>(random() % 33) - 16) / 16.0);
    made.upper.push_back(made.lower.back() + static_cast<int>(random() % 9) / 16.0);
  }
  return made;
}

// The box in quarters: 0 and 4 are corners.
Rationals random_point(const Case& c, std::mt19937& random) {
  Rationals x;
  for (std::size_t k = 0; k < c.lower.size(); ++k) {
    const mpq_class l(c.lower[k]), u(c.upper[k]);
    x.push_back(l + (u - l) * mpq_class(static_cast<int>(random() % 5), 4));
  }
  return x;
}

class ReferenceRandomGraph : public ::testing::TestWithParam<Method> {};

TEST_P(ReferenceRandomGraph, DoubleAndExactAgree) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Case c = random_case(GetParam(), RandomActivations::kPiecewiseLinear, seed);
    const Bounds rounded = execute(c.plan, bounds_of(c.plan), c.lower, c.upper);
    const ExactBounds exact = run(c.plan, c.lower, c.upper);
    ASSERT_EQ(rounded.layers.size(), exact.layers.size());
    for (std::size_t i = 0; i < exact.layers.size(); ++i)
      for (std::size_t j = 0; j < exact.layers[i].lower.size(); ++j) {
        const double low = exact.layers[i].lower[j].get_d(),
                     high = exact.layers[i].upper[j].get_d();
        const double close = 1e-10 * std::max({1.0, std::fabs(low), std::fabs(high)});
        ASSERT_NEAR(rounded.layers[i].lower[j], low, close) << seed << " " << i;
        ASSERT_NEAR(rounded.layers[i].upper[j], high, close) << seed << " " << i;
      }
  }
}

TEST_P(ReferenceRandomGraph, ExactBoundsHoldPoints) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Case c = random_case(GetParam(), RandomActivations::kPiecewiseLinear, seed);
    const ExactBounds bounds = run(c.plan, c.lower, c.upper);
    std::mt19937 random(seed);
    for (int point = 0; point < 15; ++point) {
      const Rationals y = evaluate_exact(c.plan, random_point(c, random));
      for (std::size_t j = 0; j < y.size(); ++j) {
        ASSERT_LE(bounds.lower[j], y[j]) << seed;
        ASSERT_GE(bounds.upper[j], y[j]) << seed;
      }
    }
  }
}

TEST_P(ReferenceRandomGraph, BoundsOfSmoothFunctionsHoldPoints) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Case c = random_case(GetParam(), RandomActivations::kSmooth, seed);
    verify(c.plan);
    const Bounds bounds = execute(c.plan, bounds_of(c.plan), c.lower, c.upper);
    std::mt19937 random(seed);
    for (int point = 0; point < 15; ++point) {
      Numbers x;
      for (const mpq_class& value : random_point(c, random)) x.push_back(value.get_d());
      const Numbers y = evaluate(c.plan, x);
      for (std::size_t j = 0; j < y.size(); ++j) {
        if (!std::isfinite(y[j])) continue;
        const double close = 1e-9 * std::max(1.0, std::fabs(y[j]));
        ASSERT_LE(bounds.lower[j], y[j] + close) << seed;
        ASSERT_GE(bounds.upper[j], y[j] - close) << seed;
      }
    }
  }
}

TEST_P(ReferenceRandomGraph, IsNeverLooserThanIntervals) {
  bool tighter = GetParam() == Method::kIbp;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto bounds = [&](Method method) {
      const Case c = random_case(method, RandomActivations::kPiecewiseLinear, seed);
      return run(c.plan, c.lower, c.upper);
    };
    const ExactBounds a = bounds(GetParam()), b = bounds(Method::kIbp);
    for (std::size_t j = 0; j < a.lower.size(); ++j) {
      ASSERT_GE(a.lower[j], b.lower[j]);
      ASSERT_LE(a.upper[j], b.upper[j]);
      tighter = tighter || a.lower[j] > b.lower[j];
    }
  }
  EXPECT_TRUE(tighter);
}

INSTANTIATE_TEST_SUITE_P(Methods, ReferenceRandomGraph,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown),
                         [](const auto& test) {
                           std::string name(to_string(test.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Without activations the network is affine: its range over a box follows from its values at the
// lower corner and its neighbours, and backward rows give exactly that.
TEST(ReferenceGraph, BackwardRowsOfAffineGraphsAreExact) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Case c = random_case(Method::kCrownIbp, RandomActivations::kNone, seed);
    const ExactBounds bounds = run(c.plan, c.lower, c.upper);
    const Rationals low = rationals(c.lower);
    const Rationals base = evaluate_exact(c.plan, low);
    Rationals lower = base, upper = base;
    for (std::size_t k = 0; k < low.size(); ++k) {
      Rationals x = low;
      x[k] = c.upper[k];
      const Rationals y = evaluate_exact(c.plan, x);
      for (std::size_t j = 0; j < y.size(); ++j) {
        const mpq_class step = y[j] - base[j];
        (step < 0 ? lower : upper)[j] += step;
      }
    }
    EXPECT_EQ(bounds.lower, lower) << seed;
    EXPECT_EQ(bounds.upper, upper) << seed;
  }
}

}  // namespace
}  // namespace bf_aot::reference
