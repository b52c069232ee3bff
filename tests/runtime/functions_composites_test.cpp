// Tables of composite functions against their expressions in 400 bits, of which each composite here
// is written down once more.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "frontend/functions/composite/expression.h"
#include "tests/runtime/functions_oracle.h"

namespace bf_test {
namespace {

using bf::FunctionRange;
using bf::Relaxation;
using bf_aot::Bounded;
using bf_aot::CompositeStep;
using bf_aot::Expression;
using bf_aot::Function;
using bf_aot::FunctionKind;

template <class F>
Number made_by(F function, const Number& x) {
  Number y;
  function(y, x, MPFR_RNDN);
  return y;
}
Number operator+(const Number& a, const Number& b) {
  Number y;
  mpfr_add(y, a, b, MPFR_RNDN);
  return y;
}
Number operator*(const Number& a, const Number& b) {
  Number y;
  if (mpfr_zero_p(static_cast<mpfr_srcptr>(a)) != 0 ||
      mpfr_zero_p(static_cast<mpfr_srcptr>(b)) != 0)
    return y;
  mpfr_mul(y, a, b, MPFR_RNDN);
  return y;
}

int sign_of(const Number& x) {
  return mpfr_sgn(static_cast<mpfr_srcptr>(x));
}

Number sigmoid(const Number& x) {
  Number y = Number(1) + made_by(mpfr_exp, Number(-1) * x);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
  return y;
}

Number value_of(const Function& f, const Number& x) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
      return sign_of(x) < 0 ? Number(f.a) * x : x;
    case FunctionKind::kAbs:
      return sign_of(x) < 0 ? Number(-1) * x : x;
    case FunctionKind::kClip:
      return mpfr_cmp_d(x, f.a) < 0 ? Number(f.a) : mpfr_cmp_d(x, f.b) > 0 ? Number(f.b) : x;
    case FunctionKind::kStep:
      return Number(sign_of(x) > 0 ? 1 : 0);
    case FunctionKind::kStepAt:
      return Number(sign_of(x) >= 0 ? 1 : 0);
    case FunctionKind::kSigmoid:
      return sigmoid(x);
    case FunctionKind::kTanh:
      return made_by(mpfr_tanh, x);
    case FunctionKind::kErf:
      return made_by(mpfr_erf, x);
    case FunctionKind::kExp:
      return made_by(mpfr_exp, x);
    case FunctionKind::kSoftplus:
      return mpfr_cmp_si(x, 500) > 0 ? x + made_by(mpfr_exp, Number(-1) * x)
                                     : made_by(mpfr_log1p, made_by(mpfr_exp, x));
    case FunctionKind::kElu:
      return sign_of(x) < 0 ? Number(f.a) * made_by(mpfr_expm1, x) : x;
    default:
      ADD_FAILURE() << bf_aot::to_string(f);
      return x;
  }
}

// Numbers of which bounds are known are at `end` of these, -1 to 1.
Number value_of(const std::vector<CompositeStep>& steps, double x, double end) {
  using Kind = CompositeStep::Kind;
  const auto number = [&](const Bounded& b) {
    return Number(b.value) + Number(end) * Number(b.error);
  };
  std::vector<Number> values;
  for (const CompositeStep& step : steps) {
    const Number left = values.empty() ? Number(x) : values[static_cast<std::size_t>(step.left)];
    const Number right = values.empty() ? left : values[static_cast<std::size_t>(step.right)];
    values.push_back(step.kind == Kind::kVariable ? Number(x)
                     : step.kind == Kind::kLine   ? number(step.factor) * left + number(step.offset)
                     : step.kind == Kind::kSum    ? left + right
                     : step.kind == Kind::kProduct ? left * right
                                                   : value_of(step.function, left));
  }
  return values.back();
}

struct Named {
  std::string name;
  std::vector<CompositeStep> steps;
};

using Make = std::function<int(Expression&)>;

int apply(Expression& e, FunctionKind kind, int u, double a = 0, double b = 0) {
  return e.function({kind, a, b}, u).value();
}

// c a + (1 - c) b
int where(Expression& e, int c, int a, int b) {
  return e.sum(e.product(c, a), e.product(e.line(c, {-1, 0}, {1, 0}), b));
}

int gelu(Expression& e, const Bounded& factor) {
  const int erf = apply(e, FunctionKind::kErf, e.line(0, factor, {}));
  return e.product(e.line(0, {0.5, 0}, {}), e.line(erf, {1, 0}, {1, 0}));
}

