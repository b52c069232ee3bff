// Neurons that are bounded, or relaxed, side by side: as each of them alone, to the bit unless
// products are fused, and around exact values.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "planner/tables/usual_composites.h"
#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf_aot::Function;

struct Neurons {
  std::vector<double> centre;
  std::vector<float> below, above;

  std::size_t size() const { return centre.size(); }
  int count() const { return static_cast<int>(centre.size()); }
};

// Intervals where functions bend, and far away: of all widths, points, and without an end.
class Intervals {
 public:
  Intervals(const bf_aot::FunctionTable& table, unsigned seed)
      : special_(special_points(table)), random_(seed) {}

  Neurons take(int count) {
    Neurons made;
    for (int j = 0; j < count; ++j) {
      made.centre.push_back(place());
      const double width = std::exp2(unit() * (below(8) == 0 ? 140 : 30) - 26);
      made.below.push_back(static_cast<float>(unit() * width));
      made.above.push_back(static_cast<float>(unit() * width));
      if (below(6) == 0) made.above.back() = made.below.back() = 0;
      if (below(8) == 0) made.below.back() = -made.above.back() / 2;  // tightened
      if (below(8) == 0) made.centre.back() += static_cast<double>(made.below.back());
      if (below(24) == 0) made.below.back() = -2 * made.above.back();  // empty: nothing to bound
      if (below(24) == 0) made.above.back() = std::numeric_limits<float>::infinity();
      if (below(24) == 0) made.below.back() = std::numeric_limits<float>::infinity();
    }
    return made;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  double place() {
    const int kind = below(8);
    if (kind < 3) return special_[random_() % special_.size()];
    if (kind < 6) return (unit() - 0.4) * 12;
    const double size = std::exp2(unit() * (kind == 6 ? 16 : 250) - (kind == 6 ? 8 : 125));
    return below(2) == 0 ? size : -size;
  }

  std::vector<double> special_;
  std::mt19937_64 random_;
};

struct Bounds {
  std::vector<double> centre;
  std::vector<float> radius;
};

Bounds together(const bf::FunctionView& f, const Neurons& z) {
  Bounds made{std::vector<double>(z.size()), std::vector<float>(z.size())};
  bf::relax(z.count(), f, z.centre.data(), z.below.data(), z.above.data(), z.below.data(), {},
            nullptr, nullptr, nullptr, made.centre.data(), made.radius.data());
  return made;
}

Bounds alone(const bf::FunctionView& f, const Neurons& z) {
  Bounds made{std::vector<double>(z.size()), std::vector<float>(z.size())};
  for (std::size_t j = 0; j < z.size(); ++j)
    bf::bound_neuron(f, z.centre[j], z.below[j], z.above[j], &made.centre[j], &made.radius[j]);
  return made;
}

// A NaN never comes out.
void expect_same(const Bounds& a, const Bounds& b, const Neurons& z) {
  for (std::size_t j = 0; j < z.size(); ++j) {
    const bool same =
        std::bit_cast<std::uint64_t>(a.centre[j]) == std::bit_cast<std::uint64_t>(b.centre[j]) &&
        std::bit_cast<std::uint32_t>(a.radius[j]) == std::bit_cast<std::uint32_t>(b.radius[j]);
    ASSERT_TRUE(same) << std::hexfloat << z.centre[j] << " - " << z.below[j] << " + " << z.above[j]
                      << ": " << a.centre[j] << " +- " << a.radius[j] << ", " << b.centre[j]
                      << " +- " << b.radius[j];
  }
}

std::vector<Function> all_functions() {
  std::vector<Function> list = functions_to_test();
  for (const Function& composite : bf_aot::usual_composites()) list.push_back(composite);
  return list;
}

TEST(FunctionLanes, AreNeuronsAlone) {
  if (bf::fuses_products()) GTEST_SKIP() << "products are fused in one and not in the other";
  for (const Function& function : all_functions()) {
    SCOPED_TRACE(to_string(function));
    const Held held(function);
    Intervals intervals(held.table(), 3);
    for (const int count : {1, 2, 3, 4, 5, 7, 8, 9, 15, 33, 64, 71, 400}) {
      Neurons z = intervals.take(count);
      const Bounds expected = alone(held.view(), z);
      expect_same(together(held.view(), z), expected, z);
      if (testing::Test::HasFatalFailure()) return;
      const Neurons before = z;  // results over arguments
      bf::relax(count, held.view(), z.centre.data(), z.below.data(), z.above.data(), z.below.data(),
                {}, nullptr, nullptr, nullptr, z.centre.data(), z.above.data());
      expect_same({z.centre, z.above}, expected, before);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

struct Lines {
  Bounds bounds;
  std::vector<float> table;  // [neuron][kRelaxRows]
};

Lines lines_together(const bf::FunctionView& f, const Neurons& z) {
  const std::size_t n = z.size();
  Lines made{{std::vector<double>(n), std::vector<float>(n)},
             std::vector<float>(bf::kRelaxRows * n)};
  std::vector<float> table(bf::kRelaxRows * n);
  std::vector<double> slack(bf::kSlack), row(n, 0x1p-40);
  constexpr bf::RelaxErrors kErrors{0x1p-19, 0x1p-47, 0x1p-24, 0x1p-24, 0x1p-18, 1 + 0x1p-18};
  const std::vector<float> radius(n, 1.5F);
  bf::relax(z.count(), f, z.centre.data(), z.below.data(), z.above.data(), radius.data(), kErrors,
            slack.data(), row.data(), table.data(), made.bounds.centre.data(),
            made.bounds.radius.data());
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t r = 0; r < bf::kRelaxRows; ++r)
      made.table[j * bf::kRelaxRows + r] = table[r * n + j];
  return made;
}

TEST(FunctionLanes, AreRelaxedAsNeuronsAlone) {
  if (bf::fuses_products()) GTEST_SKIP() << "products are fused in one and not in the other";
  for (const Function& function : all_functions()) {
    SCOPED_TRACE(to_string(function));
    const Held held(function);
    Intervals intervals(held.table(), 7);
    const Neurons z = intervals.take(803);
    const Lines made = lines_together(held.view(), z);
    for (std::size_t j = 0; j < z.size(); ++j) {
      const Neurons one = {{z.centre[j]}, {z.below[j]}, {z.above[j]}};
      const Lines expected = lines_together(held.view(), one);
      expect_same({{made.bounds.centre[j]}, {made.bounds.radius[j]}}, expected.bounds, one);
      for (std::size_t r = 0; r < bf::kRelaxRows; ++r)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(made.table[j * bf::kRelaxRows + r]),
                  std::bit_cast<std::uint32_t>(expected.table[r]))
            << "row " << r << " at " << std::hexfloat << z.centre[j] << " - " << z.below[j] << " + "
            << z.above[j] << ": " << made.table[j * bf::kRelaxRows + r] << ", "
            << expected.table[r];
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void check_values(const Function& function, const Held& held) {
  Intervals intervals(held.table(), 5);
  const Neurons z = intervals.take(400);
  const Bounds made = together(held.view(), z);
  const Lines lines = lines_together(held.view(), z);
  const bool exact = bf_aot::is_piecewise_linear(function.kind);
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> unit(0, 1);
  for (std::size_t j = 0; j < z.size(); ++j) {
    ASSERT_TRUE(std::isfinite(made.centre[j]));
    if (std::isinf(made.radius[j])) continue;
    const double radius = static_cast<double>(made.radius[j]);
    // What the exact interval holds for certain.
    const double most = 0x1p900;
    const double low =
        std::max(bf::exact_sum_up(z.centre[j], -static_cast<double>(z.below[j])), -most);
    const double high =
        std::min(bf::exact_sum_down(z.centre[j], static_cast<double>(z.above[j])), most);
    for (int i = 0; i < 6 && low <= high; ++i) {
      const double share = unit(random);
      const double x = i == 0 ? low : i == 1 ? high : (1 - share) * low + share * high;
      if (!(x >= low && x <= high)) continue;
      const Number f = exact_value(function, x);
      if (mpfr_nan_p(static_cast<mpfr_srcptr>(f)) != 0) continue;
      ASSERT_TRUE(holds({{made.centre[j], 1}, {radius, 1}}, f, exact, 1) &&
                  holds({{made.centre[j], 1}, {radius, -1}}, f, exact, -1))
          << to_string(function) << " at " << std::hexfloat << x << " in [" << low << ", " << high
          << "]: " << made.centre[j] << " +- " << radius;
      const float* const row = lines.table.data() + j * bf::kRelaxRows;
      const double centre = lines.bounds.centre[j];
      for (const int side : {1, -1}) {
        const double slope = static_cast<double>(row[side > 0 ? bf::kSlopeUpper : bf::kSlopeLower]);
        const double offset =
            static_cast<double>(row[side > 0 ? bf::kOffsetUpper : bf::kOffsetLower]);
        ASSERT_TRUE(
            std::isinf(offset) ||
            holds({{slope, x}, {-slope, z.centre[j]}, {offset, 1}, {centre, 1}}, f, exact, side))
            << to_string(function) << " at " << std::hexfloat << x << " in [" << low << ", " << high
            << "]: " << slope << " (x - " << z.centre[j] << ") + " << offset << " + " << centre;
      }
    }
  }
}

TEST(FunctionLanes, HoldExactValues) {
  for (const Function& function : functions_to_test()) {
    const Held held(function);
    check_values(function, held);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace bf_test
