#include "frontend/passes/float32/float32_softmax.h"

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr double kSecondOrder = 1 + 0x1p-10;
// More than subnormal numbers on the way, kept or taken for zero, make of a result and its
// logarithm.
constexpr double kTinyPowers = 0x1p-123;
constexpr double kTinyLogarithms = 0x1p-100;

// >= ln n, which the C library misses by less than what is added.
double log_of(std::int64_t n) {
  return std::log(static_cast<double>(n)) + 0x1p-20;
}

double of_units(double units) {
  return units * kRoundingUnit / (1 - units * kRoundingUnit) * kSecondOrder;
}

// Units by which the sum of n powers errs, relative: the library, the additions, and rounded
// arguments.
double units_of_sum(std::int64_t n, double libm_ulps) {
  BF_CHECK(n <= std::int64_t{1} << 20);
  return 2 * libm_ulps + static_cast<double>(n) + log_of(n);
}

}  // namespace

ResultError softmax_in_float32(std::int64_t members, double libm_ulps) {
  // Another power; a quotient, or an inverse and a product. The numerator's rounded argument t
  // moves it by |t| e^t u <= u / e. Of powers of a LogSoftmax that is an operator of its own: the
  // error of the logarithm, and 2 u |t| e^t (1 + 2 ulps) beside it.
  const ResultError logarithm = log_softmax_in_float32(members, libm_ulps);
  const double of_logarithm = logarithm.absolute + 2 * libm_ulps * kRoundingUnit;
  const double relative = std::max(of_units(units_of_sum(members, libm_ulps) + 2 * libm_ulps + 2),
                                   of_logarithm * kSecondOrder);
  return {relative, 0.5 * (logarithm.relative + kRoundingUnit) * kSecondOrder + kTinyPowers};
}

ResultError log_softmax_in_float32(std::int64_t members, double libm_ulps) {
  // x_i - m and the last difference round what is at most the result. The logarithm of the sum is
  // at most ln n. Or of a softmax, whose quotient rounds twice.
  const double of_log = 2 * libm_ulps;
  return {of_units(of_log + 2),
          of_units(units_of_sum(members, libm_ulps) + of_log * (1 + log_of(members)) + 2) +
              kTinyLogarithms};
}

double log_sum_in_float32(std::int64_t terms, double libm_ulps) {
  // The sum with m rounds the result, and the logarithm is at most ln n.
  return of_units(units_of_sum(terms, libm_ulps) + 2 * libm_ulps * log_of(terms)) + kTinyLogarithms;
}

}  // namespace bf_aot
