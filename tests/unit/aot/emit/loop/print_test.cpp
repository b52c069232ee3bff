#include "aot/emit/loop/print/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "aot/emit/loop/nest.h"

// What tiny nests look like in C++.
namespace bf_aot::emit {
namespace {

using loop::Expression;
using loop::Let;
using loop::load;
using loop::local;
using loop::Nest;
using loop::Store;
using loop::Sum;
using loop::Type;

struct Printed {
  const char* name;
  loop::Program program;
  std::set<std::pair<Type, std::int64_t>> types;  // that the text names
  const char* text;
};

void PrintTo(const Printed& printed, std::ostream* out) {
  *out << printed.name;
}

// y[a] = larger(x[a], 0) - c
Nest pointwise(std::int64_t extent) {
  Expression what;
  what.axes = {{"a", 0, extent, false}};
  what.body = {Store{"y",
                     loop::axis("a"),
                     loop::max(load("x", loop::axis("a")), loop::literal(0)) - loop::scalar("c"),
                     {}}};
  return Nest(what);
}

Nest pointwise_vectors() {
  Nest nest = pointwise(10);
  nest.restrict_axis("a", 0, 8);
  nest.split("a", 4, "v");
  nest.vectorize("a");
  return nest;
}

Nest pointwise_tiles() {
  Nest nest = pointwise(10);
  nest.split("a", 4, "tile");
  return nest;
}

Nest bound_tiles() {
  Nest nest = pointwise_tiles();
  nest.bind("tile", 4, 2);
  return nest;
}

// y[o] = sum_i w[o / 4][i][o % 4] x[i], stored up to o = 6.
Nest product(std::int64_t chunk) {
  Expression what;
  what.axes = {{"o", 0, 8, false}, {"i", 0, 6, true}};
  what.body = {
      Let{"w", load("weight", loop::axis("i", 4) + loop::axis("o") + loop::floor("o", 4, 5))},
      Let{"x", load("input", loop::axis("i"))}};
  what.sums = {Sum{"sum", local("w") * local("x"), "", {}, false}};
  what.epilogue = {Store{"y", loop::axis("o"), local("sum"), {{loop::axis("o"), 0, 6}}}};
  Nest nest(what);
  nest.split("o", 2, "v");
  nest.split("v", 2, "panel");
  nest.split("i", chunk, "chunk");
  nest.reorder({"panel", "chunk", "i", "v", "o"});
  nest.unroll("v");
  nest.vectorize("o");
  nest.cache_write("chunk");
  return nest;
}

// result[r] = sum_j a[j][r] in double; blocks of j outside.
Nest columns(const std::string& result, bool add) {
  Expression what;
  what.axes = {{"j", 0, 6, true}, {"r", 0, 3, false}};
  what.sums = {Sum{"sum", loop::to_double(load("a", loop::axis("j", 3) + loop::axis("r"))), result,
                   loop::axis("r"), add}};
  Nest nest(what);
  nest.split("j", 2, "block");
  nest.reorder({"block", "r", "j"});
  return nest;
}

loop::Program one(Nest nest) {
  loop::Program program;
  program.add("nest", std::move(nest));
  return program;
}

loop::Program two_columns() {
  loop::Program program;
  program.add("first", columns("first", false));
  program.add("second", columns("second", true));
  program.compute_at("first", "second", "block");
  return program;
}

// Rows of x with a border of 1, the last columns of y padding; rows by a table.
loop::Program border(bool lanes) {
  Expression what;
  what.axes = {{"p", 0, 6, false}, {"q", 0, 8, false}};
  const auto row = loop::axis("p") + -1;
  what.body = {Let{"v", loop::load_within("x", loop::axis("p", 8) + loop::axis("q") + -8,
                                          {{row, 0, 4}, {loop::axis("q"), 0, 7}})},
               Store{"y",
                     loop::lookup("table", loop::axis("p"), 8) + loop::axis("q"),
                     local("v"),
                     {{loop::lookup("table", loop::axis("p")), 0, 6}, {loop::axis("q"), 0, 5}}}};
  Nest nest(what);
  if (lanes) nest.split("q", 4, "v4");
  if (lanes) nest.vectorize("q");
  return one(nest);
}

// A register tile whose ends are a loop, of sums in one level or two.
loop::Program rolled(std::int64_t chunk) {
  Nest nest = product(chunk);
  nest.roll("v");
  return one(nest);
}

loop::Program fused() {
  Expression what;
  what.axes = {{"b", 0, 3, false}, {"a", 0, 4, false}};
  what.body = {Store{"y", loop::axis("b", 4) + loop::axis("a"), load("x", loop::axis("a", 3)), {}}};
  Nest nest(what);
  nest.apply(loop::Fuse{"b", "a", "f"});
  nest.parallel("f");
  nest.unroll("f", 2);
  return one(nest);
}

loop::Program ahead() {
  Nest nest = product(6);
  nest.prefetch("weight", 256);
  return one(nest);
}

std::vector<Printed> table() {
  return {
      {"Pointwise", one(pointwise(3)), {}, R"(
  for (int a = 0; a < 3; ++a) {
    y[a] = larger(x[a], 0x0p+0f) - c;
  }
)"},
      {"TilesWithARemainder", one(pointwise_tiles()), {}, R"(
  for (int tile = 0; tile < 10; tile += 4) {
    const int a_end = smaller(tile + 4, 10);
    for (int a = tile; a < a_end; ++a) {
      y[a] = larger(x[a], 0x0p+0f) - c;
    }
  }
)"},
      {"TilesOfItems", one(bound_tiles()), {}, R"(
  for (int tile_turn = 0, tile = 4 * (BF_ITEM / 4 % 2); tile_turn < 10; tile_turn += 8, tile += 8) {
    if (tile >= 10) continue;
    const int a_end = smaller(tile + 4, 10);
    for (int a = tile; a < a_end; ++a) {
      y[a] = larger(x[a], 0x0p+0f) - c;
    }
  }
)"},
      {"Vectors", one(pointwise_vectors()), {{Type::kFloat32, 4}}, R"(
  for (int v = 0; v < 8; v += 4) {
    store(y + v, larger(load<f32x4>(x + v), broadcast<f32x4>(0x0p+0f)) - broadcast<f32x4>(c));
  }
)"},
      {"RegisterTileAndPartialSums", one(product(3)), {{Type::kFloat32, 2}}, R"(
  for (int panel = 0; panel < 8; panel += 4) {
    f32x2 sum[2] = {};
    for (int chunk = 0; chunk < 6; chunk += 3) {
      f32x2 sum_part[2] = {};
      for (int i = chunk; i < chunk + 3; ++i) {
        const f32x2 x = broadcast<f32x2>(input[i]);
        BF_UNROLL(2)
        for (int v = 0; v < 2; ++v) {
          const f32x2 w = load<f32x2>(weight + 4 * i + 6 * panel + 2 * v);
          sum_part[v] += w * x;
        }
      }
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        sum[v] += sum_part[v];
      }
    }
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      store_first(y + panel + 2 * v, sum[v], 6 - (panel + 2 * v));
    }
  }
)"},
      {"RolledEnds", rolled(6), {{Type::kFloat32, 2}}, R"(
  for (int panel = 0; panel < 8; panel += 4) {
    f32x2 sum_tile[2] = {};
    for (int i = 0; i < 6; ++i) {
      const f32x2 x = broadcast<f32x2>(input[i]);
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        const f32x2 w = load<f32x2>(weight + 4 * i + 6 * panel + 2 * v);
        sum_tile[v] += w * x;
      }
    }
    // Out of registers, for a loop over them.
    f32x2 sum[2];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      sum[v] = sum_tile[v];
    }
    for (int v = 0; v < 2; ++v) {
      store_first(y + panel + 2 * v, sum[v], 6 - (panel + 2 * v));
    }
  }
)"},
      {"RolledEndsOfPartialSums", rolled(3), {{Type::kFloat32, 2}}, R"(
  for (int panel = 0; panel < 8; panel += 4) {
    f32x2 sum[2] = {};
    for (int chunk = 0; chunk < 6; chunk += 3) {
      f32x2 sum_part[2] = {};
      for (int i = chunk; i < chunk + 3; ++i) {
        const f32x2 x = broadcast<f32x2>(input[i]);
        BF_UNROLL(2)
        for (int v = 0; v < 2; ++v) {
          const f32x2 w = load<f32x2>(weight + 4 * i + 6 * panel + 2 * v);
          sum_part[v] += w * x;
        }
      }
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        sum[v] += sum_part[v];
      }
    }
    for (int v = 0; v < 2; ++v) {
      store_first(y + panel + 2 * v, sum[v], 6 - (panel + 2 * v));
    }
  }
)"},
      {"PredicatesAndTables", border(false), {}, R"(
  for (int p = 0; p < 6; ++p) {
    for (int q = 0; q < 8; ++q) {
      const float v = (p - 1 >= 0 && p - 1 < 4 && q < 7 ? x[8 * p + q - 8] : 0x0p+0f);
      if (table[p] >= 0 && table[p] < 6 && q < 5) y[q + 8 * table[p]] = v;
    }
  }
)"},
      {"PredicatesAndTablesInLanes", border(true), {{Type::kFloat32, 4}}, R"(
  for (int p = 0; p < 6; ++p) {
    for (int v4 = 0; v4 < 8; v4 += 4) {
      const f32x4 v = (p - 1 >= 0 && p - 1 < 4 ? load_first<f32x4>(x + 8 * p + v4 - 8, 7 - v4) : f32x4{});
      if (table[p] >= 0 && table[p] < 6) store_first(y + v4 + 8 * table[p], v, 5 - v4);
    }
  }
)"},
      {"FusedLoops", fused(), {}, R"(
  // Iterations are independent; one after the other here.
  BF_UNROLL_BY(2)
  for (int f = 0; f < 12; ++f) {
    y[f] = x[3 * f - 12 * (f / 4)];
  }
)"},
      {"LoadsAhead", ahead(), {{Type::kFloat32, 2}}, R"(
  for (int panel = 0; panel < 8; panel += 4) {
    f32x2 sum[2] = {};
    for (int i = 0; i < 6; ++i) {
      const f32x2 x = broadcast<f32x2>(input[i]);
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        BF_PREFETCH(weight + 4 * i + 6 * panel + 2 * v, 256);
        const f32x2 w = load<f32x2>(weight + 4 * i + 6 * panel + 2 * v);
        sum[v] += w * x;
      }
    }
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      store_first(y + panel + 2 * v, sum[v], 6 - (panel + 2 * v));
    }
  }
)"},
      {"TwoNestsShareTheBlocks",
       two_columns(),
       {},
       R"(
  for (int block = 0; block < 6; block += 2) {
    for (int r = 0; r < 3; ++r) {
      double sum = 0;
      for (int j = block; j < block + 2; ++j) {
        sum += static_cast<double>(a[3 * j + r]);
      }
      first[r] = block == 0 ? sum : first[r] + sum;
    }
    for (int r = 0; r < 3; ++r) {
      double sum = 0;
      for (int j = block; j < block + 2; ++j) {
        sum += static_cast<double>(a[3 * j + r]);
      }
      second[r] = second[r] + sum;
    }
  }
)"},
  };
}

