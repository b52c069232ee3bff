#include "frontend/functions/function_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/functions/composite/branches.h"
#include "frontend/functions/composite/far.h"
#include "frontend/functions/composite/values.h"
#include "frontend/functions/function_values.h"
#include "frontend/functions/interval.h"
#include "frontend/functions/long_real.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {
namespace {

using enum FunctionKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- Values

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

double largest_code(const Function& f, double m) {
  const double rounded = m / f.a + 1 + f.slack;
  return std::max(std::isfinite(f.b) ? std::abs(f.b) : rounded,
                  std::isfinite(f.c) ? std::abs(f.c) : rounded);
}

// The quotient, then codes.
double largest_on_the_way(const Function& f, double m) {
  return std::max(float32::most::round(f, m), largest_code(f, m));
}

bool everywhere_shown(const Function&, double) {
  return true;
}

// ---- Slopes of secants

namespace slopes {

std::optional<SecantSlopes> unknown(const Function&) {
  return std::nullopt;
}

std::optional<SecantSlopes> everywhere(SlopeRange range) {
  return SecantSlopes{range, range};
}

template <int kLeast, int kMost, int kDenominator = 1>
std::optional<SecantSlopes> within(const Function&) {
  return everywhere({kLeast, static_cast<double>(kMost) / kDenominator});
}

std::optional<SecantSlopes> abs(const Function&) {
  return SecantSlopes{{-1, -1}, {1, 1}};
}

std::optional<SecantSlopes> leaky_relu(const Function& f) {
  return SecantSlopes{{f.a, f.a}, {1, 1}};
}

std::optional<SecantSlopes> hard_sigmoid(const Function& f) {
  return everywhere({std::min(0.0, f.a), std::max(0.0, f.a)});
}

// a e^x on the left.
std::optional<SecantSlopes> elu(const Function& f) {
  return SecantSlopes{{std::min(0.0, f.a), std::max(0.0, f.a)}, {1, 1}};
}

// e^(x / a) on the left.
std::optional<SecantSlopes> celu(const Function& f) {
  if (f.a <= 0) return std::nullopt;
  return SecantSlopes{{0, 1}, {1, 1}};
}

// a b e^x on the left.
std::optional<SecantSlopes> selu(const Function& f) {
  const Interval left = Interval(f.a) * Interval(f.b);
  return SecantSlopes{{std::min(0.0, double_below(left)), std::max(0.0, double_above(left))},
                      {f.b, f.b}};
}

// 2 / sqrt(pi) at 0.
std::optional<SecantSlopes> erf(const Function&) {
  return everywhere({0, 0x1.20dd750429b6ep0});
}

}  // namespace slopes

// ---- The table

using F = const Function&;
using Q = const mpq_class&;
using L = const LongReal&;
using T = FunctionTerms&;
using Term = FunctionTerms::Term;

// A row for each kind, in the order of the enumeration.
constexpr std::array<FunctionFacts, kFunctionKinds> kFacts = {{
    {.kind = kLeakyRelu,
     .name = "leaky_relu",
     .parameters = 1,
     .from = {"LeakyRelu", {"alpha", 0.01F}, {}},
     .value = [](F f, double x) { return x < 0 ? f.a * x : x; },
     .rational = [](F f, Q x) { return x < 0 ? mpq_class(x * f.a) : x; },
     .domain = everywhere,
     .monotony = rises_unless_a_falls,
     .strict = true,
     .breaks = Breaks::kZero,
     .lipschitz = one_or_a,
     .derivative = derivative::leaky_relu,
     .shape = {branches::leaky_relu, far::none, slopes::leaky_relu},
     .float32 = {float32::roundings<2>, float32::most::leaky_relu},
     .sample = {-4, 4, 0.01}},
    {.kind = kAbs,
     .name = "abs",
     .from = {"Abs", {}, {}},
     .value = [](F, double x) { return std::fabs(x); },
     .rational = [](F, Q x) -> mpq_class { return abs(x); },
     .domain = everywhere,
     .monotony = none,
     .breaks = Breaks::kZero,
     .lipschitz = slope<1>,
     .magnitude = [](F, double m) { return m; },
     .derivative = [](T t, F) { return t.unary(kSign, t.x()); },
     .shape = {branches::abs, far::none, slopes::abs},
     .float32 = {float32::exact, float32::most::same}},
    {.kind = kClip,
     .name = "clip",
     .parameters = 2,
     .value = [](F f, double x) { return std::min(std::max(x, f.a), f.b); },
     .rational = [](F f, Q x) { return values::clip(x, f.a, f.b); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kAB,
     .magnitude = [](F f, double) { return std::max(std::abs(f.a), std::abs(f.b)); },
     .derivative = [](T t, F f) { return f.a < f.b ? t.between(t.x(), f.a, f.b) : t.number(0); },
     .shape = {branches::clip, far::none, slopes::within<0, 1>},
     .float32 = {float32::exact, float32::most::clip},
     .sample = {-4, 4, -1, 2}},
    {.kind = kHardSigmoid,
     .name = "hard_sigmoid",
     .parameters = 2,
     .from = {"HardSigmoid", {"alpha", 0.2F}, {"beta", 0.5F}},
     .value = [](F f, double x) { return std::min(std::max(f.a * x + f.b, 0.0), 1.0); },
     .rational = [](F f, Q x) { return values::clip(x * f.a + f.b, 0, 1); },
     .domain = everywhere,
     .monotony = rises_or_falls_with_a,
     .breaks = Breaks::kUnit,
     .derivative = derivative::hard_sigmoid,
     .shape = {branches::none, far::none, slopes::hard_sigmoid},
     .float32 = {float32::hard_sigmoid, float32::most::hard_sigmoid},
     .sample = {-5, 5, 0.2, 0.5}},
    {.kind = kThresholdedRelu,
     .name = "thresholded_relu",
     .parameters = 1,
     .from = {"ThresholdedRelu", {"alpha", 1}, {}},
     .value = [](F f, double x) { return x > f.a ? x : 0; },
     .rational = [](F f, Q x) { return x > f.a ? x : mpq_class(0); },
     .domain = everywhere,
     .monotony = rises_unless_a_falls,
     .breaks = Breaks::kA,
     .derivative = [](T t, F f) { return f.a == 0 ? t.step(t.x()) : Term::kNone; },
     .shape = {branches::thresholded_relu, far::none, slopes::unknown},
     .float32 = {float32::exact, float32::most::same}},
    {.kind = kShrink,
     .name = "shrink",
     .parameters = 2,
     .from = {"Shrink", {"lambd", 0.5F}, {"bias", 0}},
     .value = [](F f, double x) { return x < -f.a  ? x + f.b
                                         : x > f.a ? x - f.b
                                                   : 0; },
     .rational = [](F f, Q x) { return values::shrink(x, f.a, f.b); },
     .domain = everywhere,
     .monotony = none,
     .breaks = Breaks::kPlusMinus,
     .derivative = derivative::shrink,
     .shape = {branches::shrink, far::none, slopes::unknown},
     .float32 = {float32::roundings<2>, float32::most::shrink},
     .sample = {-4, 4, 0.5, 0.5}},

    {.kind = kSign,
     .name = "sign",
     .values = {-1, 1},
     .from = {"Sign", {}, {}},
     .value = [](F, double x) -> double { return x > 0   ? 1
                                                 : x < 0 ? -1
                                                         : 0; },
     .rational = [](F, Q x) -> mpq_class { return sgn(x); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one,
     .shape = {branches::sign, far::none, slopes::unknown},
     .float32 = {float32::exact, one}},
    {.kind = kStep,
     .name = "step",
     .values = {0, 1},
     .value = [](F, double x) -> double { return x > 0 ? 1 : 0; },
     .rational = [](F, Q x) -> mpq_class { return x > 0 ? 1 : 0; },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one,
     .shape = {branches::step, far::none, slopes::unknown},
     .float32 = {float32::exact, one}},
    {.kind = kStepAt,
     .name = "step_at",
     .values = {0, 1},
     .value = [](F, double x) -> double { return x >= 0 ? 1 : 0; },
     .rational = [](F, Q x) -> mpq_class { return x >= 0 ? 1 : 0; },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one,
     .shape = {branches::step_at, far::none, slopes::unknown},
     .float32 = {float32::exact, one}},
    {.kind = kFloor,
     .name = "floor",
     .from = {"Floor", {}, {}},
     .value = [](F, double x) { return std::floor(x); },
     .rational = [](F, Q x) { return values::floor_of(x); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kIntegers,
     .integers = true,
     .magnitude = one_more,
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::exact, float32::most::plus_one}},
    {.kind = kCeil,
     .name = "ceil",
     .from = {"Ceil", {}, {}},
     .value = [](F, double x) { return std::ceil(x); },
     .rational = [](F, Q x) -> mpq_class { return -values::floor_of(-x); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kIntegers,
     .integers = true,
     .magnitude = one_more,
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::exact, float32::most::plus_one}},
    {.kind = kRound,
     .name = "round",
     .parameters = 1,
     .from = {"Round", {"", 1}, {}},
     .value = [](F f, double x) { return values::round_quotient(x, f.a); },
     .rational = [](F f, Q x) { return values::round_of(x / f.a); },
     .domain = everywhere,
     .monotony = rises_or_falls_with_a,
     .breaks = Breaks::kHalves,
     .integers = true,
     .magnitude = [](F f, double m) { return m / std::abs(f.a) + 1; },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::round, float32::most::round},
     .sample = {-4, 4, 0.5}},
    {.kind = kQuantise,
     .name = "quantise",
     .parameters = 3,
     .value = [](F f, double x) { return std::clamp(values::round_quotient(x, f.a), f.b, f.c); },
     .rational = [](F f, Q x) { return values::clip(values::round_of(x / f.a), f.b, f.c); },
     .domain = everywhere,
     .monotony = rises,
     .breaks = Breaks::kHalves,
     .integers = true,
     .magnitude = largest_code,
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::round, largest_on_the_way},
     .sample = {-4, 4, 0.5, -3, 5}},
    {.kind = kIsZero,
     .name = "is_zero",
     .values = {0, 1},
     .value = [](F, double x) -> double { return x == 0 ? 1 : 0; },
     .rational = [](F, Q x) -> mpq_class { return x == 0 ? 1 : 0; },
     .domain = everywhere,
     .monotony = none,
     .breaks = Breaks::kZero,
     .integers = true,
     .magnitude = one,
     .shape = {branches::is_zero, far::none, slopes::unknown},
     .float32 = {float32::exact, one}},

    {.kind = kSigmoid,
     .name = "sigmoid",
     .values = {0, 1},
     .from = {"Sigmoid", {}, {}},
     .value = [](F, double x) { return values::sigmoid(x); },
     .real = [](F, L x) { return LongReal(1) / (LongReal(1) + values::exp(LongReal(0) - x)); },
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = derivative::sigmoid,
     .shape = {branches::smooth, far::sigmoid, slopes::within<0, 1, 4>},
     .float32 = {float32::sigmoid, one},
     .sample = {-12, 12}},
    {.kind = kTanh,
     .name = "tanh",
     .values = {-1, 1},
     .from = {"Tanh", {}, {}},
     .value = plain<std::tanh>,
     .real = mpfr<mpfr_tanh>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return t.one_less_square(t.y()); },
     .shape = {branches::smooth, far::tanh, slopes::within<0, 1>},
     .float32 = {float32::by_library, one},
     .sample = {-8, 8}},
    {.kind = kSoftplus,
     .name = "softplus",
     .values = {.low = 0},
     .from = {"Softplus", {}, {}},
     .value = [](F, double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); },
     .real = [](F, L x) { return values::softplus(x); },
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return t.unary(kSigmoid, t.x()); },
     .shape = {branches::smooth, far::softplus, slopes::within<0, 1>},
     .float32 = {float32::softplus, float32::most::plus_one},
     .sample = {-12, 12}},
    {.kind = kSoftsign,
     .name = "softsign",
     .values = {-1, 1},
     .from = {"Softsign", {}, {}},
     .value = [](F, double x) { return x / (1 + std::fabs(x)); },
     .real = [](F, L x) { return x / (LongReal(1) + LongReal::unary(mpfr_abs, x)); },
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .shows_exactly = everywhere_shown,
     .derivative = [](T t, F) { return t.power(t.one_more(t.unary(kAbs, t.x())), -2); },
     .shape = {branches::none, far::none, slopes::within<0, 1>},
     .float32 = {float32::roundings<3>, float32::most::plus_one},
     .sample = {-20, 20}},
    {.kind = kElu,
     .name = "elu",
     .parameters = 1,
     .from = {"Elu", {"alpha", 1}, {}},
     .value = [](F f, double x) { return x < 0 ? f.a * std::expm1(x) : x; },
     .real = [](F f, L x) { return x < 0 ? LongReal(f.a) * values::expm1(x) : x; },
     .domain = everywhere,
     .monotony = rises_unless_a_falls,
     .strict = true,
     .lipschitz = one_or_a,
     .derivative = derivative::elu,
     .shape = {branches::elu, far::elu, slopes::elu},
     .float32 = {float32::elu, float32::most::elu},
     .sample = {-8, 6, 1}},
    {.kind = kCelu,
     .name = "celu",
     .parameters = 1,
     .from = {"Celu", {"alpha", 1, true}, {}},
     .value = [](F f,
                 double x) { return std::max(x, 0.0) + std::min(0.0, f.a * std::expm1(x / f.a)); },
     .real = [](F f, L x) { return x < 0 ? LongReal(f.a) * values::expm1(x / f.a) : x; },
     .domain = everywhere,
     .monotony = [](F f) { return f.a > 0 ? Monotony::kRises : Monotony::kNone; },
     .strict = true,
     .derivative = derivative::celu,
     .shape = {branches::celu, far::celu, slopes::celu},
     .float32 = {float32::celu, float32::most::celu},
     .sample = {-6, 6, 0.5}},
    {.kind = kSelu,
     .name = "selu",
     .parameters = 2,
     .from = {"Selu",
              {"alpha", 1.67326319217681884765625, false, 6, 1.6732F},
              {"gamma", 1.05070102214813232421875, false, 6, 1.0507F}},
     .value = [](F f, double x) { return f.b * (x < 0 ? f.a * std::expm1(x) : x); },
     .real = [](F f,
                L x) { return LongReal(f.b) * (x < 0 ? LongReal(f.a) * values::expm1(x) : x); },
     .domain = everywhere,
     .monotony = [](F f) { return f.a >= 0 && f.b >= 0 ? Monotony::kRises : Monotony::kNone; },
     .strict = true,
     .derivative = derivative::selu,
     .shape = {branches::selu, far::none, slopes::selu},
     .float32 = {float32::selu, float32::most::selu},
     .sample = {-6, 6, 1.67, 1.05}},
    {.kind = kHardSwish,
     .name = "hard_swish",
     .from = {"HardSwish", {}, {}},
     .value = [](F, double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); },
     .real = [](F, L x) { return x < -3  ? LongReal(0)
                                 : x < 3 ? x * (x + 3) / 6
                                         : x; },
     .domain = everywhere,
     .monotony = none,
     .lipschitz = slope<3, 2>,  // at 3
     .shows_exactly = everywhere_shown,
     .derivative = derivative::hard_swish,
     .shape = {branches::hard_swish, far::none, slopes::unknown},
     .float32 = {float32::hard_swish, float32::most::same},
     .sample = {-6, 6}},
    {.kind = kGelu,
     .name = "gelu",
     .value = [](F, double x) { return x / 2 * std::erfc(-x * 0.70710678118654752440); },
     .real = [](F, L x) { return values::gelu(x); },
     .domain = everywhere,
     .monotony = none,
     // 1.129 at the steepest.
     .lipschitz = slope<5, 4>,
     .derivative = derivative::gelu,
     .shape = {branches::smooth, far::gelu, slopes::unknown},
     .float32 = {float32::gelu, float32::most::twice},
     .sample = {-6, 6}},
    {.kind = kGeluTanh,
     .name = "gelu_tanh",
     .value = [](F, double x) { return values::gelu_tanh(x); },
     .real = [](F, L x) { return values::gelu_tanh(x); },
     .domain = everywhere,
     .monotony = none,
     // 1.130 at the steepest.
     .lipschitz = slope<5, 4>,
     .derivative = derivative::gelu_tanh,
     .shape = {branches::smooth, far::like_relu, slopes::unknown},
     .float32 = {float32::gelu_tanh, float32::most::twice},
     .sample = {-6, 6}},
    {.kind = kMish,
     .name = "mish",
     .from = {"Mish", {}, {}},
     .value = [](F, double x) { return values::mish(x); },
     .real = [](F, L x) { return x * LongReal::unary(mpfr_tanh, values::softplus(x)); },
     .domain = everywhere,
     .monotony = none,
     // 1.089 at the steepest.
     .lipschitz = slope<5, 4>,
     .derivative = derivative::mish,
     .shape = {branches::smooth, far::like_relu, slopes::unknown},
     .float32 = {float32::mish, float32::most::same},
     .sample = {-10, 8}},
    {.kind = kErf,
     .name = "erf",
     .values = {-1, 1},
     .from = {"Erf", {}, {}},
     .value = plain<std::erf>,
     .real = mpfr<mpfr_erf>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = derivative::erf,
     .shape = {branches::smooth, far::erf, slopes::erf},
     .float32 = {float32::by_library, one},
     .sample = {-5, 5}},
    {.kind = kExp,
     .name = "exp",
     .values = {.low = 0},
     .from = {"Exp", {}, {}},
     .value = plain<std::exp>,
     .real = mpfr<mpfr_exp>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return t.y(); },
     .shape = {branches::smooth, far::exponential, slopes::unknown},
     .float32 = {float32::by_library, float32::most::exponential},
     .sample = {-12, 8}},
    {.kind = kCappedExp,
     .name = "capped_exp",
     .values = {.low = 0},
     .parameters = 1,
     .value = [](F f, double x) { return std::exp(std::min(x, f.a)); },
     .real = [](F f, L x) { return LongReal::unary(mpfr_exp, x < f.a ? x : LongReal(f.a)); },
     .domain = everywhere,
     .monotony = rises,
     .derivative = [](T t, F f) { return t.times(t.step_below(t.x(), f.a), t.y()); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::capped_exponential},
     .sample = {-12, 8, 4}},
    {.kind = kSin,
     .name = "sin",
     .values = {-1, 1},
     .from = {"Sin", {}, {}},
     .value = plain<std::sin>,
     .real = mpfr<mpfr_sin>,
     .domain = everywhere,
     .monotony = none,
     .wave = true,
     .lipschitz = slope<1>,
     .derivative = [](T t, F) { return t.unary(kCos, t.x()); },
     .shape = {branches::none, far::none, slopes::within<-1, 1>},
     .float32 = {float32::by_library, one},
     .sample = {-12, 12}},
    {.kind = kCos,
     .name = "cos",
     .values = {-1, 1},
     .from = {"Cos", {}, {}},
     .value = plain<std::cos>,
     .real = mpfr<mpfr_cos>,
     .domain = everywhere,
     .monotony = none,
     .wave = true,
     .lipschitz = slope<1>,
     .derivative = [](T t, F) { return t.minus(t.unary(kSin, t.x())); },
     .shape = {branches::none, far::none, slopes::within<-1, 1>},
     .float32 = {float32::by_library, one},
     .sample = {-12, 12}},
    {.kind = kAtan,
     .name = "atan",
     .from = {"Atan", {}, {}},
     .value = plain<std::atan>,
     .real = mpfr<mpfr_atan>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return t.unary(kReciprocal, t.one_more(t.square(t.x()))); },
     .shape = {branches::none, far::none, slopes::within<0, 1>},
     .float32 = {float32::by_library, float32::most::four},
     .sample = {-20, 20}},
    {.kind = kSinh,
     .name = "sinh",
     .from = {"Sinh", {}, {}},
     .value = plain<std::sinh>,
     .real = mpfr<mpfr_sinh>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return t.unary(kCosh, t.x()); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::exponential},
     .sample = {-6, 6}},
    {.kind = kCosh,
     .name = "cosh",
     .values = {.low = 1},
     .from = {"Cosh", {}, {}},
     .value = plain<std::cosh>,
     .real = mpfr<mpfr_cosh>,
     .domain = everywhere,
     .monotony = each_side,
     .derivative = [](T t, F) { return t.unary(kSinh, t.x()); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::exponential},
     .sample = {-6, 6}},
    {.kind = kAsinh,
     .name = "asinh",
     .from = {"Asinh", {}, {}},
     .value = plain<std::asinh>,
     .real = mpfr<mpfr_asinh>,
     .domain = everywhere,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return t.power(t.one_more(t.square(t.x())), -0.5); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::plus_one},
     .sample = {-20, 20}},

    {.kind = kLog,
     .name = "log",
     .from = {"Log", {}, {}},
     .value = [](F, double x) { return x > 0 ? std::log(x) : kNan; },
     .real = mpfr<mpfr_log>,
     .domain = positive,
     .monotony = rises,
     .strict = true,
     // 1 / x as powers that have no value where the logarithm has none.
     .derivative = [](T t, F) { return t.square(t.power(t.x(), -0.5)); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::at_least<104>},
     .sample = {0.01, 20}},
    {.kind = kSqrt,
     .name = "sqrt",
     .values = {.low = 0},
     .from = {"Sqrt", {}, {}},
     .value = [](F, double x) { return x >= 0 ? std::sqrt(x) : kNan; },
     .real = mpfr<mpfr_sqrt>,
     .domain = [](F) { return FunctionDomain{.low = 0}; },
     .monotony = rises,
     .strict = true,
     .shows_exactly = everywhere_shown,
     .derivative =
         [](T t, F) {
           return t.scale(t.power(t.x(), -0.5), {0.5, 0});
         },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::as_power, float32::most::at_least<1>},
     .sample = {0.001, 20}},
    {.kind = kReciprocal,
     .name = "reciprocal",
     .from = {"Reciprocal", {}, {}},
     .value = [](F, double x) { return x != 0 ? 1 / x : kNan; },
     .real = [](F, L x) { return LongReal(1) / x; },
     .domain = not_zero,
     .monotony = each_side,
     .shows_exactly = everywhere_shown,
     .derivative = [](T t, F) { return t.minus(t.power(t.x(), -2)); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::as_power, float32::most::unbounded},
     .sample = {0.05, 10}},
    {.kind = kPower,
     .name = "power",
     .parameters = 1,
     .value = [](F f, double x) { return x == 0 && f.a < 0 ? kNan : std::pow(x, f.a); },
     .real = [](F f, L x) { return LongReal::binary(mpfr_pow, x, LongReal(f.a)); },
     .domain = power_domain,
     .monotony = each_side,
     // A power of one number of 53 bits, or the square root of one.
     .shows_exactly = [](F f,
                         double) { return std::abs(f.a) <= 16 && std::floor(2 * f.a) == 2 * f.a; },
     .derivative = derivative::power,
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::power, float32::most::power},
     .sample = {-6, 6, 3}},
    {.kind = kTan,
     .name = "tan",
     .from = {"Tan", {}, {}},
     .value = plain<std::tan>,
     .real = mpfr<mpfr_tan>,
     .domain = [](F) { return FunctionDomain{.poles = true}; },
     .monotony = none,
     .wave = true,
     .derivative = [](T t, F) { return t.one_more(t.square(t.y())); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::unbounded},
     .sample = {-1.5, 1.5}},
    {.kind = kAsin,
     .name = "asin",
     .from = {"Asin", {}, {}},
     .value = plain<std::asin>,
     .real = mpfr<mpfr_asin>,
     .domain = unit_ball,
     .monotony = rises,
     .strict = true,
     .derivative = [](T t, F) { return derivative::arc(t); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::four},
     .sample = {-0.999, 0.999}},
    {.kind = kAcos,
     .name = "acos",
     .values = {.low = 0},
     .from = {"Acos", {}, {}},
     .value = plain<std::acos>,
     .real = mpfr<mpfr_acos>,
     .domain = unit_ball,
     .monotony = [](F) { return Monotony::kFalls; },
     .derivative = [](T t, F) { return t.minus(derivative::arc(t)); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::four},
     .sample = {-0.999, 0.999}},
    {.kind = kAcosh,
     .name = "acosh",
     .values = {.low = 0},
     .from = {"Acosh", {}, {}},
     .value = [](F, double x) { return x >= 1 ? std::acosh(x) : kNan; },
     .real = mpfr<mpfr_acosh>,
     .domain = [](F) { return FunctionDomain{.low = 1}; },
     .monotony = rises,
     .strict = true,
     .derivative = derivative::acosh,
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::plus_one},
     .sample = {1.001, 20}},
    {.kind = kAtanh,
     .name = "atanh",
     .from = {"Atanh", {}, {}},
     .value = [](F, double x) { return values::finite_or_nan(std::atanh(x)); },
     .real = mpfr<mpfr_atanh>,
     .domain = [](F) { return FunctionDomain{.low = -1, .high = 1, .ends = false}; },
     .monotony = rises,
     .strict = true,
     // 1 / (1 - x^2), as for the logarithm.
     .derivative = [](T t, F) { return t.square(derivative::arc(t)); },
     .shape = {branches::none, far::none, slopes::unknown},
     .float32 = {float32::by_library, float32::most::at_least<104>},
     .sample = {-0.999, 0.999}},
}};

