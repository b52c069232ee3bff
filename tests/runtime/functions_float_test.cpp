// Tables of functions in float32 against MPFR: bounds may not be on the wrong side at any float
// that is tried, compared exactly, and values are as near as docs/proofs/float-functions.md says.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "frontend/functions/composite/composite.h"
#include "planner/functions/float_table.h"
#include "runtime/bf/functions/float_functions.h"
#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf_aot::FloatTable;
using bf_aot::Function;
using bf_aot::FunctionKind;

constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class HeldFloat {
 public:
  explicit HeldFloat(const Function& function) : table_(bf_aot::make_float_table(function)) {
    for (const bf_aot::FloatTableTurn& turn : table_.turns)
      turns_.push_back({turn.from, turn.to, turn.low, turn.high});
    view_ = {
        table_.exponential ? bf::FloatFunctionForm::kExponential : bf::FloatFunctionForm::kPieces,
        table_.monotone,
        table_.degree,
        table_.pieces(),
        static_cast<int>(turns_.size()),
        table_.starts.data(),
        table_.origins.data(),
        table_.coefficients.data(),
        table_.errors.data(),
        turns_.data(),
        table_.least,
        table_.most};
  }
  const FloatTable& table() const { return table_; }
  const bf::FloatFunction& view() const { return view_; }

 private:
  FloatTable table_;
  std::vector<bf::FloatTurn> turns_;
  bf::FloatFunction view_;
};

Function silu() {
  using Kind = bf_aot::CompositeStep::Kind;
  std::vector<bf_aot::CompositeStep> steps(3);
  steps[1].kind = Kind::kFunction;
  steps[1].function = {FunctionKind::kSigmoid, 0, 0};
  steps[2].kind = Kind::kProduct;
  steps[2].right = 1;
  Function made;
  made.kind = FunctionKind::kComposite;
  made.composite = bf_aot::Composite::of(steps);
  return made;
}

// Products of clips and lines: quadratics whose slope is computed exactly, and so 0 at their turns.
std::vector<Function> quadratics() {
  using Kind = bf_aot::CompositeStep::Kind;
  const auto clip = [](int left, double least, double most) {
    bf_aot::CompositeStep step;
    step.kind = Kind::kFunction;
    step.left = left;
    step.function = {FunctionKind::kClip, least, most};
    return step;
  };
  const auto line = [](int left, double factor, double offset) {
    bf_aot::CompositeStep step;
    step.kind = Kind::kLine;
    step.left = left;
    step.factor.value = factor;
    step.offset.value = offset;
    return step;
  };
  const auto product = [](int left, int right) {
    bf_aot::CompositeStep step;
    step.kind = Kind::kProduct;
    step.left = left;
    step.right = right;
    return step;
  };
  const std::vector<std::vector<bf_aot::CompositeStep>> all = {
      {{}, clip(0, -3, 3), product(1, 1)},
      {{}, line(0, 1, 3), clip(1, 0, 6), product(0, 2)},  // hard swish, but for its 1/6
      {{}, clip(0, -1.5, 0.5), product(1, 0), line(2, -0.5, 0.25)},
  };
  std::vector<Function> made;
  for (const auto& steps : all) {
    Function one;
    one.kind = FunctionKind::kComposite;
    one.composite = bf_aot::Composite::of(steps);
    made.push_back(one);
  }
  return made;
}

// Functions within composites have arguments here that are doubles, or clip.
Number step_value(const bf_aot::CompositeStep& step, const std::vector<Number>& before) {
  using Kind = bf_aot::CompositeStep::Kind;
  Number value = before[static_cast<std::size_t>(step.left)];
  const Number& right = before[static_cast<std::size_t>(step.right)];
  switch (step.kind) {
    case Kind::kVariable:
      return before.front();
    case Kind::kLine:
      mpfr_mul_d(value, value, step.factor.value, MPFR_RNDN);
      mpfr_add_d(value, value, step.offset.value, MPFR_RNDN);
      return value;
    case Kind::kSum:
      mpfr_add(value, value, right, MPFR_RNDN);
      return value;
    case Kind::kProduct:
      mpfr_mul(value, value, right, MPFR_RNDN);
      return value;
    case Kind::kFunction:
      break;
  }
  if (step.function.kind != FunctionKind::kClip)
    return exact_value(step.function, mpfr_get_d(value, MPFR_RNDN));
  if (mpfr_cmp_d(value, step.function.a) < 0) return Number(step.function.a);
  return mpfr_cmp_d(value, step.function.b) > 0 ? Number(step.function.b) : value;
}

