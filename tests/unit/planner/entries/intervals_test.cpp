// Interval passes in float32 through sum layers: which networks take them, the roundings counted,
// and what verify() says of wrong steps.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "planner/lowering/lowering.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using testing::Builder;

ConvGeometry geometry(std::int64_t in, std::int64_t out, std::int64_t kernel) {
  ConvGeometry g;
  g.in_channels = in;
  g.out_channels = out;
  g.in_size = g.out_size = {1, 4, 4};
  g.kernel = {1, kernel, kernel};
  g.pad = {0, kernel / 2, kernel / 2};
  g.in = dense_layout(in, g.in_size);
  g.out = dense_layout(out, g.out_size);
  return g;
}

Conv conv(std::int64_t in, std::int64_t out) {
  const auto ones = [](std::int64_t n) {
    return std::vector<double>(static_cast<std::size_t>(n), 1);
  };
  return {geometry(in, out, 3), testing::constant({out, in, 9}, ones(out * in * 9)),
          testing::constant({out}, ones(out))};
}

// A convolution, a residual block behind it, and a dense head; with `function`, a sigmoid before
// it.
Graph residual_graph(bool function) {
  Builder b({1, 4, 4});
  const ValueId first = b.relu(b.add(conv(1, 2), {b.x()}, {2, 4, 4}));
  const ValueId second = b.add(conv(2, 2), {first}, {2, 4, 4});
  ValueId last = b.relu(b.add(Binary{}, {second, first}, {2, 4, 4}));
  if (function) last = b.add(Unary{{FunctionKind::kSigmoid, 0, 0}}, {last}, {2, 4, 4});
  std::vector<std::int64_t> all(32);
  std::iota(all.begin(), all.end(), 0);
  const ValueId flat = b.map(last, all);
  return b.outputs({b.add(testing::affine(1, 32, std::vector<double>(32, 1), {0}), {flat}, {1})});
}

// A convolution, the maxima of its rows, which a sum reads beside the dense head if `twice`.
Graph max_graph(bool twice) {
  Builder b({1, 4, 4});
  const ValueId first = b.relu(b.add(conv(1, 2), {b.x()}, {2, 4, 4}));
  GroupMax rows{{0}, {}};
  for (std::int64_t row = 0; row < 8; ++row) {
    for (std::int64_t k = 0; k < 4; ++k) rows.source.push_back(4 * row + k);
    rows.row_start.push_back(4 * row + 4);
  }
  const ValueId pooled = b.add(rows, {first}, {8});
  std::vector<ValueId> heads = {
      b.add(testing::affine(1, 8, std::vector<double>(8, 1), {0}), {pooled}, {1})};
  if (twice) heads.push_back(b.add(conv(2, 1), {first}, {1, 4, 4}));
  return b.outputs(heads);
}

Plan plan_of(const Graph& graph, Method method = Method::kIbp) {
  PlannerConfig config;
  config.method = method;
  config.target = find_target("x86-64-v3");
  return plan(graph, {}, "net", false, config);
}

template <typename AnyStep>
std::size_t count_steps(const Entry& entry) {
  return static_cast<std::size_t>(std::ranges::count_if(
      entry.steps, [](const Step& step) { return std::holds_alternative<AnyStep>(step); }));
}

TEST(Intervals, OfReluNetworksThatConvolveAreInFloat32) {
  const Plan made = plan_of(residual_graph(false));
  const Entry& bounds = *made.find_entry(EntryKind::kBounds);
  EXPECT_EQ(count_steps<IntervalSum>(bounds), 3U);
  EXPECT_EQ(count_steps<IntervalAffine>(bounds), 1U);
  for (const Buffer& buffer : bounds.buffers) EXPECT_EQ(buffer.element, Element::kFloat32);
  // Plain inference keeps its centres in double.
  const Entry& evaluate = *made.find_entry(EntryKind::kEvaluate);
  EXPECT_EQ(count_steps<IntervalSum>(evaluate), 0U);
  EXPECT_GT(count_steps<CentreSum>(evaluate), 0U);
}

