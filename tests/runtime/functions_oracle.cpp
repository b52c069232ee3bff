#include "tests/runtime/functions_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/functions/function_facts.h"

namespace bf_test {

namespace {

using bf_aot::Function;
using bf_aot::FunctionKind;

Number nan_number() {
  return Number(std::numeric_limits<double>::quiet_NaN());
}

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
Number operator-(const Number& a, const Number& b) {
  Number y;
  mpfr_sub(y, a, b, MPFR_RNDN);
  return y;
}
Number operator*(const Number& a, const Number& b) {
  Number y;
  mpfr_mul(y, a, b, MPFR_RNDN);
  return y;
}
Number operator/(const Number& a, const Number& b) {
  Number y;
  mpfr_div(y, a, b, MPFR_RNDN);
  return y;
}

Number smaller(const Number& a, const Number& b) {
  return mpfr_cmp(a, b) < 0 ? a : b;
}
Number larger(const Number& a, const Number& b) {
  return mpfr_cmp(a, b) < 0 ? b : a;
}

Number one() {
  return Number(1);
}

Number logistic(const Number& x) {
  return one() / (one() + made_by(mpfr_exp, Number(0) - x));
}

Number softplus(const Number& x) {
  if (mpfr_cmp_si(x, 1000) > 0) return x + made_by(mpfr_exp, Number(0) - x);
  return made_by(mpfr_log1p, made_by(mpfr_exp, x));
}

// Ties to even of x / a, decided without rounding: 2 x against an odd multiple of a.
Number rounded(const Number& x, double a) {
  Number y;
  mpfr_div(y, x, Number(a), MPFR_RNDN);
  mpfr_rint_floor(y, y, MPFR_RNDN);
  for (int i = 0; i < 2; ++i) {
    const Number twice = x + x;
    const Number upper = (y + y + one()) * Number(a);
    const int order = mpfr_cmp(twice, upper);
    Number half = y / Number(2);
    const bool odd = mpfr_integer_p(static_cast<mpfr_srcptr>(half)) == 0;
    if (order > 0 || (order == 0 && odd)) y = y + one();
  }
  return y;
}

Number line_or_step(const Function& f, double xd) {
  const Number x(xd);
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
      return xd < 0 ? Number(f.a) * x : x;
    case FunctionKind::kAbs:
      return Number(std::fabs(xd));
    case FunctionKind::kClip:
      return smaller(larger(x, Number(f.a)), Number(f.b));
    case FunctionKind::kHardSigmoid:
      return smaller(larger(Number(f.a) * x + Number(f.b), Number(0)), one());
    case FunctionKind::kThresholdedRelu:
      return xd > f.a ? x : Number(0);
    case FunctionKind::kShrink:
      return xd < -f.a ? x + Number(f.b) : xd > f.a ? x - Number(f.b) : Number(0);
    case FunctionKind::kSign:
      return Number(xd > 0 ? 1 : xd < 0 ? -1 : 0);
    case FunctionKind::kStep:
      return Number(xd > 0 ? 1 : 0);
    case FunctionKind::kStepAt:
      return Number(xd >= 0 ? 1 : 0);
    case FunctionKind::kFloor:
      return Number(std::floor(xd));
    case FunctionKind::kCeil:
      return Number(std::ceil(xd));
    case FunctionKind::kRound:
      return rounded(x, f.a);
    case FunctionKind::kQuantise:
      return smaller(larger(rounded(x, f.a), Number(f.b)), Number(f.c));
    case FunctionKind::kIsZero:
      return Number(xd == 0 ? 1 : 0);
    default:
      return nan_number();
  }
}

Number elu(const Number& a, const Number& scale, const Number& x) {
  return a * made_by(mpfr_expm1, x / scale);
}

Number gelu(const Number& x) {
  const Number root = made_by(mpfr_sqrt, Number(2));
  return x / Number(2) * made_by(mpfr_erfc, Number(0) - x / root);
}

Number gelu_tanh(const Number& x) {
  Number pi;
  mpfr_const_pi(pi, MPFR_RNDN);
  const Number root = made_by(mpfr_sqrt, Number(2) / pi);
  const Number u = root * (x + Number(44715) / Number(1000000) * x * x * x);
  return x * logistic(Number(2) * u);
}

Number power(const Number& x, double a) {
  Number y;
  mpfr_pow(y, x, Number(a), MPFR_RNDN);
  return y;
}

Number smooth(const Function& f, double xd) {
  const Number x(xd);
  switch (f.kind) {
    case FunctionKind::kSigmoid:
      return logistic(x);
    case FunctionKind::kTanh:
      return made_by(mpfr_tanh, x);
    case FunctionKind::kSoftplus:
      return softplus(x);
    case FunctionKind::kSoftsign:
      return x / (one() + Number(std::fabs(xd)));
    case FunctionKind::kElu:
      return xd < 0 ? elu(Number(f.a), one(), x) : x;
    case FunctionKind::kCelu:
      return larger(x, Number(0)) + smaller(Number(0), elu(Number(f.a), Number(f.a), x));
    case FunctionKind::kSelu:
      return Number(f.b) * (xd < 0 ? elu(Number(f.a), one(), x) : x);
    case FunctionKind::kHardSwish:
      return x * smaller(larger(x / Number(6) + Number(0.5), Number(0)), one());
    case FunctionKind::kGelu:
      return gelu(x);
    case FunctionKind::kGeluTanh:
      return gelu_tanh(x);
    case FunctionKind::kMish:
      return x * made_by(mpfr_tanh, softplus(x));
    case FunctionKind::kErf:
      return made_by(mpfr_erf, x);
    case FunctionKind::kExp:
      return made_by(mpfr_exp, x);
    case FunctionKind::kCappedExp:
      return made_by(mpfr_exp, smaller(x, Number(f.a)));
    case FunctionKind::kSin:
      return made_by(mpfr_sin, x);
    case FunctionKind::kCos:
      return made_by(mpfr_cos, x);
    case FunctionKind::kAtan:
      return made_by(mpfr_atan, x);
    case FunctionKind::kSinh:
      return made_by(mpfr_sinh, x);
    case FunctionKind::kCosh:
      return made_by(mpfr_cosh, x);
    case FunctionKind::kAsinh:
      return made_by(mpfr_asinh, x);
    case FunctionKind::kLog:
      return xd > 0 ? made_by(mpfr_log, x) : nan_number();
    case FunctionKind::kSqrt:
      return xd >= 0 ? made_by(mpfr_sqrt, x) : nan_number();
    case FunctionKind::kReciprocal:
      return xd != 0 ? one() / x : nan_number();
    case FunctionKind::kPower:
      return xd == 0 && f.a < 0 ? nan_number() : power(x, f.a);
    case FunctionKind::kTan:
      return made_by(mpfr_tan, x);
    case FunctionKind::kAsin:
      return made_by(mpfr_asin, x);
    case FunctionKind::kAcos:
      return made_by(mpfr_acos, x);
    case FunctionKind::kAcosh:
      return made_by(mpfr_acosh, x);
    case FunctionKind::kAtanh:
      return std::fabs(xd) < 1 ? made_by(mpfr_atanh, x) : nan_number();
    default:
      return nan_number();
  }
}

}  // namespace

