#include "frontend/functions/composite/roots.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace bf_aot {
namespace {

// Intervals that are narrower than this, or than a few units of the last place, are split no more.
constexpr double kNarrow = 0x1p-70;

int sign_of(const Interval& x) {
  if (mpfr_sgn(static_cast<mpfr_srcptr>(x.low)) > 0) return 1;
  if (mpfr_sgn(static_cast<mpfr_srcptr>(x.high)) < 0) return -1;
  return 0;
}

bool is_exactly_zero(const Interval& x) {
  return mpfr_zero_p(x.low) != 0 && mpfr_zero_p(x.high) != 0;
}

std::vector<Interval> derivative(const std::vector<Interval>& powers) {
  std::vector<Interval> made;
  for (std::size_t k = 1; k < powers.size(); ++k)
    made.push_back(Interval(static_cast<double>(k)) * powers[k]);
  return made;
}

// The polynomial over [low, high], by its expansion about the middle.
Interval values_over(std::vector<Interval> powers, double low, double high) {
  const Interval centre(low / 2 + high / 2);
  for (std::size_t i = 0; i < powers.size(); ++i)
    for (std::size_t k = powers.size() - 1; k-- > i;)
      powers[k] = powers[k] + centre * powers[k + 1];
  return polynomial_at(powers, Interval(low, high) - centre);
}

class RootFinder {
 public:
  explicit RootFinder(const std::vector<Interval>& powers)
      : powers_(powers), slope_(derivative(powers)) {}

  void find(double low, double high) {
    if (sign_of(values_over(powers_, low, high)) != 0) return;
    if (sign_of(values_over(slope_, low, high)) != 0)
      return find_single({low, at(low)}, {high, at(high)});
    const double middle = low / 2 + high / 2;
    const double narrow = std::max(kNarrow, 0x1p-50 * std::fabs(middle));
    if (high - low <= narrow || !(low < middle && middle < high)) return add(low, high);
    find(low, middle);
    find(middle, high);
  }

  std::vector<Enclosure> found() && { return std::move(found_); }

 private:
  struct Point {
    double x;
    Interval value;
  };

  Interval at(double x) const { return polynomial_at(powers_, Interval(x)); }

  // The polynomial is strictly monotone from low to high. Where its sign is open at both, because
  // coefficients are, all between may be zeros.
  void find_single(const Point& low, const Point& high) {
    const int first = sign_of(low.value), last = sign_of(high.value);
    if (first != 0 && first == last) return;
    if (is_exactly_zero(low.value)) return add(low.x, low.x);
    if (is_exactly_zero(high.value)) return add(high.x, high.x);
    const double x = low.x / 2 + high.x / 2;
    if ((first == 0 && last == 0) || !(low.x < x && x < high.x)) return add(low.x, high.x);
    const Point middle = {x, at(x)};
    find_single(low, middle);
    find_single(middle, high);
  }

  void add(double low, double high) {
    if (!found_.empty() && low <= found_.back().high) {
      found_.back().high = std::max(found_.back().high, high);
    } else {
      found_.push_back({low, high});
    }
  }

  const std::vector<Interval>& powers_;
  const std::vector<Interval> slope_;
  std::vector<Enclosure> found_;
};

}  // namespace

Interval polynomial_at(const std::vector<Interval>& powers, const Interval& x) {
  Interval made;
  for (std::size_t k = powers.size(); k-- > 0;) made = made * x + powers[k];
  return made;
}

// Cauchy's bound: no zero is larger than 1 + max |a_k / a_n|.
std::optional<std::vector<Enclosure>> roots_between(const std::vector<Interval>& powers, double low,
                                                    double high, double farthest) {
  if (powers.size() < 2 || powers.back().contains_zero()) return std::nullopt;
  double most = 0;
  for (const Interval& power : powers) {
    const Interval ratio = power / powers.back();
    const Real size = magnitude(ratio);
    most = std::max(most, double_above({size, size}));
  }
  most = 2 * (1 + most);
  if (!std::isfinite(most)) return std::nullopt;
  low = std::max(low, -most);
  high = std::min(high, most);
  if (!(low < high)) return std::vector<Enclosure>();
  RootFinder finder(powers);
  finder.find(low, high);
  std::vector<Enclosure> made = std::move(finder).found();
  for (const Enclosure& root : made)
    if (!(std::fabs(root.low) <= farthest && std::fabs(root.high) <= farthest)) return std::nullopt;
  return made;
}

}  // namespace bf_aot
