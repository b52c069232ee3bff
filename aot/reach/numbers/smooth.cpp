#include "aot/reach/numbers/smooth.h"

#include <cmath>

namespace bf_aot::reach {
namespace {

constexpr Range kOne = {1, 1}, kTwo = {2, 2}, kHalf = {0.5, 0.5};

Range of(FunctionKind kind, const Range& x) {
  return apply(Function{kind}, x);
}
Range sin(const Range& x) {
  return of(FunctionKind::kSin, x);
}
Range cos(const Range& x) {
  return of(FunctionKind::kCos, x);
}
Range exp(const Range& x) {
  return of(FunctionKind::kExp, x);
}

// 1 - t^2 and -2 t (1 - t^2) for t = tanh x.
Range tanh_first(const Range& x) {
  return kOne - square(of(FunctionKind::kTanh, x));
}
Range tanh_second(const Range& x) {
  return -(kTwo * of(FunctionKind::kTanh, x) * tanh_first(x));
}

// s (1 - s) = 1/4 - (s - 1/2)^2, and that times 1 - 2 s, for s = sigma(x).
Range sigmoid_first(const Range& x) {
  return Range{0.25, 0.25} - square(of(FunctionKind::kSigmoid, x) - kHalf);
}
Range sigmoid_second(const Range& x) {
  return sigmoid_first(x) * (kOne - kTwo * of(FunctionKind::kSigmoid, x));
}

// 1 / (1 + x^2) and -2 x / (1 + x^2)^2.
Range atan_first(const Range& x) {
  return kOne / (kOne + square(x));
}
Range atan_second(const Range& x) {
  return -(kTwo * x * square(atan_first(x)));
}

// 1 + t^2 and 2 t (1 + t^2) for t = tan x.
Range tan_first(const Range& x) {
  return kOne + square(of(FunctionKind::kTan, x));
}
Range tan_second(const Range& x) {
  return kTwo * of(FunctionKind::kTan, x) * tan_first(x);
}

Range sqrt_first(const Range& x) {
  return kOne / (kTwo * of(FunctionKind::kSqrt, x));
}
Range sqrt_second(const Range& x) {
  return -(kOne / (Range{4, 4} * x * of(FunctionKind::kSqrt, x)));
}

Range power_of(const Range& x, double exponent) {
  return exponent == 0 ? kOne : apply(Function{FunctionKind::kPower, exponent}, x);
}

std::optional<Derivatives> power_derivatives(const Function& f) {
  const double n = f.a;
  if (n != std::floor(n) || n < 2 || n > 64) return std::nullopt;
  return Derivatives{[n](const Range& x) { return power_of(x, n); },
                     [n](const Range& x) {
                       return Range{n, n} * power_of(x, n - 1);
                     },
                     [n](const Range& x) {
                       return Range{n * (n - 1), n * (n - 1)} * power_of(x, n - 2);
                     }};
}

}  // namespace

std::optional<Derivatives> derivatives_of(const Function& f) {
  const auto value = [f](const Range& x) { return apply(f, x); };
  switch (f.kind) {
    case FunctionKind::kSin:
      return Derivatives{sin, cos, [](const Range& x) { return -sin(x); }};
    case FunctionKind::kCos:
      return Derivatives{cos, [](const Range& x) { return -sin(x); },
                         [](const Range& x) { return -cos(x); }};
    case FunctionKind::kExp:
      return Derivatives{exp, exp, exp};
    case FunctionKind::kTanh:
      return Derivatives{value, tanh_first, tanh_second};
    case FunctionKind::kSigmoid:
      return Derivatives{value, sigmoid_first, sigmoid_second};
    case FunctionKind::kSoftplus:
      return Derivatives{value, [](const Range& x) { return of(FunctionKind::kSigmoid, x); },
                         sigmoid_first};
    case FunctionKind::kAtan:
      return Derivatives{value, atan_first, atan_second};
    case FunctionKind::kTan:
      return Derivatives{value, tan_first, tan_second};
    case FunctionKind::kSinh:
      return Derivatives{value, [](const Range& x) { return of(FunctionKind::kCosh, x); }, value};
    case FunctionKind::kCosh:
      return Derivatives{value, [](const Range& x) { return of(FunctionKind::kSinh, x); }, value};
    case FunctionKind::kSqrt:
      return Derivatives{value, sqrt_first, sqrt_second};
    case FunctionKind::kLog:
      return Derivatives{value, [](const Range& x) { return kOne / x; },
                         [](const Range& x) { return -(kOne / square(x)); }};
    case FunctionKind::kReciprocal:
      return Derivatives{value, [](const Range& x) { return -(kOne / square(x)); },
                         [](const Range& x) { return kTwo / (x * square(x)); }};
    case FunctionKind::kPower:
      return power_derivatives(f);
    default:
      return std::nullopt;
  }
}

}  // namespace bf_aot::reach