int gelu_tanh(Expression& e) {
  const int cubic = e.line(apply(e, FunctionKind::kPower, 0, 3), {0.044715F, 0}, {});
  const int u = e.line(e.sum(0, cubic), {0.7978846F, 0}, {});
  return e.product(e.line(0, {0.5, 0}, {}),
                   e.line(apply(e, FunctionKind::kTanh, u), {1, 0}, {1, 0}));
}

int elu(Expression& e, FunctionKind step) {
  return where(e, apply(e, step, 0), 0, e.line(apply(e, FunctionKind::kExp, 0), {1, 0}, {-1, 0}));
}

// max(x, 0) + ln(1 + e^-|x|)
int softplus(Expression& e) {
  const int size = e.line(apply(e, FunctionKind::kAbs, 0), {-1, 0}, {});
  const int rest = e.line(apply(e, FunctionKind::kExp, size), {1, 0}, {1, 0});
  return e.sum(apply(e, FunctionKind::kLeakyRelu, 0, 0), apply(e, FunctionKind::kLog, rest));
}

std::vector<Named> composites() {
  using Kind = FunctionKind;
  const std::vector<std::pair<std::string, Make>> list = {
      {"gelu",
       [](Expression& e) {
         return gelu(e, {1 / 1.41421354, 0x1p-53});
       }},
      {"gelu_of_rough_numbers",
       [](Expression& e) {
         return gelu(e, {0.7, 1e-9});
       }},
      {"silu", [](Expression& e) { return e.product(0, apply(e, Kind::kSigmoid, 0)); }},
      {"silu_steep",
       [](Expression& e) {
         return e.product(0, apply(e, Kind::kSigmoid, e.line(0, {1.702F, 0}, {0.25, 0})));
       }},
      {"mish",
       [](Expression& e) {
         return e.product(0, apply(e, Kind::kTanh, apply(e, Kind::kSoftplus, 0)));
       }},
      {"gelu_tanh", gelu_tanh},
      {"hard_swish",
       [](Expression& e) {
         return e.product(0, apply(e, Kind::kClip, e.line(0, {1.0F / 6, 0}, {0.5, 0}), 0, 1));
       }},
      {"hard_swish_of_relu6",
       [](Expression& e) {
         return e.product(0, apply(e, Kind::kClip, e.line(0, {1, 0}, {3, 0}), 0, 6));
       }},
      {"elu", [](Expression& e) { return elu(e, Kind::kStep); }},
      {"elu_at", [](Expression& e) { return elu(e, Kind::kStepAt); }},
      {"jump",
       [](Expression& e) {
         return where(e, apply(e, Kind::kStep, e.line(0, {1, 0}, {-0.5, 0})), 0,
                      apply(e, Kind::kTanh, 0));
       }},
      {"jump_at_no_double",
       [](Expression& e) {
         return where(e, apply(e, Kind::kStepAt, e.line(0, {-3, 0}, {1, 0})), 0,
                      apply(e, Kind::kTanh, 0));
       }},
      {"softplus", softplus},
      {"tanh_shrink",
       [](Expression& e) {
         return e.sum(0, e.line(apply(e, Kind::kTanh, 0), {-1, 0}, {}));
       }},
      {"cubic",
       [](Expression& e) {
         return e.sum(e.product(e.product(0, 0), 0), e.line(0, {-2, 0}, {}));
       }},
      {"quintic_of_rough_numbers",
       [](Expression& e) {
         const int square = e.product(0, 0);
         const int inner =
             e.line(e.product(e.line(square, {1.0 / 120, 0x1p-60}, {-1.0 / 6, 0x1p-56}), square),
                    {1, 0}, {1, 0});
         return e.product(0, inner);
       }},
      {"three_roots",
       [](Expression& e) {
         const auto less = [&](double k) { return e.line(0, {1, 0}, {-k, 0}); };
         return e.product(e.product(less(1), less(2)), less(3));
       }},
      {"line_or_parabola", [](Expression& e) { return e.maximum(0, e.product(0, 0)); }},
      // Its bends are at roots of x^2 - x / 3 - 1.
      {"parabola_and_tilted_line",
       [](Expression& e) {
         return e.maximum(e.product(0, 0), e.line(0, {1.0 / 3, 0x1p-56}, {1, 0}));
       }},
      {"touching_parabola",
       [](Expression& e) { return e.sum(0, apply(e, Kind::kAbs, e.product(0, 0))); }},
      {"step_at_roots",
       [](Expression& e) {
         const int bell = e.line(e.product(0, 0), {1, 0}, {-1, 0});
         return e.sum(apply(e, Kind::kLeakyRelu, 0, 0), apply(e, Kind::kStep, bell));
       }},
      {"step_at_roots_of_what_bends",
       [](Expression& e) {
         const int bend = apply(e, Kind::kLeakyRelu, 0, 0);
         return e.sum(bend,
                      apply(e, Kind::kStepAt, e.sum(e.product(0, 0), e.line(0, {-1, 0}, {}))));
       }},
      {"odd_square", [](Expression& e) { return e.product(0, apply(e, Kind::kAbs, 0)); }},
      {"parabola_by_where",
       [](Expression& e) {
         return where(e, apply(e, Kind::kStep, 0), e.product(0, 0), e.line(0, {-1, 0}, {}));
       }},
      {"power_and_wing",
       [](Expression& e) {
         return e.product(0, apply(e, Kind::kExp, e.line(0, {-1, 0}, {})));
       }},
      {"gamma_density",
       [](Expression& e) {
         return e.product(e.product(0, 0), apply(e, Kind::kExp, e.line(0, {-1, 0}, {})));
       }},
      {"log_cosh",
       [](Expression& e) {
         const int sum =
             e.sum(apply(e, Kind::kExp, 0), apply(e, Kind::kExp, e.line(0, {-1, 0}, {})));
         return apply(e, Kind::kLog, sum);
       }},
      {"square_of_gate",
       [](Expression& e) { return e.product(e.product(0, 0), apply(e, Kind::kSigmoid, 0)); }},
      {"gated_relu",
       [](Expression& e) {
         const int r = apply(e, Kind::kLeakyRelu, 0, 0);
         return e.product(r, apply(e, Kind::kSigmoid, r));
       }},
  };
  std::vector<Named> made;
  for (const auto& [name, make] : list) {
    Expression e;
    made.push_back({name, e.parts(make(e)).steps});
  }
  return made;
}

