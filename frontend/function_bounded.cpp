#include "frontend/function_bounded.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/function_exact.h"

namespace bf_aot {
namespace {

// Whether f is monotone between low and high, which lie within its domain.
bool is_monotone(const Function& f, const mpq_class& low, const mpq_class& high) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
    case FunctionKind::kHardSigmoid:
    case FunctionKind::kThresholdedRelu:
    case FunctionKind::kElu:
    case FunctionKind::kCelu:
      return f.a >= 0;
    case FunctionKind::kSelu:
      return f.a >= 0 && f.b >= 0;
    case FunctionKind::kClip:
    case FunctionKind::kSign:
    case FunctionKind::kStep:
    case FunctionKind::kStepAt:
    case FunctionKind::kFloor:
    case FunctionKind::kCeil:
    case FunctionKind::kRound:
    case FunctionKind::kSigmoid:
    case FunctionKind::kTanh:
    case FunctionKind::kSoftplus:
    case FunctionKind::kSoftsign:
    case FunctionKind::kErf:
    case FunctionKind::kExp:
    case FunctionKind::kAtan:
    case FunctionKind::kSinh:
    case FunctionKind::kAsinh:
    case FunctionKind::kLog:
    case FunctionKind::kSqrt:
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
    case FunctionKind::kAcosh:
    case FunctionKind::kAtanh:
      return true;
    case FunctionKind::kReciprocal:
    case FunctionKind::kPower:
    case FunctionKind::kCosh:
      return low > 0 || high < 0;
    case FunctionKind::kAbs:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
    case FunctionKind::kShrink:
    case FunctionKind::kIsZero:
    case FunctionKind::kHardSwish:
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
    case FunctionKind::kMish:
    case FunctionKind::kTan:
      return false;
  }
  return false;
}

// |f(x) - f(y)| <= lipschitz(f) |x - y| everywhere, for functions that are not monotone; infinite
// where there is no such number.
double lipschitz(const Function& f) {
  switch (f.kind) {
    case FunctionKind::kAbs:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
      return 1;
    case FunctionKind::kLeakyRelu:
    case FunctionKind::kElu:
      return std::max(1.0, std::abs(f.a));
    case FunctionKind::kHardSigmoid:
      return std::abs(f.a);
    case FunctionKind::kHardSwish:
      return 1.5;  // at 3
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
    case FunctionKind::kMish:
      return 1.25;  // 1.129, 1.130 and 1.089 at the steepest
    default:
      return std::numeric_limits<double>::infinity();
  }
}

bool in_domain(const Function& f, const mpq_class& low, const mpq_class& high) {
  switch (f.kind) {
    case FunctionKind::kLog:
      return low > 0;
    case FunctionKind::kSqrt:
      return low >= 0;
    case FunctionKind::kReciprocal:
      return low > 0 || high < 0;
    case FunctionKind::kPower:
      if (low > 0) return true;
      return std::floor(f.a) == f.a && (f.a >= 0 || high < 0);
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
      return low >= -1 && high <= 1;
    case FunctionKind::kAcosh:
      return low >= 1;
    case FunctionKind::kAtanh:
      return low > -1 && high < 1;
    default:
      return true;
  }
}

// >= x, for x >= 0: get_d truncates.
double double_above(const mpq_class& x) {
  return x == 0 ? 0 : next_up(x.get_d());
}

// Whether a value of f at x that MPFR finds to be a double is that double. Elsewhere it may miss by
// less than can be seen: tanh(1000) is not 1.
bool shows_exactly(const Function& f, double x) {
  switch (f.kind) {
    case FunctionKind::kSqrt:
    case FunctionKind::kReciprocal:
    case FunctionKind::kSoftsign:
    case FunctionKind::kHardSwish:
      return true;
    case FunctionKind::kPower:  // a power of one number of 53 bits, or the square root of one
      return std::abs(f.a) <= 16 && std::floor(2 * f.a) == 2 * f.a;
    default:
      return x == 0 || x == 1;
  }
}

}  // namespace

// evaluate_exact() misses smooth functions by less than 2^-200 max(1, |f|).
std::optional<Bounded> bounded_function(const Function& f, const Bounded& x) {
  if (!std::isfinite(x.value) || !std::isfinite(x.error)) return std::nullopt;
  const mpq_class middle(x.value);
  const mpq_class low = middle - mpq_class(x.error);
  const mpq_class high = middle + mpq_class(x.error);
  if (!in_domain(f, low, high) || !std::isfinite(evaluate(f, x.value))) return std::nullopt;
  const mpq_class exact = evaluate_exact(f, middle);
  const double value = exact.get_d();
  if (!std::isfinite(value)) return std::nullopt;
  mpq_class miss = abs(exact - mpq_class(value));
  if (x.error != 0 && is_monotone(f, low, high)) {
    for (const mpq_class& end : {low, high}) {
      if (!std::isfinite(evaluate(f, end.get_d()))) return std::nullopt;
      const mpq_class distance = abs(evaluate_exact(f, end) - mpq_class(value));
      if (distance > miss) miss = distance;
    }
  } else if (x.error != 0) {
    const double slope = lipschitz(f);
    if (!std::isfinite(slope)) return std::nullopt;
    miss += mpq_class(slope) * mpq_class(x.error);
  }
  const bool exactly =
      is_piecewise_linear(f.kind) || (miss == 0 && x.error == 0 && shows_exactly(f, x.value));
  const double own = exactly ? 0 : 0x1p-190 * (1 + std::abs(value));
  return Bounded{value, add_up(double_above(miss), own)};
}

}  // namespace bf_aot
