// A layer's relaxation: its table holds the lines, farther out by what their use may round.

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf_aot::Function;
using bf_aot::FunctionKind;

struct Layer {
  std::vector<double> centre;
  std::vector<float> below, above, radius;

  int size() const { return static_cast<int>(centre.size()); }
};

Layer random_layer(int n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Layer layer;
  for (int j = 0; j < n; ++j) {
    layer.centre.push_back((unit(random) - 0.4) * 12);
    const double width = std::exp2(unit(random) * 30 - 27);
    layer.below.push_back(static_cast<float>(unit(random) * width));
    layer.above.push_back(static_cast<float>(unit(random) * width));
    if (j % 11 == 0) layer.below.back() = -layer.above.back() / 2;  // tightened beyond the centre
    layer.radius.push_back(static_cast<float>(width * 1.5));
  }
  return layer;
}

struct Made {
  std::vector<float> table, radius;
  std::vector<double> centre;
  std::vector<double> slack;
};

double row_slack(const Made& made, std::size_t j) {
  return made.slack[bf::kSlack + j];
}

constexpr bf::RelaxErrors kErrors{0x1.8p-19, 0x1.8p-47, 0x1p-24, 0x1p-24, 0x1p-18, 1 + 0x1p-18};

Made relax_layer(const bf::FunctionView& view, const Layer& layer, bool with_table) {
  const int n = layer.size();
  Made made{std::vector<float>(static_cast<std::size_t>(6 * n)),
            std::vector<float>(static_cast<std::size_t>(n)),
            std::vector<double>(static_cast<std::size_t>(n)),
            {0x1p-40, 3.5, -1, 1}};
  for (int j = 0; j < n; ++j) made.slack.push_back(std::ldexp(1, -40 - j % 9));
  bf::relax(n, view, layer.centre.data(), layer.below.data(), layer.above.data(),
            layer.radius.data(), kErrors, made.slack.data(), made.slack.data() + bf::kSlack,
            with_table ? made.table.data() : nullptr, made.centre.data(), made.radius.data());
  return made;
}

mpq_class magnitude(double x) {
  return mpq_class(std::fabs(x));
}

// What a row may lose per coefficient, but for the sum of offsets, in exact arithmetic; see relax()
// in runtime/bf/core/relax.h.
mpq_class least_loss(const bf::Relaxation& line, const Layer& layer, std::size_t j, double product,
                     double slack) {
  const mpq_class up = magnitude(line.slope_upper);
  const mpq_class down = magnitude(line.slope_lower);
  const auto inexact = [](const mpq_class& slope) {
    return slope == 0 || slope == 1 ? mpq_class(0) : slope;
  };
  const mpq_class reach = std::max(magnitude(layer.below[j]), magnitude(layer.above[j]));
  const mpq_class spread = mpq_class(layer.radius[j]) * mpq_class(kErrors.inflate);
  return std::max(up, down) * (mpq_class(product) * spread + mpq_class(slack)) +
         mpq_class(kErrors.slope) * std::max(inexact(up), inexact(down)) * reach;
}

// Whether both offsets pay for `loss`, and for what a float sum of them rounds; and no more than
// they must but for its square and their own rounding.
void check_offsets(const bf::Relaxation& line, float upper, float lower, const mpq_class& loss) {
  const mpq_class gamma(kErrors.offset), unit(0x1p-24);
  const mpq_class most = std::max(magnitude(line.offset_upper), magnitude(line.offset_lower));
  const auto check = [&](const mpq_class& paid, float offset) {
    const mpq_class rounded = gamma * magnitude(static_cast<double>(offset));
    ASSERT_GE(paid, loss * (1 + unit) + rounded);
    ASSERT_LE(paid, (loss + gamma * most) * (1 + 5 * gamma) +
                        2 * unit * magnitude(static_cast<double>(offset)) + mpq_class(0x1p-140))
        << "not tight";
  };
  check(mpq_class(upper) - mpq_class(line.offset_upper), upper);
  check(mpq_class(line.offset_lower) - mpq_class(lower), lower);
}