// Sums and products of functions of lines; some come near no line, and are none.
std::vector<Named> random_composites() {
  std::mt19937_64 random(11);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto number = [&] { return Bounded{(pick(33) - 16) / 8.0, pick(3) == 0 ? 0x1p-52 : 0}; };
  using enum FunctionKind;
  constexpr FunctionKind kKinds[] = {kSigmoid, kTanh, kErf,  kExp, kSoftplus,
                                     kElu,     kStep, kClip, kAbs, kLeakyRelu};
  std::vector<Named> made;
  while (made.size() < 12) {
    Expression e;
    std::vector<int> terms = {0};
    for (int i = 0; i < 7; ++i) {
      const int a = terms[static_cast<std::size_t>(pick(static_cast<int>(terms.size())))];
      const int b = terms[static_cast<std::size_t>(pick(static_cast<int>(terms.size())))];
      const FunctionKind kind = kKinds[pick(10)];
      const auto f = e.function({kind, kind == kClip ? -1.0 : 0.5, kind == kClip ? 2.0 : 0.0}, a);
      const int form = pick(4);
      terms.push_back(form == 0   ? e.line(a, number(), number())
                      : form == 1 ? e.sum(a, b)
                      : form == 2 ? e.product(a, b)
                                  : f.value());
    }
    const std::vector<CompositeStep> steps = e.parts(terms.back()).steps;
    if (steps.size() > 3 && bf_aot::Composite::of(steps) != nullptr)
      made.push_back({"random_" + std::to_string(made.size()), steps});
  }
  return made;
}

class Composites : public testing::TestWithParam<Named> {
 protected:
  static Function function_of(const Named& named) {
    Function f{FunctionKind::kComposite};
    f.composite = bf_aot::Composite::of(named.steps);
    return f;
  }
};

bool line_holds(float slope, double offset, double x, double centre, double centre_out,
                const Number& f, int side) {
  if (std::isinf(offset)) return side > 0 ? offset > 0 : offset < 0;
  const double s = slope;
  return holds({{s, x}, {-s, centre}, {offset, 1}, {centre_out, 1}}, f, false, side);
}

double place(std::mt19937_64& random, const std::vector<double>& special) {
  std::uniform_real_distribution<double> unit(0, 1);
  if (random() % 3 == 0) return special[random() % special.size()];
  const double size = std::exp2(unit(random) * 24 - 10);
  return random() % 2 == 0 ? size : -size;
}

