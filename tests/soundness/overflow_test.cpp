// Float sums that overflow on their way to a finite number: bounds of `ibp` claim nothing, whatever
// layers come after.

#include <gtest/gtest.h>

#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

// Every neuron of the first layer is about 2^127; a float sum goes to -infinity, or to +infinity.
Net overflowing(double sign, bool relu) {
  constexpr int kNeurons = 19;  // vectors, and some more
  const double huge = sign * 0x1p127;
  std::vector<double> first;
  for (int i = 0; i < kNeurons; ++i)
    for (const double w : {-huge, -huge, huge, huge, sign * huge}) first.push_back(w);
  Net net;
  net.layers = {
      dense_layer(5, kNeurons, first, relu),
      dense_layer(kNeurons, 2, std::vector<double>(std::size_t{2} * kNeurons, 0x1p-127), true),
      dense_layer(2, 1, {1, 1})};
  return net;
}

TEST(IntervalOverflow, ClaimsNothing) {
  std::vector<Net> nets;
  Batch batch;
  for (const double sign : {-1.0, 1.0})
    for (const bool relu : {false, true})
      for (const Form form : {Form::kDense, Form::kConv})
        for (const char* target : {"generic", "x86-64"}) {
          nets.push_back(overflowing(sign, relu));
          batch.add(to_graph(nets.back(), form), false,
                    planner_config(Method::kIbp, Lowering::kVector, target));
        }
  batch.build({"g++", {"-O2"}});
  for (std::size_t i = 0; i < nets.size(); ++i) {
    SCOPED_TRACE(i);
    const ExactNet exact(nets[i]);
    for (const float radius : {0.0F, 0x1p-20F, 0.25F}) {
      const std::size_t inputs = 5;
      const FloatBox box{std::vector<float>(inputs, 1 - radius),
                         std::vector<float>(inputs, 1 + radius)};
      const Outcome outcome = batch.run(i, box);
      ASSERT_EQ(outcome.status, BF_OK);
      EXPECT_EQ(corners_outside(exact, box, outcome), 0);
    }
  }
}

}  // namespace
}  // namespace bf_aot::soundness
