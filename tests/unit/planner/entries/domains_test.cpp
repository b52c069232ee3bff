// The planner chooses how each layer behind comparisons and shuffled outputs is bounded.

#include <gtest/gtest.h>

#include <string>

#include "planner/planner.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace testing;  // the builder

// A dense layer with ReLU, one with `function`, a scale, maxima of pairs and a sum of these. With
// `relu`, another ReLU between the function and the scale.
Graph compared(FunctionKind function, bool relu = false) {
  Builder b({2});
  const Affine first = affine(2, 2, {1, 1, 1, -1}, {0, 0});
  const ValueId hidden = b.relu(b.add(first, {b.x()}, {2}));
  const Affine second = affine(4, 2, {1, 2, -1, 1, 2, -1, 1, -3}, {0, 0.25, -0.5, 0.125});
  const ValueId arguments = b.add(second, {hidden}, {4});
  ValueId values = b.add(Unary{{function}}, {arguments}, {4});
  if (relu) values = b.relu(b.add(scale({2, 3, 4, 5}, {-1, -1, -1, -1}), {values}, {4}));
  const ValueId scaled = b.add(scale({1, 2, 3, 4}, {0, 1, 0, -1}), {values}, {4});
  const ValueId largest = b.add(GroupMax{{0, 2, 4}, {0, 1, 2, 3}}, {scaled}, {2});
  return b.outputs({b.add(affine(1, 2, {1, 1}, {0}), {largest}, {1})});
}

Plan planned_by(const Graph& graph, Method method) {
  PlannerConfig config;
  config.method = method;
  config.target = find_target("x86-64-v3");
  return plan(graph, {}, "net", false, config);
}

// The layer whose function is `function`, and the sum that maxima read.
LayerId layer_of(const Plan& plan, FunctionKind function) {
  for (const LayerId i : plan.layer_ids())
    if (plan.layer(i).function && plan.layer(i).function->kind == function) return i;
  ADD_FAILURE() << "no layer";
  return 0;
}
LayerId read_by_maxima(const Plan& plan) {
  for (const LayerId i : plan.layer_ids())
    if (plan.layer(i).kind == LayerKind::kMax) return plan.layer(i).term(0).input;
  ADD_FAILURE() << "no maxima";
  return 0;
}

TEST(Domains, CopiesOfStepsKeepTheirIntervals) {
  for (const FunctionKind step :
       {FunctionKind::kStepAt, FunctionKind::kSign, FunctionKind::kFloor}) {
    const Plan plan = planned_by(compared(step), Method::kCrown);
    EXPECT_EQ(plan.domain(layer_of(plan, step)).domain, Domain::kBackward);
    EXPECT_EQ(plan.domain(read_by_maxima(plan)).domain, Domain::kInterval);
  }
  const Plan smooth = planned_by(compared(FunctionKind::kSigmoid), Method::kCrown);
  EXPECT_EQ(smooth.domain(read_by_maxima(smooth)).domain, Domain::kBackward);
  const Plan bent = planned_by(compared(FunctionKind::kFloor, true), Method::kCrown);
  EXPECT_EQ(bent.domain(read_by_maxima(bent)).domain, Domain::kBackward);
}

// crown-ibp bounds no argument of a step backward, so that a copy's own rows may be closer.
TEST(Domains, CopiesOfIntervalsDoNot) {
  const Plan plan = planned_by(compared(FunctionKind::kSign), Method::kCrown);
  Plan weak = planned_by(compared(FunctionKind::kSign), Method::kIbp);
  EXPECT_EQ(weak.domain(read_by_maxima(weak)).reason, "ibp keeps intervals everywhere");
  EXPECT_EQ(plan.domain(read_by_maxima(plan)).reason,
            "copies of steps: backward bounds are not closer");
}

TEST(Domains, FirstStepsBeforeTheOutputsChooseTheirLines) {
  const Plan last = planned_by(compared(FunctionKind::kStepAt), Method::kAlphaCrown);
  EXPECT_EQ(last.domain(layer_of(last, FunctionKind::kStepAt)).domain, Domain::kOptimised);
  const Plan hidden = planned_by(compared(FunctionKind::kStepAt, true), Method::kAlphaCrown);
  EXPECT_EQ(hidden.domain(layer_of(hidden, FunctionKind::kStepAt)).domain, Domain::kBackward);
  const Plan smooth = planned_by(compared(FunctionKind::kSigmoid), Method::kAlphaCrown);
  EXPECT_EQ(smooth.domain(layer_of(smooth, FunctionKind::kSigmoid)).domain, Domain::kBackward);
}

// A convolution whose pixels are shuffled, the last `dropped` of which nobody reads; the first one
// stands in the place of the second, too, if `twice`; and another output reads them if `shared`.
Plan planned_shuffle(int dropped, bool twice, bool shared) {
  Builder b({1, 4, 4});
  ConvGeometry g;
  g.out_channels = 4;
  g.in_size = g.out_size = {1, 4, 4};
  g.kernel = {1, 3, 3};
  g.pad = {0, 1, 1};
  g.in = dense_layout(1, g.in_size);
  g.out = dense_layout(4, g.out_size);
  const Conv first{g, constant({4, 1, 9}, std::vector<double>(36, 0.25)),
                   constant({4}, {0, 1, 2, 3})};
  g.in_channels = 4;
  g.in = g.out;
  const Conv second{g, constant({4, 4, 9}, std::vector<double>(144, -0.5)),
                    constant({4}, {0, 1, 2, 3})};
  const ValueId hidden = b.relu(b.add(first, {b.x()}, {4, 4, 4}));
  const ValueId image = b.add(second, {hidden}, {4, 4, 4});
  std::vector<std::int64_t> source;
  for (std::int64_t i = 0; i < 64 - dropped; ++i) source.push_back(i * 37 % 64);
  if (twice) source[1] = source[0];
  std::vector<ValueId> outputs = {b.map(image, source)};
  if (shared)
    outputs.push_back(b.add(affine(1, 64, std::vector<double>(64, 1), {0}), {image}, {1}));
  return planned_by(b.outputs(outputs), Method::kCrown);
}

TEST(Domains, ShuffledPixelsAreBoundedBeforeTheShuffle) {
  const Plan plan = planned_shuffle(0, false, false);
  const LayerId output = static_cast<int>(plan.layers.size()) - 1;
  EXPECT_EQ(plan.domain(output).domain, Domain::kInterval);
  EXPECT_EQ(plan.domain(plan.layer(output).term(0).input).domain, Domain::kBackward);
  EXPECT_FALSE(plan.domain(plan.layer(output).term(0).input).unstable_only);
}

TEST(Domains, OthersAreBoundedInTheirPlace) {
  for (const Plan& plan : {planned_shuffle(40, false, false), planned_shuffle(0, true, false)})
    EXPECT_EQ(plan.domains.back().domain, Domain::kBackward);
}

// Rows would move ends of the interval that the other reader counts on.
TEST(Domains, ShuffledPixelsThatOthersReadKeepTheirIntervals) {
  const Plan plan = planned_shuffle(0, false, true);
  for (const LayerId i : plan.layer_ids())
    if (!plan.layer(i).relu && !plan.is_head(i)) {
      EXPECT_EQ(plan.domain(i).domain, Domain::kInterval);
    }
}

}  // namespace
}  // namespace bf_aot