class PrintedNests : public ::testing::TestWithParam<Printed> {};

TEST_P(PrintedNests, ReadLikeThis) {
  loop::Needs needs;
  EXPECT_EQ("\n" + print(GetParam().program, needs), GetParam().text);
  EXPECT_EQ(needs.vectors, GetParam().types);
}

INSTANTIATE_TEST_SUITE_P(Tiny, PrintedNests, ::testing::ValuesIn(table()),
                         [](const auto& parameter) { return parameter.param.name; });

// y[0] = value, its text.
std::string expression_text(const loop::ExprPtr& value) {
  Expression what;
  what.axes = {{"a", 0, 1, false}};
  what.body = {Store{"y", {}, value, {}}};
  loop::Needs needs;
  const std::string text = print(one(Nest(what)), needs);
  const std::string before = "  y[0] = ";
  return text.substr(before.size(), text.size() - before.size() - 2);  // without ";\n"
}

TEST(PrintedExpressions, KeepTheirOrderOfEvaluation) {
  const loop::ExprPtr a = local("a1");
  const loop::ExprPtr b = local("b1");
  const loop::ExprPtr c = local("c1");
  EXPECT_EQ(expression_text(a + b * c), "a1 + b1 * c1");
  EXPECT_EQ(expression_text((a + b) * c), "(a1 + b1) * c1");
  EXPECT_EQ(expression_text(a * (b - c)), "a1 * (b1 - c1)");
  EXPECT_EQ(expression_text((a - b) - c), "a1 - b1 - c1");
  EXPECT_EQ(expression_text(a - (b - c)), "a1 - (b1 - c1)");
  EXPECT_EQ(expression_text(a + (b + c)), "a1 + (b1 + c1)");
  EXPECT_EQ(expression_text(a * (b * c)), "a1 * (b1 * c1)");
  EXPECT_EQ(expression_text(-(a + b)), "-(a1 + b1)");
  EXPECT_EQ(expression_text(-(-a)), "-(-a1)");
  EXPECT_EQ(expression_text(a - loop::literal(-1)), "a1 - -0x1p+0f");
  EXPECT_EQ(expression_text(-loop::literal(-1)), "-(-0x1p+0f)");
  EXPECT_EQ(expression_text(loop::abs(a + b)), "magnitude(a1 + b1)");
  EXPECT_EQ(expression_text(loop::to_float(loop::to_double(a))),
            "static_cast<float>(static_cast<double>(a1))");
}