Number exact_value(const Function& function, double x) {
  return bf_aot::is_piecewise_linear(function.kind) ? line_or_step(function, x)
                                                    : smooth(function, x);
}

int infinite_limit(const Function& function, double x, double low, double high) {
  const bool first = x == low && low < high, last = x == high && low < high;
  const double power = function.kind == FunctionKind::kReciprocal ? -1 : function.a;
  const bool even = std::fmod(power, 2) == 0;
  switch (function.kind) {
    case FunctionKind::kLog:
      return x == 0 && x == low ? -1 : 0;
    case FunctionKind::kReciprocal:
    case FunctionKind::kPower:
      if (x != 0 || power >= 0) return 0;
      if (std::floor(power) != power || std::fabs(power) > 32) return x == low ? 1 : 0;
      if (even) return low < high ? 1 : 0;  // on both sides
      return first ? 1 : last ? -1 : 0;
    case FunctionKind::kAtanh:
      if (std::fabs(x) != 1) return 0;
      return x < 0 && x == low ? -1 : x > 0 && x == high && low > -1 ? 1 : 0;
    default:
      return 0;
  }
}

bool holds(const std::vector<std::pair<double, double>>& products, const Number& f, bool exact,
           int side) {
  mpfr_t sum, product;
  mpfr_init2(sum, 6400);  // every double is a multiple of 2^-1074 and below 2^1024
  mpfr_init2(product, 106);
  mpfr_set_zero(sum, 1);
  for (const auto& [a, b] : products) {
    mpfr_set_d(product, a, MPFR_RNDN);
    mpfr_mul_d(product, product, b, MPFR_RNDN);
    mpfr_add(sum, sum, product, MPFR_RNDN);
  }
  Number margin;
  if (!exact) {
    mpfr_abs(margin, f, MPFR_RNDU);
    mpfr_div_2ui(margin, margin, 300, MPFR_RNDU);
  }
  mpfr_sub(sum, sum, f, MPFR_RNDN);
  if (side < 0) mpfr_neg(sum, sum, MPFR_RNDN);
  mpfr_add(sum, sum, margin, MPFR_RNDU);
  const bool good = mpfr_nan_p(sum) == 0 && mpfr_sgn(sum) >= 0;
  mpfr_clear(product);
  mpfr_clear(sum);
  return good;
}

