// Forward lines in rational arithmetic and in generated code: how tight they are, what they
// refuse, and numbers at the ends of the range.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"
#include "planner/reference/exact.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

std::vector<mpq_class> rationals(const std::vector<float>& x) {
  return {x.begin(), x.end()};
}

Plan plan_of(const Net& net, Method method) {
  return plan(to_graph(net), ModelInfo{}, "net", false,
              planner_config(method, Lowering::kReference, "generic"));
}

reference::ExactBounds exact_bounds(const Plan& plan, const FloatBox& box) {
  return reference::execute_exact(plan, *plan.find_entry(EntryKind::kBounds), rationals(box.lower),
                                  rationals(box.upper));
}

mpq_class width(const reference::ExactBounds& bounds) {
  mpq_class sum = 0;
  for (std::size_t j = 0; j < bounds.lower.size(); ++j) sum += bounds.upper[j] - bounds.lower[j];
  return sum;
}

// Exact lines hold the network's values, and bounds are within those of exact intervals; on most
// networks of several layers they are tighter.
TEST(ForwardLines, ExactOnesLieWithinIntervals) {
  Random random{7};
  int tighter = 0;
  for (int i = 0; i < 40; ++i) {
    const Net net = random_net(random, Family::kTrained);
    const Plan lines = plan_of(net, Method::kForward), intervals = plan_of(net, Method::kIbp);
    const FloatBox box = random_box(random, net.inputs(), i % kBoxKinds);
    const reference::ExactBounds tight = exact_bounds(lines, box);
    const reference::ExactBounds loose = exact_bounds(intervals, box);
    for (std::size_t j = 0; j < tight.lower.size(); ++j) {
      EXPECT_GE(tight.lower[j], loose.lower[j]);
      EXPECT_LE(tight.upper[j], loose.upper[j]);
    }
    tighter += width(tight) < width(loose) ? 1 : 0;
    const ExactNet exact(net);
    for (int k = 0; k < 16; ++k) {
      const Numbers y = exact.evaluate(corner_of(box, random()));
      for (std::size_t j = 0; j < tight.lower.size(); ++j) {
        EXPECT_LE(tight.lower[j], y.rational(j));
        EXPECT_GE(tight.upper[j], y.rational(j));
      }
    }
  }
  EXPECT_GE(tighter, 10);
}

// relu(x) - relu(x) is 0: lines cancel, but for the distance of the two of each neuron.
TEST(ForwardLines, Cancel) {
  Net net;
  net.layers = {dense_layer(1, 2, {1, 1}, true), dense_layer(2, 1, {1, -1}, false)};
  const FloatBox box{{-1}, {3}};
  const reference::ExactBounds bounds = exact_bounds(plan_of(net, Method::kForward), box);
  EXPECT_EQ(bounds.upper[0], mpq_class(3, 4));  // slope 3/4: each within 3/8
  EXPECT_EQ(bounds.lower[0], mpq_class(-3, 4));
  EXPECT_EQ(exact_bounds(plan_of(net, Method::kIbp), box).upper[0], 3);
}

// The generated code makes them as tight, but for rounding.
TEST(ForwardLines, GeneratedCodeIsAsTight) {
  Net net;
  net.layers = {dense_layer(1, 2, {1, 1}, true), dense_layer(2, 1, {1, -1}, false)};
  Batch batch;
  batch.add(net, planner_config(Method::kForward, Lowering::kGeneric, "generic"));
  batch.build({"g++", {"-O1"}});
  const Outcome outcome = batch.run(0, {{-1}, {3}});
  EXPECT_GE(outcome.upper[0], 0.75F);
  EXPECT_LE(outcome.upper[0], 0.75001F);
  EXPECT_LE(outcome.lower[0], -0.75F);
  EXPECT_GE(outcome.lower[0], -0.75001F);
}

// Sums that overflow in lines and spreads: bounds are infinite, or those of intervals.
TEST(ForwardLines, OverflowClaimsNothing) {
  const double huge = 0x1p100;
  Net net;
  net.layers = {dense_layer(2, 2, {huge, huge, -huge, huge}, true),
                dense_layer(2, 2, {huge, -huge, huge, huge}, true),
                dense_layer(2, 1, {1, -1}, false)};
  Batch batch;
  for (const char* target : {"generic", "x86-64"})
    batch.add(net, planner_config(Method::kForward, Lowering::kVector, target));
  batch.build({"g++", {"-O2"}});
  const ExactNet exact(net);
  for (std::size_t i = 0; i < 2; ++i)
    for (const float radius : {0x1p-120F, 0x1p-60F, 1.0F, 0x1p100F}) {
      const FloatBox box{{-radius, 0}, {radius, radius}};
      const Outcome outcome = batch.run(i, box);
      ASSERT_EQ(outcome.status, BF_OK);
      EXPECT_EQ(corners_outside(exact, box, outcome), 0);
    }
}

// The message names the layer and a method that serves it.
TEST(ForwardLines, RefusesOtherLayers) {
  Net net;
  net.layers = {dense_layer(1, 2, {1, 1}, true), dense_layer(2, 1, {1, -1}, false)};
  const PlannerConfig config = planner_config(Method::kForward, Lowering::kGeneric, "generic");
  for (const Form form : {Form::kConv, Form::kSparse}) {
    try {
      plan(to_graph(net, form), ModelInfo{}, "net", false, config);
      FAIL() << "not refused";
    } catch (const CompileError& error) {
      const Diagnostic& problem = error.diagnostics().at(0);
      EXPECT_EQ(problem.code, "BF2107");
      EXPECT_NE(problem.message.find("is a sum layer"), std::string::npos) << problem.message;
      EXPECT_NE(problem.hint.find("crown"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace bf_aot::soundness
