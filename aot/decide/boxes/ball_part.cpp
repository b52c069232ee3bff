#include "aot/decide/boxes/ball_part.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot/input/directed.h"
#include "frontend/diagnostic.h"

namespace bf_aot::decide {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();
// More than the roundings of up to 1024 inputs that vary: 2^-40 of the radius for the centre, and
// of a sum of up to 1024 terms, each of at most 16 roundings, 2^-38 of its magnitudes.
constexpr double kWider = 1 + 0x1p-40, kPartSlack = 0x1p-38, kLostBelow = 0x1p-900;

// The least value of a d + lambda ((x - c) / r)^2 on an interval or below it, and the magnitudes of
// its terms; d = x - from.
struct Least {
  double value = 0, magnitude = 0;
};

double at_square(double a, double from, double c, double r, double lambda, double x) {
  const double t = (x - c) / r;
  return a * (x - from) + lambda * t * t;
}

Least least_of_square(double a, double from, double c, double r, double lambda, double lower,
                      double upper) {
  const double curve = 2 * lambda / r / r;
  for (const bool at_lower : {true, false}) {
    const double x = at_lower ? lower : upper;
    const double rise = curve * (x - c), slope = a + rise;
    const double slack = kPartSlack * (std::fabs(a) + std::fabs(rise));
    if (!(at_lower ? slope > slack : slope < -slack)) continue;
    const double t = (x - c) / r;
    return {at_square(a, from, c, r, lambda, x), std::fabs(a * (x - from)) + lambda * t * t};
  }
  const double gain = a * r / lambda * (a * r) / 4;
  return {a * (c - from) - gain, std::fabs(a) * (std::fabs(c) + std::fabs(from)) + gain};
}

// The least of a d + lambda |x - c| / r, which has pieces of lines.
Least least_of_distance(double a, double from, double c, double r, double lambda, double lower,
                        double upper) {
  Least least{kNowhere, 0};
  for (const double x : {lower, upper, std::clamp(c, lower, upper)}) {
    const double part = lambda * std::fabs(x - c) / r;
    least.value = std::min(least.value, a * (x - from) + part);
    least.magnitude = std::max(least.magnitude, std::fabs(a * (x - from)) + part);
  }
  return least;
}

}  // namespace

BallPart::BallPart(Norm norm, const input::FloatBox& whole) : cross_(norm == Norm::kSum) {
  BF_CHECK(norm != Norm::kLargest);
  for (std::size_t k = 0; k < whole.lower.size(); ++k) {
    const auto low = static_cast<double>(whole.lower[k]);
    const auto high = static_cast<double>(whole.upper[k]);
    centre_.push_back(low / 2 + high / 2);
    radius_.push_back((high / 2 - low / 2) * kWider);
  }
  BF_CHECK(std::ranges::count(radius_, 0.0) + 1024 >= std::ssize(radius_));
}

// A lower bound of how far [lower, upper] is from the centre, in radii.
double BallPart::least_distance(std::size_t k, double lower, double upper) const {
  const double away = std::max(lower - centre_[k], centre_[k] - upper);
  return away > 0 ? away / radius_[k] * (1 - 0x1p-48) : 0;
}

bool BallPart::clip(std::span<float> lower, std::span<float> upper) const {
  const std::size_t inputs = centre_.size();
  std::vector<double> parts(inputs);
  double sum = 0;
  for (std::size_t k = 0; k < inputs; ++k) {
    if (radius_[k] == 0) continue;
    const double distance =
        least_distance(k, static_cast<double>(lower[k]), static_cast<double>(upper[k]));
    parts[k] = cross_ ? distance : distance * distance;
    sum += parts[k];
  }
  constexpr double kLess = 1 - kPartSlack;
  if (sum * kLess > 1) return false;
  for (std::size_t k = 0; k < inputs; ++k) {
    if (radius_[k] == 0) continue;
    // The sum is off by kPartSlack of itself at most, which is at most 1 + kPartSlack; so is what
    // is left.
    const double room = std::max(0.0, 1 - (sum - parts[k]) + 4 * kPartSlack);
    const double half = (cross_ ? room : std::sqrt(room)) * radius_[k] * (1 + kPartSlack);
    const float low = input::to_float(input::sum(centre_[k], -half, false), false);
    const float high = input::to_float(input::sum(centre_[k], half, true), true);
    const float from = std::max(lower[k], low), to = std::min(upper[k], high);
    if (!(from <= to)) return false;
    lower[k] = from;
    upper[k] = to;
  }
  return true;
}

double BallPart::dual_bound(const BoxLine& line, std::span<const float> lower,
                            std::span<const float> upper, double multiplier) const {
  double sum = line.constant - multiplier;
  double magnitude = std::fabs(line.constant) + multiplier;
  for (std::size_t k = 0; k < centre_.size(); ++k) {
    const auto a = static_cast<double>(line.factors[k]);
    const auto low = static_cast<double>(lower[k]), high = static_cast<double>(upper[k]);
    if (low == high) continue;
    const double from = a > 0 ? low : high;
    const Least least =
        cross_ ? least_of_distance(a, from, centre_[k], radius_[k], multiplier, low, high)
               : least_of_square(a, from, centre_[k], radius_[k], multiplier, low, high);
    sum += least.value;
    magnitude += least.magnitude;
  }
  return sum - kPartSlack * magnitude - kLostBelow;
}

// The bound is concave in the logarithm of the multiplier where it grows and falls, so that a
// golden section finds its top, about: any multiplier gives a bound.
bool BallPart::is_at_least(const BoxLine& line, std::span<const float> lower,
                           std::span<const float> upper, double limit) const {
  double scale = 0;  // the dual norm of the line, in radii: its multiplier is of that size
  for (std::size_t k = 0; k < centre_.size(); ++k)
    scale = std::max(scale, std::fabs(static_cast<double>(line.factors[k])) * radius_[k]);
  if (!(scale > 0 && scale < kNowhere)) return false;
  constexpr int kSteps = 24;
  constexpr double kGolden = 0.6180339887498949;
  double from = std::log2(scale) - 12, to = std::log2(scale) + 6;
  const auto bound = [&](double exponent) {
    return dual_bound(line, lower, upper, std::exp2(exponent));
  };
  double left = to - kGolden * (to - from), right = from + kGolden * (to - from);
  double at_left = bound(left), at_right = bound(right);
  for (int step = 0; step < kSteps; ++step) {
    if (at_left >= limit || at_right >= limit) return true;
    if (at_left > at_right) {
      to = right;
      right = left;
      at_right = at_left;
      left = to - kGolden * (to - from);
      at_left = bound(left);
    } else {
      from = left;
      left = right;
      at_left = at_right;
      right = from + kGolden * (to - from);
      at_right = bound(right);
    }
  }
  return at_left >= limit || at_right >= limit;
}

}  // namespace bf_aot::decide
