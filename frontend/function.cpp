#include "frontend/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"

namespace bf_aot {

namespace {

struct FunctionName {
  FunctionKind kind;
  std::string_view name;
  int parameters;
};

// In the order of the enumeration.
constexpr FunctionName kNames[] = {
    {FunctionKind::kLeakyRelu, "leaky_relu", 1},
    {FunctionKind::kAbs, "abs", 0},
    {FunctionKind::kClip, "clip", 2},
    {FunctionKind::kHardSigmoid, "hard_sigmoid", 2},
    {FunctionKind::kThresholdedRelu, "thresholded_relu", 1},
    {FunctionKind::kShrink, "shrink", 2},
    {FunctionKind::kSign, "sign", 0},
    {FunctionKind::kStep, "step", 0},
    {FunctionKind::kStepAt, "step_at", 0},
    {FunctionKind::kFloor, "floor", 0},
    {FunctionKind::kCeil, "ceil", 0},
    {FunctionKind::kRound, "round", 1},
    {FunctionKind::kIsZero, "is_zero", 0},
    {FunctionKind::kSigmoid, "sigmoid", 0},
    {FunctionKind::kTanh, "tanh", 0},
    {FunctionKind::kSoftplus, "softplus", 0},
    {FunctionKind::kSoftsign, "softsign", 0},
    {FunctionKind::kElu, "elu", 1},
    {FunctionKind::kCelu, "celu", 1},
    {FunctionKind::kSelu, "selu", 2},
    {FunctionKind::kHardSwish, "hard_swish", 0},
    {FunctionKind::kGelu, "gelu", 0},
    {FunctionKind::kGeluTanh, "gelu_tanh", 0},
    {FunctionKind::kMish, "mish", 0},
    {FunctionKind::kErf, "erf", 0},
    {FunctionKind::kExp, "exp", 0},
    {FunctionKind::kSin, "sin", 0},
    {FunctionKind::kCos, "cos", 0},
    {FunctionKind::kAtan, "atan", 0},
    {FunctionKind::kSinh, "sinh", 0},
    {FunctionKind::kCosh, "cosh", 0},
    {FunctionKind::kAsinh, "asinh", 0},
    {FunctionKind::kLog, "log", 0},
    {FunctionKind::kSqrt, "sqrt", 0},
    {FunctionKind::kReciprocal, "reciprocal", 0},
    {FunctionKind::kPower, "power", 1},
    {FunctionKind::kTan, "tan", 0},
    {FunctionKind::kAsin, "asin", 0},
    {FunctionKind::kAcos, "acos", 0},
    {FunctionKind::kAcosh, "acosh", 0},
    {FunctionKind::kAtanh, "atanh", 0},
};

const FunctionName& entry_of(FunctionKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  BF_CHECK(index < std::size(kNames) && kNames[index].kind == kind);
  return kNames[index];
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

double evaluate_linear(const Function& f, double x) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
      return x < 0 ? f.a * x : x;
    case FunctionKind::kAbs:
      return std::fabs(x);
    case FunctionKind::kClip:
      return std::min(std::max(x, f.a), f.b);
    case FunctionKind::kHardSigmoid:
      return std::min(std::max(f.a * x + f.b, 0.0), 1.0);
    case FunctionKind::kThresholdedRelu:
      return x > f.a ? x : 0;
    case FunctionKind::kShrink:
      return x < -f.a ? x + f.b : x > f.a ? x - f.b : 0;
    case FunctionKind::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case FunctionKind::kStep:
      return x > 0 ? 1 : 0;
    case FunctionKind::kStepAt:
      return x >= 0 ? 1 : 0;
    case FunctionKind::kFloor:
      return std::floor(x);
    case FunctionKind::kCeil:
      return std::ceil(x);
    case FunctionKind::kRound:
      return round_quotient(x, f.a);
    case FunctionKind::kIsZero:
      return x == 0 ? 1 : 0;
    default:
      break;
  }
  BF_CHECK(false);
  return kNan;
}

double gelu_tanh(double x) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  const double u = kSqrt2OverPi * (x + 0.044715 * x * x * x);
  return x * sigmoid(2 * u);
}

double evaluate_smooth(const Function& f, double x) {
  switch (f.kind) {
    case FunctionKind::kSigmoid:
      return sigmoid(x);
    case FunctionKind::kTanh:
      return std::tanh(x);
    case FunctionKind::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    case FunctionKind::kSoftsign:
      return x / (1 + std::fabs(x));
    case FunctionKind::kElu:
      return x < 0 ? f.a * std::expm1(x) : x;
    case FunctionKind::kCelu:
      return std::max(x, 0.0) + std::min(0.0, f.a * std::expm1(x / f.a));
    case FunctionKind::kSelu:
      return f.b * (x < 0 ? f.a * std::expm1(x) : x);
    case FunctionKind::kHardSwish:
      return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case FunctionKind::kGelu:
      return x / 2 * std::erfc(-x * 0.70710678118654752440);
    case FunctionKind::kGeluTanh:
      return gelu_tanh(x);
    case FunctionKind::kMish:
      return mish(x);
    case FunctionKind::kErf:
      return std::erf(x);
    case FunctionKind::kExp:
      return std::exp(x);
    case FunctionKind::kSin:
      return std::sin(x);
    case FunctionKind::kCos:
      return std::cos(x);
    case FunctionKind::kAtan:
      return std::atan(x);
    case FunctionKind::kSinh:
      return std::sinh(x);
    case FunctionKind::kCosh:
      return std::cosh(x);
    case FunctionKind::kAsinh:
      return std::asinh(x);
    case FunctionKind::kLog:
      return x > 0 ? std::log(x) : kNan;
    case FunctionKind::kSqrt:
      return x >= 0 ? std::sqrt(x) : kNan;
    case FunctionKind::kReciprocal:
      return x != 0 ? 1 / x : kNan;
    case FunctionKind::kPower:
      return x == 0 && f.a < 0 ? kNan : std::pow(x, f.a);
    case FunctionKind::kTan:
      return std::tan(x);
    case FunctionKind::kAsin:
      return std::asin(x);
    case FunctionKind::kAcos:
      return std::acos(x);
    case FunctionKind::kAcosh:
      return x >= 1 ? std::acosh(x) : kNan;
    case FunctionKind::kAtanh:
      return finite_or_nan(std::atanh(x));
    default:
      break;
  }
  BF_CHECK(false);
  return kNan;
}

}  // namespace

std::string_view name_of(FunctionKind kind) {
  return entry_of(kind).name;
}

std::string to_string(const Function& function) {
  const FunctionName& entry = entry_of(function.kind);
  if (entry.parameters == 0) return std::string(entry.name);
  if (entry.parameters == 1) return fmt::format("{}({})", entry.name, function.a);
  return fmt::format("{}({}, {})", entry.name, function.a, function.b);
}

double evaluate(const Function& function, double x) {
  return is_piecewise_linear(function.kind) ? evaluate_linear(function, x)
                                            : evaluate_smooth(function, x);
}

bool is_piecewise_linear(FunctionKind kind) {
  return kind < FunctionKind::kSigmoid;
}

}  // namespace bf_aot
