#include "frontend/graph/merge_graphs.h"

#include <gtest/gtest.h>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/pipeline.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

Graph small_network(double weight) {
  Builder b({2});
  return b.outputs({b.relu(b.add(affine(1, 2, {weight, 1}, {0.5}), {b.x()}, {1}))});
}

TEST(MergeGraphs, KeepsInputsSideBySide) {
  const Graph merged =
      merge_graphs({{"f", small_network(1)}, {"g", small_network(-2)}}, {}, 4);
  EXPECT_EQ(merged.networks, 2);
  EXPECT_EQ(merged.inputs.size(), 2U);
  EXPECT_EQ(merged.value(merged.inputs[1]).name, "g.x");
  EXPECT_EQ(evaluate(merged, {{1, 2}, {3, 8}}), (Tensors{{3.5}, {2.5}}));
}

TEST(MergeGraphs, OneInputTakesTheirPlace) {
  Builder b({1});
  const ValueId second = b.input("z", {1});
  const Graph two = b.outputs({second, b.add(Binary{Binary::Kind::kAdd}, {b.x(), second}, {1})});
  const Graph merged = merge_graphs({{"f", small_network(1)}, {"g", two}}, {0, 1, 1, 2}, 3);
  EXPECT_EQ(merged.inputs.size(), 1U);
  EXPECT_EQ(evaluate(merged, {{10, 20, 40}}), (Tensors{{30.5}, {40}, {60}}));
}

TEST(MergeGraphs, EqualPartsAreComputedOnce) {
  Graph merged = merge_graphs({{"f", small_network(1)}, {"g", small_network(1)}}, {0, 1, 0, 1}, 2);
  normalise(merged, {});
  EXPECT_EQ(count_ops<Relu>(merged), 1U);
  // Not of different inputs.
  merged = merge_graphs({{"f", small_network(1)}, {"g", small_network(1)}}, {0, 1, 1, 0}, 2);
  normalise(merged, {});
  EXPECT_EQ(count_ops<Relu>(merged), 2U);
}

TEST(MergeGraphs, TellsWhatIsEqual) {
  EXPECT_TRUE(are_equal_networks(small_network(1), small_network(1)));
  EXPECT_FALSE(are_equal_networks(small_network(1), small_network(2)));
  EXPECT_TRUE(are_isomorphic(small_network(1), small_network(2)));
  EXPECT_FALSE(are_isomorphic(small_network(1), dense_chain({2, 3, 1})));
  EXPECT_FALSE(are_isomorphic(dense_chain({2, 4, 1}), dense_chain({2, 3, 1})));
}

}  // namespace
}  // namespace bf_aot