void check_layer(const Function& function) {
  SCOPED_TRACE(bf_aot::to_string(function));
  const Held held(function);
  const Layer layer = random_layer(300, 5);
  const int n = layer.size();
  const Made made = relax_layer(held.view(), layer, true);
  mpq_class reaches = 0;
  for (int i = 0; i < n; ++i) {
    const auto j = static_cast<std::size_t>(i);
    const auto row = [&](int r) { return made.table[static_cast<std::size_t>(r * n + i)]; };
    const bf::FunctionRange z =
        bf::interval_of(held.view(), layer.centre[j], layer.below[j], layer.above[j]);
    ASSERT_LE(mpq_class(z.low), mpq_class(layer.centre[j]) - mpq_class(layer.below[j]));
    ASSERT_GE(mpq_class(z.high), mpq_class(layer.centre[j]) + mpq_class(layer.above[j]));
    const bf::Relaxation line = bf::relax_function(held.view(), layer.centre[j], z.low, z.high);
    ASSERT_EQ(row(0), line.slope_upper);
    ASSERT_EQ(row(1), line.slope_lower);
    ASSERT_EQ(made.centre[j], line.centre);
    ASSERT_EQ(made.radius[j], line.radius);
    reaches += std::max(magnitude(layer.below[j]), magnitude(layer.above[j])) +
               mpq_class(layer.radius[j]) * mpq_class(kErrors.inflate) +
               mpq_class(row_slack(made, j));
    if (std::isinf(line.radius)) continue;
    check_offsets(line, row(2), row(3),
                  least_loss(line, layer, j, kErrors.product, row_slack(made, j)));
    check_offsets(line, row(4), row(5),
                  least_loss(line, layer, j, kErrors.wide, row_slack(made, j)) +
                      mpq_class(kErrors.stored) * mpq_class(line.radius));
  }
  ASSERT_GE(mpq_class(made.slack[2]), mpq_class(n) * (1 + mpq_class(made.slack[1])) + reaches);
}

TEST(FunctionLayers, OffsetsPayForRoundings) {
  for (const Function& function :
       {Function{FunctionKind::kSigmoid}, Function{FunctionKind::kGelu},
        Function{FunctionKind::kAbs}, Function{FunctionKind::kElu, 1}, Function{FunctionKind::kExp},
        Function{FunctionKind::kReciprocal}, Function{FunctionKind::kFloor},
        Function{FunctionKind::kHardSwish}})
    check_layer(function);
}

TEST(FunctionLayers, WithoutATableTheyGiveTheSameCentresAndRadii) {
  const Held held(Function{FunctionKind::kSigmoid});
  const Layer layer = random_layer(100, 9);
  const Made with = relax_layer(held.view(), layer, true);
  const Made without = relax_layer(held.view(), layer, false);
  EXPECT_EQ(with.centre, without.centre);
  EXPECT_EQ(with.radius, without.radius);
  EXPECT_EQ(without.slack[2], -1);
}

TEST(FunctionLayers, InfiniteIntervalsClaimWhatTheFunctionKeeps) {
  const float inf = INFINITY;
  const Layer layer{{0.5, 0.5, 0.5}, {inf, inf, 1}, {inf, 1, inf}, {inf, inf, inf}};
  const Made sigmoid = relax_layer(Held(Function{FunctionKind::kSigmoid}).view(), layer, true);
  for (int j = 0; j < 3; ++j) EXPECT_LE(sigmoid.radius[static_cast<std::size_t>(j)], 0.500001f);
  const Made exponential = relax_layer(Held(Function{FunctionKind::kExp}).view(), layer, true);
  EXPECT_EQ(exponential.radius[0], inf);
  EXPECT_LE(exponential.radius[1], 2.5);  // e^1.5 / 2
  EXPECT_EQ(exponential.radius[2], inf);
  const Made logarithm = relax_layer(Held(Function{FunctionKind::kLog}).view(), layer, true);
  for (int j = 0; j < 3; ++j) EXPECT_EQ(logarithm.radius[static_cast<std::size_t>(j)], inf);
}

// Boxes that end where a domain does: what has one bound keeps it.
TEST(FunctionLayers, OneInfiniteSideLeavesTheOther) {
  const float inf = INFINITY;
  const Layer layer{{0.5, 0.75}, {0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}};
  const Made logarithm = relax_layer(Held(Function{FunctionKind::kLog}).view(), layer, true);
  EXPECT_EQ(logarithm.radius[0], inf);
  EXPECT_LT(logarithm.radius[1], 0.35f);
  EXPECT_NEAR(static_cast<double>(logarithm.table[0]), 1, 1e-6) << "the tangent at 1";
  EXPECT_NEAR(static_cast<double>(logarithm.table[4]), -0.5, 1e-4);
  EXPECT_EQ(logarithm.table[2], 0);
  EXPECT_EQ(logarithm.table[6], -inf);
  const Made reciprocal =
      relax_layer(Held(Function{FunctionKind::kReciprocal}).view(), layer, true);
  EXPECT_EQ(reciprocal.radius[0], inf);
  EXPECT_NEAR(static_cast<double>(reciprocal.table[2]), -1, 1e-6);
  EXPECT_NEAR(static_cast<double>(reciprocal.table[6]), 1.5, 1e-4);
  EXPECT_EQ(reciprocal.table[4], inf);
}

