#include "aot/decide/request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/unit/aot/decide/property/engine_request.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

// y = relu(x0) + relu(x1), which is at most 2.
Graph sum_of_relus() {
  testing::Builder b({2});
  const std::vector<double> eye = {1, 0, 0, 1};
  const ValueId h = b.relu(b.add(testing::affine(2, 2, eye, {0, 0}), {b.x()}, {2}));
  return b.outputs({b.add(testing::affine(1, 2, {1, 1}, {0}), {h}, {1})});
}

Property above(const char* limit) {
  return parse_property(
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))(assert (>= Y_0 " +
          std::string(limit) + "))",
      "p.vnnlib");
}

// A stop that is asked for while the first verifier is planned, after so many questions.
TEST(Request, AStopEndsPlanning) {
  const Property property = above("2.5");
  const Sampler network(sum_of_relus());
  for (const int patience : {0, 1, 5}) {
    RequestCalls calls;
    bool planning = false;
    int asked = 0, planned = 0;
    calls.before_plan = [&](const DecisionMethod&) { planning = true; };
    calls.after_plan = [&](const DecisionMethod&, double) { ++planned; };
    calls.stop = [&] { return planning && asked++ >= patience; };
    const Outcome outcome = decide(network, {}, property, engine_request(), calls);
    EXPECT_EQ(outcome.answer, Answer::kUnknown);
    EXPECT_TRUE(outcome.stopped);
    EXPECT_TRUE(planning);
    EXPECT_EQ(planned, 0) << patience;
  }
  EXPECT_EQ(decide(network, {}, property, engine_request(), {}).answer, Answer::kVerified);
}

// A stop that throws, as an interrupted program's does, ends planning by that.
TEST(Request, WhatAStopThrowsEndsPlanning) {
  const Property property = above("2.5");
  struct Thrown {};
  bool planning = false;
  RequestCalls calls;
  calls.before_plan = [&](const DecisionMethod&) { planning = true; };
  calls.stop = [&]() -> bool {
    if (planning) throw Thrown();
    return false;
  };
  EXPECT_THROW(decide(Sampler(sum_of_relus()), {}, property, engine_request(), calls), Thrown);
}

}  // namespace
}  // namespace bf_aot::decide