Held::Held(const Function& function) : table_(bf_aot::make_function_table(function)) {
  for (const bf_aot::TableRun& run : table_.runs)
    runs_.push_back({static_cast<bf::FunctionRunKind>(run.kind), run.open, run.cell, run.cells,
                     run.start, run.start_low, run.start_high, run.end_low, run.end_high, run.slack,
                     run.intercept, run.slope, run.turn_from, run.turn_to, run.turn});
  view_ = {static_cast<bf::FunctionViewForm>(table_.form),
           table_.monotone,
           table_.exponent,
           table_.degree,
           table_.cells(),
           static_cast<int>(runs_.size()),
           table_.starts.data(),
           table_.coefficients.data(),
           table_.errors.data(),
           table_.slope_errors.data(),
           runs_.data(),
           table_.step,
           table_.first_octave,
           table_.octaves,
           table_.scales.empty() ? nullptr : table_.scales.data(),
           table_.below_low,
           table_.below_high,
           table_.above_low,
           table_.above_high,
           function.least,
           function.most,
           table_.wave,
           table_.lowest,
           table_.highest,
           table_.slack};
}

std::vector<Function> functions_to_test() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Function> list;
  using Kind = FunctionKind;
  for (const bf_aot::FunctionFacts& facts : bf_aot::function_facts())
    list.push_back({facts.kind, facts.sample.a, facts.sample.b, facts.sample.c});
  for (double a : {1.5, -0.25}) list.push_back({Kind::kLeakyRelu, a, 0});
  for (double a : {-600.0, 0.0, 87.0, 690.0}) list.push_back({Kind::kCappedExp, a, 0});
  list.push_back({Kind::kClip, 0, 6});
  list.push_back({Kind::kClip, -inf, 0.1});
  list.push_back({Kind::kClip, 0.3, inf});
  list.push_back({Kind::kClip, -inf, inf});
  list.push_back({Kind::kClip, 2, 1});
  list.push_back({Kind::kHardSigmoid, static_cast<double>(0.2f), 0.5});
  list.push_back({Kind::kHardSigmoid, 1.0 / 6, 0.5});
  list.push_back({Kind::kHardSigmoid, -0.7, 0.1});
  list.push_back({Kind::kHardSigmoid, 0, 0.4});
  list.push_back({Kind::kThresholdedRelu, 1, 0});
  list.push_back({Kind::kThresholdedRelu, -0.5, 0});
  list.push_back({Kind::kShrink, 0.5, 0});
  list.push_back({Kind::kShrink, 1.5, 0.3});
  list.push_back({Kind::kShrink, -0.5, 0.25});
  for (double a : {1.0, 0.1, 0.00784313771873712540}) list.push_back({Kind::kRound, a, 0});
  list.push_back({Kind::kQuantise, 0.1, -7, 7});
  list.push_back({Kind::kQuantise, 0.25, 2, 2});
  list.push_back({Kind::kQuantise, 0.00784313771873712540, 0, 255});
  list.push_back({Kind::kQuantise, 1, -inf, 3});
  list.push_back({Kind::kQuantise, 0.1, 0, inf});
  for (double a : {0.5, 2.0, -0.5, 0.0}) list.push_back({Kind::kElu, a, 0});
  for (double a : {1.0, 0.3, 2.0}) list.push_back({Kind::kCelu, a, 0});
  list.push_back({Kind::kSelu, 1.67326319217681884765625, 1.05070102214813232421875});
  for (double a : {0.0, 1.0, 2.0, 4.0, 7.0, -1.0, -2.0, -3.0, 0.5, 1.0 / 3, 2.5, -0.5, 40.0})
    list.push_back({Kind::kPower, a, 0});
  return list;
}

std::vector<double> special_points(const bf_aot::FunctionTable& table) {
  std::vector<double> points{0, 1, -1, 0.5, -0.5, 3, -3, 1e-3, -1e-3, 1e-20, -1e-20, 40, -40, 1e6};
  const auto add = [&](double x) {
    if (!std::isfinite(x)) return;
    points.push_back(x);
    points.push_back(bf::next_up(x));
    points.push_back(bf::next_down(x));
  };
  for (const bf_aot::TableRun& run : table.runs) add(run.start);
  if (table.form == bf_aot::FunctionForm::kCells)
    for (std::size_t i = 0; i < table.starts.size(); i += table.starts.size() / 16 + 1)
      add(table.starts[i]);
  for (double x : {2.5, 0.05, 0.35}) add(x);
  // Next to ties of x / step, some of them exact.
  if (table.form == bf_aot::FunctionForm::kRound)
    for (int n = -25; n < 25; ++n) add((2 * n + 1) * table.step / 2);
  std::sort(points.begin(), points.end());
  return points;
}

}  // namespace bf_test
