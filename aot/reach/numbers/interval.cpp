#include "aot/reach/numbers/interval.h"

#include <mpfr.h>

#include <optional>

#include "aot/reach/numbers/elementary.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_range.h"

namespace bf_aot::reach {
namespace {

using MpfrRoutine = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// A routine of MPFR at a double: correctly rounded, to the side that is asked for.
double rounded(MpfrRoutine routine, double x, mpfr_rnd_t to) {
  MPFR_DECL_INIT(value, 53);
  mpfr_set_d(value, x, MPFR_RNDN);
  routine(value, value, to);
  return mpfr_get_d(value, to);
}

Range increasing(MpfrRoutine routine, const Range& x) {
  return {rounded(routine, x.low, MPFR_RNDD), rounded(routine, x.high, MPFR_RNDU)};
}

Range hull_of_ends(MpfrRoutine routine, const Range& x) {
  return hull({rounded(routine, x.low, MPFR_RNDD), rounded(routine, x.low, MPFR_RNDU)},
              {rounded(routine, x.high, MPFR_RNDD), rounded(routine, x.high, MPFR_RNDU)});
}

constexpr double kPi = 3.14159265358979323846;
constexpr double kMostTurns = 0x1p30;

// Returns whether an integer of the same parity as `parity` may lie in x / pi + shift. The quotient
// of a double below 2^32 by the double next to pi is off by less than 2^-19 turns, for which the
// range is made longer: a turn too many only makes the result wider.
bool has_turn(const Range& x, double shift, int parity) {
  constexpr double kMiss = 0x1p-18;
  const double from = (x.low / kPi + shift - kMiss - parity) / 2;
  const double to = (x.high / kPi + shift + kMiss - parity) / 2;
  return std::floor(to) >= std::ceil(from);
}

// sin has its largest value at (2 k + 1/2) pi and its least at (2 k - 1/2) pi; cos at 2 k pi and
// (2 k + 1) pi: shift is -1/2 and 0.
Range wave(double (*at)(double), MpfrRoutine routine, const Range& x, double shift) {
  if (!(magnitude(x) < kMostTurns)) return {-1, 1};
  Range made;
  if (magnitude(x) <= kMostWave) {
    const double low = at(x.low), high = x.low == x.high ? low : at(x.high);
    made = outward(std::min(low, high) - kWaveError, std::max(low, high) + kWaveError);
    made = meet(made, {-1, 1});
  } else {
    made = hull_of_ends(routine, x);
  }
  if (has_turn(x, shift, 0)) made.high = 1;
  if (has_turn(x, shift, 1)) made.low = -1;
  return made;
}

Range exponential(const Range& x) {
  if (!(magnitude(x) <= kMostPower)) return increasing(mpfr_exp, x);
  const double low = power_of_e(x.low), high = x.low == x.high ? low : power_of_e(x.high);
  return outward(low * (1 - 2 * kPowerError), high * (1 + 2 * kPowerError));
}

int mpfr_logistic(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t rounding) {
  // 1 / (1 + e^-x) by 128 bits: each operation is off by a factor of at most 1 + 2^-127, so that
  // the result is, too, by less than 2^-120, and two steps of 53 bits outward enclose it.
  MPFR_DECL_INIT(value, 128);
  mpfr_neg(value, x, MPFR_RNDN);
  mpfr_exp(value, value, MPFR_RNDN);
  mpfr_add_ui(value, value, 1, MPFR_RNDN);
  mpfr_ui_div(value, 1, value, MPFR_RNDN);
  mpfr_set(to, value, rounding);
  if (rounding == MPFR_RNDU)
    mpfr_nextabove(to);
  else
    mpfr_nextbelow(to);
  return 0;
}

Range power(const Range& x, double exponent) {
  const auto n = static_cast<int>(exponent);
  if (exponent != n || n < 1 || n > 64) return kEverything;
  if (n % 2 == 0) {
    const Range half = power(x, exponent / 2);
    return square(half);
  }
  return n == 1 ? x : x * square(power(x, (exponent - 1) / 2));
}

// What the table of functions says, in rational arithmetic.
Range by_facts(const Function& f, const Range& x) {
  if (!x.is_finite()) return kEverything;
  const std::optional<ExactRange> exact = exact_range(f, mpq_class(x.low), mpq_class(x.high));
  if (!exact) return kEverything;
  const Range nearest = outward(exact->low.get_d(), exact->high.get_d());
  // get_d() truncates: it is within one double.
  const double slack = f.slack;
  return slack == 0 ? nearest : outward(nearest.low - slack, nearest.high + slack);
}

}  // namespace

Range operator*(const Range& a, const Range& b) {
  const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  double low = products[0], high = products[0];
  for (const double each : products) {
    if (std::isnan(each)) return kEverything;
    low = std::min(low, each);
    high = std::max(high, each);
  }
  if (low == 0 && high == 0 && ((a.low == 0 && a.high == 0) || (b.low == 0 && b.high == 0)))
    return {0, 0};
  return outward(low, high);
}

Range operator/(const Range& a, const Range& b) {
  if (b.low <= 0 && b.high >= 0) return kEverything;
  const double quotients[] = {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
  double low = quotients[0], high = quotients[0];
  for (const double each : quotients) {
    if (std::isnan(each)) return kEverything;
    low = std::min(low, each);
    high = std::max(high, each);
  }
  return a.low == 0 && a.high == 0 ? Range{0, 0} : outward(low, high);
}

Range square(const Range& a) {
  const double most = magnitude(a);
  const double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
  if (std::isnan(most)) return kEverything;
  const double low = least * least;
  return {low == 0 ? 0 : bf::next_down(low), most == 0 ? 0 : bf::next_up(most * most)};
}

Range apply(const Function& f, const Range& x) {
  if (!(x.low <= x.high)) return kEverything;
  switch (f.kind) {
    case FunctionKind::kSin:
      return wave(sine, mpfr_sin, x, -0.5);
    case FunctionKind::kCos:
      return wave(cosine, mpfr_cos, x, 0);
    case FunctionKind::kExp:
      return exponential(x);
    case FunctionKind::kTanh:
      return increasing(mpfr_tanh, x);
    case FunctionKind::kAtan:
      return increasing(mpfr_atan, x);
    case FunctionKind::kSigmoid:
      return meet(increasing(mpfr_logistic, x), {0, 1});
    case FunctionKind::kSqrt:
      return x.low >= 0 ? increasing(mpfr_sqrt, x) : kEverything;
    case FunctionKind::kLog:
      return x.low > 0 ? increasing(mpfr_log, x) : kEverything;
    case FunctionKind::kReciprocal:
      return Range{1, 1} / x;
    case FunctionKind::kAbs:
      return x.low >= 0 ? x : x.high < 0 ? -x : Range{0, std::max(-x.low, x.high)};
    case FunctionKind::kPower: {
      const Range made = power(x, f.a);
      return made == kEverything ? by_facts(f, x) : made;
    }
    default:
      return by_facts(f, x);
  }
}

}  // namespace bf_aot::reach
