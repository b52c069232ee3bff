#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/emit/loop/print/print.h"
#include "aot/emit/loop/program.h"
#include "tests/unit/aot/emit/kernels/nests.h"

// What primitives refuse, and why.
namespace bf_aot::emit {
namespace {

using loop::Expression;
using loop::Let;
using loop::load;
using loop::local;
using loop::Nest;
using loop::Store;
using loop::Sum;
using testing::doubled;
using testing::product;
using testing::reason;
using testing::text_of;

using loop::Bind;
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
  EXPECT_EQ(reason(nest, Reorder{{"o", "i"}}), "loop 'o' of lanes or a call must stay innermost");
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

TEST(Legality, OfRoll) {
  using loop::Roll;
  Nest nest = product(8, 5);
  EXPECT_EQ(reason(nest, Roll{"none"}), "there is no loop 'none'");
  EXPECT_EQ(reason(nest, Roll{"o"}), "loop 'o' is not side by side in a register tile");
  nest.split("o", 4, "tile");
  nest.reorder({"tile", "i", "o"});
  nest.unroll("o");
  EXPECT_EQ(reason(nest, Roll{"o"}), "");
  nest.roll("o");
  EXPECT_EQ(reason(nest, Roll{"o"}), "loop 'o' is rolled already");
  nest.unroll("i");
  EXPECT_EQ(reason(nest, Roll{"i"}), "loop 'i' is summed over");
  Nest points = doubled(4);
  points.unroll("a");
  EXPECT_EQ(reason(points, Roll{"a"}), "nothing follows sums where there are none");
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

// Loops that nests share may be around bound ones: sums leave in each of their iterations.
TEST(Legality, OfBindInSharedLoops) {
  Nest nest = product(12, 5);
  nest.split("i", 2, "block");
  nest.reorder({"block", "o", "i"});
  EXPECT_EQ(reason(nest, Bind{"o", 1, 4}), "sums over loop 'block' cross loop 'o'");
  nest.share(1);
  EXPECT_EQ(reason(nest, Bind{"o", 1, 4}), "");
  EXPECT_EQ(reason(nest, Bind{"block", 1, 4}), "loop 'block' is shared with another nest");
}

TEST(Legality, OfBind) {
  EXPECT_EQ(reason(product(12, 5), Bind{"o", 1, 4}), "");
  EXPECT_EQ(reason(product(12, 5), Bind{"i", 1, 4}), "loop 'i' is summed over");
  EXPECT_EQ(reason(product(12, 5), Bind{"o", 1, 0}), "a group has at least one item");
  EXPECT_EQ(reason(product(12, 5), Bind{"k", 1, 4}), "there is no loop 'k'");
  Nest nest = product(12, 5);
  nest.split("o", 3, "tile");
  EXPECT_EQ(reason(nest, Bind{"o", 1, 4}),
            "loop 'o' is inside loop 'tile', of which each item has all");
  nest.bind("tile", 1, 2);
  EXPECT_EQ(reason(nest, Bind{"tile", 1, 2}), "loop 'tile' is not serial");
  EXPECT_EQ(reason(nest, Bind{"o", 2, 4}), "");
}

// first[b][a + 1] of first[b][a]: lanes would read what is not yet stored.
TEST(Legality, TheOrderOfDependentPointsStays) {
  Expression what;
  what.axes = {{"b", 0, 4, false}, {"a", 0, 4, false}};
  const loop::Index at = loop::axis("b", 8) + loop::axis("a");
  what.body = {Store{"first", at + 1, load("first", at), {}}};
  const char* const dependent = "elements of 'first' are stored in the order of the loops";
  EXPECT_EQ(reason(Nest(what), Vectorize{"a"}),
            "lanes may touch what another lane stores in 'first'");
  EXPECT_EQ(reason(Nest(what), Reorder{{"a", "b"}}), dependent);
  EXPECT_EQ(reason(Nest(what), Reorder{{"b", "a"}}), "");
  EXPECT_EQ(reason(Nest(what), loop::Tile{{"b", "a"}, {2, 2}, {"p", "q"}}), dependent);
  what.body = {Store{"first", at, load("first", at), {}}};
  EXPECT_EQ(reason(Nest(what), Vectorize{"a"}), "");
  what.body = {Store{"first", loop::axis("a"), load("x", at), {}}};  // the last b remains
  EXPECT_EQ(reason(Nest(what), Reorder{{"a", "b"}}), dependent);
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

// ---- Padding predicates and tables in lanes

// y[a] = x[..] of the predicates, for 8 lanes.
Nest padded(const loop::Index& index, std::vector<loop::Range> within) {
  Expression what;
  what.axes = {{"b", 0, 3, false}, {"a", 0, 8, false}};
  what.body = {Store{"y",
                     loop::axis("b", 8) + loop::axis("a"),
                     loop::load_within("x", index, std::move(within)),
                     {}}};
  return Nest(what);
}

TEST(Legality, OfPredicatesInLanes) {
  const loop::Index a = loop::axis("a");
  const loop::Vectorize lanes{"a"};
  EXPECT_EQ(reason(padded(a, {{loop::axis("b") + -1, 0, 2}}), lanes), "");
  EXPECT_EQ(reason(padded(a, {{a, 0, 5}}), lanes), "");
  EXPECT_EQ(reason(padded(a, {{a + -1, 0, 8}}), lanes),
            "the first lanes may fail '0 <= a - 1 < 8' of 'x[a]'");
  EXPECT_EQ(reason(padded(a, {{a + -1, -1, 8}}), lanes), "");
  EXPECT_EQ(reason(padded(a, {{loop::axis("a", 2), 0, 8}}), lanes),
            "lanes are not neighbours in '0 <= 2 a < 8' of 'x[a]'");
  EXPECT_EQ(reason(padded(loop::axis("b"), {{a, 0, 5}}), lanes),
            "one element for all lanes may fail '0 <= a < 5' of 'x[b]'");
  EXPECT_EQ(reason(padded(a, {{a, 0, 5}, {a + loop::axis("b"), 0, 7}}), lanes),
            "a second predicate follows the lanes: '0 <= a + b < 7' of 'x[a]'");
}

TEST(Legality, OfTablesInLanes) {
  const loop::Vectorize lanes{"a"};
  EXPECT_EQ(reason(padded(loop::lookup("t", loop::axis("b")) + loop::axis("a"), {}), lanes), "");
  EXPECT_EQ(reason(padded(loop::lookup("t", loop::axis("a")), {}), lanes),
            "lanes of 'x[t[a]]' are not neighbours in memory");
}

TEST(Legality, OnlyFloatsAreCut) {
  Expression what;
  what.axes = {{"a", 0, 8, false}};
  what.body = {Store{"y",
                     loop::axis("a"),
                     load("x", loop::axis("a"), loop::Type::kFloat64),
                     {{loop::axis("a"), 0, 5}}}};
  EXPECT_EQ(reason(Nest(what), loop::Vectorize{"a"}),
            "only floats are cut where lanes fail '0 <= a < 5' of 'y[a]'");
}

// ---- Tiles, fusion, values, calls

TEST(Legality, OfTile) {
  Nest nest = product(6, 5);
  EXPECT_EQ(reason(nest, loop::Tile{{"o", "i"}, {2, 2}, {"p", "p"}}), "the name 'p' is taken");
  EXPECT_EQ(reason(nest, loop::Tile{{"i", "o"}, {2, 2}, {"p", "q"}}),
            "loop 'o' is not directly inside loop 'i'");
  EXPECT_EQ(reason(nest, loop::Tile{{"o", "i"}, {2, 0}, {"p", "q"}}), "a step is at least 1");
  nest.split("o", 2, "t");
  EXPECT_EQ(reason(nest, loop::Tile{{"t", "o"}, {2, 2}, {"p", "q"}}),
            "loops 't' and 'o' walk one axis");
  nest.apply(loop::Tile{{"o", "i"}, {1, 2}, {"p", "q"}});
  std::string order;
  for (const loop::Loop& each : nest.loops()) order += each.name + " ";
  EXPECT_EQ(order, "t p q o i ");
}

TEST(Legality, OfFuse) {
  Nest nest = product(6, 5);
  EXPECT_EQ(reason(nest, Fuse{"o", "i", "f"}), "of loops 'o' and 'i' one is summed over");
  EXPECT_EQ(reason(nest, Fuse{"i", "o", "f"}), "loop 'o' is not directly inside loop 'i'");
  EXPECT_EQ(reason(nest, Fuse{"o", "i", "o"}), "the name 'o' is taken");
  nest.split("o", 4, "t");
  EXPECT_EQ(reason(nest, Fuse{"t", "o", "f"}),
            "the last tile of loop 'o' is shorter than the others");
  Nest cached = product(6, 20);
  cached.split("i", 5, "c");
  cached.cache_write("c");
  EXPECT_EQ(reason(cached, Fuse{"c", "i", "f"}), "sums are cached in loop 'c'");
  // floor(b / 4) of tiles of 6 is no digit of the fused loop.
  Expression what;
  what.axes = {{"a", 0, 3, false}, {"b", 0, 6, false}};
  what.body = {Store{"y", {{{"b", 4, 1}, {"a", 1, 8}}, 0, {}}, load("x", {}), {}}};
  EXPECT_EQ(reason(Nest(what), Fuse{"a", "b", "f"}),
            "floor(b / 4) is no quotient of the fused loop");
}

TEST(Legality, OfInline) {
  Expression what;
  what.axes = {{"a", 0, 4, false}};
  what.body = {Let{"v", load("x", loop::axis("a"))}, Store{"x", loop::axis("a"), local("v"), {}},
               Store{"y", loop::axis("a"), local("v"), {}}};
  Nest nest(what);
  EXPECT_EQ(reason(nest, loop::Inline{"w"}), "there is no value 'w'");
  EXPECT_EQ(reason(nest, loop::Inline{"v"}), "'x' is stored after 'v' reads it");
  Nest kept = product(4, 5);
  kept.keep("w");
  EXPECT_EQ(reason(kept, loop::Inline{"w"}), "value 'w' is kept in a register");
}

TEST(Legality, OfPrefetch) {
  Nest nest = product(4, 5, true);
  EXPECT_EQ(reason(nest, loop::Prefetch{"weight", 0}), "a distance is at least 1 byte");
  EXPECT_EQ(reason(nest, loop::Prefetch{"z", 64}), "'z' is not read");
  EXPECT_EQ(reason(nest, loop::Prefetch{"y", 64}), "'y' is stored");
  nest.prefetch("weight", 64);
  EXPECT_EQ(reason(nest, loop::Prefetch{"weight", 64}), "'weight' is prefetched already");
  EXPECT_EQ(reason(padded(loop::axis("a"), {}), loop::Prefetch{"x", 64}),
            "no value of the body is read from 'x'");
}

TEST(Legality, OfTensorize) {
  using loop::Tensorize;
  Expression what;
  what.axes = {{"b", 0, 3, false}, {"a", 0, 8, false}};
  const auto copy = [&](const loop::Index& to, const loop::ExprPtr& value) {
    what.body = {Store{"y", to, value, {}}};
    return Nest(what);
  };
  const loop::Index at = loop::axis("b", 8) + loop::axis("a");
  const Tensorize primitive{"a", "copy_floats"};
  EXPECT_EQ(reason(copy(at, load("x", at)), primitive), "");
  EXPECT_EQ(reason(copy(at, load("x", at)), Tensorize{"b", "copy_floats"}),
            "loop 'b' is not innermost");
  EXPECT_EQ(reason(copy(at, load("x", at)), Tensorize{"a", "sort"}),
            "there is no intrinsic 'sort'");
  EXPECT_EQ(reason(copy(at, load("x", at)), Tensorize{"a", "inner_product"}),
            "loop 'a' is not summed over");
  EXPECT_EQ(reason(copy(at, load("x", at)), Tensorize{"a", "clear_floats"}),
            "'x[8 b + a]' is not '0' of 'clear_floats'");
  EXPECT_EQ(reason(copy(at, load("x", loop::axis("a", 2))), primitive),
            "'x[2 a]' is not walked element by element");
  EXPECT_EQ(reason(copy(at, load("x", loop::lookup("t", loop::axis("a")))), primitive),
            "'x[t[a]]' is not walked element by element");
  EXPECT_EQ(reason(copy(at, loop::load_within("x", at, {{loop::axis("a"), 0, 5}})), primitive),
            "a load has a padding predicate");
  EXPECT_EQ(reason(copy(at, load("y", at + 8)), primitive), "'y' is read and stored");
  Nest called = copy(at, load("x", at));
  called.tensorize("a", "copy_floats");
  EXPECT_EQ(reason(called, Split{"a", 2, "t"}), "loop 'a' is not serial");
  EXPECT_EQ(reason(called, Reorder{{"a", "b"}}), "loop 'a' of lanes or a call must stay innermost");
}

// product() with one axis, or both, listed.
Nest listed_product(bool kept, bool summed) {
  Expression what = product(20, 24, true).expression();
  if (kept) what.axes[0] = loop::listed(what.axes[0], "outputs");
  if (summed) what.axes[1] = loop::listed(what.axes[1], "inputs");
  return Nest(what);
}

TEST(Legality, OfLists) {
  const Nest summed = listed_product(false, true);
  EXPECT_EQ(reason(summed, Unroll{"i", 0}), "loop 'i' walks a list");
  EXPECT_EQ(reason(summed, Unroll{"i", 2}), "");
  EXPECT_EQ(reason(summed, Split{"i", 4, "tile"}),
            "lists know where tiles of multiples of 8 begin");
  EXPECT_EQ(reason(summed, Split{"i", 16, "tile"}), "");
  EXPECT_EQ(reason(summed, Restrict{"i", 0, 8}), "axis 'i' is a list");
  EXPECT_EQ(reason(summed, Fuse{"o", "i", "both"}), "loop 'i' walks a list");
  Nest outside = summed;
  outside.reorder({"i", "o"});
  EXPECT_EQ(outside.why_incomplete(), "no sum leaves loop 'i' where nothing counts");
  Nest kept = listed_product(true, false);
  EXPECT_EQ(reason(kept, Split{"o", 4, "tile"}), "");
  EXPECT_EQ(reason(kept, Restrict{"o", 12, 20}), "");
  kept.reorder({"i", "o"});
  EXPECT_EQ(reason(kept, Vectorize{"o"}), "loop 'o' walks a list");
  EXPECT_EQ(reason(kept, loop::Tensorize{"o", "copy_floats"}), "loop 'o' walks a list");
  loop::Program program;
  program.add("make", doubled(20));
  program.add("nest", kept);
  EXPECT_EQ(reason(program, loop::CacheRead{"nest", "x", "i", "packed"}), "");
  EXPECT_EQ(reason(program, loop::InlineNest{"make", "nest"}), "axis 'o' is a list");
}

// Places of other entries hold other values: which, is not known.
TEST(Legality, OfListsInTwoNests) {
  const auto part = [](std::int64_t begin, std::int64_t end) {
    Nest nest = listed_product(true, false);
    nest.restrict_axis("o", begin, end);
    nest.reorder({"i", "o"});
    return nest;
  };
  loop::Program program;
  program.add("first", part(0, 12));
  program.add("rest", part(12, 20));
  EXPECT_EQ(reason(program, loop::ComputeAt{"rest", "first", "i"}),
            "nests 'rest' and 'first' touch the same elements of 'y' in different iterations of "
            "loop 'i'");
}

}  // namespace
}  // namespace bf_aot::emit