// A dense layer with tanh, and the head that copies it or, with `squares`, its squares and
// products.
Graph function_graph(bool squares) {
  Builder b({3});
  const auto dense = [&](ValueId from, std::int64_t out, std::int64_t in) {
    return b.add(
        testing::affine(out, in, std::vector<double>(static_cast<std::size_t>(out * in), 1),
                        std::vector<double>(static_cast<std::size_t>(out), 0.5)),
        {from}, {out});
  };
  const ValueId tanh = b.add(Unary{{FunctionKind::kTanh}}, {dense(b.x(), 4, 3)}, {4});
  if (!squares) return b.outputs({tanh});
  const ValueId square = b.add(Unary{{FunctionKind::kPower, 2}}, {dense(tanh, 4, 4)}, {4});
  return b.outputs({dense(square, 2, 4)});
}

Plan plan_for(const Graph& graph, const char* target) {
  PlannerConfig config;
  config.method = Method::kIbp;
  config.target = find_target(target);
  return plan(graph, {}, "net", false, config);
}

TEST(Intervals, OfFunctionsAreInFloat32WhereDoublesAreALibrary) {
  for (const bool squares : {false, true})
    for (const char* const target : {"cortex-m4", "cortex-m0plus", "riscv32"}) {
      const Plan made = plan_for(function_graph(squares), target);
      for (const Entry& entry : made.entries)
        for (const Buffer& buffer : entry.buffers) EXPECT_EQ(buffer.element, Element::kFloat32);
      const Entry& evaluate = *made.find_entry(EntryKind::kEvaluate);
      EXPECT_EQ(count_steps<EvaluateAffine>(evaluate), squares ? 3U : 1U);
      EXPECT_EQ(evaluate.steps.size(), squares ? 3U : 1U);
    }
  const Plan with_doubles = plan_for(function_graph(false), "cortex-m7");
  EXPECT_GT(count_steps<Relax>(*with_doubles.find_entry(EntryKind::kBounds)), 0U);
}

TEST(Intervals, OfFunctionsWithoutSuchTablesKeepDoubleCentres) {
  Builder b({3});
  const ValueId dense = b.add(testing::affine(1, 3, {1, 1, 1}, {4}), {b.x()}, {1});
  const Graph graph = b.outputs({b.add(Unary{{FunctionKind::kSqrt}}, {dense}, {1})});
  const Plan made = plan_for(graph, "cortex-m4");
  EXPECT_GT(count_steps<Relax>(*made.find_entry(EntryKind::kBounds)), 0U);
}

// Maxima sum nothing: they need no summation errors in the radii that they read.
TEST(Intervals, OfMaximaAreInFloat32) {
  for (const bool twice : {false, true}) {
    const Plan made = plan_of(max_graph(twice));
    const Entry& bounds = *made.find_entry(EntryKind::kBounds);
    ASSERT_EQ(count_steps<IntervalMax>(bounds), 1U);
    for (const Buffer& buffer : bounds.buffers) EXPECT_EQ(buffer.element, Element::kFloat32);
    for (const Step& step : bounds.steps) {
      if (const auto* sum = std::get_if<IntervalSum>(&step); sum && !sum->head) {
        EXPECT_EQ(sum->gamma > 0x1p-23, twice);  // more than its centre's rounding
      }
      if (const auto* max = std::get_if<IntervalMax>(&step)) {
        EXPECT_GT(max->magnitude, 0x1p-22);  // the roundings here, and what the head needs
      }
    }
  }
}

TEST(Intervals, OfOtherNetworksKeepDoubleCentres) {
  EXPECT_EQ(count_steps<IntervalSum>(plan_of(residual_graph(true)).entries[0]), 0U);
  EXPECT_EQ(count_steps<IntervalSum>(plan_of(residual_graph(false), Method::kCrown).entries[0]),
            0U);
}

