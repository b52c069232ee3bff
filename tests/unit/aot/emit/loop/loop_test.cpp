#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/emit/loop/print/print.h"
#include "aot/emit/loop/program.h"
#include "tests/unit/aot/emit/kernels/nests.h"

namespace bf_aot::emit {
namespace {

using loop::Expression;
using loop::load;
using loop::Nest;
using loop::Sum;
using testing::product;

std::vector<std::string> order(const Nest& nest) {
  std::vector<std::string> names;
  for (const loop::Loop& each : nest.loops()) names.push_back(each.name);
  return names;
}

TEST(Nest, StartsWithALoopPerAxis) {
  const Nest nest = product(6, 5);
  EXPECT_EQ(order(nest), (std::vector<std::string>{"o", "i"}));
  EXPECT_EQ(nest.trip_count(nest.loop("o")), 6);
  EXPECT_EQ(nest.trip_count(nest.loop("i")), 5);
  EXPECT_TRUE(nest.is_exact(nest.loop("o")));
  EXPECT_EQ(nest.lanes(), 1);
}

TEST(Nest, SplitsIntoTiles) {
  Nest nest = product(12, 5);
  nest.split("o", 2, "v");
  nest.split("v", 3, "panel");
  EXPECT_EQ(order(nest), (std::vector<std::string>{"panel", "v", "o", "i"}));
  EXPECT_EQ(nest.loop("v").step, 2);
  EXPECT_EQ(nest.loop("panel").step, 6);
  EXPECT_EQ(nest.loop("o").outer, "v");
  EXPECT_EQ(nest.loop("v").outer, "panel");
  EXPECT_EQ(nest.trip_count(nest.loop("panel")), 2);
  EXPECT_EQ(nest.trip_count(nest.loop("v")), 3);
  EXPECT_EQ(nest.trip_count(nest.loop("o")), 2);
  for (const char* name : {"panel", "v", "o"}) EXPECT_TRUE(nest.is_exact(nest.loop(name)));
}

TEST(Nest, KnowsThatTheLastTileIsShorter) {
  Nest nest = product(10, 5);
  nest.split("o", 4, "tile");
  EXPECT_EQ(nest.trip_count(nest.loop("tile")), 3);
  EXPECT_EQ(nest.trip_count(nest.loop("o")), 4);  // of a full tile
  EXPECT_FALSE(nest.is_exact(nest.loop("tile")));
  EXPECT_FALSE(nest.is_exact(nest.loop("o")));
}

TEST(Nest, ClipsATileThatIsLongerThanItsAxis) {
  Nest nest = product(3, 5);
  nest.split("o", 8, "tile");
  EXPECT_EQ(nest.trip_count(nest.loop("tile")), 1);
  EXPECT_EQ(nest.trip_count(nest.loop("o")), 3);
  EXPECT_TRUE(nest.is_exact(nest.loop("o")));
}

TEST(Nest, RestrictsAnAxis) {
  Nest main = product(11, 5);
  Nest rest = main;
  main.restrict_axis("o", 0, 8);
  rest.restrict_axis("o", 8, 11);
  main.split("o", 4, "tile");
  rest.split("o", 4, "tile");
  EXPECT_EQ(main.trip_count(main.loop("tile")), 2);
  EXPECT_TRUE(main.is_exact(main.loop("o")));
  EXPECT_EQ(rest.trip_count(rest.loop("tile")), 1);
  EXPECT_EQ(rest.trip_count(rest.loop("o")), 3);
}

TEST(Nest, LanesAreTheVectorLoopsTrips) {
  Nest nest = product(16, 5);
  nest.split("o", 8, "v");
  nest.reorder({"i", "v", "o"});
  nest.unroll("v");
  nest.vectorize("o");
  EXPECT_EQ(nest.lanes(), 8);
}

// ---- Roundings of the longest chain into one sum: inner trips + outer trips + the product's.

TEST(SummationDepth, CountsTheReducedLoop) {
  EXPECT_EQ(product(6, 100).summation_depth(), 100 + 1 + 1);
}

TEST(SummationDepth, PartialSumsShortenTheChain) {
  Nest nest = product(6, 100);
  nest.split("i", 10, "chunk");
  EXPECT_EQ(nest.summation_depth(), 100 + 1 + 1);  // one accumulator still
  nest.cache_write("chunk");
  EXPECT_EQ(nest.summation_depth(), 10 + 10 + 1);
}

TEST(SummationDepth, RoundsARemainderUp) {
  Nest nest = product(6, 101);
  nest.split("i", 10, "chunk");
  nest.cache_write("chunk");
  EXPECT_EQ(nest.summation_depth(), 10 + 11 + 1);
}

TEST(SummationDepth, SumsLeaveInEachIterationOfTheSharedLoop) {
  Nest nest = product(6, 101, true);
  nest.split("i", 10, "chunk");
  nest.reorder({"chunk", "i", "o"});
  nest.unroll("o");
  EXPECT_EQ(nest.summation_depth(), 110 + 1 + 1);
  nest.share(1);
  EXPECT_EQ(nest.summation_depth(), 10 + 11 + 1);
}

TEST(SummationDepth, SumsLeaveInEachIterationOfAReducedLoopOutsideTheAccumulators) {
  Nest nest = product(6, 100, true);
  nest.split("i", 10, "chunk");
  nest.reorder({"chunk", "o", "i"});
  EXPECT_EQ(nest.summation_depth(), 10 + 10 + 1);
}

TEST(SummationDepth, IsOfFloatsAlone) {
  EXPECT_TRUE(product(6, 5).sums_in_float());
  Expression what;
  what.axes = {{"i", 0, 5, true}};
  what.sums = {Sum{"sum", loop::to_double(load("x", loop::axis("i"))), "y", {}, false}};
  EXPECT_FALSE(Nest(what).sums_in_float());
}

}  // namespace
}  // namespace bf_aot::emit
