#include "aot/reach/numbers/interval.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

// sin or cos, whose values at doubles are `at` and `routine`.
Range wave(double (*at)(double), MpfrRoutine routine, const Range& x, double shift) {
  if (!(magnitude(x) < bf::loops::kMostTurns)) return {-1, 1};
  if (magnitude(x) <= bf::loops::kMostWave) return bf::loops::wave(at, x, shift);
  return bf::loops::with_turns(hull_of_ends(routine, x), x, shift);
}

Range power_of_e(const Range& x) {
  return magnitude(x) <= bf::loops::kMostPower ? bf::loops::exponential(x)
                                               : increasing(mpfr_exp, x);
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
  return bf::loops::power(x, n);
}

// Encloses the values by what the table of functions says, in rational arithmetic.
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

Range apply(const Function& f, const Range& x) {
  if (!(x.low <= x.high)) return kEverything;
  switch (f.kind) {
    case FunctionKind::kSin:
      return wave(bf::loops::sine, mpfr_sin, x, bf::loops::kShiftOfSine);
    case FunctionKind::kCos:
      return wave(bf::loops::cosine, mpfr_cos, x, bf::loops::kShiftOfCosine);
    case FunctionKind::kExp:
      return power_of_e(x);
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