TEST_P(Composites, BoundsHold) {
  const Function function = function_of(GetParam());
  ASSERT_NE(function.composite, nullptr);
  SCOPED_TRACE(bf_aot::to_string(function));
  const Held held(function);
  EXPECT_LE(held.table().bytes(), 64 * 1024);
  // Sides on which it leaves the floats have no bounds.
  const auto& parts = function.composite->parts();
  const auto is_beyond = [&](const bf_aot::CompositePart& part) {
    return part.kind == bf_aot::CompositePart::Kind::kBeyond;
  };
  const double least = is_beyond(parts.front()) ? parts.at(1).start : -HUGE_VAL;
  const double most = is_beyond(parts.back()) ? parts.back().start : HUGE_VAL;
  for (std::size_t i = 1; i + 1 < held.table().runs.size(); ++i)
    EXPECT_NE(held.table().runs[i].kind, bf_aot::RunKind::kUnknown);
  std::vector<double> special = special_points(held.table());
  std::erase_if(special, [&](double x) { return std::fabs(x) > 0x1p64; });
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 400; ++i) {
    double low = place(random, special);
    double high = i % 5 == 0   ? low
                  : i % 2 == 0 ? place(random, special)
                               : low + std::exp2(unit(random) * 20 - 16);
    if (low > high) std::swap(low, high);
    const double centre = low + (high - low) * (random() % 5 / 4.0);
    const FunctionRange range = bf::bound_function(held.view(), low, high);
    const Relaxation line = bf::relax_function(held.view(), centre, low, high);
    ASSERT_TRUE(low < least || high >= most ||
                (std::isfinite(range.low) && std::isfinite(range.high)))
        << low << " " << high;
    std::vector<double> points = {low, high};
    for (const double x : special)
      if (low <= x && x <= high) points.push_back(x);
    for (int k = 0; k < 12; ++k) points.push_back(low + unit(random) * (high - low));
    for (const double x : points) {
      if (!(low <= x && x <= high)) continue;
      for (const double end : {-1.0, 1.0}) {
        const Number f = value_of(GetParam().steps, x, end);
        ASSERT_TRUE(holds({{range.high, 1}}, f, false, 1)) << std::hexfloat << x;
        ASSERT_TRUE(holds({{range.low, 1}}, f, false, -1)) << std::hexfloat << x;
        ASSERT_TRUE(line_holds(line.slope_upper, line.offset_upper, x, centre, line.centre, f, 1))
            << std::hexfloat << x;
        ASSERT_TRUE(line_holds(line.slope_lower, line.offset_lower, x, centre, line.centre, f, -1))
            << std::hexfloat << x;
      }
    }
  }
}

std::string name_of_composite(const testing::TestParamInfo<Named>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, Composites, testing::ValuesIn(composites()), name_of_composite);
INSTANTIATE_TEST_SUITE_P(Random, Composites, testing::ValuesIn(random_composites()),
                         name_of_composite);

TEST(CompositeFunctions, EqualExpressionsAreOne) {
  const auto silu = [] {
    Expression e;
    return e.parts(e.product(0, apply(e, FunctionKind::kSigmoid, 0))).steps;
  };
  EXPECT_EQ(bf_aot::Composite::of(silu()), bf_aot::Composite::of(silu()));
}

// As the function that an operator is: intervals, and lines at the middles of boxes.
TEST(CompositeFunctions, AreAsTightAsOperators) {
  const double sqrt_half = 0.70710678118654752440;
  const std::vector<std::pair<Make, Function>> pairs = {
      {[&](Expression& e) {
         return gelu(e, {sqrt_half, 0x1p-54});
       },
       {FunctionKind::kGelu}},
      {gelu_tanh, {FunctionKind::kGeluTanh}},
      {[](Expression& e) {
         return e.product(0, apply(e, FunctionKind::kTanh, apply(e, FunctionKind::kSoftplus, 0)));
       },
       {FunctionKind::kMish}},
      {[](Expression& e) { return elu(e, FunctionKind::kStep); }, {FunctionKind::kElu, 1}},
      {[](Expression& e) {
         return e.product(
             0, apply(e, FunctionKind::kClip, e.line(0, {1.0 / 6, 0x1p-56}, {0.5, 0}), 0, 1));
       },
       {FunctionKind::kHardSwish}},
      {softplus, {FunctionKind::kSoftplus}},
  };
  for (const auto& [make, operation] : pairs) {
    SCOPED_TRACE(bf_aot::to_string(operation));
    Expression e;
    const Expression::Parts parts = e.parts(make(e));
    Function function{FunctionKind::kComposite};
    function.composite = bf_aot::Composite::of(parts.steps);
    ASSERT_NE(function.composite, nullptr);
    const Held chain(function), one(operation);
    for (const auto& [low, high] : {std::pair(-1.0, 1.0),
                                    {-2.0, 3.0},
                                    {-6.0, -1.0},
                                    {0.5, 4.0},
                                    {-20.0, 30.0},
                                    {-1e4, 1e4}}) {
      const auto height = [&, low = low, high = high](const Held& held) {
        const FunctionRange range = bf::bound_function(held.view(), low, high);
        return range.high - range.low;
      };
      const auto gap = [&, low = low, high = high](const Held& held) {
        const Relaxation line = bf::relax_function(held.view(), low / 2 + high / 2, low, high);
        return line.offset_upper - line.offset_lower;
      };
      const double factor = parts.factor.value;
      EXPECT_LE(factor * height(chain), 1.001 * height(one)) << low << " " << high;
      EXPECT_LE(factor * gap(chain), 1.001 * gap(one)) << low << " " << high;
    }
  }
}

