// Tables and runtime routines for elementwise functions against MPFR: no bound may be on the wrong
// side at any sampled point, compared exactly.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf::FunctionRange;
using bf::Relaxation;
using bf_aot::Function;

struct Box {
  double low, high;
};

// Boxes of all widths, from points to the whole line, between special and random places.
std::vector<Box> boxes_for(const bf_aot::FunctionTable& table, unsigned seed, int count) {
  std::mt19937_64 random(seed);
  const std::vector<double> special = special_points(table);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto place = [&] {
    const double kind = unit(random);
    if (kind < 0.35) return special[random() % special.size()];
    const double size = std::exp2(unit(random) * (kind < 0.9 ? 12 : 200) - (kind < 0.9 ? 7 : 100));
    return random() % 2 == 0 ? size : -size;
  };
  std::vector<Box> boxes;
  while (static_cast<int>(boxes.size()) < count) {
    double a = place();
    double b = place();
    const double kind = unit(random);
    if (kind < 0.1) b = a;
    if (kind > 0.5) b = a + (unit(random) - 0.5) * std::exp2(unit(random) * 60 - 55);
    if (a > b) std::swap(a, b);
    boxes.push_back({a, b});
  }
  return boxes;
}

std::vector<double> samples_of(const Box& box, const std::vector<double>& special,
                               std::mt19937_64& random, int count) {
  std::vector<double> samples{box.low, box.high};
  const double middle = 0.5 * box.low + 0.5 * box.high;
  if (middle >= box.low && middle <= box.high) samples.push_back(middle);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < count; ++i) {
    const double t = i % 3 == 0 ? std::exp2(-60 * unit(random)) : unit(random);
    const double x =
        i % 2 == 0 ? box.low + t * (box.high - box.low) : box.high - t * (box.high - box.low);
    if (x >= box.low && x <= box.high) samples.push_back(x);
  }
  for (double x : special)
    if (x >= box.low && x <= box.high && random() % 4 == 0) samples.push_back(x);
  return samples;
}

bool is_nan(const Number& x) {
  return mpfr_nan_p(static_cast<mpfr_srcptr>(x)) != 0;
}

class Functions : public testing::TestWithParam<Function> {};

// The line slope (x - centre) + offset + centre' on its side of f; nothing is claimed by infinity.
bool line_holds(float slope, double offset, double x, double centre, double centre_out,
                const Number& f, bool exact, int side) {
  if (std::isinf(offset)) return side > 0 ? offset > 0 : offset < 0;
  const double s = slope;
  return holds({{s, x}, {-s, centre}, {offset, 1}, {centre_out, 1}}, f, exact, side);
}

void check_points(const Function& function, const Held& held);

TEST_P(Functions, BoundsHold) {
  const Function function = GetParam();
  const Held held(function);
  check_points(function, held);
  const bool exact = bf_aot::is_piecewise_linear(function.kind);
  const std::vector<double> special = special_points(held.table());
  std::mt19937_64 random(7);
  for (const Box& box : boxes_for(held.table(), 1, 1500)) {
    const FunctionRange range = bf::bound_function(held.view(), box.low, box.high);
    const double centre = box.low + (box.high - box.low) * (random() % 5 / 4.0);
    const Relaxation line = bf::relax_function(held.view(), centre, box.low, box.high);
    ASSERT_TRUE(std::isfinite(line.slope_upper) && std::isfinite(line.slope_lower));
    ASSERT_TRUE(std::isfinite(line.centre));
    for (double x : samples_of(box, special, random, 24)) {
      const Number f = exact_value(function, x);
      const auto where = [&] {
        return testing::Message() << bf_aot::to_string(function) << " at " << std::hexfloat << x
                                  << " in [" << box.low << ", " << box.high << "], centre "
                                  << centre << std::defaultfloat << " (" << x << " in [" << box.low
                                  << ", " << box.high << "])";
      };
      if (is_nan(f)) {
        ASSERT_TRUE(std::isinf(range.low) && std::isinf(range.high)) << where();
        ASSERT_TRUE(std::isinf(line.offset_upper) && std::isinf(line.radius)) << where();
        continue;
      }
      ASSERT_TRUE(std::isinf(range.high) || holds({{range.high, 1}}, f, exact, 1)) << where();
      ASSERT_TRUE(std::isinf(range.low) || holds({{range.low, 1}}, f, exact, -1)) << where();
      ASSERT_GE(range.high, range.low) << where();
      ASSERT_TRUE(
          line_holds(line.slope_upper, line.offset_upper, x, centre, line.centre, f, exact, 1))
          << where() << " slope " << line.slope_upper;
      ASSERT_TRUE(
          line_holds(line.slope_lower, line.offset_lower, x, centre, line.centre, f, exact, -1))
          << where() << " slope " << line.slope_lower;
      ASSERT_TRUE(std::isinf(line.radius) ||
                  (holds({{line.centre, 1}, {line.radius, 1}}, f, exact, 1) &&
                   holds({{line.centre, 1}, {line.radius, -1}}, f, exact, -1)))
          << where();
    }
  }
}