TEST(PrintedExpressions, PutConditionsInParentheses) {
  const loop::ExprPtr a = local("a1");
  const loop::ExprPtr b = local("b1");
  const loop::ExprPtr low = loop::less(a, b);
  const loop::ExprPtr high = loop::less_equal(a + b, loop::literal(HUGE_VAL));
  EXPECT_EQ(expression_text(loop::select(low, a, b)), "a1 < b1 ? a1 : b1");
  EXPECT_EQ(expression_text(loop::select(high, a, b)), "a1 + b1 <= kInfinity ? a1 : b1");
  EXPECT_EQ(expression_text(a * loop::select(low, a, b)), "a1 * (a1 < b1 ? a1 : b1)");
  EXPECT_EQ(expression_text(loop::select(low, loop::select(low, a, b), b)),
            "a1 < b1 ? (a1 < b1 ? a1 : b1) : b1");
}

// y[k] = sum_j w[k][j] x[j] over the j and k of lists, in tiles of 2 k and 8 j.
loop::Program lists() {
  Expression what;
  what.axes = {loop::listed({"k", 0, 6, false}, "kept"),
               loop::listed({"j", 0, 20, true}, "summed")};
  what.body = {Let{"x", load("x", loop::axis("j"))}};
  what.sums = {Sum{"sum", load("w", loop::axis("k", 20) + loop::axis("j")) * local("x"), "",
                   loop::axis("k"), false}};
  what.epilogue = {Store{"y", loop::axis("k"), local("sum"), {}}};
  Nest nest(what);
  nest.split("k", 2, "tile");
  nest.split("j", 8, "block");
  nest.reorder({"tile", "block", "j", "k"});
  nest.unroll("k");
  nest.cache_write("block");
  return one(nest);
}

