// Tables and runtime routines for elementwise functions against MPFR: no bound may be on the wrong
// side at any sampled point, compared exactly.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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
        const int side = infinite_limit(function, x, box.low, box.high);
        ASSERT_TRUE(side > 0 || (range.low == -INFINITY && line.offset_lower == -INFINITY))
            << where();
        ASSERT_TRUE(side < 0 || (range.high == INFINITY && line.offset_upper == INFINITY))
            << where();
        ASSERT_TRUE(std::isinf(line.radius)) << where();
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
      const int side = infinite_limit(function, x, x, x);
      EXPECT_TRUE(side > 0 || at.low == -INFINITY) << x;
      EXPECT_TRUE(side < 0 || at.high == INFINITY) << x;
      continue;
    }
    ASSERT_TRUE(std::isinf(at.high) || holds({{at.high, 1}}, f, exact, 1)) << x;
    ASSERT_TRUE(std::isinf(at.low) || holds({{at.low, 1}}, f, exact, -1)) << x;
  }
}

// The lines of slopes that no search chose, as splits of neurons use them.
void check_lines(const Function& function, const Held& held, const Box& box) {
  const bf::FunctionEnds ends = bf::function_ends(held.view(), box.low, box.high);
  const bool exact = bf_aot::is_piecewise_linear(function.kind);
  std::mt19937_64 random(11);
  const std::vector<double> samples = samples_of(box, {}, random, 24);
  for (const float slope : {-1e4F, -3.0F, -0.25F, 0.0F, 0.125F, 1.0F, 40.0F, 1e6F})
    for (const int side : {1, -1}) {
      const double top = bf::lowest_line(held.view(), ends, slope, 0, side, 0x1p-16).top;
      ASSERT_FALSE(std::isnan(top));
      if (std::isinf(top)) continue;
      for (double x : samples) {
        const Number f = exact_value(function, x);
        if (is_nan(f)) continue;
        const double s = side * static_cast<double>(slope);
        ASSERT_TRUE(holds({{s, x}, {side * top, 1}}, f, exact, side))
            << bf_aot::to_string(function) << " slope " << s << " at " << std::hexfloat << x
            << " in [" << box.low << ", " << box.high << "]";
      }
    }
}

TEST_P(Functions, LinesOfAnySlopeHold) {
  const Held held(GetParam());
  if (bf::is_staircase(held.view())) return;
  for (const Box& box : boxes_for(held.table(), 5, 60)) check_lines(GetParam(), held, box);
}

// Boxes from an end of a domain inwards, and from a unit of the last place beside it.
struct End {
  Function function;
  double at, inwards;
};

std::vector<End> closed_ends() {
  using Kind = bf_aot::FunctionKind;
  return {{{Kind::kSqrt}, 0, 1},       {{Kind::kPower, 0.5}, 0, 1}, {{Kind::kPower, 1.5}, 0, 1},
          {{Kind::kPower, 2.5}, 0, 1}, {{Kind::kAsin}, -1, 1},      {{Kind::kAsin}, 1, -1},
          {{Kind::kAcos}, -1, 1},      {{Kind::kAcos}, 1, -1},      {{Kind::kAcosh}, 1, 1}};
}

