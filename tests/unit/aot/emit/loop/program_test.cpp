#include "aot/emit/loop/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/emit/loop/print/dump.h"
#include "aot/emit/loop/print/print.h"
#include "tests/unit/aot/emit/kernels/nests.h"

// Nests inside each other, and what moves values from one to another.
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

using loop::ComputeAt;
using loop::Program;
using loop::Reorder;
using loop::Split;

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
  loop::Needs needs;
  EXPECT_EQ("\n" + print(program, needs), R"(
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

TEST(ComputeAt, RefusesWhatChangesTheResult) {
  EXPECT_EQ(reason(chain(0), ComputeAt{"first", "second", "tile"}), "");
  EXPECT_EQ(reason(chain(0), ComputeAt{"second", "first", "tile"}), "");
  const char* const apart =
      "nests 'first' and 'second' touch the same elements of 'y' in different iterations of loop "
      "'tile'";
  EXPECT_EQ(reason(chain(1), ComputeAt{"first", "second", "tile"}), apart);
  EXPECT_EQ(reason(chain(100), ComputeAt{"first", "second", "tile"}), "");
}

TEST(ComputeAt, RefusesWhatIsNoPlace) {
  const Program program = chain(0);
  EXPECT_EQ(reason(program, ComputeAt{"third", "second", "tile"}), "there is no nest 'third'");
  EXPECT_EQ(reason(program, ComputeAt{"first", "first", "tile"}),
            "a nest is not computed in itself");
  EXPECT_EQ(reason(program, ComputeAt{"first", "second", "k"}), "nest 'second' has no loop 'k'");
  Program other = chain(0);
  other.nest("first").split("tile", 3, "block");
  EXPECT_EQ(reason(other, ComputeAt{"first", "second", "tile"}),
            "loop 'block' of nest 'first' is not loop 'tile' of nest 'second'");
  Program parallel = chain(0);
  parallel.nest("first").parallel("tile");
  EXPECT_EQ(reason(parallel, ComputeAt{"first", "second", "tile"}), "loop 'tile' is not serial");
  Program placed = chain(0);
  placed.compute_at("first", "second", "tile");
  EXPECT_EQ(reason(placed, ComputeAt{"first", "second", "tile"}), "nest 'first' is placed already");
  placed.add("third", doubled(12));
  EXPECT_EQ(reason(placed, ComputeAt{"third", "first", "a"}),
            "nest 'first' runs inside another itself");
  Program between;
  between.add("first", doubled(12));
  between.add("other", doubled(12));
  between.add("last", doubled(12));
  EXPECT_EQ(reason(between, ComputeAt{"first", "last", "a"}), "nest 'other' runs between them");
}

TEST(ComputeAt, RefusesToLoseSums) {
  Program program;
  for (const char* name : {"first", "second"}) {
    Nest nest = product(6, 10);
    nest.split("i", 5, "chunk");
    nest.reorder({"o", "chunk", "i"});
    program.add(name, nest);
  }
  EXPECT_EQ(reason(program, ComputeAt{"first", "second", "chunk"}),
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

// ---- Copies

using loop::CacheRead;

// y[o] = sum_i w[i][o] x[i] in tiles of 4 outputs.
Program tiles() {
  Program program;
  Nest nest = product(8, 3);
  nest.split("o", 4, "tile");
  nest.reorder({"tile", "o", "i"});
  program.add("sums", std::move(nest));
  return program;
}

TEST(CacheRead, CopiesWhatAnIterationReadsInItsOrder) {
  Program program = tiles();
  program.apply(CacheRead{"sums", "weight", "tile", "packed"});
  loop::Needs needs;
  EXPECT_EQ("\n" + print(program, needs), R"(
  float packed[12];
  for (int tile = 0; tile < 8; tile += 4) {
    for (int o = tile; o < tile + 4; ++o) {
      for (int i = 0; i < 3; ++i) {
        packed[3 * o + i - 3 * tile] = weight[8 * i + o];
      }
    }
    for (int o = tile; o < tile + 4; ++o) {
      float sum = 0;
      for (int i = 0; i < 3; ++i) {
        const float w = packed[3 * o + i - 3 * tile];
        const float x = x[i];
        sum += w * x;
      }
      y[o] = sum;
    }
  }
)");
}

TEST(CacheRead, CallsACopyOfNeighbours) {
  Program program;
  Nest nest = doubled(10);
  nest.split("a", 4, "tile");
  program.add("twice", std::move(nest));
  program.apply(CacheRead{"twice", "x", "tile", "packed"});
  program.nest("packed").tensorize("a", "copy_floats");
  loop::Needs needs;
  EXPECT_EQ("\n" + print(program, needs), R"(
  float packed[4];
  for (int tile = 0; tile < 10; tile += 4) {
    {
      const int a_end = smaller(tile + 4, 10);
      copy_floats(packed, x + tile, a_end - tile);
    }
    {
      const int a_end = smaller(tile + 4, 10);
      for (int a = tile; a < a_end; ++a) {
        const float x = packed[a - tile];
        y[a] = x + x;
      }
    }
  }
)");
  EXPECT_TRUE(needs.intrinsics.contains("copy_floats"));
}

// y[k] = sum_j w[j][k] x[j] over values of a list of j, for places of a list of k: 4 columns and 8
// terms at a time.
Program listed_tiles() {
  Expression what;
  what.axes = {loop::listed({"k", 0, 6, false}, "columns"),
               loop::listed({"j", 0, 16, true}, "terms")};
  what.sums = {
      Sum{"sum", load("weight", loop::axis("k", 16) + loop::axis("j")) * load("x", loop::axis("j")),
          "y", loop::axis("k"), false}};
  Nest nest(std::move(what));
  nest.split("k", 2, "pair");
  nest.split("pair", 2, "tile");
  nest.split("j", 8, "block");
  nest.reorder({"tile", "block", "pair", "j", "k"});
  nest.unroll("k");
  Program program;
  program.add("sums", std::move(nest));
  return program;
}

// The copy has all values of a tile of a sum, and all places of a tile of columns. In memory of a
// group rows have odd lengths. Items wait before they read it, and before they write it again.
TEST(CacheRead, LetsItemsOfAGroupShareACopy) {
  Program program = listed_tiles();
  program.apply(CacheRead{"sums", "weight", "block", "staged", loop::Scope::kGroup});
  EXPECT_EQ(program.why_incomplete(), "nest 'staged': each item of the group copies all");
  program.nest("staged").reorder({"tile", "block", "k", "j"});
  program.nest("staged").reorder({"tile", "block", "j", "k"});
  program.nest("sums").bind("pair", 1, 2);
  program.nest("staged").bind("j", 1, 2);
  EXPECT_EQ(program.why_incomplete(), std::nullopt);
  EXPECT_EQ(program.staged(), 8 * 5);
  loop::Needs needs;
  EXPECT_EQ("\n" + print(program, needs), R"(
  BF_LOCAL float* const staged = team->staged;
  for (int tile = 0; tile < columns[0]; tile += 4) {
    for (int block = 0; block < 16; block += 8) {
      for (int j_turn = block, j = block + BF_ITEM % 2; j_turn < block + 8; j_turn += 2, j += 2) {
        if (j >= block + 8) continue;
        const int k_end = smaller(tile + 4, 6);
        for (int k = tile; k < k_end; ++k) {
          staged[5 * j + k - 5 * block - tile] = weight[j + 16 * columns[k + 1]];
        }
      }
      BF_BARRIER;
      {
        const int pair_end = smaller(tile + 4, columns[0]);
        for (int pair_turn = tile, pair = tile + 2 * (BF_ITEM % 2); pair_turn < pair_end; pair_turn += 4, pair += 4) {
          if (pair >= pair_end) continue;
          float sum[2] = {};
          const int j_end = place_from(terms, 16, block + 8);
          for (int j = place_from(terms, 16, block); j < j_end; ++j) {
            BF_UNROLL(2)
            for (int k = 0; k < 2; ++k) {
              sum[k] += (staged + 5 * entry(terms, j) - 5 * block)[pair + k - tile] * x[entry(terms, j)];
            }
          }
          BF_UNROLL(2)
          for (int k = 0; k < 2; ++k) {
            y[entry(columns, pair + k)] = block == 0 ? sum[k] : y[entry(columns, pair + k)] + sum[k];
          }
        }
      }
      BF_BARRIER;
    }
  }
)");
  EXPECT_EQ(dump(program).find("array staged of 40 float of the group") != std::string::npos, true);
}

TEST(CacheRead, Refuses) {
  const Program program = tiles();
  EXPECT_EQ(reason(program, CacheRead{"none", "x", "tile", "p"}), "there is no nest 'none'");
  EXPECT_EQ(reason(program, CacheRead{"sums", "x", "none", "p"}), "nest 'sums' has no loop 'none'");
  EXPECT_EQ(reason(program, CacheRead{"sums", "y", "tile", "p"}), "'y' is stored");
  EXPECT_EQ(reason(program, CacheRead{"sums", "z", "tile", "p"}), "'z' is not read");
  EXPECT_EQ(reason(program, CacheRead{"sums", "weight", "tile", "x"}), "the name 'x' is taken");
  EXPECT_EQ(reason(program, CacheRead{"sums", "x", "i", "p"}),
            "sum 'sum' is lost in each iteration of loop 'i'");
  Program large;
  large.add("sums", product(100, 1000));
  EXPECT_EQ(reason(large, CacheRead{"sums", "weight", "o", "p"}), "");
  large.nest("sums").split("o", 50, "tile");
  EXPECT_EQ(reason(large, CacheRead{"sums", "weight", "tile", "p"}),
            "an array of more than 32768 bytes");
  Program listed = listed_tiles();
  EXPECT_EQ(reason(listed, CacheRead{"sums", "weight", "pair", "p", loop::Scope::kGroup}), "");
  listed.apply(CacheRead{"sums", "weight", "block", "staged", loop::Scope::kGroup});
  EXPECT_EQ(reason(listed, CacheRead{"sums", "x", "block", "p", loop::Scope::kGroup}),
            "a group's memory has one array of floats");
  Expression tiled;
  tiled.axes = {loop::listed({"k", 0, 6, false}, "columns")};
  tiled.body = {Store{"y", loop::axis("k"), load("x", loop::floor("k", 4, 1)), {}}};
  Program tiles_of_entries;
  tiles_of_entries.add("nest", Nest(std::move(tiled)));
  tiles_of_entries.nest("nest").split("k", 2, "pair");
  EXPECT_EQ(reason(tiles_of_entries, CacheRead{"nest", "x", "pair", "p"}),
            "tiles of a list's entries have no places");
  Program offset;
  Nest nest = doubled(10);
  nest.restrict_axis("a", 2, 10);
  nest.split("a", 4, "tile");
  offset.add("twice", std::move(nest));
  EXPECT_EQ(reason(offset, CacheRead{"twice", "x", "tile", "p"}),
            "axis 'a' does not begin with a tile of 4");
}

// ---- A producer where its values are used

using loop::InlineNest;

// middle = 2 x; z = middle[at] + 1
Program producer(const loop::Index& at, std::int64_t extent = 12) {
  Expression make;
  make.axes = {{"a", 0, 12, false}};
  make.body = {Let{"v", load("x", loop::axis("a"))},
               Store{"middle", loop::axis("a"), local("v") + local("v"), {}}};
  Expression use;
  use.axes = {{"b", 0, extent, false}};
  use.body = {Store{"z", loop::axis("b"), load("middle", at) + loop::literal(1), {}}};
  Program program;
  program.add_local({"middle", loop::Type::kFloat32, 12});
  program.add("make", Nest(make));
  program.add("use", Nest(use));
  return program;
}

TEST(InlineNest, ComputesWhereItIsUsed) {
  Program program = producer(loop::axis("b"));
  program.apply(InlineNest{"make", "use"});
  EXPECT_EQ(program.nests().size(), 1U);
  EXPECT_TRUE(program.locals().empty());
  loop::Needs needs;
  EXPECT_EQ(print(program, needs),
            "  for (int b = 0; b < 12; ++b) {\n    z[b] = x[b] + x[b] + 0x1p+0f;\n  }\n");
}

TEST(InlineNest, Refuses) {
  const InlineNest primitive{"make", "use"};
  EXPECT_EQ(reason(producer(loop::axis("b")), InlineNest{"use", "make"}), "nest 'use' runs later");
  EXPECT_EQ(reason(producer(loop::axis("b", 2)), primitive), "element 'a' is read as '2 b'");
  EXPECT_EQ(reason(producer(loop::axis("b") + 1), primitive), "element 'a' is read as 'b + 1'");
  EXPECT_EQ(reason(producer(loop::axis("b"), 13), primitive),
            "axis 'b' reads more than axis 'a' stores");
  Program shared = producer(loop::axis("b"));
  shared.add("other", producer(loop::axis("b")).nest("use"));
  EXPECT_EQ(reason(shared, primitive), "nest 'other' uses 'middle' too");
  Program visible;
  visible.add("make", doubled(12));
  visible.add("use", producer(loop::axis("b")).nest("use"));
  EXPECT_EQ(reason(visible, primitive), "'y' is no array of the function: others may read it");
  Program sums;
  sums.add("make", product(4, 5));
  sums.add("use", doubled(4));
  EXPECT_EQ(reason(sums, primitive), "nest 'make' sums");
  Program overwritten;
  overwritten.add_local({"middle", loop::Type::kFloat32, 12});
  overwritten.add("make", producer(loop::axis("b")).nest("make"));
  Expression writes;
  writes.axes = {{"a", 0, 12, false}};
  writes.body = {Store{"x", loop::axis("a"), loop::literal(0), {}}};
  overwritten.add("writes", Nest(writes));
  overwritten.add("use", producer(loop::axis("b")).nest("use"));
  EXPECT_EQ(reason(overwritten, primitive), "nest 'writes' stores 'x', which is read");
}

}  // namespace
}  // namespace bf_aot::emit