// Each cell's polynomial and slope, through function_point().
void check_points(const Function& function, const Held& held) {
  if (bf::is_staircase(held.view())) return;
  const bool exact = bf_aot::is_piecewise_linear(function.kind);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> places = special_points(held.table());
  const std::vector<double>& starts = held.table().starts;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    for (double t : {0.0, 0.25, 0.5, 0.75, 1.0, unit(random)})
      places.push_back(starts[i] + t * (starts[i + 1] - starts[i]));
  for (int i = 0; i < 500; ++i) places.push_back(std::exp2(unit(random) * 40 - 20));
  for (double x : places) {
    const bf::FunctionPoint at = bf::function_point(held.view(), bf::find_run(held.view(), x), x);
    const Number f = exact_value(function, x);
    if (is_nan(f)) {
      EXPECT_TRUE(std::isinf(at.low) && std::isinf(at.high)) << x;
      continue;
    }
    ASSERT_TRUE(std::isinf(at.high) || holds({{at.high, 1}}, f, exact, 1)) << x;
    ASSERT_TRUE(std::isinf(at.low) || holds({{at.low, 1}}, f, exact, -1)) << x;
  }
}

// Slopes of smooth pieces, against central differences of 400 bits: their error is below 2^-70.
void check_slope(const Function& function, const Held& held, double x) {
  constexpr double kStep = 0x1p-40;
  const int run = bf::find_run(held.view(), x);
  if (run != bf::find_run(held.view(), x - 2 * kStep)) return;
  if (run != bf::find_run(held.view(), x + 2 * kStep)) return;
  const bf::FunctionPoint at = bf::function_point(held.view(), run, x);
  if (std::isinf(at.slope_error) || held.view().run[run].kind == bf::FunctionRunKind::kLine) return;
  Number rise = exact_value(function, x + kStep);
  mpfr_sub(rise, rise, exact_value(function, x - kStep), MPFR_RNDN);
  mpfr_mul_d(rise, rise, 1 / (2 * kStep), MPFR_RNDN);
  mpfr_sub_d(rise, rise, at.slope, MPFR_RNDN);
  const double miss = std::fabs(mpfr_get_d(rise, MPFR_RNDN));
  EXPECT_LE(miss, at.slope_error + 0x1p-60 * (1 + std::fabs(at.slope)))
      << bf_aot::to_string(function) << " at " << x;
}

TEST_P(Functions, SlopesHold) {
  const Held held(GetParam());
  if (bf_aot::is_piecewise_linear(GetParam().kind)) return;
  for (int i = -800; i <= 800; ++i) check_slope(GetParam(), held, i * 0x1.3p-6);
}

// The error of a slope counts to both sides of the tangent's point.
TEST(TangentTop, PaysForTheSlopesError) {
  const bf::FunctionPoint at{1, 1, 0.5, 0.25};
  EXPECT_GE(bf::tangent_top(at, 0.5, 0.5, 0, 1, 0.5, 1), 1 + 0.25 * 0.5);
  EXPECT_GE(bf::tangent_top(at, 0.25, 0.5, 0.25, 1.25, 0.25, 1), 1 + 0.25);
  EXPECT_GE(bf::tangent_top(at, 1.25, 0.5, 0.25, 1.25, 1.25, 1), 1 + 0.25);
  // -f: the slope is -0.5, and the line's is 0.
  EXPECT_GE(bf::tangent_top(at, 0.5, 0, -0.5, 1, 0.5, -1), -1 + 0.75);
  EXPECT_LE(bf::tangent_top(at, 0.5, 0, -0.5, 1, 0.5, -1), -1 + 0.75000001);
}

std::string name_of_test(const testing::TestParamInfo<Function>& info) {
  std::string name = std::to_string(info.index) + "_";
  for (char c : bf_aot::to_string(info.param)) name += std::isalnum(c) != 0 ? c : '_';
  return name;
}

// Compiled once more with products contracted into sums, for the functions with small tables.
std::vector<Function> functions_here() {
  std::vector<Function> list = functions_to_test();
#ifdef BF_CONTRACTED
  std::erase_if(list, [](const Function& function) {
    return function.kind > bf_aot::FunctionKind::kErf &&
           function.kind != bf_aot::FunctionKind::kPower &&
           function.kind != bf_aot::FunctionKind::kExp &&
           function.kind != bf_aot::FunctionKind::kLog;
  });
#endif
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(functions_here()), name_of_test);

}  // namespace
}  // namespace bf_test
