#include "planner/functions/enclosure.h"

#include <algorithm>
#include <cstddef>

namespace bf_aot {

namespace {

// f over [low, high] is sum_{k < order} a_k (x - m)^k + R (x - m)^order, a_k = f^(k)(m) / k! and R
// in the coefficient `order` over the whole interval: Taylor's theorem. Derivatives likewise, with
// the factors k and `order`, since the coefficient of f' is that of f times its index.
struct Expansion {
  Interval centre;
  Real radius;                         // at least half the width
  std::vector<Interval> coefficients;  // a_k
  Real remainder;                      // |R|
};

Expansion expand(const Formula& f, double low, double high, int order) {
  Expansion made;
  made.centre = Interval(0.5) * (Interval(low) + Interval(high));
  made.radius = magnitude(Interval(low, high) - made.centre);
  made.coefficients = f(made.centre, order - 1);
  made.remainder = magnitude(f(Interval(low, high), order)[static_cast<std::size_t>(order)]);
  return made;
}

Interval exactly(const Real& x) {
  return {x, x};
}

Interval around_zero(const Real& radius) {
  return -exactly(radius) + Interval(exactly(radius)) * Interval(0.0, 2.0);
}

// Power basis to Chebyshev basis on [-1, 1]: x T_j = (T_{j+1} + T_{j-1}) / 2. In that basis the sum
// of the magnitudes bounds the polynomial, tightly where one term dominates, as in the error of a
// good approximation.
std::vector<Interval> to_chebyshev(const std::vector<Interval>& power) {
  std::vector<Interval> made(power.size());
  for (std::size_t k = power.size(); k-- > 0;) {
    std::vector<Interval> next(power.size());
    next[0] = power[k];
    for (std::size_t j = 0; j + 1 < power.size(); ++j) {
      const Interval half = Interval(j == 0 ? 1 : 0.5) * made[j];
      next[j + 1] = next[j + 1] + half;
      if (j > 0) next[j - 1] = next[j - 1] + half;
    }
    made = std::move(next);
  }
  return made;
}

// sum_{j >= first} |c_j|
Real magnitudes(const std::vector<Interval>& chebyshev, std::size_t first) {
  Real sum;
  for (std::size_t j = first; j < chebyshev.size(); ++j)
    mpfr_add(sum, sum, magnitude(chebyshev[j]), MPFR_RNDU);
  return sum;
}

Interval integer(std::size_t k) {
  return {static_cast<double>(k)};
}

// The polynomial in (x - centre), by repeated synthetic division.
std::vector<Interval> shifted(const std::vector<double>& coefficients, const Interval& by) {
  std::vector<Interval> made(coefficients.begin(), coefficients.end());
  for (std::size_t i = 0; i < made.size(); ++i)
    for (std::size_t k = made.size() - 1; k-- > i;) made[k] = made[k] + by * made[k + 1];
  return made;
}

constexpr int kErrorOrder = 12;
constexpr int kCurvatureOrder = 8;
constexpr int kMaxDepth = 8;

CellError worse(const CellError& a, const CellError& b) {
  return {mpfr_cmp(a.value, b.value) > 0 ? a.value : b.value,
          mpfr_cmp(a.slope, b.slope) > 0 ? a.slope : b.slope};
}

// Bounds of sum_k a_k (x - m)^k + R (x - m)^n and of its derivative, given by `made` with p taken
// off.
CellError bound_difference(const Expansion& made, std::vector<Interval> difference) {
  const Interval radius = exactly(made.radius);
  std::vector<Interval> slope;
  Interval scale(1);
  for (std::size_t k = 0; k < difference.size(); ++k) {
    if (k > 0) {
      slope.push_back(integer(k) * difference[k] * scale);
      scale = scale * radius;
    }
    difference[k] = difference[k] * scale;
  }
  const Interval rest = exactly(made.remainder) * scale;
  const Interval value_sum = exactly(magnitudes(to_chebyshev(difference), 0)) + rest * radius;
  const Interval slope_sum =
      exactly(magnitudes(to_chebyshev(slope), 0)) + integer(difference.size()) * rest;
  return {value_sum.high, slope_sum.high};
}

CellError cell_error_at(const Formula& f, const std::vector<double>& coefficients, double origin,
                        double low, double high, const Real& negligible, int depth) {
  const Expansion made = expand(f, low, high, kErrorOrder);
  Interval rest = exactly(made.remainder);
  for (int k = 0; k < kErrorOrder; ++k) rest = rest * exactly(made.radius);
  const double split = low / 2 + high / 2;
  if (!(mpfr_cmp(rest.high, negligible) <= 0) && depth > 0 && low < split && split < high)
    return worse(cell_error_at(f, coefficients, origin, low, split, negligible, depth - 1),
                 cell_error_at(f, coefficients, origin, split, high, negligible, depth - 1));
  std::vector<Interval> difference = made.coefficients;
  const std::vector<Interval> taken = shifted(coefficients, made.centre - Interval(origin));
  for (std::size_t k = 0; k < taken.size(); ++k) difference[k] = difference[k] - taken[k];
  return bound_difference(made, std::move(difference));
}

}  // namespace

Interval curvature(const Formula& f, double low, double high) {
  const Expansion made = expand(f, low, high, kCurvatureOrder);
  const Interval radius = exactly(made.radius);
  std::vector<Interval> second;
  Interval scale(1);
  for (std::size_t k = 2; k < made.coefficients.size(); ++k) {
    second.push_back(integer(k * (k - 1)) * made.coefficients[k] * scale);
    scale = scale * radius;
  }
  const std::vector<Interval> chebyshev = to_chebyshev(second);
  const Interval rest =
      integer(kCurvatureOrder * (kCurvatureOrder - 1)) * exactly(made.remainder) * scale;
  const Interval spread = exactly(magnitudes(chebyshev, 1)) + rest;
  return chebyshev[0] + around_zero(spread.high);
}

CellError cell_error(const Formula& f, const std::vector<double>& coefficients, double origin,
                     double low, double high, double negligible) {
  return cell_error_at(f, coefficients, origin, low, high, Real(negligible), kMaxDepth);
}

}  // namespace bf_aot