TEST(EndsOfDomains, ClosedOnesHaveFiniteLines) {
  for (const End& end : closed_ends()) {
    const Held held(end.function);
    for (const double width : {0x1p-60, 0x1p-30, 1e-6, 0.125, 0.75, 1.0}) {
      const double other = end.at + end.inwards * width;
      const Box box = {std::min(end.at, other), std::max(end.at, other)};
      SCOPED_TRACE(bf_aot::to_string(end.function) + " " + std::to_string(width));
      const FunctionRange range = bf::bound_function(held.view(), box.low, box.high);
      EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high));
      const Relaxation line = bf::relax_function(held.view(), box.low, box.low, box.high);
      EXPECT_TRUE(std::isfinite(line.offset_upper) && std::isfinite(line.offset_lower));
      check_lines(end.function, held, box);
      const bf::FunctionEnds ends = bf::function_ends(held.view(), box.low, box.high);
      for (const float slope : {-100.0F, -1.0F, 0.0F, 0.5F, 1.0F, 100.0F})
        for (const int side : {1, -1}) {
          const double top = bf::lowest_line(held.view(), ends, slope, 0, side, 0x1p-16).top;
          // A line through the end that is nearer to g is at most this far.
          const double least = side * (side > 0 ? range.low : range.high);
          const double reach = std::fabs(static_cast<double>(slope)) *
                               std::max(std::fabs(box.low), std::fabs(box.high));
          EXPECT_GE(top, least - reach - 1e-12);
          EXPECT_LE(top, std::max(std::fabs(range.low), std::fabs(range.high)) + reach + 1e-6);
        }
    }
    const double beyond = end.at - end.inwards * 0x1p-52;
    EXPECT_EQ(bf::bound_function(held.view(), std::min(beyond, 0.5), std::max(beyond, 0.5)).high,
              INFINITY);
  }
}

// Square roots under tangents of any slope: s x + 1 / (4 s).
TEST(EndsOfDomains, LinesOverRootsAreTangents) {
  const Held held(Function{bf_aot::FunctionKind::kSqrt});
  const bf::FunctionEnds ends = bf::function_ends(held.view(), 0, 4);
  for (const float slope : {0.3F, 1.0F, 7.0F, 100.0F, 1e4F}) {
    const double best = 1 / (4 * static_cast<double>(slope));
    const double top = bf::lowest_line(held.view(), ends, slope, 0, 1, 0x1p-16).top;
    EXPECT_GE(top, best);
    EXPECT_LE(top, best + 1e-4 * static_cast<double>(slope) * 4) << "of the line's own height";
  }
}

TEST(EndsOfDomains, OpenOnesHaveOneBound) {
  using Kind = bf_aot::FunctionKind;
  struct Open {
    Function function;
    double low, high;
    double least, most;
  };
  const double inf = INFINITY;
  const Open list[] = {{{Kind::kLog}, 0, 3, -inf, std::log(3)},
                       {{Kind::kLog}, 0, 0x1p-1074, -inf, -693},
                       {{Kind::kReciprocal}, 0, 4, 0.25, inf},
                       {{Kind::kReciprocal}, -4, 0, -inf, -0.25},
                       {{Kind::kReciprocal}, -4, 4, -inf, inf},
                       {{Kind::kReciprocal}, 0, 0, -inf, inf},
                       {{Kind::kPower, -2}, -4, 0, 0.0625, inf},
                       {{Kind::kPower, -2}, -4, 1, 0.0625, inf},
                       {{Kind::kPower, -3}, -4, 1, -inf, inf},
                       {{Kind::kPower, -0.5}, 0, 4, 0.5, inf},
                       {{Kind::kAtanh}, -1, 0.5, -inf, std::atanh(0.5)},
                       {{Kind::kAtanh}, 0.5, 1, std::atanh(0.5), inf},
                       {{Kind::kAtanh}, -1, 1, -inf, inf},
                       {{Kind::kSinh}, -1000, 0, -inf, 0},
                       {{Kind::kCosh}, 1, 1000, std::cosh(1), inf}};
  for (const Open& each : list) {
    SCOPED_TRACE(bf_aot::to_string(each.function) + " " + std::to_string(each.low));
    const Held held(each.function);
    const FunctionRange range = bf::bound_function(held.view(), each.low, each.high);
    EXPECT_TRUE(std::isinf(each.least) ? range.low == each.least : range.low > each.least - 1e-9);
    EXPECT_TRUE(std::isinf(each.most) ? range.high == each.most : range.high < each.most + 1e-9);
    if (each.low < each.high) check_lines(each.function, held, {each.low, each.high});
    const Relaxation line = bf::relax_function(held.view(), each.low, each.low, each.high);
    EXPECT_EQ(std::isinf(line.offset_upper), std::isinf(each.most));
    EXPECT_EQ(std::isinf(line.offset_lower), std::isinf(each.least));
    EXPECT_EQ(line.centre, 0);
  }
}