TEST(PrintedLists, WalkWhatCounts) {
  loop::Needs needs;
  EXPECT_EQ(print(lists(), needs), R"(  for (int tile = 0; tile < kept[0]; tile += 2) {
    float sum[2] = {};
    for (int block = 0; block < 20; block += 8) {
      float sum_part[2] = {};
      const int j_end = place_from(summed, 20, smaller(block + 8, 20));
      for (int j = place_from(summed, 20, block); j < j_end; ++j) {
        const float x = x[entry(summed, j)];
        BF_UNROLL(2)
        for (int k = 0; k < 2; ++k) {
          sum_part[k] += (w + entry(summed, j))[20 * entry(kept, tile + k)] * x;
        }
      }
      BF_UNROLL(2)
      for (int k = 0; k < 2; ++k) {
        sum[k] += sum_part[k];
      }
    }
    BF_UNROLL(2)
    for (int k = 0; k < 2; ++k) {
      y[entry(kept, tile + k)] = sum[k];
    }
  }
)");
}

// y[o][b] = sum_i w x[i][b] in double, tiles of 3 o and 4 b in lanes; w is in float at
// apart o + 12 i.
std::string wide_sums(std::int64_t apart, const loop::ExprPtr& besides, loop::Needs& needs) {
  Expression what;
  what.axes = {{"o", 0, 3, false}, {"i", 0, 5, true}, {"b", 0, 4, false}};
  what.body = {Let{"w", loop::to_double(load("w", loop::axis("o", apart) + loop::axis("i", 12)))}};
  loop::ExprPtr value =
      local("w", Type::kFloat64) * load("x", loop::axis("i", 4) + loop::axis("b"), Type::kFloat64);
  if (besides != nullptr) value = value + besides;
  what.sums = {Sum{"sum", value, "y", loop::axis("o", 4) + loop::axis("b"), false}};
  Nest nest(what);
  nest.reorder({"i", "o", "b"});
  nest.unroll("o");
  nest.vectorize("b");
  return print(one(nest), needs);
}

