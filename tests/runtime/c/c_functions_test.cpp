#include "c_support.h"
#include "c_table.h"
#include "tests/runtime/functions_oracle.h"

C_ROUTINE(list_inexact);
C_ROUTINE(relax_function);

namespace bf_test {
namespace {

void compare(Edges& edges, const Held& held, const std::vector<double>& special) {
  constexpr int kCount = 24;
  const CTable table(held.view());
  const Neurons z(edges, kCount, special);
  const Doubles row(kCount, 0x1p-40);
  constexpr bf::RelaxErrors kErrors = {0x1p-19, 0x1p-48, 0x1p-24, 0x1p-24, 0x1p-19, 1 + 0x1p-18};
  constexpr declared::bf_relax_errors kCErrors = {0x1p-19, 0x1p-48, 0x1p-24,
                                                  0x1p-24, 0x1p-19, 1 + 0x1p-18};
  for (const bool with_table : {false, true}) {
    Floats made(size(6 * kCount)), c_made(made), out(size(kCount)), c_out(out);
    Doubles slack = {0x1p-30, 3, 0, 0}, c_slack = slack, middle(size(kCount)), c_middle(middle);
    bf::relax(kCount, held.view(), z.centre.data(), z.below.data(), z.above.data(), z.radius.data(),
              kErrors, slack.data(), row.data(), with_table ? made.data() : nullptr, middle.data(),
              out.data());
    c_relax_function(kCount, &table.view, z.centre.data(), z.below.data(), z.above.data(),
                     z.radius.data(), &kCErrors, c_slack.data(), row.data(),
                     with_table ? c_made.data() : nullptr, c_middle.data(), c_out.data());
    EXPECT_TRUE(same_bits(c_made, made));
    EXPECT_TRUE(same_bits(c_middle, middle));
    EXPECT_TRUE(same_bits(c_out, out));
    EXPECT_TRUE(same_bits(c_slack, slack));
  }
  Ints list(kCount, -1), c_list(kCount, -1);
  EXPECT_EQ(c_list_inexact(&table.view, z.centre.data(), z.below.data(), z.above.data(), kCount,
                           c_list.data()),
            bf::list_inexact(held.view(), z.centre.data(), z.below.data(), z.above.data(), kCount,
                             list.data()));
  EXPECT_TRUE(same_bits(c_list, list));
}

TEST(CFunctions, Layers) {
  for (const bf_aot::Function& function : functions_to_test()) {
    const Held held(function);
    const std::vector<double> special = special_points(held.table());
    SCOPED_TRACE(to_string(function));
    for_seeds([&](Edges& edges) { compare(edges, held, special); }, 16);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace bf_test