Number value_of(const Function& function, float x) {
  if (function.composite == nullptr) return exact_value(function, static_cast<double>(x));
  std::vector<Number> values = {Number(static_cast<double>(x))};
  const std::vector<bf_aot::CompositeStep>& steps = function.composite->steps();
  for (std::size_t i = 1; i < steps.size(); ++i) values.push_back(step_value(steps[i], values));
  return values.back();
}

std::vector<Function> functions() {
  std::vector<Function> made = {silu()};
  for (const Function& function : quadratics()) made.push_back(function);
  for (const Function& function : functions_to_test())
    if (bf_aot::has_float_table(function)) made.push_back(function);
  return made;
}

std::string text_of(const Function& function) {
  return bf_aot::to_string(function);
}

// The worst places of pieces: ends, origins, and what lies between; edges of the floats.
std::vector<float> points_of(const FloatTable& table, std::mt19937_64& random) {
  std::vector<float> points = {0,       -0.0f,   1e-45f,   -1e-45f, 0x1p-126f, -0x1p-126f, kMost,
                               -kMost,  88,      88.73f,   89.5f,   -86,       -86.5f,     -104,
                               -103.9f, 0x1p23f, -0x1p23f, 0.3466f, -0.3466f,  1e20f,      -1e20f};
  const auto near = [&](float x) {
    for (const float y : {x, std::nextafter(x, kInfinity), std::nextafter(x, -kInfinity)})
      if (std::isfinite(y)) points.push_back(y);
  };
  for (const bf_aot::FloatTableTurn& turn : table.turns) {
    near(turn.from);
    near(turn.to);
  }
  for (int i = 0; i < table.pieces(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float last = i + 1 < table.pieces() ? table.starts[at + 1] : kInfinity;
    const float start =
        i == 0 ? std::min(-200.0f, last == kInfinity ? 0 : 2 * last) : table.starts[at];
    const float end = last == kInfinity ? std::max(200.0f, 2 * start) : last;
    near(start);
    near(table.origins[at]);
    std::uniform_real_distribution<float> inside(start, end);
    for (int k = 0; k < 24; ++k) points.push_back(inside(random));
  }
  std::uniform_real_distribution<float> power(-126, 127);
  for (int k = 0; k < 200; ++k) points.push_back((k % 2 ? -1.0f : 1.0f) * std::exp2(power(random)));
  return points;
}

bool lies_in(const bf::FloatRange& range, const Number& value) {
  const auto end = [&](float x, int side) {
    return std::isinf(x) ? (x > 0) == (side > 0)
                         : holds({{static_cast<double>(x), 1}}, value, false, side);
  };
  return end(range.low, -1) && end(range.high, 1);
}

class FloatFunctions : public testing::TestWithParam<std::size_t> {
 protected:
  const Function function_ = functions()[GetParam()];
  const HeldFloat held_{function_};
  std::mt19937_64 random_{7};
};

TEST_P(FloatFunctions, BoundsHoldTheValueAtEachPoint) {
  for (const float x : points_of(held_.table(), random_)) {
    const bf::FloatRange range = bf::float_bounds(held_.view(), x);
    EXPECT_LE(range.low, range.high);
    EXPECT_TRUE(lies_in(range, value_of(function_, x)))
        << text_of(function_) << " at " << x << ": " << range.low << " to " << range.high;
  }
}

TEST_P(FloatFunctions, ValuesAreNear) {
  for (const float x : points_of(held_.table(), random_)) {
    const double value = mpfr_get_d(value_of(function_, x), MPFR_RNDN);
    if (std::fabs(value) > 0x1p127) continue;
    const bool covered = !held_.table().exponential || x > -86;
    const bool wave = function_.kind == FunctionKind::kSin || function_.kind == FunctionKind::kCos;
    const double other = wave && std::fabs(x) >= 50 ? 1 : 0x1p-24;  // lines, zeros beside x = 0
    const double allowed = 0x1p-21 * std::fabs(value) + (std::fabs(x) < 0.12f ? 0x1p-39 : other);
    EXPECT_LE(std::fabs(static_cast<double>(bf::float_value(held_.view(), x)) - value),
              covered ? allowed : 0x1p-120)
        << text_of(function_) << " at " << x;
  }
}

TEST_P(FloatFunctions, RangesHoldTheirPoints) {
  const std::vector<float> points = points_of(held_.table(), random_);
  const auto any = [&] { return points[random_() % points.size()]; };
  for (int i = 0; i < 400; ++i) {
    float low = any(), high = i % 2 == 0 ? any() : low + 0.01f * static_cast<float>(random_() % 99);
    if (low > high) std::swap(low, high);
    if (!std::isfinite(high)) continue;
    const bf::FloatRange range = bf::float_range(held_.view(), low, high);
    EXPECT_LE(range.low, range.high);
    for (int k = 0; k < 12; ++k) {
      const float x = k < 10 ? any() : k == 10 ? low : high;
      const float inside = x >= low && x <= high ? x : low / 2 + high / 2;
      EXPECT_TRUE(lies_in(range, value_of(function_, inside)))
          << text_of(function_) << " at " << inside << " of " << low << " to " << high;
    }
  }
}

TEST_P(FloatFunctions, NothingIsClaimedOfWhatIsNoNumber) {
  const bf::FloatFunction& f = held_.view();
  for (const float x : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    const bf::FloatRange all = bf::float_range(f, -kInfinity, kInfinity);
    EXPECT_LE(all.low, f.most);
    EXPECT_EQ(bf::float_bounds(f, x).low <= f.least || !std::isnan(x), true);
  }
  for (const float x : points_of(held_.table(), random_)) {
    const bf::FloatRange all = bf::float_range(f, -kInfinity, kInfinity);
    EXPECT_TRUE(lies_in(all, value_of(function_, x))) << text_of(function_) << " at " << x;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatFunctions, testing::Range(std::size_t{0}, functions().size()));

TEST(FloatFunctions, UsualOnesHaveSmallTables) {
  for (const FunctionKind kind :
       {FunctionKind::kTanh, FunctionKind::kSigmoid, FunctionKind::kGelu, FunctionKind::kErf,
        FunctionKind::kSoftplus, FunctionKind::kExp}) {
    ASSERT_TRUE(bf_aot::has_float_table({kind, 0, 0}));
    EXPECT_LE(bf_aot::make_float_table({kind, 0, 0}).bytes(), 2000) << text_of({kind, 0, 0});
  }
  ASSERT_NE(silu().composite, nullptr);
  EXPECT_TRUE(bf_aot::has_float_table(silu()));
  EXPECT_TRUE(bf_aot::has_float_table({FunctionKind::kSin, 0, 0}));
  EXPECT_TRUE(bf_aot::has_float_table({FunctionKind::kPower, 2, 0}));
}

TEST(FloatFunctions, JumpsPolesAndEndsOfDomainsHaveNone) {
  for (const FunctionKind kind : {FunctionKind::kSign, FunctionKind::kFloor, FunctionKind::kLog,
                                  FunctionKind::kSqrt, FunctionKind::kTan, FunctionKind::kAcosh})
    EXPECT_FALSE(bf_aot::has_float_table({kind, 1, 0})) << text_of({kind, 1, 0});
  EXPECT_FALSE(bf_aot::has_float_table({FunctionKind::kThresholdedRelu, 1, 0}));
  EXPECT_FALSE(bf_aot::has_float_table({FunctionKind::kPower, -1, 0}));
}

}  // namespace
}  // namespace bf_test