// Squares, roots and clipped values keep a bound that is 0; steps at exact ends do not count.
TEST(FunctionLayers, ExactEndsStay) {
  const auto ends = [](const Function& function, double low, double high) {
    const double half = 0.5 * (high - low);
    const auto reach = static_cast<float>(half);
    const Layer layer{{low + half}, {reach}, {reach}, {reach}};
    const Made made = relax_layer(Held(function).view(), layer, false);
    const auto radius = static_cast<double>(made.radius[0]);
    return std::pair(made.centre[0] - radius, made.centre[0] + radius);
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(ends({FunctionKind::kFloor}, 1, 1.5), Pair(1, 1));
  EXPECT_EQ(ends({FunctionKind::kFloor}, 1, 2), Pair(1, 2));
  EXPECT_EQ(ends({FunctionKind::kCeil}, 0.5, 1), Pair(1, 1));
  EXPECT_EQ(ends({FunctionKind::kRound, 1}, 1.5, 2.5), Pair(2, 2)) << "ties to even";
  EXPECT_EQ(ends({FunctionKind::kStepAt}, 0, 1), Pair(1, 1));
  EXPECT_EQ(ends({FunctionKind::kSign}, 0, 1), Pair(0, 1));
  EXPECT_EQ(ends({FunctionKind::kClip, -1, 6}, -3, 4), Pair(-1, 4));
  EXPECT_EQ(ends({FunctionKind::kAbs}, -3, 1), Pair(0, 3));
  for (const double a : {2.0, 4.0, 0.5, 2.5})
    EXPECT_EQ(ends({FunctionKind::kPower, a}, a == 2 || a == 4 ? -0.25 : 0, 0.75).first, 0) << a;
  EXPECT_EQ(ends({FunctionKind::kSqrt}, 0, 3).first, 0);
}

// Values over many magnitudes: the small end keeps its digits, and the interval holds the range.
TEST(FunctionLayers, SmallEndsKeepTheirDigits) {
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 20000; ++i) {
    const double far = std::exp2(unit(random) * 240 - 120) * (1 + unit(random));
    const double near = i % 5 == 0 ? 0 : far * std::exp2(-60 * unit(random)) * unit(random);
    const bool negative = random() % 2 == 0;
    const bf::FunctionRange range =
        negative ? bf::FunctionRange{-far, -near} : bf::FunctionRange{near, far};
    const bf::Relaxation made = bf::relax_constant(range);
    const mpq_class centre(made.centre), radius(static_cast<double>(made.radius));
    ASSERT_LE(centre - radius, mpq_class(range.low)) << far << " " << near;
    ASSERT_GE(centre + radius, mpq_class(range.high)) << far << " " << near;
    ASSERT_LE(2 * radius, (mpq_class(far) - mpq_class(near)) * (1 + mpq_class(0x1p-22)));
    if (near > 0.25 * far) continue;
    const mpq_class kept = (negative ? mpq_class(-centre) : centre) - radius;
    ASSERT_GE(kept, mpq_class(near) - mpq_class(far) * mpq_class(0x1p-52));
    ASSERT_TRUE(near != 0 || kept == 0);
  }
}

// What the argument never leaves, also of steps.
TEST(FunctionLayers, LimitsCutTheInterval) {
  Function floor{FunctionKind::kFloor};
  floor.least = 0;
  floor.most = 1.5;
  const Held held(floor);
  const bf::FunctionRange range = bf::bound_function(held.view(), -1e-30, 2.25);
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 1);
  const bf::Relaxation line = bf::relax_function(held.view(), 0.5, -1e-30, 2.25);
  EXPECT_EQ(line.centre, 0.5);
  EXPECT_EQ(line.radius, 0.5F);
}

std::vector<std::int32_t> inexact_of(const Function& function,
                                     const std::vector<std::pair<double, double>>& boxes) {
  std::vector<double> centre;
  std::vector<float> below, above;
  for (const auto& [low, high] : boxes) {
    centre.push_back(low);
    below.push_back(0);
    above.push_back(static_cast<float>(high - low));
  }
  std::vector<std::int32_t> list(boxes.size());
  const Held held(function);
  list.resize(static_cast<std::size_t>(
      bf::list_inexact(held.view(), centre.data(), below.data(), above.data(),
                       static_cast<int>(boxes.size()), list.data())));
  return list;
}

TEST(FunctionLayers, ListsWhereTighterIntervalsHelp) {
  using List = std::vector<std::int32_t>;
  EXPECT_EQ(inexact_of({FunctionKind::kSigmoid}, {{0, 1}, {0, 0}, {40, 50}, {-0.5, 2}}),
            (List{0, 3}));
  EXPECT_EQ(inexact_of({FunctionKind::kAbs}, {{0.5, 1}, {-1, -0.5}, {-1, 1}}), (List{2}));
  EXPECT_EQ(inexact_of({FunctionKind::kElu, 1}, {{0.5, 1}, {-1, -0.5}, {-1, 1}}), (List{1, 2}));
  EXPECT_EQ(inexact_of({FunctionKind::kFloor}, {{0.25, 0.5}, {0.5, 1.5}}), (List{1}));
  EXPECT_EQ(inexact_of({FunctionKind::kFloor}, {{1, 1.5}, {1, 2}}), (List{1}));
  EXPECT_EQ(inexact_of({FunctionKind::kLog}, {{-2, -1}, {1, 2}}), (List{0, 1}));
  EXPECT_EQ(inexact_of({FunctionKind::kSin}, {{100, 101}, {-1e6, -1e6 + 8}}), (List{0, 1}));
}

}  // namespace
}  // namespace bf_test
