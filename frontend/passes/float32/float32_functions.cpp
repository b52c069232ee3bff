#include "frontend/passes/float32/float32_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/algebra/affine_algebra.h"

namespace bf_aot {
namespace {

constexpr double kRoundoff = 0x1p-24;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// The largest x whose e^x, and what is added to it, is finite with room to spare.
constexpr double kLargestExponent = 87;

// Units of the last place as a relative error: a unit is at most 2u of what it belongs to.
struct Library {
  double units;

  Float32Function relative(double more = 0) const { return {(units + more) * kRoundoff, 0, 0}; }
  Float32Function both(double of_result, double of_one) const {
    return {of_result * kRoundoff, of_one * kRoundoff, 0};
  }
};

}  // namespace

std::optional<Float32Function> evaluated_in_float32(const Function& f, double libm_ulps) {
  const Library library{2 * libm_ulps};
  const double units = library.units;
  const double a = std::abs(f.a), b = std::abs(f.b);
  switch (f.kind) {
    case FunctionKind::kAbs:
    case FunctionKind::kClip:
    case FunctionKind::kThresholdedRelu:
    case FunctionKind::kSign:
    case FunctionKind::kStep:
    case FunctionKind::kStepAt:
    case FunctionKind::kFloor:
    case FunctionKind::kCeil:
    case FunctionKind::kIsZero:
      return Float32Function{};
    // x / a is rounded, then made an integer, which is exact.
    case FunctionKind::kRound:
      return Float32Function{0, 0, f.a == 1 ? 0 : 3 * kRoundoff};
    case FunctionKind::kLeakyRelu:
    case FunctionKind::kSqrt:
    case FunctionKind::kReciprocal:
    case FunctionKind::kShrink:
      return Float32Function{2 * kRoundoff, 0, 0};
    // a x + b matters where it is between 0 and 1: |a x| <= 1 + |b| there. The product, the sum,
    // and a where it is 1/6, are rounded.
    case FunctionKind::kHardSigmoid:
      return library.both(0, 4 * (1 + b));
    // x hard_sigmoid(x), a = 1/6, b = 1/2: its error times |x| <= 3 and a little, and a product.
    case FunctionKind::kHardSwish:
      return library.both(3, 20);
    // 1 / (1 + e^-x): where e^-x overflows, the result is 0.
    case FunctionKind::kSigmoid: {
      Float32Function made = library.relative(6);
      made.absolute = 0x1p-125;
      return made;
    }
    case FunctionKind::kTanh:
    case FunctionKind::kErf:
    case FunctionKind::kExp:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
    case FunctionKind::kAtan:
    case FunctionKind::kSinh:
    case FunctionKind::kCosh:
    case FunctionKind::kAsinh:
    case FunctionKind::kLog:
    case FunctionKind::kTan:
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
    case FunctionKind::kAcosh:
    case FunctionKind::kAtanh:
      return library.relative();
    case FunctionKind::kPower:
      if (f.a == 2) return library.relative(1);     // by the library's pow
      if (f.a == -0.5) return library.relative(3);  // or 1 / sqrt(x)
      return std::nullopt;
    // |x| / (1 + |x|): a sum and a quotient.
    case FunctionKind::kSoftsign:
      return Float32Function{3 * kRoundoff, 0, 0};
    // ln(1 + e^x), or max(x, 0) + ln(1 + e^-|x|): e^ and the sum err by (units + 1) u of what is at
    // most the argument of ln, which makes an absolute error of it; ln and the last sum are
    // relative to the result.
    case FunctionKind::kSoftplus:
      return library.both(units + 2, units + 3);
    // a (e^x - 1) for x < 0, where e^x <= 1: as library.relative(), and a difference. Or by expm1.
    case FunctionKind::kElu:
      return library.both(units + 2, a * (units + 2));
    // a (e^t - 1), t = x / a, for x < 0: as kElu, but t is rounded, which costs |t| e^t u <= u.
    case FunctionKind::kCelu:
      return library.both(units + 2, a * (units + 3));
    // b (a e^x - a), in any order of its products.
    case FunctionKind::kSelu:
      return library.both(units + 4, a * b * (units + 5));
    // x tanh(ln(1 + e^x)): the logarithm misses by (units + 3) u where it is small, and is 0 for x
    // below -17.4, where the result is less than 18 u. For larger x: the product, tanh and the
    // logarithm's relative error, which tanh makes no larger.
    case FunctionKind::kMish:
      return library.both(2 * units + 6, 18 * (units + 5));
    // x (1 + erf(x / sqrt 2)) / 2, in any order of its products. erf's argument t is off by 3u of
    // it, which moves erf by 3u t erf'(t) <= 1.5u; with erf's own error that is multiplied by
    // |x| / 2. Below -5.66, where t < -4, erf is -1, as libraries have it, and the result 0.
    case FunctionKind::kGelu:
      return library.both(units + 5, 3 * (units + 4));
    // x (1 + tanh(c (x + d x^3))) / 2: the argument is off by (units + 6) u of it, which moves
    // tanh by 0.45 times that. Below -5.6, where the argument is below -10, tanh is -1.
    case FunctionKind::kGeluTanh:
      return library.both(2 * units + 8, 5 * units + 14);
    case FunctionKind::kCount:
      break;
  }
  return std::nullopt;
}

double largest_in_float32(const Function& f, double x) {
  const double a = std::abs(f.a), b = std::abs(f.b);
  switch (f.kind) {
    case FunctionKind::kSigmoid:
    case FunctionKind::kTanh:
    case FunctionKind::kErf:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
    case FunctionKind::kSign:
    case FunctionKind::kStep:
    case FunctionKind::kStepAt:
    case FunctionKind::kIsZero:
      return 1;
    case FunctionKind::kAtan:
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
      return 4;
    case FunctionKind::kClip:
      return std::max({std::isfinite(f.a) ? a : x, std::isfinite(f.b) ? b : x});
    case FunctionKind::kLeakyRelu:
      return mul_up(std::max(1.0, a), x);
    case FunctionKind::kHardSigmoid:
      return add_up(mul_up(a, x), add_up(b, 1));
    case FunctionKind::kAbs:
    case FunctionKind::kThresholdedRelu:
    case FunctionKind::kHardSwish:
    case FunctionKind::kMish:
      return x;
    case FunctionKind::kSoftsign:
    case FunctionKind::kSoftplus:
    case FunctionKind::kFloor:
    case FunctionKind::kCeil:
    case FunctionKind::kAsinh:
    case FunctionKind::kAcosh:
      return add_up(x, 1);
    case FunctionKind::kRound:
      return add_up(add_up(x, a), 2 * x / a);
    case FunctionKind::kShrink:
      return add_up(x, b);
    // e^x is 1 at most where it counts; x / a besides.
    case FunctionKind::kElu:
      return add_up(x, mul_up(2, a));
    case FunctionKind::kCelu:
      return add_up(add_up(x, mul_up(2, a)), 2 * x / a);
    case FunctionKind::kSelu:
      return mul_up(std::max(1.0, b), add_up(x, mul_up(2, std::max(1.0, a))));
    case FunctionKind::kSqrt:
      return std::max(1.0, x);
    // The least float32 number above 0 is e^-104, and of 1 - x it is 2^-24.
    case FunctionKind::kLog:
    case FunctionKind::kAtanh:
      return std::max(104.0, x);
    case FunctionKind::kPower:
      return f.a == 2 ? mul_up(x, x) : kUnbounded;
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
      return mul_up(2, x);
    case FunctionKind::kExp:
    case FunctionKind::kSinh:
    case FunctionKind::kCosh:
      return x > kLargestExponent ? kUnbounded : mul_up(std::exp(x), 2);
    case FunctionKind::kReciprocal:
    case FunctionKind::kTan:
    case FunctionKind::kCount:
      break;
  }
  return kUnbounded;
}

}  // namespace bf_aot
