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

std::string text_of(const Nest& nest) {
  loop::Program program;
  program.add("nest", nest);
  loop::VectorTypes types;
  return print(program, types);
}

std::string reason(const Nest& nest, const loop::Primitive& primitive) {
  return nest.why_not(primitive).value_or("");
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

// ---- Illegal schedules

using loop::CacheWrite;
using loop::Fuse;
using loop::Keep;
using loop::Parallel;
using loop::Reorder;
using loop::Restrict;
using loop::Split;
using loop::Unroll;
using loop::Vectorize;

TEST(Legality, KnowsItsNames) {
  const Nest nest = product(6, 5);
  EXPECT_EQ(reason(nest, Split{"k", 2, "tile"}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, Unroll{"k", 0}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, Vectorize{"k"}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, Parallel{"k"}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, CacheWrite{"k"}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, Fuse{"o", "k", "f"}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, Keep{"sum"}), "the body has no value 'sum'");
  EXPECT_EQ(reason(nest, Restrict{"k", 0, 1}), "there is no axis 'k'");
}

TEST(Legality, OfSplit) {
  Nest nest = product(6, 5);
  EXPECT_EQ(reason(nest, Split{"o", 2, "i"}), "the name 'i' is taken");
  EXPECT_EQ(reason(nest, Split{"o", 2, ""}), "a loop needs a name");
  EXPECT_EQ(reason(nest, Split{"o", 0, "tile"}), "a step is at least 1");
  nest.split("o", 3, "tile");
  EXPECT_EQ(reason(nest, Split{"o", 2, "part"}),
            "tiles of 2 do not divide those of 3 of loop 'tile'");
  nest.unroll("o");
  EXPECT_EQ(reason(nest, Split{"o", 3, "part"}), "loop 'o' is not serial");
}

TEST(Legality, OfReorder) {
  Nest nest = product(6, 5);
  EXPECT_EQ(reason(nest, Reorder{{"o"}}), "an order names every loop once");
  nest.split("o", 3, "tile");
  EXPECT_EQ(reason(nest, Reorder{{"tile", "i", "i"}}), "an order names every loop once");
  EXPECT_EQ(reason(nest, Reorder{{"tile", "i", "k"}}), "there is no loop 'k'");
  EXPECT_EQ(reason(nest, Reorder{{"o", "tile", "i"}}),
            "loop 'o' walks tiles of loop 'tile', which must be outside");
}

TEST(Legality, TheVectorLoopStaysInnermost) {
  Nest nest = product(4, 5);
  EXPECT_EQ(reason(nest, Vectorize{"o"}), "loop 'o' is not innermost");
  nest.reorder({"i", "o"});
  nest.vectorize("o");
  EXPECT_EQ(reason(nest, Reorder{{"o", "i"}}), "vector loop 'o' must stay innermost");
}

TEST(Legality, OfUnroll) {
  Nest nest = product(10, 5);
  nest.split("o", 4, "tile");
  const char* const shorter = "the last tile of loop 'o' is shorter than the others";
  EXPECT_EQ(reason(nest, Unroll{"o", 0}), shorter);
  EXPECT_EQ(reason(nest, Unroll{"o", 1}), "a factor is at least 2");
  EXPECT_EQ(reason(nest, Unroll{"o", 2}), "");
  nest.reorder({"i", "tile", "o"});
  EXPECT_EQ(reason(nest, Vectorize{"o"}), shorter);
}

TEST(Legality, OfLanes) {
  EXPECT_EQ(reason(product(4, 8), Vectorize{"i"}), "loop 'i' is summed over");
  EXPECT_EQ(reason(doubled(6), Vectorize{"a"}), "6 lanes are no power of two");
  EXPECT_EQ(reason(doubled(4, 3), Vectorize{"a"}),
            "lanes of 'x[3 a]' are not neighbours in memory");
  Nest tiles = doubled(8);
  tiles.split("a", 2, "tile");
  tiles.reorder({"tile", "a"});
  EXPECT_EQ(reason(tiles, Vectorize{"a"}), "");
}

TEST(Legality, OfRestrict) {
  Nest nest = product(12, 5);
  EXPECT_EQ(reason(nest, Restrict{"o", 0, 13}), "0 .. 13 is no part of 0 .. 12");
  EXPECT_EQ(reason(nest, Restrict{"o", 4, 4}), "4 .. 4 is no part of 0 .. 12");
  nest.split("o", 4, "tile");
  nest.unroll("o");
  EXPECT_EQ(reason(nest, Restrict{"o", 0, 10}), "loop 'o' is not serial");
}

TEST(Legality, OfCacheWrite) {
  Nest nest = product(12, 30);
  EXPECT_EQ(reason(nest, CacheWrite{"o"}), "loop 'o' is not summed over");
  nest.split("i", 5, "chunk");
  nest.cache_write("chunk");
  EXPECT_EQ(reason(nest, CacheWrite{"i"}), "sums are cached in loop 'chunk' already");
}

TEST(Legality, SumsAreNotLost) {
  Nest nest = product(12, 5);
  EXPECT_EQ(nest.why_incomplete(), std::nullopt);
  nest.reorder({"i", "o"});
  EXPECT_EQ(nest.why_incomplete(), "sum 'sum' is lost in each iteration of loop 'i'");
  Nest inside = product(4, 5);
  inside.unroll("o");
  EXPECT_EQ(inside.why_incomplete(), "loop 'i' sums inside the register tile of loop 'o'");
  Nest partial = product(4, 30);
  partial.split("i", 5, "chunk");
  partial.cache_write("i");
  EXPECT_EQ(partial.why_incomplete(),
            "loop 'i', whose sums are cached, is not the outermost that sums into an accumulator");
}

TEST(Legality, OfParallel) {
  EXPECT_EQ(reason(product(12, 5), Parallel{"o"}), "");
  EXPECT_EQ(reason(product(12, 5), Parallel{"i"}), "loop 'i' is summed over");
  Nest crossed = product(12, 5, true);
  crossed.reorder({"i", "o"});
  EXPECT_EQ(reason(crossed, Parallel{"o"}), "sums over loop 'i' cross loop 'o'");
  EXPECT_EQ(reason(doubled(4), Parallel{"a"}), "");
  // y[a / 2] of two iterations; y[a] reads what the one before wrote.
  Expression what;
  what.axes = {{"a", 0, 6, false}};
  what.body = {Store{"y", {{{"a", 2, 1}}, 0, {}}, load("x", {}), {}}};
  const char* const dependent = "iterations of loop 'a' may touch the same elements of 'y'";
  EXPECT_EQ(reason(Nest(what), Parallel{"a"}), dependent);
  what.body = {Store{"y", loop::axis("a") + 1, load("y", loop::axis("a")), {}}};
  EXPECT_EQ(reason(Nest(what), Parallel{"a"}), dependent);
}

TEST(NestDeathTest, EmptyAxis) {
  EXPECT_DEATH(product(0, 5), "axis.begin < axis.end");
}

TEST(NestDeathTest, WhatDoesNotApplyAbortsWithItsReason) {
  Nest nest = product(6, 5);
  EXPECT_DEATH((void)nest.loop("k"), "found");
  EXPECT_DEATH(nest.split("k", 2, "tile"), "split.k, 2, tile.: there is no loop 'k'");
}

TEST(PrintDeathTest, IncompleteSchedules) {
  Nest nest = product(12, 5);
  nest.reorder({"i", "o"});
  EXPECT_DEATH(text_of(nest), "why_incomplete");
}

// floor(o / 4) has no loop of that step, and the axis is longer than one tile; nor do tiles of 4
// from 2 on begin where floor(o / 4) does.
TEST(Print, DividesWhereTheScheduleLacksTheIndexsTiles) {
  Expression what;
  what.axes = {{"o", 0, 8, false}};
  what.body = {Store{"y", loop::axis("o") + loop::floor("o", 4, 3), load("x", {}), {}}};
  EXPECT_EQ(text_of(Nest(what)),
            "  for (int o = 0; o < 8; ++o) {\n    y[o + 12 * (o / 4)] = x[0];\n  }\n");
  Nest nest(what);
  nest.restrict_axis("o", 2, 8);
  nest.split("o", 2, "tile");
  EXPECT_EQ(text_of(nest),
            "  for (int tile = 2; tile < 8; tile += 2) {\n    for (int o = tile; o < tile + 2; "
            "++o) {\n      y[o + 12 * (o / 4)] = x[0];\n    }\n  }\n");
}

// ---- Nests inside each other

using loop::ComputeAt;
using loop::Program;

// z[a] = 2 y[a + shift], after y[a] = 2 x[a]; both in tiles of 4.
Program chain(std::int64_t shift) {
  Expression what;
  what.axes = {{"a", 0, 12, false}};
  what.body = {Store{"z", loop::axis("a"), load("y", loop::axis("a") + shift), {}}};
  Program program;
  program.add("first", doubled(12));
  program.add("second", Nest(what));
  for (const char* name : {"first", "second"}) program.nest(name).split("a", 4, "tile");
  return program;
}

TEST(ComputeAt, PutsAProducerIntoALoopOfItsConsumer) {
  Program program = chain(0);
  program.compute_at("first", "second", "tile");
  EXPECT_EQ(program.nests()[0].depth, 1U);
  loop::VectorTypes types;
  EXPECT_EQ("\n" + print(program, types), R"(
  for (int tile = 0; tile < 12; tile += 4) {
    for (int a = tile; a < tile + 4; ++a) {
      const float x = x[a];
      y[a] = x + x;
    }
    for (int a = tile; a < tile + 4; ++a) {
      z[a] = y[a];
    }
  }
)");
}

std::string reason(const Program& program, const ComputeAt& primitive) {
  return program.why_not(primitive).value_or("");
}

TEST(ComputeAt, RefusesWhatChangesTheResult) {
  EXPECT_EQ(reason(chain(0), {"first", "second", "tile"}), "");
  EXPECT_EQ(reason(chain(0), {"second", "first", "tile"}), "");
  const char* const apart =
      "nests 'first' and 'second' touch the same elements of 'y' in different iterations of loop "
      "'tile'";
  EXPECT_EQ(reason(chain(1), {"first", "second", "tile"}), apart);
  EXPECT_EQ(reason(chain(100), {"first", "second", "tile"}), "");
}

TEST(ComputeAt, RefusesWhatIsNoPlace) {
  const Program program = chain(0);
  EXPECT_EQ(reason(program, {"third", "second", "tile"}), "there is no nest 'third'");
  EXPECT_EQ(reason(program, {"first", "first", "tile"}), "a nest is not computed in itself");
  EXPECT_EQ(reason(program, {"first", "second", "k"}), "nest 'second' has no loop 'k'");
  Program other = chain(0);
  other.nest("first").split("tile", 3, "block");
  EXPECT_EQ(reason(other, {"first", "second", "tile"}),
            "loop 'block' of nest 'first' is not loop 'tile' of nest 'second'");
  Program parallel = chain(0);
  parallel.nest("first").parallel("tile");
  EXPECT_EQ(reason(parallel, {"first", "second", "tile"}), "loop 'tile' is not serial");
  Program placed = chain(0);
  placed.compute_at("first", "second", "tile");
  EXPECT_EQ(reason(placed, {"first", "second", "tile"}), "nest 'first' is placed already");
  placed.add("third", doubled(12));
  EXPECT_EQ(reason(placed, {"third", "first", "a"}), "nest 'first' runs inside another itself");
  Program between;
  between.add("first", doubled(12));
  between.add("other", doubled(12));
  between.add("last", doubled(12));
  EXPECT_EQ(reason(between, {"first", "last", "a"}), "nest 'other' runs between them");
}

TEST(ComputeAt, RefusesToLoseSums) {
  Program program;
  for (const char* name : {"first", "second"}) {
    Nest nest = product(6, 10);
    nest.split("i", 5, "chunk");
    nest.reorder({"o", "chunk", "i"});
    program.add(name, nest);
  }
  EXPECT_EQ(reason(program, {"first", "second", "chunk"}),
            "nest 'first': sum 'sum' is lost in each iteration of loop 'chunk'");
}

TEST(ComputeAt, SharedLoopsStayAsTheyAre) {
  Program program = chain(0);
  program.compute_at("first", "second", "tile");
  Nest& nest = program.nest("second");
  EXPECT_EQ(reason(nest, Split{"tile", 1, "block"}), "loop 'tile' is shared with another nest");
  EXPECT_EQ(reason(nest, Reorder{{"a", "tile"}}),
            "loop 'a' walks tiles of loop 'tile', which must be outside");
}

}  // namespace
}  // namespace bf
