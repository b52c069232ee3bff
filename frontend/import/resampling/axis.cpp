#include "frontend/import/resampling/axis.h"

#include <algorithm>
#include <map>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

std::int64_t floor_of(const mpq_class& x) {
  mpz_class quotient;
  mpz_fdiv_q(quotient.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  BF_CHECK(quotient.fits_slong_p());
  return quotient.get_si();
}

mpq_class number(std::int64_t x) {
  return mpq_class(static_cast<long>(x));
}

// The place of output element i along the input's axis.
mpq_class input_coordinate(const Resampling& how, const ResampledAxis& axis, std::int64_t i) {
  const mpq_class half(1, 2);
  const mpq_class at = number(i);
  const mpq_class width = axis.scale * number(axis.in);  // the output's, before it is rounded down
  switch (how.coordinates) {
    case Coordinates::kHalfPixel:
      return (at + half) / axis.scale - half;
    case Coordinates::kHalfPixelSymmetric: {
      const mpq_class adjustment = number(axis.out) / (axis.scale * number(axis.in));
      const mpq_class offset = number(axis.in) / 2 * (1 - adjustment);
      return offset + (at + half) / axis.scale - half;
    }
    case Coordinates::kPytorchHalfPixel:
      return axis.out > 1 ? mpq_class((at + half) / axis.scale - half) : mpq_class(0);
    case Coordinates::kAlignCorners:
      return width > 1 ? mpq_class(at * number(axis.in - 1) / (width - 1)) : mpq_class(0);
    case Coordinates::kAsymmetric:
      return at / axis.scale;
    case Coordinates::kHalfPixelForNearest:
      return (at + half) / axis.scale;
    case Coordinates::kCropAndResize:
      if (axis.out == 1) return (axis.roi_begin + axis.roi_end) * number(axis.in - 1) / 2;
      return axis.roi_begin * number(axis.in - 1) +
             at * (axis.roi_end - axis.roi_begin) * number(axis.in - 1) / number(axis.out - 1);
  }
  BF_CHECK(false);
  return 0;
}

std::int64_t nearest_of(Nearest mode, const mpq_class& x) {
  const mpq_class half(1, 2);
  switch (mode) {
    case Nearest::kPreferFloor:
      return -floor_of(half - x);  // ceil(x - 1/2)
    case Nearest::kPreferCeil:
      return floor_of(x + half);
    case Nearest::kFloor:
      return floor_of(x);
    case Nearest::kCeil:
      return -floor_of(-x);
  }
  BF_CHECK(false);
  return 0;
}

// Weight of an element at this distance; a piecewise cubic that is zero from 2 on (Keys, 1981).
mpq_class cubic_weight(const mpq_class& a, const mpq_class& distance) {
  const mpq_class d = abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

// Weights of linear or cubic interpolation at x whose distances are multiplied by scale < 1, made
// to sum to 1: visit(element, weight), also for elements outside.
template <typename Visit>
void visit_widened(const Resampling& how, const mpq_class& scale, const mpq_class& x,
                   const Visit& visit) {
  const bool cubic = how.interpolation == Interpolation::kCubic;
  const mpq_class reach = (cubic ? 2 : 1) / scale;
  std::vector<std::pair<std::int64_t, mpq_class>> weights;
  mpq_class sum = 0;
  for (std::int64_t i = floor_of(x - reach) + 1; number(i) < x + reach; ++i) {
    const mpq_class d = abs(number(i) - x) * scale;
    weights.emplace_back(i, cubic ? cubic_weight(how.cubic, d) : mpq_class(1 - d));
    sum += weights.back().second;
  }
  if (sum == 0) fail("BF1026", "", "weights of antialias that sum to 0");
  for (const auto& [element, weight] : weights) visit(element, mpq_class(weight / sum));
}

}  // namespace

std::vector<std::pair<std::int64_t, mpq_class>> resampled(const Resampling& how,
                                                          const ResampledAxis& axis,
                                                          std::int64_t i) {
  const mpq_class x = input_coordinate(how, axis, i);
  if (how.coordinates == Coordinates::kCropAndResize && (x < 0 || x > number(axis.in - 1)))
    return {};
  std::map<std::int64_t, mpq_class> taps;
  const auto add = [&](std::int64_t element, const mpq_class& weight) {
    const bool outside = element < 0 || element >= axis.in;
    if (outside && how.exclude_outside) return;
    taps[std::clamp<std::int64_t>(element, 0, axis.in - 1)] += weight;
  };
  const bool widened = how.antialias && axis.scale < 1;
  if (widened) visit_widened(how, axis.scale, x, add);
  const std::int64_t below = floor_of(x);
  const mpq_class part = x - number(below);
  switch (how.interpolation) {
    case Interpolation::kNearest:
      taps[std::clamp<std::int64_t>(nearest_of(how.nearest, x), 0, axis.in - 1)] = 1;
      break;
    case Interpolation::kLinear:
      if (widened) break;
      add(below, 1 - part);
      add(below + 1, part);
      break;
    case Interpolation::kCubic:
      if (widened) break;
      for (std::int64_t k = -1; k <= 2; ++k)
        add(below + k, cubic_weight(how.cubic, number(k) - part));
      break;
  }
  mpq_class sum = 0;
  for (const auto& [element, weight] : taps) sum += weight;
  std::vector<std::pair<std::int64_t, mpq_class>> result;
  for (const auto& [element, weight] : taps) {
    const mpq_class share = how.exclude_outside && sum != 0 ? mpq_class(weight / sum) : weight;
    if (share != 0) result.emplace_back(element, share);
  }
  return result;
}

Bounded to_bounded(const mpq_class& x) {
  const double value = x.get_d();
  const mpq_class rest = abs(x - mpq_class(value));
  return {value, rest == 0 ? 0 : next_up(rest.get_d())};
}

}  // namespace bf_aot