// Sines and cosines of any size, on boxes from points to several periods.
TEST(Waves, LargeArgumentsAreReducedExactly) {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const bf_aot::FunctionKind kind : {bf_aot::FunctionKind::kSin, bf_aot::FunctionKind::kCos}) {
    const Function function{kind};
    const Held held(function);
    for (int i = 0; i < 1200; ++i) {
      const double size = std::exp2(unit(random) * (i % 2 == 0 ? 30 : 1023));
      const double low = random() % 2 == 0 ? size : -size;
      const Box box = {low, low + std::exp2(unit(random) * 70 - 64)};
      const FunctionRange range = bf::bound_function(held.view(), box.low, box.high);
      const double centre = box.low + (box.high - box.low) * (random() % 3 / 2.0);
      const Relaxation line = bf::relax_function(held.view(), centre, box.low, box.high);
      double least = 1, most = -1;
      std::vector<double> samples = samples_of(box, {}, random, 12);
      for (int k = 0; k <= 200; ++k) samples.push_back(box.low + (box.high - box.low) * k / 200);
      for (double x : samples) {
        const Number f = exact_value(function, x);
        least = std::min(least, mpfr_get_d(f, MPFR_RNDN));
        most = std::max(most, mpfr_get_d(f, MPFR_RNDN));
        const auto holds_at = [&](float slope, double offset, int side) {
          return line_holds(slope, offset, x, centre, line.centre, f, false, side);
        };
        ASSERT_TRUE(holds({{range.high, 1}}, f, false, 1)) << std::hexfloat << box.low;
        ASSERT_TRUE(holds({{range.low, 1}}, f, false, -1)) << std::hexfloat << box.low;
        ASSERT_TRUE(holds_at(line.slope_upper, line.offset_upper, 1)) << std::hexfloat << box.low;
        ASSERT_TRUE(holds_at(line.slope_lower, line.offset_lower, -1)) << std::hexfloat << box.low;
      }
      const double width = box.high - box.low;
      const double miss = 1e-9 + std::min(width / 100, width * width / 1e4);
      check_lines(function, held, box);
      if (size > 0x1p40 && width > 0) continue;  // samples of doubles miss peaks
      EXPECT_LE(range.high, std::min(most + miss, 1 + 1e-9)) << std::hexfloat << box.low;
      EXPECT_GE(range.low, std::max(least - miss, -1 - 1e-9)) << std::hexfloat << box.low;
    }
  }
}

