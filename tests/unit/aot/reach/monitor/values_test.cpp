#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aot/reach/numbers/interval.h"
#include "runtime/bf/loops/program.h"
#include "tests/seed.h"

namespace bf_aot::reach {
namespace {

using Monitored = bf::loops::MonitorFunction;

struct Case {
  Monitored::Kind kind;
  FunctionKind here;
  double parameter, widest;  // of results, for arguments of one double
};

// MPFR's ranges have the doubles next to the exact values: each sound range holds them.
TEST(MonitorValues, HoldCorrectlyRoundedValues) {
  const Case cases[] = {{Monitored::Kind::kTanh, FunctionKind::kTanh, 0, 0x1p-46},
                        {Monitored::Kind::kSigmoid, FunctionKind::kSigmoid, 0, 0x1p-47},
                        {Monitored::Kind::kSin, FunctionKind::kSin, 0, INFINITY},
                        {Monitored::Kind::kCos, FunctionKind::kCos, 0, INFINITY},
                        {Monitored::Kind::kExp, FunctionKind::kExp, 0, INFINITY},
                        {Monitored::Kind::kReciprocal, FunctionKind::kReciprocal, 0, INFINITY},
                        {Monitored::Kind::kPower, FunctionKind::kPower, 5, INFINITY}};
  std::mt19937_64 random(testing::seed_from_environment(3));
  std::uniform_real_distribution<double> share(-1, 1);
  for (const Case& each : cases) {
    Monitored f;
    f.kind = each.kind;
    f.a = each.parameter;
    ASSERT_TRUE(bf::loops::has_values(f));
    for (int k = 0; k < 4000 * testing::rounds_from_environment(); ++k) {
      const double scale = std::exp2(static_cast<double>(random() % 40) - 28);
      const double from = scale * share(random);
      const bool point = k % 2 == 0;
      const double to = point ? from : from + scale * std::fabs(share(random));
      const Range found = bf::loops::MonitorValues::value(f, {from, to});
      const Range exact = apply(Function{each.here, each.parameter}, Range{from, to});
      const bool same = each.here == FunctionKind::kSin || each.here == FunctionKind::kCos;
      if (same && std::fabs(to) <= bf::loops::kMostWave) {
        ASSERT_EQ(found, exact) << from << " to " << to;
      }
      ASSERT_TRUE(found.contains(exact)) << from << " to " << to;
      if (point) {
        ASSERT_LE(found.high - found.low, each.widest) << from;
      }
    }
  }
}

TEST(MonitorValues, ClaimNothingOfOtherFunctions) {
  Monitored f;
  f.kind = Monitored::Kind::kLog;
  EXPECT_FALSE(bf::loops::has_values(f));
  EXPECT_EQ(bf::loops::MonitorValues::value(f, {1, 2}), kEverything);
}

}  // namespace
}  // namespace bf_aot::reach
