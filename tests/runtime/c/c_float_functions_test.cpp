#include "c_support.h"
#include "planner/functions/float_table.h"
#include "tests/runtime/functions_oracle.h"

C_ROUTINE(apply_function);
C_ROUTINE(interval_function);

namespace bf_test {
namespace {

// A table as C++ and as C have it: fields are in the same order.
struct FloatTables {
  std::vector<bf::FloatTurn> turns;
  std::vector<declared::bf_float_turn> c_turns;
  bf::FloatFunction view;
  declared::bf_float_function c_view;

  explicit FloatTables(const bf_aot::FloatTable& f) {
    for (const bf_aot::FloatTableTurn& turn : f.turns) {
      turns.push_back({turn.from, turn.to, turn.low, turn.high});
      c_turns.push_back({turn.from, turn.to, turn.low, turn.high});
    }
    const int count = static_cast<int>(turns.size());
    view = {f.exponential ? bf::FloatFunctionForm::kExponential : bf::FloatFunctionForm::kPieces,
            f.monotone,
            f.degree,
            f.pieces(),
            count,
            f.starts.data(),
            f.origins.data(),
            f.coefficients.data(),
            f.errors.data(),
            turns.data(),
            f.least,
            f.most};
    c_view = {f.exponential ? declared::BF_FLOAT_EXPONENTIAL : declared::BF_FLOAT_PIECES,
              f.monotone,
              f.degree,
              f.pieces(),
              count,
              f.starts.data(),
              f.origins.data(),
              f.coefficients.data(),
              f.errors.data(),
              c_turns.data(),
              f.least,
              f.most};
  }
};

void compare(Edges& edges, const FloatTables& tables) {
  constexpr int kCount = 24;
  Floats low = edges.floats(kCount), high = edges.floats(kCount), values = edges.floats(kCount);
  for (std::size_t j = 0; j < size(kCount); ++j) {
    if (edges.below(2) == 0) low[j] = static_cast<float>((edges.unit() - 0.5) * 30);
    if (edges.below(2) == 0) high[j] = low[j] + static_cast<float>(edges.unit());
  }
  Floats c_low = low, c_high = high, c_values = values;
  bf::interval_function(kCount, tables.view, 0x1p-20F, low.data(), high.data());
  c_interval_function(kCount, &tables.c_view, 0x1p-20F, c_low.data(), c_high.data());
  EXPECT_TRUE(same_bits(c_low, low));
  EXPECT_TRUE(same_bits(c_high, high));
  bf::apply_function(kCount, tables.view, values.data());
  c_apply_function(kCount, &tables.c_view, c_values.data());
  EXPECT_TRUE(same_bits(c_values, values));
}

TEST(CFloatFunctions, Layers) {
  for (const bf_aot::Function& function : functions_to_test()) {
    if (!bf_aot::has_float_table(function)) continue;
    const FloatTables tables(bf_aot::make_float_table(function));
    SCOPED_TRACE(to_string(function));
    for_seeds([&](Edges& edges) { compare(edges, tables); }, 32);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace bf_test