// Tangents at arguments of any size: bounds hold, and are finite away from poles.
TEST(Waves, LargeTangentsAreReducedExactly) {
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> unit(0, 1);
  const Function function{bf_aot::FunctionKind::kTan};
  const Held held(function);
  int finite = 0;
  for (int i = 0; i < 1500; ++i) {
    const double size = std::exp2(unit(random) * (i % 2 == 0 ? 30 : 1023));
    const double low = random() % 2 == 0 ? size : -size;
    const Box box = {low, low + std::exp2(unit(random) * 44 - 42)};
    const FunctionRange range = bf::bound_function(held.view(), box.low, box.high);
    const double centre = box.low + (box.high - box.low) * (random() % 3 / 2.0);
    const Relaxation line = bf::relax_function(held.view(), centre, box.low, box.high);
    for (double x : samples_of(box, {}, random, 24)) {
      const Number f = exact_value(function, x);
      const auto holds_at = [&](float slope, double offset, int side) {
        return line_holds(slope, offset, x, centre, line.centre, f, false, side);
      };
      ASSERT_TRUE(std::isinf(range.high) || holds({{range.high, 1}}, f, false, 1))
          << std::hexfloat << box.low << ' ' << x;
      ASSERT_TRUE(std::isinf(range.low) || holds({{range.low, 1}}, f, false, -1))
          << std::hexfloat << box.low << ' ' << x;
      ASSERT_TRUE(holds_at(line.slope_upper, line.offset_upper, 1)) << std::hexfloat << box.low;
      ASSERT_TRUE(holds_at(line.slope_lower, line.offset_lower, -1)) << std::hexfloat << box.low;
      if (box.low == box.high && std::fabs(mpfr_get_d(f, MPFR_RNDN)) < 100) {
        EXPECT_LT(range.high - range.low, 1e-6) << std::hexfloat << x;
      }
    }
    if (std::isfinite(range.low) && std::isfinite(range.high)) ++finite;
  }
  EXPECT_GT(finite, 1000);
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

// Which of the values that a loose code may have lie outside of bounds and lines of a view.
int count_outside(const Function& function, const bf::FunctionView& view) {
  int outside = 0;
  const Held held(function);
  const std::vector<double> special = special_points(held.table());
  std::mt19937_64 random(5);
  for (const Box& box : boxes_for(held.table(), 2, 600)) {
    const FunctionRange range = bf::bound_function(view, box.low, box.high);
    const double centre = box.low + (box.high - box.low) * (random() % 5 / 4.0);
    const Relaxation line = bf::relax_function(view, centre, box.low, box.high);
    for (double x : samples_of(box, special, random, 12))
      for (const double off : {-1, 0, 1}) {
        const Function member{function.kind, function.a, function.b - off, function.c - off};
        Number f = exact_value(member, x);
        mpfr_add_d(f, f, off, MPFR_RNDN);
        const bool inside =
            holds({{range.high, 1}}, f, true, 1) && holds({{range.low, 1}}, f, true, -1) &&
            line_holds(line.slope_upper, line.offset_upper, x, centre, line.centre, f, true, 1) &&
            line_holds(line.slope_lower, line.offset_lower, x, centre, line.centre, f, true, -1) &&
            holds({{line.centre, 1}, {line.radius, 1}}, f, true, 1) &&
            holds({{line.centre, 1}, {line.radius, -1}}, f, true, -1);
        outside += inside ? 0 : 1;
      }
  }
  return outside;
}

// Bounds hold whether or not the steps reach their limits; without the slack some codes lie
// outside.
TEST(LooseCodes, BoundsHoldForEachCode) {
  const double inf = std::numeric_limits<double>::infinity();
  for (Function function : {Function{bf_aot::FunctionKind::kQuantise, 0.5, -3, 5},
                            {bf_aot::FunctionKind::kQuantise, 0.1, -128, 127},
                            {bf_aot::FunctionKind::kQuantise, 0.00784313771873712540, 0, 255},
                            {bf_aot::FunctionKind::kQuantise, 0.25, 2, 2},
                            {bf_aot::FunctionKind::kQuantise, 0.25, 0, 1},
                            {bf_aot::FunctionKind::kQuantise, 1, -inf, inf}}) {
    const Held exact(function);
    function.slack = 1;
    const Held loose(function);
    EXPECT_EQ(count_outside(function, loose.view()), 0) << bf_aot::to_string(function);
    if (function.b < function.c) {
      EXPECT_GT(count_outside(function, exact.view()), 100);
    }
  }
}

// Codes do not leave their limits, and reach them where the argument is far beyond.
TEST(LooseCodes, KeepTheirLimits) {
  const Held held(Function{bf_aot::FunctionKind::kQuantise, 0.5, -3, 5, 1});
  const auto codes = [&](double low, double high) {
    const FunctionRange range = bf::bound_function(held.view(), low, high);
    return std::pair(range.low, range.high);
  };
  EXPECT_EQ(codes(0, 0), std::pair(-1.0, 1.0));
  EXPECT_EQ(codes(-100, -2), std::pair(-3.0, -3.0)) << "rounded to -4 and less";
  EXPECT_EQ(codes(-100, -1.5), std::pair(-3.0, -2.0));
  EXPECT_EQ(codes(2.5, 1e300), std::pair(4.0, 5.0));
  EXPECT_EQ(codes(3, 1e300), std::pair(5.0, 5.0));
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