constexpr bool is_complete(const FunctionFacts& row) {
  return !row.name.empty() && row.value != nullptr && row.domain != nullptr &&
         row.monotony != nullptr && row.shape.branches != nullptr && row.shape.far != nullptr &&
         row.shape.slopes != nullptr && row.float32.evaluated != nullptr &&
         row.float32.most != nullptr && row.sample.low < row.sample.high &&
         (row.derivative == nullptr) == row.integers &&
         (row.rational == nullptr) != (row.real == nullptr) &&
         (row.rational == nullptr) == (row.breaks == Breaks::kNone);
}

constexpr bool each_kind_has_its_row() {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].kind != static_cast<FunctionKind>(i) || !is_complete(kFacts[i])) return false;
  return true;
}
static_assert(each_kind_has_its_row(), "a FunctionKind without its row, or a row with a gap");

// What is true of all composites. Normalisation makes them, of real arithmetic alone: no operator
// is one, and none has a derivative or is evaluated in float32.
constexpr FunctionFacts kCompositeFacts = {
    .kind = kComposite,
    .name = "composite",
    .value = [](F f, double x) { return value_of(*f.composite, x); },
    .real = [](F f, L x) { return value_of(*f.composite, x); },
    .domain = everywhere,
    .monotony = none,
    .shape = {branches::none, far::none, slopes::unknown},
};

}  // namespace

const FunctionFacts& facts_of(FunctionKind kind) {
  if (kind == kComposite) return kCompositeFacts;
  const auto index = static_cast<std::size_t>(kind);
  BF_CHECK(index < kFacts.size());
  return kFacts[index];
}

std::span<const FunctionFacts> function_facts() {
  return kFacts;
}

bool rises_strictly(const Function& function) {
  const FunctionFacts& facts = facts_of(function.kind);
  const FunctionDomain domain = facts.domain(function);
  const bool everywhere =
      domain.low == -INFINITY && domain.high == INFINITY && domain.zero && !domain.poles;
  const bool zero_parameter =
      (facts.parameters > 0 && function.a == 0) || (facts.parameters > 1 && function.b == 0);
  return facts.strict && facts.monotony(function) == Monotony::kRises && everywhere &&
         !zero_parameter;
}

const FunctionFacts* facts_of_operator(std::string_view op_type) {
  const auto* const found = std::find_if(kFacts.begin(), kFacts.end(), [&](const auto& row) {
    return !op_type.empty() && row.from.type == op_type;
  });
  return found == kFacts.end() ? nullptr : found;
}

}  // namespace bf_aot