TEST(PrintedConversions, OfNeighboursAreMadeTogether) {
  loop::Needs needs;
  EXPECT_EQ(wide_sums(1, nullptr, needs), R"(  f64x4 sum[3] = {};
  for (int i = 0; i < 5; ++i) {
    alignas(f64x4) double w_wide[3];
    const double* const w_at = widened_tile<f64x4, f32x4>(pinned(w + 12 * i), w_wide);
    BF_UNROLL(3)
    for (int o = 0; o < 3; ++o) {
      const f64x4 w = broadcast<f64x4>(w_at[o]);
      sum[o] += w * load<f64x4>(x + 4 * i);
    }
  }
  BF_UNROLL(3)
  for (int o = 0; o < 3; ++o) {
    store(y + 4 * o, sum[o]);
  }
)");
  EXPECT_EQ(needs.vectors,
            (std::set<std::pair<Type, std::int64_t>>{{Type::kFloat32, 4}, {Type::kFloat64, 4}}));
}

TEST(PrintedConversions, OfWhatLiesApartAreMadeOneByOne) {
  loop::Needs needs;
  EXPECT_NE(wide_sums(2, nullptr, needs).find("broadcast<f64x4>(static_cast<double>(w_at[2 * o]))"),
            std::string::npos);
}

// y[k][r] = sum_j w[k][j] x[j][r] in double over listed k and j, tiles of 2 k, 8 j and 4 r in
// lanes; the table has panels of so many j.
std::string wide_rows(std::int64_t count, std::int64_t panel, loop::Needs& needs) {
  Expression what;
  what.axes = {loop::listed({"k", 0, 6, false}, "kept"),
               loop::listed({"j", 0, count, true}, "summed"),
               {"r", 0, 4, false}};
  what.body = {Let{"w", loop::to_double(load("w", loop::axis("k", 8) + loop::axis("j") +
                                                      loop::floor("j", panel, 40)))}};
  what.sums = {Sum{
      "sum",
      local("w", Type::kFloat64) * load("x", loop::axis("j", 4) + loop::axis("r"), Type::kFloat64),
      "",
      {},
      false}};
  what.epilogue = {
      Store{"y", loop::axis("k", 4) + loop::axis("r"), local("sum", Type::kFloat64), {}}};
  Nest nest(what);
  nest.split("k", 2, "tile");
  nest.split("j", 8, "block");
  nest.reorder({"tile", "block", "j", "k", "r"});
  nest.unroll("k");
  nest.vectorize("r");
  return print(one(nest), needs);
}

