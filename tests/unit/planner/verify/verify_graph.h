#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>

#include "planner/plan/plan.h"
#include "planner/storage/storage.h"
#include "planner/verify/verify.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/toy_graph.h"

// A good plan of sums, products and maxima for tests that break it.
namespace bf_aot::testing {

enum : int { kConvLayer, kDenseLayer, kSumLayer, kFactors, kProductLayer, kMaxLayer, kHead };

inline ConvGeometry line_conv() {
  ConvGeometry g;
  g.out_channels = 2;
  g.in_size = {1, 1, 4};
  g.out_size = {1, 1, 2};
  g.kernel = {1, 1, 2};
  g.stride = {1, 1, 2};
  g.in = dense_layout(1, g.in_size);
  g.out = dense_layout(2, g.out_size);
  return g;
}

// x [4] -> a convolution with ReLU -> a dense layer; a sum of both and x, with a function; a sum
// that is a factor, twice; their products, a maximum over the products, a head over three tensors.
inline Plan graph_plan(Method method) {
  Layer convolution = sum("conv", {conv(-1, line_conv(), {1, 2, -1, 0.5F})}, {0, 0, 1, 1});
  convolution.relu = true;
  Layer mixed = sum("mixed",
                    {identity(0, 4), gather(1, 2, {0, -1, 1, 0}),
                     sparse(-1, 4, {{{0, 1.F}, {3, 2.F}}, {}, {{1, -1.F}}, {{2, 0.5F}}})},
                    {0, 1, 0, -1});
  mixed.function = Function{FunctionKind::kLeakyRelu, 0.25, 0};
  Layer wide = dense("wide", kConvLayer, {{1, -1, 2, 1}, {0, 1, 1, -1}}, {0, 1});
  wide.relu = true;
  return toy_graph_plan(
      method, 4,
      {convolution, wide, mixed, sum("factors", {identity(kSumLayer, 4)}, {0, 0, 0, 0}),
       product("products", gather(kFactors, 4, {0, 1, 2}), gather(kFactors, 4, {1, 2, 3})),
       maximum("largest", candidates(kProductLayer, 3, {{0, 1}, {1, 2}})),
       sum("head", {identity(kMaxLayer, 2), gather(kProductLayer, 3, {2, 0}), identity(1, 2)},
           {0, 0.5})});
}

template <typename Kind>
Kind& step_of(Plan& plan, int layer) {
  for (Step& step : plan.entries[0].steps)
    if (auto* found = std::get_if<Kind>(&step))
      if (found->layer == layer) return *found;
  ADD_FAILURE() << "no such step";
  return std::get<Kind>(plan.entries[0].steps[0]);
}

inline BackwardRows& head_rows(Plan& plan) {
  return step_of<BackwardRows>(plan, kHead);
}

inline BackwardLink& link_of(BackwardRows& rows, int layer) {
  for (BackwardLink& link : rows.links)
    if (link.layer == layer) return link;
  ADD_FAILURE() << "no such link";
  return rows.links[0];
}

// Buffers, lifetimes and tasks anew, so that a test sees what it broke and nothing that follows.
inline void settle(Plan& plan) {
  for (Entry& entry : plan.entries) {
    plan_storage(entry, plan.config.target.align, plan.rejected);
    make_tasks(entry);
  }
}

inline void expect_death(const std::function<void(Plan&)>& break_it, const std::string& message) {
  Plan plan = graph_plan(Method::kCrown);
  break_it(plan);
  EXPECT_DEATH(verify(plan), message);
}

}  // namespace bf_aot::testing
