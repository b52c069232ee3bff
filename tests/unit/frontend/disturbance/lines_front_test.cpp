#include "frontend/disturbance/lines_front.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <vector>

#include "frontend/evaluate/evaluate_exact.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using testing::Builder;

// x'x + the sum of its elements.
Graph network() {
  Builder b({1, 3});
  const ValueId square = b.add(Binary{Binary::Kind::kMul}, {b.x(), b.x()}, {1, 3});
  const ValueId y = b.add(Binary{Binary::Kind::kAdd}, {square, b.x()}, {1, 3});
  return b.outputs({y});
}

TEST(LinesFront, GivesTheNetworkItsLines) {
  const Graph plain = network();
  for (const std::int64_t parameters : {1, 2, 3}) {
    const Graph front = behind_lines(plain, parameters);
    ASSERT_EQ(front.inputs.size(), 3U);
    std::vector<mpq_class> at, slopes, offsets, x;
    for (std::int64_t j = 0; j < parameters; ++j) at.emplace_back(2 * j - 1, 3);
    for (std::int64_t k = 0; k < 3 * parameters; ++k) slopes.emplace_back(k * k - 5, 7);
    for (std::int64_t i = 0; i < 3; ++i) {
      offsets.emplace_back(i + 1, 2);
      x.push_back(offsets.back());
      for (std::int64_t j = 0; j < parameters; ++j)
        x.back() += slopes[static_cast<std::size_t>(j * 3 + i)] * at[static_cast<std::size_t>(j)];
    }
    EXPECT_EQ(evaluate_exact(front, {at, slopes, offsets}), evaluate_exact(plain, {x}));
  }
}

}  // namespace
}  // namespace bf_aot