// Functions of restricted domain, waves without end, and what bends where nothing says.
TEST(CompositeFunctions, OthersAreNone) {
  const auto made = [](const Make& make) {
    Expression e;
    return bf_aot::Composite::of(e.parts(make(e)).steps);
  };
  EXPECT_EQ(made([](Expression& e) { return e.sum(0, apply(e, FunctionKind::kReciprocal, 0)); }),
            nullptr);
  EXPECT_EQ(made([](Expression& e) {
              const int gate = e.line(apply(e, FunctionKind::kSigmoid, 0), {1, 0}, {-0.5, 0});
              return e.product(0, apply(e, FunctionKind::kStep, gate));
            }),
            nullptr);
  // x^2 with a factor that may be of either sign, and what saturates behind a large power.
  EXPECT_EQ(made([](Expression& e) {
              return e.sum(0, e.line(e.product(0, 0), {0, 0x1p-50}, {}));
            }),
            nullptr);
  EXPECT_EQ(made([](Expression& e) {
              return apply(e, FunctionKind::kSigmoid,
                           e.product(0, apply(e, FunctionKind::kExp, 0)));
            }),
            nullptr);
  Expression e;
  EXPECT_FALSE(e.function({FunctionKind::kSin}, 0).has_value());
  EXPECT_FALSE(e.function({FunctionKind::kSqrt}, 0).has_value());
}

// Cells do not reach from one large value of a parabola to the other.
TEST(CompositeFunctions, ParabolasAreTight) {
  Expression e;
  Function f{FunctionKind::kComposite};
  f.composite =
      bf_aot::Composite::of(e.parts(e.sum(e.product(0, 0), e.line(0, {-1, 0}, {}))).steps);
  ASSERT_NE(f.composite, nullptr);
  const Held held(f);
  for (const auto& [low, high, least, most] : {std::array{0.0, 1.0, -0.25, 0.0},
                                               {-3.0, 2.0, -0.25, 12.0},
                                               {0.5, 100.0, -0.25, 9900.0},
                                               {-1e6, 3.0, -0.25, 1e12 + 1e6}}) {
    const FunctionRange range = bf::bound_function(held.view(), low, high);
    EXPECT_NEAR(range.low, least, 1e-6);
    EXPECT_NEAR(range.high, most, 1e-6 * (1 + most));
  }
}

// Far out, a side's values or a power in them are beyond all floats.
TEST(CompositeFunctions, SidesBeyondTheFloats) {
  Expression e;
  const int cubic = e.sum(e.product(e.product(0, 0), 0), e.line(0, {-2, 0}, {}));
  const bf_aot::Composite* const f = bf_aot::Composite::of(e.parts(cubic).steps);
  ASSERT_NE(f, nullptr);
  const auto& left = f->parts().front();
  const auto& right = f->parts().back();
  EXPECT_EQ(left.kind, bf_aot::CompositePart::Kind::kBeyond);
  EXPECT_LE(left.high, -0x1p129);
  EXPECT_EQ(right.kind, bf_aot::CompositePart::Kind::kBeyond);
  EXPECT_GE(right.low, 0x1p129);
  EXPECT_LT(right.start, 0x1p45);
  EXPECT_EQ(f->degree(), 3);

  const int wing = e.product(0, apply(e, FunctionKind::kExp, 0));
  const bf_aot::Composite* const g = bf_aot::Composite::of(e.parts(wing).steps);
  ASSERT_NE(g, nullptr);
  EXPECT_EQ(g->parts().front().kind, bf_aot::CompositePart::Kind::kLine);
  EXPECT_EQ(g->parts().back().kind, bf_aot::CompositePart::Kind::kBeyond);
  EXPECT_GE(g->parts().back().start, 89);
  EXPECT_LT(g->parts().back().start, 110);
}

}  // namespace
}  // namespace bf_test
