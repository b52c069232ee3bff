#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/loop/nest.h"
#include "aot/loop/print.h"

namespace bf {
namespace {

using loop::Axis;
using loop::Expression;
using loop::Let;
using loop::load;
using loop::local;
using loop::Nest;
using loop::Store;
using loop::Sum;

// y[o] = sum_i w[i out + o] x[i]; the sum leaves in the epilogue, or to the buffer y.
Nest product(std::int64_t out, std::int64_t in, bool to_buffer = false) {
  Expression what;
  what.axes = {{"o", 0, out, false}, {"i", 0, in, true}};
  what.body = {Let{"w", load("weight", loop::axis("i", out) + loop::axis("o"))},
               Let{"x", load("x", loop::axis("i"))}};
  what.sums = {Sum{"sum", local("w") * local("x"), to_buffer ? "y" : "", loop::axis("o"), false}};
  if (!to_buffer) what.epilogue = {Store{"y", loop::axis("o"), local("sum"), {}}};
  return Nest(what);
}

// y[a stride] = 2 x[a stride]
Nest doubled(std::int64_t extent, std::int64_t stride = 1) {
  Expression what;
  what.axes = {{"a", 0, extent, false}};
  what.body = {Let{"x", load("x", loop::axis("a", stride))},
               Store{"y", loop::axis("a", stride), local("x") + local("x"), {}}};
  return Nest(what);
}

std::string text_of(const std::vector<Nest>& nests, const std::string& shared = {}) {
  loop::VectorTypes types;
  return print(nests, shared, types);
}

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
  EXPECT_EQ(product(6, 100).summation_depth(""), 100 + 1 + 1);
}

TEST(SummationDepth, PartialSumsShortenTheChain) {
  Nest nest = product(6, 100);
  nest.split("i", 10, "chunk");
  EXPECT_EQ(nest.summation_depth(""), 100 + 1 + 1);  // one accumulator still
  nest.partial_sums("chunk");
  EXPECT_EQ(nest.summation_depth(""), 10 + 10 + 1);
}

TEST(SummationDepth, RoundsARemainderUp) {
  Nest nest = product(6, 101);
  nest.split("i", 10, "chunk");
  nest.partial_sums("chunk");
  EXPECT_EQ(nest.summation_depth(""), 10 + 11 + 1);
}

TEST(SummationDepth, SumsLeaveInEachIterationOfTheSharedLoop) {
  Nest nest = product(6, 101, true);
  nest.split("i", 10, "chunk");
  nest.reorder({"chunk", "i", "o"});
  nest.unroll("o");
  EXPECT_EQ(nest.summation_depth(""), 110 + 1 + 1);
  EXPECT_EQ(nest.summation_depth("chunk"), 10 + 11 + 1);
}

TEST(SummationDepth, SumsLeaveInEachIterationOfAReducedLoopOutsideTheAccumulators) {
  Nest nest = product(6, 100, true);
  nest.split("i", 10, "chunk");
  nest.reorder({"chunk", "o", "i"});
  EXPECT_EQ(nest.summation_depth(""), 10 + 10 + 1);
}

TEST(SummationDepth, IsOfFloatsAlone) {
  EXPECT_TRUE(product(6, 5).sums_in_float());
  Expression what;
  what.axes = {{"i", 0, 5, true}};
  what.sums = {Sum{"sum", loop::to_double(load("x", loop::axis("i"))), "y", {}, false}};
  EXPECT_FALSE(Nest(what).sums_in_float());
}

// ---- Illegal schedules

using NestDeathTest = ::testing::Test;

TEST(NestDeathTest, EmptyAxis) {
  EXPECT_DEATH(product(0, 5), "axis.begin < axis.end");
}

TEST(NestDeathTest, UnknownNames) {
  Nest nest = product(6, 5);
  EXPECT_DEATH((void)nest.loop("k"), "found");
  EXPECT_DEATH(nest.split("k", 2, "tile"), "found");
  EXPECT_DEATH(nest.restrict_axis("k", 0, 1), "found");
}

TEST(NestDeathTest, SplitOfAnUnrolledLoop) {
  Nest nest = product(6, 5);
  nest.unroll("o");
  EXPECT_DEATH(nest.split("o", 2, "tile"), "kSerial");
}

TEST(NestDeathTest, SplitUnderANameInUse) {
  Nest nest = product(6, 5);
  EXPECT_DEATH(nest.split("o", 2, "i"), "has_loop");
  EXPECT_DEATH(nest.split("o", 0, "tile"), "step > 0");
}

TEST(NestDeathTest, SplitOfATileIntoTilesThatDoNotDivideIt) {
  Nest nest = product(6, 5);
  nest.split("o", 3, "tile");
  EXPECT_DEATH(nest.split("o", 2, "part"), "step");
}

TEST(NestDeathTest, ReorderPutsATileOutsideItsOuterLoop) {
  Nest nest = product(6, 5);
  nest.split("o", 3, "tile");
  EXPECT_DEATH(nest.reorder({"o", "tile", "i"}), "outer");
}

TEST(NestDeathTest, ReorderNamesEveryLoopOnce) {
  Nest nest = product(6, 5);
  EXPECT_DEATH(nest.reorder({"o"}), "size");
  nest.split("o", 3, "tile");
  EXPECT_DEATH(nest.reorder({"tile", "i", "i"}), "ordered");
}

TEST(NestDeathTest, ReorderMovesTheVectorLoopOutwards) {
  Nest nest = product(4, 5);
  nest.reorder({"i", "o"});
  nest.vectorize("o");
  EXPECT_DEATH(nest.reorder({"o", "i"}), "kVector");
}

TEST(NestDeathTest, UnrollOfAnInexactLoop) {
  Nest nest = product(10, 5);
  nest.split("o", 4, "tile");
  EXPECT_DEATH(nest.unroll("o"), "is_exact");
}

TEST(NestDeathTest, VectorizeOfALoopThatIsNotInnermost) {
  Nest nest = product(4, 5);
  EXPECT_DEATH(nest.vectorize("o"), "loops_.size");
}

TEST(NestDeathTest, VectorizeOfAnInexactLoop) {
  Nest nest = product(10, 5);
  nest.split("o", 4, "tile");
  nest.reorder({"i", "tile", "o"});
  EXPECT_DEATH(nest.vectorize("o"), "is_exact");
}

TEST(NestDeathTest, RestrictAfterUnroll) {
  Nest nest = product(12, 5);
  nest.split("o", 4, "tile");
  nest.unroll("o");
  EXPECT_DEATH(nest.restrict_axis("o", 0, 10), "kSerial");
}

TEST(NestDeathTest, RestrictEnlargesTheAxis) {
  Nest nest = product(12, 5);
  EXPECT_DEATH(nest.restrict_axis("o", 0, 13), "end");
  EXPECT_DEATH(nest.restrict_axis("o", 4, 4), "begin < end");
}

TEST(NestDeathTest, PartialSumsOfALoopThatIsNotReduced) {
  Nest nest = product(12, 5);
  EXPECT_DEATH(nest.partial_sums("o"), "reduced");
}

TEST(PrintDeathTest, ReducedLoopOutsideTheAccumulators) {
  Nest nest = product(12, 5);
  nest.reorder({"i", "o"});
  EXPECT_DEATH(text_of({nest}), "sum.buffer.empty");
}

TEST(PrintDeathTest, ReducedLoopInsideTheRegisterTile) {
  Nest nest = product(4, 5);
  nest.unroll("o");
  EXPECT_DEATH(text_of({nest}), "reduced && inner");
}

TEST(PrintDeathTest, LanesThatAreNotNeighboursInMemory) {
  Nest nest = doubled(4, 3);
  nest.vectorize("a");
  EXPECT_DEATH(text_of({nest}), "coefficient == 0 || coefficient == 1");
}

TEST(PrintDeathTest, PartialSumsInsideAnotherReducedLoop) {
  Nest nest = product(4, 30);
  nest.split("i", 5, "chunk");
  nest.partial_sums("i");
  EXPECT_DEATH(text_of({nest}), "partial");
}

TEST(PrintDeathTest, SharedLoopThatIsNotOutermost) {
  EXPECT_DEATH(text_of({product(4, 5)}, "i"), "shared");
}

// floor(o, 4) has no loop of that step, and the axis is longer than one tile.
TEST(PrintDeathTest, IndexByTilesThatTheScheduleLacks) {
  Expression what;
  what.axes = {{"o", 0, 8, false}};
  what.body = {Store{"y", loop::axis("o") + loop::floor("o", 4, 3), load("x", {}), {}}};
  EXPECT_DEATH(text_of({Nest(what)}), "term.tile");
}

// Tiles of 4 from 2 on do not begin where floor(o, 4) does.
TEST(PrintDeathTest, IndexByTilesThatBeginElsewhere) {
  Expression what;
  what.axes = {{"o", 0, 8, false}};
  what.body = {Store{"y", loop::axis("o") + loop::floor("o", 4, 3), load("x", {}), {}}};
  Nest nest(what);
  nest.restrict_axis("o", 2, 8);
  nest.split("o", 4, "tile");
  EXPECT_DEATH(text_of({nest}), "term.tile");
}

}  // namespace
}  // namespace bf