Layer sum_of(std::vector<LinearMap> maps) {
  Layer layer;
  layer.kind = LayerKind::kSum;
  for (LinearMap& map : maps) {
    Term term;
    term.map = std::move(map);
    layer.terms.push_back(std::move(term));
  }
  return layer;
}

// The longest chain of products, the chains, and one rounding more for the product; then the terms.
TEST(Intervals, CountTheRoundingsOfEachSum) {
  const auto depth = [](std::vector<LinearMap> maps) {
    return LoweringPlanner::interval_depth(sum_of(std::move(maps)));
  };
  EXPECT_EQ(depth({ConvMap{geometry(3, 8, 3)}}), 27 + 1 + 1 + 1);
  EXPECT_EQ(depth({ConvMap{geometry(16, 8, 3)}}), 64 + 3 + 1 + 1);   // four taps to a chain
  EXPECT_EQ(depth({ConvMap{geometry(48, 8, 3)}}), 48 + 9 + 1 + 1);   // one tap to a chain
  EXPECT_EQ(depth({ConvMap{geometry(130, 8, 1)}}), 64 + 3 + 1 + 1);  // a tap in three parts
  EXPECT_EQ(depth({GatherMap{}}), 2 + 1);
  EXPECT_EQ(depth({ConvMap{geometry(3, 8, 3)}, GatherMap{}, SparseMap{}}), 29 + 3);
}

IntervalSum& sum_step(Plan& plan, std::size_t number) {  // the last is the residual sum
  for (Step& step : plan.entries[0].steps)
    if (auto* const sum = std::get_if<IntervalSum>(&step); sum && number-- == 0) return *sum;
  ADD_FAILURE();
  return std::get<IntervalSum>(plan.entries[0].steps[0]);
}

IntervalMax& max_step(Plan& plan) {
  return std::get<IntervalMax>(*std::ranges::find_if(plan.entries[0].steps, [](const Step& step) {
    return std::holds_alternative<IntervalMax>(step);
  }));
}

void expect_death(const std::function<void(Plan&)>& break_it, const char* message,
                  const Graph& graph = residual_graph(false)) {
  Plan made = plan_of(graph);
  break_it(made);
  EXPECT_DEATH(verify(made), message);
}

TEST(IntervalsDeathTest, AreVerified) {
  expect_death([](Plan& p) { sum_step(p, 2).parts.pop_back(); },
               "parts.size\\(\\) == layer.terms.size\\(\\)");
  expect_death([](Plan& p) { sum_step(p, 0).layer = 3; }, "kind == LayerKind::kSum");
  expect_death([](Plan& p) { sum_step(p, 0).gamma = -1; }, "term >= 0");
  expect_death(
      [](Plan& p) { std::swap(sum_step(p, 2).parts[0].kernel, sum_step(p, 0).parts[0].kernel); },
      "kernel.in == in");
  expect_death(
      [](Plan& p) { sum_step(p, 2).parts[0].centre_in = sum_step(p, 0).parts[0].centre_in; },
      "which holds|holds 16");
  expect_death([](Plan& p) { sum_step(p, 0).head = true; }, "which holds something else");

  const Graph maxima = max_graph(false);
  expect_death([](Plan& p) { max_step(p).layer = 0; }, "kind == LayerKind::kMax", maxima);
  expect_death([](Plan& p) { max_step(p).magnitude = -1; }, "term >= 0", maxima);
  expect_death([](Plan& p) { max_step(p).kernel = sum_step(p, 0).parts[0].kernel; },
               "kernel.kind == kind", maxima);
  expect_death([](Plan& p) { ++max_step(p).groups->taps.stride[3]; }, "candidates_of", maxima);
  expect_death([](Plan& p) { max_step(p).radius_in = max_step(p).centre_in; },
               "which holds something else", maxima);
}

}  // namespace
}  // namespace bf_aot
