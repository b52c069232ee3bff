#include "frontend/functions/function_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/functions/long_real.h"

namespace bf_aot {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- Values in double

double finite_or_nan(double y) {
  return std::isfinite(y) ? y : kNan;
}

// std::remainder is exact, so that ties are decided by x / a itself, not by its rounded value.
double round_quotient(double x, double a) {
  const double rest = std::remainder(x, a);
  return std::isfinite(x) ? std::nearbyint((x - rest) / a) : x / a;
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

// tanh(ln(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2)
double mish(double x) {
  if (x > 30) return x;
  const double e = std::exp(x);
  return x * (e * (e + 2) / (e * (e + 2) + 2));
}

double gelu_tanh(double x) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  const double u = kSqrt2OverPi * (x + 0.044715 * x * x * x);
  return x * sigmoid(2 * u);
}

// ---- Rational values

mpq_class floor_of(const mpq_class& x) {
  mpz_class quotient;
  mpz_fdiv_q(quotient.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return quotient;
}

// The nearest integer, ties to even.
mpq_class round_of(const mpq_class& x) {
  const mpq_class half(1, 2);
  const mpq_class below = floor_of(x);
  if (x - below != half) return floor_of(x + half);
  return mpz_even_p(below.get_num_mpz_t()) != 0 ? below : mpq_class(below + 1);
}

mpq_class clip(const mpq_class& x, double low, double high) {
  if (high < low) return high;
  if (low > -kInf && x < low) return low;
  if (high < kInf && x > high) return high;
  return x;
}

mpq_class shrink(const mpq_class& x, double a, double b) {
  if (x < -a) return x + b;
  return x > a ? mpq_class(x - b) : mpq_class(0);
}

// ---- Values in 1024 bits

LongReal exp(const LongReal& x) {
  return LongReal::unary(mpfr_exp, x);
}

LongReal expm1(const LongReal& x) {
  return LongReal::unary(mpfr_expm1, x);
}

// max(x, 0) + ln(1 + e^-|x|), whose exponential is always a number: e^x itself is beyond MPFR's
// exponents from 7.5e8 on.
LongReal softplus(const LongReal& x) {
  if (x < 0) return LongReal::unary(mpfr_log1p, exp(x));
  return x + LongReal::unary(mpfr_log1p, exp(LongReal(0) - x));
}

LongReal gelu(const LongReal& x) {
  const LongReal u = x / LongReal::unary(mpfr_sqrt, LongReal(2));
  return x / 2 * (LongReal(1) + LongReal::unary(mpfr_erf, u));
}

LongReal gelu_tanh(const LongReal& x) {
  const LongReal scale = LongReal::unary(mpfr_sqrt, LongReal(2) / LongReal::pi());
  const LongReal cubic = x + LongReal(44715) / LongReal(1000000) * x * x * x;
  return x / 2 * (LongReal(1) + LongReal::unary(mpfr_tanh, scale * cubic));
}

// A function of MPFR's.
template <int (*kOperation)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
LongReal mpfr(const Function&, const LongReal& x) {
  return LongReal::unary(kOperation, x);
}

// A function of C's.
template <double (*kOperation)(double)>
double plain(const Function&, double x) {
  return kOperation(x);
}

// ---- Domains

FunctionDomain everywhere(const Function&) {
  return {};
}

FunctionDomain positive(const Function&) {
  return {.low = 0, .ends = false};
}

FunctionDomain not_zero(const Function&) {
  return {.zero = false};
}

FunctionDomain unit_ball(const Function&) {
  return {.low = -1, .high = 1};
}

FunctionDomain power_domain(const Function& f) {
  if (std::floor(f.a) != f.a) return positive(f);
  return f.a >= 0 ? everywhere(f) : not_zero(f);
}

// ---- Monotony

Monotony none(const Function&) {
  return Monotony::kNone;
}

Monotony rises(const Function&) {
  return Monotony::kRises;
}

Monotony each_side(const Function&) {
  return Monotony::kEachSide;
}

Monotony rises_unless_a_falls(const Function& f) {
  return f.a >= 0 ? Monotony::kRises : Monotony::kNone;
}

Monotony rises_or_falls_with_a(const Function& f) {
  return f.a >= 0 ? Monotony::kRises : Monotony::kFalls;
}

// ---- Steepness and size

template <int kNumerator, int kDenominator = 1>
double slope(const Function&) {
  return static_cast<double>(kNumerator) / kDenominator;
}

double one_or_a(const Function& f) {
  return std::max(1.0, std::abs(f.a));
}

double one(const Function&, double) {
  return 1;
}

double one_more(const Function&, double m) {
  return m + 1;
}

bool everywhere_shown(const Function&, double) {
  return true;
}

// ---- The table

using F = const Function&;
using Q = const mpq_class&;
using L = const LongReal&;

// A row for each kind, in the order of the enumeration.
constexpr std::array<FunctionFacts, kFunctionKinds> kFacts = {{
    {.kind = FunctionKind::kLeakyRelu,
     .name = "leaky_relu",
     .parameters = 1,
     .from = {"LeakyRelu", {"alpha", 0.01F}, {}},
     .value = [](F f, double x) { return x < 0 ? f.a * x : x; },
     .rational = [](F f, Q x) { return x < 0 ? mpq_class(x * f.a) : x; },
     .domain = everywhere,
     .monotony = rises_unless_a_falls,
     .strict = true,
     .breaks = Breaks::kZero,
     .lipschitz = one_or_a},
    {.kind = FunctionKind::kAbs,
     .name = "abs",
     .from = {"Abs", {}, {}},
     .value = [](F, double x) { return std::fabs(x); },
     .rational = [](F, Q x) -> mpq_class { return abs(x); },
     .domain = everywhere,
     .monotony = none,
     .breaks = Breaks::kZero,
     .lipschitz = slope<1>,
     .magnitude = [](F, double m) { return m; }},
    {.kind = FunctionKind::kClip,
     .name = "clip",
     .parameters = 2,
     .value = [](F f, double x) { return std::min(std::max(x, f.a), f.b); },
     .rational = [](F f, Q x) { return clip(x, f.a, f.b); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kAB,
     .magnitude = [](F f, double) { return std::max(std::abs(f.a), std::abs(f.b)); }},
    {.kind = FunctionKind::kHardSigmoid,
     .name = "hard_sigmoid",
     .parameters = 2,
     .from = {"HardSigmoid", {"alpha", 0.2F}, {"beta", 0.5F}},
     .value = [](F f, double x) { return std::min(std::max(f.a * x + f.b, 0.0), 1.0); },
     .rational = [](F f, Q x) { return clip(x * f.a + f.b, 0, 1); },
     .domain = everywhere,
     .monotony = rises_or_falls_with_a,
     .breaks = Breaks::kUnit},
    {.kind = FunctionKind::kThresholdedRelu,
     .name = "thresholded_relu",
     .parameters = 1,
     .from = {"ThresholdedRelu", {"alpha", 1}, {}},
     .value = [](F f, double x) { return x > f.a ? x : 0; },
     .rational = [](F f, Q x) { return x > f.a ? x : mpq_class(0); },
     .domain = everywhere,
     .monotony = rises_unless_a_falls,
     .breaks = Breaks::kA},
    {.kind = FunctionKind::kShrink,
     .name = "shrink",
     .parameters = 2,
     .from = {"Shrink", {"lambd", 0.5F}, {"bias", 0}},
     .value = [](F f, double x) { return x < -f.a  ? x + f.b
                                         : x > f.a ? x - f.b
                                                   : 0; },
     .rational = [](F f, Q x) { return shrink(x, f.a, f.b); },
     .domain = everywhere,
     .monotony = none,
     .breaks = Breaks::kPlusMinus},

    {.kind = FunctionKind::kSign,
     .name = "sign",
     .from = {"Sign", {}, {}},
     .value = [](F, double x) -> double { return x > 0   ? 1
                                                 : x < 0 ? -1
                                                         : 0; },
     .rational = [](F, Q x) -> mpq_class { return sgn(x); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one},
    {.kind = FunctionKind::kStep,
     .name = "step",
     .value = [](F, double x) -> double { return x > 0 ? 1 : 0; },
     .rational = [](F, Q x) -> mpq_class { return x > 0 ? 1 : 0; },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one},
    {.kind = FunctionKind::kStepAt,
     .name = "step_at",
     .value = [](F, double x) -> double { return x >= 0 ? 1 : 0; },
     .rational = [](F, Q x) -> mpq_class { return x >= 0 ? 1 : 0; },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one},
    {.kind = FunctionKind::kFloor,
     .name = "floor",
     .from = {"Floor", {}, {}},
     .value = [](F, double x) { return std::floor(x); },
     .rational = [](F, Q x) { return floor_of(x); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kIntegers,
     .integers = true,
     .magnitude = one_more},
    {.kind = FunctionKind::kCeil,
     .name = "ceil",
     .from = {"Ceil", {}, {}},
     .value = [](F, double x) { return std::ceil(x); },
     .rational = [](F, Q x) -> mpq_class { return -floor_of(-x); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kIntegers,
     .integers = true,
     .magnitude = one_more},
    {.kind = FunctionKind::kRound,
     .name = "round",
     .parameters = 1,
     .from = {"Round", {"", 1}, {}},
     .value = [](F f, double x) { return round_quotient(x, f.a); },
     .rational = [](F f, Q x) { return round_of(x / f.a); },
     .domain = everywhere,
     .monotony = rises_or_falls_with_a,
     .breaks = Breaks::kHalves,
     .integers = true,
     .magnitude = [](F f, double m) { return m / std::abs(f.a) + 1; }},
    {.kind = FunctionKind::kIsZero,
     .name = "is_zero",
     .value = [](F, double x) -> double { return x == 0 ? 1 : 0; },
     .rational = [](F, Q x) -> mpq_class { return x == 0 ? 1 : 0; },
     .domain = everywhere,
     .monotony = none,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one},

    {.kind = FunctionKind::kSigmoid,
     .name = "sigmoid",
     .values = {0, 1},
     .from = {"Sigmoid", {}, {}},
     .value = [](F, double x) { return sigmoid(x); },
     .real = [](F, L x) { return LongReal(1) / (LongReal(1) + exp(LongReal(0) - x)); },
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kTanh,
     .name = "tanh",
     .values = {-1, 1},
     .from = {"Tanh", {}, {}},
     .value = plain<std::tanh>,
     .real = mpfr<mpfr_tanh>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kSoftplus,
     .name = "softplus",
     .values = {.low = 0},
     .from = {"Softplus", {}, {}},
     .value = [](F, double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); },
     .real = [](F, L x) { return softplus(x); },
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kSoftsign,
     .name = "softsign",
     .values = {-1, 1},
     .from = {"Softsign", {}, {}},
     .value = [](F, double x) { return x / (1 + std::fabs(x)); },
     .real = [](F, L x) { return x / (LongReal(1) + LongReal::unary(mpfr_abs, x)); },
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .shows_exactly = everywhere_shown},
    {.kind = FunctionKind::kElu,
     .name = "elu",
     .parameters = 1,
     .from = {"Elu", {"alpha", 1}, {}},
     .value = [](F f, double x) { return x < 0 ? f.a * std::expm1(x) : x; },
     .real = [](F f, L x) { return x < 0 ? LongReal(f.a) * expm1(x) : x; },
     .domain = everywhere,
     .monotony = rises_unless_a_falls,
     .strict = true,
     .lipschitz = one_or_a},
    {.kind = FunctionKind::kCelu,
     .name = "celu",
     .parameters = 1,
     .from = {"Celu", {"alpha", 1, true}, {}},
     .value = [](F f,
                 double x) { return std::max(x, 0.0) + std::min(0.0, f.a * std::expm1(x / f.a)); },
     .real = [](F f, L x) { return x < 0 ? LongReal(f.a) * expm1(x / f.a) : x; },
     .domain = everywhere,
     .monotony = [](F f) { return f.a > 0 ? Monotony::kRises : Monotony::kNone; },
     .strict = true},
    {.kind = FunctionKind::kSelu,
     .name = "selu",
     .parameters = 2,
     .from = {"Selu",
              {"alpha", 1.67326319217681884765625, false, 6, 1.6732F},
              {"gamma", 1.05070102214813232421875, false, 6, 1.0507F}},
     .value = [](F f, double x) { return f.b * (x < 0 ? f.a * std::expm1(x) : x); },
     .real = [](F f, L x) { return LongReal(f.b) * (x < 0 ? LongReal(f.a) * expm1(x) : x); },
     .domain = everywhere,
     .monotony = [](F f) { return f.a >= 0 && f.b >= 0 ? Monotony::kRises : Monotony::kNone; },
     .strict = true},
    {.kind = FunctionKind::kHardSwish,
     .name = "hard_swish",
     .from = {"HardSwish", {}, {}},
     .value = [](F, double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); },
     .real = [](F, L x) { return x < -3  ? LongReal(0)
                                 : x < 3 ? x * (x + 3) / 6
                                         : x; },
     .domain = everywhere,
     .monotony = none,
     .lipschitz = slope<3, 2>,  // at 3
     .shows_exactly = everywhere_shown},
    {.kind = FunctionKind::kGelu,
     .name = "gelu",
     .value = [](F, double x) { return x / 2 * std::erfc(-x * 0.70710678118654752440); },
     .real = [](F, L x) { return gelu(x); },
     .domain = everywhere,
     .monotony = none,
     .lipschitz = slope<5, 4>},  // 1.129 at the steepest
    {.kind = FunctionKind::kGeluTanh,
     .name = "gelu_tanh",
     .value = [](F, double x) { return gelu_tanh(x); },
     .real = [](F, L x) { return gelu_tanh(x); },
     .domain = everywhere,
     .monotony = none,
     .lipschitz = slope<5, 4>},  // 1.130 at the steepest
    {.kind = FunctionKind::kMish,
     .name = "mish",
     .from = {"Mish", {}, {}},
     .value = [](F, double x) { return mish(x); },
     .real = [](F, L x) { return x * LongReal::unary(mpfr_tanh, softplus(x)); },
     .domain = everywhere,
     .monotony = none,
     .lipschitz = slope<5, 4>},  // 1.089 at the steepest
    {.kind = FunctionKind::kErf,
     .name = "erf",
     .values = {-1, 1},
     .from = {"Erf", {}, {}},
     .value = plain<std::erf>,
     .real = mpfr<mpfr_erf>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kExp,
     .name = "exp",
     .values = {.low = 0},
     .from = {"Exp", {}, {}},
     .value = plain<std::exp>,
     .real = mpfr<mpfr_exp>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kSin,
     .name = "sin",
     .values = {-1, 1},
     .from = {"Sin", {}, {}},
     .value = plain<std::sin>,
     .real = mpfr<mpfr_sin>,
     .domain = everywhere,
     .monotony = none,
     .wave = true,
     .lipschitz = slope<1>},
    {.kind = FunctionKind::kCos,
     .name = "cos",
     .values = {-1, 1},
     .from = {"Cos", {}, {}},
     .value = plain<std::cos>,
     .real = mpfr<mpfr_cos>,
     .domain = everywhere,
     .monotony = none,
     .wave = true,
     .lipschitz = slope<1>},
    {.kind = FunctionKind::kAtan,
     .name = "atan",
     .from = {"Atan", {}, {}},
     .value = plain<std::atan>,
     .real = mpfr<mpfr_atan>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kSinh,
     .name = "sinh",
     .from = {"Sinh", {}, {}},
     .value = plain<std::sinh>,
     .real = mpfr<mpfr_sinh>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kCosh,
     .name = "cosh",
     .values = {.low = 1},
     .from = {"Cosh", {}, {}},
     .value = plain<std::cosh>,
     .real = mpfr<mpfr_cosh>,
     .domain = everywhere,
     .monotony = each_side},
    {.kind = FunctionKind::kAsinh,
     .name = "asinh",
     .from = {"Asinh", {}, {}},
     .value = plain<std::asinh>,
     .real = mpfr<mpfr_asinh>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true},

    {.kind = FunctionKind::kLog,
     .name = "log",
     .from = {"Log", {}, {}},
     .value = [](F, double x) { return x > 0 ? std::log(x) : kNan; },
     .real = mpfr<mpfr_log>,
     .domain = positive,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kSqrt,
     .name = "sqrt",
     .values = {.low = 0},
     .from = {"Sqrt", {}, {}},
     .value = [](F, double x) { return x >= 0 ? std::sqrt(x) : kNan; },
     .real = mpfr<mpfr_sqrt>,
     .domain = [](F) { return FunctionDomain{.low = 0}; },
     .monotony = rises,
     .strict = true,
     .shows_exactly = everywhere_shown},
    {.kind = FunctionKind::kReciprocal,
     .name = "reciprocal",
     .from = {"Reciprocal", {}, {}},
     .value = [](F, double x) { return x != 0 ? 1 / x : kNan; },
     .real = [](F, L x) { return LongReal(1) / x; },
     .domain = not_zero,
     .monotony = each_side,
     .shows_exactly = everywhere_shown},
    {.kind = FunctionKind::kPower,
     .name = "power",
     .parameters = 1,
     .value = [](F f, double x) { return x == 0 && f.a < 0 ? kNan : std::pow(x, f.a); },
     .real = [](F f, L x) { return LongReal::binary(mpfr_pow, x, LongReal(f.a)); },
     .domain = power_domain,
     .monotony = each_side,
     // A power of one number of 53 bits, or the square root of one.
     .shows_exactly = [](F f,
                         double) { return std::abs(f.a) <= 16 && std::floor(2 * f.a) == 2 * f.a; }},
    {.kind = FunctionKind::kTan,
     .name = "tan",
     .from = {"Tan", {}, {}},
     .value = plain<std::tan>,
     .real = mpfr<mpfr_tan>,
     .domain = [](F) { return FunctionDomain{.poles = true}; },
     .monotony = none},
    {.kind = FunctionKind::kAsin,
     .name = "asin",
     .from = {"Asin", {}, {}},
     .value = plain<std::asin>,
     .real = mpfr<mpfr_asin>,
     .domain = unit_ball,
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kAcos,
     .name = "acos",
     .values = {.low = 0},
     .from = {"Acos", {}, {}},
     .value = plain<std::acos>,
     .real = mpfr<mpfr_acos>,
     .domain = unit_ball,
     .monotony = [](F) { return Monotony::kFalls; }},
    {.kind = FunctionKind::kAcosh,
     .name = "acosh",
     .values = {.low = 0},
     .from = {"Acosh", {}, {}},
     .value = [](F, double x) { return x >= 1 ? std::acosh(x) : kNan; },
     .real = mpfr<mpfr_acosh>,
     .domain = [](F) { return FunctionDomain{.low = 1}; },
     .monotony = rises,
     .strict = true},
    {.kind = FunctionKind::kAtanh,
     .name = "atanh",
     .from = {"Atanh", {}, {}},
     .value = [](F, double x) { return finite_or_nan(std::atanh(x)); },
     .real = mpfr<mpfr_atanh>,
     .domain = [](F) { return FunctionDomain{.low = -1, .high = 1, .ends = false}; },
     .monotony = rises,
     .strict = true},
}};

constexpr bool is_complete(const FunctionFacts& row) {
  return !row.name.empty() && row.value != nullptr && row.domain != nullptr &&
         row.monotony != nullptr && (row.rational == nullptr) != (row.real == nullptr) &&
         (row.rational == nullptr) == (row.breaks == Breaks::kNone);
}

constexpr bool each_kind_has_its_row() {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].kind != static_cast<FunctionKind>(i) || !is_complete(kFacts[i])) return false;
  return true;
}
static_assert(each_kind_has_its_row(), "a FunctionKind without its row, or a row with a gap");

}  // namespace

const FunctionFacts& facts_of(FunctionKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  BF_CHECK(index < kFacts.size());
  return kFacts[index];
}

const FunctionFacts* facts_of_operator(std::string_view op_type) {
  const auto* const found = std::find_if(kFacts.begin(), kFacts.end(), [&](const auto& row) {
    return !op_type.empty() && row.from.type == op_type;
  });
  return found == kFacts.end() ? nullptr : found;
}

}  // namespace bf_aot