TEST(PrintedConversions, OfRowsAreMadeBeforeTheLoopAlongThem) {
  loop::Needs needs;
  EXPECT_EQ(wide_rows(20, 8, needs), R"(  for (int tile = 0; tile < kept[0]; tile += 2) {
    f64x4 sum[2] = {};
    for (int block = 0; block < 20; block += 8) {
      alignas(f64x4) double w_wide[2][8];
      for (int k = 0; k < 2; ++k) {
        widened_row<f64x4, f32x4>(w + 8 * entry(kept, tile + k) + 41 * block, smaller(8, 20 - block), w_wide[k]);
      }
      const int j_end = place_from(summed, 20, smaller(block + 8, 20));
      for (int j = place_from(summed, 20, block); j < j_end; ++j) {
        BF_UNROLL(2)
        for (int k = 0; k < 2; ++k) {
          const f64x4 w = broadcast<f64x4>(w_wide[k][entry(summed, j) - block]);
          sum[k] += w * load<f64x4>(x + 4 * entry(summed, j));
        }
      }
    }
    BF_UNROLL(2)
    for (int k = 0; k < 2; ++k) {
      store(y + 4 * entry(kept, tile + k), sum[k]);
    }
  }
)");
}

// One tile of all, whose rows end within a vector.
TEST(PrintedConversions, OfShortRowsAreMadeOnce) {
  loop::Needs needs;
  const std::string text = wide_rows(6, 8, needs);
  EXPECT_NE(text.find("alignas(f64x4) double w_wide[2][8];"), std::string::npos) << text;
  EXPECT_NE(text.find("widened_row<f64x4, f32x4>(w + 8 * entry(kept, tile + k), 6, w_wide[k]);"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("w_wide[k][entry(summed, j)]"), std::string::npos) << text;
}

// Where a row goes through several panels of the table, or panels are no tiles of the loop.
TEST(PrintedConversions, OfRowsThatAreNoneAreMadeOneByOne) {
  for (const std::int64_t panel : {4, 16}) {
    loop::Needs needs;
    const std::string text = wide_rows(20, panel, needs);
    EXPECT_EQ(text.find("w_wide"), std::string::npos) << text;
    EXPECT_NE(text.find("broadcast<f64x4>(static_cast<double>("), std::string::npos) << text;
  }
}

// A pointer is to floats or to doubles.
TEST(PrintedConversions, LeaveFloatsThatAreReadAsSuch) {
  loop::Needs needs;
  const loop::ExprPtr other =
      loop::to_double(loop::abs(load("w", loop::axis("o") + loop::axis("i", 12))));
  const std::string text = wide_sums(1, other, needs);
  EXPECT_EQ(text.find("w_wide"), std::string::npos) << text;
  EXPECT_NE(text.find("const float* const w_at"), std::string::npos) << text;
}

TEST(ExpressionDeathTest, OperandsOfTwoTypes) {
  const loop::ExprPtr narrow = local("a");
  const loop::ExprPtr wide = local("b", Type::kFloat64);
  EXPECT_DEATH(narrow + wide, "type");
  EXPECT_DEATH(loop::less(wide, wide), "kFloat32");
  EXPECT_DEATH(loop::select(narrow, narrow, narrow), "kMask");
}

TEST(TypeName, SaysElementAndLanes) {
  EXPECT_EQ(loop::type_name(Type::kFloat32, 1), "float");
  EXPECT_EQ(loop::type_name(Type::kFloat64, 1), "double");
  EXPECT_EQ(loop::type_name(Type::kFloat32, 16), "f32x16");
  EXPECT_EQ(loop::type_name(Type::kFloat64, 8), "f64x8");
}

}  // namespace
}  // namespace bf_aot::emit
